"""What the store holds, read from outside while a daemon writes it or after one was killed."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOT_OVER = "('new', 'deferred', 'decided')"
WAY_OUT = "('ready', 'sending')"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """An event: its inbox row and its decision; ``result`` is what came of it, ``carrier`` the event it was merged into."""

    id: int
    key: str
    state: str
    result: str | None
    carrier: int | None
    outcome: str | None
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """A part of the outbox with the ids of the messages that the platform has confirmed."""

    id: int
    event: int | None
    channel: str
    state: str
    code: str | None
    text: str
    messages: tuple[str, ...]


class Books:
    """Looks into the store's file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        if not self._path.exists():
            return
        uri = f"{self._path.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=10)) as database:
            try:
                yield from database.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):  # it was killed before it had made them
                    raise

    def count(self, statement: str) -> int:
        """What a statement counts."""
        return self._count(statement)

    def _count(self, statement: str) -> int:
        return next((int(row[0]) for row in self._rows(statement)), 0)

    def open_events(self) -> int:
        """Events without an end."""
        return self._count(f"SELECT count(*) FROM inbox WHERE state IN {NOT_OVER}")

    def open_parts(self) -> int:
        """Parts without an end."""
        return self._count(f"SELECT count(*) FROM outbox WHERE state IN {WAY_OUT}")

    def updates(self) -> list[int]:
        """Numbers of all updates that are in the inbox."""
        return [int(key) for (key,) in self._rows("SELECT key FROM inbox")]

    def entries(self) -> dict[str, Entry]:
        """Events by key."""
        rows = self._rows(
            "SELECT inbox.id, key, state, result, carried_by, outcome, reason"
            " FROM inbox LEFT JOIN decisions ON decisions.event_id = inbox.id ORDER BY inbox.id",
        )
        return {
            key: Entry(id=row, key=key, state=state, result=result, carrier=carrier, outcome=outcome, reason=reason)
            for row, key, state, result, carrier, outcome, reason in rows
        }

    def states(self) -> Counter[str]:
        """Events by state."""
        return Counter(entry.state for entry in self.entries().values())

    def parts(self) -> list[Sent]:
        """Parts, oldest first."""
        receipts: dict[int, list[str]] = {}
        for part, message in self._rows("SELECT part_id, message FROM receipts"):
            receipts.setdefault(part, []).append(message)
        rows = self._rows("SELECT id, event_id, channel, state, code, text FROM outbox ORDER BY id")
        return [
            Sent(
                id=part,
                event=event,
                channel=channel,
                state=state,
                code=code,
                text=text or "",
                messages=tuple(receipts.get(part, ())),
            )
            for part, event, channel, state, code, text in rows
        ]

    def answers(self) -> list[Sent]:
        """The parts that answer events; reports answer none."""
        return [part for part in self.parts() if part.event is not None]

    def journaled(self, kind: str, fact: str) -> Counter[str]:
        """How often records of a kind tell each value of a fact."""
        statement = "SELECT json_extract(facts, ?) FROM journal WHERE kind = ?"
        return Counter(str(value) for (value,) in self._rows(statement, (f"$.{fact}", kind)))
