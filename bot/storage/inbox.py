"""The inbox (see :class:`bot.ports.store.Inbox`): arrivals, decisions, kept words."""

import itertools
import sqlite3
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bot.model.errors import StoreError
from bot.model.inbound import Arrival, Stored
from bot.ports.store import InboxState, Located, NewPart, Observed, Subject, Unfinished, Waiting
from bot.storage import statements as sql
from bot.storage.digests import content_digest, event_tag
from bot.storage.parts import part_digest, store_parts
from bot.storage.reader import Reader
from bot.storage.retention import SWEEP_ROWS, sweep_once
from bot.storage.times import from_us, to_us
from bot.storage.writer import Transaction, Writer, checkpoint
from policy.decision import Audience, Decision, Gate, Outcome, OutputClass
from policy.destination import Destination
from policy.event import Original
from policy.reasons import Reason

_NEW = InboxState.NEW.value
_ANY_ROW = 2**63 - 1

Judged = tuple[Stored, Subject, Decision, int, str | None, tuple[str, datetime] | None, bool]


class SqlInbox:
    """The inbox in a database."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def started(self, account: str, *, now: datetime) -> datetime:
        """See :meth:`bot.ports.store.Inbox.started`."""
        return await self._writer.do(_start, (account, now), patient=False)

    async def put(self, account: str, arrivals: Sequence[Arrival]) -> list[Stored]:
        """See :meth:`bot.ports.store.Inbox.put`."""
        return await self._writer.do(_put, (account, arrivals), patient=False) if arrivals else []

    async def unfinished(self, account: str) -> list[Unfinished]:
        """See :meth:`bot.ports.store.Inbox.unfinished`."""
        return await self._writer.do(_unfinished, account, patient=False)

    async def decide(
        self,
        stored: Stored,
        subject: Subject,
        decision: Decision,
        *,
        now: datetime,
        batch: str | None = None,
        observe: tuple[str, datetime] | None = None,
        set_aside: bool = False,
    ) -> None:
        """See :meth:`bot.ports.store.Inbox.decide`."""
        await self._writer.do(_decide, (stored, subject, decision, to_us(now), batch, observe, set_aside))

    async def settle(self, ids: Sequence[int], decision: Decision, *, now: datetime) -> None:
        """See :meth:`bot.ports.store.Inbox.settle`."""
        if ids:
            await self._writer.do(_settle, (ids, decision, to_us(now)))

    async def attempt(self, event_id: int) -> int:
        """See :meth:`bot.ports.store.Inbox.attempt`."""
        return await self._writer.do(_attempt, event_id)

    async def finish(
        self,
        event_id: int,
        parts: Sequence[NewPart],
        *,
        outcome: str,
        now: datetime,
    ) -> list[Waiting]:
        """See :meth:`bot.ports.store.Inbox.finish`."""
        return await self._writer.do(finish_work, (event_id, parts, outcome, to_us(now)))

    async def original(self, destination: Destination, message: str, *, before: int | None = None) -> Original:
        """See :meth:`bot.ports.store.Inbox.original`."""
        last = _ANY_ROW if before is None else before
        rows = self._reader.read(sql.ORIGINAL, (destination.account, destination.channel, message, last))
        if not rows:
            return Original.UNSEEN
        return Original.MUTED if all(outcome == Outcome.MUTE.value for outcome, _ in rows) else Original.TAKEN

    async def located(self, destination: Destination, message: str) -> Located | None:
        """See :meth:`bot.ports.store.Inbox.located`."""
        rows = self._reader.read(sql.LOCATED, (destination.account, destination.channel, message))
        return Located(sender=rows[0][0], thread=rows[0][1]) if rows else None

    async def withdraw(self, destination: Destination, message: str, *, now: datetime) -> list[int]:
        """See :meth:`bot.ports.store.Inbox.withdraw`."""
        return await self._writer.do(_withdraw, (destination, message, to_us(now)))

    async def observed(self, destination: Destination, *, limit: int, now: datetime) -> list[Observed]:
        """See :meth:`bot.ports.store.Inbox.observed`."""
        rows = self._reader.read(
            sql.OBSERVED,
            (destination.account, destination.channel, destination.thread, to_us(now), limit),
        )
        return [Observed(sender=sender, text=text, at=from_us(at)) for sender, text, at in reversed(rows)]

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.store.Inbox.sweep`; the erased words leave the files too."""
        total = 0
        while True:
            gone = await self._writer.do(sweep_once, (to_us(now), to_us(contents_before), SWEEP_ROWS))
            total += gone
            if not gone:
                break
        await self._writer.do(checkpoint, None)
        return total


