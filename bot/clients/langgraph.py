"""LangGraph and LangChain: a graph that pauses asks people through a gateway, and goes on with what they decided.

    people = People(gateway=Gateway("http://127.0.0.1:8090", key), system="shop")
    values = run(graph, {"messages": [...]}, {"configurable": {"thread_id": "order-17"}}, people=people)

What it understands is in :mod:`bot.clients.interrupts`. Where the process ends meanwhile, the same call made again goes
on: what was asked is known by thread and interrupt, and nobody is asked twice. An approval is claimed directly before
the graph goes on, and what came of it is told after.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from langgraph.types import Command

from bot.clients.gateway import LONGEST_WAIT_S, GatewayError
from bot.clients.interrupts import Reading, read
from bot.clients.people import People, Standing, Used

Config = Mapping[str, Any]
_SOON_S: Final = 2


class CutOffError(GatewayError):
    """The thread was cut off between two steps; ``run(..., again=True)`` runs the step that was under way once more."""


class Graph(Protocol):
    """What is used of a compiled graph."""

    def invoke(self, input: Any, config: Any = None) -> Any:  # noqa: A002 - the name is langgraph's
        """Run until the end or an interrupt."""
        ...

    async def ainvoke(self, input: Any, config: Any = None) -> Any:  # noqa: A002
        """The same."""
        ...

    def get_state(self, config: Any) -> Any:
        """The latest checkpoint."""
        ...

    async def aget_state(self, config: Any) -> Any:
        """The same."""
        ...


@dataclass(frozen=True, slots=True)
class _Invoke:
    given: Any


@dataclass(frozen=True, slots=True)
class _Look:
    pass


@dataclass(frozen=True, slots=True)
class _Do:
    work: Callable[[], Any]


_Step = _Invoke | _Look | _Do
_Steps = Generator[_Step, Any, Any]


def run(graph: Graph, given: Any, config: Config, *, people: People, again: bool = False) -> Any:
    """Run a graph to its end, and wait for people wherever it pauses.

    Args:
        graph: compiled, with a checkpointer.
        given: its input. A thread that waits already goes on where it waits, and this is not looked at.
        config: with ``thread_id``.
        people: whom it asks.
        again: a step that was cut off may be run once more.

    Returns:
        The values of the final state.

    Raises:
        GatewayError: people can't be asked, or something is unclear; the thread can be run again later.
    """
    steps = _steps(people, _thread(config), given, again=again)
    sent: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.send(sent) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        sent, error = None, None
        try:
            match step:
                case _Invoke():
                    sent = graph.invoke(step.given, config)
                case _Look():
                    sent = graph.get_state(config)
                case _Do():
                    sent = step.work()
        except BaseException as raised:  # noqa: BLE001 - the steps decide about it
            error = raised


async def arun(graph: Graph, given: Any, config: Config, *, people: People, again: bool = False) -> Any:
    """The same for an event loop; see :func:`run`."""
    steps = _steps(people, _thread(config), given, again=again)
    sent: Any = None
    error: BaseException | None = None
    while True:
        try:
            step = steps.send(sent) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        sent, error = None, None
        try:
            match step:
                case _Invoke():
                    sent = await graph.ainvoke(step.given, config)
                case _Look():
                    sent = await graph.aget_state(config)
                case _Do():
                    sent = await asyncio.to_thread(step.work)
        except BaseException as raised:  # noqa: BLE001 - the steps decide about it
            error = raised


def _steps(people: People, thread: str, given: Any, *, again: bool) -> _Steps:
    """What has to be done, whoever does it."""
    state = yield _Look()
    if not state.interrupts:
        cut_off = bool(state.next)
        if cut_off and not again:
            raise CutOffError(f"the thread was cut off before {', '.join(state.next)}")
        yield _Invoke(None if cut_off else given)
        state = yield _Look()
    claimed: list[Used] = []
    running: list[Used] = []
    try:
        while state.interrupts:
            tool_calls = _tool_calls(state.values)
            reading, standing = yield from _first(people, thread, [read(one, tool_calls) for one in state.interrupts])
            answers: list[Any] = []
            for one in standing:
                answer, used = yield _Do(partial(people.use, one))
                answers.append(answer)
                claimed += [] if used is None else [used]
            value = reading.answer(answers)
            running, claimed = running + claimed, []
            yield _Invoke(Command(resume={reading.id: value}))
            state = yield _Look()
            running = yield _Do(partial(_tell, people, running, state))
    except BaseException:
        yield _Do(partial(people.tell, claimed, executed=False, note="it was not begun"))
        yield _Do(partial(people.tell, running, executed=None, note="the run broke off"))  # APPR-6
        raise
    return state.values


def _first(
    people: People, thread: str, readings: Sequence[Reading]
) -> Generator[_Do, Any, tuple[Reading, list[Standing]]]:
    """Ask for everything at once; the first interrupt that is wholly decided."""
    asked: list[tuple[Reading, list[Standing]]] = []
    for reading in readings:
        standing: list[Standing] = []
        for number, item in enumerate(reading.items):
            standing.append((yield _Do(partial(people.put, item, thread, reading.id, str(number)))))
        asked.append((reading, standing))
    while True:
        for reading, standing in asked:
            if not any(one.open for one in standing):
                return reading, standing
        waiting = [(standing, place) for _, standing in asked for place, one in enumerate(standing) if one.open]
        wait_s = LONGEST_WAIT_S if len(waiting) == 1 else _SOON_S
        for standing, place in waiting:
            standing[place] = yield _Do(partial(people.look, standing[place], wait_s))


def _tell(people: People, used: Sequence[Used], state: Any) -> list[Used]:
    """Tell what came of what was used; those of which it is not known yet are left."""
    results = _results(state)
    left: list[Used] = []
    for one in used:
        result = results.get(one.call.tool_call) if one.call.tool_call is not None else None
        if result is None and one.call.tool_call is not None and (state.interrupts or state.next):
            left.append(one)
            continue
        failed = getattr(result, "status", None) == "error"
        people.tell([one], executed=not failed, note="" if result is not None else "the graph went on")
    return left


def _thread(config: Config) -> str:
    try:
        configurable = config["configurable"]
        return f"{configurable.get('checkpoint_ns', '')}\0{configurable['thread_id']}"
    except (KeyError, TypeError):
        raise ValueError("config needs a thread_id: it is how the run is known again") from None


def _tool_calls(values: Any) -> Sequence[Mapping[str, Any]]:
    for message in reversed(_messages(values)):
        calls = getattr(message, "tool_calls", None)
        if calls:
            return list(calls)
    return ()


def _messages(values: Any) -> list[Any]:
    found = values.get("messages") if isinstance(values, Mapping) else getattr(values, "messages", None)
    return list(found) if isinstance(found, list | tuple) else []


def _results(state: Any) -> dict[str, Any]:
    """Messages of tools by the call that they answer; also of a step whose other calls still wait."""
    messages = _messages(state.values)
    for task in state.tasks:
        messages += _messages(task.result or {})
    return {message.tool_call_id: message for message in messages if getattr(message, "tool_call_id", None)}
