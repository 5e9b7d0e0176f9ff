"""The HTTP side: reading calls, trouble on order, long polls."""

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.servers.homeserver.calls import Call, CutError, Fault, Json, RefusalError
from tests.servers.homeserver.methods import File, check_token, find

if TYPE_CHECKING:
    from tests.servers.homeserver.server import Homeserver


class Front:
    """Listens for one homeserver."""

    def __init__(self, server: "Homeserver") -> None:
        self._server = server
        self._runner: web.ServerRunner | None = None

    async def start(self, port: int) -> int:
        """Listen; returns the port."""
        self._runner = web.ServerRunner(
            web.Server(self._handle, access_log=None), handle_signals=False, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True).start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop listening and cut all connections."""
        runner, self._runner = self._runner, None
        if runner is not None:
            for protocol in runner.server.connections if runner.server else ():
                if protocol.transport is not None:
                    protocol.transport.abort()
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw_path = request.raw_path.partition("?")[0]
        name, parts, method = find(request.method, raw_path)
        content = await request.read()
        body: Any = content
        if name != "upload":
            with contextlib.suppress(ValueError):
                body = json.loads(content) if content else {}
        call = Call(
            name=name,
            method=request.method,
            path=raw_path,
            parts=parts,
            query=dict(request.query),
            body=body,
            headers=dict(request.headers),
            time=asyncio.get_running_loop().time(),
        )
        self._server.calls.append(call)
        self._server.watch.changed()
        try:
            return await self._answer(call, method)
        except CutError:
            call.fate = "cut"
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        except asyncio.CancelledError:
            call.fate = "cut"
            raise
        finally:
            self._server.watch.changed()

    async def _answer(self, call: Call, method: Any) -> web.StreamResponse:
        fault = next((one for one in self._server.faults if one.applies(call)), None)
        try:
            if fault is None:
                return _json(call, 200, await self._effect(call, method))
            return await self._spoil(call, method, fault)
        except RefusalError as refusal:
            call.fate = "refused"
            return _json(call, refusal.status, refusal.body)

    async def _spoil(self, call: Call, method: Any, fault: Fault) -> web.StreamResponse:
        answer = await self._effect(call, method) if fault.deliver else None
        fault.hit()
        if fault.kind == "drop":
            raise CutError
        if fault.kind == "hang":
            call.fate = "hanging"
            self._server.watch.changed()
            await fault.hold()
            return _json(call, 200, answer if fault.deliver else await self._effect(call, method))
        status = fault.refusal.status if fault.refusal is not None else 200
        if fault.raw is not None:
            call.status, call.fate = status, "answered" if status < 400 else "refused"
            return web.Response(status=status, body=fault.raw, content_type="application/json")
        assert fault.refusal is not None
        raise fault.refusal

    async def _effect(self, call: Call, method: Any) -> Any:
        if call.name == "unknown":
            raise RefusalError(404, "M_UNRECOGNIZED", "Unrecognized request")
        check_token(self._server, call)
        if call.name == "sync":
            return await self._sync(call)
        return method(self._server, call)

    async def _sync(self, call: Call) -> Json:
        server, query = self._server, call.query
        token = query.get("since")
        wanted = query.get("filter", "")
        limits = json.loads(wanted) if wanted.startswith("{") else server.filters[int(wanted)] if wanted else {}
        limit = limits.get("room", {}).get("timeline", {}).get("limit", 10)
        full_state = query.get("full_state") == "true"
        since = None if token is None else server.world.since(token)
        timeout_s = int(query.get("timeout", "0")) / 1000
        if since is not None and not full_state and not server.world.news(since) and timeout_s:
            with contextlib.suppress(TimeoutError):
                await server.watch.wait_for(
                    lambda: server.world.news(since) or call.token not in server.tokens, timeout_s, lambda: ""
                )
            check_token(server, call)
            since = server.world.since(token or "")
        answer = server.world.sync(since, full_state=full_state, limit=limit)
        device = server.tokens[call.token or ""]
        if isinstance(answer, dict) and "device_one_time_keys_count" not in answer:
            answer["device_one_time_keys_count"] = server.keys.counts(server.user_id, device)
            answer["device_unused_fallback_key_types"] = server.keys.unused_fallback(server.user_id, device)
        return answer


def _json(call: Call, status: int, answer: Any) -> web.StreamResponse:
    call.status = status
    if call.fate in ("open", "hanging"):
        call.fate = "answered"
    if isinstance(answer, File):
        call.answer = len(answer.content)
        return web.Response(status=status, body=answer.content, content_type=answer.media_type, headers=answer.headers)
    call.answer = answer
    return web.Response(status=status, body=json.dumps(answer).encode(), content_type="application/json")
