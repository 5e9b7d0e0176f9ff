"""Whether a delivery may go (OUT-5, OUT-6): its grant, its place and its words, by what holds at that moment.

It is looked at when it is asked for, so that its agent hears at once, and again whenever it is due.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final as Constant

from bot.deliveries.door import Door, Place
from bot.model.delivery import Delivery
from bot.model.output import Final
from bot.model.part import Part
from bot.observability.metrics import part_withheld
from bot.ports.channel import Channel, Reply
from bot.ports.grants import DeliveryStore, GrantStore
from bot.ports.store import NewPart
from policy.autonomy import assess
from policy.boundary import Basis, Speech, Withheld
from policy.destination import Destination
from policy.event import Chat
from policy.grants import Grant, Muted, admit
from policy.record import Entry, ReferenceFlaw
from policy.ruleset import ChannelPolicy, Policy, Resend
from policy.screening import screen_of

LONG_TEXT: Constant = 4_000
"""Characters; what is longer is brought into its form beside the loop, where it holds up nobody."""
NO_CHANNEL: Constant = "no_channel"
"""The code of a delivery through a bot that is not configured any more."""
NO_AGENT: Constant = "no_agent"
"""The code of a delivery of an agent that is not configured any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What a look has found: it may go where there is a grant and no code.

    Attributes:
        grant: that it would use.
        parts: that would say it.
        code: why it stays.
    """

    grant: Grant | None = None
    parts: Sequence[NewPart] = ()
    code: str | None = None


class Leave:
    """Looks at deliveries."""

    def __init__(
        self,
        *,
        store: DeliveryStore,
        grants: GrantStore,
        policy: Callable[[], Policy],
        entries: Callable[[], Mapping[str, Entry]],
        channels: Mapping[str, Channel],
        door: Door,
        agents: Collection[str],
        dispatchers: Collection[str],
        clock: Callable[[], datetime],
    ) -> None:
        """Make it; see :class:`bot.deliveries.schedule.Schedule`."""
        self._store = store
        self._grants = grants
        self._policy = policy
        self._entries = entries
        self._channels = channels
        self._door = door
        self._agents = agents
        self._dispatchers = dispatchers
        self._clock = clock

    async def look(self, delivery: Delivery, place: Place, *, at: datetime) -> Found:
        """Look at the grant, the access and the words.

        Args:
            delivery: that would go.
            place: where.
            at: the moment at which the grant has to be good.
        """
        if delivery.agent not in self._agents:
            return Found(code=NO_AGENT)
        grant = await self._grant(delivery, place, at)
        muted = self._verdict(grant, delivery, place, at)
        if muted is not None:
            return Found(grant=grant, code=muted.value)
        parts, code = await self._parts(delivery, place, self._door.settings(place))
        return Found(grant=grant, parts=parts, code=code)

    async def _grant(self, delivery: Delivery, place: Place, now: datetime) -> Grant | None:
        """The grant that it names, else one that fits: the first to expire of those that are good."""
        if delivery.grant is not None:
            return await self._grants.get(delivery.grant)
        fitting = await self._grants.fitting(delivery.agent, delivery.destination)
        good = [one for one in fitting if self._verdict(one, delivery, place, now) is None]
        return next(iter([*good, *reversed(fitting)]), None)

    def _verdict(self, grant: Grant | None, delivery: Delivery, place: Place, now: datetime) -> Muted | None:
        return self._admitted(grant, delivery.agent, place, now)

    def _admitted(self, grant: Grant | None, agent: str, place: Place, now: datetime) -> Muted | None:
        return admit(
            grant,
            agent=agent,
            destination=place.destination,
            chat=place.chat,
            person=place.other_side,
            dispatchers=self._dispatchers,
            now=now,
            policy=self._policy(),
        )

    async def admission(self, agent: str, place: Place) -> Grant | Muted:
        """Whether something that nobody asked for may be put to somebody there now; what it says is another matter."""
        now = self._clock()
        fitting = await self._grants.fitting(agent, place.destination)
        verdicts = [(one, self._admitted(one, agent, place, now)) for one in fitting]
        good = next((grant for grant, muted in verdicts if muted is None), None)
        if good is not None and agent in self._agents:
            return good
        return next((muted for _, muted in reversed(verdicts) if muted is not None), Muted.NO_GRANT)

    async def place(self, destination: Destination) -> Place:
        """What kind of place it is, by the platform's own facts of the last event there (IDENT-1)."""
        seen = await self._store.place(destination)
        if seen is None:
            return Place(destination=destination, chat=Chat.GROUP, person=None)
        chat, person = seen
        return Place(destination=destination, chat=chat, person=person if chat is Chat.DIRECT else None)

    async def _parts(
        self, delivery: Delivery, place: Place, settings: ChannelPolicy
    ) -> tuple[list[NewPart], str | None]:
        """The whole of it in its final form, or why it stays: half a message is worse than none."""
        channel = self._channels.get(delivery.destination.account)
        if channel is None:
            return [], NO_CHANNEL
        said = Final(text=delivery.text, declared=delivery.declared, references=delivery.references)
        to = Reply(destination=delivery.destination)
        if len(said.text) > LONG_TEXT:  # what an agent writes may take seconds to format (AGENT-5)
            shown = await asyncio.to_thread(channel.present, Speech.FINAL, said, to=to)
        else:
            shown = channel.present(Speech.FINAL, said, to=to)
        withheld = self._withheld(said, shown, place, settings)
        if withheld is not None:
            part_withheld(withheld)
            return [], withheld
        again = Resend.RESEND if channel.repeatable else Resend.PARK  # at most once, whatever the channel's policy
        return [
            NewPart(
                lane=channel.lane(part.destination),
                part=part,
                audience=settings.audience,
                basis=Basis.GRANT,
                person=place.other_side,
                chat=place.chat.value,
                event_id=None,
                unclear=again.value,
            )
            for part in shown
        ], None

    def _withheld(self, said: Final, parts: Sequence[Part], place: Place, settings: ChannelPolicy) -> str | None:
        """What it says (AUTO-2 to 5, AUTO-8): what an operator would have to see first does not go unasked."""
        policy = self._policy()
        assessed = assess(
            [part.text for part in parts],
            declared=said.declared,
            references=said.references,
            settings=settings,
            detectors=screen_of(policy).detectors,
            needs_reference=policy.needs_reference,
            entries=self._entries(),
            counterparty=settings.counterparty,
            now=self._clock(),
        )
        if assessed.stops:
            return Withheld.HARD_STOP.value
        if assessed.blocked:
            return min(assessed.flaws - {ReferenceFlaw.MISSING}).value
        if assessed.draft:
            return Withheld.DRAFT_ONLY.value
        if not parts:
            return Withheld.EMPTY.value
        for part in parts:
            withheld = self._door.verdict(part, place, Basis.GRANT, written_for=settings.audience)
            if withheld is not None:
                return withheld.value
        together = self._door.verdict_together(parts, place, Basis.GRANT)
        return None if together is None else together.value
