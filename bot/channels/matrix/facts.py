"""From one envelope to facts (IDENT-1, PART-11, PART-14 to 18).

Evidence is structure, never look: ids, relations and ``m.mentions``. Whatever does not have the documented shape is
``MALFORMED`` or lacks its evidence; nothing is repaired, nothing is guessed, and nothing raises.

Of a decrypted event only the type and the content come from inside; who sent it, where and when is what the server has
said of the encrypted one. It can't be state, nor a redaction: those are the server's to check.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from bot.channels.matrix.addressing import Addressed, addressed, mentions_of
from bot.channels.matrix.content import STICKER, current, is_forwarded, is_notice, spoken
from bot.channels.matrix.identifiers import (
    PLATFORM,
    UNREADABLE,
    ShapeError,
    account,
    event_id,
    is_event_id,
    is_user_id,
    nowhere,
    place,
)
from bot.channels.matrix.relations import Relation, relation_of
from bot.model.inbound import Migration, Reading
from policy.event import Author, Chat, Event, Kind, Origin, Reply

__all__ = ["PLATFORM", "UNREADABLE", "is_edit", "is_user_id", "malformed", "read", "room_id_of", "thread_of"]

Native = Mapping[str, Any]
Decrypt = Callable[[Native], Native | None]

_ENCRYPTED: Final = "m.room.encrypted"
_REDACTION: Final = "m.room.redaction"
_SPOKEN: Final = ("m.room.message", STICKER)
_VERIFICATION: Final = "m.key.verification."
"""Begins the msgtype of a message that only asks to compare keys."""
_REDACTS_ON_TOP: Final = frozenset(str(version) for version in range(1, 11))
"""Room versions that name the redacted event beside the content."""
_MAX_KEY: Final = 255
_NOBODY: Final = Addressed()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Frame:
    """What the platform says of an event, whatever is in it."""

    envelope: Native
    native: Native
    event: Native
    room: Native
    room_id: str
    key: str
    received_at: datetime
    user_id: str
    identity_known: bool
    sender: str
    chat: Chat
    message: str | None

    def read(
        self,
        kind: Kind,
        *,
        message: str | None = None,
        thread: str | None = None,
        chat: Chat | None = None,
        loose: bool = False,
        migration: Migration | None = None,
        **facts: Any,
    ) -> Reading:
        event = Event(
            key=self.key,
            destination=place(self.user_id, self.room_id, thread),
            chat=self.chat if chat is None else chat,
            kind=kind,
            origin=Origin.SELF if self.sender == self.user_id else Origin.HUMAN,
            sender=account(self.sender),
            sent_at=_sent_at(self.event, self.received_at),
            message=self.message if message is None else message,
            identity_known=self.identity_known,
            history=self.envelope.get("history") is True,
            **facts,
        )
        return Reading(event=event, native=self.native, migration=migration, loose=loose)


def read(
    envelope: Native,
    *,
    key: str,
    received_at: datetime,
    user_id: str,
    identity_known: bool = True,
    decrypt: Decrypt = lambda _: None,
) -> Reading:
    """Read the facts out of one envelope.

    Args:
        envelope: the event with what the bot knew of its room.
        key: of the stored arrival.
        received_at: of the stored arrival, aware; the time of events that carry none or one that lies ahead.
        user_id: the bot's own.
        identity_known: whether the server has confirmed it.
        decrypt: gives the clear event of an encrypted one, None while that can't be done.
    """
    try:
        frame = _frame(envelope, key, received_at, user_id, identity_known=identity_known)
        return _read(frame, decrypt)
    except (ShapeError, KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError):
        return malformed(envelope, key=key, received_at=received_at, user_id=user_id, identity_known=identity_known)


def malformed(envelope: Any, *, key: str, received_at: datetime, user_id: str, identity_known: bool = True) -> Reading:
    """The reading of what can't be read (PART-17)."""
    native: Native = envelope if isinstance(envelope, Mapping) else {}
    event = Event(
        key=key,
        destination=nowhere(user_id, room_id_of(native)),
        chat=Chat.GROUP,
        kind=Kind.MALFORMED,
        origin=Origin.UNKNOWN,
        sender=None,
        sent_at=received_at,
        identity_known=identity_known,
        history=native.get("history") is True,
    )
    return Reading(event=event, native=native)


