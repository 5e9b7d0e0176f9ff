"""What operators look at (see :class:`bot.ports.store.Overview`)."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime

from bot.model.approval import Subject
from bot.ports.grants import Standing
from bot.ports.store import InboxState, Load, OutboxState, SeenChannel, Waiting
from bot.storage import statements as sql
from bot.storage.grant_statements import COUNT_DELIVERIES, COUNT_GRANTS, UNRECONCILED, WAITING_APPROVALS
from bot.storage.parts import destination_of, read_part
from bot.storage.reader import Reader
from bot.storage.times import from_us, to_us
from bot.storage.writer import head_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """How many rows are in each state; a state without rows is 0."""

    inbox: dict[InboxState, int]
    outbox: dict[OutboxState, int]


class SqlOverview:
    """The overview of a database; it may take long, so it has a thread and a connection of its own."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def channels(self) -> list[SeenChannel]:
        """See :meth:`bot.ports.store.Overview.channels`."""
        rows = await asyncio.to_thread(self._reader.read, sql.CHANNELS)
        seen: dict[tuple[str, str, str | None], SeenChannel] = {}
        others: dict[tuple[str, str, str | None], tuple[datetime, str]] = {}  # the last to be heard, and when
        for account, channel, thread, chat, outcome, person, count, last_us in rows:
            place = (account, channel, thread)
            last_at = from_us(last_us)
            known = seen.get(place)
            decisions = {} if known is None else known.decisions
            if count:
                decisions[outcome] = decisions.get(outcome, 0) + count
            if person is not None and others.get(place, (last_at, ""))[0] <= last_at:
                others[place] = last_at, person
            if known is None or last_at >= known.last_at:
                destination = destination_of(account, channel, thread)
                seen[place] = SeenChannel(destination=destination, chat=chat, decisions=decisions, last_at=last_at)
        return [
            replace(one, person=others[place][1]) if one.chat == "direct" and place in others else one
            for place, one in seen.items()
        ]

    async def unclear(self) -> list[Waiting]:
        """See :meth:`bot.ports.store.Overview.unclear`."""
        return await asyncio.to_thread(
            lambda: [read_part(self._reader.read, row) for row in self._reader.read(sql.UNCLEAR)],
        )

    async def standing(self, now: datetime) -> Standing:
        """What stands open at a moment, for operators."""
        return await asyncio.to_thread(self._standing, to_us(now))

    def _standing(self, now: int) -> Standing:
        waiting = dict(self._reader.read(WAITING_APPROVALS))
        return Standing(
            approvals=waiting.get(Subject.CALL.value, 0),
            drafts=waiting.get(Subject.DRAFT.value, 0),
            unreconciled=self._reader.read(UNRECONCILED)[0][0],
            unknown=self._reader.read(sql.LOAD_UNKNOWN)[0][0],
            grants=self._reader.read(COUNT_GRANTS, (now,))[0][0],
            deliveries=self._reader.read(COUNT_DELIVERIES)[0][0],
        )

    async def counts(self) -> Counts:
        """How much stands where, for the health page."""
        return await asyncio.to_thread(self._counts)

    async def load(self) -> Load:
        """See :meth:`bot.ports.store.Overview.load`."""
        return await asyncio.to_thread(self._load)

    def _load(self) -> Load:
        inbox, outbox, unknown = (
            self._reader.read(statement)[0][0] for statement in (sql.LOAD_INBOX, sql.LOAD_OUTBOX, sql.LOAD_UNKNOWN)
        )
        journal = head_of(self._reader.read(sql.READ_HEAD)).seq
        return Load(inbox=inbox, outbox=outbox, unknown=unknown, journal=journal)

    def _counts(self) -> Counts:
        inbox = dict.fromkeys(InboxState, 0)
        outbox = dict.fromkeys(OutboxState, 0)
        inbox |= {InboxState(state): count for state, count in self._reader.read(sql.COUNT_INBOX)}
        outbox |= {OutboxState(state): count for state, count in self._reader.read(sql.COUNT_OUTBOX)}
        return Counts(inbox=inbox, outbox=outbox)
