"""What stands in the store's file, read beside the daemon or after it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATABASE = "discreet.db"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A part in the outbox and the event that it answers."""

    key: str | None
    state: str
    attempts: int
    code: str | None
    channel: str
    not_before: int | None
    lane: str


def select(folder: Path, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of a query that changes nothing."""
    path = next(folder.rglob(DATABASE))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as database:
        return database.execute(statement, values).fetchall()


def parts(folder: Path) -> list[Row]:
    """Everything that was ever in the outbox, in order."""
    rows = select(
        folder,
        "SELECT i.key, o.state, o.attempts, o.code, o.channel, o.not_before, o.lane"
        " FROM outbox o LEFT JOIN inbox i ON i.id = o.event_id ORDER BY o.id",
    )
    names = ("key", "state", "attempts", "code", "channel", "not_before", "lane")
    return [Row(**dict(zip(names, row, strict=True))) for row in rows]


def result_of(folder: Path, key: str) -> tuple[str, str | None]:
    """State and result of the work on an event."""
    rows = select(folder, "SELECT state, result FROM inbox WHERE key = ?", key)
    return rows[0] if rows else ("missing", None)


def integrity(path: Path) -> str:
    """What SQLite itself finds in a database."""
    with closing(sqlite3.connect(path, timeout=10)) as database:
        return str(database.execute("PRAGMA integrity_check").fetchone()[0])
