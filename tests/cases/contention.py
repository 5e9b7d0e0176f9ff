"""Kind ``db_contention``: others look at the database, hold it and copy it while the daemon is at work."""

import asyncio
import json
import re
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from bot.storage.store import Store
from tests.acceptance.commands import environment
from tests.cases import ledger
from tests.cases.child import Brain, Child, Document, child, text_of
from tests.cases.result import check
from tests.cases.script import PERSON
from tests.servers.botapi import BotApi

BOT_ID, CHATS = 7001, 8
POLICY = "version: 1\ndirect: {strangers: allow}\ndefaults: {rate: {person: 6000, channel: 6000}}\n"


async def contention(case: dict[str, Any], folder: Path) -> None:
    """Run one case."""
    words = json.dumps(case["input"]["steps"])
    inbound, outbound = _number(words, r"(\d+) inbound", 40), _number(words, r"(\d+) outbound", 40)
    every_s = _number(words, r"every (\d+) ms", 50) / 1000
    count = max(inbound, outbound)

    async def answer(document: Document) -> Document:
        return {"kind": "final", "text": f"answer to {text_of(document)}"}

    brain = Brain(answer)
    async with (
        BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot", parse="none") as api,
        child(folder, api, POLICY, brain) as daemon,
    ):
        await daemon.start()
        over = asyncio.Event()
        disturbers = [
            asyncio.create_task(_look(folder, every_s, over), name="look"),
            asyncio.create_task(_commands(folder, over), name="commands"),
            asyncio.create_task(_hold(folder, over), name="hold"),
            asyncio.create_task(_copy(folder, over), name="copy"),
        ]
        await asyncio.sleep(0)
        for number in range(count):
            api.say(chat=PERSON + number % CHATS, text=f"message {number}.")
        await api.wait_for(lambda: len(_seen(api)) >= count, timeout=60)
        over.set()
        async with asyncio.timeout(30):
            looks, commands, holds, copies = await asyncio.gather(*disturbers)
        check(await daemon.stop() == 0, "an orderly end", daemon.code)
        check(
            min(looks, commands, holds, copies) > 0,
            "looks, commands, holds and copies",
            (looks, commands, holds, copies),
        )
        _judge(daemon, api, count)


def _seen(api: BotApi) -> list[str]:
    return [text for number in range(CHATS) for text in api.texts(PERSON + number)]


def _judge(daemon: Child, api: BotApi, count: int) -> None:
    wanted = sorted(f"answer to message {number}." for number in range(count))
    check(sorted(_seen(api)) == wanted, "every message to be answered once, and nothing else to be said")
    for number in range(CHATS):
        order = [int(re.findall(r"\d+", text)[0]) for text in api.texts(PERSON + number)]
        check(order == sorted(order), "the order of each chat to be kept")
    rows = ledger.parts(daemon.folder)
    check([row.state for row in rows].count("delivered") == count, "every part to be delivered")
    errors = [line["event"] for line in daemon.log if line["level"] in ("error", "critical")]
    check(not errors, "no error in the log", errors)


async def _look(folder: Path, every_s: float, over: asyncio.Event) -> int:
    """What a status command reads, as often as the case says."""
    looks = 0
    while not over.is_set():
        reader = await Store.open_reader(folder / "data" / ledger.DATABASE)
        try:
            await reader.overview.channels()
            await reader.overview.unclear()
            looks += 1
        finally:
            await reader.close()
        await asyncio.sleep(every_s)
    return looks


async def _commands(folder: Path, over: asyncio.Event) -> int:
    """The command itself, one after the other."""
    done = 0
    while not over.is_set() or not done:
        for arguments in (("channels", "--json"), ("journal", "verify")):
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "bot", *arguments),
                cwd=folder,
                env=environment(folder),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(30):
                _, err = await process.communicate()
            check(process.returncode == 0, f"{' '.join(arguments)} to work beside the daemon", err.decode()[-200:])
            done += 1
    return done


async def _hold(folder: Path, over: asyncio.Event) -> int:
    """Somebody else takes the write lock, for longer than a moment."""

    def hold() -> None:
        path = folder / "data" / ledger.DATABASE
        with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            time.sleep(0.3)
            database.execute("ROLLBACK")

    holds = 0
    while not over.is_set() or not holds:
        await asyncio.to_thread(hold)
        holds += 1
        await asyncio.sleep(0.1)
    return holds


async def _copy(folder: Path, over: asyncio.Event) -> int:
    """A backup while it runs is a sound database."""

    def copy(number: int) -> None:
        target = folder / f"backup{number}.db"
        source = f"file:{folder / 'data' / ledger.DATABASE}?mode=ro"
        with (
            closing(sqlite3.connect(source, uri=True, timeout=20)) as database,
            closing(sqlite3.connect(target)) as backup,
        ):
            database.backup(backup)
        check(ledger.integrity(target) == "ok", "a sound copy")

    copies = 0
    while not over.is_set() or not copies:
        await asyncio.to_thread(copy, copies)
        copies += 1
        await asyncio.sleep(0.2)
    return copies


def _number(words: str, pattern: str, default: int) -> int:
    found = re.search(pattern, words)
    return default if found is None else int(found[1])
