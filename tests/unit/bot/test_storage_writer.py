"""The writer among others: a slow neighbour on the disk, more callers than room, and a sudden death."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

from bot.model.errors import StoreError
from bot.ports.store import InboxState, OutboxState
from bot.storage import writer
from bot.storage.store import Store
from tests.stored import ACCOUNT, NOW, RESPOND, answered, arrival, decided, new

ROOT = Path(__file__).parents[3]


class Holder:
    """Another program that holds the database, as a backup or a curious admin would."""

    def __init__(self, path, held_s=None):
        self.path = path
        self.held_s = held_s
        self.holds = threading.Event()
        self.release = threading.Event()
        self.thread = threading.Thread(target=self._hold)

    def _hold(self):
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=5)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self.holds.set()
            self.release.wait(self.held_s or 20)
            connection.execute("ROLLBACK")

    def __enter__(self):
        self.thread.start()
        assert self.holds.wait(5)
        return self

    def __exit__(self, *_):
        self.release.set()
        self.thread.join(10)


async def test_a_program_that_holds_the_database_for_three_seconds_makes_nobody_lose_anything(tmp_path):
    path = tmp_path / "store.sqlite"
    store = await Store.open(path)
    running = [await decided(store.inbox, f"r{key}", RESPOND) for key in range(40)]
    async with asyncio.timeout(20):
        with Holder(path, held_s=3):
            stored, finished, again = await asyncio.gather(
                asyncio.gather(*(store.inbox.put(ACCOUNT, [arrival(key)]) for key in range(40))),
                asyncio.gather(
                    *(
                        store.inbox.finish(one.id, [new(event_id=one.id)], outcome="answered", now=NOW)
                        for one in running
                    ),
                ),
                asyncio.gather(*(store.inbox.put(ACCOUNT, [arrival(key)]) for key in range(40))),
            )
    assert [len(result) for result in stored] == [1] * 40
    assert again == [[]] * 40
    assert len({one.id for (one,) in finished}) == 40
    assert len(await store.outbox.pending(ACCOUNT, now=NOW)) == 40
    await store.close()


async def test_look_ups_do_not_wait_for_a_program_that_holds_the_database(tmp_path):
    path = tmp_path / "store.sqlite"
    store = await Store.open(path)
    await answered(store.inbox, 1)
    async with asyncio.timeout(5):
        with Holder(path):
            assert not await store.outbox.wrote(new().part.destination, "1")
            assert (await store.overview.counts()).outbox[OutboxState.READY] == 1
    await store.close()


async def test_a_daemon_starts_while_another_program_holds_the_database(tmp_path):
    path = tmp_path / "store.sqlite"
    await (await Store.open(path)).close()
    async with asyncio.timeout(5):
        with Holder(path):
            store = await Store.open(path)
    assert len(await store.inbox.put(ACCOUNT, [arrival(1)])) == 1
    await store.close()


async def test_who_waits_too_long_is_told_the_truth_and_may_try_again(tmp_path, monkeypatch):
    monkeypatch.setattr("bot.storage.database._PRAGMAS", _impatient())
    path = tmp_path / "store.sqlite"
    store = await Store.open(path, patience_s=0.1)
    async with asyncio.timeout(10):
        with Holder(path):
            results = await asyncio.gather(
                *(store.inbox.put(ACCOUNT, [arrival(key)]) for key in range(5)), return_exceptions=True
            )
    assert {type(result) for result in results} == {StoreError}
    assert "nothing was written" in str(results[0])
    assert await store.inbox.unfinished(ACCOUNT) == []
    assert len(await store.inbox.put(ACCOUNT, [arrival(key) for key in range(5)])) == 5
    await store.close()


def _impatient():
    from bot.storage.database import _PRAGMAS

    return tuple("PRAGMA busy_timeout = 20" if "busy_timeout" in pragma else pragma for pragma in _PRAGMAS)


async def test_a_copy_that_is_made_while_the_store_is_written_is_whole(tmp_path):
    path = tmp_path / "store.sqlite"
    store = await Store.open(path)
    writing = asyncio.gather(*(store.inbox.put(ACCOUNT, [arrival(key)]) for key in range(2000)))
    await asyncio.to_thread(_back_up, path, tmp_path / "copy.sqlite")
    await writing
    await store.close()
    copy = await Store.open(tmp_path / "copy.sqlite")
    assert await copy.journal.verify() is None
    assert len(await copy.inbox.unfinished(ACCOUNT)) <= 2000
    await copy.close()


def _back_up(path, copy):
    with closing(sqlite3.connect(path, timeout=5)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


async def test_more_callers_than_there_is_room_for_wait_and_are_served(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "MAX_WAITING", 10)
    store = await Store.open(tmp_path / "store.sqlite")
    async with asyncio.timeout(10):
        results = await asyncio.gather(*(store.inbox.put(ACCOUNT, [arrival(key)]) for key in range(200)))
    assert all(len(result) == 1 for result in results)
    assert store._writer._waiting == 0
    await store.close()


async def test_a_value_that_can_not_be_stored_is_refused_without_being_shown(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    results = await asyncio.gather(
        store.inbox.put(ACCOUNT, [arrival(1)]),
        store.inbox.put(ACCOUNT, [arrival("secret\ud800")]),
        store.inbox.put(ACCOUNT, [arrival(2)]),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [list, StoreError, list]
    assert "secret" not in repr(results[1])
    assert results[1].__cause__ is None
    await store.close()


STORM = """
import asyncio, sys
from pathlib import Path
from bot.ports.store import OutboxState
from bot.storage.store import Store
from tests.stored import *