def _start(tx: Transaction, payloads: Sequence[tuple[str, datetime]]) -> list[datetime]:
    started = []
    for account, now in payloads:
        tx.execute(sql.ADD_ACCOUNT, (account, to_us(now)))
        started.append(from_us(tx.execute(sql.STARTED, (account,)).fetchone()[0]))
    return started


def _put(tx: Transaction, payloads: Sequence[tuple[str, Sequence[Arrival]]]) -> list[list[Stored]]:
    """All of them with few statements; only where a key is repeated, one by one (DUR-1)."""
    flat = [(account, arrival) for account, arrivals in payloads for arrival in arrivals]
    ids = _insert_new(
        tx,
        [
            (
                account,
                arrival.key,
                arrival.lane,
                to_us(arrival.received_at),
                _NEW,
            )
            for account, arrival in flat
        ],
    )
    tx.insert(
        sql.CONTENT_ROWS,
        [(row, arrival.raw) for row, (_, arrival) in zip(ids, flat, strict=True) if row is not None],
    )
    stored = [
        None if row is None else Stored(id=row, account=account, arrival=arrival)
        for row, (account, arrival) in zip(ids, flat, strict=True)
    ]
    if len(stored) == len(payloads):  # one arrival each, which is what comes in a storm
        return [[] if one is None else [one] for one in stored]
    rest = iter(stored)
    return [[one for one in itertools.islice(rest, len(arrivals)) if one is not None] for _, arrivals in payloads]


def _insert_new(tx: Transaction, rows: list[tuple[Any, ...]]) -> list[int | None]:
    """The numbers of the rows, None for a key that is there already."""
    ids: list[int | None] = []
    for text, flat, size in sql.INBOX_ROWS.chunks(rows):
        try:
            last = tx.execute(text, flat).lastrowid or 0
        except sqlite3.IntegrityError:  # the statement is undone, the transaction goes on
            for row in rows[len(ids) : len(ids) + size]:
                known = tx.execute(sql.INBOX_KEY, row[:2]).fetchone()
                ids.append(None if known else tx.insert(sql.INBOX_ROWS, [row])[0])
        else:
            ids.extend(range(last - size + 1, last + 1))
    return ids


def _unfinished(tx: Transaction, payloads: Sequence[str]) -> list[list[Unfinished]]:
    return [_unfinished_of(tx, account) for account in payloads]


