"""Keys that ``discreet keys add`` has made (AGENT-1): each for one agent or dispatcher, with what it may be used for.

They stand in one file of the data folder, 0600, as SHA-256: a key is 256 random bits, so nothing slower is needed, and
nobody can read it there. The running gateway looks at the file at every call: a key holds from the moment it is made,
and no longer than it is there.

INVARIANT: a file that others could have written, or that can't be read, holds no key.
"""

import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from bot.config.errors import ConfigError
from bot.config.secret import Secret
from policy.destination import Destination

FILE: Final = "keys.json"
"""In the data folder."""
MOST: Final = 1_000
"""Keys; each call is compared with all of them."""
MAX_LIMITS: Final = 200
"""People, or destinations, to which one key may be limited."""
_PREFIX: Final = "dsk_"
_BYTES: Final = 32
_ID_BYTES: Final = 4
_SIZE_LIMIT: Final = 4 << 20  # bytes


class Scope(StrEnum):
    """What a key may be used for."""

    ASK = "ask"  # questions to people
    PROPOSE = "propose"  # actions for approval
    DELIVER = "deliver"  # words that go out unasked, with a grant
    DISPATCH = "dispatch"  # makes grants: a dispatcher's, and never an agent's (OUT-6)


OF_AGENTS: Final = frozenset({Scope.ASK, Scope.PROPOSE, Scope.DELIVER})
"""What an agent's key may be used for; deciding is not among it, and granting is not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential:
    """A key, known by its digest.

    Attributes:
        id: by which people name it; the key can't be made out from it.
        name: of the agent; of a dispatcher where the scope is dispatch.
        digest: SHA-256 of the key.
        scopes: what it may be used for.
        principals: ids of people to whom it may be used; None: no limit.
        destinations: places, with their threads, where it may be used; None: no limit.
        made_at: when; None: it stands in a file of the configuration.
    """

    id: str
    name: str
    digest: bytes = field(repr=False)
    scopes: frozenset[Scope]
    principals: frozenset[str] | None = None
    destinations: frozenset[str] | None = None
    made_at: datetime | None = None

    @property
    def dispatcher(self) -> bool:
        """Whether it makes grants, and does nothing else."""
        return Scope.DISPATCH in self.scopes

    def reaches(self, principal: str | None) -> bool:
        """Whether it may be used to address somebody; None: somebody whom the policy does not know."""
        return self.principals is None or principal in self.principals

    def covers(self, place: Destination) -> bool:
        """Whether it may be used there."""
        return self.destinations is None or not self.destinations.isdisjoint({str(place), str(place.room)})


def digest_of(key: str) -> bytes:
    """By which a key is known."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()


