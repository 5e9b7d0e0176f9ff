"""Scheduled deliveries in the database (see :class:`bot.ports.grants.DeliveryStore`).

INVARIANT: one occurrence is handed over at most once. Its parts, the use of its grant and the step to the next time are
one transaction, which compares the time for which it was due; whoever comes second finds another.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson

from bot.journal.chain import Facts
from bot.model.delivery import Delivery, DeliveryState, after
from bot.model.errors import StoreError
from bot.ports.store import NewPart, OutboxState, Waiting
from bot.storage import grant_statements as sql
from bot.storage.digests import content_digest
from bot.storage.grants import MOST_LISTED, grant_tag
from bot.storage.parts import destination_of, part_digest, store_parts
from bot.storage.reader import Reader
from bot.storage.retention import erasing, sweep_all
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer
from policy.destination import Destination
from policy.event import Chat

_DUE_AT_ONCE: Final = 100
_Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Firing:
    changed: Delivery
    parts: Sequence[NewPart]
    at: int
    grant_id: str
    missed: int
    now: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    changed: Delivery
    at: int
    missed: int
    now: int


class DeliveryReader:
    """Deliveries, as they are looked at beside a running daemon too."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def get(self, delivery_id: str) -> Delivery | None:
        """See :meth:`bot.ports.grants.DeliveryLooks.get`."""
        rows = self._reader.read(sql.GET, (delivery_id,))
        return _delivery(rows[0]) if rows else None

    async def get_of(self, agent: str, delivery_id: str) -> Delivery | None:
        """See :meth:`bot.ports.grants.DeliveryLooks.get_of`."""
        rows = self._reader.read(sql.GET_OF, (delivery_id, agent))
        return _delivery(rows[0]) if rows else None

    async def all(self) -> list[Delivery]:
        """See :meth:`bot.ports.grants.DeliveryLooks.all`."""
        return [_delivery(row) for row in self._reader.read(sql.ALL, (MOST_LISTED,))]

    async def receipts(self, delivery_id: str) -> Mapping[str, int]:
        """See :meth:`bot.ports.grants.DeliveryLooks.receipts`."""
        return dict(self._reader.read(sql.RECEIPTS, (delivery_id,)))


