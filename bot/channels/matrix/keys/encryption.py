"""Encryption of one account: what is read and written in encrypted rooms.

Two layers. Olm is a channel between two devices (:mod:`olm`); through it travel room keys. A room key (Megolm)
encrypts the messages of one device in one room. Which key may read what (:mod:`keyring`), whose device is whose
(:mod:`devices`), who is to get a key (:mod:`memberships`) and gets it (:mod:`sharing`) is decided here and not by nio,
which believes what it is told: it reads with any key whose id fits, raises on a malformed event, and a device that was
missing from one answer gets no key ever after.

No key is ever passed on, whatever asks for it. What one sync brings is one transaction: after a crash it is either
taken in or delivered again.
"""

import asyncio
import contextlib
import hashlib
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
import vodozemac

from bot.channels.matrix.client import Endpoint, MatrixApi
from bot.channels.matrix.keys.attachments import decrypt_file, encrypt_file
from bot.channels.matrix.keys.devices import OLM, Device, Devices
from bot.channels.matrix.keys.keycalls import KeyCalls
from bot.channels.matrix.keys.keyfile import KeyFile, unreadable
from bot.channels.matrix.keys.keyring import Keyring, RoomKey
from bot.channels.matrix.keys.memberships import MEGOLM, Memberships, is_id, items, objects
from bot.channels.matrix.keys.olm import OlmChannels
from bot.channels.matrix.keys.publishing import Publishing
from bot.channels.matrix.keys.sharing import EncryptionError, Sharing
from bot.model.errors import StoreError

__all__ = ["Encryption", "EncryptionError", "decrypt_file", "encrypt_file"]

_MENDING_S: Final = 3600.0
_UNWRITTEN: Final = 64
_NOT_A_MESSAGE: Final = frozenset(("m.room.encrypted", "m.room.redaction"))
_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS messages_taken (digest BLOB PRIMARY KEY) WITHOUT ROWID"