def _unfinished_of(tx: Transaction, account: str) -> list[Unfinished]:
    for (row,) in tx.execute(sql.WITHDRAWN_UNFINISHED, (account,)).fetchall():
        _end_withdrawn(tx, row, time.time_ns() // 1000)  # PART-18: it does not start any more
    found = []
    for row in tx.execute(sql.UNFINISHED, (account,)).fetchall():
        stored = _stored(row[:6])
        state = InboxState(row[6])
        members: tuple[Stored, ...] = ()
        if (
            state is InboxState.DECIDED
        ):  # also without a batch of its own: it may have waited for the bot's identity first
            members = tuple(_stored(member) for member in tx.execute(sql.MEMBERS, (stored.id,)).fetchall())
        found.append(
            Unfinished(
                stored=stored,
                state=state,
                decision=None if row[9] is None else _decision(row[9:]),
                batch=row[7],
                attempts=row[8],
                members=members,
            ),
        )
    return found


def _decide(tx: Transaction, payloads: Sequence[Judged]) -> list[None]:
    salt = tx.salt
    steps: dict[InboxState, list[tuple[Any, ...]]] = {state: [] for state in sql.DECIDE}
    rows = []
    for stored, subject, decision, now, batch, observe, set_aside in payloads:
        row = stored.id
        outcome = decision.outcome
        if set_aside:
            state = InboxState.SET_ASIDE
            steps[state].append((now, row))
        elif outcome is Outcome.MUTE:
            state = InboxState.DONE
            steps[state].append((now, row))
        elif outcome is Outcome.DEFER:
            state = InboxState.DEFERRED
            steps[state].append((batch, row))
        else:
            state = InboxState.DECIDED
            steps[state].append((row,))
        destination = subject.destination
        judgement = _judgement(decision, now)
        digest = content_digest(salt, stored.arrival.raw)
        rows.append(
            (
                row,
                stored.account,
                destination.channel,
                destination.thread,
                subject.message,
                subject.sender,
                to_us(subject.sent_at),
                subject.chat,
                subject.kind,
                *judgement,
                digest,
            ),
        )
        if subject.kind == "edit" and subject.message is not None:
            # PART-9: words that were edited away are erased here too, whatever becomes of the edit
            tx.execute(sql.FORGET, (stored.account, destination.channel, subject.message))
        if observe is not None:
            _observe(tx, stored, subject, observe)
        said, reason, audience, output_class, gate, _, _, _ = judgement
        tx.note(
            "decided",
            {
                "event": event_tag(salt, row),
                "outcome": said,
                "reason": reason,
                "audience": audience,
                "class": output_class,
                "gate": gate,
                "state": state.value,
                "content": digest.hex(),
            },
            at_us=now,
        )
    for state, values in steps.items():
        if not tx.advance(sql.DECIDE[state], values):
            raise _not_there(tx, payloads[0][0].id, "decided", state)
    tx.executemany(sql.ERASE, [values[1:] for values in steps[InboxState.DONE]])  # PART-9
    tx.insert(sql.DECISION_ROWS, rows)
    return [None] * len(payloads)


def _observe(tx: Transaction, stored: Stored, subject: Subject, observe: tuple[str, datetime]) -> None:
    """PART-9: keep the words for their readers."""
    text, until = observe
    destination = subject.destination
    tx.insert(
        sql.OBSERVATION_ROWS,
        [
            (
                stored.account,
                destination.channel,
                destination.thread,
                subject.message,
                subject.sender,
                to_us(subject.sent_at),
                to_us(until),
                text,
            ),
        ],
    )


def _settle(tx: Transaction, payloads: Sequence[tuple[Sequence[int], Decision, int]]) -> list[None]:
    for ids, decision, now in payloads:
        carrier = ids[0]
        muted = decision.outcome is Outcome.MUTE
        if decision.outcome is Outcome.DEFER:
            raise StoreError("a batch is settled by a final decision")
        for row in ids:
            if muted:
                tx.execute(sql.ERASE, (row,))
                done = tx.execute(sql.SETTLE_MUTED, (now, row))
            elif row == carrier:
                done = tx.execute(sql.SETTLE_CARRIER, (row,))
            else:
                done = tx.execute(sql.SETTLE_MEMBER, (now, carrier, row))
            if done.rowcount != 1:
                raise _not_there(tx, row, "settled", InboxState.DONE)
            tx.execute(sql.REDECIDE, (*_judgement(decision, now), row))
            tx.note(
                "settled",
                {
                    "event": event_tag(tx.salt, row),
                    "carrier": event_tag(tx.salt, carrier),
                    "outcome": decision.outcome.value,
                    "reason": decision.reason.value,
                    "audience": decision.audience.value,
                    "class": decision.output_class.value,
                },
                at_us=now,
            )
    return [None] * len(payloads)


def _attempt(tx: Transaction, payloads: Sequence[int]) -> list[int]:
    numbers = []
    for row in payloads:
        found = tx.execute(sql.ATTEMPT, (row,)).fetchone()
        if found is None:
            raise _not_there(tx, row, "tried", InboxState.DECIDED)
        numbers.append(found[0])
    return numbers


def finish_work(tx: Transaction, payloads: Sequence[tuple[int, Sequence[NewPart], str, int]]) -> list[list[Waiting]]:
    """End pieces of work, each (row, last parts, outcome, now in microseconds)."""
    salt = tx.salt
    new: list[tuple[NewPart, int, bytes]] = []
    ends: list[tuple[int, str, int]] = []
    for row, parts, outcome, now in payloads:
        if outcome == "withdrawn":
            if parts:
                raise StoreError("a withdrawn request has no answer")
            _end_withdrawn(tx, row, now)
            continue
        ends.append((now, outcome, row))
        digests = [part_digest(salt, part.part) for part in parts]
        new += [(part, now, digest) for part, digest in zip(parts, digests, strict=True)]
        tx.note(
            "finished",
            {
                "event": event_tag(salt, row),
                "outcome": outcome,
                "parts": len(parts),
                "content": content_digest(salt, b"".join(digests)).hex() if parts else None,
            },
            at_us=now,
        )
    if not tx.advance(sql.FINISH, ends):
        raise _not_there(tx, payloads[0][0], "finished", InboxState.DONE)
    waiting = iter(store_parts(tx, new))
    return [list(itertools.islice(waiting, len(parts))) for _, parts, _, _ in payloads]


def _end_withdrawn(tx: Transaction, row: int, now: int) -> None:
    if tx.execute(sql.FINISH_WITHDRAWN, (now, row)).rowcount != 1:
        raise _not_there(tx, row, "withdrawn", InboxState.DONE)
    tx.execute(sql.ERASE, (row,))
    tx.note(
        "finished",
        {"event": event_tag(tx.salt, row), "outcome": "withdrawn", "parts": 0, "content": None},
        at_us=now,
    )


def _withdraw(tx: Transaction, payloads: Sequence[tuple[Destination, str, int]]) -> list[list[int]]:
    results = []
    for destination, message, now in payloads:
        place = (destination.account, destination.channel, message)
        forgotten = tx.execute(sql.FORGET, place).rowcount
        rows = tx.execute(sql.ROWS_OF_MESSAGE, place).fetchall()
        unfinished: list[int] = []
        for row, state, carrier in rows:
            tx.execute(sql.WITHDRAW, (row,))
            tx.execute(sql.ERASE, (row,))
            if InboxState(state) in sql.UNFINISHED_STATES:
                unfinished.append(row)
            elif carrier is not None and tx.execute(sql.WITHDRAW_CARRIER, (carrier,)).rowcount:
                unfinished.append(carrier)
        if rows or forgotten:
            tx.note("withdrawn", {"events": len(rows), "observations": forgotten}, at_us=now)
        results.append(unfinished)
    return results


def _not_there(tx: Transaction, row: int, verb: str, target: InboxState) -> StoreError:
    """The error of one event. Of several done at once it is nobody's: the writer does them again one by one."""
    found = tx.execute(sql.INBOX_STATE, (row,)).fetchone()
    state = "missing" if found is None else found[0]
    return StoreError(f"event {row} can't be {verb}: it is {state} and does not become {target} by that")


def _judgement(decision: Decision, now: int) -> tuple[Any, ...]:
    return (
        decision.outcome.value,
        decision.reason.value,
        decision.audience.value,
        decision.output_class.value,
        None if decision.stopped_at is None else decision.stopped_at.value,
        int(decision.observe),
        int(decision.control),
        now,
    )


def _decision(row: Sequence[Any]) -> Decision:
    outcome, reason, audience, output_class, stopped_at, observe, control = row
    return Decision(
        outcome=Outcome(outcome),
        reason=Reason(reason),
        audience=Audience(audience),
        output_class=OutputClass(output_class),
        stopped_at=None if stopped_at is None else Gate(stopped_at),
        observe=bool(observe),
        control=bool(control),
    )


def _stored(row: Sequence[Any]) -> Stored:
    event_id, account, key, lane, raw, received_at = row
    arrival = Arrival(key=key, lane=lane, raw=raw or b"", received_at=from_us(received_at))
    return Stored(id=event_id, account=account, arrival=arrival)
