"""The loop (CLAR): a run ends with a question, its answer patches the plan, and a new run goes on.

    agent: clarification_required -> interaction and clarification are stored -> question is shown   (the run ends)
    answer -> version, candidates, message, patch, version + 1, dependents, a new run: one transaction -> agent

A question is asked and answered in the room of questions; what is told here is which slot it was for. What was
interrupted in between is found in the store by :meth:`ClarificationRoom.recover`.

INVARIANT: a run that continues an interaction is a row of the inbox, made with the patch: none is lost, none is twice.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from bot.clarifications.asking import asking_of, check, value_in
from bot.clarifications.words import ClarificationWords
from bot.conversations.conversation import conversation_of
from bot.deliveries.door import Place
from bot.model.errors import AskError, InteractionError, StoreError
from bot.model.inbound import Stored
from bot.model.interaction import (
    Candidate,
    Clarification,
    ClarificationState,
    Continuing,
    Interaction,
    PatchKind,
    Workspace,
)
from bot.model.output import Clarify, WorkspaceChanged
from bot.model.plan import Plan, single
from bot.model.question import Question, QuestionState
from bot.observability.log import get_logger
from bot.ports.channel import Reply
from bot.ports.interactions import (
    OPEN_ENDS,
    Change,
    Conflict,
    InteractionStore,
    Moved,
    NewClarification,
    Put,
    Refusal,
)
from bot.questions.room import QuestionRoom
from bot.questions.showing import plain
from policy.decision import Audience, Decision
from policy.destination import Destination
from policy.ruleset import Policy

log = get_logger(__name__)

MAX_RECHECKS: Final = 3
"""In a row; an agent whose workspace changes all the time comes to no end (CLAR-6)."""
MAX_ASKED: Final = 20
"""Clarifications that an agent asks from outside in one run: a person is no machine."""
LOOK_EVERY_S: Final = 30.0
_STEPS: Final = 1_000
_SAID: Final = {
    "unknown": "there is no such interaction",
    "ended": "the interaction has ended",
    "superseded": "a newer request of this conversation goes on",
    "slot": "there is no such slot, or something stands in it",
    "open": "another clarification of this interaction is open",
    "candidate": "this is no candidate of the clarification",
    "closed": "the clarification takes no answer",
    "key_used": "this key was used for another interaction",
    "gone": "the request that it belongs to is not kept any more",
    "value": "this can't stand in a slot",
}

Resume = Callable[[Stored, Decision], Awaitable[None]]
"""Gives a continuation to the worker."""
Told = Callable[[Interaction, Decision, str, str], None]
"""Hears of a step: the interaction, the decision of its request, the message, and what it was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """The run that asks: where its request was made, and by whom."""

    agent: str
    place: Place
    to: Reply
    asker: str | None
    event_id: int
    audience: Audience
    language: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A run has ended with a clarification, or without its agent. Attributes: says: a sentence of our own, Markdown."""

    says: str = ""


class ClarificationRoom:
    """Interactions and what is asked in them."""

    def __init__(
        self,
        *,
        store: InteractionStore,
        questions: QuestionRoom,
        policy: Callable[[], Policy],
        clock: Callable[[], datetime],
    ) -> None:
        """Make the room; it hears of every question that ends."""
        self.store = store
        self._questions = questions
        self._policy = policy
        self._clock = clock
        self._resume: Resume | None = None
        self._told: Told | None = None
        self._steps: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        self._asked: OrderedDict[int, int] = OrderedDict()
        questions.follow(self.question_ended)

    def go_on_with(self, resume: Resume, told: Told) -> None:
        """Who gives continuations to the worker, and who hears of steps; both are made after the room."""
        self._resume, self._told = resume, told

    def conversation(self, destination: Destination, account: str | None) -> str | None:
        """The conversation of a message."""
        return conversation_of(self._policy(), destination, account)

    # asking

    async def asked(self, clarify: Clarify, origin: Origin, continuing: Continuing | None) -> Asked:
        """A run ends with a clarification: store it, show it.

        Raises:
            InteractionError: it can't be asked.
            AskError: the question may not be shown there.
        """
        check(clarify)
        base = clarify.base_plan_version
        if continuing is None:
            beginning = self._beginning(origin, clarify.plan or single(clarify.task, clarify.slot), clarify.workspace)
            known = await self._own(origin)
            interaction_id = beginning.id if known is None else known.id
            version = 1 if known is None else known.plan_version
        else:
            beginning, known = None, continuing.interaction
            interaction_id, version = known.id, continuing.plan_version
        put = await self._put(
            clarify,
            interaction_id,
            key=f"run:{origin.event_id}",
            event_id=origin.event_id,
            beginning=beginning if known is None else None,
            base=version if base is None else base,
        )
        await self._show(put.interaction, put.clarification, to=origin.to)
        return Asked()

    async def start(self, origin: Origin, *, plan: Plan, key: str, workspace: Workspace | None) -> Interaction:
        """Begin an interaction for an agent that works on a request and speaks to us from outside.

        Raises:
            InteractionError: it can't begin.
        """
        if await self.store.continuation(origin.event_id) is not None:
            raise InteractionError("continues", "this run continues an interaction, which has a plan: change that one")
        started = await self.store.start(replace(self._beginning(origin, plan, workspace), key=key), now=self._clock())
        if isinstance(started, Refusal):
            raise refused(started)
        await self._close(started.closed)
        return started.interaction

    async def known(self, agent: str, key: str) -> Interaction | None:
        """The interaction that an agent has begun with this key."""
        return await self.store.by_key(agent, key)

    async def ask(self, interaction_id: str, clarify: Clarify, *, key: str, origin: Origin) -> Clarification:
        """Ask for an agent that speaks to us from outside; the run of ``origin`` goes on.

        Raises:
            InteractionError: it can't be asked, or the plan is another by now.
            AskError: the question may not be shown there.
        """
        check(clarify)
        interaction = await self.store.get(interaction_id)
        if interaction is None or interaction.conversation != self.conversation(origin.place.destination, origin.asker):
            raise InteractionError("unknown", _SAID["unknown"])
        if self._asked.get(origin.event_id, 0) >= MAX_ASKED:
            raise InteractionError("too_many", f"at most {MAX_ASKED} clarifications are asked in one run")
        put = await self._put(
            clarify,
            interaction_id,
            key=f"api:{key}",
            event_id=None,
            beginning=None,
            base=interaction.plan_version if clarify.base_plan_version is None else clarify.base_plan_version,
        )
        self._asked[origin.event_id] = self._asked.get(origin.event_id, 0) + put.new
        while len(self._asked) > _STEPS:
            self._asked.popitem(last=False)
        await self._show(put.interaction, put.clarification, to=origin.to)
        return put.clarification

    def _beginning(self, origin: Origin, plan: Plan, workspace: Workspace | None) -> Interaction:
        conversation = self.conversation(origin.place.destination, origin.asker)
        if conversation is None:
            raise InteractionError("nobody", "nobody can tell who has asked, so nobody can be asked back")
        now = self._clock()
        return Interaction(
            id=uuid.uuid4().hex,
            agent=origin.agent,
            key=f"run:{origin.event_id}",
            conversation=conversation,
            destination=origin.place.destination,
            chat=origin.place.chat,
            person=origin.place.other_side,
            asker=origin.asker,
            audience=origin.audience,
            language=origin.language,
            event_id=origin.event_id,
            root_message=origin.to.message,
            plan=plan,
            workspace=workspace or Workspace(),
            started_at=now,
            changed_at=now,
        )

    async def _own(self, origin: Origin) -> Interaction | None:
        """The interaction that this very run has started from outside."""
        conversation = self.conversation(origin.place.destination, origin.asker)
        active = None if conversation is None else await self.store.active(conversation)
        mine = active is not None and (active.agent, active.event_id) == (origin.agent, origin.event_id)
        return active if mine else None

    async def _put(
        self,
        clarify: Clarify,
        interaction_id: str,
        *,
        key: str,
        event_id: int | None,
        beginning: Interaction | None,
        base: int,
    ) -> Put:
        new = Clarification(
            id=uuid.uuid4().hex,
            interaction_id=interaction_id,
            event_id=event_id,
            task=clarify.task,
            slot=clarify.slot,
            text=clarify.text,
            candidates=clarify.candidates,
            free_text=clarify.free_text or not clarify.candidates,
            plan_version=base,
            ttl_s=clarify.ttl_s,
            asked_at=self._clock(),
        )
        put = await self.store.ask(
            NewClarification(clarification=new, key=key),
            beginning=beginning,
            base_plan_version=base,
            plan=None if beginning is not None else clarify.plan,
            workspace=clarify.workspace,
            now=self._clock(),
        )
        if isinstance(put, Put):
            await self._close(put.closed)
            return put
        raise refused(put)

    async def _show(self, interaction: Interaction, clarification: Clarification, *, to: Reply | None = None) -> None:
        """Ask the question, if it has not been; what can't be shown is not open."""
        self._step(interaction, interaction.root_message)
        if not clarification.open:
            return
        place = Place(destination=interaction.destination, chat=interaction.chat, person=interaction.person)
        try:
            question = await self._questions.ask(
                asking_of(clarification),
                agent=interaction.agent,
                key=f"clarification:{clarification.id}",
                place=place,
                to=Reply(destination=interaction.destination, message=interaction.root_message) if to is None else to,
                asker=interaction.asker,
                event_id=interaction.event_id if clarification.event_id is None else clarification.event_id,
                audience=interaction.audience,
                language=interaction.language,
                question_id=clarification.id,
            )
        except AskError:
            await self.store.close(clarification.id, "cancel", now=self._clock())
            raise
        if not question.state.pending:
            await self.question_ended(question)

    async def show_again(self, clarification: Clarification, *, to: str | None) -> None:
        """Show what a run has asked, if that did not come to it before an earlier process ended."""
        interaction = await self.store.get(clarification.interaction_id)
        if interaction is None:
            return
        try:
            await self._show(interaction, clarification, to=Reply(destination=interaction.destination, message=to))
        except AskError as error:
            log.warning("clarification_not_shown", code=error.code)

    async def again(
        self,
        clarification: Clarification,
        why: str,
        *,
        candidates: Sequence[Candidate] | None = None,
        message: str | None = None,
    ) -> bool:
        """Ask once more, for the reason, with these candidates or those from before, because of what a message said.

        Returns:
            False: it may not be shown any more, and the interaction has ended with that.
        """
        interaction = await self.store.get(clarification.interaction_id)
        if interaction is None:
            return True
        new = _once_more(
            clarification, why, clarification.candidates if candidates is None else candidates, now=self._clock()
        )
        put = await self.store.again(
            NewClarification(clarification=new, key=f"again:{clarification.id}"),
            instead_of=clarification.id,
            message=message,
            now=self._clock(),
        )
        if isinstance(put, Put):
            await self._close(put.closed)
            try:
                await self._show(put.interaction, put.clarification)
            except AskError as error:  # the policy has changed since it was asked
                log.warning("clarification_not_shown", code=error.code)
                await self.end(interaction.id, "cancel")
                return False
        return True

    # answering

    async def question_ended(self, question: Question) -> None:
        """A question has ended; if it was a clarification's, go on. See :data:`bot.questions.room.Follower`."""
        try:
            clarification = await self.store.clarification(question.id)
            if clarification is None or not clarification.open:
                return
            match question.state:
                case QuestionState.ANSWERED:
                    value = value_in(question.answer)
                    if value is not None:
                        await self._answered(clarification, value, message=question.said)
                case QuestionState.EXPIRED:
                    await self.end(clarification.interaction_id, "expire")
                case _:
                    await self.store.close(clarification.id, "cancel", now=self._clock())
        except (StoreError, AskError) as error:  # found again by recover()
            log.error("clarification_not_applied", error=type(error).__name__)

    async def _answered(self, clarification: Clarification, value: str, *, message: str | None) -> None:
        change = Change(
            interaction_id=clarification.interaction_id,
            base_plan_version=clarification.plan_version,
            kind=PatchKind.ANSWER,
            task=clarification.task,
            slot=clarification.slot,
            value=value,
            clarification_id=clarification.id,
            message=message,
        )
        match await self.store.change(change, now=self._clock()):
            case Moved() as moved:
                await self._moved(moved)
            case Conflict():
                interaction = await self.store.get(clarification.interaction_id)
                language = "en" if interaction is None else interaction.language
                await self.again(clarification, ClarificationWords(language).say("outdated"))
            case Refusal(code="gone"):
                await self.end(clarification.interaction_id, "cancel")
            case Refusal(code=code):
                log.warning("answer_refused", code=code)
                await self.store.close(clarification.id, "outdate", now=self._clock())

    async def correct(self, clarification: Clarification, value: str, *, message: str | None) -> bool:
        """Another answer to what was answered: a patch on the version of now (CLAR-4); whether it was one."""
        interaction = await self.store.get(clarification.interaction_id)
        if interaction is None:
            return False
        change = Change(
            interaction_id=interaction.id,
            base_plan_version=interaction.plan_version,
            kind=PatchKind.CORRECTION,
            task=clarification.task,
            slot=clarification.slot,
            value=value,
            clarification_id=clarification.id,
            message=message,
        )
        moved = await self.store.change(change, now=self._clock())
        if isinstance(moved, Moved):
            await self._moved(moved)
        return isinstance(moved, Moved)

    async def patch(self, change: Change) -> Interaction:
        """A change that an agent makes from outside. It begins no run: that is for people.

        Raises:
            InteractionError: the plan is another by now, or can't be changed like this.
        """
        moved = await self.store.change(change, now=self._clock())
        if not isinstance(moved, Moved):
            raise refused(moved)
        if change.clarification_id is not None:
            await self._close([change.clarification_id])
        await self._moved(moved)
        return moved.interaction

    async def recheck(self, changed: WorkspaceChanged, continuing: Continuing) -> Asked:
        """The workspace is another than that of the continuation: look at every choice again (CLAR-6).

        Raises:
            InteractionError: it changes all the time.
        """
        rechecks = continuing.patch.rechecks + 1
        interaction = continuing.interaction
        if rechecks > MAX_RECHECKS:
            raise InteractionError("workspace", "the workspace changes all the time")
        if changed.workspace == interaction.workspace:
            raise InteractionError("workspace", "the workspace is the one that the continuation has named")
        found = await self.store.recheck(
            interaction.id,
            base_plan_version=continuing.plan_version,
            workspace=changed.workspace,
            existing=changed.existing,
            rechecks=rechecks,
            anew=self._anew,
            now=self._clock(),
        )
        match found:
            case Moved():
                await self._moved(found)
                return Asked()
            case Put():
                await self._close(found.closed)
                await self._show(found.interaction, found.clarification)
                return Asked()
            case Conflict():
                return Asked()  # what has changed the plan goes on with a run of its own
            case Refusal():
                raise refused(found)

    def _anew(self, interaction: Interaction, before: Clarification, left: Sequence[Candidate]) -> NewClarification:
        """The question that takes the place of a choice which has gone, saying why."""
        gone = before.candidate(before.value)
        choice = "" if gone is None else gone.display_name
        why = ClarificationWords(interaction.language).say("gone", choice=plain(choice))
        new = replace(_once_more(before, why, left, now=self._clock()), plan_version=interaction.plan_version)
        return NewClarification(clarification=new, key=f"gone:{before.id}:{interaction.plan_version}")

    async def _moved(self, moved: Moved) -> None:
        await self._close(moved.closed)
        if moved.work is None:
            return
        clarification = None
        if moved.result.clarification is not None:
            clarification = await self.store.clarification(moved.result.clarification)
        if self._told is not None and clarification is not None:
            self._step(moved.interaction, moved.interaction.root_message)
            for message in {clarification.question_message, clarification.answer_message}:
                if message is None:
                    continue
                self._step(moved.interaction, message, f"clarification:{moved.result.kind.value}")
                self._told(moved.interaction, moved.work.decision, message, moved.result.kind.value)
        if self._resume is not None:
            await self._resume(moved.work.stored, moved.work.decision)

    def notes(self, destination: Destination, message: str) -> tuple[str, ...]:
        """What a step has made of the plan, for those who look at decisions: codes, beside its message."""
        return self._steps.get((str(destination.room), message), ())

    def _step(self, interaction: Interaction, message: str | None, *codes: str) -> None:
        if message is None:
            return
        key = (str(interaction.destination.room), message)
        self._steps[key] = (f"plan_version:{interaction.plan_version}", *codes)
        self._steps.move_to_end(key)
        while len(self._steps) > _STEPS:
            self._steps.popitem(last=False)

    async def _close(self, closed: Sequence[str]) -> None:
        """Close the cards of clarifications that have ended in the store."""
        for one in closed:
            await self._questions.cancel(one)

    # ending

    async def end(self, interaction_id: str, verb: str) -> bool:
        """End an interaction and its open question; whether it was active."""
        closed = await self.store.end(interaction_id, verb, now=self._clock())
        await self._close(closed or ())
        return closed is not None

    async def stop(self, destination: Destination, by: str | None, *, everybody: bool) -> bool:
        """Somebody has said stop: people end their own interaction, operators all of a place; whether there was one."""
        mine = self.conversation(destination, by)
        ended = [
            await self.end(one.id, "cancel")
            for one in await self.store.actives()
            if one.destination == destination and (everybody or one.conversation == mine)
        ]
        return any(ended)

    async def run_ended(self, origin_event: int, conversation: str | None, outcome: str) -> None:
        """A run has ended with words, or with none: if nothing is open, its interaction is complete."""
        if outcome not in OPEN_ENDS or conversation is None:
            return
        active = await self.store.active(conversation)
        if active is None or await self.open_of(active) is not None:
            return
        continuing = await self.store.continuation(origin_event)
        mine = active.event_id == origin_event or (continuing is not None and continuing.interaction.id == active.id)
        if mine and await self.store.is_latest(active, origin_event):
            await self.end(active.id, "complete")

    async def open_of(self, interaction: Interaction) -> Clarification | None:
        """The clarification of an interaction that takes an answer."""
        return next((one for one in await self.store.clarifications(interaction.id) if one.open), None)

    # after a restart

    async def recover(self) -> None:
        """Go on where an earlier process was interrupted: between a question and its end, or an end and its note."""
        for interaction in await self.store.actives():
            clarification = await self.open_of(interaction)
            if clarification is None:
                if await self.store.last_result(interaction) in OPEN_ENDS:
                    await self.end(interaction.id, "complete")
                continue
            question = await self._questions.look(clarification.id)
            if question is not None and not question.state.pending:
                await self.question_ended(question)
            elif question is None and clarification.event_id is None:  # a run shows its own when it is asked again
                try:
                    await self._show(interaction, clarification)
                except AskError as error:
                    log.warning("clarification_not_shown", code=error.code)

    async def run(self) -> None:
        """Look again from time to time, until cancelled: a store that failed for a while has kept something back."""
        while True:
            try:
                await self.recover()
            except StoreError as error:
                log.error("clarifications_not_looked_at", error=type(error).__name__)
            await asyncio.sleep(LOOK_EVERY_S)


def _once_more(before: Clarification, why: str, candidates: Sequence[Candidate], *, now: datetime) -> Clarification:
    return replace(
        before,
        id=uuid.uuid4().hex,
        event_id=None,
        why=why,
        candidates=tuple(candidates),
        state=ClarificationState.OPEN,
        value=None,
        answer_message=None,
        question_message=None,
        asked_at=now,
        closed_at=None,
    )


def refused(why: Conflict | Refusal) -> InteractionError:
    """How an agent hears of it."""
    if isinstance(why, Conflict):
        text = f"the plan has version {why.plan_version} by now"
        return InteractionError("version_conflict", text, plan_version=why.plan_version)
    return InteractionError(why.code, _SAID.get(why.code, "it can't be done"))
