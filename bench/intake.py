"""Durable intake: arrivals that are on the disk when ``put`` returns, against SQLite by hand."""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.model.inbound import Arrival
from bot.storage.store import Store

ROWS = 20_000
WAITING = 100
RAW = b"x" * 700


@dataclass(frozen=True)
class Result:
    """Events a second."""

    ours_per_s: float
    raw_per_s: float

    @property
    def ratio(self) -> float:
        """Ours, of raw."""
        return self.ours_per_s / self.raw_per_s


async def measure(rounds: int = 5) -> Result:
    """Measure both, in turn."""
    ours, raw = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            raw.append(by_hand(Path(folder)))
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            ours.append(await by_store(Path(folder)))
    return Result(ours_per_s=statistics.median(ours), raw_per_s=statistics.median(raw))


def by_hand(folder: Path) -> float:
    """sqlite3, WAL, FULL, a unique key, 100 rows a transaction."""
    store = sqlite3.connect(folder / "raw.db", isolation_level=None)
    store.execute("pragma journal_mode=wal")
    store.execute("pragma synchronous=full")
    store.execute("create table inbox (id integer primary key, key text unique, raw blob, state text)")
    begun = time.perf_counter()
    for start in range(0, ROWS, WAITING):
        store.execute("begin immediate")
        for n in range(start, start + WAITING):
            store.execute("insert into inbox (key, raw, state) values (?, ?, 'new')", (str(n), RAW))
        store.execute("commit")
    took_s = time.perf_counter() - begun
    store.close()
    return ROWS / took_s


async def by_store(folder: Path) -> float:
    """A hundred arrivals wait for their commit at any time."""
    store = await Store.open(folder / "discreet.db")
    now = datetime.now(UTC)
    batches = [
        [Arrival(key=str(n), lane=f"l{n % 50}", raw=RAW, received_at=now) for n in range(start, start + WAITING)]
        for start in range(0, ROWS, WAITING)
    ]
    begun = time.perf_counter()
    for batch in batches:
        await store.inbox.put("telegram:7001", batch)
    took_s = time.perf_counter() - begun
    await store.close()
    return ROWS / took_s


if __name__ == "__main__":
    result = asyncio.run(measure())
    print(f"{result.ours_per_s:,.0f}/s, raw {result.raw_per_s:,.0f}/s, ratio {result.ratio:.2f}")
