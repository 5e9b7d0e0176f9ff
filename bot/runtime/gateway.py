"""The path of an event (PART-13): durable, read, judged, recorded, and only then acted upon.

    accept -> inbox row -> lane -> facts -> admit -> decision row -> nothing | observe | batch | control | worker

Everything before the decision is recorded is free of effects: no agent, no fetch, no sign to anybody.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.clarifications.hearing import ClarificationHearing
from bot.clarifications.room import ClarificationRoom
from bot.model.inbound import Arrival, Migration, Reading, Stored
from bot.model.interaction import CONTINUES, Interaction
from bot.observability.log import get_logger
from bot.observability.metrics import events_decided
from bot.ports.channel import Channel, Found
from bot.ports.decisions import Ruling
from bot.ports.hearing import Hearer
from bot.ports.store import Inbox, InboxState, Outbox, Subject, Unfinished
from bot.runtime.batches import Batches, Parts
from bot.runtime.lanes import Lanes
from bot.runtime.rates import Rates
from bot.runtime.reports import Reports
from bot.runtime.rulings import Rulings
from bot.runtime.waits import Waits
from bot.runtime.work import STOPPING, Work, place_of, tapped_button
from bot.runtime.worker import Worker
from bot.texts.codes import Notice
from policy.audience import settings_of
from policy.bursts import settle, waits
from policy.decision import Decision, Outcome
from policy.destination import destination_of
from policy.event import Author, Event, Kind, Memory, Original
from policy.participation import admit
from policy.reasons import Reason
from policy.ruleset import ChannelPolicy, Policy

log = get_logger(__name__)

_ABOUT_QUESTIONS = frozenset({Kind.MESSAGE, Kind.TAP})
ANONYMOUS = "anonymous"
"""Whoever has no account (PART-16) shares one rate of a person with all who have none."""
LOOKUPS_OF_ONE, LOOKUPS = 10, 30
"""How often in a minute the platform is asked for other messages: on account of one person, and of all in a channel."""
EDITS_KEPT = 1000
REVISIT_S = 1.0
"""How often events that wait for the bot's own identity or for a key are looked at again (PART-14, PART-17)."""