class Credentials:
    """The file."""

    def __init__(self, path: Path) -> None:
        """Args: path: of the file; it need not be there."""
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._known: tuple[Credential, ...] = ()
        self._broken = False

    def all(self) -> tuple[Credential, ...]:
        """Those that hold now; read again only where the file has changed."""
        try:
            status = self._path.stat()
        except OSError:
            self._seen, self._known, self._broken = None, (), False
            return ()
        seen = (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode, status.st_uid)
        if seen != self._seen:
            try:
                self._known, self._broken = self._read(), False
            except ConfigError:
                self._known, self._broken = (), True
            self._seen = seen
        return self._known

    @property
    def broken(self) -> bool:
        """Whether the file is there and could not be taken the last time it was looked at."""
        return self._broken

    def check(self) -> tuple[Credential, ...]:
        """All of them.

        Raises:
            ConfigError: the file can't be taken; the text says the mend.
        """
        return self._read() if self._path.exists() else ()

    def add(
        self,
        name: str,
        *,
        scopes: Collection[Scope],
        principals: Collection[str] | None,
        destinations: Collection[str] | None,
        now: datetime,
    ) -> tuple[Credential, Secret]:
        """Make a key; it is told once, here.

        Raises:
            ConfigError: it can't be kept.
        """
        key = Secret(_PREFIX + secrets.token_urlsafe(_BYTES))
        made = Credential(
            id=secrets.token_hex(_ID_BYTES),
            name=name,
            digest=digest_of(key.reveal()),
            scopes=frozenset(scopes),
            principals=None if principals is None else frozenset(principals),
            destinations=None if destinations is None else frozenset(destinations),
            made_at=now.astimezone(UTC),
        )

        def added(known: tuple[Credential, ...]) -> tuple[Credential, ...]:
            if len(known) >= MOST:
                raise ConfigError(f"there are {MOST} keys. Take some away: discreet keys revoke ID")
            return (*known, made)

        self._change(added)
        return made, key

    def revoke(self, key_id: str) -> Credential | None:
        """Take a key away; None: there is none with this id.

        Raises:
            ConfigError: the file can't be changed.
        """
        gone: list[Credential] = []

        def without(known: tuple[Credential, ...]) -> tuple[Credential, ...]:
            gone.extend(one for one in known if one.id == key_id)
            return tuple(one for one in known if one.id != key_id)

        self._change(without)
        return next(iter(gone), None)

    def _change(self, change: Callable[[tuple[Credential, ...]], tuple[Credential, ...]]) -> None:
        try:
            with self._alone():
                known = self._read() if self._path.exists() else ()
                changed = change(known)
                if changed != known:
                    self._write(changed)
        except OSError as error:
            raise ConfigError(f"{self._path} can't be written: {error.strerror}. Mend its folder") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two commands at once change it one after the other."""
        with self._path.with_suffix(".lock").open("a") as lock:
            self._own(lock.fileno())
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, known: tuple[Credential, ...]) -> None:
        text = json.dumps({"version": 1, "keys": [_written(one) for one in known]}, indent=1)
        beside = self._path.with_suffix(".new")
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:  # noqa: PTH123 - a mode from the first moment on
            self._own(stream.fileno())
            stream.write(text + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(self._path)

    def _own(self, number: int) -> None:
        """For the daemon's user alone, also where root has made it."""
        os.fchmod(number, 0o600)
        folder = self._path.parent.stat()
        if os.geteuid() == 0 and folder.st_uid != 0:
            os.fchown(number, folder.st_uid, folder.st_gid)

    def _read(self) -> tuple[Credential, ...]:
        try:
            with self._path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                content = stream.read(_SIZE_LIMIT + 1)
        except OSError as error:
            raise ConfigError(f"{self._path} can't be read: {error.strerror}. Mend its owner or its mode") from None
        if stat.S_IMODE(status.st_mode) & 0o022 or status.st_uid not in (0, os.geteuid()):
            raise ConfigError(
                f"{self._path} can be written by others, so no key in it holds. Mend it: chmod go= {self._path}"
            )
        try:
            return _parsed(json.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise ConfigError(
                f"{self._path} can't be taken, so no key in it holds. Take it away and make the keys anew"
            ) from None


class KeyRing:
    """Whose key it is: those of the configuration, and those that ``discreet keys`` has made."""

    def __init__(
        self,
        *,
        agents: Mapping[str, Secret],
        dispatchers: Mapping[str, Secret],
        known: Collection[str] = (),
        credentials: Credentials | None = None,
    ) -> None:
        """Make it.

        Args:
            agents: keys of the configuration, by name: good for everything that agents may do.
            dispatchers: keys of the configuration, by name.
            known: names of the agents that there are; the key of another one does not hold.
            credentials: the further ones; None: there are none.
        """
        self._fixed = (
            *(_fixed(name, key, OF_AGENTS) for name, key in agents.items()),
            *(_fixed(name, key, frozenset({Scope.DISPATCH})) for name, key in dispatchers.items()),
        )
        self.agents: tuple[str, ...] = tuple(dict.fromkeys((*agents, *known)))
        self._credentials = credentials
        self.dispatchers: Collection[str] = _Dispatchers(self)

    def all(self) -> tuple[Credential, ...]:
        """Those that hold now."""
        if self._credentials is None:
            return self._fixed
        made = self._credentials.all()
        return (*self._fixed, *(one for one in made if one.dispatcher or one.name in self.agents))

    def find(self, digest: bytes) -> Credential | None:
        """Whose key it is. Every key is compared, in constant time, whichever fits."""
        found = None
        for one in self.all():
            if secrets.compare_digest(one.digest, digest):
                found = one
        return found


class _Dispatchers(Collection[str]):
    """Names of the dispatchers that have a key now: who has none any more has granted nothing (OUT-6)."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def __contains__(self, name: object) -> bool:
        return any(one.name == name for one in self._ring.all() if one.dispatcher)

    def __iter__(self) -> Iterator[str]:
        return iter({one.name for one in self._ring.all() if one.dispatcher})

    def __len__(self) -> int:
        return len(set(self))


def _fixed(name: str, key: Secret, scopes: frozenset[Scope]) -> Credential:
    return Credential(id="", name=name, digest=digest_of(key.reveal()), scopes=scopes)


def _written(one: Credential) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "sha256": one.digest.hex(),
        "scopes": sorted(one.scopes),
        "principals": None if one.principals is None else sorted(one.principals),
        "destinations": None if one.destinations is None else sorted(one.destinations),
        "made_at": None if one.made_at is None else one.made_at.isoformat(),
    }


def _parsed(document: dict[str, Any]) -> tuple[Credential, ...]:
    """Raises: ValueError, TypeError, KeyError or AttributeError: it is none of ours."""
    if document.keys() != {"version", "keys"} or document["version"] != 1 or len(document["keys"]) > MOST:
        raise ValueError(document.keys())
    return tuple(_credential(**one) for one in document["keys"])


def _credential(
    *,
    id: str,  # noqa: A002 - as it stands in the file
    name: str,
    sha256: str,
    scopes: list[str],
    principals: list[str] | None,
    destinations: list[str] | None,
    made_at: str | None,
) -> Credential:
    one = Credential(
        id=_text(id),
        name=_text(name),
        digest=bytes.fromhex(sha256),
        scopes=frozenset(Scope(scope) for scope in scopes),
        principals=_limit(principals),
        destinations=_limit(destinations),
        made_at=None if made_at is None else datetime.fromisoformat(made_at),
    )
    if len(one.digest) != hashlib.sha256().digest_size or (one.dispatcher and len(one.scopes) > 1) or not one.scopes:
        raise ValueError(one.id)
    return one


def _limit(names: list[str] | None) -> frozenset[str] | None:
    if names is None:
        return None
    if not isinstance(names, list):
        raise TypeError(type(names))
    return frozenset(_text(name) for name in names)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value))
    return value
