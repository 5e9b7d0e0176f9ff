"""Connections to the interface for agents: whoever says nothing, or says it too slowly, is shown out (AGENT-5).

aiohttp waits for the head of a first request as long as it takes. Here it has to be whole within some seconds; and of
more connections than a bound that have said nothing yet, the one that has been silent longest goes, so that those who
only hold connections open push out each other and never somebody with a request.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from aiohttp import web

from bot.api.answering import RefusedError

T = TypeVar("T")

HEAD_WITHIN_S: Final = 10.0
MOST_SILENT: Final = 200
"""Connections that have not said a whole request yet, beside those that have come just now."""
YOUNG_S: Final = 1.0
"""What has come just now may have a request on its way: many that come at once are no attack."""
MOST_YOUNG: Final = 5
"""Times as many, when nobody is older."""
MOST_SENDING: Final = 8 << 20
"""Bytes of answers to one agent that have not been read yet."""
READ_ANSWER_WITHIN_S: Final = 30.0
KEPT_ALIVE_S: Final = 15.0
"""For another request, after an answer."""
_LOOK_S: Final = 1.0
_SAID: Final = b'{"error":"too_slow","message":"the head of the request did not come"}'
_LATE: Final = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_SAID), _SAID)
)


class Porter:
    """Knows who has said nothing yet."""

    def __init__(
        self,
        *,
        head_within_s: float = HEAD_WITHIN_S,
        most_silent: int = MOST_SILENT,
        young_s: float = YOUNG_S,
    ) -> None:
        """Make it.

        Args:
            head_within_s: seconds for the head of the first request.
            most_silent: connections without one.
            young_s: seconds in which nobody is shown out for others.
        """
        self._head_within_s = head_within_s
        self._most_silent = most_silent
        self._young_s = young_s
        self._silent: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    @property
    def silent(self) -> int:
        """How many have said nothing yet."""
        return len(self._silent)

    def take(self, protocol: web.RequestHandler) -> None:
        """Somebody connects."""
        loop = asyncio.get_running_loop()
        while len(self._silent) >= self._most_silent:
            oldest, timer = next(iter(self._silent.items()))
            young = loop.time() < timer.when() - self._head_within_s + self._young_s
            if young and len(self._silent) < self._most_silent * MOST_YOUNG:
                break
            self._show_out(oldest)
        self._silent[protocol] = loop.call_later(self._head_within_s, self._show_out, protocol)

    def heard(self, protocol: web.RequestHandler) -> None:
        """A whole head has come; from now on aiohttp's own times hold."""
        timer = self._silent.pop(protocol, None)
        if timer is not None:
            timer.cancel()

    def _show_out(self, protocol: web.RequestHandler) -> None:
        self.heard(protocol)
        transport = protocol.transport
        if transport is not None and not transport.is_closing():
            transport.write(_LATE)
            protocol.force_close()


async def listen(
    application: web.Application,
    runner: web.AppRunner,
    porter: Porter,
    *,
    host: str,
    port: int,
) -> asyncio.Server:
    """Set the runner up and bind; the server is closed before the runner is cleaned up.

    Raises:
        OSError: the address can't be bound.
    """

    @web.middleware
    async def hear(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        porter.heard(request.protocol)
        return await handler(request)

    application.middlewares.insert(0, hear)
    await runner.setup()
    server = runner.server

    def connect() -> asyncio.Protocol:
        if server is None:  # only before the set-up
            raise OSError
        protocol = server()
        porter.take(protocol)
        return protocol

    return await asyncio.get_running_loop().create_server(connect, host, port)


class Sending:
    """Answers on their way to agents that may not read them: how much of each agent's, and for how long (AGENT-5)."""

    def __init__(self) -> None:
        self._bytes: Counter[str] = Counter()

    def check(self, agent: str, size: int = 0) -> None:
        """See that an agent reads what it gets, before anything is done for it.

        Raises:
            RefusedError: too much of it is on its way already.
        """
        if self._bytes[agent] and self._bytes[agent] + size > MOST_SENDING:
            raise RefusedError(429, "too_much", "read the answers to your other calls first", after_s=1.0)

    async def send(self, request: web.Request, agent: str, response: web.StreamResponse) -> web.StreamResponse:
        """Send an answer to its end.

        Raises:
            RefusedError: of a call that only looks: too much of this agent's is on its way already.
            ConnectionResetError: they do not read it.
        """
        size = len(response.body) if isinstance(response, web.Response) and isinstance(response.body, bytes) else 0
        if request.method == "GET" and not response.prepared:
            self.check(agent, size)
        self._bytes[agent] += size
        try:
            async with asyncio.timeout(READ_ANSWER_WITHIN_S):
                if not response.prepared:
                    await response.prepare(request)
                await response.write_eof()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError from None
        finally:
            self._bytes[agent] -= size
        return response


async def while_there(request: web.Request, waiting: Awaitable[T]) -> T:
    """Wait for something as long as whoever asked is still there to hear it.

    Raises:
        ConnectionResetError: they have gone, or have closed their half of the connection.
    """
    task = asyncio.ensure_future(waiting)
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=_LOOK_S)
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError
        return task.result()
    finally:
        task.cancel()
