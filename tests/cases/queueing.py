"""Delivery cases about the queue itself: a busy database, and a caller who comes twice with one key."""

import asyncio
import re
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.model.errors import StoreError
from bot.model.output import Final
from tests.cases import ledger
from tests.cases.clocks import listening
from tests.cases.outgoing import BOT_ID, OPEN, ask, policy_of
from tests.cases.result import Failed, check
from tests.cases.script import PERSON, sends_of
from tests.harness import CountingAgent, running
from tests.servers.botapi import BotApi


async def run(steps: list[dict[str, Any]], expected: dict[str, Any], folder: Path) -> None:
    """The key of the outbox is that of the event that is answered; the platform is the caller that comes again."""
    keys = {str(step.get("outbox_key", step["do"])): "" for step in steps if step.get("do") == "enqueue"}
    held_s = max(_seconds(str(step.get("contention", ""))) for step in steps)
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api:
        gate = asyncio.Event()
        agent = CountingAgent(answer=lambda request: [Final(text=f"answer to {request.text}")], gate=gate)
        with listening():
            async with running(folder, api=api, agent=agent, policy=policy_of(sends_of(steps)), limits=OPEN) as gateway:
                for key in keys:
                    keys[key] = ask(api, PERSON, key)
                async with asyncio.timeout(10):
                    await agent.started.wait()
                locked = await asyncio.to_thread(_hold, folder / ledger.DATABASE, held_s)
                gate.set()  # from here on the answer has to be written, and somebody else holds the lock
                for update in [api.world.messages[PERSON][number] for number in list(api.world.messages[PERSON])]:
                    api.push({"update_id": int(keys[str(update["text"])]), "message": update}, again=True)
                async with asyncio.timeout(held_s + 15):
                    await asyncio.to_thread(locked.join)
                    await gateway.settled()
                for key, event in keys.items():
                    rows = [row for row in ledger.parts(folder) if row.key == event]
                    check(len(rows) == 1, f"one row {key}", len(rows))
                    check(rows[0].state == "delivered", f"{key} to be delivered", rows[0].state)
                    texts = api.texts(PERSON)
                    check(texts.count(f"answer to {key}") == 1, f"{key} once", texts.count(f"answer to {key}"))
                    await _once_more(gateway.store, folder, event)
        check(ledger.integrity(folder / ledger.DATABASE) == "ok", "a sound database")


async def _once_more(store: Any, folder: Path, event: str) -> None:
    """Whoever finishes the same work again is told that it is done, and nothing is added."""
    ((row,),) = ledger.select(folder, "SELECT id FROM inbox WHERE key = ?", event)
    before = len(ledger.parts(folder))
    try:
        await store.inbox.finish(row, [], outcome="answered", now=datetime.now(UTC))
    except StoreError:
        check(len(ledger.parts(folder)) == before, "nothing added")
    else:
        raise Failed("expected the second enqueueing to be refused, got none")


def _seconds(words: str) -> float:
    found = re.search(r"([\d.]+)\s*(ms|s)\b", words)
    return 0.0 if found is None else float(found[1]) / (1000 if found[2] == "ms" else 1)


def _hold(path: Path, seconds: float) -> threading.Thread:
    """Hold the write lock from outside; returns when it is held."""
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            held.set()
            over.wait(seconds)
            database.execute("ROLLBACK")

    thread = threading.Thread(target=hold, name="holds the lock")
    thread.start()
    held.wait(10)
    return thread
