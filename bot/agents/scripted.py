"""An agent that plays a script: for the demo, and for trying out what each kind of output looks like."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from importlib.resources import files as resources
from typing import Final as Constant
from typing import assert_never

from bot.agents.answers import Answers
from bot.agents.script import Ask, Crash, Ending, Need, Propose, RunCommand, Script, Step, Wait, load_script, plan_of
from bot.model.approval import Approval, ApprovalState
from bot.model.command import RunState
from bot.model.errors import CommandError, ProposalError
from bot.model.interaction import Doubt, Verdict
from bot.model.output import (
    Clarify,
    Final,
    Fragment,
    Operational,
    Output,
    Progress,
    SafeError,
    Silence,
    WorkspaceChanged,
)
from bot.model.question import QuestionState
from bot.model.request import Request
from bot.ports.agent import Desk

_OUTCOMES: Constant = {Ending.EXECUTED: True, Ending.FAILED: False, Ending.UNKNOWN: None}


class ScriptedCrash(Exception):  # noqa: N818 - it plays somebody else's exception, not an error of this package
    """What a script's ``crash`` raises: on purpose outside of the tree of our errors, as an agent's bug would be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tell:
    """A step that the script does not have: the outcome of what was claimed."""

    approval: Approval
    executed: bool | None


class ScriptedAgent:
    """Plays the first rule that fits a request.

    Args:
        name: in the configuration.
        script: from :func:`bot.agents.script.load_script`.
        pause: waits for some seconds.
    """

    def __init__(
        self,
        *,
        name: str = "scripted",
        script: Script,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._script = script
        self._pause = pause

    @property
    def name(self) -> str:
        """Its name in the configuration."""
        return self._name

    async def run(self, request: Request, desk: Desk) -> AsyncGenerator[Output, None]:
        """Play the steps.

        Raises:
            ScriptedCrash: the script says so.
            AskError: a question can't be asked here.
        """
        answers = Answers(request.language)
        steps = self._script.steps(request)
        waiting: deque[Step | _Tell] = deque(steps)
        while waiting:
            step = waiting.popleft()
            match step:
                case Ask():
                    conclusion = await desk.ask(step.asking)
                    if conclusion.state is QuestionState.ANSWERED:
                        answers.take(step.form, conclusion.answer or {})
                        waiting.extendleft(reversed(step.then))
                    else:
                        waiting = deque((*step.otherwise, Silence()))
                case Propose():
                    waiting = await self._propose(step, desk, waiting)
                case _Tell():
                    await desk.outcome(step.approval, executed=step.executed, note="")
                case Final():
                    yield replace(step, text=answers.put_into(step.text))
                case Need(clarify=clarify):
                    value = _in_slot(request, clarify)
                    if value is None:
                        yield clarify if request.continuing is not None else replace(clarify, plan=plan_of(steps))
                        return
                    answers.fill(clarify.slot, value, _shown(value, clarify))
                case RunCommand():
                    if not await _run_command(step, desk, answers):
                        waiting = deque((*step.otherwise, Silence()))
                case Wait(seconds=seconds):
                    await self._pause(seconds)
                case Crash(text=text):
                    raise ScriptedCrash(text)
                case Fragment() | Progress() | Operational() | SafeError() | Silence() | Clarify() | WorkspaceChanged():
                    yield step
                case _:
                    assert_never(step)

    async def _propose(self, step: Propose, desk: Desk, rest: "deque[Step | _Tell]") -> "deque[Step | _Tell]":
        """What is played from here on."""
        decided = await desk.propose(step.proposal)
        match decided.state:
            case ApprovalState.APPROVED:
                try:
                    claimed = await desk.claim(decided, target_present=True if step.proposal.target else None)
                except ProposalError:
                    return deque((*step.expired, Silence()))
                told = (
                    ()
                    if step.outcome is Ending.NOTHING
                    else (_Tell(approval=claimed, executed=_OUTCOMES[step.outcome]),)
                )
                return deque((*told, *step.approved, *rest))
            case ApprovalState.DENIED:
                return deque((*step.denied, Silence()))
            case ApprovalState.RETURNED:
                return deque((*step.returned, Silence()))
            case _:
                return deque((*step.expired, Silence()))

    async def classify(self, doubt: Doubt) -> Verdict:
        """See :class:`bot.ports.agent.Classifier`."""
        return Verdict(kind=self._script.verdict(doubt.text))

    async def close(self) -> None:
        """There is nothing to let go of."""


async def _run_command(step: RunCommand, desk: Desk, answers: Answers) -> bool:
    """Run a command; whether it was done. What the tool itself refuses has its code as outcome."""
    object_id = None if step.object_id is None else answers.exact(step.object_id)
    try:
        ran = await desk.run_command(step.name, object_id, words=step.words)
    except CommandError as error:
        answers.ran(error.code, str(error))
        return False
    answers.ran(ran.state.value, ran.text)
    if ran.answer is not None:
        answers.filled_in(ran.answer)
    return ran.state is RunState.DONE and (ran.question is None or ran.answer is not None)


def _in_slot(request: Request, clarify: Clarify) -> str | None:
    """What stands in the slot; None: nothing."""
    if request.continuing is None:
        return None
    task = request.continuing.interaction.plan.tasks.get(clarify.task)
    return None if task is None else task.slots.get(clarify.slot)


def _shown(value: str, clarify: Clarify) -> str:
    """What stands in a slot, as people read it."""
    return next((one.display_name for one in clarify.candidates if one.id == value), value)


def demo_script() -> Script:
    """The script that ``discreet demo`` plays."""
    name = "demo_script.yaml"
    return load_script(resources("bot.agents").joinpath(name).read_text(encoding="utf-8"), source=name)