async def lane(store, name):
    number = 0
    while True:
        key = f"{name}.{number}"
        number += 1
        (stored,) = await store.inbox.put(ACCOUNT, [arrival(key)])
        print("put", key, flush=True)
        if number % 3 == 0:
            await store.inbox.decide(stored, subject(key), MUTE, now=NOW)
            print("muted", key, flush=True)
            continue
        await store.inbox.decide(stored, subject(key), RESPOND, now=NOW)
        print("decided", key, flush=True)
        (one,) = await store.inbox.finish(stored.id, [new(event_id=stored.id)], outcome="answered", now=NOW)
        print("finished", key, one.id, flush=True)
        await store.outbox.begin(one.id)
        print("begun", key, one.id, flush=True)
        await store.outbox.end(one.id, OutboxState.DELIVERED, code="delivered", messages=[key], now=NOW)
        print("sent", key, one.id, flush=True)

async def main():
    store = await Store.open(Path(sys.argv[1]))
    await asyncio.gather(*(lane(store, f"{sys.argv[2]}.{number}") for number in range(20)))

asyncio.run(main())
"""


async def test_what_was_acknowledged_before_a_sudden_death_is_there_after_it(tmp_path):
    path = tmp_path / "store.sqlite"
    said = []
    for life, lines in enumerate((150, 700, 1500)):
        said += _live_and_die(path, life, lines)
        store = await Store.open(path)
        try:
            await _check(store, said)
        finally:
            await store.close()


def _live_and_die(path, life, lines):
    """Let a child write until it has said so many lines, then kill it; returns all that it said."""
    child = subprocess.Popen(
        [sys.executable, "-c", STORM, str(path), str(life)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        said = [child.stdout.readline().split() for _ in range(lines)]
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read()
        said += [line.split() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    finally:
        child.kill()
        child.wait(10)
        child.stdout.close()
    assert all(said)
    return said


async def _check(store, said):
    told = {verb: {line[1] for line in said if line[0] == verb} for verb in ("put", "muted", "decided", "finished")}
    begun = {int(line[2]) for line in said if line[0] == "begun"}
    sent = {int(line[2]): line[1] for line in said if line[0] == "sent"}
    assert await store.journal.verify() is None

    assert await store.inbox.put(ACCOUNT, [arrival(key) for key in sorted(told["put"])]) == []  # all are known
    unfinished = {row.stored.arrival.key: row for row in await store.inbox.unfinished(ACCOUNT)}
    assert not unfinished.keys() & (told["muted"] | told["finished"])
    for key in told["decided"] & unfinished.keys():
        assert unfinished[key].state is InboxState.DECIDED
        assert unfinished[key].decision == RESPOND
    assert told["put"] - told["muted"] - told["decided"] - told["finished"] <= unfinished.keys() | _later(store)

    ready = {one.id for one in await store.outbox.pending(ACCOUNT, now=NOW)}
    unknown = {one.id for one in await store.overview.unclear()}
    assert not ready & begun  # what has begun is not done again by itself
    assert not sent.keys() & (ready | unknown)
    for key in sent.values():
        assert await store.outbox.wrote(new().part.destination, key)


def _later(store):
    """Keys whose decision was durable although the child had no time to say so."""
    with closing(sqlite3.connect(f"file:{_file(store)}?mode=ro", uri=True)) as connection:
        return {key for (key,) in connection.execute("SELECT key FROM inbox WHERE state = 'done'")}


def _file(store):
    return store._writer._connection.execute("PRAGMA database_list").fetchone()[2]
