"""Who gets the keys of a room, as the sync says: pure.

Three kinds of state decide: who is a member, that the room is encrypted, and whether invited people may read. They are
read here once more, apart from :mod:`bot.channels.matrix.rooms`: a slip here hands a key to somebody who has left.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MEGOLM: Final = "m.megolm.v1.aes-sha2"

_ID_CHARS: Final = 255
_HOUR_MS: Final = 3_600_000
_WEEK_MS: Final = 7 * 24 * _HOUR_MS
_MESSAGES: Final = 100
_MOST_MESSAGES: Final = 10_000


@dataclass(slots=True)
class _Room:
    """What the state of one room says.

    Attributes:
        joined: user ids.
        invited: user ids.
        encrypted: it has been said, and can't be taken back.
        foreign: it is to be encrypted in a way that is not known here.
        invited_read: the history is visible to those who are invited.
        messages: after so many, a new key.
        age_ms: after so long, a new key.
    """

    joined: set[str] = field(default_factory=set)
    invited: set[str] = field(default_factory=set)
    encrypted: bool = False
    foreign: bool = False
    invited_read: bool = True
    messages: int = _MESSAGES
    age_ms: int = _WEEK_MS


class Memberships:
    """The rooms of one account."""

    def __init__(self, encrypted: Iterable[str] = ()) -> None:
        """Begin.

        Args:
            encrypted: rooms that were encrypted when last heard of; a server can't make the bot forget it.
        """
        self._rooms: dict[str, _Room] = {}
        self._encrypted = set(encrypted)

    def take(self, sync: Mapping[str, Any]) -> bool:
        """Take in the state of a sync; malformed pieces are dropped. Returns whether there was any."""
        changed = False
        rooms = objects(sync).get("rooms")
        for room_id, room in objects(objects(rooms).get("join")).items():
            if is_id(room_id):
                for part in ("state", "timeline"):
                    for event in items(objects(objects(room).get(part)).get("events")):
                        changed = self._state(room_id, objects(event)) or changed
        for room_id in objects(objects(rooms).get("leave")):
            changed = self._rooms.pop(room_id, None) is not None or changed
        return changed

    def learn(self, room_id: str, joined: Iterable[str]) -> None:
        """Take the members of a room that no sync has told of yet."""
        self._rooms.setdefault(room_id, _Room()).joined.update(filter(is_id, joined))

    def encrypted(self, room_id: str) -> bool:
        """Whether what is sent to the room must be encrypted."""
        return room_id in self._encrypted

    def all_encrypted(self) -> frozenset[str]:
        """The rooms of which :meth:`encrypted` is true."""
        return frozenset(self._encrypted)

    def foreign(self, room_id: str) -> bool:
        """Whether the room wants an encryption that is not known here."""
        room = self._rooms.get(room_id)
        return room is not None and room.foreign

    def readers(self, room_id: str) -> frozenset[str] | None:
        """Whose devices get the room's keys; None: the members are not known yet."""
        room = self._rooms.get(room_id)
        if room is None or not room.joined:
            return None
        return frozenset(room.joined | room.invited if room.invited_read else room.joined)

    def rotation(self, room_id: str) -> tuple[int, float]:
        """After how many messages, and after how many seconds, the room's key is replaced."""
        room = self._rooms.get(room_id, _Room())
        return room.messages, room.age_ms / 1000

    def watched(self) -> frozenset[str]:
        """Everybody whose devices matter: the readers of encrypted rooms."""
        return frozenset(user for room_id in self._encrypted for user in self.readers(room_id) or ())

    def _state(self, room_id: str, event: Mapping[str, Any]) -> bool:
        kind, key, content = event.get("type"), event.get("state_key"), objects(event.get("content"))
        if not isinstance(key, str):
            return False
        room = self._rooms.setdefault(room_id, _Room())
        if kind == "m.room.member" and is_id(key):
            membership = content.get("membership")
            for members, word in ((room.joined, "join"), (room.invited, "invite")):
                (members.add if membership == word else members.discard)(key)
        elif kind == "m.room.history_visibility" and key == "":
            room.invited_read = content.get("history_visibility") in ("invited", "shared", "world_readable")
        elif kind == "m.room.encryption" and key == "":
            self._encrypted.add(room_id)
            # An event without a readable algorithm still means: never in the clear. Which one was said first, holds.
            room.foreign = not room.encrypted and content.get("algorithm") not in (MEGOLM, None)
            room.encrypted = room.encrypted or not room.foreign
            room.messages = _within(content.get("rotation_period_msgs"), 1, _MOST_MESSAGES, _MESSAGES)
            room.age_ms = _within(content.get("rotation_period_ms"), _HOUR_MS, _WEEK_MS, _WEEK_MS)
        return True


def objects(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> Iterator[Any]:
    """The items of a JSON array; nothing if it is none."""
    return iter(value if isinstance(value, list) else ())


def is_id(value: object) -> bool:
    """Whether it can be the id of a user, a room or a device: short text that can be written down."""
    return isinstance(value, str) and 0 < len(value) <= _ID_CHARS and value.isprintable()


def _within(value: object, least: int, most: int, default: int) -> int:
    return min(max(value, least), most) if isinstance(value, int) and not isinstance(value, bool) else default
