"""One room, and what state events say of it (pure).

State is written by people, and by servers that may be hostile: an event that does not fit says nothing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

Membership = Literal["join", "invite", "leave"]

STATE_TYPES: Final = (
    "m.room.canonical_alias",
    "m.room.create",
    "m.room.encryption",
    "m.room.history_visibility",
    "m.room.member",
    "m.room.name",
    "m.room.tombstone",
)
"""The state that matters, here or to the encryption; the server needs to send no other."""

_ID_CHARS: Final = 255  # the specification's bound
_NAME_CHARS: Final = 1000
_VERSION: Final = re.compile(r"[\x21-\x7e]{1,32}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """One room, at one moment.

    Attributes:
        id: opaque; from version 12 on it names no server.
        name: as people gave it, never identity (IDENT-1); None: it has none.
        version: ``room_version``; the specification's default is ``1``.
        encrypted: once true it stays true.
        joined: user ids, the bot's own among them.
        invited: user ids.
        direct: the bot's own invite said that this is a direct chat; that two are in it must hold beside (PART-16).
        partner: user id of the one for whom it was made so; nobody who comes in their place takes it over.
        replacement: id of the room that a tombstone names.
        predecessor: id of the room that this one says to follow.
        membership: of the bot.
    """

    id: str
    name: str | None = field(default=None, repr=False)
    version: str = "1"
    encrypted: bool = False
    joined: frozenset[str] = field(default=frozenset(), repr=False)
    invited: frozenset[str] = field(default=frozenset(), repr=False)
    direct: bool = False
    partner: str | None = field(default=None, repr=False)
    replacement: str | None = None
    predecessor: str | None = None
    membership: Membership = "leave"

    @property
    def members(self) -> int:
        """How many are in it or asked into it, the bot among them."""
        return len(self.joined) + len(self.invited)  # nobody is both

    @property
    def is_direct(self) -> bool:
        """Whether it is a conversation with exactly one person, the one with whom it began (PART-16)."""
        return self.membership == "join" and self.between_two

    @property
    def between_two(self) -> bool:
        """The same, also where the bot is still asked in."""
        if not self.direct:
            return False
        if self.membership == "invite":  # nothing can be said there yet, and few servers tell who is in it
            return self.members <= 2
        if self.members != 2:
            return False
        return self.partner in self.joined or self.partner in self.invited


def changed(room: Room, events: Iterable[Any], *, user_id: str) -> Room:
    """The room after some events, of which only state matters.

    Args:
        room: before.
        events: in their order; anything at all may be among them.
        user_id: the bot's own.
    """
    news: dict[str, Any] = {}
    joined: set[str] | None = None
    invited: set[str] | None = None
    for event in events:
        if not is_state(event):
            continue
        kind, key, content = event["type"], event["state_key"], content_of(event)
        if kind == "m.room.member":
            membership = content.get("membership")
            if not isinstance(membership, str):
                continue
            if joined is None or invited is None:
                joined, invited = set(room.joined), set(room.invited)
            joined.discard(key)
            invited.discard(key)
            if membership == "join":
                joined.add(key)
            elif membership == "invite":
                invited.add(key)
            if key == user_id:
                direct = _directness(membership, event)
                if direct is not None:
                    news |= {"direct": direct, "partner": _inviter(membership, event, user_id)}
        elif key == "":
            news.update(_fact(room, kind, content, news))
    if joined is not None and invited is not None:
        news |= {"joined": frozenset(joined), "invited": frozenset(invited)}
    return _paired(replace(room, **news), user_id) if news else room


def own_membership(event: Any, *, user_id: str) -> str | None:
    """The membership that an event gives to the bot; None: it gives none."""
    if not is_state(event) or event["type"] != "m.room.member" or event["state_key"] != user_id:
        return None
    membership = content_of(event).get("membership")
    return membership if isinstance(membership, str) else None


def is_id(value: Any, sigil: str) -> bool:
    """Whether a value can be an id of this kind: bounded and writable, otherwise opaque."""
    return isinstance(value, str) and value.startswith(sigil) and 1 < len(value) <= _ID_CHARS and value.isprintable()


def is_state(event: Any) -> bool:
    """Whether it has the shape of a state event."""
    return isinstance(event, dict) and isinstance(event.get("type"), str) and isinstance(event.get("state_key"), str)


def content_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its content; empty where it is no object."""
    return object_of(event.get("content"))


def object_of(value: Any) -> Mapping[str, Any]:
    """A value that ought to be an object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def _fact(room: Room, kind: str, content: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Any]:
    """What one state event with an empty key says."""
    match kind:
        case "m.room.name":
            return {"name": _name(content.get("name"))}
        case "m.room.canonical_alias" if news.get("name", room.name) is None:
            return {"name": _name(content.get("alias"))}
        case "m.room.encryption":
            return {"encrypted": True}  # whatever it says: it can't be taken back
        case "m.room.create":
            version = content.get("room_version")
            earlier = object_of(content.get("predecessor")).get("room_id")
            return {
                "version": version if isinstance(version, str) and _VERSION.fullmatch(version) else "1",
                "predecessor": earlier if is_id(earlier, "!") else None,
            }
        case "m.room.tombstone":
            later = content.get("replacement_room")
            return {"replacement": later if is_id(later, "!") else None}
    return {}


def _directness(membership: str, event: Mapping[str, Any]) -> bool | None:
    """What a membership event of the bot says of how it came into the room; None: nothing."""
    match membership:
        case "invite":
            return content_of(event).get("is_direct") is True
        case "join":  # the server tells what the join replaced; a change of the bot's own name replaces a join
            before = object_of(object_of(event.get("unsigned")).get("prev_content"))
            return before.get("is_direct") is True if before.get("membership") == "invite" else None
    return False


def _inviter(membership: str, event: Mapping[str, Any], user_id: str) -> str | None:
    """Who asked the bot in; None: the event does not say."""
    found = event.get("sender") if membership == "invite" else object_of(event.get("unsigned")).get("prev_sender")
    return found if is_id(found, "@") and found != user_id else None


def _paired(room: Room, user_id: str) -> Room:
    """The room with its partner, where nothing but the members tells who that is."""
    if not room.direct or room.partner is not None or room.members > 2:
        return room
    others = (room.joined | room.invited) - {user_id}
    return replace(room, partner=next(iter(others))) if len(others) == 1 else room


def _name(value: Any) -> str | None:
    return value[:_NAME_CHARS] if isinstance(value, str) and value.strip() else None
