"""This device and its channels to others, by nio's Olm. The only module that imports nio.

nio does what is between two devices; it is kept from what it would do beyond that, and its state stands in our file.
"""

import base64
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import vodozemac
from nio.crypto import (  # type: ignore[import-untyped]  # nio has no types
    DeviceStore,
    GroupSessionStore,
    Olm,
    OlmAccount,
    Session,
    SessionStore,
)

from bot.channels.matrix.keys.devices import Device
from bot.channels.matrix.keys.keyfile import KeyFile

logging.getLogger("nio").setLevel(logging.CRITICAL + 1)  # it logs ids of people, and pieces of what came (DUR-5)

Opened = Callable[[str, str, Mapping[str, Any]], None]
"""Takes a message: who sent it, the key of their device, and what it says."""

_PRE_KEY: Final = 0
_KEPT: Final = 8
_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS accounts (
        user_id TEXT NOT NULL, device_id TEXT NOT NULL, pickle BLOB NOT NULL, published INTEGER NOT NULL,
        PRIMARY KEY (user_id, device_id)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS channels (
        device_id TEXT NOT NULL, sender_key TEXT NOT NULL, channel_id TEXT NOT NULL, pickle BLOB NOT NULL,
        begun_s REAL NOT NULL, used_s REAL NOT NULL, PRIMARY KEY (device_id, sender_key, channel_id)) WITHOUT ROWID""",
)


class _Store:
    """What nio's Olm asks of a store, in our file."""

    def __init__(self, file: KeyFile, user_id: str, device_id: str) -> None:
        self._file = file
        self._own = (user_id, device_id)

    def load_account(self) -> Any:
        row = self._file.execute(
            "SELECT pickle, published FROM accounts WHERE user_id = ? AND device_id = ?", self._own
        ).fetchone()
        return None if row is None else OlmAccount.from_pickle(bytes(row[0]), "", bool(row[1]))

    def save_account(self, account: Any) -> None:
        self._file.execute(
            "INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?)", (*self._own, account.pickle(), int(account.shared))
        )

    def load_sessions(self) -> Any:
        store = SessionStore()
        rows = self._file.execute(
            "SELECT sender_key, pickle, begun_s, used_s FROM channels WHERE device_id = ?", self._own[1:]
        ).fetchall()
        for sender_key, pickle, begun_s, used_s in rows:
            store.add(sender_key, Session.from_pickle(bytes(pickle), _local(begun_s), "", _local(used_s)))
        return store

    def save_session(self, sender_key: str, channel: Any) -> None:
        times = (channel.creation_time.timestamp(), channel.use_time.timestamp())
        self._file.execute(
            "INSERT OR REPLACE INTO channels VALUES (?, ?, ?, ?, ?, ?)",
            (self._own[1], sender_key, channel.id, channel.pickle(), *times),
        )

    def remove_session(self, sender_key: str, channel: Any) -> None:
        self._file.execute(
            "DELETE FROM channels WHERE device_id = ? AND sender_key = ? AND channel_id = ?",
            (self._own[1], sender_key, channel.id),
        )

    # kept by us elsewhere

    def load_inbound_group_sessions(self) -> Any:
        return GroupSessionStore()

    def load_device_keys(self) -> Any:
        return DeviceStore()

    def load_outgoing_key_requests(self) -> dict[str, Any]:
        return {}


class _Machine(Olm):  # type: ignore[misc]  # nio has no types
    """nio's Olm, with what it opens and what it can't open handed to us, and nothing done about either."""

    def __init__(
        self, user_id: str, device_id: str, store: _Store, opened: Opened, broken: Callable[[str], None]
    ) -> None:
        self._opened = opened
        self._broken = broken
        super().__init__(user_id, device_id, store)

    def _handle_olm_event(self, sender: str, sender_key: str, payload: Mapping[str, Any]) -> None:
        self._opened(sender, sender_key, payload)

    def _mark_device_for_unwedging(self, _sender: str, sender_key: str) -> None:
        self._broken(sender_key)


class OlmChannels:
    """This device, and one or more channels from it to each other device."""

    def __init__(self, file: KeyFile, user_id: str, device_id: str, *, opened: Opened) -> None:
        """Load them, or make the device.

        Args:
            file: where they are kept.
            user_id: of the account.
            device_id: of the login.
            opened: is given what arrives.
        """
        for statement in _SCHEMA:
            file.execute(statement)
        self._own = (user_id, device_id)
        self._store = _Store(file, user_id, device_id)
        self._opened = opened
        self._unread = ""
        self.reload()

    def reload(self) -> None:
        """Take what stands in the file."""
        self._machine = _Machine(*self._own, self._store, self._opened, self._set_unread)

    @property
    def curve25519(self) -> str:
        """The key with which others encrypt for this device."""
        return str(self._machine.account.identity_keys["curve25519"])

    @property
    def ed25519(self) -> str:
        """The key with which this device signs."""
        return str(self._machine.account.identity_keys["ed25519"])

    def sign(self, message: bytes) -> str:
        """Sign; unpadded base64."""
        return str(self._machine.account._account.sign(message).to_base64())  # noqa: SLF001 - nio signs text alone

    def ready(self, device: Device) -> bool:
        """Whether there is a channel to the device."""
        return self._machine.session_store.get(device.curve25519) is not None

    def begin(self, device: Device, one_time_key: str) -> None:
        """Begin a channel.

        Raises:
            ValueError: the key is none.
        """
        self._machine.create_session(one_time_key, device.curve25519)
        self._thin_out(device.curve25519)

    def seal(self, device: Device, event_type: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Encrypt for a device to which there is a channel; the content of an ``m.room.encrypted`` message."""
        channel = self._machine.session_store.get(device.curve25519)
        sealed: dict[str, Any] = self._machine._olm_encrypt(channel, device, event_type, content)  # noqa: SLF001
        return sealed

    def open(self, sender: str, sender_key: str, kind: int, body: str) -> bool:
        """Open a message; what is in it goes to ``opened``. Returns False if the channel is broken.

        Raises:
            Exception: of any kind, where the message is malformed.
        """
        self._unread = ""
        message: vodozemac.PreKeyMessage | vodozemac.AnyOlmMessage
        if kind == _PRE_KEY:
            message = vodozemac.PreKeyMessage.from_base64(body)
        else:
            message = vodozemac.AnyOlmMessage.normal(base64.b64decode(body + "=" * (-len(body) % 4), validate=True))
        try:
            self._machine.decrypt(sender, sender_key, message)
        except vodozemac.SessionCreationException:  # its one-time key is not here any more
            return False
        finally:
            self._thin_out(sender_key)
        return self._unread != sender_key

    def save(self) -> None:
        """Write the device down, without the one-time keys that were used."""
        self._machine.save_account()

    @property
    def published(self) -> bool:
        """Whether the server has the device."""
        return bool(self._machine.account.shared)

    @published.setter
    def published(self, there: bool) -> None:
        self._machine.account.shared = there

    @property
    def most_keys(self) -> int:
        """How many one-time keys may be on the server."""
        return int(self._machine.account.max_one_time_keys)

    def unpublished_keys(self) -> dict[str, str]:
        """One-time keys that the server may not have yet."""
        return dict(self._machine.account.one_time_keys["curve25519"])

    def make_keys(self, count: int) -> None:
        """Make one-time keys."""
        self._machine.account.generate_one_time_keys(count)

    def set_published(self) -> None:
        """The server has the device and all keys."""
        self._machine.account.shared = True
        self._machine.account.mark_keys_as_published()

    def _set_unread(self, sender_key: str) -> None:
        self._unread = sender_key

    def _thin_out(self, sender_key: str) -> None:
        """Keep the newest channels with a device: it may begin as many as it likes."""
        channels = self._machine.session_store[sender_key]
        for channel in channels[_KEPT:]:
            self._store.remove_session(sender_key, channel)
        del channels[_KEPT:]


def _local(timestamp_s: float) -> datetime:
    return datetime.fromtimestamp(timestamp_s)  # noqa: DTZ006 - nio compares it with its own naive times
