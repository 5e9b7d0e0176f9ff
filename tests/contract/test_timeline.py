"""What every timeline of the built-in chat must do, wherever it keeps its messages (bot.ports.timeline)."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest

from bot.channels.web.memory import MemoryTimeline
from bot.model.errors import StoreError
from bot.storage.store import Store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Memory:
    """Nothing outlives the process, so opening it again gives the same one."""

    def __init__(self, folder):
        self.desks = {}

    async def open(self, desk="desk"):
        return self.desks.setdefault(desk, MemoryTimeline())

    async def close(self):
        pass


class Sqlite:
    """A store in a file; opened again as a restart would."""

    def __init__(self, folder):
        self.path = folder / "store.sqlite"
        self.store = None

    async def open(self, desk="desk"):
        await self.close()
        self.store = await Store.open(self.path)
        return self.store.timeline(desk)

    async def close(self):
        if self.store is not None:
            await self.store.close()


@pytest.fixture(params=[Memory, Sqlite])
async def backend(request, tmp_path):
    one = request.param(tmp_path)
    yield one
    await one.close()


@pytest.fixture
async def timeline(backend):
    return await backend.open()


async def say(timeline, message, text="hello", *, room="r", at=NOW):
    return await timeline.append(room, message, {"text": text}, at=at)


def ids(entries):
    return [entry.id for entry in entries]


async def test_nothing_has_been_said_at_first(timeline):
    assert await timeline.head() == 0
    assert await timeline.latest("r", before=None, limit=9) == []
    assert await timeline.changed(["r"], after=0, limit=9) == []
    assert await timeline.changed([], after=0, limit=9) == []
    assert await timeline.get("r", "m1") is None


async def test_a_message_comes_back_as_it_was_said_also_after_a_restart(backend, timeline):
    document = {"text": "Grüße, 😀", "at": 1, "reply": None, "files": [{"name": "a", "size": 3}], "edited": False}
    entry = await timeline.append("r", "m1", document, at=NOW)
    document["text"] = "changed by the caller"
    assert (entry.id, entry.room, entry.position, entry.seq) == ("m1", "r", entry.seq, await timeline.head())
    assert entry.document["text"] == "Grüße, 😀"
    again = await backend.open()
    assert await again.get("r", "m1") == entry
    assert await again.latest("r", before=None, limit=9) == [entry]
    assert await again.changed(["r"], after=0, limit=9) == [entry]
    assert await again.head() == entry.seq


async def test_appending_an_id_again_changes_nothing(timeline):
    first = await say(timeline, "m1", "one")
    again = await say(timeline, "m1", "two")
    assert again == first
    assert await timeline.head() == first.seq
    await timeline.delete("r", "m1")
    assert (await say(timeline, "m1", "three")).document is None


async def test_the_same_id_in_two_rooms_is_two_messages(timeline):
    await say(timeline, "m1", "one")
    other = await say(timeline, "m1", "two", room="s")
    assert (other.room, other.document) == ("s", {"text": "two"})
    assert (await timeline.get("r", "m1")).document == {"text": "one"}


async def test_every_change_has_a_higher_seq_and_positions_stay(timeline):
    one = await say(timeline, "m1")
    two = await say(timeline, "m2")
    edited = await timeline.edit("r", "m1", {"text": "x"})
    assert one.seq < two.seq < edited.seq == await timeline.head()
    assert edited.position == one.position
    assert edited.document == {"text": "x"}
    assert ids(await timeline.changed(["r"], after=one.seq, limit=9)) == ["m2", "m1"]
    assert ids(await timeline.latest("r", before=None, limit=9)) == ["m1", "m2"]
    assert ids(await timeline.latest("r", before=two.position, limit=9)) == ["m1"]


async def test_an_edit_of_what_is_not_there_is_none(timeline):
    await say(timeline, "m1", room="s")
    head = await timeline.head()
    assert await timeline.edit("r", "m1", {}) is None
    assert await timeline.delete("r", "m1") is None
    assert await timeline.head() == head


async def test_a_deleted_message_keeps_its_place_and_loses_its_words_for_ever(backend, timeline):
    one = await say(timeline, "m1", "secret")
    gone = await timeline.delete("r", "m1")
    assert (gone.document, gone.position) == (None, one.position)
    assert gone.seq > one.seq
    assert await timeline.edit("r", "m1", {"text": "x"}) is None
    assert await timeline.delete("r", "m1") == gone
    again = await backend.open()
    assert await again.latest("r", before=None, limit=9) == [gone]
    assert await again.changed(["r"], after=one.seq, limit=9) == [gone]


async def test_the_latest_are_the_last_of_the_room_in_order(timeline):
    for number in range(10):
        await say(timeline, f"m{number}", room="r" if number % 2 else "s")
    last = await timeline.latest("r", before=None, limit=2)
    assert ids(last) == ["m7", "m9"]
    assert ids(await timeline.latest("r", before=last[0].position, limit=2)) == ["m3", "m5"]
    assert ids(await timeline.latest("r", before=last[0].position, limit=99)) == ["m1", "m3", "m5"]


async def test_changes_of_other_rooms_are_not_told_and_the_oldest_come_first(timeline):
    for number in range(9):
        await say(timeline, f"m{number}", room="rst"[number % 3])
    await timeline.edit("r", "m0", {"text": "edited"})
    told = await timeline.changed(["s", "r"], after=0, limit=4)
    assert ids(told) == ["m1", "m3", "m4", "m6"]
    assert ids(await timeline.changed(["s", "r"], after=told[-1].seq, limit=4)) == ["m7", "m0"]


async def test_two_desks_know_nothing_of_each_other(backend, timeline):
    await say(timeline, "m1", "ours")
    other = await backend.open("other")
    assert await other.head() == 0
    assert await other.get("r", "m1") is None
    assert (await say(other, "m1", "theirs")).seq == 1
    assert await other.sweep(now=NOW, contents_before=NOW + HOUR) == 1
    assert (await (await backend.open()).get("r", "m1")).document == {"text": "ours"}


async def test_who_asks_for_what_is_after_the_last_seq_misses_nothing_while_others_write(timeline):
    rooms = ("r", "s", "t")
    chance = random.Random(7)
    written = asyncio.Event()

    async def write(name):
        for number in range(25):
            room = chance.choice(rooms)
            await say(timeline, f"{name}{number}", room=room)
            match chance.randrange(4):
                case 0:
                    await timeline.delete(room, f"{name}{number}")
                case 1:
                    await timeline.edit(room, f"{name}{number}", {"text": "edited"})

    async def follow():
        seen, after = {}, 0
        while True:
            over = written.is_set()
            entries = await timeline.changed(rooms, after=after, limit=7)
            assert [entry.seq for entry in entries] == sorted({entry.seq for entry in entries})
            for entry in entries:
                assert entry.seq > after
                after = entry.seq
                seen[entry.room, entry.id] = entry
            if over and not entries:
                return seen
            await asyncio.sleep(0)

    async with asyncio.timeout(30):
        following = [asyncio.create_task(follow()) for _ in range(2)]
        await asyncio.gather(*(write(name) for name in "abcd"))
        written.set()
        for seen in await asyncio.gather(*following):
            stand = [entry for room in rooms for entry in await timeline.latest(room, before=None, limit=999)]
            assert {(entry.room, entry.id): entry for entry in stand} == seen
            assert len(seen) == 100


async def test_racing_appends_of_one_id_make_one_message(timeline):
    entries = await asyncio.gather(*(say(timeline, "m1", f"try {number}") for number in range(20)))
    assert len({entry.seq for entry in entries}) == 1
    assert ids(await timeline.latest("r", before=None, limit=99)) == ["m1"]


async def test_words_that_have_been_kept_long_enough_leave_like_deleted_ones(backend, timeline):
    old = await say(timeline, "m1", "old", at=NOW - HOUR)
    await say(timeline, "m2", "old and edited", at=NOW - HOUR)
    await timeline.edit("r", "m2", {"text": "edited later"})
    young = await say(timeline, "m3", "young", at=NOW)
    assert await timeline.sweep(now=NOW, contents_before=NOW) == 2
    assert await timeline.sweep(now=NOW, contents_before=NOW) == 0
    told = await timeline.changed(["r"], after=young.seq, limit=9)
    assert [(entry.id, entry.document) for entry in told] == [("m1", None), ("m2", None)]
    assert told[0].position == old.position
    again = await backend.open()
    assert await again.get("r", "m3") == young
    assert (await again.get("r", "m1")).document is None


async def test_a_long_past_leaves_at_once(timeline):
    for number in range(1203):
        await say(timeline, f"m{number}", at=NOW - HOUR)
    assert await timeline.sweep(now=NOW, contents_before=NOW) == 1203
    seqs = [entry.seq for entry in await timeline.latest("r", before=None, limit=2000)]
    assert len(set(seqs)) == 1203
    assert max(seqs) == await timeline.head() == 2406


async def test_a_document_that_is_no_json_is_refused_without_its_words(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    timeline = store.timeline("desk")
    with pytest.raises(StoreError) as caught:
        await timeline.append("r", "m1", {"text": "secret \ud800"}, at=NOW)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert await timeline.head() == 0
    await store.close()


async def test_erased_words_are_gone_from_the_disk_and_the_journal_tells_how_many(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    timeline = store.timeline("desk")
    words = "the merger closes on Friday " * 400
    for number in range(5):
        await timeline.append("r", f"m{number}", {"text": words}, at=NOW - HOUR)
    await timeline.sweep(now=NOW, contents_before=NOW)
    for path in tmp_path.iterdir():
        assert b"merger" not in path.read_bytes(), path.name
    (record,) = await store.journal.tail(1)
    assert (record.kind, record.facts) == ("swept", '{"messages":5}')
    assert await store.journal.verify() is None
    await store.close()


@pytest.mark.parametrize("statement", ["HEAD", "GET", "LATEST", "CHANGED", "OLD"])
async def test_look_ups_use_their_indexes_and_sort_nothing(tmp_path, statement):
    from bot.storage import chat_statements

    store = await Store.open(tmp_path / "store.sqlite")
    text = getattr(chat_statements, statement)
    plan = str(store._readers[0].read(f"EXPLAIN QUERY PLAN {text}", (None,) * text.count("?")))
    await store.close()
    assert "USING" in plan
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan
