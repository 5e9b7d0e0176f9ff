"""The messages between a client and a server of MCP: everything goes on as it came, but for calls of tools (APPR-10).

    client --request--> [tools/call?] --yes--> held (:mod:`bot.mcp.holding`) --claimed--> server
                             |__ no, and the protocol knows it --> server          |__ not --> the client reads why
    server --elicitation--> client, or people (:mod:`bot.mcp.eliciting`)

Requests that the protocol does not know don't pass, so that a call has no other name to go by. Calls go their own way
(:mod:`bot.mcp.calling`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.mcp.calling import AT_ONCE, CALL, ELICIT, Calls, Id, LostError, Open
from bot.mcp.eliciting import ElicitationError, Eliciting
from bot.mcp.holding import Holding
from bot.mcp.messages import with_elicitation
from bot.mcp.stamping import Stamps
from bot.observability.log import get_logger

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

log = get_logger(__name__)

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
        self._calls = Calls(self, holding=holding, eliciting=eliciting)
        self._eliciting = eliciting
        self._stamps = stamps
        self._number = 0
        self._open: dict[tuple[type, Id], Open] = {}
        self._sent: dict[int, Open] = {}
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asked: set[tuple[type, Id]] = set()
        self._elicited: dict[tuple[type, Id], asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Carry messages until one side has gone; what was claimed gets its outcome told."""
        from_client = asyncio.create_task(self._from_client(), name="from the client")
        from_server = asyncio.create_task(self._from_server(), name="from the server")
        sides, server_gone = (from_client, from_server), False
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
            server_gone = from_server.done()
            if server_gone:
                log.warning("server_has_gone")
            else:
                await self._calls.let_end([*self._open.values()])
        finally:
            await self._end(sides, server_gone=server_gone)
        for side in sides:
            if not side.cancelled() and side.exception() is not None:
                log.error("relay_failed", error=type(side.exception()).__name__)

    async def _end(self, sides: Sequence[asyncio.Task[None]], *, server_gone: bool) -> None:
        for side in (*sides, *self._elicited.values()):
            side.cancel()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(LostError())
        await asyncio.gather(*sides, *self._elicited.values(), return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING_S):
                left = [one for one in self._open.values() if one.task is None or one.sent is None]
                for one in left if server_gone else ():
                    await self.refuse(one.id, _GONE, "the server has gone")
                await self._calls.end([*self._open.values()])

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
                await self.refuse(None, INVALID_REQUEST, "this is not one message of the protocol")
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
            await self.refuse(request.id, INVALID_REQUEST, "a request with this id is under way")
            return
        if request.method == CALL:
            call = self._open[place] = Open(id=request.id, method=CALL)
            await self._calls.start(call, request.params or {})
            return
        if request.method not in _METHODS:
            await self.refuse(request.id, METHOD_NOT_FOUND, "this method does not pass here")
            return
        one = Open(id=request.id, method=request.method, sent=self._next())
        self._open[place] = self._sent[one.sent or 0] = one
        changes: dict[str, Any] = {"id": one.sent}
        if self._eliciting is not None and request.params is not None:  # null in place of nothing is refused by many
            changes["params"] = with_elicitation(request.method, request.params)
        await self._to_server(request.model_copy(update=changes))

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
            self.close(one)
            await self.cancel_at_server(one.sent)

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
                    await self._start_eliciting(self._eliciting, message)
                else:
                    self._asked.add((type(message.id), message.id))
                    await self._to_client(message)
            elif isinstance(message, JSONRPCNotification):
                if not self._taken_back(message):
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
        self.close(one)
        result = getattr(message, "result", None)
        if self._stamps is not None and isinstance(result, dict):
            if one.method == "tools/list":
                self._stamps.listed(result)
            elif one.method == "initialize":
                self._stamps.agreed(result)
        await self._to_client(message.model_copy(update={"id": one.id}))

    async def _start_eliciting(self, eliciting: Eliciting, request: "JSONRPCRequest") -> None:
        from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError

        place = (type(request.id), request.id)
        if place in self._elicited or len(self._elicited) >= AT_ONCE:
            wrong = ErrorData(code=INVALID_REQUEST, message=f"this id, or {AT_ONCE} requests, are under way")
            await self._to_server(JSONRPCError(jsonrpc="2.0", id=request.id, error=wrong))
            return
        task = asyncio.create_task(self._elicit(eliciting, request), name="elicitation")
        self._elicited[place] = task
        task.add_done_callback(lambda _: self._elicited.pop(place, None))

    def _taken_back(self, note: "JSONRPCNotification") -> bool:
        """Whether the server says that it does not want to know something any more that people are asked for."""
        given = (note.params or {}).get("requestId") if note.method == "notifications/cancelled" else None
        task = self._elicited.get((type(given), given)) if isinstance(given, str | int) else None
        if task is not None:
            task.cancel()
        return task is not None

    async def _elicit(self, eliciting: Eliciting, request: "JSONRPCRequest") -> None:
        from mcp_types import INVALID_PARAMS, ErrorData, JSONRPCError, JSONRPCResponse

        answer: JSONRPCResponse | JSONRPCError
        try:
            answer = JSONRPCResponse(jsonrpc="2.0", id=request.id, result=await eliciting.answer(request.params or {}))
        except ElicitationError as error:
            wrong = ErrorData(code=INVALID_PARAMS, message=str(error))
            answer = JSONRPCError(jsonrpc="2.0", id=request.id, error=wrong)
        with suppress(LostError):
            await self._to_server(answer)

    # sending

    async def ask_server(self, one: Open, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """See :meth:`bot.mcp.calling.Lines.ask_server`."""
        from mcp_types import JSONRPCRequest

        number = one.sent = self._next()
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        try:
            await self._to_server(JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=dict(params)))
            return await future
        finally:
            self._answers.pop(number, None)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def close(self, one: Open) -> None:
        """See :meth:`bot.mcp.calling.Lines.close`."""
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

    async def cancel_at_server(self, number: int) -> None:
        """See :meth:`bot.mcp.calling.Lines.cancel_at_server`."""
        from mcp_types import JSONRPCNotification

        params = {"requestId": number, "reason": "cancelled by the client"}
        with suppress(LostError):
            await self._to_server(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params))

    async def refuse(self, request_id: Id | None, code: int, text: str) -> None:
        """See :meth:`bot.mcp.calling.Lines.refuse`."""
        from mcp_types import ErrorData, JSONRPCError

        await self._to_client(JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=text)))

    async def answer(self, one: Open, answer: Mapping[str, Any]) -> None:
        """See :meth:`bot.mcp.calling.Lines.answer`."""
        from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse

        if one.cancelled:
            return
        if "error" in answer:
            error = ErrorData.model_validate(answer["error"])
            await self._to_client(JSONRPCError(jsonrpc="2.0", id=one.id, error=error))
        else:
            await self._to_client(JSONRPCResponse(jsonrpc="2.0", id=one.id, result=dict(answer["result"])))

    async def beat(self, token: Id, progress: float) -> None:
        """See :meth:`bot.mcp.calling.Lines.beat`."""
        from mcp_types import JSONRPCNotification

        params = {"progressToken": token, "progress": progress, "message": "waiting for people to decide"}
        await self._to_client(JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params=params))
