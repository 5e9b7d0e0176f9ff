"""The interface for agents on this machine: one port, one key for each agent, none of whom may come too often.

What can be done there is in parts, such as :mod:`bot.api.questions`; each adds its own routes.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from aiohttp import web

from bot.api.answering import MAX_BODY, RefusedError, answered, set_headers
from bot.api.listening import KEPT_ALIVE_S, Porter, Sending, listen
from bot.config.credentials import Credential, KeyRing, Scope, digest_of
from bot.config.secret import Secret
from bot.deliveries.pacing import Bucket, Rate
from bot.observability.log import HTTP, get_logger

log = get_logger(__name__)

CREDENTIAL: Final = web.RequestKey("credential", Credential)
"""Where a handler finds the key with which it was called, and its limits."""
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


class Paces(dict[str, Bucket]):
    """A pace for each name, made when it first comes: there are never more than names of keys."""

    def __init__(self, rate: Rate) -> None:
        super().__init__()
        self._rate = rate

    def __missing__(self, name: str) -> Bucket:
        return self.setdefault(name, Bucket(self._rate))


class Callers:
    """Knows whose key it is, what it may be used for, and how often each may come."""

    def __init__(
        self,
        keys: Mapping[str, Secret] | KeyRing,
        *,
        others: Mapping[str, Secret] | None = None,
        dispatchers: bool = False,
    ) -> None:
        """Make it.

        Args:
            keys: by name of the agent, or of whoever else these callers are; or all keys that there are.
            others: keys that are good elsewhere and not for these calls.
            dispatchers: these callers are dispatchers; else agents.
        """
        if isinstance(keys, KeyRing):
            self._ring = keys
        elif dispatchers:
            self._ring = KeyRing(agents=others or {}, dispatchers=keys)
        else:
            self._ring = KeyRing(agents=keys, dispatchers=others or {})
        self._dispatchers = dispatchers
        self._looks = self.paces(LOOKS)
        self._waiting: Counter[str] = Counter()
        self._sending = Sending()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all agents that there are."""
        return self._ring.agents

    def paces(self, rate: Rate) -> Paces:
        """A pace for each of them."""
        return Paces(rate)

    def credentials(self, name: str) -> list[Credential]:
        """The keys of an agent that hold now."""
        return [one for one in self._ring.all() if one.name == name and not one.dispatcher]

    def only(
        self,
        handler: Handler,
        paces: Mapping[str, Bucket] | None = None,
        *,
        scope: Scope | None = None,
        header: str | None = None,
        known: Callable[[str], Credential | None] = lambda _: None,
    ) -> Answering:
        """A handler for these alone: who asks is known by the key, and none may come too often.

        Args:
            handler: answers.
            paces: by name; None: those of calls that only look.
            scope: that the key has to have; None: any that these callers can have.
            header: where the key may stand, too.
            known: the key from which a further credential comes, that is good for these calls alone.
        """
        pace = self._looks if paces is None else paces

        async def handle(request: web.Request) -> web.StreamResponse:
            credential = self.identify(request, header=header)
            if credential is None:
                credential = known(_bearer(request.headers.getall("Authorization", [])) or "")
            if credential is None:
                raise RefusedError(401, "unauthorized", "send your key: Authorization: Bearer KEY")
            if credential.dispatcher is not self._dispatchers or (scope is not None and scope not in credential.scopes):
                raise RefusedError(403, "forbidden", "your key is not for this")
            now = asyncio.get_running_loop().time()
            wait_s = pace[credential.name].wait_s(now)
            if wait_s > 0:
                raise RefusedError(429, "too_fast", "you come too often", after_s=wait_s)
            pace[credential.name].take(now)
            self._sending.check(credential.name)
            request[CREDENTIAL] = credential
            return await self._sending.send(request, credential.name, await handler(request, credential.name))

        return handle

    def identify(self, request: web.Request, *, header: str | None = None) -> Credential | None:
        """Whose key a call carries. Args: header: where it may stand, too."""
        own = [] if header is None else request.headers.getall(header, [])
        key = own[0].strip() if len(own) == 1 else _bearer(request.headers.getall("Authorization", []))
        return None if key is None else self._ring.find(digest_of(key))

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
    keys: Mapping[str, Secret] | KeyRing,
    others: Mapping[str, Secret] | None = None,
    bound: Callable[[int], None] = lambda _: None,
    porter: Porter | None = None,
) -> None:
    """Serve until cancelled. A port that is taken is told and costs nothing but the interface.

    Args:
        parts: of the interface.
        host: to bind.
        port: to bind; 0 for a free one.
        keys: by name of the agent, or all that there are.
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


def _bearer(headers: list[str]) -> str | None:
    scheme, _, key = (headers[0] if len(headers) == 1 else "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else None