class Encryption:
    """The keys of one device of one account, and what is done with them."""

    def __init__(
        self, *, user_id: str, device_id: str, file: KeyFile, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Use :meth:`open`."""
        self._own = (user_id, device_id)
        self._file = file
        self._clock = clock
        self._keyring = Keyring(file)
        self._devices = Devices(file, clock=clock)
        self._remembered = self._keyring.encrypted_rooms()
        self._memberships = Memberships(self._remembered)
        self._channels = OlmChannels(file, user_id, device_id, opened=self._take_opened)
        self._publishing = Publishing(self._own, file, self._channels)
        file.execute(_SCHEMA)
        file.rolled_back += [self._keyring.reload, self._devices.reload, self._channels.reload]
        self._calls = KeyCalls(file, self._devices, self._channels, clock=clock)
        self._sharing = Sharing(
            own=self._own,
            file=file,
            keyring=self._keyring,
            devices=self._devices,
            memberships=self._memberships,
            calls=self._calls,
            channels=self._channels,
            clock=clock,
        )
        self._broken: set[Device] = set()
        self._mended: dict[Device, float] = {}
        self._waiting: list[tuple[str, Device, dict[str, Any]]] = []
        self._news: set[str] = set()
        self._turn = asyncio.Lock()

    @classmethod
    def open(cls, *, user_id: str, device_id: str, folder: Path) -> "Encryption":
        """Open the keys of a device, or make them where there are none.

        Args:
            user_id: of the account.
            device_id: of the login.
            folder: the account's own; made private to its owner.

        Raises:
            ChannelError: they can't be read, or another process has them.
        """
        file = KeyFile(folder)
        opened = None
        try:
            opened = cls(user_id=user_id, device_id=device_id, file=file)
        except (ValueError, TypeError, sqlite3.Error):
            file.close()
        if opened is None:  # outside of the handler: an error of these may hold pieces of keys
            raise unreadable()
        return opened

    def __repr__(self) -> str:
        return f"Encryption({', '.join(self._own)})"

    @property
    def user_id(self) -> str:
        """The account."""
        return self._own[0]

    @property
    def device_id(self) -> str:
        """The device."""
        return self._own[1]

    @property
    def fingerprint(self) -> str:
        """The device's Ed25519 key, unpadded base64; people compare it."""
        return self._channels.ed25519

    def sign(self, message: bytes) -> str:
        """Sign with the device's key; unpadded base64."""
        return self._channels.sign(message)

    def encrypted(self, room_id: str) -> bool:
        """Whether what is sent to the room must be encrypted; once true, it stays true."""
        return self._memberships.encrypted(room_id)

    def new_keys(self) -> frozenset[str]:
        """The rooms for which keys came since this was last asked: what could not be read there may be readable now."""
        news, self._news = frozenset(self._news), set()
        return news

    def close(self) -> None:
        """Write down what is left and let go of the file; may be called twice."""
        if not self._file.closed:
            with contextlib.suppress(StoreError):
                self._keyring.write_down()
            self._file.close()

    # what comes in

    def take(self, sync: Mapping[str, Any]) -> None:
        """Take in a sync: members, changed devices, messages between devices. What is malformed in it is dropped.

        The same sync may be taken twice.

        Raises:
            StoreError: the disk is full or the like; it is to be taken again before its token is used.
        """
        with self._file.transaction():
            changed = self._memberships.take(sync)
            encrypted = self._memberships.all_encrypted()
            for room_id in encrypted - self._remembered:
                self._keyring.add_encrypted_room(room_id)
            if changed:
                self._devices.watch(self._memberships.watched())
            for user_id in items(objects(sync.get("device_lists")).get("changed")):
                if is_id(user_id):
                    self._devices.doubt(user_id)
            counts = sync.get("device_one_time_keys_count")
            if isinstance(counts, dict):
                count = counts.get("signed_curve25519", 0)
                self._publishing.on_server = count if type(count) is int and count >= 0 else None
            self._take_messages(list(items(objects(sync.get("to_device")).get("events"))))
        self._remembered = encrypted
        self._keyring.write_down()

    def _take_messages(self, events: Sequence[Any]) -> None:
        """Messages to this device. The server repeats them until the sync's token is used, maybe after a restart."""
        rows = self._file.execute("SELECT digest FROM messages_taken").fetchall()
        before = {bytes(digest) for (digest,) in rows}
        taken: set[bytes] = set()
        for event in events:
            try:
                digest = hashlib.sha256(orjson.dumps(event, option=orjson.OPT_SORT_KEYS)).digest()
                if digest not in before | taken:
                    self._take_message(objects(event))
                taken.add(digest)
            except sqlite3.Error:
                raise
            except Exception:  # noqa: BLE001, S112 - somebody's garbage: it must not stop what stands behind it
                continue
        if taken != before:
            self._file.execute("DELETE FROM messages_taken")
            for digest in taken:
                self._file.execute("INSERT INTO messages_taken VALUES (?)", (digest,))
            self._channels.save()

    def _take_message(self, event: Mapping[str, Any]) -> None:
        content, sender = objects(event.get("content")), event.get("sender")
        if event.get("type") != "m.room.encrypted" or content.get("algorithm") != OLM or not is_id(sender):
            return
        sender, sender_key = str(sender), content.get("sender_key")
        own = objects(objects(content.get("ciphertext")).get(self._channels.curve25519))
        kind, body = own.get("type"), own.get("body")
        if not isinstance(sender_key, str) or not isinstance(body, str) or type(kind) is not int:
            return
        # One spelling of a key: what is kept by it must not depend on how it was written.
        sender_key = vodozemac.Curve25519PublicKey.from_base64(sender_key).to_base64()
        if self._channels.open(sender, sender_key, kind, body):
            return
        device = self._devices.get(sender, sender_key)
        if device is None:
            self._devices.doubt(sender)
        elif self._mended.get(device, -_MENDING_S) + _MENDING_S <= self._clock():
            self._broken.add(device)

    def _take_opened(self, sender: str, sender_key: str, payload: Mapping[str, Any]) -> None:
        """A message between devices, whose sender and recipient have been compared with those that stand within."""
        content = objects(payload.get("content"))
        if payload.get("type") != "m.room_key" or content.get("algorithm") != MEGOLM:
            return
        added = self._keyring.add(
            room_id=content.get("room_id"),
            key_id=content.get("session_id"),
            secret=content.get("session_key"),
            user_id=sender,
            sender_key=sender_key,
            fingerprint=objects(payload.get("keys")).get("ed25519"),
        )
        if added:
            self._news.add(str(content["room_id"]))

    def decrypt(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Decrypt an event of a room.

        Args:
            event: a raw ``m.room.encrypted`` event, with its ``room_id``.

        Returns:
            The clear event, whose content keeps the relation of the encrypted one where it names none itself. None: it
            can't be read, or not yet; or it is not what its sender wrote for this room.
        """
        try:
            clear = self._clear(event)
        except (ValueError, RecursionError, sqlite3.Error):  # every error of vodozemac and orjson is a ValueError
            return None
        if self._keyring.unwritten >= _UNWRITTEN:
            with contextlib.suppress(StoreError):  # the next sync will say so
                self._keyring.write_down()
        return clear

    def _clear(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        content = objects(event.get("content"))
        room_id, sender, event_id = event.get("room_id"), event.get("sender"), event.get("event_id")
        key_id, ciphertext = content.get("session_id"), content.get("ciphertext")
        if event.get("type") != "m.room.encrypted" or "state_key" in event or content.get("algorithm") != MEGOLM:
            return None
        if not all(map(is_id, (room_id, sender, event_id, key_id))) or not isinstance(ciphertext, str):
            return None
        room_id, sender, event_id = str(room_id), str(sender), str(event_id)
        message = vodozemac.MegolmMessage.from_base64(ciphertext)
        for key in self._keyring.find(room_id, str(key_id), sender):
            found = None if self._devices.disowned(sender, key.sender_key, key.fingerprint) else _opened(key, message)
            inner = None if found is None else _inner(found[0], room_id)
            if found is None or inner is None:
                continue
            if not self._keyring.claim(key, found[1], event_id):
                return None
            if "m.relates_to" in content:
                inner["content"].setdefault("m.relates_to", content["m.relates_to"])
            return {
                "type": inner["type"],
                "content": inner["content"],
                "event_id": event_id,
                "sender": sender,
                "origin_server_ts": event.get("origin_server_ts"),
                "room_id": room_id,
            }
        return None

    # what keeps it going

    async def upkeep(self, api: MatrixApi) -> None:
        """Do what the last sync calls for: publish keys, ask for changed devices, mend broken channels.

        Raises:
            CallError: a call did not succeed; what is left is done the next time.
            ChannelError: the server has other keys for this device: it needs a new login.
            StoreError: the disk is full or the like.
        """
        async with self._turn:
            self._keyring.write_down()
            await self._publishing.run(api)
            await self._calls.ask(api, self._own)
            await self._mend(api)

    async def _mend(self, api: MatrixApi) -> None:
        """Begin new channels where messages could not be read; an empty message through each says so to the other."""
        broken = list(self._broken)
        begun = await self._calls.claim(api, broken)
        self._broken.difference_update(broken)
        self._mended.update(dict.fromkeys(broken, self._clock()))
        with self._file.transaction():
            for device in begun:
                self._waiting.append((secrets.token_urlsafe(12), device, self._channels.seal(device, "m.dummy", {})))
        while self._waiting:
            name, device, content = self._waiting[0]
            messages = {device.user_id: {device.device_id: content}}
            await api.call(Endpoint.TO_DEVICE, "m.room.encrypted", name, body={"messages": messages})
            del self._waiting[0]

    # what goes out

    async def encrypt(
        self, api: MatrixApi, room_id: str, event_type: str, content: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Encrypt an event for a room, after giving the key to all devices of its readers.

        Args:
            api: for the calls that this needs.
            room_id: where it goes.
            event_type: of the clear event.
            content: of the clear event; its relation stays readable too, servers need it.

        Returns:
            Type and content of what is to be sent.

        Raises:
            CallError: a call did not succeed.
            EncryptionError: the room or the content don't allow it, or the members keep changing.
            StoreError: the disk is full or the like.
        """
        return await self._sharing.encrypt(api, room_id, event_type, content)


def _opened(key: RoomKey, message: vodozemac.MegolmMessage) -> tuple[bytes, int] | None:
    try:
        decrypted = key.reader.decrypt(message)
    except ValueError:  # another key, or one that begins after this message
        return None
    return decrypted.plaintext, decrypted.message_index


def _inner(plaintext: bytes, room_id: str) -> dict[str, Any] | None:
    """The clear event, if it is one and was written for this room."""
    inner = orjson.loads(plaintext)
    if not isinstance(inner, dict) or inner.get("room_id") != room_id or not isinstance(inner.get("content"), dict):
        return None
    # Only the server can say that something was redacted, and it has not seen this.
    if not isinstance(inner.get("type"), str) or inner["type"] in _NOT_A_MESSAGE:
        return None
    return inner
