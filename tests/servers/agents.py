"""Servers that play agents and models on loopback, the polite and the hostile ones, and what a request to them needs."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.model.errors import ChannelError
from bot.model.output import Output
from bot.model.request import Attachment, Request
from bot.ports.agent import Agent
from policy.decision import Audience
from policy.destination import parse_destination

HERE = parse_destination("telegram:7001:-100123:42")
ASKED_AT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """An HTTP server on loopback for one test; gives its address."""

    async def handle(received: web.Request) -> web.StreamResponse:
        return await handler(received)

    application = web.Application(client_max_size=64 << 20)
    application.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"{'https' if tls else 'http'}://{host}:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def speaking(raw: bytes) -> AsyncIterator[str]:
    """A server that reads the head of a request, writes some bytes and hangs up; gives its address."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        yield f"http://{host}:{port}"


def self_signed() -> ssl.SSLContext:
    """TLS for 127.0.0.1 with a certificate that nobody vouches for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
    return context


class FilesInMemory:
    """Files of a request by handle; it counts what was fetched."""

    def __init__(self, contents: Mapping[str, bytes] | None = None) -> None:
        self.contents = dict(contents or {})
        self.fetched: list[str] = []

    rested_s = 0.0

    def timed(self, limit: asyncio.Timeout) -> AbstractContextManager[None]:
        """Nobody is asked anything here: the limit runs."""
        return nullcontext()

    async def read(self, attachment: Attachment) -> bytes:
        self.fetched.append(attachment.handle)
        if attachment.handle not in self.contents:
            raise ChannelError("the file is gone")
        return self.contents[attachment.handle]


def request(text: str = "hello", **changes: Any) -> Request:
    """A request as the gateway makes them."""
    given = {
        "id": "req-1",
        "attempt": 1,
        "destination": HERE,
        "audience": Audience.EXTERNAL,
        "asked_at": ASKED_AT,
        "text": text,
    }
    return Request(**{**given, **changes})


async def outputs_of(agent: Agent, asked: Request, files: FilesInMemory | None = None) -> list[Output]:
    """Everything that an agent says, within ten seconds."""
    async with asyncio.timeout(10), aclosing(agent.run(asked, files or FilesInMemory())) as said:
        return [output async for output in said]
