"""Cross-signing of the bot's own device: clients keep room keys from devices that their owner has not signed.

An account has a master key, which signs a self-signing key, which signs each device of the account (and a user-signing
key, for other people, which the bot does not use). The seeds of our three keys are on the disk before the server has
the keys, so that no crash leaves an account with keys that nobody holds.

INVARIANT: what is signed is our own device alone: the server's record of it has to carry our fingerprint and a
signature by it, else a server could have another device signed. Keys that others made for the account are never
replaced unasked: people may have verified them.
"""

import base64
import binascii
import contextlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Protocol

from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa

from bot.channels.matrix.client import Endpoint, MatrixApi, RefusedError
from bot.channels.matrix.credentials import read_private, write_private
from bot.model.errors import ChannelError

_FILE: Final = "cross-signing.json"
_USAGES: Final = ("master", "self_signing", "user_signing")
_SEED_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_PASSWORD: Final = "m.login.password"  # noqa: S105 - the name of a stage
_RESET: Final = "run `discreet matrix login --reset-cross-signing`"


class Device(Protocol):
    """What is needed of the device that is signed."""

    @property
    def user_id(self) -> str:
        """The account."""
        ...

    @property
    def device_id(self) -> str:
        """The device."""
        ...

    @property
    def fingerprint(self) -> str:
        """Its Ed25519 key, as unpadded base64."""
        ...

    def sign(self, message: bytes) -> str:
        """Sign with that key; unpadded base64."""
        ...


class Why(Enum):
    """Why a device is not cross-signed."""

    NO_KEYS = "no_keys"
    FOREIGN_KEYS = "foreign_keys"
    BROKEN_KEYS = "broken_keys"
    PASSWORD_NEEDED = "password_needed"  # noqa: S105 - a reason
    PASSWORD_WRONG = "password_wrong"  # noqa: S105 - a reason
    ELSEWHERE = "elsewhere"
    DEVICE_MISSING = "device_missing"
    DEVICE_DIFFERS = "device_differs"
    NOT_SIGNED = "not_signed"


