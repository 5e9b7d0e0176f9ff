"""Where the login of an account is kept: a folder for its owner alone (0700), files in it likewise (0600).

The device has to outlive the process: its transaction ids make a repeated send one message (DUR-2), and its keys open
the encrypted rooms. So it is written down before it is used, and whole or not at all.
"""

import contextlib
import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bot.config.secret import Secret
from bot.model.errors import ChannelError
from bot.observability.log import get_logger
from bot.observability.redaction import register_secret

log = get_logger(__name__)

_FILE: Final = "credentials.json"
_DRAFT: Final = ".draft"
_LARGEST_BYTES: Final = 64 * 1024
_FIELDS: Final = ("homeserver", "user_id", "device_id", "access_token")


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """One device of one account, logged in.

    Attributes:
        homeserver: its address, such as ``https://matrix.example.org``.
        user_id: such as ``@desk:example.org``.
        device_id: the same for as long as the folder lives.
        access_token: of that device.
    """

    homeserver: str
    user_id: str
    device_id: str
    access_token: Secret = field(repr=False)


def account_folder(data_dir: Path, user_id: str) -> Path:
    """The folder of an account: readable, and never the same for two accounts."""
    readable = re.sub(r"[^a-z0-9._-]", "_", user_id.lower()).strip("._-")[:48]
    digest = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return data_dir / "matrix" / f"{readable}-{digest}"


def read_credentials(folder: Path) -> Credentials | None:
    """The kept login; None where there is none yet.

    Raises:
        ChannelError: there is one and it can't be read; the text says the mend.
    """
    content = read_private(folder / _FILE)
    if content is None:
        return None
    kept = None
    with contextlib.suppress(ValueError, RecursionError):
        kept = json.loads(content)
    values = [kept.get(name) for name in _FIELDS] if isinstance(kept, dict) else []
    texts = [value for value in values if isinstance(value, str) and value]
    if len(texts) != len(_FIELDS):
        raise ChannelError(f"{folder / _FILE} is damaged. Run `discreet matrix login` again")
    homeserver, user_id, device_id, token = texts
    register_secret(token)
    return Credentials(homeserver=homeserver, user_id=user_id, device_id=device_id, access_token=Secret(token))


def write_credentials(folder: Path, credentials: Credentials) -> None:
    """Keep a login; durable when it returns.

    Raises:
        ChannelError: it can't be written; the text says the mend.
    """
    token = credentials.access_token.reveal()
    register_secret(token)
    kept = {
        "homeserver": credentials.homeserver,
        "user_id": credentials.user_id,
        "device_id": credentials.device_id,
        "access_token": token,
    }
    write_private(folder / _FILE, json.dumps(kept, indent=2).encode())


def read_private(path: Path) -> bytes | None:
    """A file for its owner alone; None where there is none. One that others may read is closed to them.

    Raises:
        ChannelError: it can't be read; the text says the mend.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_BYTES)
            if stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077:
                log.warning("matrix_file_was_open_to_others", file=path.name)
                os.fchmod(stream.fileno(), 0o600)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ChannelError(f"{path} can't be read: {error.strerror}. Mend its owner or its mode") from None
    return content


def write_private(path: Path, content: bytes) -> None:
    """Write a file for its owner alone, whole or not at all; durable when it returns.

    Raises:
        ChannelError: it can't be written; the text says the mend.
    """
    folder, draft = path.parent, path.with_name(path.name + _DRAFT)
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        draft.unlink(missing_ok=True)  # a rest of a crash, or something that somebody put there
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        _settle(folder)
    except OSError as error:
        raise ChannelError(f"{path} can't be written: {error.strerror}. Mend the folder or the disk") from None


def _settle(folder: Path) -> None:
    """Bring the folder's own entries to the disk: the new name is lost by a power cut otherwise."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