def room_id_of(envelope: Native) -> Any:
    """The room that an envelope belongs to, unchecked."""
    for part in ("event", "room"):
        found = envelope.get(part)
        if isinstance(found, Mapping) and found.get("room_id") is not None:
            return found["room_id"]
    return None


def is_edit(event: Native) -> bool:
    """Whether a raw event changes another; encrypted ones say it outside as well."""
    content = event.get("content")
    relates = content.get("m.relates_to") if isinstance(content, Mapping) else None
    return isinstance(relates, Mapping) and relates.get("rel_type") == "m.replace"


def thread_of(event: Native) -> str | None:
    """The thread that a raw event stands in; encrypted ones say it outside as well."""
    content = event.get("content")
    try:
        return relation_of(content).thread if isinstance(content, Mapping) else None
    except ShapeError:
        return None


def _frame(envelope: Native, key: str, received_at: datetime, user_id: str, *, identity_known: bool) -> _Frame:
    event, room = envelope["event"], envelope.get("room")
    room_id, sender = room_id_of(envelope), event["sender"]
    if not isinstance(room, Mapping) or room.get("room_id", room_id) != room_id:
        room = {}  # what is known of another room is worth nothing here
    message = event.get("event_id")
    return _Frame(
        envelope=envelope,
        native=envelope,
        event=event,
        room=room,
        room_id=room_id,
        key=key,
        received_at=received_at,
        user_id=user_id,
        identity_known=identity_known,
        sender=sender,
        chat=_chat(room, user_id, sender),
        message=message if is_event_id(message) else None,
    )


def _chat(room: Native, user_id: str, sender: str) -> Chat:
    """PART-16: direct is what was made as a direct chat for the bot and still has one other member."""
    if room.get("direct") is not True and room.get("bot_invite_is_direct") is not True:
        return Chat.GROUP
    members = room.get("members")
    if "joined_members" in room:
        present = _present(room)
        if user_id not in present or sender not in present:
            return Chat.GROUP  # somebody else would read the answer
        members = len(present) if members is None or members == len(present) else None
    return Chat.DIRECT if type(members) is int and members == 2 else Chat.GROUP


def _present(room: Native) -> frozenset[str]:
    """Ids of the joined and the invited, where both are lists of ids; else nobody."""
    listed = (room["joined_members"], room.get("invited_members", []))
    if not all(isinstance(ids, list) and all(isinstance(one, str) for one in ids) for ids in listed):
        return frozenset()
    return frozenset(one for ids in listed for one in ids)


def _sent_at(event: Native, received_at: datetime) -> datetime:
    """The server's time (milliseconds), never one that lies ahead."""
    stamp = event.get("origin_server_ts")
    if type(stamp) is not int or stamp <= 0 or stamp >= received_at.timestamp() * 1000:
        return received_at
    return datetime.fromtimestamp(stamp / 1000, UTC)


def _read(frame: _Frame, decrypt: Decrypt) -> Reading:
    event = frame.event
    kind, content = event["type"], event["content"]
    if not isinstance(kind, str) or not isinstance(content, Mapping):
        raise ShapeError
    if "state_key" in event:
        return _state(frame, kind, content)
    event_id(event.get("event_id"))
    if kind == _REDACTION:
        return frame.read(Kind.REDACTION, message=_redacted(frame, content), loose=True)
    if _is_redacted(event):
        return frame.read(Kind.REDACTION, loose=True)
    if kind == _ENCRYPTED:
        return _encrypted(frame, content, decrypt)
    return _timeline(frame, kind, content)


def _state(frame: _Frame, kind: str, content: Native) -> Reading:
    """State: joins, names, power. Only an invitation of the bot and a tombstone say more."""
    if kind == "m.room.member" and _is_invite(frame, content):
        return frame.read(Kind.INVITE, chat=Chat.DIRECT if content.get("is_direct") is True else Chat.GROUP)
    event_id(frame.event.get("event_id"))
    migration = None
    if kind == "m.room.tombstone" and frame.event["state_key"] == "":
        migration = _migration(frame, content.get("replacement_room"))
    return frame.read(Kind.SERVICE, migration=migration)


def _is_invite(frame: _Frame, content: Native) -> bool:
    """Whether the bot is being asked in now. The same event in the timeline of a room is a thing of the past."""
    if frame.event["state_key"] != frame.user_id or content.get("membership") != "invite":
        return False
    return all(
        where.get(name, "invite") == "invite" for where, name in ((frame.envelope, "via"), (frame.room, "membership"))
    )


