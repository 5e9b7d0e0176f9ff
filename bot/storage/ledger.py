"""The journal in the database (see :class:`bot.ports.store.Journal` and :mod:`bot.journal.chain`)."""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from bot.journal.chain import Break, Facts, Head, Record, ended, walk
from bot.storage import statements as sql
from bot.storage.reader import Reader
from bot.storage.times import to_us
from bot.storage.writer import Transaction, Writer, head_of

_PAGE: Final = 5_000


class JournalReader:
    """Looks through the journal, also while the daemon writes it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def tail(self, count: int) -> list[Record]:
        """The last records, oldest first."""
        rows = await asyncio.to_thread(self._reader.read, sql.JOURNAL_TAIL, (count,))
        return [Record(*row) for row in reversed(rows)]

    async def page(self, after: int, *, limit: int = _PAGE) -> list[Record]:
        """Records behind a number (0: from the first), oldest first; none at the end."""
        rows = await asyncio.to_thread(self._reader.read, sql.JOURNAL_AFTER, (after, limit))
        return [Record(*row) for row in rows]

    def walk(self) -> Iterator[Record]:
        """All records, oldest first, without loading them all."""
        last: Any = 0
        while rows := self._reader.read(sql.JOURNAL_AFTER, (last, _PAGE)):
            yield from itertools.starmap(Record, rows)
            last = rows[-1][0]

    async def verify(self) -> Break | None:
        """Walk the whole chain without loading it; the first break, or None (DUR-4)."""
        return await asyncio.to_thread(self._verify)

    def _verify(self) -> Break | None:
        head = Head()

        def records() -> Iterator[Record]:
            nonlocal head
            last: Any = -(2**63)
            more = True
            while more:
                with self._reader.snapshot():  # the daemon may append meanwhile: rows and end belong together
                    rows = self._reader.read(sql.JOURNAL_AFTER, (last, _PAGE))
                    head = head_of(self._reader.read(sql.READ_HEAD))
                yield from itertools.starmap(Record, rows)
                more = bool(rows)
                last = rows[-1][0] if rows else last

        walked = walk(records())
        return walked if isinstance(walked, Break) else ended(walked, head)


class SqlJournal(JournalReader):
    """The journal with its pen."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        super().__init__(reader)
        self._writer = writer

    async def note(self, kind: str, facts: dict[str, str | int | None], *, now: datetime) -> None:
        """See :meth:`bot.ports.store.Journal.note`."""
        await self._writer.do(_note, (kind, facts, to_us(now)))


def _note(tx: Transaction, payloads: Sequence[tuple[str, Facts, int]]) -> list[None]:
    for kind, facts, at_us in payloads:
        tx.note(kind, facts, at_us=at_us)
    return [None] * len(payloads)
