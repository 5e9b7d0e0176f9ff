"""The outbox (see :class:`bot.ports.store.Outbox`): parts on their way out, and what came of each."""

import itertools
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.model.errors import StoreError
from bot.model.part import Action, Part
from bot.ports.store import NewPart, OutboxState, Tapped, Waiting
from bot.storage import statements as sql
from bot.storage.digests import event_tag, part_tag
from bot.storage.parts import destination_of, part_digest, read_part, store_extras, store_parts
from bot.storage.reader import Reader
from bot.storage.times import to_us
from bot.storage.writer import Transaction, Writer
from policy.destination import Destination

Ended = tuple[int, OutboxState, str, Sequence[str], int]


class SqlOutbox:
    """The outbox in a database."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def put(self, parts: Sequence[NewPart], *, now: datetime) -> list[Waiting]:
        """See :meth:`bot.ports.store.Outbox.put`."""
        return await self._writer.do(_put, (parts, to_us(now))) if parts else []

    async def interrupted(self, account: str, *, now: datetime) -> list[int]:
        """See :meth:`bot.ports.store.Outbox.interrupted`."""
        return await self._writer.do(_interrupted, (account, to_us(now)), patient=False)

    async def pending(self, account: str, *, now: datetime) -> list[Waiting]:
        """See :meth:`bot.ports.store.Outbox.pending`."""
        return await self._writer.do(_pending, (account, to_us(now)), patient=False)

    async def begin(self, part_id: int) -> None:
        """See :meth:`bot.ports.store.Outbox.begin`."""
        await self._writer.do(_begin, part_id)

    async def end(
        self,
        part_id: int,
        state: OutboxState,
        *,
        code: str,
        messages: Sequence[str],
        now: datetime,
    ) -> None:
        """See :meth:`bot.ports.store.Outbox.end`."""
        await self._writer.do(_end, (part_id, state, code, messages, to_us(now)))

    async def postpone(self, part_id: int, *, until: datetime, flood: bool) -> None:
        """See :meth:`bot.ports.store.Outbox.postpone`."""
        await self._writer.do(_postpone, (part_id, to_us(until), flood))

    async def replace(self, part_id: int, part: Part) -> None:
        """See :meth:`bot.ports.store.Outbox.replace`."""
        await self._writer.do(_replace, (part_id, part))

    async def moved(self, account: str, old: str, new: str, *, now: datetime) -> bool:
        """See :meth:`bot.ports.store.Outbox.moved`."""
        return await self._writer.do(_moved, (account, old, new, to_us(now)))

    async def wrote(self, destination: Destination, message: str) -> bool:
        """See :meth:`bot.ports.store.Outbox.wrote`."""
        return bool(self._reader.read(sql.WROTE, (destination.account, destination.channel, message)))

    async def tapped(self, account: str, token: str) -> Tapped | None:
        """See :meth:`bot.ports.store.Outbox.tapped`."""
        return _tapped(account, self._reader.read(sql.TAPPED, (account, token)))

    async def pressed(self, destination: Destination, message: str, key: str) -> Tapped | None:
        """See :meth:`bot.ports.store.Outbox.pressed`."""
        if not key:
            return None
        account = destination.account
        return _tapped(account, self._reader.read(sql.PRESSED, (account, destination.channel, message, key)))


def _tapped(account: str, rows: Sequence[tuple[Any, ...]]) -> Tapped | None:
    if not rows:
        return None
    value, label, channel, thread, event_id, part_id = rows[0]
    destination = destination_of(account, channel, thread)
    return Tapped(value=value, label=label, destination=destination, event_id=event_id, part_id=part_id)


def _put(tx: Transaction, payloads: Sequence[tuple[Sequence[NewPart], int]]) -> list[list[Waiting]]:
    new = [(part, now, part_digest(tx.salt, part.part)) for parts, now in payloads for part in parts]
    waiting = iter(store_parts(tx, new))
    return [list(itertools.islice(waiting, len(parts))) for parts, _ in payloads]


def _interrupted(tx: Transaction, payloads: Sequence[tuple[str, int]]) -> list[list[int]]:
    found = []
    for account, now in payloads:
        unknown: list[int] = []
        for part, unclear, action, event_id in tx.execute(sql.SENDING, (account,)).fetchall():
            again = unclear == "resend" and action != Action.DRAFT.value
            if again:
                tx.execute(sql.RECOVER_READY, (part,))
            else:
                tx.execute(sql.RECOVER_UNKNOWN, (now, part))
                unknown.append(part)
            tx.note(
                "interrupted",
                {
                    "part": part_tag(tx.salt, part),
                    "event": None if event_id is None else event_tag(tx.salt, event_id),
                    "state": (OutboxState.READY if again else OutboxState.UNKNOWN).value,
                },
                at_us=now,
            )
        found.append(unknown)
    return found


def _pending(tx: Transaction, payloads: Sequence[tuple[str, int]]) -> list[list[Waiting]]:
    _interrupted(tx, payloads)
    return [
        [read_part(tx.execute, row) for row in tx.execute(sql.READY, (account,)).fetchall()] for account, _ in payloads
    ]


def _begin(tx: Transaction, payloads: Sequence[int]) -> list[None]:
    if not tx.advance(sql.BEGIN, [(part,) for part in payloads]):
        raise _not_there(tx, payloads[0], "begun", OutboxState.SENDING)
    return [None] * len(payloads)


def _end(tx: Transaction, payloads: Sequence[Ended]) -> list[None]:
    steps: dict[OutboxState, list[tuple[Any, ...]]] = {state: [] for state in sql.END}
    receipts: list[tuple[str, int, int]] = []
    for part, state, code, messages, now in payloads:
        if state not in steps:
            raise StoreError(f"a part does not end as {state}")
        steps[state].append((now, code, part))
        if state is OutboxState.DELIVERED:
            receipts += [(message, now, part) for message in messages]
        tx.note(
            "sent",
            {"part": part_tag(tx.salt, part), "state": state.value, "code": code, "messages": len(messages)},
            at_us=now,
        )
    for state, values in steps.items():
        if not tx.advance(sql.END[state], values):
            raise _not_there(tx, payloads[0][0], "ended", state)
    tx.executemany(sql.ADD_RECEIPT, receipts)
    tx.executemany(sql.FORGET_LINK, [(part,) for _, _, part in steps[OutboxState.DELIVERED]])
    return [None] * len(payloads)


def _postpone(tx: Transaction, payloads: Sequence[tuple[int, int, bool]]) -> list[None]:
    for part, until, flood in payloads:
        if tx.execute(sql.POSTPONE, (int(flood), until, part)).rowcount != 1:
            raise _not_there(tx, part, "postponed", OutboxState.READY)
    return [None] * len(payloads)


def _replace(tx: Transaction, payloads: Sequence[tuple[int, Part]]) -> list[None]:
    for part_id, part in payloads:
        destination = part.destination
        found = tx.execute(
            sql.REPLACE,
            (
                destination.channel,
                destination.thread,
                part.action.value,
                part.speech.value,
                part_digest(tx.salt, part),
                part.text,
                part.payload,
                part_id,
            ),
        ).fetchone()
        if found is None:
            raise _not_there(tx, part_id, "replaced", OutboxState.READY)
        account, event_id, made_at = found
        if account != destination.account:
            raise StoreError("a part stays with its account")
        tx.execute(sql.DROP_FILES, (part_id,))
        tx.execute(sql.DROP_BUTTONS, (part_id,))
        store_extras(tx, part_id, part, event_id=event_id, made_at=made_at)
    return [None] * len(payloads)


def _moved(tx: Transaction, payloads: Sequence[tuple[str, str, str, int]]) -> list[bool]:
    news = []
    for account, old, new, now in payloads:
        first = tx.execute(sql.ADD_MOVE, (account, old, new, now)).rowcount == 1
        if first:
            tx.note("channel_moved", {"platform": account.partition(":")[0]}, at_us=now)
        news.append(first)
    return news


def _not_there(tx: Transaction, part: int, verb: str, target: OutboxState) -> StoreError:
    """The error of one part. Of several done at once it is nobody's: the writer does them again one by one."""
    found = tx.execute(sql.OUTBOX_STATE, (part,)).fetchone()
    state = "missing" if found is None else found[0]
    return StoreError(f"part {part} can't be {verb}: it is {state} and does not become {target} by that")
