"""The keys with which the messages of rooms are read, and what was read with them.

A room key (Megolm) belongs to the device that made it and comes from there through an authenticated channel between two
devices (Olm). INVARIANT: a key reads only events of the user who sent the key. Somebody in the room may pass another
person's key on as if it were theirs; so keys with one id are kept apart by the device that sent them, and such a key
reads nothing that its maker wrote.

Each key counts its messages. A place in that count belongs to one event: the same ciphertext under another event id is
a repetition that somebody made, and is not read. What was read is written down in batches; a crash forgets the last.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

import vodozemac

from bot.channels.matrix.keys.keyfile import KeyFile
from bot.channels.matrix.keys.memberships import is_id

_KEPT_OPEN: Final = 512
_PICKLE_KEY: Final = bytes(32)  # the file is private to its owner (0600); a key beside it would guard nothing
_DIGEST_BYTES: Final = 16

_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS room_keys (
        id INTEGER PRIMARY KEY, room_id TEXT NOT NULL, key_id TEXT NOT NULL, sender_key TEXT NOT NULL,
        user_id TEXT NOT NULL, fingerprint TEXT NOT NULL, pickle TEXT NOT NULL,
        UNIQUE (room_id, key_id, sender_key))""",
    """CREATE TABLE IF NOT EXISTS places_read (
        room_key INTEGER NOT NULL, place INTEGER NOT NULL, event BLOB NOT NULL,
        PRIMARY KEY (room_key, place)) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS rooms_encrypted (room_id TEXT PRIMARY KEY) WITHOUT ROWID",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomKey:
    """One key.

    Attributes:
        row: its number here.
        user_id: who sent it.
        sender_key: the Curve25519 key of the device that sent it.
        fingerprint: the Ed25519 key that this device claimed.
    """

    row: int
    user_id: str
    sender_key: str
    fingerprint: str
    reader: vodozemac.InboundGroupSession = field(repr=False)


class Keyring:
    """All room keys of one account."""

    def __init__(self, file: KeyFile) -> None:
        """Take the file in which they are kept."""
        self._file = file
        for statement in _SCHEMA:
            file.execute(statement)
        self._open: OrderedDict[tuple[str, str], list[RoomKey]] = OrderedDict()
        self._unwritten: dict[tuple[int, int], bytes] = {}

    def add(
        self, *, room_id: object, key_id: object, secret: object, user_id: str, sender_key: str, fingerprint: object
    ) -> bool:
        """Keep a key; returns whether it is one that reads more than what was here.

        Args:
            room_id: of the one room that it may read.
            key_id: what events call it by; must be its own.
            secret: the key itself, as it was shared.
            user_id: who sent it.
            sender_key: of the device that sent it.
            fingerprint: that this device claimed.
        """
        if not (is_id(room_id) and is_id(key_id) and isinstance(secret, str) and isinstance(fingerprint, str)):
            return False
        reader = vodozemac.InboundGroupSession(vodozemac.SessionKey(secret))
        if reader.session_id != key_id:
            return False
        for known in self._keys(str(room_id), key_id):
            if known.sender_key == sender_key and not _reaches_further(reader, known.reader):
                return False
        values = (room_id, key_id, sender_key, user_id, fingerprint, reader.pickle(_PICKLE_KEY))
        self._file.execute(
            "INSERT INTO room_keys (room_id, key_id, sender_key, user_id, fingerprint, pickle)"
            " VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (room_id, key_id, sender_key) DO UPDATE SET pickle = excluded.pickle",
            values,
        )
        self._open.pop((str(room_id), key_id), None)
        return True

    def find(self, room_id: str, key_id: str, user_id: str) -> list[RoomKey]:
        """The keys of this id that came from this user."""
        return [key for key in self._keys(room_id, key_id) if key.user_id == user_id]

    def claim(self, key: RoomKey, place: int, event_id: str) -> bool:
        """Take a place in the count of a key for an event; False: another event has it."""
        mark = hashlib.blake2b(event_id.encode(), digest_size=_DIGEST_BYTES).digest()
        taken = self._unwritten.get((key.row, place))
        if taken is None:
            row = self._file.execute(
                "SELECT event FROM places_read WHERE room_key = ? AND place = ?", (key.row, place)
            ).fetchone()
            taken = None if row is None else bytes(row[0])
            if taken is None:
                self._unwritten[key.row, place] = taken = mark
        return taken == mark

    @property
    def unwritten(self) -> int:
        """How many places are taken and not written down."""
        return len(self._unwritten)

    def write_down(self) -> None:
        """Write down which places are taken.

        Raises:
            StoreError: it can't be written now.
        """
        if self._unwritten:
            with self._file.transaction():
                for (row, place), mark in self._unwritten.items():
                    self._file.execute("INSERT OR IGNORE INTO places_read VALUES (?, ?, ?)", (row, place, mark))
            self._unwritten.clear()

    def reload(self) -> None:
        """Read keys anew: a transaction was rolled back."""
        self._open.clear()

    def encrypted_rooms(self) -> frozenset[str]:
        """Rooms that are known to be encrypted."""
        return frozenset(row[0] for row in self._file.execute("SELECT room_id FROM rooms_encrypted"))

    def add_encrypted_room(self, room_id: str) -> None:
        """Remember for good that a room is encrypted."""
        self._file.execute("INSERT OR IGNORE INTO rooms_encrypted VALUES (?)", (room_id,))

    def _keys(self, room_id: str, key_id: str) -> list[RoomKey]:
        keys = self._open.get((room_id, key_id))
        if keys is None:
            rows = self._file.execute(
                "SELECT id, user_id, sender_key, fingerprint, pickle FROM room_keys WHERE room_id = ? AND key_id = ?",
                (room_id, key_id),
            ).fetchall()
            keys = [
                RoomKey(
                    row=row,
                    user_id=user_id,
                    sender_key=sender_key,
                    fingerprint=fingerprint,
                    reader=vodozemac.InboundGroupSession.from_pickle(pickle, _PICKLE_KEY),
                )
                for row, user_id, sender_key, fingerprint, pickle in rows
            ]
            if keys:  # ids that nobody has a key for are free to invent
                self._open[room_id, key_id] = keys
                if len(self._open) > _KEPT_OPEN:
                    self._open.popitem(last=False)
        else:
            self._open.move_to_end((room_id, key_id))
        return keys


def _reaches_further(new: vodozemac.InboundGroupSession, old: vodozemac.InboundGroupSession) -> bool:
    """Whether the new key begins earlier and is certainly the same one."""
    if new.first_known_index >= old.first_known_index:
        return False
    ours, theirs = old.export_at(old.first_known_index), new.export_at(old.first_known_index)
    return ours is not None and theirs is not None and ours.to_base64() == theirs.to_base64()
