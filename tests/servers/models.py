"""A server that plays a model behind an OpenAI-compatible interface: what it says to each request is a script."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.servers.agents import serving

Play = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()


def words(*pieces: str) -> list[bytes]:
    """An answer in pieces, whole."""
    return [*(chunk({"content": piece}) for piece in pieces), chunk(finish="stop"), b"data: [DONE]\n\n"]


def call(name: str, arguments: object, *, number: int = 0, pieces: int = 3) -> list[bytes]:
    """A call of a tool as providers stream it: the name first, then the arguments in pieces."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    size = max(1, -(-len(written) // pieces))
    head = {"index": number, "id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [written[at : at + size] for at in range(0, len(written), size)]
    return [
        chunk({"tool_calls": [head]}),
        *(chunk({"tool_calls": [{"index": number, "function": {"arguments": one}}]}) for one in rest),
    ]


def calls(*streams: list[bytes]) -> list[bytes]:
    """Calls whose pieces come in turn, as the end of a completion."""
    mixed = [stream[at] for at in range(max(map(len, streams), default=0)) for stream in streams if at < len(stream)]
    return [*mixed, chunk(finish="tool_calls"), b"data: [DONE]\n\n"]


def stream(pieces: list[bytes], *, then: Callable[[web.StreamResponse], Awaitable[None]] | None = None) -> Play:
    """Stream these, and then do something, such as hang."""

    async def play(received: web.Request, _: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(received)
        for piece in pieces:
            await response.write(piece)
        if then is not None:
            await then(response)
        return response

    return play


def status(number: int, **headers: str) -> Play:
    """Refuse."""

    async def play(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=number, text="Traceback: SECRET", headers=headers)

    return play


@dataclass
class ScriptedModel:
    """Attributes: plays: one a request, the last one again; bodies: what was asked; left: connections that ended."""

    plays: list[Play]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def __call__(self, received: web.Request) -> web.StreamResponse:
        self.bodies.append(await received.json())
        play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
        return await play(received, self.bodies[-1])

    async def hang(self, _: web.StreamResponse) -> None:
        """Say nothing more, until whoever asked goes away."""
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()

    def told(self, number: int = -1) -> list[dict[str, Any]]:
        """The results of tools in one request."""
        return [json.loads(one["content"]) for one in self.bodies[number]["messages"] if one["role"] == "tool"]


@asynccontextmanager
async def modelled(*plays: Play | list[bytes]) -> AsyncIterator[ScriptedModel]:
    """Serve it."""
    model = ScriptedModel([stream(play) if isinstance(play, list) else play for play in plays])
    async with serving(model) as model.url:
        yield model
