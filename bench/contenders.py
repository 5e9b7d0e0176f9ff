"""Echo bots as processes, and what running one costs."""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.botapi import BotApi

TOKEN = f"7001:{'A' * 35}"
GROUPS = -1001000000000
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Result:
    """One round: messages a second, CPU (user, system) a message, peak resident memory, start to first getUpdates."""

    per_s: float
    cpu_ms: float
    memory_mb: float
    start_s: float


def _peer(module: str) -> Callable[[BotApi, Path, int], list[str]]:
    return lambda api, _folder, _chats: [sys.executable, "-m", f"bench.peers.{module}", api.url, TOKEN]


def discreet(api: BotApi, folder: Path, chats: int) -> list[str]:
    """The gateway as people run it; its limits are out of the way."""
    listed = "\n".join(
        f'  "telegram:7001:{GROUPS - n}": {{audience: external, rate: {{person: 6000, channel: 6000}}}}'
        for n in range(chats)
    )
    (folder / "policy.yaml").write_text(f"version: 1\nchannels:\n{listed}\n")
    (folder / "config.yaml").write_text(
        f"""
data_dir: {folder / "data"}
policy: {folder / "policy.yaml"}
telegram:
  - token: "{TOKEN}"
    api_url: {api.url}
    limits: {{per_chat_per_s: 10000, per_group_per_min: 10000, total_per_s: 10000}}
agents:
  main: {{kind: echo}}
default_agent: main
metrics: {{enabled: false}}
log: {{level: warning}}
""",
    )
    (folder / "config.yaml").chmod(0o600)
    return [sys.executable, "-m", "bot", "run", "--config", str(folder / "config.yaml")]


CONTENDERS: dict[str, Callable[[BotApi, Path, int], list[str]]] = {
    "discreet": discreet,
    "aiogram": _peer("aiogram_echo"),
    "python-telegram-bot": _peer("ptb_echo"),
    "bare aiohttp, 16 in flight": _peer("aiohttp_echo"),
}


@asynccontextmanager
async def contender(
    start: Callable[[BotApi, Path, int], list[str]],
    *,
    chats: int,
) -> AsyncIterator[tuple[BotApi, asyncio.subprocess.Process, float]]:
    """A bot that polls: the emulator, its process and the seconds from its start to its first getUpdates."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        async with BotApi(token=TOKEN, username="desk_bot", parse="none") as api:
            for n in range(chats):
                api.chat(GROUPS - n, type="supergroup", title=f"Room {n}")
            begun = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                *start(api, Path(name), chats),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=None if os.environ.get("BENCH_VERBOSE") else asyncio.subprocess.DEVNULL,
            )
            try:
                await api.wait_for(lambda: api.totals.get("getUpdates"), timeout=60)
                start_s = time.perf_counter() - begun
                await echo(api, 100, chats)  # warm: everything is loaded, every room known
                yield api, process, start_s
            finally:
                process.kill()
                await process.wait()


async def run(start: Callable[[BotApi, Path, int], list[str]], *, messages: int, chats: int) -> Result:
    """One round of one contender."""
    async with contender(start, chats=chats) as (api, process, start_s):
        before = cpu_s(process.pid)
        begun = time.perf_counter()
        await echo(api, messages, chats)
        took_s = time.perf_counter() - begun
        used_s = cpu_s(process.pid) - before
        return Result(
            per_s=messages / took_s,
            cpu_ms=used_s * 1000 / messages,
            memory_mb=memory_mb(process.pid),
            start_s=start_s,
        )


async def echo(api: BotApi, messages: int, chats: int) -> None:
    """Put messages into the queue at once and wait until each has its answer."""
    target = api.totals.get("sendMessage", 0) + messages
    for n in range(messages):
        push(api, n % chats, n)
    await api.wait_for(lambda: api.totals.get("sendMessage", 0) >= target, timeout=120)


def push(api: BotApi, room: int, n: int) -> None:
    """A person mentions the bot."""
    text = f"@desk_bot message {n}"
    api.push(
        {
            "message": api.world.new_message(
                api.world.chat(GROUPS - room),
                {"id": 500 + n % 97, "is_bot": False, "first_name": "Ann", "language_code": "en"},
                {"text": text, "entities": [{"type": "mention", "offset": 0, "length": 9}]},
            ),
        },
    )


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int) -> float:
    """Peak resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def median(results: list[Result]) -> Result:
    """Field by field."""
    return Result(
        per_s=statistics.median(result.per_s for result in results),
        cpu_ms=statistics.median(result.cpu_ms for result in results),
        memory_mb=statistics.median(result.memory_mb for result in results),
        start_s=statistics.median(result.start_s for result in results),
    )
