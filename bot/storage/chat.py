"""What the built-in chat keeps: its messages and its entrances.

See :class:`bot.ports.timeline.Timeline` and :class:`bot.ports.entrances.Entrances`.

INVARIANT: ``seq`` of a desk is given inside the writer's transaction, so it rises in the order of the commits.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from bot.model.errors import StoreError
from bot.ports.timeline import Entry
from bot.storage import chat_statements as sql
from bot.storage.reader import Reader
from bot.storage.retention import SWEEP_ROWS, sweep_all
from bot.storage.times import to_us
from bot.storage.writer import Transaction, Writer, checkpoint

_NO_END: Final = 2**63 - 1
_Row = tuple[Any, ...]


class SqlTimeline:
    """The messages of one desk in a database."""

    def __init__(self, writer: Writer, reader: Reader, desk: str) -> None:
        self._writer = writer
        self._reader = reader
        self._desk = desk

    async def append(self, room: str, message: str, document: Mapping[str, Any], *, at: datetime) -> Entry:
        """See :meth:`bot.ports.timeline.Timeline.append`."""
        return _entry(await self._writer.do(_append, (self._desk, room, message, _bytes(document), to_us(at))))

    async def edit(self, room: str, message: str, document: Mapping[str, Any]) -> Entry | None:
        """See :meth:`bot.ports.timeline.Timeline.edit`."""
        row = await self._writer.do(_edit, (self._desk, room, message, _bytes(document)))
        return None if row is None else _entry(row)

    async def delete(self, room: str, message: str) -> Entry | None:
        """See :meth:`bot.ports.timeline.Timeline.delete`."""
        row = await self._writer.do(_delete, (self._desk, room, message))
        return None if row is None else _entry(row)

    async def get(self, room: str, message: str) -> Entry | None:
        """See :meth:`bot.ports.timeline.Timeline.get`."""
        rows = self._reader.read(sql.GET, (self._desk, room, message))
        return _entry(rows[0]) if rows else None

    async def latest(self, room: str, *, before: int | None, limit: int) -> list[Entry]:
        """See :meth:`bot.ports.timeline.Timeline.latest`."""
        end = _NO_END if before is None else before
        return [_entry(row) for row in reversed(self._reader.read(sql.LATEST, (self._desk, room, end, limit)))]

    async def changed(self, rooms: Sequence[str], *, after: int, limit: int) -> list[Entry]:
        """See :meth:`bot.ports.timeline.Timeline.changed`; all rooms are looked at in the same moment."""
        rows: list[_Row] = []
        with self._reader.snapshot():
            for room in rooms:
                rows += self._reader.read(sql.CHANGED, (self._desk, room, after, limit))
        rows.sort(key=lambda row: row[3])
        return [_entry(row) for row in rows[:limit]]

    async def head(self) -> int:
        """See :meth:`bot.ports.timeline.Timeline.head`."""
        return _seq(self._reader.read(sql.HEAD, (self._desk,)))

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.timeline.Timeline.sweep`; the erased words leave the files too."""
        total = await sweep_all(self._writer, _sweep, (self._desk, to_us(now), to_us(contents_before)))
        if total:
            await self._writer.do(checkpoint, None)
        return total


class SqlEntrances:
    """The invites and sessions of one desk in a database."""

    def __init__(self, writer: Writer, reader: Reader, desk: str) -> None:
        self._writer = writer
        self._reader = reader
        self._desk = desk

    async def invite(self, digest: str, person: str, *, expires_at: datetime) -> None:
        """See :meth:`bot.ports.entrances.Entrances.invite`."""
        await self._writer.do(_invite, (self._desk, digest, person, to_us(expires_at)))

    async def redeem(self, invite: str, session: str, *, now: datetime, expires_at: datetime) -> str | None:
        """See :meth:`bot.ports.entrances.Entrances.redeem`."""
        return await self._writer.do(_redeem, (self._desk, invite, session, to_us(now), to_us(expires_at)))

    async def person(self, session: str, *, now: datetime) -> str | None:
        """See :meth:`bot.ports.entrances.Entrances.person`."""
        rows = self._reader.read(sql.PERSON, (self._desk, session, to_us(now)))
        return str(rows[0][0]) if rows else None

    async def leave(self, session: str) -> None:
        """See :meth:`bot.ports.entrances.Entrances.leave`."""
        await self._writer.do(_leave, (self._desk, session))

    async def revoke(self, person: str) -> int:
        """See :meth:`bot.ports.entrances.Entrances.revoke`."""
        return await self._writer.do(_revoke, (self._desk, person))

    async def sweep(self, *, now: datetime) -> int:
        """See :meth:`bot.ports.entrances.Entrances.sweep`."""
        return await self._writer.do(_expire, (self._desk, to_us(now)))


