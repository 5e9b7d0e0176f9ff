"""The keys with which answers of A2H are signed: detached JWS (ES256) over the JCS form of the message (AGENT-1).

They stand in one file of the data folder, 0600, the one that signs first. ``discreet keys rotate`` puts a new one
before it; the public halves of the earlier ones stay in the JWKS, so that what was signed before can be checked.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import rfc8785

from bot.config.errors import ConfigError

FILE: Final = "a2h-keys.json"
"""In the data folder."""
MOST: Final = 5
"""Keys whose public halves are told."""
ALGORITHM: Final = "ES256"
_CURVE: Final = "P-256"
_SIZE_LIMIT: Final = 64 << 10


class Signer:
    """Signs, and tells with which keys."""

    def __init__(self, path: Path) -> None:
        """Args: path: of the file; it is made where there is none."""
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._keys: list[dict[str, Any]] = []

    def sign(self, message: Mapping[str, Any]) -> str:
        """A detached JWS over a message without its signature.

        Raises:
            ConfigError: the file can't be read or made.
        """
        from joserfc import jws
        from joserfc.jwk import ECKey

        key = self._current()[0]
        plain = {name: value for name, value in message.items() if name != "signature"}
        header = {"alg": ALGORITHM, "kid": key["kid"]}
        whole = jws.serialize_compact(header, rfc8785.dumps(plain), ECKey.import_key(key), algorithms=[ALGORITHM])
        head, _, signature = whole.split(".")
        return f"{head}..{signature}"

    def jwks(self) -> dict[str, Any]:
        """The public halves (RFC 7517).

        Raises:
            ConfigError: the file can't be read or made.
        """
        return {"keys": [{name: value for name, value in key.items() if name != "d"} for key in self._current()]}

    def rotate(self) -> str:
        """Sign with a new key from now on; returns its id.

        Raises:
            ConfigError: the file can't be changed.
        """
        known = self._read() if self._path.exists() else []
        keys = [_new(), *known][:MOST]
        beside = self._path.with_suffix(".new")
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:  # noqa: PTH123 - a mode from the first moment on
                os.fchmod(stream.fileno(), 0o600)
                folder = self._path.parent.stat()
                if os.geteuid() == 0 and folder.st_uid != 0:
                    os.fchown(stream.fileno(), folder.st_uid, folder.st_gid)
                json.dump({"version": 1, "keys": keys}, stream)
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(self._path)
        except OSError as error:
            raise ConfigError(f"{self._path} can't be written: {error.strerror}. Mend its folder") from None
        return str(keys[0]["kid"])

    def _current(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            self.rotate()
        status = self._path.stat()
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        if seen != self._seen:
            self._keys, self._seen = self._read(), seen
        return self._keys

    def _read(self) -> list[dict[str, Any]]:
        mend = "Take it away; the gateway then makes a new key"
        try:
            with self._path.open("rb") as stream:
                status, content = os.fstat(stream.fileno()), stream.read(_SIZE_LIMIT)
            if stat.S_IMODE(status.st_mode) & 0o077:
                raise ConfigError(f"{self._path} is open to others. {mend}")
            document = json.loads(content)
            keys = [dict(key) for key in document["keys"]]
        except OSError as error:
            raise ConfigError(f"{self._path} can't be read: {error.strerror}. Mend its owner or its mode") from None
        except (ValueError, TypeError, KeyError):
            raise ConfigError(f"{self._path} holds no keys. {mend}") from None
        if not keys or not all({"kid", "d", "x", "y"} <= key.keys() for key in keys):
            raise ConfigError(f"{self._path} holds no keys. {mend}")
        return keys


def _new() -> dict[str, Any]:
    from joserfc.jwk import ECKey

    key = ECKey.generate_key(_CURVE)
    return {**key.as_dict(private=True), "kid": key.thumbprint(), "use": "sig", "alg": ALGORITHM}
