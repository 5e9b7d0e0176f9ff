"""The MCP server at ``/mcp`` of the gateway's interface (streamable HTTP), with the same keys.

The SDK speaks ASGI; this carries one call of aiohttp over to it and back. There are no sessions: each call stands for
itself, so that a client that goes away leaves nothing behind, and none can open too many. What the tools do goes over
``/v1/`` of this very site with the caller's key, so that a key may do here what it may do there and nothing more.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from aiohttp import web

from bot.config.secret import Secret
from bot.mcp.gateway import Gateway, Http, connection
from bot.mcp.tools import Tools
from bot.observability.log import get_logger

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

log = get_logger(__name__)

PATH: Final = "/mcp"
READ_WITHIN_S: Final = 10.0
AT_ONCE: Final = 64
"""Calls of one agent side by side."""
_LOOK_EVERY_S: Final = 1.0
_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_URL_KEY: Final = "discreet.url"
_SECRET_KEY: Final = "discreet.key"  # noqa: S105 - the name of a place, not a secret

Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]


class Gate(Protocol):
    """Lets agents through by their keys (see :class:`bot.api.site.Callers`)."""

    def only(self, handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for agents alone."""
        ...


class McpSite:
    """A part of the interface (see :class:`bot.api.site.ApiPart`)."""

    def __init__(self, *, version: str) -> None:
        """Args: version: of this program."""
        self._version = version
        self._manager: StreamableHTTPSessionManager | None = None
        self._starting = asyncio.Lock()
        self._ready = asyncio.Event()
        self._http: Http | None = None
        self._waiting: dict[str, int] = {}
        self._running: asyncio.Task[None] | None = None

    def add_to(self, router: web.UrlDispatcher, callers: Gate) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        router.add_post(PATH, callers.only(self._handle))

    async def _handle(self, request: web.Request, agent: str) -> web.StreamResponse:
        if not _is_here(request.headers.getall("Origin", [])):
            return web.json_response(
                {"error": "forbidden", "message": "no page of another host calls here"}, status=403
            )
        if self._waiting.get(agent, 0) >= AT_ONCE:
            return web.json_response(
                {"error": "too_many_waiting", "message": f"{AT_ONCE} calls of yours are under way"},
                status=429,
                headers={"Retry-After": "1"},
            )
        self._waiting[agent] = self._waiting.get(agent, 0) + 1
        try:
            try:
                async with asyncio.timeout(READ_WITHIN_S):
                    body = await request.read()
            except TimeoutError:
                return web.json_response({"error": "malformed", "message": "the body did not come"}, status=400)
            manager = await self._started()
            carried = _Carried(request, body)
            await manager.handle_request(carried.scope, carried.receive, carried.send)
            return await carried.response()
        finally:
            self._waiting[agent] -= 1

    async def _started(self) -> "StreamableHTTPSessionManager":
        """The SDK is loaded when somebody first needs it, beside the loop: it takes a second."""
        async with self._starting:
            if self._manager is None:
                await asyncio.to_thread(_load)
                self._running = asyncio.create_task(self._run(), name="mcp site")
                await self._ready.wait()
            if self._manager is None:
                raise web.HTTPServiceUnavailable
            return self._manager

    async def _run(self) -> None:
        try:
            async with self._managing():
                self._ready.set()
                await asyncio.Event().wait()
        finally:
            self._ready.set()

    @asynccontextmanager
    async def _managing(self) -> AsyncIterator[None]:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from bot.mcp.server import build

        async with connection() as http:
            self._http = http
            server = build(self._tools_of, version=self._version)
            manager = StreamableHTTPSessionManager(app=server, stateless=True)
            async with manager.run():
                self._manager = manager
                yield

    def _tools_of(self, ctx: "ServerRequestContext[Any, Any]") -> Tools:
        if self._http is None or ctx.request is None:
            raise RuntimeError("not called over HTTP")
        scope: Mapping[str, Any] = ctx.request.scope
        return Tools(Gateway(self._http, url=scope[_URL_KEY], key=scope[_SECRET_KEY]))

    async def close(self) -> None:
        """Let nothing run on."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running


class _Carried:
    """One call, carried over to ASGI and back."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self._request = request
        self._body = body
        self._given = False
        self._answer: web.StreamResponse | None = None
        self._status = 500
        self._headers: list[tuple[str, str]] = []
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": request.path,
            "raw_path": request.path.encode(),
            "root_path": "",
            "query_string": request.query_string.encode(),
            "headers": [
                (name.lower(), value) for name, value in request.raw_headers if name.lower() != b"authorization"
            ],
            "client": None,
            "server": None,
            _URL_KEY: _own_address(request),
            _SECRET_KEY: Secret(request.headers.get("Authorization", "").partition(" ")[2].strip()),
        }

    async def receive(self) -> dict[str, Any]:
        """The body, once; then nothing until the client has gone."""
        if not self._given:
            self._given = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        while (transport := self._request.transport) is not None and not transport.is_closing():  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY_S)  # aiohttp tells of a client that has gone in no other way
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """A piece of the answer."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = [
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in message["headers"]
                if name.decode("latin-1").lower() not in _HOP
            ]
        elif message["type"] == "http.response.body":
            if self._answer is None:
                self._answer = web.StreamResponse(status=self._status, headers=self._headers)
                await self._answer.prepare(self._request)
            try:
                if message.get("body"):
                    await self._answer.write(message["body"])
                if not message.get("more_body", False):
                    await self._answer.write_eof()
            except ConnectionError:
                log.debug("mcp_client_gone")

    async def response(self) -> web.StreamResponse:
        """What was answered."""
        return self._answer if self._answer is not None else web.Response(status=self._status)


def _is_here(origins: Sequence[str]) -> bool:
    """Whether a call comes from no page of a browser, or from one of this machine; others have no business here."""
    return all((urlsplit(origin).hostname or "") in _LOOPBACK for origin in origins)


def _own_address(request: web.Request) -> str:
    """Of the very site that was called, from the connection itself: nothing that a header says is believed."""
    transport = request.transport
    if transport is None:
        raise ConnectionResetError
    host, port = transport.get_extra_info("sockname")[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _load() -> None:
    import mcp.server.lowlevel.server
    import mcp.server.streamable_http_manager  # noqa: F401
