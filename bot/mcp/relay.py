"""The messages between a client and a server of MCP: everything goes on as it came, but for calls of tools (APPR-10).

    client --request--> [tools/call?] --yes--> held (:mod:`bot.mcp.holding`) --claimed--> server
                             |__ no, and the protocol knows it --> server          |__ not --> the client reads why
    server --elicitation--> client, or people (:mod:`bot.mcp.eliciting`)

INVARIANT: a call of a tool reaches the server in one way alone, :meth:`Relay._run`, with a leave that was claimed for
it. What goes there is written anew from what was approved, field by field; nothing else of the client's message goes
along. Requests that the protocol does not know don't pass, so that a call has no other name to go by.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.mcp.eliciting import ElicitationError, Eliciting
from bot.mcp.holding import Call, Held, Holding, Leave
from bot.mcp.messages import BROKEN, UNKNOWN, held_answer, kept_meta, marked, outcome_of, with_elicitation
from bot.mcp.stamping import Stamps
from bot.observability.log import get_logger

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

log = get_logger(__name__)

CALL: Final = "tools/call"
ELICIT: Final = "elicitation/create"
ROUNDS: Final = 10
"""How often one call may ask people before it gives up."""
AT_ONCE: Final = 64
"""Calls of tools side by side."""
RUNNING_S: Final = 1.0
"""How long a call that runs may go on when the client has gone; clients end what they have started soon."""
ENDING_S: Final = 10.0
"""How long outcomes may still be told."""
_GONE: Final = -32000
_METHODS: Final = frozenset(
    {
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
    }
)
Id = str | int


class Incoming(Protocol):
    """Messages of a peer, one by one; an exception in place of one that can't be read."""

    async def receive(self) -> "SessionMessage | Exception":
        """The next one.

        Raises:
            EndOfStream: there is none.
        """
        ...


class Outgoing(Protocol):
    """Messages to a peer."""

    async def send(self, item: "SessionMessage", /) -> None:
        """Send one."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """One side."""

    incoming: Incoming
    outgoing: Outgoing


class LostError(Exception):
    """The server has gone, or has never answered."""


@dataclass(kw_only=True, slots=True)
class _Open:
    """A request of the client that is under way.

    Attributes:
        id: as the client wrote it.
        method: of the request.
        sent: under which id it went to the server; None: it has not.
        task: of a call of a tool.
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