def _append(tx: Transaction, payloads: Sequence[tuple[str, str, str, bytes, int]]) -> list[_Row]:
    rows: list[_Row] = []
    for desk, room, message, document, at in payloads:
        found = tx.execute(sql.GET, (desk, room, message)).fetchone()
        if found is None:
            seq = _next(tx, desk)
            tx.insert(sql.MESSAGE_ROWS, [(desk, room, message, seq, seq, at, document)])
            found = (message, room, seq, seq, document)
        rows.append(found)
    return rows


def _edit(tx: Transaction, payloads: Sequence[tuple[str, str, str, bytes]]) -> list[_Row | None]:
    rows: list[_Row | None] = []
    for desk, room, message, document in payloads:
        place = (desk, room, message)
        changed = tx.execute(sql.EDIT, (_next(tx, desk), document, *place)).rowcount
        rows.append(tx.execute(sql.GET, place).fetchone() if changed else None)
    return rows


def _delete(tx: Transaction, payloads: Sequence[tuple[str, str, str]]) -> list[_Row | None]:
    rows: list[_Row | None] = []
    for place in payloads:
        tx.execute(sql.ERASE, (_next(tx, place[0]), *place))
        rows.append(tx.execute(sql.GET, place).fetchone())
    return rows


def _sweep(tx: Transaction, payloads: Sequence[tuple[str, int, int]]) -> list[int]:
    counts = []
    for desk, now, before in payloads:
        old = tx.execute(sql.OLD, (desk, before, SWEEP_ROWS)).fetchall()
        first = _next(tx, desk)
        tx.executemany(sql.ERASE, [(first + number, desk, *place) for number, place in enumerate(old)])
        if old:
            tx.note("swept", {"messages": len(old)}, at_us=now)
        counts.append(len(old))
    return counts


def _invite(tx: Transaction, payloads: Sequence[tuple[str, str, str, int]]) -> list[None]:
    tx.insert(sql.INVITE_ROWS, list(payloads))
    return [None] * len(payloads)


def _redeem(tx: Transaction, payloads: Sequence[tuple[str, str, str, int, int]]) -> list[str | None]:
    people: list[str | None] = []
    for desk, invite, session, now, expires_at in payloads:
        found = tx.execute(sql.USE_UP, (desk, invite)).fetchone()
        person = None if found is None or now >= found[1] else str(found[0])
        if person is not None:
            tx.insert(sql.SESSION_ROWS, [(desk, session, person, expires_at)])
        people.append(person)
    return people


def _leave(tx: Transaction, payloads: Sequence[tuple[str, str]]) -> list[None]:
    tx.executemany(sql.LEAVE, payloads)
    return [None] * len(payloads)


def _revoke(tx: Transaction, payloads: Sequence[tuple[str, str]]) -> list[int]:
    return [sum(tx.execute(text, values).rowcount for text in sql.REVOKE) for values in payloads]


def _expire(tx: Transaction, payloads: Sequence[tuple[str, int]]) -> list[int]:
    return [sum(tx.execute(text, values).rowcount for text in sql.EXPIRE) for values in payloads]


def _next(tx: Transaction, desk: str) -> int:
    return _seq(tx.execute(sql.HEAD, (desk,)).fetchall()) + 1


def _seq(rows: Sequence[_Row]) -> int:
    return int(rows[0][0]) if rows else 0


def _bytes(document: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(document)
    except TypeError:  # its text would name the value
        raise StoreError("a message of the chat can't be stored as JSON; nothing was written") from None


def _entry(row: _Row) -> Entry:
    message, room, position, seq, document = row
    return Entry(
        id=message,
        room=room,
        position=position,
        seq=seq,
        document=None if document is None else orjson.loads(document),
    )
