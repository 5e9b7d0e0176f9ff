"""The interface for agents on this machine: one port, one key for each agent, none of whom may come too often.

What can be done there is in parts, such as :mod:`bot.api.questions`; each adds its own routes.
"""

import asyncio
import hashlib
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from aiohttp import web

from bot.api.answering import MAX_BODY, RefusedError, answered, set_headers
from bot.api.listening import KEPT_ALIVE_S, Porter, Sending, listen
from bot.config.secret import Secret
from bot.deliveries.pacing import Bucket, Rate
from bot.observability.log import HTTP, get_logger

log = get_logger(__name__)

LOOKS: Final = Rate(per_s=20.0, burst=200)
"""Calls of one agent that only look."""
MAX_WAITING: Final = 200
"""Calls of one agent that wait for something."""

Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]
"""Answers a call of the agent of that name."""
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiPart(Protocol):
    """A part of the interface."""

    def add_to(self, router: web.UrlDispatcher, callers: "Callers") -> None:
        """Add its routes; every handler goes through ``callers``."""
        ...


class Callers:
    """Knows whose key it is, and how often each agent may come."""

    def __init__(self, keys: Mapping[str, Secret], *, others: Mapping[str, Secret] | None = None) -> None:
        """Make it.

        Args:
            keys: by name of the agent, or of whoever else these callers are.
            others: keys that are good elsewhere and not for these calls.
        """
        self._others = [_digest(key.reveal().encode()) for key in (others or {}).values()]
        self._digests = {name: _digest(key.reveal().encode()) for name, key in keys.items()}
        self._looks = self.paces(LOOKS)
        self._waiting: Counter[str] = Counter()
        self._sending = Sending()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all agents that have a key."""
        return tuple(self._digests)

    def paces(self, rate: Rate) -> dict[str, Bucket]:
        """A pace for each agent."""
        return {name: Bucket(rate) for name in self._digests}

    def digest(self, name: str) -> bytes:
        """Of an agent's key."""
        return self._digests[name]

    def only(
        self,
        handler: Handler,
        paces: Mapping[str, Bucket] | None = None,
        *,
        known: Callable[[str], str | None] = lambda _: None,
    ) -> Answering:
        """A handler for agents alone: who asks is known by the key, and none may come too often.

        Args:
            handler: answers.
            paces: by agent; None: those of calls that only look.
            known: the agent whose further credential it is, that is good for these calls alone.
        """
        pace = self._looks if paces is None else paces

        async def handle(request: web.Request) -> web.StreamResponse:
            agent = self._agent(request.headers.getall("Authorization", []))
            if agent is None:
                agent = known(_token(request.headers.getall("Authorization", [])))
            if agent is None and self._is_others(request.headers.getall("Authorization", [])):
                raise RefusedError(403, "forbidden", "your key is not for this")
            if agent is None:
                raise RefusedError(401, "unauthorized", "send your key: Authorization: Bearer KEY")
            now = asyncio.get_running_loop().time()
            wait_s = pace[agent].wait_s(now)
            if wait_s > 0:
                raise RefusedError(429, "too_fast", "you come too often", after_s=wait_s)
            pace[agent].take(now)
            self._sending.check(agent)
            return await self._sending.send(request, agent, await handler(request, agent))

        return handle

    @contextmanager
    def counted(self, agent: str) -> Iterator[None]:
        """A call that waits.

        Raises:
            RefusedError: too many of this agent do.
        """
        if self._waiting[agent] >= MAX_WAITING:
            raise RefusedError(429, "too_many_waiting", f"{MAX_WAITING} calls of yours are waiting", after_s=1.0)
        self._waiting[agent] += 1
        try:
            yield
        finally:
            self._waiting[agent] -= 1

    def _agent(self, headers: list[str]) -> str | None:
        """Whose key it is. Every key is compared, in constant time, whichever fits."""
        given = _bearer(headers)
        found = None
        for name, digest in self._digests.items():
            if given is not None and hmac.compare_digest(digest, given):
                found = name
        return found

    def _is_others(self, headers: list[str]) -> bool:
        """Whether it is the key of somebody who may do other things."""
        given = _bearer(headers)
        return given is not None and sum(hmac.compare_digest(digest, given) for digest in self._others) > 0


def application(parts: Sequence[ApiPart], callers: Callers) -> web.Application:
    """The aiohttp application."""
    app = web.Application(middlewares=[answered], client_max_size=MAX_BODY)
    app.on_response_prepare.append(set_headers)
    for part in parts:
        part.add_to(app.router, callers)
    return app


async def serve(
    parts: Sequence[ApiPart],
    *,
    host: str,
    port: int,
    keys: Mapping[str, Secret],
    others: Mapping[str, Secret] | None = None,
    bound: Callable[[int], None] = lambda _: None,
    porter: Porter | None = None,
) -> None:
    """Serve until cancelled. A port that is taken is told and costs nothing but the interface.

    Args:
        parts: of the interface.
        host: to bind.
        port: to bind; 0 for a free one.
        keys: by name of the agent.
        others: keys that are not for agents.
        bound: is told the port.
        porter: shows out who is silent; None: as it is configured for everybody.
    """
    app = application(parts, Callers(keys, others=others))
    runner = web.AppRunner(app, access_log=None, logger=HTTP, shutdown_timeout=1.0, keepalive_timeout=KEPT_ALIVE_S)
    server: asyncio.Server | None = None
    try:
        try:
            server = await listen(app, runner, Porter() if porter is None else porter, host=host, port=port)
        except OSError as error:
            log.error("api_failed", port=port, cause=error.strerror)
            return
        address = server.sockets[0].getsockname()
        bound(address[1])
        log.info("api", host=host, port=address[1])
        await asyncio.Event().wait()
    finally:
        if server is not None:
            server.close()
        await runner.cleanup()


def _bearer(headers: list[str]) -> bytes | None:
    token = _token(headers)
    return _digest(token.encode(errors="surrogateescape")) if token else None


def _token(headers: list[str]) -> str:
    scheme, _, key = (headers[0] if len(headers) == 1 else "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