class Relay:
    """Stands between one client and one server, as long as both are there."""

    def __init__(
        self, *, client: Peer, server: Peer, holding: Holding, eliciting: Eliciting | None, stamps: Stamps | None
    ) -> None:
        """Make it.

        Args:
            client: who calls.
            server: who is called.
            holding: holds calls of tools.
            eliciting: asks people what the server asks its user; None: the client is asked.
            stamps: for a server that wants headers.
        """
        self._client = client
        self._server = server
        self._holding = holding
        self._eliciting = eliciting
        self._stamps = stamps
        self._number = 0
        self._open: dict[tuple[type, Id], _Open] = {}
        self._sent: dict[int, _Open] = {}
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asked: set[tuple[type, Id]] = set()
        self._resting: dict[tuple[str, str | None], _Resting] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Carry messages until one side has gone; what was claimed gets its outcome told."""
        from_client = asyncio.create_task(self._from_client(), name="from the client")
        from_server = asyncio.create_task(self._from_server(), name="from the server")
        sides = (from_client, from_server)
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
            if not from_server.done():
                await self._let_end()
        finally:
            await self._end(sides)
        for side in sides:
            if not side.cancelled() and side.exception() is not None:
                log.error("relay_failed", error=type(side.exception()).__name__)

    async def _let_end(self) -> None:
        """The client has gone: what waits is not wanted any more, what runs may end for a moment."""
        for one in [*self._open.values()]:
            if one.task is not None and one.sent is None:
                one.task.cancel()
        running = [one.task for one in self._open.values() if one.task is not None and one.sent is not None]
        if running:
            await asyncio.wait(running, timeout=RUNNING_S)

    async def _end(self, sides: Sequence[asyncio.Task[None]]) -> None:
        for side in sides:
            side.cancel()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(LostError())
        await asyncio.gather(*sides, return_exceptions=True)
        for one in [*self._open.values()]:
            if one.task is None or one.sent is None:
                await self._refuse(one.id, _GONE, "the server has gone")
        tasks = [*self._tasks]
        running = {one.task for one in self._open.values() if one.sent is not None}
        for task in tasks:
            if task not in running:
                task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING_S):
                await asyncio.gather(*tasks, return_exceptions=True)
                for resting in self._resting.values():
                    await self._holding.told(resting.leave, executed=None, note="the client did not go on with it")
                await self._holding.close()

    # from the client

    async def _from_client(self) -> None:
        from anyio import ClosedResourceError, EndOfStream
        from mcp_types import INVALID_REQUEST, JSONRPCNotification, JSONRPCRequest

        while True:
            try:
                received = await self._client.incoming.receive()
            except (EndOfStream, ClosedResourceError):
                return
            if isinstance(received, Exception):  # no message of the protocol; a batch, for one
                await self._refuse(None, INVALID_REQUEST, "this is not one message of the protocol")
                continue
            message = received.message
            try:
                if isinstance(message, JSONRPCRequest):
                    await self._requested(message)
                elif isinstance(message, JSONRPCNotification):
                    await self._noted(message)
                elif message.id is not None and (type(message.id), message.id) in self._asked:
                    self._asked.discard((type(message.id), message.id))
                    await self._to_server(message)
            except LostError:
                return

    async def _requested(self, request: "JSONRPCRequest") -> None:
        from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND

        place = (type(request.id), request.id)
        if place in self._open:
            await self._refuse(request.id, INVALID_REQUEST, "a request with this id is under way")
            return
        if request.method == CALL:
            await self._call(request)
            return
        if request.method not in _METHODS:
            await self._refuse(request.id, METHOD_NOT_FOUND, "this method does not pass here")
            return
        one = _Open(id=request.id, method=request.method, sent=self._next())
        self._open[place] = self._sent[one.sent or 0] = one
        params = request.params if self._eliciting is None else with_elicitation(request.method, request.params)
        await self._to_server(request.model_copy(update={"id": one.sent, "params": params}))

    async def _noted(self, note: "JSONRPCNotification") -> None:
        """Notifications of the protocol go on; whatever else is written without an id reaches nobody."""
        if note.method != "notifications/cancelled":
            if note.method.startswith("notifications/"):
                await self._to_server(note)
            return
        given = (note.params or {}).get("requestId")
        one = self._open.get((type(given), given)) if isinstance(given, str | int) else None
        if one is None:
            return
        if one.task is not None:
            one.cancelled = True
            one.task.cancel()
        elif one.sent is not None:
            self._close(one)
            await self._cancel_at_server(one.sent)

    # calls of tools

    async def _call(self, request: "JSONRPCRequest") -> None:
        from mcp_types import INVALID_PARAMS, INVALID_REQUEST

        params: dict[str, Any] = request.params or {}
        name, arguments = params.get("name"), params.get("arguments")
        arguments = {} if arguments is None else arguments
        if not isinstance(name, str) or not isinstance(arguments, dict):
            await self._refuse(request.id, INVALID_PARAMS, "a name and arguments")
            return
        if len(self._tasks) >= AT_ONCE:
            await self._refuse(request.id, INVALID_REQUEST, f"{AT_ONCE} calls are under way")
            return
        one = _Open(id=request.id, method=CALL)
        self._open[(type(request.id), request.id)] = one
        try:
            call = Call(name=name, arguments=arguments)
            call.digest  # noqa: B018 - raises where it can't be written
        except (TypeError, ValueError):
            self._close(one)
            await self._refuse(request.id, INVALID_PARAMS, "arguments: write long whole numbers as texts")
            return
        one.task = asyncio.create_task(self._carry(one, call, params), name="call")
        self._tasks.add(one.task)
        one.task.add_done_callback(self._tasks.discard)

    async def _carry(self, one: _Open, call: Call, params: Mapping[str, Any]) -> None:
        from mcp_types import INVALID_PARAMS

        meta = kept_meta(params.get("_meta"), elicitation=self._eliciting is not None)
        try:
            if "requestState" in params or "inputResponses" in params:
                resting = self._resting.pop(_place(call, params.get("requestState")), None)
                if resting is None:
                    await self._refuse(one.id, INVALID_PARAMS, "no call waits for this")
                    return
                more = {key: params[key] for key in ("requestState", "inputResponses") if key in params}
                await self._run(one, call, resting.leave, meta, more)
                return
            beat = _Beat(self, meta.get("progressToken"))
            async with self._holding.one_at_a_time(call):
                leave = await self._holding.ask(call, beat.tell)
                if isinstance(leave, Held):
                    await self._answer(one, held_answer(leave))
                else:
                    await self._run(one, call, leave, meta, {})
        except asyncio.CancelledError:
            if not one.cancelled:
                raise
        except Exception as error:  # noqa: BLE001 - what it says could hold what somebody wrote
            log.error("call_failed", error=type(error).__name__)
            await self._answer(one, held_answer(Held(status="refused", text=BROKEN)))
        finally:
            self._close(one)

    async def _run(
        self, one: _Open, call: Call, leave: Leave, meta: Mapping[str, Any], more: Mapping[str, Any]
    ) -> None:
        """Run what was approved, and tell what came of it: the only way to the server for a call of a tool."""
        params: dict[str, Any] = {"name": leave.call.name, "arguments": dict(leave.call.arguments), **more}
        if meta:
            params["_meta"] = dict(meta)
        executed: bool | None = None
        note = "the connection to the server was lost"
        try:
            for _ in range(ROUNDS):
                one.sent = self._next()
                answer = await self._from_server_to(one.sent, params)
                result = answer.get("result")
                if not (isinstance(result, dict) and result.get("resultType") == "input_required"):
                    break
                given = await self._given_by_people(result)
                if given is None:
                    self._resting[_place(call, result.get("requestState"))] = _Resting(
                        leave=leave, state=result.get("requestState")
                    )
                    await self._answer(one, answer)
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
        await self._answer(one, answer)

    async def _break_off(self, one: _Open, leave: Leave, note: str) -> None:
        if one.sent is not None and one.cancelled:
            await self._cancel_at_server(one.sent)
        await self._holding.told(leave, executed=None, note=note)

    async def _from_server_to(self, number: int, params: Mapping[str, Any]) -> dict[str, Any]:
        """The server's answer to a call: ``{"result": ...}`` or ``{"error": ...}``.

        Raises:
            LostError: the server has gone.
        """
        from mcp_types import JSONRPCRequest

        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        try:
            await self._to_server(JSONRPCRequest(jsonrpc="2.0", id=number, method=CALL, params=dict(params)))
            return await future
        finally:
            self._answers.pop(number, None)

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

    # from the server

    async def _from_server(self) -> None:
        from anyio import ClosedResourceError, EndOfStream
        from mcp_types import JSONRPCNotification, JSONRPCRequest

        while True:
            try:
                received = await self._server.incoming.receive()
            except (EndOfStream, ClosedResourceError):
                return
            if isinstance(received, Exception):
                log.warning("server_not_understood", error=type(received).__name__)
                continue
            message = received.message
            if isinstance(message, JSONRPCRequest):
                if message.method == ELICIT and self._eliciting is not None:
                    task = asyncio.create_task(self._elicit(self._eliciting, message), name="elicitation")
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
                else:
                    self._asked.add((type(message.id), message.id))
                    await self._to_client(message)
            elif isinstance(message, JSONRPCNotification):
                await self._to_client(message)
            else:
                await self._answered(message)

    async def _answered(self, message: Any) -> None:
        """An answer: to a call that was held, or to a request that went on as it came."""
        number = message.id if isinstance(message.id, int) else -1
        held = self._answers.get(number)
        if held is not None:
            if not held.done():
                held.set_result(message.model_dump(by_alias=True, exclude_unset=True, mode="json"))
            return
        one = self._sent.get(number)
        if one is None:
            return
        self._close(one)
        result = getattr(message, "result", None)
        if self._stamps is not None and isinstance(result, dict):
            if one.method == "tools/list":
                self._stamps.listed(result)
            elif one.method == "initialize":
                self._stamps.agreed(result)
        await self._to_client(message.model_copy(update={"id": one.id}))

    async def _elicit(self, eliciting: Eliciting, request: "JSONRPCRequest") -> None:
        from mcp_types import INVALID_PARAMS, ErrorData, JSONRPCError, JSONRPCResponse

        try:
            result = await eliciting.answer(request.params or {})
        except ElicitationError as error:
            wrong = ErrorData(code=INVALID_PARAMS, message=str(error))
            await self._to_server(JSONRPCError(jsonrpc="2.0", id=request.id, error=wrong))
        else:
            await self._to_server(JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result))

    # sending

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _close(self, one: _Open) -> None:
        self._open.pop((type(one.id), one.id), None)
        if one.sent is not None:
            self._sent.pop(one.sent, None)

    async def _to_client(self, message: "JSONRPCMessage") -> None:
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp.shared.message import SessionMessage

        with suppress(BrokenResourceError, ClosedResourceError):  # it has gone; who reads it notes that
            await self._client.outgoing.send(SessionMessage(message))

    async def _to_server(self, message: "JSONRPCMessage") -> None:
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp.shared.message import ClientMessageMetadata, SessionMessage

        headers = {} if self._stamps is None else self._stamps.headers(message)
        metadata = ClientMessageMetadata(headers=headers) if headers else None
        try:
            await self._server.outgoing.send(SessionMessage(message, metadata=metadata))
        except (BrokenResourceError, ClosedResourceError):
            raise LostError from None

    async def _cancel_at_server(self, number: int) -> None:
        from mcp_types import JSONRPCNotification

        params = {"requestId": number, "reason": "cancelled by the client"}
        with suppress(LostError):
            await self._to_server(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params))

    async def _refuse(self, request_id: Id | None, code: int, text: str) -> None:
        from mcp_types import ErrorData, JSONRPCError

        await self._to_client(JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=text)))

    async def _answer(self, one: _Open, answer: Mapping[str, Any]) -> None:
        from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse

        if one.cancelled:
            return
        if "error" in answer:
            error = ErrorData.model_validate(answer["error"])
            await self._to_client(JSONRPCError(jsonrpc="2.0", id=one.id, error=error))
        else:
            await self._to_client(JSONRPCResponse(jsonrpc="2.0", id=one.id, result=dict(answer["result"])))

    async def beat(self, token: Id, progress: float) -> None:
        """A sign of life to the client that waits with a token."""
        from mcp_types import JSONRPCNotification

        params = {"progressToken": token, "progress": progress, "message": "waiting for people to decide"}
        await self._to_client(JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=params))


class _Beat:
    """Signs of life of one call; small steps, so that those of the server itself go on from there."""

    def __init__(self, relay: Relay, token: object) -> None:
        self._relay = relay
        self._token = token
        self._beats = 0

    async def tell(self) -> None:
        self._beats += 1
        if isinstance(self._token, str | int):
            await self._relay.beat(self._token, self._beats / 1e6)


def _place(call: Call, state: object) -> tuple[str, str | None]:
    return (call.digest, state if isinstance(state, str) else None)