def _migration(frame: _Frame, new: Any) -> Migration | None:
    """IDENT-4: the room goes on elsewhere, says somebody who may say so here; nothing follows from it by itself."""
    try:
        there = place(frame.user_id, new, None)
    except ShapeError:
        return None
    return None if there.channel == frame.room_id else Migration(old=frame.room_id, new=there.channel)


def _redacted(frame: _Frame, content: Native) -> str:
    """The redacted event (PART-18). Where both places name one, the room's version says which holds."""
    inside, on_top = content.get("redacts"), frame.event.get("redacts")
    version = frame.room.get("room_version")
    old = isinstance(version, str) and version in _REDACTS_ON_TOP
    first, second = (on_top, inside) if old else (inside, on_top)
    target = second if first is None else first
    if target is None and _is_redacted(frame.event):
        target = frame.message
    return event_id(target)


def _is_redacted(event: Native) -> bool:
    """Whether it came already emptied."""
    unsigned = event.get("unsigned")
    return isinstance(unsigned, Mapping) and unsigned.get("redacted_because") is not None


def _encrypted(frame: _Frame, content: Native, decrypt: Decrypt) -> Reading:
    """PART-17. The relation stands in the clear outside, so that the place is known before the words are."""
    try:
        clear = decrypt(frame.event)
    except Exception:  # noqa: BLE001 - fail closed: whatever decryption stumbles over, it is not readable yet
        clear = None
    if clear is None:
        relation = relation_of(content)
        about = relation.replaces or relation.annotates
        return frame.read(Kind.UNDECRYPTABLE, message=about, thread=relation.thread, loose=about is not None)
    kind, inside = clear["type"], clear["content"]
    if not isinstance(kind, str) or not isinstance(inside, Mapping) or kind == _ENCRYPTED:
        raise ShapeError
    inner = inside.get("m.relates_to")
    if not (isinstance(inner, Mapping) and inner) and "m.relates_to" in content:
        inside = {**inside, "m.relates_to": content["m.relates_to"]}
    event = {**frame.event, "type": kind, "content": inside}
    opened = replace(frame, native={**frame.envelope, "event": event}, event=event)
    return _timeline(opened, kind, inside)


def _timeline(frame: _Frame, kind: str, content: Native) -> Reading:
    if kind == "m.reaction":
        return _reaction(frame, relation_of(content))
    if kind in _SPOKEN and not str(content.get("msgtype")).startswith(_VERIFICATION):
        return _message(frame, kind, content)
    return frame.read(Kind.SERVICE)  # calls, polls, verification, whatever is new: nobody says anything in it


def _reaction(frame: _Frame, relation: Relation) -> Reading:
    if not isinstance(relation.key, str) or not 0 < len(relation.key) <= _MAX_KEY:
        raise ShapeError
    return frame.read(Kind.REACTION, message=event_id(relation.annotates), loose=True)


def _message(frame: _Frame, kind: str, content: Native) -> Reading:
    relation = relation_of(content)
    now = current(content, relation)
    said = spoken(kind, now, relation)
    edit = relation.replaces is not None
    what = Kind.EDIT if edit else Kind.MESSAGE
    if is_notice(content) or is_notice(now):
        what = Kind.NOTICE
    found = _NOBODY
    if not is_forwarded(now):
        found = addressed(
            said,
            mentions_of(content, now),
            user_id=frame.user_id,
            sender=frame.sender,
            direct=frame.chat is Chat.DIRECT,
        )
    return frame.read(
        what,
        message=relation.replaces,
        thread=relation.thread,
        loose=edit,
        text=said.text,
        attachments=int(said.file is not None),
        mentions_self=found.mentions_self,
        mentions_others=found.mentions_others,
        command=found.command,
        reply=None if relation.reply is None else _reply(frame, relation.reply),
        apparent_reply=relation.apparent,
    )


def _reply(frame: _Frame, message: str) -> Reply:
    """Who wrote the original is rarely among the facts; it is looked up by its id (PART-1)."""
    original = frame.envelope.get("reply")
    sender = original.get("sender") if isinstance(original, Mapping) else None
    if not isinstance(sender, str):
        return Reply(message=message, author=Author.UNKNOWN)
    return Reply(message=message, author=Author.SELF if sender == frame.user_id else Author.OTHER)
