"""Standard input as lines that can be given up: the SDK reads it in a thread, which holds up the end of the process."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from bot.mcp.relay import Peer

LONGEST: Final = 16 << 20  # bytes of one message


class Lines:
    """Lines of a pipe; one that is too long is no message."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> "Lines":
        return self

    async def __anext__(self) -> str:
        try:
            line = await self._reader.readline()
        except ValueError:
            return "\n"
        if not line:
            raise StopAsyncIteration
        return line.decode(errors="replace")


@asynccontextmanager
async def client_here() -> AsyncIterator[Peer]:
    """The client on standard input and output."""
    from anyio import ClosedResourceError, EndOfStream
    from mcp.server.stdio import stdio_server

    reader = asyncio.StreamReader(limit=LONGEST)
    lines: Any = None
    pipe: asyncio.ReadTransport | None = None
    try:
        loop = asyncio.get_running_loop()
        pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        lines = Lines(reader)
    except ValueError:
        pass  # a file, which ends by itself
    failure: Exception | None = None
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        try:
            yield Peer(incoming=incoming, outgoing=outgoing)
        except Exception as error:  # noqa: BLE001 - raised below: what is still to be written must not be cut off by it
            failure = error
        await outgoing.aclose()
        if pipe is not None:
            pipe.close()
        reader.feed_eof()
        with suppress(EndOfStream, ClosedResourceError):
            while lines is not None:
                await incoming.receive()
    if failure is not None:
        raise failure
