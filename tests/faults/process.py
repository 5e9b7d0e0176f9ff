"""The daemon as a process of its own, which is killed, stopped and started again on one folder."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.acceptance.commands import environment, run
from tests.faults.books import Books
from tests.servers.botapi import BotApi

BOT_ID = 7001
TOKEN = f"{BOT_ID}:{'A' * 35}"
HANDLE = "@desk_bot"
GROUP, REPORTS = -1001000000001, -1001000000900
ANN, BOB = 510000001, 510000002
LOOK_EVERY_S = 0.05
STARTS_S, STOPS_S = 40.0, 20.0

POLICY = f"""
version: 1
defaults:
  burst: {{quiet: 1s, longest: 10s}}
  rate: {{person: 6000, channel: 6000}}
direct: {{strangers: allow}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}
"""


def configuration(api: BotApi, *, script: str | None = None) -> str:
    """The daemon's file; its limits are out of the way. ``script``: what its agent plays, without one it echoes."""
    agent = "{kind: echo}" if script is None else "{kind: scripted, script: script.yaml}"
    return f"""
telegram:
  - token_file: telegram.token
    api_url: "{api.url}"
    limits: {{per_chat_per_s: 10000, per_group_per_min: 10000, total_per_s: 10000}}
agents:
  main: {agent}
metrics: {{enabled: false}}
log: {{level: debug, format: json}}
"""


class Daemon:
    """One daemon on one folder.

    Attributes:
        folder: with its configuration and, in ``data``, its store.
        books: what its store holds, read from outside.
        starts: how often it was started.
    """

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        self.books = Books(folder / "data" / "discreet.db")
        self.starts = 0
        self._process: asyncio.subprocess.Process | None = None
        for name, text in files.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o600)

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.returncode is None

    async def spawn(self) -> None:
        """Start it, and wait for nothing."""
        if self.running:
            raise RuntimeError("it runs already")
        self.starts += 1
        with (self.folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "bot", "run"),
                cwd=self.folder,
                env=environment(self.folder),
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    def tell(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    async def ended(self, *, within_s: float = STOPS_S) -> int:
        """Wait for its end; returns the exit code, negative for a signal."""
        assert self._process is not None
        async with asyncio.timeout(within_s):
            return await self._process.wait()

    async def kill(self) -> None:
        """End it as a power cut would."""
        if self.running:
            self.tell(signal.SIGKILL)
        assert await self.ended() == -signal.SIGKILL

    async def stop(self, *, within_s: float = STOPS_S) -> int:
        """Tell it to end, and wait for that."""
        self.tell(signal.SIGTERM)
        return await self.ended(within_s=within_s)

    async def until(self, true: Callable[[Books], Any], *, within_s: float = 20.0) -> None:
        """Wait for something in its store, which another process writes: it has to be looked at again and again."""
        never = asyncio.Event()
        async with asyncio.timeout(within_s):
            while not true(self.books):
                try:
                    await asyncio.wait_for(never.wait(), LOOK_EVERY_S)
                except TimeoutError:
                    continue

    async def idle(self, *, within_s: float = 60.0) -> None:
        """Whatever is in its store has come to its end."""
        await self.until(lambda books: not books.open_events() and not books.open_parts(), within_s=within_s)

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run another ``discreet`` command on the folder."""
        return run(self.folder, *arguments)

    def check_journal(self) -> None:
        """The journal is whole, as its command says."""
        done = self.command("journal", "verify", "--config", "config.yaml")
        assert (done.returncode, done.stdout) == (0, "journal: in order\n"), done.stderr

    def said(self, event: str) -> bool:
        """Whether one of its processes has logged an event."""
        return f'"event": "{event}"' in (self.folder / "log").read_text(errors="replace")

    def complaints(self) -> list[Mapping[str, Any]]:
        """What all its processes have logged as an error, and lines that are no log lines."""
        found: list[Mapping[str, Any]] = []
        for line in (self.folder / "log").read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                record = {"level": "error", "event": f"no log line: {line[:200]}"}
            if record["level"] in ("error", "critical"):
                found.append(record)
        return found


class Process(Daemon):
    """A daemon with a bot on the emulated Telegram."""

    def __init__(self, folder: Path, api: BotApi, *, policy: str, script: str | None) -> None:
        self.api = api
        files = {"config.yaml": configuration(api, script=script), "policy.yaml": policy, "telegram.token": TOKEN}
        super().__init__(folder, files if script is None else {**files, "script.yaml": script})

    async def start(self) -> None:
        """Start it and wait until it asks for updates."""
        polls = self.api.totals.get("getUpdates", 0)
        await self.spawn()
        await self.api.wait_for(lambda: self.api.totals.get("getUpdates", 0) > polls, timeout=STARTS_S)

    async def settled(self, *, within_s: float = 60.0) -> None:
        """Every update is taken, judged, answered and sent, or given up."""
        await self.api.wait_drained(timeout=within_s)
        await self.idle(within_s=within_s)


@asynccontextmanager
async def daemon(
    folder: Path,
    api: BotApi,
    *,
    policy: str = POLICY,
    script: str | None = None,
) -> AsyncIterator[Process]:
    """A daemon that is not started yet; whatever of it runs at the end is killed."""
    process = Process(folder, api, policy=policy, script=script)
    try:
        yield process
    finally:
        if process.running:
            await process.kill()
