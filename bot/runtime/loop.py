"""The clarification loop around a run: what it continues, what it is an answer to, and what it asks (CLAR)."""

from dataclasses import dataclass, replace

from bot.clarifications.hearing import ClarificationHearing
from bot.clarifications.room import Asked, ClarificationRoom, Origin
from bot.deliveries.door import Place
from bot.model.errors import AskError, InteractionError
from bot.model.inbound import Material
from bot.model.interaction import Continuing
from bot.model.output import Clarify, Final, SafeError, Silence, WorkspaceChanged
from bot.observability.log import get_logger
from bot.ports.agent import Agent, Classifier
from bot.ports.channel import Reply
from bot.runtime.work import Work
from bot.texts.codes import Failure
from policy.event import Kind

log = get_logger(__name__)

End = Final | SafeError | Silence | Asked
"""How a run ends; with :class:`Asked` the gateway says nothing more about it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """How a run begins. Attributes: over: it has nothing to do for an agent any more."""

    continuing: Continuing | None = None
    over: Asked | None = None


class Loop:
    """Looks at each run before its agent is asked, and after."""

    def __init__(self, room: ClarificationRoom, hearing: ClarificationHearing) -> None:
        """Args: room: of the interactions. hearing: takes what people say for what it is."""
        self.room = room
        self.hearing = hearing

    async def open(self, work: Work, material: Material, agent: Agent, *, tap: bool, language: str) -> Opening:
        """Before the agent is asked.

        Args:
            work: the request.
            material: what it is made of.
            agent: that will be asked.
            tap: it is a button of the agent's own.
            language: of the person.
        """
        store, event = self.room.store, work.reading.event
        continuing = await store.continuation(work.event_id) if work.continues else None
        if work.continues and continuing is None:
            return Opening(over=Asked())
        if continuing is not None:
            interaction = continuing.interaction
            if not interaction.active or not await store.is_latest(interaction, work.event_id):
                return Opening(over=Asked())  # what has changed the plan since goes on with a run of its own
            if interaction.agent != agent.name:  # the policy names another agent by now: a plan is for its own alone
                await self.room.end(interaction.id, "cancel")
                return Opening(over=Asked())
            continuing = replace(continuing, plan_version=interaction.plan_version)
        asked = await store.asked_by(work.event_id)
        if asked is not None:  # an earlier process ended between the question and the end of the run (DUR-3)
            await self.room.show_again(asked, to=event.message)
            return Opening(over=Asked())
        if continuing is not None:
            return Opening(continuing=continuing)
        spoken = event.kind is not Kind.TAP and event.message is not None
        if spoken and event.message is not None and await store.answered_with(event.destination, event.message):
            return Opening(over=Asked())  # it was taken before an earlier process ended
        heard = await self.hearing.hear(
            event,
            material.text,
            command=tap or event.command is not None,
            language=language,
            event_id=work.event_id,
            agent=agent.name,
            classify=agent.classify if isinstance(agent, Classifier) else None,
        )
        if heard is None:
            return Opening()
        return Opening(over=Asked(says="" if heard.says is None else heard.says.text))

    async def close(
        self, result: Final | SafeError | Silence | Clarify | WorkspaceChanged, origin: Origin, opening: Opening
    ) -> End:
        """After the agent has ended, before that is written."""
        continuing = opening.continuing
        try:
            if continuing is not None and not await self._goes_on(continuing, origin.event_id):
                return Asked()
            match result:
                case Clarify():
                    return await self.room.asked(result, origin, continuing)
                case WorkspaceChanged() if continuing is not None:
                    return await self.room.recheck(result, continuing)
                case WorkspaceChanged():
                    return SafeError(failure=Failure.UNAVAILABLE)  # there is no choice that could have gone
                case _:
                    return result
        except (InteractionError, AskError) as error:
            if error.code == "superseded":  # the person has asked for something else meanwhile
                return Asked()
            log.warning("clarification_refused", agent=origin.agent, code=error.code, cause=str(error))
            return SafeError(failure=Failure.UNAVAILABLE)

    async def _goes_on(self, continuing: Continuing, event_id: int) -> bool:
        """Whether what this run says still counts: nobody has corrected, cancelled or replaced it meanwhile."""
        now = await self.room.store.get(continuing.interaction.id)
        if now is None or now.state.value in ("cancelled", "superseded", "expired"):
            return False
        return await self.room.store.is_latest(now, event_id)

    async def ended(self, work: Work, outcome: str) -> None:
        """The end is written."""
        event = work.reading.event
        conversation = self.room.conversation(event.destination, event.sender)
        await self.room.run_ended(work.event_id, conversation, outcome)


def origin_of(work: Work, *, agent: str, to: Reply, language: str) -> Origin:
    """Where a run asks, and whom."""
    place: Place = work.place
    return Origin(
        agent=agent,
        place=place,
        to=to,
        asker=work.reading.event.sender,
        event_id=work.event_id,
        audience=work.decision.audience,
        language=language,
    )
