"""An agent that plays a script: for the demo, and for trying out what each kind of output looks like."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from importlib.resources import files as resources
from typing import assert_never

from bot.agents.answers import Answers
from bot.agents.script import Ask, Crash, Script, Wait, load_script
from bot.model.output import Final, Fragment, Operational, Output, Progress, SafeError, Silence
from bot.model.question import QuestionState
from bot.model.request import Request
from bot.ports.agent import Desk


class ScriptedCrash(Exception):  # noqa: N818 - it plays somebody else's exception, not an error of this package
    """What a script's ``crash`` raises: on purpose outside of the tree of our errors, as an agent's bug would be."""


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
        waiting = deque(self._script.steps(request))
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
                case Final():
                    yield replace(step, text=answers.put_into(step.text))
                case Wait(seconds=seconds):
                    await self._pause(seconds)
                case Crash(text=text):
                    raise ScriptedCrash(text)
                case Fragment() | Progress() | Operational() | SafeError() | Silence():
                    yield step
                case _:
                    assert_never(step)

    async def close(self) -> None:
        """There is nothing to let go of."""


def demo_script() -> Script:
    """The script that ``discreet demo`` plays."""
    name = "demo_script.yaml"
    return load_script(resources("bot.agents").joinpath(name).read_text(encoding="utf-8"), source=name)
