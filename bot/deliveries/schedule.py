"""Scheduled deliveries (OUT-6): words of an agent that go to a place at a time, without anybody having asked there.

    post -> admitted? -- no -> muted, recorded
              | yes
              v
    scheduled --due--> audience, policy, grant and words are looked at anew --> outbox, one use of the grant
              |                                  |__ muted, recorded
              |__ missed: the gateway was down at its time, and for longer than the policy's backlog

INVARIANT: one occurrence is handed over at most once, whatever clocks and processes do: the store compares the time for
which it was due, and the next one is always later (:mod:`bot.deliveries.timetable`).
"""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final as Constant

from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.deliveries.leave import Found, Leave
from bot.deliveries.timetable import Due, TimetableError, due, next_after, read_cron, read_zone
from bot.model.delivery import MAX_TEXT, Delivery, DeliveryState, after
from bot.model.errors import DeliveryError, StoreError
from bot.observability.log import get_logger
from bot.observability.metrics import delivery_ended
from bot.ports.channel import Channel
from bot.ports.grants import DeliveryStore, GrantStore
from bot.ports.store import NewPart, Waiting
from policy.boundary import Basis
from policy.destination import Destination, MalformedDestinationError, parse_destination
from policy.grants import FOR_GOOD, Grant, Muted
from policy.record import Entry
from policy.ruleset import ChannelPolicy, Policy

log = get_logger(__name__)

LOOK_EVERY_S: Constant = 1.0
"""How often it is looked whether something is due."""
MOST_OPEN: Constant = 100
"""Deliveries of one agent that are scheduled."""
LATEST: Constant = timedelta(days=366)
"""How far away the time of a delivery may be."""
MISSED: Constant = "missed"
"""What operators are told of one that was due while the gateway was down."""
FAILED: Constant = "failed"
"""The code of a delivery at which a rule or an adapter of ours stumbled: it is muted (PART-13)."""

Muffled = Callable[[Delivery, str], Awaitable[object]]
"""Is told inside what was muted at its time, and why (OUT-8)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What an agent wants delivered.

    Attributes:
        destination: as it was written.
        text: Markdown.
        at: when, aware; None without ``cron``: now.
        cron: five fields; None: it comes once.
        timezone: of ``cron``; None: the policy's.
        grant: id of the grant that is to be used; None: any that fits.
        declared: the class of what it says, by the agent's own word (AUTO-4).
        references: ids of the authorised record that it rests on (AUTO-8).
    """

    destination: str
    text: str = field(repr=False)
    at: datetime | None = None
    cron: str | None = None
    timezone: str | None = None
    grant: str | None = None
    declared: str = ""
    references: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Looked:
    """A delivery that is due: its times, and what a look at it has found; None: it is too late to look."""

    times: Due
    found: Found | None


