"""Calls of tools on their way through the proxy: held, run once, the outcome told, the client answered (APPR-10).

INVARIANT: a call of a tool reaches the server in one way alone, :meth:`Calls._run`, with a leave that was claimed for
it. What goes there is written anew from what was approved, field by field; nothing else of the client's message goes
along.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from bot.mcp.eliciting import ElicitationError, Eliciting
from bot.mcp.holding import Call, Held, Holding, Leave
from bot.mcp.messages import BROKEN, UNKNOWN, held_answer, kept_meta, marked, outcome_of
from bot.observability.log import get_logger

log = get_logger(__name__)

CALL: Final = "tools/call"
ELICIT: Final = "elicitation/create"
ROUNDS: Final = 10
"""How often one call may ask people before it gives up."""
AT_ONCE: Final = 64
"""Calls of tools side by side."""
RUNNING_S: Final = 1.0
"""How long a call that runs may go on when the client has gone; clients end what they have started soon."""
Id = str | int


class LostError(Exception):
    """The server has gone, or has never answered."""


@dataclass(kw_only=True, slots=True)
class Open:
    """A request of the client that is under way.

    Attributes:
        id: as the client wrote it.
        method: of the request.
        sent: under which id it went to the server; None: it has not.
        task: of a call of a tool.
        cancelled: the client does not want an answer any more.
    """

    id: Id
    method: str
    sent: int | None = None
    task: asyncio.Task[None] | None = None
    cancelled: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Resting:
    """A call that the server lets the client go on with: what it asks of its user is to come with the next one."""

    leave: Leave
    state: str | None = field(repr=False)


class Lines(Protocol):
    """To both sides (see :class:`bot.mcp.relay.Relay`)."""

    async def ask_server(self, one: Open, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The server's answer to a request of ours: ``{"result": ...}`` or ``{"error": ...}``.

        Raises:
            LostError: the server has gone.
        """
        ...

    async def cancel_at_server(self, number: int) -> None:
        """The server need not go on."""
        ...

    async def answer(self, one: Open, answer: Mapping[str, Any]) -> None:
        """Answer the client."""
        ...

    async def refuse(self, request_id: Id | None, code: int, text: str) -> None:
        """Answer the client that this is not possible."""
        ...

    async def beat(self, token: Id, progress: float) -> None:
        """A sign of life to a client that waits."""
        ...

    def close(self, one: Open) -> None:
        """A request is not under way any more."""
        ...