class SqlDeliveries(DeliveryReader):
    """Deliveries, and what changes them."""

    def __init__(self, writer: Writer, reader: Reader, walker: Reader) -> None:
        """Args: walker: for what may take long, beside the event loop."""
        super().__init__(reader)
        self._writer = writer
        self._walker = walker

    async def put(self, delivery: Delivery) -> Delivery:
        """See :meth:`bot.ports.grants.DeliveryStore.put`."""
        return await self._writer.do(_put, delivery)

    async def by_key(self, agent: str, key: str) -> Delivery | None:
        """See :meth:`bot.ports.grants.DeliveryStore.by_key`."""
        rows = self._reader.read(sql.BY_KEY, (agent, key))
        return _delivery(rows[0]) if rows else None

    async def note_muted(self, agent: str, code: str, *, now: datetime) -> None:
        """See :meth:`bot.ports.grants.DeliveryStore.note_muted`."""
        await self._writer.do(_note_muted, (agent, code, to_us(now)))

    async def open_of(self, agent: str) -> list[Delivery]:
        """See :meth:`bot.ports.grants.DeliveryStore.open_of`."""
        return [_delivery(row) for row in self._reader.read(sql.OPEN_OF, (agent,))]

    async def due(self, now: datetime) -> list[Delivery]:
        """See :meth:`bot.ports.grants.DeliveryStore.due`."""
        return [_delivery(row) for row in self._reader.read(sql.DUE, (to_us(now), _DUE_AT_ONCE))]

    async def fire(
        self,
        changed: Delivery,
        parts: Sequence[NewPart],
        *,
        at: datetime,
        grant_id: str,
        missed: int,
        now: datetime,
    ) -> list[Waiting] | None:
        """See :meth:`bot.ports.grants.DeliveryStore.fire`."""
        firing = _Firing(changed=changed, parts=parts, at=to_us(at), grant_id=grant_id, missed=missed, now=to_us(now))
        return await self._writer.do(_fire, firing)

    async def step(self, changed: Delivery, *, at: datetime, missed: int = 0, now: datetime) -> bool:
        """See :meth:`bot.ports.grants.DeliveryStore.step`."""
        return await self._writer.do(_step, _Step(changed=changed, at=to_us(at), missed=missed, now=to_us(now)))

    async def settle(self, *, now: datetime) -> int:
        """See :meth:`bot.ports.grants.DeliveryStore.settle`."""
        return await self._writer.do(_settle, to_us(now)) if self._reader.read(sql.ENDED) else 0

    async def place(self, destination: Destination) -> tuple[Chat, str | None] | None:
        """See :meth:`bot.ports.grants.DeliveryStore.place`."""
        place = (destination.account, destination.channel)
        rows = await asyncio.to_thread(self._walker.read, sql.PLACE, place)  # it walks over all events there
        return (Chat(rows[0][0]), rows[0][1]) if rows else None

    async def direct_with(self, account: str) -> list[Destination]:
        """See :meth:`bot.ports.grants.DeliveryStore.direct_with`."""
        rows = self._walker.read(sql.DIRECT_WITH, (account,))
        return [destination_of(bot, channel, None) for bot, channel in rows]

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Erase the words of deliveries that were closed long enough ago; returns how many."""
        return await sweep_all(self._writer, _erase, to_us(contents_before))


def _put(tx: Transaction, payloads: Sequence[Delivery]) -> list[Delivery]:
    results: list[Delivery] = []
    for delivery in payloads:
        if tx.execute(sql.ADD, _new_row(delivery)).rowcount == 1:
            tx.note("delivery", _facts(tx, delivery), at_us=to_us(delivery.made_at))
            results.append(delivery)
            continue
        known = tx.execute(sql.BY_KEY, (delivery.agent, delivery.key)).fetchone()
        if known is None:
            raise StoreError("a delivery with this id is there already")
        results.append(_delivery(known))
    return results


def _note_muted(tx: Transaction, payloads: Sequence[tuple[str, str, int]]) -> list[None]:
    for agent, code, now in payloads:
        facts: Facts = {
            "agent": content_digest(tx.salt, agent.encode()).hex()[:32],
            "state": DeliveryState.MUTED.value,
            "code": code,
        }
        tx.note("delivery", facts, at_us=now)
    return [None] * len(payloads)


def _fire(tx: Transaction, payloads: Sequence[_Firing]) -> list[list[Waiting] | None]:
    results: list[list[Waiting] | None] = []
    for firing in payloads:
        delivery = firing.changed
        if tx.execute(sql.IS_DUE, (delivery.id, firing.at)).fetchone() is None:
            results.append(None)
            continue
        if tx.execute(sql.USE, (firing.grant_id, firing.now)).rowcount != 1:
            results.append(None)
            continue
        _advance(tx, delivery, firing.at)
        waiting = store_parts(tx, [(part, firing.now, part_digest(tx.salt, part.part)) for part in firing.parts])
        tx.insert(sql.PART_ROWS, [(one.id, delivery.id) for one in waiting])
        facts = _facts(tx, delivery, missed=firing.missed, parts=len(waiting), grant_id=firing.grant_id, at=firing.at)
        tx.note("delivery", {**facts, "state": DeliveryState.SENT.value}, at_us=firing.now)
        results.append(waiting)
    return results


def _step(tx: Transaction, payloads: Sequence[_Step]) -> list[bool]:
    results: list[bool] = []
    for step in payloads:
        due = tx.execute(sql.IS_DUE, (step.changed.id, step.at)).fetchone() is not None
        if due:
            _advance(tx, step.changed, step.at)
            tx.note("delivery", _facts(tx, step.changed, missed=step.missed, at=step.at), at_us=step.now)
        results.append(due)
    return results


def _advance(tx: Transaction, delivery: Delivery, at: int) -> None:
    values = (
        delivery.state.value,
        delivery.code,
        None if delivery.next_at is None else to_us(delivery.next_at),
        delivery.fired,
        None if delivery.closed_at is None else to_us(delivery.closed_at),
    )
    if tx.execute(sql.STEP, (*values, delivery.id, at)).rowcount != 1:
        raise StoreError("a delivery can't go on from where it stands")


_ENDS: Final[Mapping[OutboxState, str]] = {  # the first that is among the parts says what came of the whole
    OutboxState.UNKNOWN: "lose",
    OutboxState.REJECTED: "reject",
    OutboxState.SKIPPED: "withhold",
    OutboxState.RETRACTED: "withhold",
    OutboxState.DELIVERED: "deliver",
}


def _settle(tx: Transaction, payloads: Sequence[int]) -> list[int]:
    counts: list[int] = []
    for now in payloads:
        rows = tx.execute(sql.ENDED).fetchall()
        for row in rows:
            delivery = _delivery(row)
            states = dict(tx.execute(sql.RECEIPTS, (delivery.id,)).fetchall())
            verb = next((verb for state, verb in _ENDS.items() if state.value in states), "withhold")
            code = "withheld" if verb == "withhold" else delivery.code
            state = after(delivery.state, verb)
            tx.execute(sql.CLOSE, (state.value, code, now, delivery.id))
            closed = replace(delivery, state=state, code=code)
            tx.note("delivery", _facts(tx, closed, parts=sum(states.values())), at_us=now)
        counts.append(len(rows))
    return counts


_erase = erasing(sql.ERASE)


def _facts(
    tx: Transaction,
    delivery: Delivery,
    *,
    missed: int = 0,
    parts: int = 0,
    grant_id: str | None = None,
    at: int | None = None,
) -> Facts:
    """What became of it: bounded codes, and digests (DUR-5)."""
    grant = grant_id or delivery.grant
    return {
        "delivery": content_digest(tx.salt, f"delivery:{delivery.id}".encode()).hex()[:32],
        "agent": content_digest(tx.salt, delivery.agent.encode()).hex()[:32],
        "grant": None if grant is None else grant_tag(tx.salt, grant),
        "place": content_digest(tx.salt, str(delivery.destination).encode("utf-8", "replace")).hex()[:32],
        "state": delivery.state.value,
        "code": delivery.code,
        "due": None if at is None else at // 1_000_000,
        "fired": delivery.fired,
        "missed": missed,
        "parts": parts,
        "content": content_digest(tx.salt, delivery.text.encode("utf-8", "replace")).hex(),
    }


def _new_row(delivery: Delivery) -> _Row:
    muted = delivery.state is DeliveryState.MUTED  # it is never sent: its words are not kept, its digest is
    values: dict[str, Any] = {
        "id": delivery.id,
        "agent": delivery.agent,
        "key": delivery.key,
        "grant_id": delivery.grant,
        "account": delivery.destination.account,
        "channel": delivery.destination.channel,
        "thread": delivery.destination.thread,
        "state": delivery.state.value,
        "code": delivery.code,
        "at": None if delivery.at is None else to_us(delivery.at),
        "cron": delivery.cron,
        "timezone": delivery.timezone,
        "next_at": None if delivery.next_at is None else to_us(delivery.next_at),
        "fired": delivery.fired,
        "made_at": to_us(delivery.made_at),
        "closed_at": None if delivery.closed_at is None else to_us(delivery.closed_at),
        "document": None
        if muted
        else orjson.dumps({"text": delivery.text, "declared": delivery.declared, "references": delivery.references}),
    }
    return tuple(values[name] for name in sql.NAMES)


def _delivery(row: _Row) -> Delivery:
    values = dict(zip(sql.NAMES, row, strict=True))
    written: dict[str, Any] = orjson.loads(values["document"]) if values["document"] else {}
    return Delivery(
        id=values["id"],
        agent=values["agent"],
        key=values["key"],
        destination=destination_of(values["account"], values["channel"], values["thread"]),
        text=written.get("text", ""),
        grant=values["grant_id"],
        at=None if values["at"] is None else from_us(values["at"]),
        cron=values["cron"],
        timezone=values["timezone"],
        state=DeliveryState(values["state"]),
        code=values["code"],
        next_at=None if values["next_at"] is None else from_us(values["next_at"]),
        fired=values["fired"],
        made_at=from_us(values["made_at"]),
        closed_at=None if values["closed_at"] is None else from_us(values["closed_at"]),
        declared=written.get("declared", ""),
        references=tuple(written.get("references", ())),
    )
