"""The journal in its database: what happens to whoever touches it (DUR-4)."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from bot.journal.chain import Break, Head, link
from bot.model.errors import StoreError
from bot.storage.store import Store
from tests.stored import ACCOUNT, MUTE, NOW, arrival, decided, subject

GUARDS = ("journal_keeps_its_records", "journal_loses_no_record")


@pytest.fixture
async def path(tmp_path):
    path = tmp_path / "store.sqlite"
    store = await Store.open(path)
    for number in range(8):
        await store.journal.note("noted", {"number": number}, now=NOW)
    await store.close()
    return path


def tamper(path, *statements, guards=False):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if not guards:
            for guard in GUARDS:
                connection.execute(f"DROP TRIGGER {guard}")
        for statement, values in statements:
            connection.execute(statement, values)


async def verified(path):
    reader = await Store.open_reader(path)
    try:
        return await reader.journal.verify()
    finally:
        await reader.close()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE journal SET facts = '{}' WHERE seq = 3", "DELETE FROM journal WHERE seq = 8", "DELETE FROM journal"],
)
async def test_the_database_itself_refuses_to_change_a_record(path, statement):
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        tamper(path, (statement, ()), guards=True)
    assert await verified(path) is None


@pytest.mark.parametrize(
    ("statements", "seq"),
    [
        (["UPDATE journal SET facts = '{\"number\":7}' WHERE seq = 3"], 3),
        (["UPDATE journal SET at = at + 1 WHERE seq = 1"], 1),
        (["UPDATE journal SET kind = 'other' WHERE seq = 8"], 8),
        (["UPDATE journal SET hash = (SELECT hash FROM journal WHERE seq = 1) WHERE seq = 5"], 5),
        (["UPDATE journal SET at = 'yesterday' WHERE seq = 4"], 4),
        (["UPDATE journal SET facts = x'00' WHERE seq = 4"], 4),
        (["DELETE FROM journal WHERE seq = 4"], 4),
        (["DELETE FROM journal WHERE seq = 1"], 1),
        (["DELETE FROM journal WHERE seq = 8"], 8),
        (["DELETE FROM journal WHERE seq > 2"], 3),
        (["DELETE FROM journal"], 1),
        (["INSERT INTO journal SELECT 9, at, kind, facts, hash FROM journal WHERE seq = 8"], 9),
        (["INSERT INTO journal SELECT 0, at, kind, facts, hash FROM journal WHERE seq = 1"], 1),
        (["INSERT INTO journal SELECT -5, at, kind, facts, hash FROM journal WHERE seq = 1"], 1),
        (
            [
                "UPDATE journal SET seq = 100 WHERE seq = 3",
                "UPDATE journal SET seq = 3 WHERE seq = 6",
                "UPDATE journal SET seq = 6 WHERE seq = 100",
            ],
            3,
        ),
        (
            [
                "UPDATE journal SET seq = -seq WHERE seq > 2",
                "UPDATE journal SET seq = 1 - seq WHERE seq < 0",
                "INSERT INTO journal SELECT 3, at, kind, facts, hash FROM journal WHERE seq = 2",
            ],
            3,
        ),
        (["UPDATE meta SET value = '7:' || (SELECT hash FROM journal WHERE seq = 7) WHERE name = 'journal_head'"], 8),
        (["UPDATE meta SET value = 'nonsense' WHERE name = 'journal_head'"], 1),
        (["DELETE FROM meta WHERE name = 'journal_head'"], 1),
    ],
)
async def test_any_change_by_another_hand_is_found_at_its_first_record(path, statements, seq):
    tamper(path, *((statement, ()) for statement in statements))
    broken = await verified(path)
    assert isinstance(broken, Break)
    assert broken.seq == seq


async def test_a_record_forged_with_the_right_hash_is_found_by_the_noted_end(path):
    with closing(sqlite3.connect(path)) as connection:
        seq, digest = connection.execute("SELECT seq, hash FROM journal WHERE seq = 8").fetchone()
    forged = link(Head(seq=seq, hash=digest), at_us=1, kind="noted", facts={})
    tamper(path, ("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", tuple(forged)))
    assert await verified(path) == Break(seq=9, why="the noted end of the chain is another one")


async def test_a_daemon_does_not_go_on_with_a_journal_whose_end_was_changed(path):
    tamper(path, ("DELETE FROM journal WHERE seq = 8", ()))
    with pytest.raises(StoreError, match="journal verify"):
        await Store.open(path)


async def test_the_journal_is_verified_while_the_daemon_writes_it(path):
    store = await Store.open(path)
    reader = await Store.open_reader(path)
    writing = asyncio.ensure_future(_write(store, 2_000))
    seen = [await reader.journal.verify() for _ in range(5)]
    await writing
    assert seen == [None] * 5
    assert await reader.journal.verify() is None
    assert [record.seq for record in await reader.journal.tail(2)] == [2_007, 2_008]
    await reader.close()
    await store.close()


async def _write(store, count):
    await asyncio.gather(*(store.journal.note("noted", {"number": n}, now=NOW) for n in range(count)))


async def test_a_record_of_what_failed_is_not_in_the_journal(path):
    store = await Store.open(path)
    stored = await decided(store.inbox, 1, MUTE)
    results = await asyncio.gather(
        store.journal.note("before", {}, now=NOW),
        store.inbox.decide(stored, subject(1), MUTE, now=NOW),
        store.journal.note("after", {}, now=NOW),
        store.inbox.put(ACCOUNT, [arrival(2)]),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [type(None), StoreError, type(None), list]
    assert [record.kind for record in await store.journal.tail(3)] == ["decided", "before", "after"]
    assert await store.journal.verify() is None
    await store.close()
