"""The real daemon in a process of its own, and the agent that it asks, in this one."""

import asyncio
import base64
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.storage.store import Store
from tests.acceptance.commands import environment
from tests.cases.result import check
from tests.servers.agents import serving
from tests.servers.botapi import BotApi

Document = dict[str, Any]
Answer = Callable[[Document], Awaitable[Document]]
SECRET = "whsec_" + base64.b64encode(b"an agent's secret for the tests!").decode()
HOOK_SECRET = "the-secret-of-a-webhook"
STARTS_S, STOPS_S = 40.0, 20.0
_MIGRATING = asyncio.Lock()  # migrations share state within a process


class Brain:
    """Answers the daemon's requests over HTTP and remembers them."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[Document] = []
        self.changed = asyncio.Condition()

    async def handle(self, received: web.Request) -> web.Response:
        document = await received.json()
        async with self.changed:
            self.asked.append(document)
            self.changed.notify_all()
        return web.json_response(await self._answer(document))

    def times(self, words: str) -> int:
        """How often it was asked something."""
        return sum(words in text_of(document) for document in self.asked)

    async def heard(self, words: str, times: int = 1) -> None:
        """Wait until it was asked something so often."""
        async with asyncio.timeout(20), self.changed:
            await self.changed.wait_for(lambda: self.times(words) >= times)


def text_of(document: Document) -> str:
    """The person's words in a request."""
    return str(document["untrusted"]["text"])


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Child:
    """The daemon's process, which can be started again and again.

    Attributes:
        out: all that its processes have printed.
        code: exit code of the last one.
    """

    def __init__(self, folder: Path, api: BotApi, *, webhook: bool = False, umask: int = 0o077) -> None:
        self.folder = folder
        self.api = api
        self.port = free_port() if webhook else None
        self.out = ""
        self.code: int | None = None
        self._umask = umask
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[tuple[bytes, bytes]] | None = None

    async def prepare(
        self, policy: str, agent_url: str, *, more: Iterable[str] = (), health: int | None = None
    ) -> None:
        """Write its files, and a store that says that it has been started before."""
        hook = ""
        if self.port is not None:
            address = f"http://127.0.0.1:{self.port}/telegram"
            hook = f"mode: webhook, webhook: {{public_url: '{address}', secret: {HOOK_SECRET}, listen: '127.0.0.1:{self.port}'}},"
        metrics = "{enabled: false}" if health is None else f"{{enabled: true, listen: '127.0.0.1:{health}'}}"
        lines = [
            f"telegram: [{{token_file: telegram.token, api_url: '{self.api.url}', {hook}",
            "  limits: {per_chat_per_s: 1000, per_group_per_min: 10000, total_per_s: 10000}}]",
            f"agents: {{main: {{kind: webhook, url: '{agent_url}', secret: {SECRET}, files: inline}}}}",
            f"metrics: {metrics}",
            "log: {level: debug, format: json}",
            *more,
        ]
        self.write("config.yaml", "\n".join(lines) + "\n")
        self.write("policy.yaml", policy)
        self.write("telegram.token", self.api.token)
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        async with _MIGRATING:
            store = await Store.open(data / "discreet.db")
        account = f"telegram:{self.api.token.partition(':')[0]}"
        await store.inbox.started(account, now=datetime.now(UTC) - timedelta(days=1))
        await store.close()

    def write(self, name: str, text: str) -> None:
        """Write a file that its owner alone reads."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)

    async def start(self, *, ready: bool = True, debug: bool = False) -> None:
        """Start it and wait until it takes updates. ``debug``: with the interpreter's development mode."""
        sign = "getUpdates" if self.port is None else "setWebhook"
        before, named = self.api.totals.get(sign, 0), self.api.totals.get("getMe", 0)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(*(("-X", "dev") if debug else ()), "-m", "bot", "run"),
            cwd=self.folder,
            env=environment(self.folder, **({"PYTHONWARNINGS": "default"} if debug else {})),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            umask=self._umask,
        )
        self._reading = asyncio.create_task(self._process.communicate(), name="output of the daemon")

        def serving() -> bool:
            return self.api.totals.get(sign, 0) > before and self.api.totals.get("getMe", 0) > named

        if ready:
            serves = asyncio.create_task(self.api.wait_for(serving, timeout=STARTS_S), name="serves")
            await asyncio.wait({serves, self._reading}, return_when=asyncio.FIRST_COMPLETED)
            if self._reading.done():
                serves.cancel()
                await self.over()
                check(False, "the daemon to run", f"exit code {self.code}: {self.out[-300:]}")
            await serves

    @property
    def ended(self) -> bool:
        """Whether its process is over."""
        return self._process is None or self._process.returncode is not None

    @property
    def running(self) -> bool:
        return not self.ended

    def tell(self, number: int) -> None:
        """Send it a signal."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def stop(self, number: int = signal.SIGTERM, *, within_s: float = STOPS_S) -> int:
        """Tell it to stop, or kill it; returns the exit code."""
        self.tell(number)
        return await self.over(within_s=within_s)

    async def over(self, *, within_s: float = STOPS_S) -> int:
        """Wait for its end."""
        assert self._process is not None
        assert self._reading is not None
        async with asyncio.timeout(within_s):
            out, err = await asyncio.shield(self._reading)
        self.out += out.decode() + err.decode()
        self.code = self._process.returncode
        self._process = None
        assert self.code is not None
        return self.code

    @property
    def log(self) -> list[dict[str, Any]]:
        """Its log lines, of processes that are over."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


@asynccontextmanager
async def child(
    folder: Path,
    api: BotApi,
    policy: str,
    brain: Brain,
    *,
    webhook: bool = False,
    umask: int = 0o077,
    more: Iterable[str] = (),
    health: int | None = None,
) -> AsyncIterator[Child]:
    """A daemon that is ready to be started; whatever of it still runs at the end is ended."""
    async with serving(brain.handle) as url:
        daemon = Child(folder, api, webhook=webhook, umask=umask)
        await daemon.prepare(policy, url, more=more, health=health)
        try:
            yield daemon
        finally:
            if daemon.running:
                await daemon.stop(signal.SIGKILL)
