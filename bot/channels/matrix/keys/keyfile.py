"""The file in which the keys of an account are kept: ``crypto.db`` in the account's folder.

Private to its owner, and to one process: a lock beside it holds others off, because two that advance the same keys
destroy them. Transactions are all or nothing; after a failed one, those who keep something of it in memory are told.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bot.model.errors import ChannelError, StoreError

NAME: Final = "crypto.db"
_VERSION: Final = 1
_UNREADABLE: Final = (
    "the keys of the Matrix account (crypto.db in its folder) can't be read: put a copy of the file back, or take it "
    "away and run `discreet matrix login` for a new device"
)


class KeyFile:
    """An open file of keys.

    Attributes:
        rolled_back: called after a transaction failed, when the file is as it was before.
    """

    def __init__(self, folder: Path) -> None:
        """Open it, or make it.

        Args:
            folder: the account's; made private to its owner.

        Raises:
            ChannelError: it can't be read, or another process has it.
        """
        self.rolled_back: list[Callable[[], None]] = []
        self._within = False
        self._lock = -1
        problem: str | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            self._lock = _private(folder / "crypto.lock")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(_private(folder / NAME))
            self._connection = _connect(folder / NAME)
        except BlockingIOError:
            problem = "another process of Discreet uses the keys of this Matrix account; stop it first"
        except (OSError, ValueError, sqlite3.Error):  # their words may hold paths
            problem = _UNREADABLE
        if problem is not None:
            self._unlock()
            raise ChannelError(problem)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement; outside of a transaction it is one by itself."""
        return self._connection.execute(statement, values)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written within, or nothing of it. One within another is part of that.

        Raises:
            StoreError: it can't be written now: the disk is full or the like.
        """
        if self._within:
            yield
            return
        failed = False
        self._within = True
        try:
            self.execute("BEGIN IMMEDIATE")
            yield
            self.execute("COMMIT")
        except sqlite3.Error:
            failed = True
            self._roll_back()
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._within = False
        if failed:
            raise StoreError("the keys of the Matrix account can't be written", passing=True) from None

    def close(self) -> None:
        """Let go of it; may be called twice."""
        if self._lock >= 0:
            self._connection.close()
            self._unlock()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._lock < 0

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
        for told in self.rolled_back:
            told()

    def _unlock(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def unreadable() -> ChannelError:
    """The error for a file whose content makes no sense."""
    return ChannelError(_UNREADABLE)


def _private(path: Path) -> int:
    """A file that nobody else can read, opened."""
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    os.fchmod(opened, 0o600)
    return opened


def _connect(path: Path) -> sqlite3.Connection:
    # It may be opened in another thread than the one that goes on with it; never are two in it at a time.
    connection = sqlite3.connect(path, isolation_level=None, timeout=10.0, check_same_thread=False)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError("of a later version")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
