"""Callbacks in the database (see :class:`bot.ports.callbacks.CallbackStore`)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.config.secret import Secret
from bot.model.callback import Callback, CallbackState
from bot.storage import callback_statements as sql
from bot.storage.digests import content_digest
from bot.storage.reader import Reader
from bot.storage.retention import erasing, sweep_all
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer

_Row = tuple[Any, ...]


class SqlCallbacks:
    """What is to be told to which address."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def put(self, callback: Callback) -> Callback:
        """See :meth:`bot.ports.callbacks.CallbackStore.put`."""
        return await self._writer.do(_put, callback)

    async def of(self, kind: str, subject: str) -> Callback | None:
        """See :meth:`bot.ports.callbacks.CallbackStore.of`."""
        rows = self._reader.read(sql.OF, (kind, subject))
        return _callback(rows[0]) if rows else None

    async def open(self, agent: str) -> int:
        """See :meth:`bot.ports.callbacks.CallbackStore.open`."""
        return int(self._reader.read(sql.COUNT, (agent,))[0][0])

    async def waiting(self) -> list[Callback]:
        """See :meth:`bot.ports.callbacks.CallbackStore.waiting`."""
        return [_callback(row) for row in self._reader.read(sql.WAITING)]

    async def due(self, *, now: datetime, each: int) -> list[Callback]:
        """See :meth:`bot.ports.callbacks.CallbackStore.due`."""
        at = to_us(now)
        return [
            _callback(row)
            for (agent,) in self._reader.read(sql.AGENTS, (at,))
            for row in self._reader.read(sql.DUE, (agent, at, each))
        ]

    async def ended(self, callback: Callback, body: bytes, *, now: datetime) -> bool:
        """See :meth:`bot.ports.callbacks.CallbackStore.ended`."""
        return await self._writer.do(_step, (sql.ENDED, (to_us(now), body, callback.id)))

    async def begin(self, callback: Callback, *, until: datetime) -> bool:
        """See :meth:`bot.ports.callbacks.CallbackStore.begin`."""
        return await self._writer.do(_step, (sql.BEGIN, (to_us(until), callback.id, callback.attempts)))

    async def again(self, callback: Callback, *, at: datetime) -> None:
        """See :meth:`bot.ports.callbacks.CallbackStore.again`."""
        await self._writer.do(_step, (sql.AGAIN, (to_us(at), callback.id)))

    async def close(self, callback: Callback, state: CallbackState, *, now: datetime) -> None:
        """See :meth:`bot.ports.callbacks.CallbackStore.close`."""
        await self._writer.do(_close, (callback, state, to_us(now)))

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.callbacks.CallbackStore.sweep`."""
        return await sweep_all(self._writer, _erase, to_us(contents_before))


def _put(tx: Transaction, payloads: Sequence[Callback]) -> list[Callback]:
    results: list[Callback] = []
    for callback in payloads:
        known = tx.execute(sql.OF, (callback.kind, callback.subject)).fetchone()
        if known is not None and _callback(known).url == callback.url:
            results.append(_callback(known))
            continue
        if known is not None:
            tx.execute(sql.DROP, (known[0],))
        tx.execute(sql.ADD, _new_row(callback))
        results.append(callback)
    return results


def _step(tx: Transaction, payloads: Sequence[tuple[str, _Row]]) -> list[bool]:
    return [tx.execute(statement, values).rowcount == 1 for statement, values in payloads]


def _close(tx: Transaction, payloads: Sequence[tuple[Callback, CallbackState, int]]) -> list[None]:
    for callback, state, now in payloads:
        if tx.execute(sql.CLOSE, (state.value, now, callback.id)).rowcount == 1:
            facts = {
                "callback": content_digest(tx.salt, callback.id.encode()).hex()[:32],
                "subject": content_digest(tx.salt, callback.subject.encode()).hex()[:32],
                "agent": content_digest(tx.salt, callback.agent.encode()).hex()[:32],
                "state": state.value,
            }
            tx.note("callback", facts, at_us=now)
    return [None] * len(payloads)


_erase = erasing(sql.ERASE)


def _new_row(callback: Callback) -> _Row:
    values: dict[str, Any] = {
        "id": callback.id,
        "agent": callback.agent,
        "kind": callback.kind,
        "subject": callback.subject,
        "url": callback.url,
        "scheme": callback.scheme,
        "secret": None if callback.secret is None else callback.secret.reveal(),
        "state": callback.state.value,
        "attempts": callback.attempts,
        "next_at": None if callback.next_at is None else to_us(callback.next_at),
        "made_at": to_us(callback.made_at),
        "closed_at": None if callback.closed_at is None else to_us(callback.closed_at),
        "body": callback.body,
    }
    return tuple(values[name] for name in sql.NAMES)


def _callback(row: _Row) -> Callback:
    values = dict(zip(sql.NAMES, row, strict=True))
    return Callback(
        id=values["id"],
        agent=values["agent"],
        kind=values["kind"],
        subject=values["subject"],
        url=values["url"],
        scheme=values["scheme"],
        secret=None if values["secret"] is None else Secret(values["secret"]),
        state=CallbackState(values["state"]),
        attempts=values["attempts"],
        next_at=None if values["next_at"] is None else from_us(values["next_at"]),
        made_at=from_us(values["made_at"]),
        closed_at=None if values["closed_at"] is None else from_us(values["closed_at"]),
        body=values["body"],
    )