class Schedule:
    """The room of scheduled deliveries."""

    def __init__(
        self,
        *,
        store: DeliveryStore,
        grants: GrantStore,
        policy: Callable[[], Policy],
        entries: Callable[[], Mapping[str, Entry]],
        channels: Mapping[str, Channel],
        dispatcher: Dispatcher,
        door: Door,
        agents: Collection[str],
        dispatchers: Collection[str],
        clock: Callable[[], datetime],
        muffled: Muffled | None = None,
    ) -> None:
        """Make the room; nothing is looked at before a call.

        Args:
            store: where deliveries are kept.
            grants: where grants are kept.
            policy: gives the policy in force now.
            entries: gives the authorised record as it stands now.
            channels: by account.
            dispatcher: carries parts out.
            door: clears them.
            agents: names of the agents that there are.
            dispatchers: names of the dispatcher keys that there are.
            clock: gives aware times.
            muffled: is told what was muted at its time; None: the record alone has it.
        """
        self._store = store
        self._grants = grants
        self._channels = channels
        self._policy = policy
        self._dispatcher = dispatcher
        self._door = door
        self._clock = clock
        self._leave = Leave(
            store=store,
            grants=grants,
            policy=policy,
            entries=entries,
            channels=channels,
            door=door,
            agents=agents,
            dispatchers=dispatchers,
            clock=clock,
        )
        self._muffled = muffled
        self._wake = asyncio.Event()
        self._looking = asyncio.Lock()

    # asking for one

    async def post(self, order: Order, *, agent: str, key: str) -> Delivery:
        """Schedule a delivery, or find the one that was asked for with this key before.

        Returns:
            One that is MUTED where there is no grant for it as things stand; it is recorded and will not be sent.

        Raises:
            DeliveryError: nothing was kept; the text says why, for the agent.
        """
        now = self._clock()
        if not order.text.strip() or len(order.text) > MAX_TEXT or "\0" in order.text:
            raise DeliveryError("text", f"a delivery has from 1 to {MAX_TEXT} characters")
        destination = await self._complete(order.destination, agent, now)
        known = await self._store.by_key(agent, key)
        if known is None:
            place = await self._leave.place(destination)
            wanted = self._timed(order, agent, key, place, now)
            code = await self._first_look(wanted, place, now)
            if code is not None:
                muted = after(wanted.state, "mute")
                wanted = replace(wanted, state=muted, code=code, next_at=None, closed_at=now)
                delivery_ended("muted")
            elif len(await self._store.open_of(agent)) >= MOST_OPEN:
                raise DeliveryError("too_many_open", f"{MOST_OPEN} deliveries of yours are open")
            known = await self._store.put(wanted)
            self._wake.set()
        if not _same(known, order, destination):
            raise DeliveryError("key_used", "this key was used for another delivery")
        return known

    async def _first_look(self, delivery: Delivery, place: Place, now: datetime) -> str | None:
        """What would mute it as things stand; whoever posts it hears that now, not when its time has come."""
        try:
            return (await self._leave.look(delivery, place, at=delivery.next_at or now)).code
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - a text may be wrong in any way (AGENT-5)
            log.error("delivery_not_shown", error=type(error).__name__)
            return FAILED

    async def _complete(self, written: str, agent: str, now: datetime) -> Destination:
        try:
            return parse_destination(written)
        except MalformedDestinationError as error:
            code = Muted.INCOMPLETE_DESTINATION.value
            await self._store.note_muted(agent, code, now=now)
            raise DeliveryError(code, f"write the destination out, complete: {error}") from None

    def _timed(self, order: Order, agent: str, key: str, place: Place, now: datetime) -> Delivery:
        zone = self._policy().timezone
        try:
            zone = zone if order.timezone is None else read_zone(order.timezone)
        except TimetableError as error:
            raise DeliveryError("timezone", str(error)) from None
        cron, at = None, order.at
        if order.cron is not None and at is not None:
            raise DeliveryError("cron", "write at or cron, one of them")
        if order.cron is not None:
            try:
                cron = read_cron(order.cron, zone, now=now)
            except TimetableError as error:
                raise DeliveryError("cron", str(error)) from None
            first = next_after(cron, zone, now)
        else:
            first = at = now if at is None else at
            if now - at > self._door.settings(place).backlog:  # PART-12
                raise DeliveryError("at", "that time is over")
            if at - now > LATEST:
                raise DeliveryError("at", f"that time is more than {LATEST.days} days away")
        return Delivery(
            id=uuid.uuid4().hex,
            agent=agent,
            key=key,
            destination=place.destination,
            text=order.text,
            grant=order.grant,
            at=at,
            cron=cron,
            timezone=zone,
            state=DeliveryState.SCHEDULED,
            next_at=first,
            made_at=now,
            declared=order.declared,
            references=order.references,
        )

    # looking

    async def known(self, agent: str, key: str) -> bool:
        """Whether an agent has asked for a delivery with this key before."""
        return await self._store.by_key(agent, key) is not None

    async def look(self, delivery_id: str) -> Delivery | None:
        """A delivery as it stands."""
        return await self._store.get(delivery_id)

    async def look_of(self, agent: str, delivery_id: str) -> Delivery | None:
        """A delivery of this agent as it stands; another one's is as unknown as any."""
        return await self._store.get_of(agent, delivery_id)

    async def other_side(self, destination: Destination) -> str | None:
        """In a one-to-one chat the account of the other side, by the platform's own facts (IDENT-1)."""
        return (await self._leave.place(destination)).other_side

    async def reachable(self, accounts: Collection[str]) -> list[Place]:
        """The private chats in which a person with these accounts has written to a bot; the latest first."""
        found = [place for account in sorted(accounts) for place in await self._store.direct_with(account)]
        places = [await self._leave.place(destination) for destination in found]
        return [
            place for place in places if place.other_side in accounts and place.destination.account in self._channels
        ]

    def settings(self, place: Place) -> ChannelPolicy:
        """What holds there now."""
        return self._door.settings(place)

    async def admission(self, agent: str, place: Place) -> Grant | Muted:
        """Whether an agent may put something there that nobody has asked for (OUT-6)."""
        return await self._leave.admission(agent, place)

    async def use(self, grant: Grant) -> bool:
        """Take one use of a grant; False: it is over by now."""
        return await self._grants.use(grant.id, now=self._clock())

    async def receipts(self, delivery_id: str) -> Mapping[str, int]:
        """How many parts of it are in which state of the outbox."""
        return await self._store.receipts(delivery_id)

    async def open_of(self, agent: str) -> list[Delivery]:
        """Those of an agent that are not closed."""
        return await self._store.open_of(agent)

    async def cancel(self, delivery_id: str) -> bool:
        """Take a delivery back; whether it was still scheduled."""
        for _ in range(3):  # it may be handed over meanwhile, and come again
            delivery = await self._store.get(delivery_id)
            if delivery is None or delivery.state is not DeliveryState.SCHEDULED or delivery.next_at is None:
                return False
            now = self._clock()
            gone = replace(delivery, state=after(delivery.state, "cancel"), next_at=None, closed_at=now)
            if await self._store.step(gone, at=delivery.next_at, now=now):
                return True
        return False

    # its time has come

    def ended(self, part: NewPart) -> None:
        """A part came to its end: perhaps a delivery did."""
        if part.basis is Basis.GRANT:
            self._wake.set()

    async def run(self) -> None:
        """Hand over what is due, until cancelled; a store that fails for a while is asked again."""
        failing = False
        while True:
            self._wake.clear()
            try:
                await self.look_round()
                failing = False
            except StoreError as error:
                if not failing:
                    log.error("deliveries_not_looked_at", error=type(error).__name__)
                failing = True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):  # wait_for would swallow the cancellation at times
                    await self._wake.wait()

    async def look_round(self) -> None:
        """Hand over what is due now, and close what has come to its end; one look at a time."""
        async with self._looking:
            for delivery in await self._store.due(self._clock()):
                if delivery.next_at is not None:
                    await self._occur(delivery, delivery.next_at)
            await self._store.settle(now=self._clock())

    async def _occur(self, delivery: Delivery, at: datetime) -> None:
        now = self._clock()
        try:
            looked = await self._look_at(delivery, at, now)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - fail closed: this one is muted, the others go on
            log.error("delivery_failed", error=type(error).__name__)
            times = Due(latest=at, older=0, following=_following(delivery, max(at, now)))
            looked = _Looked(times=times, found=Found(code=FAILED))
        times, found = looked.times, looked.found
        if found is None:
            await self._miss(delivery, times, at=at, now=now)
        elif found.grant is None or found.code is not None:
            await self._mute(delivery, times, found.code or Muted.NO_GRANT.value, at=at, now=now)
        else:
            sent = await self._hand_over(delivery, found.parts, times, found.grant, at=at, now=now)
            if sent is not None:
                delivery_ended("sent")
                self._dispatcher.enqueue(sent)

    async def _look_at(self, delivery: Delivery, at: datetime, now: datetime) -> _Looked:
        """Look at everything anew: the place, the audience, the policy, the grant, the words (OUT-5)."""
        place = await self._leave.place(delivery.destination)
        backlog = self._door.settings(place).backlog
        times = due(delivery.cron, delivery.timezone, at, now=now, window=backlog)
        late = now - times.latest > backlog
        return _Looked(times=times, found=None if late else await self._leave.look(delivery, place, at=now))

    async def _hand_over(
        self, delivery: Delivery, parts: Sequence[NewPart], times: Due, grant: Grant, *, at: datetime, now: datetime
    ) -> list[Waiting] | None:
        verb = "send" if times.following is None else "go_on"
        changed = replace(
            delivery,
            state=after(delivery.state, verb),
            code=None,
            next_at=times.following,
            fired=delivery.fired + 1,
        )
        return await self._store.fire(changed, parts, at=at, grant_id=grant.id, missed=times.older, now=now)

    async def _miss(self, delivery: Delivery, times: Due, *, at: datetime, now: datetime) -> None:
        """PART-12: what nobody could send at its time is not sent hours later."""
        over = times.following is None
        changed = replace(
            delivery,
            state=after(delivery.state, "miss" if over else "go_on"),
            next_at=times.following,
            closed_at=now if over else None,
        )
        if await self._store.step(changed, at=at, missed=times.older + 1, now=now):
            delivery_ended("missed")
            await self._tell(changed, MISSED)

    async def _mute(self, delivery: Delivery, times: Due, code: str, *, at: datetime, now: datetime) -> None:
        """OUT-6: nothing is sent, and it is recorded. What has no hope of a grant does not come again."""
        named = delivery.grant is not None and code in {one.value for one in FOR_GOOD}
        over = times.following is None or named
        changed = replace(
            delivery,
            state=after(delivery.state, "mute" if over else "go_on"),
            code=code,
            next_at=None if over else times.following,
            closed_at=now if over else None,
        )
        if await self._store.step(changed, at=at, missed=times.older, now=now):
            delivery_ended("muted")
            log.warning("delivery_muted", code=code)
            if code != delivery.code:  # of one that comes again each new reason is told once
                await self._tell(changed, code)

    async def _tell(self, delivery: Delivery, code: str) -> None:
        if self._muffled is None:
            return
        try:
            await self._muffled(delivery, code)
        except Exception as error:  # noqa: BLE001 - that nobody could be told keeps no other delivery back
            log.error("muted_delivery_not_told", error=type(error).__name__)


def _following(delivery: Delivery, moment: datetime) -> datetime | None:
    """When it comes again; None: it does not, or nobody can tell any more (its zone is gone from this machine, say)."""
    try:
        return None if delivery.cron is None else next_after(delivery.cron, delivery.timezone, moment)
    except (TimetableError, LookupError, ValueError, OSError):
        return None


def _same(known: Delivery, order: Order, destination: Destination) -> bool:
    """Whether a call with a key that was used says the same as the first one; its words may be erased by now."""
    return (
        (known.destination, known.grant) == (destination, order.grant)
        and known.cron == (None if order.cron is None else " ".join(order.cron.split()))
        and (order.at is None or known.at == order.at)
        and (order.timezone is None or known.timezone == order.timezone)
        and known.text in ("", order.text)
    )
