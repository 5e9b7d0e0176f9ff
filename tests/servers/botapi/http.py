"""The HTTP front: methods, downloads, control."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from tests.servers.botapi.arguments import read_arguments
from tests.servers.botapi.dispatch import Dispatch, RawAnswer
from tests.servers.botapi.errors import ApiError
from tests.servers.botapi.faults import CutError

Control = Callable[[str, dict[str, Any]], Awaitable[Any]]
_BODY_BYTES = 64 << 20


class Front:
    """Listens on the loopback interface."""

    def __init__(self, dispatch: Callable[[], Dispatch], control: Control) -> None:
        self._dispatch = dispatch
        self._control = control
        self._runner: web.ServerRunner | None = None

    async def start(self, port: int) -> int:
        """Listen and return the port; 0 takes a free one."""
        server = web.Server(self._serve, request_factory=_request, access_log=None)
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True, backlog=1024)
        await site.start()
        listening: int = self._runner.addresses[0][1]
        return listening

    async def stop(self) -> None:
        """Close the port and all connections."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        try:
            if path.startswith("/bot"):
                return await self._call(request, path)
            if path.startswith("/file/bot"):
                return self._download(path)
            if path.startswith("/ctl/"):
                return await self._steer(request, path)
        except ApiError as error:
            return _json(orjson.dumps(error.answer), error.code)
        except RawAnswer as answer:
            return web.Response(text=answer.body, status=answer.status, content_type="text/html")
        except CutError:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        return _json(orjson.dumps(ApiError(404, "Not Found").answer), 404)

    async def _call(self, request: web.BaseRequest, path: str) -> web.Response:
        dispatch = self._dispatch()
        token, _, method = path[4:].partition("/")
        arguments = await read_arguments(request)
        if token != dispatch.account.token:
            raise ApiError(401, "Unauthorized")
        return _json(b'{"ok":true,"result":' + await dispatch.run(method, arguments) + b"}")

    def _download(self, path: str) -> web.Response:
        account = self._dispatch().account
        token, _, name = path[len("/file/bot") :].partition("/")
        if token != account.token:
            raise ApiError(401, "Unauthorized")
        upload = account.world.files.get(account.paths.get(name, ""))
        if upload is None:
            raise ApiError(404, "Not Found")
        return web.Response(body=upload.content, content_type="application/octet-stream")

    async def _steer(self, request: web.BaseRequest, path: str) -> web.Response:
        body = orjson.loads(await request.read() or b"{}")
        options = dict(request.query) | (body if isinstance(body, dict) else {"items": body})
        try:
            result = await self._control(path.removeprefix("/ctl/"), options)
        except (KeyError, TypeError, ValueError, TimeoutError) as error:
            return _json(orjson.dumps({"error": f"{type(error).__name__}: {error}"}), 400)
        return _json(orjson.dumps(result, default=str))


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    return web.BaseRequest(
        message,
        payload,
        protocol,
        writer,
        task,
        asyncio.get_running_loop(),
        client_max_size=_BODY_BYTES,
    )