class Gateway:
    """Takes arrivals in and decides them, in the order of each lane."""

    def __init__(
        self,
        *,
        policy: Callable[[], Policy],
        inbox: Inbox,
        outbox: Outbox,
        channels: Mapping[str, Channel],
        worker: Worker,
        reports: Reports,
        rulings: Rulings,
        clock: Callable[[], datetime],
        hearers: Sequence[Hearer] = (),
        clarifications: ClarificationRoom | None = None,
        clarifying: ClarificationHearing | None = None,
    ) -> None:
        """Args: channels: by account. hearers: know what waits for people. clarifying: None: nothing is clarified."""
        self._policy = policy
        self._inbox = inbox
        self._outbox = outbox
        self._channels = channels
        self._worker = worker
        self._reports = reports
        self._rulings = rulings
        self._clock = clock
        self._hearers = hearers
        self._clarifying = clarifying
        self._clarifications = clarifications
        if clarifications is not None:
            clarifications.go_on_with(self.go_on, self._step)
        self._first_start: dict[str, datetime] = {}
        self._rates = Rates()
        self._controls = Rates()
        self._lanes: Lanes[tuple[Stored, Unfinished | None] | str] = Lanes("lane", self._take)
        self._batches = Batches(clock=clock, due=self._settle)
        self._lookups = Rates()
        self._waits = Waits()
        self._edits: OrderedDict[tuple[str, str], Event] = OrderedDict()
        self._revisiting: asyncio.Task[None] | None = None

    async def start(self, account: str) -> None:
        """Take up what an earlier process left undone, before new events come in (DUR-3, PART-12)."""
        started = await self._inbox.started(account, now=self._clock())
        self._first_start[account] = started.replace(microsecond=0)  # platforms tell whole seconds
        for row in await self._inbox.unfinished(account):
            self._lanes.push(row.stored.arrival.lane, (row.stored, row))

    async def accept(self, account: str, arrivals: Sequence[Arrival]) -> None:
        """Store arrivals; they are durable when this returns (DUR-1). See :class:`bot.ports.channel.Accept`."""
        for stored in await self._inbox.put(account, arrivals):
            self._lanes.push(stored.arrival.lane, (stored, None))

    async def idle(self) -> None:
        """Return when nothing is being judged; open batches that are not due don't count."""
        await self._lanes.idle()
        await self._batches.idle()

    @property
    def open_batches(self) -> int:
        """How many batches wait to be quiet."""
        return len(self._batches)

    @property
    def open_lanes(self) -> int:
        """How many conversations have events that are being judged or wait for it."""
        return len(self._lanes)

    async def close(self, *, grace_s: float) -> None:
        """Stop judging, within ``grace_s`` seconds also where the store can't be written. The inbox keeps the rest."""
        if self._revisiting is not None:
            self._revisiting.cancel()
            await asyncio.gather(self._revisiting, return_exceptions=True)
        try:
            async with asyncio.timeout(grace_s):
                await self._lanes.close()
                await self._batches.close()
        except TimeoutError:  # the store can't be written
            await self._lanes.cancel()
            await self._batches.cancel()

    # deciding

    async def _take(self, item: tuple[Stored, Unfinished | None] | str) -> None:
        """The next item of a lane: an event, or the lane's own name, which only wakes those that wait in it.

        INVARIANT: what waited for the bot's identity is judged before anything that came after it; what waits for its
        key keeps nothing up.
        """
        if self._waits:
            woken = isinstance(item, str)
            lane = item if isinstance(item, str) else item[0].arrival.lane
            for earlier in self._waits.take(lane, self._event, self._is_over, now_s=_now_s(), keys=woken):
                await self._decide(earlier.stored, earlier)
        if not isinstance(item, str):
            await self._decide(*item)

    async def _decide(self, stored: Stored, row: Unfinished | None) -> None:
        reading = await self._placed(self._channels[stored.account].read(stored))
        if row is not None and row.state is InboxState.DECIDED and row.decision is not None:
            if reading.event.kind is Kind.UNDECRYPTABLE and reading.event.identity_known:
                log.error("keys_lost", platform=reading.event.destination.platform)  # an empty question helps nobody
                await self._inbox.finish(stored.id, [], outcome="stopped", now=self._clock())
            elif reading.event.identity_known:
                await self._resume(stored, reading, row)
            else:  # its words may not be readable yet either
                await self._wait(row, reading, row.decision, self._clock())
            return
        now = self._clock()
        policy = self._policy()
        memory = await self._memory(stored, reading, now)
        decision = admit(policy, reading.event, memory, now=now)
        if self._hangs_on_an_author(reading, decision):
            reading, memory = await self._with_author(reading, memory)
            decision = admit(policy, reading.event, memory, now=now)
        event = reading.event
        settings = settings_of(policy, event.destination, chat=event.chat, person=event.sender)
        joined = decision.outcome is not Outcome.RESPOND and not waits(decision) and self._joins(decision, reading)
        if joined:
            decision = _deferred(decision)
        if row is not None and row.state is InboxState.DEFERRED:
            await self._again(stored, reading, decision, settings, now)
            return
        batch = self._batches.key(event) if waits(decision) else None
        keep = None
        if decision.observe and settings.observation is not None and event.text:
            text = event.text.encode("utf-8", "replace").decode()  # half a pair of surrogates can't be stored
            keep = (text, now + settings.observation.retention)
        await self._inbox.decide(
            stored,
            _subject(reading),
            decision,
            now=now,
            batch=batch,
            observe=keep,
            set_aside=decision.reason is Reason.MALFORMED,
        )
        self._tell(reading, decision)
        await self._act(stored, reading, decision, settings, now)

    def _joins(self, decision: Decision, reading: Reading) -> bool:
        """A later part of an open batch needs no consent of its own, but every gate before consent (PART-8)."""
        return decision.reason in (Reason.NO_ADDRESS, Reason.NO_SUBSTANCE) and self._batches.takes(reading.event)

    async def _placed(self, reading: Reading) -> Reading:
        """What is about a message and doesn't say where that stands: looked up by its id in our own record."""
        event = reading.event
        if not reading.loose or event.message is None:
            return reading
        if event.kind is Kind.REACTION:
            material = self._channels[event.destination.account].material(reading)
            pressed = await self._outbox.pressed(event.destination, event.message, material.tap_token or "")
            if pressed is None:
                return reading
            return replace(reading, event=replace(event, kind=Kind.TAP, destination=pressed.destination))
        located = await self._inbox.located(event.destination, event.message)
        return reading if located is None else _in_thread(reading, located.thread)

    def _hangs_on_an_author(self, reading: Reading, decision: Decision) -> bool:
        """Whether nothing but the author of another message stands between an event and a request."""
        if decision.reason is Reason.REPLY_AUTHOR_UNKNOWN:
            return True
        return reading.loose and reading.event.kind is Kind.EDIT and decision.outcome is not Outcome.MUTE

    async def _with_author(self, reading: Reading, memory: Memory) -> tuple[Reading, Memory]:
        """Who wrote the message that an event replies to or changes: by our receipts, our record, else the platform.

        The author is read and nothing more (PART-1); who can't be known is nobody.
        """
        event = reading.event
        about = event.message if event.kind is Kind.EDIT and reading.loose else None
        if about is None and event.reply is not None:
            author = await self._author(event, event.reply.message)
            return replace(reading, event=replace(event, reply=replace(event.reply, author=author))), memory
        if about is None:
            return reading, memory
        located = await self._inbox.located(event.destination, about)
        sender = None if located is None else located.sender
        if located is None:
            found = await self._find(event, about)
            if found is None:
                return reading, replace(memory, original=Original.UNKNOWN)
            sender = f"{event.destination.platform}:{found.sender}"
            reading = _in_thread(reading, found.thread)
        if sender != event.sender:
            memory = replace(memory, original=Original.FOREIGN)
        return reading, memory

    async def _author(self, event: Event, message: str) -> Author:
        destination = event.destination
        if await self._outbox.wrote(destination, message):
            return Author.SELF
        located = await self._inbox.located(destination, message)
        if located is not None:
            return Author.SELF if located.sender == destination.account else Author.OTHER
        found = await self._find(event, message)
        if found is None:
            return Author.UNKNOWN
        return Author.SELF if f"{destination.platform}:{found.sender}" == destination.account else Author.OTHER

    async def _find(self, event: Event, message: str) -> Found | None:
        """Ask the platform. Whoever writes of ever new messages does not make us ask for ever."""
        channel, person, now = str(event.destination.room), event.sender or ANONYMOUS, self._clock()
        if self._lookups.count(channel, person, now=now) >= LOOKUPS_OF_ONE:
            return None
        if self._lookups.count(channel, None, now=now) >= LOOKUPS:
            return None
        self._lookups.note(channel, person, now=now)
        return await self._channels[event.destination.account].find(event.destination, message)

    async def _memory(self, stored: Stored, reading: Reading, now: datetime) -> Memory:
        event = reading.event
        account = event.destination.account
        first_start = self._first_start.get(account)
        if event.kind is Kind.EDIT and event.message is not None:
            original = await self._inbox.original(event.destination, event.message, before=stored.id)
        else:
            original = Original.UNSEEN
        channel = _counted_at(event)
        return Memory(
            first_start=first_start,
            original=original,
            question=await self._is_about_a_question(reading),
            corrects=await self._corrects(event),
            person_requests=self._rates.count(channel, event.sender or ANONYMOUS, now=now),
            channel_requests=self._rates.count(channel, None, now=now),
            person_controls=self._controls.count(channel, event.sender or ANONYMOUS, now=now),
        )

    async def _is_about_a_question(self, reading: Reading) -> bool:
        """FORM-14: by structure alone: a tap on it, a reply to what shows a question, or a message in its thread."""
        event = reading.event
        if event.kind not in _ABOUT_QUESTIONS:
            return False
        if event.kind is Kind.TAP:
            part_id = await self._tapped_part(reading) if self._hearers else None
            return part_id is not None and await self._any(hearer.shows(part_id) for hearer in self._hearers)
        return await self._any(hearer.awaits(event) for hearer in self._hearers)

    async def _corrects(self, event: Event) -> bool:
        """CLAR-4: by structure alone: an edit of a message that answered a clarification."""
        if self._clarifying is None or event.kind is not Kind.EDIT or event.message is None:
            return False
        return await self._clarifying.corrects(event.destination, event.message)

    async def _any(self, looks: Iterable[Awaitable[bool]]) -> bool:
        """Whether one of them is true; those after it are not asked."""
        for look in looks:
            if await look:
                return True
        return False

    async def _tapped_part(self, reading: Reading) -> int | None:
        material = self._channels[reading.event.destination.account].material(reading)
        tapped = await tapped_button(self._outbox, reading, material.tap_token)
        return None if tapped is None else tapped.part_id

    # acting

    async def _act(
        self,
        stored: Stored,
        reading: Reading,
        decision: Decision,
        settings: ChannelPolicy,
        now: datetime,
    ) -> None:
        event = reading.event
        if decision.outcome is not Outcome.MUTE:
            self._note_edit(reading)
        if reading.migration is not None:
            await self._migrate(reading, reading.migration, now)
        if event.kind is Kind.REDACTION and event.message is not None:
            await self._withdraw(reading, event.message, now)
            edit = self._edits.pop((event.destination.account, event.message), None)
            if edit is not None and edit.message is not None and edit.destination.room == event.destination.room:
                there = replace(reading, event=replace(event, destination=edit.destination))
                await self._withdraw(there, edit.message, now)
        if decision.outcome is Outcome.RESPOND:
            if event.command is not None and event.command.name in STOPPING:
                for parts in self._batches.end(event):  # what they still collect is stopped too
                    await self._settle(parts)
            self._hand_over(Work(decision=decision, parts=((stored, reading),)), now)
        elif decision.outcome is Outcome.DEFER:
            if waits(decision):
                self._batches.add(stored, reading, settings.burst)
            else:
                await self._wait(_deferred_row(stored), reading, decision, now)
        elif decision.reason is Reason.MALFORMED:
            log.warning("event_set_aside", platform=event.destination.platform)
            await self._reports.tell(Notice.POISON)

    async def _again(
        self,
        stored: Stored,
        reading: Reading,
        decision: Decision,
        settings: ChannelPolicy,
        now: datetime,
    ) -> None:
        """A deferred event is looked at again: after a restart, or because the bot knows itself by now."""
        if decision.outcome is not Outcome.MUTE:
            self._note_edit(reading)
        if decision.outcome is Outcome.DEFER:
            if waits(decision):
                self._batches.add(stored, reading, settings.burst)
            else:
                await self._wait(_deferred_row(stored), reading, decision, now)
            return
        await self._inbox.settle([stored.id], decision, now=now)
        self._tell(reading, decision)
        if decision.outcome is Outcome.RESPOND:
            self._hand_over(Work(decision=decision, parts=((stored, reading),)), now)

    async def _settle(self, parts: Parts) -> None:
        """A batch is whole: one decision for all its parts, one piece of work."""
        now = self._clock()
        judged = [(reading.event, await self._memory(stored, reading, now)) for stored, reading in parts]
        decision = settle(self._policy(), judged, now=now)
        await self._inbox.settle([stored.id for stored, _ in parts], decision, now=now)
        for _, reading in parts:
            self._tell(reading, decision)
        if decision.outcome is Outcome.RESPOND:
            self._hand_over(Work(decision=decision, parts=tuple(parts)), now)

    async def _resume(self, stored: Stored, reading: Reading, row: Unfinished) -> None:
        """Work that an earlier process has not finished: the decision stands, the agent is asked again (DUR-3)."""
        if row.decision is None:
            return
        if stored.arrival.key.startswith(CONTINUES):
            await self._carry_on(stored, reading, row.decision)
            return
        self._note_edit(reading)
        members = [(member, self._channels[member.account].read(member)) for member in row.members]
        self._worker.submit(Work(decision=row.decision, parts=((stored, reading), *members)))

    async def go_on(self, stored: Stored, decision: Decision) -> None:
        """An interaction goes on (CLAR-7): its row is decided, as the request was that it belongs to."""
        reading = await self._placed(self._channels[stored.account].read(stored))
        await self._carry_on(stored, reading, decision)

    async def _carry_on(self, stored: Stored, reading: Reading, decision: Decision) -> None:
        """The whole of the request goes on, with all parts of its batch (PART-8)."""
        members = [] if self._clarifications is None else await self._clarifications.store.members(stored.id)
        parts = [(member, self._channels[member.account].read(member)) for member in members]
        self._worker.submit(Work(decision=decision, parts=((stored, reading), *parts)))

    def _step(self, interaction: Interaction, decision: Decision, message: str, kind: str) -> None:
        """Those who look at decisions see the version of the plan beside each step."""
        if self._clarifications is not None:
            place = interaction.destination
            notes = self._clarifications.notes(place, message)
            self._rulings.publish(
                Ruling(destination=place, message=message, decision=decision, result=kind, notes=notes)
            )

    def _hand_over(self, work: Work, now: datetime) -> None:
        event = work.reading.event
        rates = self._controls if work.decision.control else self._rates
        rates.note(_counted_at(event), event.sender or ANONYMOUS, now=now)
        self._worker.submit(work)

    async def _migrate(self, reading: Reading, migration: Migration, now: datetime) -> None:
        """IDENT-4: noted once; the new id stays unknown until an operator lists it in the policy."""
        account = reading.event.destination.account
        listed = any(one.account == account and one.channel == migration.old for one in self._policy().channels)
        if await self._outbox.moved(account, migration.old, migration.new, now=now) and listed:
            old = f"{account}:{migration.old}"
            await self._reports.tell(Notice.CHANNEL_MOVED, old=old, new=f"{account}:{migration.new}")

    async def _withdraw(self, reading: Reading, message: str, now: datetime) -> None:
        """PART-18, PART-9: what is deleted there is erased here, and does not start any more."""
        event = reading.event
        rows = await self._inbox.withdraw(event.destination, message, now=now)
        lane = self._channels[event.destination.account].lane(event.destination)
        gone = [*self._batches.withdraw(message, event), *self._waits.withdraw(lane, rows)]
        await self._worker.withdraw(place_of(reading), message, gone)

    def _note_edit(self, reading: Reading) -> None:
        """An edit can be deleted by itself, by its own id, and was a request (PART-18)."""
        event = reading.event
        if event.kind is Kind.EDIT and reading.loose:
            self._edits[event.destination.account, event.key] = event
            if len(self._edits) > EDITS_KEPT:
                self._edits.popitem(last=False)

    async def _wait(self, row: Unfinished, reading: Reading, decision: Decision, now: datetime) -> None:
        for given_up in self._waits.add(row, reading.event, decision, now_s=_now_s()):
            final = replace(given_up.decision, outcome=Outcome.MUTE)
            await self._inbox.settle([given_up.row.stored.id], final, now=now)
            self._tell(Reading(event=given_up.event, native={}), final)
        if self._revisiting is None or self._revisiting.done():
            self._revisiting = asyncio.create_task(self._revisit(), name="revisit")

    async def _revisit(self) -> None:
        while self._waits:
            await asyncio.sleep(REVISIT_S)
            for lane in self._waits.due(_now_s()):
                self._lanes.push(lane, lane)

    def _event(self, stored: Stored) -> Event:
        return self._channels[stored.account].read(stored).event

    def _is_over(self, event: Event) -> bool:
        """Whether an event has waited so long for its key that it would not be answered any more (PART-12)."""
        settings = settings_of(self._policy(), event.destination, chat=event.chat, person=event.sender)
        return self._clock() - event.sent_at > settings.backlog

    def _tell(self, reading: Reading, decision: Decision) -> None:
        event = reading.event
        events_decided(event.destination.platform, decision.outcome.value, decision.reason.value)
        if event.message is not None:
            self._rulings.publish(Ruling(destination=event.destination, message=event.message, decision=decision))


def _counted_at(event: Event) -> str:
    """Where requests are counted: in their room; invites, which make rooms, at the account."""
    return event.destination.account if event.kind is Kind.INVITE else str(event.destination.room)


def _deferred_row(stored: Stored) -> Unfinished:
    return Unfinished(stored=stored, state=InboxState.DEFERRED, decision=None, batch=None, attempts=0)


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _deferred(decision: Decision) -> Decision:
    return replace(decision, outcome=Outcome.DEFER, reason=Reason.BURST_PART, observe=False)


def _in_thread(reading: Reading, thread: str | None) -> Reading:
    place = reading.event.destination
    if place.thread == thread:
        return reading
    there = destination_of(place.platform, place.workspace, place.channel, thread)
    return replace(reading, event=replace(reading.event, destination=there))


def _subject(reading: Reading) -> Subject:
    event = reading.event
    return Subject(
        destination=event.destination,
        message=event.message,
        sender=event.sender,
        sent_at=event.sent_at,
        chat=event.chat.value,
        kind=event.kind.value,
    )
