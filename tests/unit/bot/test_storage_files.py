"""The files of a store: who may read them, what an admin is told, and that erased words are gone from the disk."""

import asyncio
import os
import random
import sqlite3
import stat
from contextlib import closing
from datetime import timedelta

import pytest

from bot.model.errors import StoreError
from bot.ports.store import OutboxState
from bot.storage.store import Store
from tests.stored import (
    ACCOUNT,
    DEFER,
    HOUR,
    MUTE,
    NOW,
    PLACE,
    RESPOND,
    answered,
    arrival,
    decided,
    new,
    rich_part,
    subject,
)


@pytest.fixture
def umask():
    old = os.umask(0o022)
    yield
    os.umask(old)


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_files_are_for_their_owner_alone(tmp_path, umask):
    folder = tmp_path / "deep" / "data"
    store = await Store.open(folder / "store.sqlite")
    await store.inbox.put(ACCOUNT, [arrival(1)])
    assert modes(folder) == dict.fromkeys(
        ["store.sqlite", "store.sqlite-shm", "store.sqlite-wal", "store.sqlite.lock"], 0o600
    )
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await store.close()
    assert set(modes(folder)) == {"store.sqlite", "store.sqlite.lock"}


async def test_a_file_that_others_could_read_is_closed_to_them(tmp_path, umask):
    path = tmp_path / "store.sqlite"
    path.touch(mode=0o644)
    store = await Store.open(path)
    assert modes(tmp_path)["store.sqlite"] == 0o600
    await store.close()


async def test_one_daemon_uses_a_store_at_a_time(tmp_path):
    path = tmp_path / "store.sqlite"
    store = await Store.open(path)
    with pytest.raises(StoreError, match="another discreet already runs"):
        await Store.open(path)
    await store.close()
    await (await Store.open(path)).close()


async def test_a_file_that_is_no_database_is_left_alone_and_named(tmp_path):
    path = tmp_path / "store.sqlite"
    path.write_text("dear diary, " * 100)
    with pytest.raises(StoreError, match="no database") as caught:
        await Store.open(path)
    assert str(path) in str(caught.value)
    assert path.read_text().startswith("dear diary")


async def test_a_folder_that_is_no_folder_is_named_with_the_mend(tmp_path):
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreError, match="its folder must exist or be creatable"):
        await Store.open(tmp_path / "data" / "store.sqlite")
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(StoreError, match="can't be made or opened"):
        await Store.open(tmp_path / "store.sqlite")


async def test_a_folder_that_can_not_be_written_is_named_with_the_mend(tmp_path):
    tmp_path.chmod(0o500)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)  # root may write everywhere
    try:
        with pytest.raises(StoreError, match="belong to the user that runs discreet"):
            await Store.open(tmp_path / "store.sqlite")
    finally:
        if root:
            os.seteuid(0)


async def test_a_store_of_a_newer_version_is_not_touched(tmp_path):
    path = tmp_path / "store.sqlite"
    await (await Store.open(path)).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="newer one"):
        await Store.open(path)
    with pytest.raises(StoreError, match="9999"):
        await Store.open_reader(path)


async def test_a_reader_needs_a_store_and_changes_nothing(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        await Store.open_reader(tmp_path / "store.sqlite")
    assert list(tmp_path.iterdir()) == []
    store = await Store.open(tmp_path / "store.sqlite")
    await decided(store.inbox, 1, MUTE)
    reader = await Store.open_reader(tmp_path / "store.sqlite")
    assert len(await reader.overview.channels()) == 1
    with pytest.raises(StoreError, match="can't be written"):
        reader._reader.read("DELETE FROM inbox")
    await store.close()
    assert len(await reader.overview.channels()) == 1
    await reader.close()


async def test_a_full_disk_is_told_and_what_was_acknowledged_stays(tmp_path):
    path = tmp_path / "store.sqlite"
    store = await Store.open(path)
    await store.inbox.put(ACCOUNT, [arrival(1)])
    connection = store._writer._connection  # no disk can be filled here: the database is told that it may not grow
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="disk is full"):
        await store.inbox.put(ACCOUNT, [arrival(key, "x" * 50_000) for key in range(2, 9)])
    connection.execute("PRAGMA max_page_count = 1000000")
    assert len(await store.inbox.put(ACCOUNT, [arrival(key) for key in range(1, 9)])) == 7
    assert await store.journal.verify() is None
    await store.close()


