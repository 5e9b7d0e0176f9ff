"""Opening the file: where it lies, who may read it, how SQLite is to treat it, and its schema."""

import fcntl
import os
import secrets
import sqlite3
from pathlib import Path
from typing import Final

from bot.journal.chain import GENESIS
from bot.model.errors import StoreError
from bot.storage import statements as sql
from bot.storage.failures import explain

REVISION: Final = "0009"
"""The newest migration; a test compares it with the folder."""

SALT: Final = "salt"
_BUSY_TIMEOUT_MS: Final = 2_000
_PRAGMAS: Final = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",  # PART-9; FAST would leave long words in free pages
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 4000",  # pages: 16 MB of log; fewer pauses than with 1,000
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16000",
)


class Lock:
    """One process writes at a time; the system lets go of it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        """Take it.

        Raises:
            StoreError: another process has it.
        """
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise StoreError(f"another discreet already runs on {path.with_suffix('')} (stop it first)") from None

    def release(self) -> None:
        """Let go; again is fine."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def prepare(path: Path) -> Lock:
    """Make folder (0700) and file (0600), and take the lock. SQLite gives its other files the mode of this one.

    Raises:
        StoreError: they can't be made, or another process has the lock.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = Lock(path.with_name(path.name + ".lock"))
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(descriptor, 0o600)
            finally:
                os.close(descriptor)
        except OSError:
            lock.release()
            raise
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise StoreError(
            f"the store {path} can't be made or opened: {reason} "
            f"(its folder must exist or be creatable, belong to the user that runs discreet, and have room)",
        ) from None
    return lock


def connect(path: Path) -> sqlite3.Connection:
    """A connection that writes, for :class:`bot.storage.writer.Writer`; it may move to another thread.

    Raises:
        StoreError: the file is no database, or can't be opened.
    """
    connection = None
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
        for pragma in _PRAGMAS:
            connection.execute(pragma).fetchall()
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise _about(path, error) from None
    return connection


def connect_reader(path: Path, *, busy_timeout_ms: int = _BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    """A connection that can only read, also while the daemon runs.

    Raises:
        StoreError: there is no store, or it can't be opened.
    """
    if not path.is_file():
        raise StoreError(f"there is no store at {path} (has discreet run with this configuration?)")
    connection = None
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms:d}").fetchall()
        connection.execute("PRAGMA query_only = ON").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise _about(path, error) from None
    return connection


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Bring the schema up to date. Where it is already, nothing heavy is imported.

    Raises:
        StoreError: a newer discreet has been here, or a migration failed; then the schema is as before.
    """
    try:
        found = revision(connection)
        if found != REVISION:
            from bot.storage.migrations import upgrade

            upgrade(path, found)
        if not connection.execute(
            sql.READ_META, (SALT,)
        ).fetchone():  # an opening that has nothing to write needs no lock
            connection.execute(sql.ADD_META, (sql.HEAD, f"0:{GENESIS}"))
            connection.execute(sql.ADD_META, (SALT, secrets.token_hex(32)))
    except sqlite3.Error as error:
        raise _about(path, error) from None


def revision(connection: sqlite3.Connection) -> str | None:
    """The schema's version; None for an empty database."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone() if known else None
    return None if row is None else str(row[0])


def check_journal(connection: sqlite3.Connection) -> None:
    """See that the journal ends where it is noted to end; whoever would append to another one would hide the change.

    Raises:
        StoreError: it does not.
    """
    noted = connection.execute(sql.READ_HEAD).fetchall()
    last = connection.execute(sql.JOURNAL_TAIL, (1,)).fetchall()
    ends = [f"{row[0]}:{row[4]}" for row in last] or [f"0:{GENESIS}"]
    if [row[0] for row in noted] != ends:
        raise StoreError(
            "the journal does not end where it ended when discreet last wrote it: it was changed "
            "(see discreet journal verify; keep a copy and restore the last backup)",
        )


def read_salt(connection: sqlite3.Connection) -> bytes:
    """The salt of this instance."""
    return bytes.fromhex(connection.execute(sql.READ_META, (SALT,)).fetchone()[0])


def _about(path: Path, error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    return StoreError(f"the store {path}: {explain(error)}")
