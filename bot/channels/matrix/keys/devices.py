"""The devices of the people with whom rooms are shared, and their keys.

A device signs its own description; a description that is not signed by the key that it names is dropped, and so is one
whose signing key differs from the one that was seen first for this device. A device that is gone is remembered, so that
what it once sent stays its owner's.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import vodozemac

from bot.channels.matrix.keys.keyfile import KeyFile
from bot.channels.matrix.keys.memberships import is_id, objects

OLM: Final = "m.olm.v1.curve25519-aes-sha2"

_RETRY_S: Final = 600.0
_KEY_CHARS: Final = 43  # 32 bytes in unpadded base64

_SCHEMA: Final = """CREATE TABLE IF NOT EXISTS known_devices (
    user_id TEXT NOT NULL, device_id TEXT NOT NULL, curve25519 TEXT NOT NULL, ed25519 TEXT NOT NULL,
    gone INTEGER NOT NULL, PRIMARY KEY (user_id, device_id)) WITHOUT ROWID"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """One device.

    Attributes:
        curve25519: the key with which messages to it are encrypted.
        ed25519: the key with which it signs.
    """

    user_id: str
    device_id: str
    curve25519: str
    ed25519: str


class Devices:
    """What is known of other devices.

    Users are watched while an encrypted room is shared with them; a watched user is stale until the server has been
    asked, and again when it says that something has changed.
    """

    def __init__(self, file: KeyFile, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Load what is known.

        Args:
            file: where it is kept.
            clock: seconds that only grow.
        """
        self._file = file
        self._clock = clock
        self._known: dict[str, dict[str, Device]] = {}
        self._gone: set[Device] = set()
        self._makers: dict[str, set[Device]] = {}
        self._watched: set[str] = set()
        self._stale: dict[str, float] = {}
        file.execute(_SCHEMA)
        self.reload()

    def reload(self) -> None:
        """Take what stands in the database for what is known: a transaction was rolled back."""
        self._known, self._gone, self._makers = {}, set(), {}
        rows = self._file.execute("SELECT user_id, device_id, curve25519, ed25519, gone FROM known_devices")
        for user_id, device_id, curve25519, ed25519, gone in rows.fetchall():
            device = Device(user_id=user_id, device_id=device_id, curve25519=curve25519, ed25519=ed25519)
            self._keep(device, gone=bool(gone))
        self._stale = dict.fromkeys(self._watched, 0.0)

    def watch(self, users: frozenset[str]) -> None:
        """These and no others matter now."""
        for user_id in users - self._watched:
            self._stale[user_id] = 0.0
        for user_id in self._watched - users:
            self._stale.pop(user_id, None)
        self._watched = set(users)

    def doubt(self, user_id: str) -> None:
        """Something about the devices of a user may have changed."""
        if user_id in self._watched:
            self._stale[user_id] = 0.0

    def stale(self, among: Iterable[str] | None = None) -> list[str]:
        """Users about whom to ask now."""
        now = self._clock()
        users = self._stale if among is None else [user_id for user_id in among if user_id in self._stale]
        return sorted(user_id for user_id in users if self._stale[user_id] <= now)

    def asking(self, users: Iterable[str]) -> None:
        """The server is being asked; what changes from here on makes them stale again."""
        for user_id in users:
            self._stale.pop(user_id, None)

    def unanswered(self, users: Iterable[str], *, soon: bool) -> None:
        """The server did not say; ask again, after a while where it is the users' own server that is silent."""
        for user_id in users:
            if user_id in self._watched:
                self._stale.setdefault(user_id, 0.0 if soon else self._clock() + _RETRY_S)

    def of(self, users: Iterable[str]) -> list[Device]:
        """The present devices of these users."""
        return [
            device
            for user_id in sorted(users)
            for device in self._known.get(user_id, {}).values()
            if device not in self._gone
        ]

    def get(self, user_id: str, curve25519: str) -> Device | None:
        """The present device of a user that has this key."""
        return next((device for device in self.of([user_id]) if device.curve25519 == curve25519), None)

    def disowned(self, user_id: str, curve25519: str, ed25519: str) -> bool:
        """Whether this pair of keys is known, and known not to be a device of this user."""
        makers = self._makers.get(curve25519, set())
        return bool(makers) and not any(maker.user_id == user_id and maker.ed25519 == ed25519 for maker in makers)

    def learn(self, user_id: str, answer: Mapping[str, Any]) -> None:
        """Take the server's answer about one user; what is malformed in it is dropped.

        Args:
            user_id: who was asked about.
            answer: device ids and descriptions.
        """
        known = self._known.get(user_id, {})
        present: set[str] = set()
        for device_id, description in answer.items():
            device = _read(user_id, device_id, objects(description))
            if device is None:
                continue
            before = known.get(device_id)
            if before is not None and before.ed25519 != device.ed25519:
                continue
            present.add(device_id)
            if before != device or before in self._gone:
                self._write(device, gone=False)
        for device in list(known.values()):
            if device.device_id not in present and device not in self._gone:
                self._write(device, gone=True)

    def _write(self, device: Device, *, gone: bool) -> None:
        self._file.execute(
            "INSERT OR REPLACE INTO known_devices VALUES (?, ?, ?, ?, ?)",
            (device.user_id, device.device_id, device.curve25519, device.ed25519, int(gone)),
        )
        self._keep(device, gone=gone)

    def _keep(self, device: Device, *, gone: bool) -> None:
        self._known.setdefault(device.user_id, {})[device.device_id] = device
        self._makers.setdefault(device.curve25519, set()).add(device)
        (self._gone.add if gone else self._gone.discard)(device)


def signed_by(signed: Mapping[str, Any], user_id: str, device_id: str, ed25519: str) -> bool:
    """Whether a signed JSON object carries the true signature of a device."""
    signature = objects(objects(signed.get("signatures")).get(user_id)).get(f"ed25519:{device_id}")
    if not isinstance(signature, str) or len(ed25519) != _KEY_CHARS:  # a longer key makes vodozemac 0.10 panic
        return False
    try:
        vodozemac.Ed25519PublicKey.from_base64(ed25519).verify_signature(
            canonical(signed), vodozemac.Ed25519Signature.from_base64(signature)
        )
    except (ValueError, RecursionError):  # every error of the library is a ValueError
        return False
    return True


def canonical(signed: Mapping[str, Any]) -> bytes:
    """The bytes of a JSON object that are signed: canonical JSON without signatures and what the server adds.

    Raises:
        ValueError: it has no such form.
    """
    bare = {key: value for key, value in signed.items() if key not in ("signatures", "unsigned")}
    return json.dumps(bare, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()


def _read(user_id: str, device_id: object, description: Mapping[str, Any]) -> Device | None:
    if not is_id(device_id) or description.get("user_id") != user_id or description.get("device_id") != device_id:
        return None
    keys = objects(description.get("keys"))
    curve25519, ed25519 = keys.get(f"curve25519:{device_id}"), keys.get(f"ed25519:{device_id}")
    if not (isinstance(curve25519, str) and isinstance(ed25519, str)):
        return None
    if len(curve25519) != _KEY_CHARS or not signed_by(description, user_id, str(device_id), ed25519):
        return None
    try:
        curve25519 = vodozemac.Curve25519PublicKey.from_base64(curve25519).to_base64()  # one spelling for one key
    except ValueError:
        return None
    return Device(user_id=user_id, device_id=str(device_id), curve25519=curve25519, ed25519=ed25519)