# erasing


def found(folder, words):
    return [path.name for path in folder.iterdir() for word in words if word.encode() in path.read_bytes()]


async def test_the_words_of_a_muted_event_leave_the_disk(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    words = [f"zanzibar{number:04}" + "pepper" * number for number in range(0, 1500, 50)]  # some longer than a page
    for number, word in enumerate(words):
        await decided(store.inbox, number, MUTE, word)
    await store.close()
    assert found(tmp_path, ["zanzibar"]) == []


async def test_words_whose_time_is_over_leave_the_disk_while_the_daemon_runs(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    await decided(store.inbox, 1, MUTE, observe=("observed-marzipan", NOW + HOUR))
    await decided(store.inbox, 2, MUTE, "aside-marzipan", set_aside=True)
    (one,) = await answered(store.inbox, 3, rich_part("spoken-marzipan"))
    await store.outbox.begin(one.id)
    await store.outbox.end(one.id, OutboxState.DELIVERED, code="delivered", messages=[], now=NOW)
    assert found(tmp_path, ["observed-marzipan", "aside-marzipan", "spoken-marzipan", "second letter", "approve"])
    await store.inbox.sweep(now=NOW + HOUR, contents_before=NOW + HOUR)
    assert found(tmp_path, ["marzipan", "second letter", "approve"]) == []
    assert await store.journal.verify() is None
    await store.close()


async def test_erased_words_are_nowhere_after_a_storm_of_every_kind_of_change(tmp_path):
    chance = random.Random(7)
    store = await Store.open(tmp_path / "store.sqlite")
    kept = 0
    for _ in range(30):
        size = chance.choice([1, 7, 60])
        keys = range(kept, kept + size)
        kept += size
        stored = await store.inbox.put(
            ACCOUNT, [arrival(key, "xylophone" * chance.choice([1, 30, 300, 2000])) for key in keys]
        )
        await asyncio.gather(*(_one(store, one, chance) for one in stored))
    assert found(tmp_path, ["xylophone"])
    for row in await store.inbox.unfinished(ACCOUNT):
        await store.inbox.withdraw(PLACE, row.stored.arrival.key, now=NOW)
    await store.inbox.sweep(now=NOW + 2 * HOUR, contents_before=NOW + HOUR)
    assert found(tmp_path, ["xylophone"]) == []
    await store.close()


async def _one(store, stored, chance):
    key = stored.arrival.key
    kind = chance.choice(["mute", "observe", "aside", "defer", "run", "answer"])
    if kind == "mute":
        await store.inbox.decide(stored, subject(key), MUTE, now=NOW)
    elif kind == "observe":
        until = NOW + timedelta(minutes=chance.randrange(90))
        await store.inbox.decide(stored, subject(key), MUTE, now=NOW, observe=("xylophone" * 9, until))
    elif kind == "aside":
        await store.inbox.decide(stored, subject(key), MUTE, now=NOW, set_aside=True)
    elif kind == "defer":
        await store.inbox.decide(stored, subject(key), DEFER, now=NOW, batch="a batch with a long name")
    else:
        await store.inbox.decide(stored, subject(key), RESPOND, now=NOW)
        if kind == "answer":
            part = rich_part("xylophone" * chance.choice([1, 100, 900]), token=key)
            (one,) = await store.inbox.finish(stored.id, [new(part)], outcome="answered", now=NOW)
            await store.outbox.begin(one.id)
            await store.outbox.end(one.id, OutboxState.DELIVERED, code="delivered", messages=[key], now=NOW)