_MENDS: Final[Mapping[Why, tuple[str, str]]] = {
    Why.NO_KEYS: ("the account has no cross-signing keys", "run `discreet matrix login`"),
    Why.FOREIGN_KEYS: (
        "another client has set up cross-signing for this account",
        f"verify this device from there, or, to replace those keys, {_RESET}",
    ),
    Why.BROKEN_KEYS: ("the account's cross-signing keys do not fit each other", _RESET),
    Why.PASSWORD_NEEDED: (
        "the homeserver wants the account's password for new cross-signing keys",
        "run `discreet matrix login` with the password",
    ),
    Why.PASSWORD_WRONG: (
        "the homeserver does not accept the password",
        "run `discreet matrix login` with the right one",
    ),
    Why.ELSEWHERE: (
        "the homeserver wants new cross-signing keys to be allowed on its account page",
        "allow it there, then run `discreet matrix login`",
    ),
    Why.DEVICE_MISSING: (
        "the homeserver does not have the device's keys, so nobody can write to it",
        "start Discreet anew, or run `discreet matrix login`",
    ),
    Why.DEVICE_DIFFERS: (
        "the homeserver has other keys for this device than its folder",
        "stop Discreet and run `discreet matrix login`, which takes a new device",
    ),
    Why.NOT_SIGNED: ("the device is not signed by its account", "run `discreet matrix login`"),
}
"""What is wrong, and what an admin can do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signed:
    """The device is signed by its account.

    Attributes:
        ours: whether the account's master key is the one whose seed is here.
        new: whether it has been signed just now.
    """

    ours: bool
    new: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Unsigned:
    """The device is not signed by its account.

    Attributes:
        why: the reason.
    """

    why: Why

    @property
    def cause(self) -> str:
        """What is wrong, as a sentence without a full stop."""
        return _MENDS[self.why][0]

    @property
    def mend(self) -> str:
        """What an admin can do, likewise."""
        return _MENDS[self.why][1]

    def __str__(self) -> str:
        return f"{self.cause}; {self.mend}"


class CrossSigning:
    """The three keys of an account."""

    def __init__(self, seeds: Mapping[str, bytes]) -> None:
        """Args: seeds: 32 bytes for each of ``master``, ``self_signing`` and ``user_signing``."""
        self.master = _Key(seed=seeds["master"])
        self.self_signing = _Key(seed=seeds["self_signing"])
        self.user_signing = _Key(seed=seeds["user_signing"])

    @classmethod
    async def ensure(
        cls, api: MatrixApi, encryption: Device, folder: Path, *, password: str | None = None, reset: bool = False
    ) -> Signed | Unsigned:
        """Have the own device signed; does nothing where it is.

        Args:
            api: logged in as the device.
            encryption: the device; its keys have to be on the server.
            folder: of the account; the seeds are kept there.
            password: for the server that wants it for new keys.
            reset: replace keys that are not ours or don't fit each other.

        Raises:
            CallError: the server refused or can't be reached.
            ChannelError: the seeds can't be read or written; the text says the mend.
        """
        found = await _published(api, encryption)
        if isinstance(found, Unsigned):
            return found
        keys = cls.read(folder, encryption.user_id)
        ours = keys is not None and keys.master.public == found.master
        if not ours and not reset and found.master is not None:
            return found.standing(keys)
        if keys is None or not (ours or found.master is None):
            keys = cls.make(folder, encryption.user_id)
        complete = found.linked and found.self_signing == keys.self_signing.public
        if found.master != keys.master.public or not complete:
            refused = await keys.publish(api, encryption, password)
            if refused is not None:
                return refused
        elif isinstance(standing := found.standing(keys), Signed):
            return standing
        user, device = encryption.user_id, encryption.device_id
        signed = keys.self_signing.signed(found.device, user)
        await api.call(Endpoint.SIGNATURES_UPLOAD, body={user: {device: signed}})
        # That call succeeds even where it did not take the signature, so the server is asked.
        standing = await cls.verify(api, encryption, folder)
        return Signed(ours=standing.ours, new=True) if isinstance(standing, Signed) else standing

    @classmethod
    async def verify(cls, api: MatrixApi, encryption: Device, folder: Path | None = None) -> Signed | Unsigned:
        """Look how the device stands, and change nothing.

        Args:
            api: logged in as the device.
            encryption: the device.
            folder: of the account, for ``ours``; None: nothing is compared with the seeds.

        Raises:
            CallError: the server refused or can't be reached.
            ChannelError: the seeds can't be read; the text says the mend.
        """
        found = await _published(api, encryption)
        if isinstance(found, Unsigned):
            return found
        return found.standing(None if folder is None else cls.read(folder, encryption.user_id))

    @classmethod
    def read(cls, folder: Path, user_id: str) -> "CrossSigning | None":
        """The kept keys; None where there are none yet.

        Raises:
            ChannelError: they can't be read; the text says the mend.
        """
        content = read_private(folder / _FILE)
        if content is None:
            return None
        with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
            kept = json.loads(content)
            seeds = {name: base64.b64decode(kept[name], validate=True) for name in _USAGES}
            if kept["user_id"] == user_id and all(len(seed) == _SEED_BYTES for seed in seeds.values()):
                return cls(seeds)
        raise ChannelError(f"{folder / _FILE} is damaged. Bring it back from a backup, or remove it and {_RESET}")

    @classmethod
    def make(cls, folder: Path, user_id: str) -> "CrossSigning":
        """New keys, kept before anybody hears of them.

        Raises:
            ChannelError: they can't be written; the text says the mend.
        """
        seeds = {name: secrets.token_bytes(_SEED_BYTES) for name in _USAGES}
        kept = {"user_id": user_id} | {name: base64.b64encode(seed).decode() for name, seed in seeds.items()}
        write_private(folder / _FILE, json.dumps(kept, indent=2).encode())
        return cls(seeds)

    async def publish(self, api: MatrixApi, device: Device, password: str | None) -> Unsigned | None:
        """Publish the three keys; None: done.

        Raises:
            CallError: the server refused for another reason than the password, or can't be reached.
        """
        user = device.user_id
        master = self.master.published("master", user)
        master["signatures"] = {user: {f"ed25519:{device.device_id}": device.sign(_canonical(master))}}
        body: dict[str, Any] = {
            "master_key": master,
            "self_signing_key": self.master.signed(self.self_signing.published("self_signing", user), user),
            "user_signing_key": self.master.signed(self.user_signing.published("user_signing", user), user),
        }
        stages = await _staged(api, body)
        if stages is None:
            return None
        if not stages.password:
            return Unsigned(why=Why.ELSEWHERE)
        if password is None:
            return Unsigned(why=Why.PASSWORD_NEEDED)
        body["auth"] = {
            "type": _PASSWORD,
            "identifier": {"type": "m.id.user", "user": user},
            "password": password,
            "session": stages.session,
        }
        return None if await _staged(api, body) is None else Unsigned(why=Why.PASSWORD_WRONG)


class _Key:
    """One Ed25519 key with its seed, which never shows."""

    def __init__(self, *, seed: bytes) -> None:
        key = ECC.construct(curve="Ed25519", seed=seed)
        self._signer = eddsa.new(key, "rfc8032")
        self.public = _unpadded(key.public_key().export_key(format="raw"))

    def published(self, usage: str, user_id: str) -> dict[str, Any]:
        return {"user_id": user_id, "usage": [usage], "keys": {f"ed25519:{self.public}": self.public}}

    def signed(self, record: Mapping[str, Any], user_id: str) -> dict[str, Any]:
        """The record with our signature alone: others' are on the server already."""
        bare = {name: value for name, value in record.items() if name not in ("signatures", "unsigned")}
        signature = _unpadded(self._signer.sign(_canonical(bare)))
        return bare | {"signatures": {user_id: {f"ed25519:{self.public}": signature}}}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stages:
    """What a server wants before it takes new keys."""

    password: bool
    session: str = field(repr=False)


