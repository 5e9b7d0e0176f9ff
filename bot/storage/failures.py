"""What a database says, in the words of an admin (StoreError): what is wrong, and the mend."""

import sqlite3
from typing import Final

from bot.model.errors import DiscreetError, StoreError

_SENTENCES: Final = {
    sqlite3.SQLITE_BUSY: "another process holds the database; nothing was written (end it and try again)",
    sqlite3.SQLITE_LOCKED: "the database is locked; nothing was written",
    sqlite3.SQLITE_FULL: "the disk is full; nothing was written (make room)",
    sqlite3.SQLITE_READONLY: "the database can't be written (check the owner and the mode of its file and folder)",
    sqlite3.SQLITE_CANTOPEN: "the database can't be opened (check that its folder exists and may be read and written)",
    sqlite3.SQLITE_PERM: "the database may not be opened (check the owner and the mode of its file)",
    sqlite3.SQLITE_IOERR: "the disk failed under the database (look at the system's log)",
    sqlite3.SQLITE_CORRUPT: "the database is damaged (stop, keep a copy, restore the last backup)",
    sqlite3.SQLITE_NOTADB: "the file is no database (name another file, or move this one away)",
}

_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
    },
)
"""What an admin can mend while the daemon runs."""


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary code, 0 where there is none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def busy(error: sqlite3.Error) -> bool:
    """Whether somebody else holds the database."""
    return code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explain(error: Exception) -> Exception:
    """The error that a caller gets; nothing of the content that was to be written is in it."""
    if isinstance(error, DiscreetError):
        return error
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", None) or type(error).__name__
        said = _SENTENCES.get(code_of(error), "the database refused it; nothing was written")
        return StoreError(f"{said} [{name}]", passing=code_of(error) in _PASSING)
    if isinstance(error, (UnicodeError, OverflowError)):
        return StoreError(f"a value can't be stored ({type(error).__name__}); nothing was written")
    return error
