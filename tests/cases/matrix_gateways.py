"""The gateway that a delivery case on Matrix is played on: in this process, or the real daemon in one of its own.

In this process long waits can be let pass; what is to be killed, stopped and started again is the real daemon.
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.channels.matrix.limits import Limits
from bot.model.output import Final, Fragment, OutFile, Output
from bot.model.request import Request
from tests.cases.child import SECRET, Brain, Document, text_of
from tests.cases.clocks import Heard, Jumping, listening
from tests.cases.ledger import DATABASE
from tests.faults.books import Books
from tests.faults.process import STARTS_S, Daemon
from tests.harness import CountingAgent
from tests.matrix_harness import RunningMatrix, running_matrix
from tests.servers.agents import serving
from tests.servers.homeserver import Homeserver

OPEN = Limits(room=None, total=None)
TIMELY_S = 0.8
LONG_S = 2.5
Voice = Callable[[str], tuple[str, int, bool]]
"""What the agent says to a person's words: a text, how many files come with it, and whether it grows by edits."""
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


class Leaping(Jumping):
    """The same for a bot on Matrix: its server's silences and its own rests pass, too."""

    def leap(self, gateway: RunningMatrix, seconds: float) -> None:
        """Let time pass."""
        self._jumps.append((asyncio.get_running_loop().time(), seconds))
        self.offset += timedelta(seconds=seconds)
        connection = gateway.channel._connection
        if connection is not None:
            connection.sender._pace._silent_until -= seconds
            connection.sender._recovery._until -= seconds


class Inside:
    """A gateway in this process."""

    def __init__(self, folder: Path, server: Homeserver, policy: str, voice: Voice, *, timely: bool) -> None:
        self.folder = folder
        self.books = Books(folder / DATABASE)
        self.clock = Leaping(datetime.now(UTC))
        self.heard = Heard()
        self._server, self._policy, self._timely = server, policy, timely
        self._voice = voice
        self._stack = AsyncExitStack()
        self._gateway: RunningMatrix | None = None
        self.agent = CountingAgent(answer=self._answer)

    @property
    def running(self) -> bool:
        return self._gateway is not None

    @property
    def errors(self) -> list[str]:
        return self.heard.errors

    def _answer(self, request: Request) -> list[Output]:
        text, files, edited = self._voice(request.text)
        first: list[Output] = [Fragment(text="One moment")] if edited else []
        sent = tuple(OutFile(name=f"{n}.png", media_type="image/png", content=PNG) for n in range(files))
        return [*first, Final(text=text, files=sent)]

    async def start(self) -> None:
        heard = self._stack.enter_context(listening())
        heard.lines = self.heard.lines
        running = running_matrix(
            self.folder, server=self._server, policy=self._policy, agent=self.agent, clock=self.clock, limits=OPEN
        )
        self._gateway = await self._stack.enter_async_context(running)
        connection = self._gateway.channel._connection
        if self._timely and connection is not None:
            connection.sender._call_s = connection.sender._files_s = TIMELY_S

    async def stop(self, *, kill: bool = False) -> None:
        assert not kill, "what is killed runs in a process of its own"
        self._gateway = None
        await self._stack.aclose()

    def pass_waits(self) -> None:
        """Let long waits pass, but for their last second."""
        assert self._gateway is not None
        now = self.clock().timestamp()
        rows = self.books._rows("SELECT not_before FROM outbox WHERE state = 'ready' AND not_before IS NOT NULL")
        rest_s = min((row[0] / 1e6 - now for row in rows), default=0.0)
        if rest_s > LONG_S:
            self.clock.leap(self._gateway, rest_s - 1.2)

    async def heard_of(self, words: str) -> None:
        """Wait until the agent was asked something."""
        await until(lambda: any(words in request.text for request in self.agent.requests))


class Outside:
    """The real daemon."""

    def __init__(self, folder: Path, server: Homeserver, policy: str, url: str, brain: Brain) -> None:
        self.folder = folder
        self.clock = Leaping(datetime.now(UTC))
        self._server, self._brain = server, brain
        files = {
            "config.yaml": "\n".join(
                [
                    "matrix:",
                    f'  - {{user_id: "{server.user_id}", homeserver: "{server.url}", password_file: matrix.password,',
                    "      limits: {per_room_per_s: 10000, total_per_s: 10000}}",
                    f"agents: {{main: {{kind: webhook, url: '{url}', secret: {SECRET}, files: inline}}}}",
                    "metrics: {enabled: false}",
                    "log: {level: debug, format: json}",
                    "",
                ]
            ),
            "policy.yaml": policy,
            "matrix.password": server.password,
        }
        self._daemon = Daemon(folder, files)
        self.books = self._daemon.books

    @property
    def running(self) -> bool:
        return self._daemon.running

    @property
    def errors(self) -> list[str]:
        return [str(record.get("event")) for record in self._daemon.complaints()]

    async def start(self) -> None:
        before = _served(self._server)
        await self._daemon.spawn()
        await until(lambda: _served(self._server) > before or not self.running, within_s=STARTS_S)
        assert self.running, f"the daemon has ended: {(self.folder / 'log').read_text()[-400:]}"

    async def stop(self, *, kill: bool = False) -> None:
        if kill:
            await self._daemon.kill()
            return
        code = await self._daemon.stop()
        assert code == 0, f"an orderly end, got exit code {code}"

    def pass_waits(self) -> None:
        """Its time can't be put forward."""

    async def heard_of(self, words: str) -> None:
        """Wait until the agent was asked something."""
        await self._brain.heard(words)


Gateway = Inside | Outside


@asynccontextmanager
async def inside(folder: Path, server: Homeserver, policy: str, voice: Voice, *, timely: bool) -> AsyncIterator[Inside]:
    """A gateway that is not started yet; it is ended at the end."""
    gateway = Inside(folder, server, policy, voice, timely=timely)
    try:
        yield gateway
    finally:
        await gateway.stop()


@asynccontextmanager
async def outside(
    folder: Path, server: Homeserver, policy: str, voice: Voice, held: Callable[[str], asyncio.Event | None]
) -> AsyncIterator[Outside]:
    """A daemon that is not started yet; it is killed at the end. ``held``: what an answer to words waits for."""

    async def answer(document: Document) -> Document:
        words = text_of(document)
        gate = held(words)
        if gate is not None:
            await gate.wait()
        text, files, _edited = voice(words)
        content = base64.b64encode(PNG).decode()
        sent = [{"name": f"{n}.png", "media_type": "image/png", "content": content} for n in range(files)]
        return {"kind": "final", "text": text, **({"files": sent} if sent else {})}

    brain = Brain(answer)
    async with serving(brain.handle) as url:
        gateway = Outside(folder, server, policy, url, brain)
        try:
            yield gateway
        finally:
            if gateway.running:
                await gateway.stop(kill=True)


async def until(true: Callable[[], Any], *, within_s: float = 20.0) -> None:
    """Wait for what no event announces."""
    never = asyncio.Event()
    async with asyncio.timeout(within_s):
        while not true():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(never.wait(), 0.03)


def _served(server: Homeserver) -> int:
    return sum(call.fate == "answered" for call in server.calls_of("sync"))
