"""The room of commands (CMD): a call is checked, its object resolved, its rules judged; then it is carried out.

    call -> known? allowed? expected? busy? -> slots -> object -> rules -> noted as begun -> carried out -> end is noted
              |______ plain English, nothing was run ______|        |_ refused: reasons, in the person's language

A run whose end was not noted, because the process died or the endpoint was silent, is unknown: operators are told, and
it is never repeated by itself. Forms and slots are the exception: doing them again under the same key does nothing.

INVARIANT: one run at a time in a conversation. An object is in memory for its run only; the store has digests (CMD-5).
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any, Final, assert_never

from bot.commands.deciding import OnBehalfOf, allowed, check_input, in_language, judged, offered
from bot.commands.refusals import refusal
from bot.commands.resolving import Resolving
from bot.commands.telling import Telling
from bot.commands.wire import Outcome, content_of, read_outcome, run_document
from bot.commands.words import CommandWords
from bot.config.commands import Command, FormAction, HandoverAction, HttpAction, KeepAction, SummaryAction
from bot.conversations.conversation import conversation_of
from bot.deliveries.door import Door, Place
from bot.model.command import Call, Grounds, Offered, Ran, RunState, Thing
from bot.model.errors import AgentError, AskError, CommandError, StoreError
from bot.model.question import Answerer, Asking, Who
from bot.observability.log import get_logger
from bot.observability.metrics import command_ended
from bot.ports.commands import Ask, CommandStore, Endpoints, Kept, KnownRun, NewRun
from bot.questions.showing import plain
from policy.decision import Audience
from policy.ruleset import Access, Policy

log = get_logger(__name__)

NAMESPACE: Final = uuid.UUID("5b0c6a0e-8f5e-5d0c-9a57-0d15c4ee7001")
MAX_RUNS: Final = 50
"""Of commands for one request: an agent that goes round in circles comes to an end."""
_REMEMBERED: Final = 500
"""Outcomes that are known with their words as long as the process lives, for calls that are made again."""
_SAID: Final = {
    RunState.DONE: "The command was carried out.",
    RunState.FAILED: "The command could not be carried out, and nothing was done.",
    RunState.UNKNOWN: "Nobody can tell whether the command was carried out. Do not run it again by yourself.",
}


class CommandRoom:
    """Runs commands for agents; knows nothing of the way on which they call."""

    def __init__(
        self,
        commands: Mapping[str, Command],
        *,
        store: CommandStore,
        endpoints: Endpoints,
        telling: Telling,
        door: Door,
        policy: Callable[[], Policy],
        clock: Callable[[], datetime],
    ) -> None:
        """Make the room.

        Args:
            commands: all that there are; nothing else can be run (CMD-1).
            store: of runs and slots.
            endpoints: the way to them.
            telling: speaks to people.
            door: knows who reads along.
            policy: gives the policy in force now.
            clock: gives aware times.
        """
        self._commands = commands
        self._store = store
        self._endpoints = endpoints
        self._telling = telling
        self._door = door
        self._policy = policy
        self._clock = clock
        self._resolving = Resolving(endpoints, lambda: uuid.uuid4().hex)
        self._busy: set[str] = set()
        self._outcomes: OrderedDict[str, Outcome] = OrderedDict()
        self._runs: OrderedDict[int, int] = OrderedDict()
        self._settling: set[asyncio.Task[None]] = set()
        self._opened_at = clock()

    def offered(self, call: Call) -> tuple[Offered, ...]:
        """The commands that the agent may run in this run (CMD-1); the name in the call does not matter."""
        whom = self._whom(call)
        return () if whom is None else offered(self._commands, whom)

    async def run(self, call: Call, ask: Ask) -> Ran:
        """Run one.

        Args:
            call: what is wanted, by whom and for whom.
            ask: asks a question where the request was made, for actions that are one.

        Raises:
            CommandError: the tool itself refuses; nothing was run.
        """
        try:
            command, whom = self._checked(call)
            conversation = conversation_of(whom.policy, call.destination, call.account) or str(call.destination)
            if conversation in self._busy:
                raise refusal("busy")
            self._count(call.event_id)
            self._busy.add(conversation)
            try:
                ran = await self._run(command, call, whom, ask)
            finally:
                self._busy.discard(conversation)
        except CommandError as error:
            command_ended(error.code)
            raise
        command_ended(ran.state.value)
        return ran

    async def forget(self, root_id: int) -> None:
        """A run has ended: slots whose interaction does not go on end with it (CMD-6)."""
        await self._store.forget(root_id)

    async def recover(self) -> None:
        """What an earlier process has begun and not ended is unknown; operators hear of it."""
        try:
            for run in await self._store.lost(started_before=self._opened_at, now=self._clock()):
                await self._tell_unknown(run)
        except StoreError as error:
            log.error("commands_not_looked_at", error=type(error).__name__)

    # checks

    def _whom(self, call: Call) -> OnBehalfOf | None:
        """For whom the agent acts, and who reads along; None: nobody may be acted for there (IDENT-5)."""
        policy = self._policy()
        settings = self._door.settings(Place(destination=call.destination, chat=call.chat, person=call.account))
        if settings.access is Access.DENY:
            return None
        same = settings.audience is call.audience  # others read along by now: those who count least decide
        audience = settings.audience if same else Audience.UNKNOWN
        return OnBehalfOf(person=policy.person(call.account), audience=audience, policy=policy)

    def _checked(self, call: Call) -> tuple[Command, OnBehalfOf]:
        command, whom = self._commands.get(call.name), self._whom(call)
        if command is None:
            raise refusal("unknown_command")
        if whom is None or not allowed(command, whom):
            raise refusal("not_allowed")
        check_input(command, call)
        return command, whom

    def _count(self, event_id: int) -> None:
        run_before = self._runs.get(event_id, 0)
        if run_before >= MAX_RUNS:
            raise refusal("too_many")
        self._runs[event_id] = run_before + 1
        while len(self._runs) > _REMEMBERED:
            self._runs.popitem(last=False)

    # running

    async def _run(self, command: Command, call: Call, whom: OnBehalfOf, ask: Ask) -> Ran:
        run = NewRun(
            id=uuid.uuid5(NAMESPACE, f"{call.agent}\0{call.key}").hex,
            event_id=call.event_id,
            agent=call.agent,
            command=command.name,
            content=content_of(call),
        )
        known = await self._store.known(run)
        if known is not None and not known.same:
            raise refusal("key_used")
        slots = await self._slots(command, call, whom)
        thing = None
        if call.object_id is not None:
            thing = await self._resolving.look(command, call.object_id, call, whom)
            if thing is None:
                await self._store.deny(run, "unknown_object", now=self._clock())
                raise refusal("unknown_object")
        if known is not None and not isinstance(command.action, FormAction):
            return self._ran(command, call, run, thing, await self._before(command, run, known), repeated=True)
        grounds = judged(command.rules, thing)
        if grounds:
            outcome = Outcome(state=RunState.REFUSED, grounds=grounds)
            await self._settle(command, call, run, outcome)
        elif isinstance(command.action, FormAction | KeepAction):
            outcome = await self._harmless(command.action, call, thing, ask, run)
            await self._settle(command, call, run, outcome)
        else:
            if not await self._store.begin(run, now=self._clock()):
                raise refusal("busy")  # the same call, made twice at once
            outcome = await self._carried_out(command, command.action, call, whom, run, thing, slots)
        return self._ran(command, call, run, thing, outcome, repeated=known is not None)

    async def _slots(self, command: Command, call: Call, whom: OnBehalfOf) -> dict[str, Thing]:
        """The objects that stand in the slots that it reads, each resolved again with the person's rights now."""
        found: dict[str, Thing] = {}
        kept = await self._store.kept(call.root_id) if command.reads else {}
        for slot in command.reads:
            one = kept.get(slot)
            keeper = None if one is None else self._commands.get(one.command)
            thing = None
            if one is not None and keeper is not None:
                thing = await self._resolving.look(keeper, one.value, call, whom)
            if thing is None:
                raise refusal("slot_empty")
            found[slot] = thing
        return found

    async def _harmless(
        self, action: FormAction | KeepAction, call: Call, thing: Thing | None, ask: Ask, run: NewRun
    ) -> Outcome:
        """What can be done again under the same key, and is the same then."""
        if isinstance(action, KeepAction):
            return Outcome(state=RunState.DONE)
        words = in_language(action.question, call.language)
        shown = words.replace("{object}", "" if thing is None else plain(thing.display))
        asking = Asking(
            text=shown,
            schema=action.schema,
            who=Who(kind=Answerer(action.who), people=action.people),
            ttl_s=action.ttl_s,
            important=action.important,
            key=f"command:{run.id}",
        )
        try:
            question = await ask(asking)
        except AskError as error:
            log.warning("command_not_asked", code=error.code)
            raise refusal("question") from None
        return Outcome(state=RunState.DONE, question=question.id)

    async def _carried_out(
        self,
        command: Command,
        action: HttpAction | SummaryAction | HandoverAction,
        call: Call,
        whom: OnBehalfOf,
        run: NewRun,
        thing: Thing | None,
        slots: Mapping[str, Thing],
    ) -> Outcome:
        """Carry out what was noted as begun; however it ends, that is noted too."""
        outcome = Outcome(state=RunState.UNKNOWN)
        try:
            match action:
                case HttpAction(endpoint=endpoint):
                    person = None if whom.person is None else whom.person.id
                    body = run_document(command, call, person, run=run.id, thing=thing, slots=slots)
                    answered = await self._endpoints.call(endpoint, run.id, body, timeout_s=endpoint.timeout_s)
                    outcome = read_outcome(answered)
                case SummaryAction():
                    shown = await self._telling.summary(action, call)
                    outcome = Outcome(state=RunState.DONE if shown else RunState.FAILED)
                case HandoverAction():
                    told = await self._telling.handover(call, whom.person, thing)
                    outcome = Outcome(state=RunState.DONE if told else RunState.FAILED)
                case _:
                    assert_never(action)
        except AgentError:
            log.warning("command_unknown", run=run.id[:8])
        finally:  # also where the run was stopped meanwhile: then nobody can tell
            await self._by_all_means(self._ended(command, call, run, outcome))
        return outcome

    async def _by_all_means(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it to its end, also where whoever waits for it is stopped."""
        task = asyncio.create_task(work, name="settle")
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        await asyncio.shield(task)

    async def _ended(self, command: Command, call: Call, run: NewRun, outcome: Outcome) -> None:
        await self._settle(command, call, run, outcome)
        if outcome.state is RunState.UNKNOWN:
            await self._tell_unknown(run.id)

    async def _settle(self, command: Command, call: Call, run: NewRun, outcome: Outcome) -> None:
        keep = None
        if outcome.state is RunState.DONE and command.keep_as is not None and call.object_id is not None:
            keep = Kept(slot=command.keep_as, command=command.name, value=call.object_id)
        await self._store.settle(
            run,
            outcome.state,
            now=self._clock(),
            codes=tuple(one.code for one in outcome.grounds),
            keep=keep,
            root_id=call.root_id,
        )
        self._outcomes[run.id] = outcome
        while len(self._outcomes) > _REMEMBERED:
            self._outcomes.popitem(last=False)

    async def _before(self, command: Command, run: NewRun, known: KnownRun) -> Outcome:
        """What came of a call that is made again: it is told, and nothing is done."""
        if known.state is RunState.STARTED:  # nobody runs it, or it would be busy: an earlier process has died on it
            outcome = Outcome(state=RunState.UNKNOWN)
            await self._store.settle(run, outcome.state, now=self._clock())
            await self._tell_unknown(run.id)
            return outcome
        remembered = self._outcomes.get(run.id)
        if remembered is not None:
            return remembered
        texts = {rule.code: rule.reason for rule in command.rules}
        grounds = tuple(Grounds(code=code, texts=texts.get(code, {})) for code in known.codes)
        return Outcome(state=known.state, grounds=grounds)

    def _ran(
        self, command: Command, call: Call, run: NewRun, thing: Thing | None, outcome: Outcome, *, repeated: bool
    ) -> Ran:
        words = CommandWords(call.language)
        reasons = tuple(
            (one.code, in_language(one.texts, call.language) or words.say("not_kept")) for one in outcome.grounds
        )
        if outcome.state is RunState.REFUSED:  # CMD-4: command, object, reasons, in the person's language
            values = {
                "command": plain(in_language(command.title, call.language)),
                "reasons": " ".join(text for _, text in reasons),
            }
            if thing is None:
                text = words.say("refused", **values)
            else:
                text = words.say("refused_for", object=plain(thing.display), **values)
        else:
            text = _SAID[outcome.state]
        return Ran(
            run=run.id,
            command=command.name,
            state=outcome.state,
            text=text,
            thing=thing,
            reasons=reasons,
            result=outcome.result,
            question=outcome.question,
            repeated=repeated,
        )

    async def _tell_unknown(self, run_id: str) -> None:
        try:
            await self._telling.unknown(run_id)
        except StoreError as error:
            log.error("command_not_told", error=type(error).__name__)
