"""Interactions in the database (see :class:`bot.ports.intents.IntentStore`)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from bot.model.intent import Intent, IntentType
from bot.storage import intent_statements as sql
from bot.storage.reader import Reader
from bot.storage.retention import erasing, sweep_all
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer
from policy.destination import parse_destination

_Row = tuple[Any, ...]


class SqlIntents:
    """Which message of an agent has become what."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def put(self, interaction: Intent) -> Intent | None:
        """See :meth:`bot.ports.intents.IntentStore.put`."""
        return await self._writer.do(_put, interaction)

    async def get(self, interaction_id: str) -> Intent | None:
        """See :meth:`bot.ports.intents.IntentStore.get`."""
        return self._one(self._reader.read(sql.GET, (interaction_id,)))

    async def get_of(self, agent: str, interaction_id: str) -> Intent | None:
        """See :meth:`bot.ports.intents.IntentStore.get_of`."""
        return self._one(self._reader.read(sql.GET_OF, (interaction_id, agent)))

    async def by_message(self, agent: str, message: str) -> Intent | None:
        """See :meth:`bot.ports.intents.IntentStore.by_message`."""
        return self._one(self._reader.read(sql.BY_MESSAGE, (agent, message)))

    async def aim(self, interaction: Intent) -> None:
        """See :meth:`bot.ports.intents.IntentStore.aim`."""
        await self._writer.do(_run, (sql.AIM, (interaction.subject, interaction.attempt, interaction.id)))

    async def answer(self, interaction: Intent) -> Intent:
        """See :meth:`bot.ports.intents.IntentStore.answer`."""
        return await self._writer.do(_answer, interaction)

    async def forget(self, interaction_id: str) -> None:
        """See :meth:`bot.ports.intents.IntentStore.forget`."""
        await self._writer.do(_run, (sql.FORGET, (interaction_id,)))

    async def open(self) -> list[Intent]:
        """See :meth:`bot.ports.intents.IntentStore.open`."""
        return [_interaction(row) for row in self._reader.read(sql.OPEN)]

    async def count(self, agent: str) -> int:
        """See :meth:`bot.ports.intents.IntentStore.count`."""
        return int(self._reader.read(sql.COUNT, (agent,))[0][0])

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.intents.IntentStore.sweep`."""
        return await sweep_all(self._writer, _erase, to_us(contents_before))

    def _one(self, rows: Sequence[_Row]) -> Intent | None:
        return _interaction(rows[0]) if rows else None


def _put(tx: Transaction, payloads: Sequence[Intent]) -> list[Intent | None]:
    results: list[Intent | None] = []
    for one in payloads:
        if tx.execute(sql.ADD, _new_row(one)).rowcount == 1:
            results.append(one)
            continue
        known = tx.execute(sql.BY_MESSAGE, (one.agent, one.message)).fetchone()
        results.append(None if known is None else _interaction(known))
    return results


def _answer(tx: Transaction, payloads: Sequence[Intent]) -> list[Intent]:
    results: list[Intent] = []
    for one in payloads:
        closed = None if one.closed_at is None else to_us(one.closed_at)
        tx.execute(sql.ANSWER, (closed, _document(one), one.id))
        known = tx.execute(sql.GET, (one.id,)).fetchone()
        results.append(one if known is None else _interaction(known))
    return results


def _run(tx: Transaction, payloads: Sequence[tuple[Any, tuple[Any, ...]]]) -> list[None]:
    for statement, values in payloads:
        tx.execute(statement, values)
    return [None] * len(payloads)


_erase = erasing(sql.ERASE)


def _new_row(one: Intent) -> _Row:
    values: dict[str, Any] = {
        "id": one.id,
        "agent": one.agent,
        "message": one.message,
        "nonce": one.nonce,
        "type": one.type.value,
        "principal": one.principal,
        "subject": one.subject,
        "attempt": one.attempt,
        "ttl_s": one.ttl_s,
        "made_at": to_us(one.made_at),
        "closed_at": None if one.closed_at is None else to_us(one.closed_at),
        "document": _document(one),
    }
    return tuple(values[name] for name in sql.NAMES)


def _document(one: Intent) -> bytes:
    written = {"sent": one.sent, "routes": [str(place) for place in one.routes], "answer": one.answer}
    return orjson.dumps(written, default=dict)


def _interaction(row: _Row) -> Intent:
    values = dict(zip(sql.NAMES, row, strict=True))
    written: dict[str, Any] = orjson.loads(values["document"]) if values["document"] else {}
    return Intent(
        id=values["id"],
        agent=values["agent"],
        message=values["message"],
        nonce=values["nonce"],
        type=IntentType(values["type"]),
        principal=values["principal"],
        subject=values["subject"],
        attempt=values["attempt"],
        ttl_s=values["ttl_s"],
        made_at=from_us(values["made_at"]),
        closed_at=None if values["closed_at"] is None else from_us(values["closed_at"]),
        sent=written.get("sent", {}),
        routes=tuple(parse_destination(place) for place in written.get("routes", ())),
        answer=written.get("answer"),
    )