async def _staged(api: MatrixApi, body: Mapping[str, Any]) -> _Stages | None:
    """Upload keys; None: done."""
    try:
        await api.call(Endpoint.SIGNING_UPLOAD, body=body)
    except RefusedError as error:
        refusal = error
    else:
        return None
    if refusal.status == HTTPStatus.FORBIDDEN and "auth" in body:
        return _Stages(password=True, session="")  # some servers say so that the password is wrong
    flows, session = refusal.body.get("flows"), refusal.body.get("session")
    if refusal.status != HTTPStatus.UNAUTHORIZED or not isinstance(flows, list):
        raise refusal
    return _Stages(
        password=any(isinstance(flow, dict) and flow.get("stages") == [_PASSWORD] for flow in flows),
        session=session if isinstance(session, str) else "",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Published:
    """What the server has: the keys (None: none), the device, and whether each is signed by the one above it."""

    master: str | None
    self_signing: str | None
    linked: bool
    device: dict[str, Any]
    device_signed: bool

    def standing(self, keys: CrossSigning | None) -> Signed | Unsigned:
        """How the device stands."""
        ours = keys is not None and keys.master.public == self.master
        if self.master is None:
            return Unsigned(why=Why.NO_KEYS)
        if not self.linked or (ours and keys is not None and keys.self_signing.public != self.self_signing):
            return Unsigned(why=Why.BROKEN_KEYS)
        if self.device_signed:
            return Signed(ours=ours)
        return Unsigned(why=Why.NOT_SIGNED if ours else Why.FOREIGN_KEYS)


async def _published(api: MatrixApi, device: Device) -> _Published | Unsigned:
    """Ask the server for its keys of our account.

    Raises:
        CallError: it can't be asked.
    """
    user, name = device.user_id, f"ed25519:{device.device_id}"
    answer = await api.call(Endpoint.KEYS_QUERY, body={"device_keys": {user: [device.device_id]}})
    record = _inner(answer, "device_keys", user, device.device_id)
    if not record:
        return Unsigned(why=Why.DEVICE_MISSING)
    own = (
        record.get("user_id") == user
        and record.get("device_id") == device.device_id
        and _inner(record, "keys").get(name) == device.fingerprint
        and _signed_by(record, device.fingerprint, user, device.device_id)
    )
    if not own:
        return Unsigned(why=Why.DEVICE_DIFFERS)
    master_record = _inner(answer, "master_keys", user)
    signing_record = _inner(answer, "self_signing_keys", user)
    master, signing = _only_key(master_record, "master", user), _only_key(signing_record, "self_signing", user)
    return _Published(
        master=master if master is not None or not master_record else "",  # there is one, whatever it may be
        self_signing=signing,
        linked=bool(master and signing) and _signed_by(signing_record, master or "", user, master or ""),
        device=record,
        device_signed=bool(signing) and _signed_by(record, signing or "", user, signing or ""),
    )


def _only_key(record: Mapping[str, Any], usage: str, user_id: str) -> str | None:
    """The public key of a record of a cross-signing key; None where it is none."""
    usages, keys = record.get("usage"), list(_inner(record, "keys").items())
    if record.get("user_id") != user_id or not isinstance(usages, list) or usage not in usages or len(keys) != 1:
        return None
    name, key = keys[0]
    return key if isinstance(key, str) and name == f"ed25519:{key}" and _raw(key, _SEED_BYTES) is not None else None


def _signed_by(record: Mapping[str, Any], public: str, user_id: str, key_id: str) -> bool:
    """Whether the record carries a good signature of the user's key."""
    signature = _raw(_inner(record, "signatures", user_id).get(f"ed25519:{key_id}"), _SIGNATURE_BYTES)
    key = _raw(public, _SEED_BYTES)
    if signature is None or key is None:
        return False
    bare = {name: value for name, value in record.items() if name not in ("signatures", "unsigned")}
    with contextlib.suppress(ValueError, RecursionError):
        eddsa.new(eddsa.import_public_key(key), "rfc8032").verify(_canonical(bare), signature)
        return True
    return False


def _inner(value: Any, *names: str) -> dict[str, Any]:
    """What stands under these names; empty where it is no object."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _raw(text: Any, size: int) -> bytes | None:
    """Unpadded base64 of so many bytes; None where it is something else."""
    if not isinstance(text, str):
        return None
    with contextlib.suppress(binascii.Error, ValueError):
        raw = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        return raw if len(raw) == size else None
    return None


def _unpadded(raw: bytes) -> str:
    return base64.b64encode(raw).decode().rstrip("=")


def _canonical(record: Mapping[str, Any]) -> bytes:
    """Canonical JSON of Matrix, which has no fractions; ValueError (UnicodeEncodeError) for a lone surrogate."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True).encode()