class Calls:
    """Those of one client."""

    def __init__(self, lines: Lines, *, holding: Holding, eliciting: Eliciting | None) -> None:
        """Args: lines: to both sides. holding: asks the gateway. eliciting: asks people for what the server asks."""
        self._lines = lines
        self._holding = holding
        self._eliciting = eliciting
        self._resting: dict[tuple[str, str | None], _Resting] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, one: Open, params: Mapping[str, Any]) -> None:
        """Take a call on; it goes its way beside others."""
        from mcp_types import INVALID_PARAMS, INVALID_REQUEST

        name, arguments = params.get("name"), params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str) or not isinstance(arguments, dict):
            await self._refuse(one, INVALID_PARAMS, "a name and arguments")
            return
        if len(self._tasks) >= AT_ONCE:
            await self._refuse(one, INVALID_REQUEST, f"{AT_ONCE} calls are under way")
            return
        try:
            call = Call(name=name, arguments=arguments)
            call.digest  # noqa: B018 - raises where it can't be written
        except (TypeError, ValueError):
            await self._refuse(one, INVALID_PARAMS, "arguments: write long whole numbers as texts")
            return
        one.task = asyncio.create_task(self._carry(one, call, params), name="call")
        self._tasks.add(one.task)
        one.task.add_done_callback(self._tasks.discard)

    async def _refuse(self, one: Open, code: int, text: str) -> None:
        self._lines.close(one)
        await self._lines.refuse(one.id, code, text)

    async def let_end(self, under_way: Iterable[Open]) -> None:
        """The client has gone: what waits is not wanted any more, what runs may end for a moment."""
        mine = [one for one in under_way if one.task is not None]
        for one in mine:
            if one.task is not None and one.sent is None:
                one.task.cancel()
        running = [one.task for one in mine if one.task is not None and one.sent is not None]
        if running:
            await asyncio.wait(running, timeout=RUNNING_S)

    async def end(self, under_way: Iterable[Open]) -> None:
        """The server has gone, or need not answer any more: outcomes are told, and nothing goes on."""
        running = {one.task for one in under_way if one.sent is not None}
        for task in self._tasks - running:
            if task is not None:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for resting in self._resting.values():
            await self._holding.told(resting.leave, executed=None, note="the client did not go on with it")
        await self._holding.close()

    async def _carry(self, one: Open, call: Call, params: Mapping[str, Any]) -> None:
        from mcp_types import INVALID_PARAMS

        meta = kept_meta(params.get("_meta"), elicitation=self._eliciting is not None)
        try:
            if "requestState" in params or "inputResponses" in params:
                resting = self._resting.pop(_place(call, params.get("requestState")), None)
                if resting is None:
                    await self._lines.refuse(one.id, INVALID_PARAMS, "no call waits for this")
                    return
                more = {key: params[key] for key in ("requestState", "inputResponses") if key in params}
                await self._run(one, call, resting.leave, meta, more)
                return
            beat = _Beat(self._lines, meta.get("progressToken"))
            async with self._holding.one_at_a_time(call):
                leave = await self._holding.ask(call, beat.tell)
                if isinstance(leave, Held):
                    await self._lines.answer(one, held_answer(leave))
                else:
                    await self._run(one, call, leave, meta, {})
        except asyncio.CancelledError:
            if not one.cancelled:
                raise
        except Exception as error:  # noqa: BLE001 - what it says could hold what somebody wrote
            log.error("call_failed", error=type(error).__name__)
            await self._lines.answer(one, held_answer(Held(status="unknown", text=BROKEN)))
        finally:
            self._lines.close(one)

    async def _run(self, one: Open, call: Call, leave: Leave, meta: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        """Run what was approved, and tell what came of it: the only way to the server for a call of a tool."""
        params: dict[str, Any] = {"name": leave.call.name, "arguments": dict(leave.call.arguments), **more}
        if meta:
            params["_meta"] = dict(meta)
        executed: bool | None = None
        note = "the connection to the server was lost"
        try:
            for _ in range(ROUNDS):
                answer = await self._lines.ask_server(one, CALL, params)
                result = answer.get("result")
                if not (isinstance(result, dict) and result.get("resultType") == "input_required"):
                    break
                given = await self._given_by_people(result)
                if given is None:
                    self._resting[_place(call, result.get("requestState"))] = _Resting(
                        leave=leave, state=result.get("requestState")
                    )
                    await self._lines.answer(one, answer)
                    return
                params |= given
                if "requestState" not in given:
                    params.pop("requestState", None)
            else:
                answer, note = {"error": {"code": -32603, "message": "it asks people again and again"}}, "no end"
            executed, note = outcome_of(answer)
            answer = marked(answer, leave)
        except LostError:
            answer = held_answer(Held(status="unknown", text=UNKNOWN.format(code=leave.code), code=leave.code))
        except asyncio.CancelledError:
            note = "the client cancelled it while it ran" if one.cancelled else "the proxy was ended while it ran"
            await asyncio.shield(self._break_off(one, leave, note))
            raise
        await self._holding.told(leave, executed=executed, note=note)
        await self._lines.answer(one, answer)

    async def _break_off(self, one: Open, leave: Leave, note: str) -> None:
        if one.sent is not None and one.cancelled:
            await self._lines.cancel_at_server(one.sent)
        await self._holding.told(leave, executed=None, note=note)

    async def _given_by_people(self, result: Mapping[str, Any]) -> dict[str, Any] | None:
        """What people say to what the server wants to know (MCP 2026-07-28); None: it is for the client to say."""
        asked = result.get("inputRequests")
        wanted: dict[str, Any] = asked if isinstance(asked, dict) else {}
        mine = all(isinstance(one, dict) and one.get("method") == ELICIT for one in wanted.values())
        if self._eliciting is None or not mine:
            return None
        given: dict[str, Any] = {}
        for key, one in wanted.items():
            try:
                given[key] = await self._eliciting.answer(one.get("params") or {})
            except ElicitationError:
                given[key] = {"action": "cancel"}
        state = result.get("requestState")
        return {"inputResponses": given} | ({} if state is None else {"requestState": state})


class _Beat:
    """Signs of life of one call; small steps, so that those of the server itself go on from there."""

    def __init__(self, lines: Lines, token: object) -> None:
        self._lines = lines
        self._token = token
        self._beats = 0

    async def tell(self) -> None:
        self._beats += 1
        if isinstance(self._token, str | int):
            await self._lines.beat(self._token, self._beats / 1e6)


def _place(call: Call, state: object) -> tuple[str, str | None]:
    return (call.digest, state if isinstance(state, str) else None)
