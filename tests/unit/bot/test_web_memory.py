from datetime import UTC, datetime, timedelta

import pytest

from bot.channels.web.live import Live
from bot.channels.web.memory import MemoryEntrances, MemoryTimeline
from bot.channels.web.shelf import Shelf
from bot.model.errors import ChannelError

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_appending_an_id_again_changes_nothing():
    timeline = MemoryTimeline()
    first = await timeline.append("r", "m1", {"text": "one"})
    again = await timeline.append("r", "m1", {"text": "two"})
    assert again == first
    assert await timeline.head() == first.seq


async def test_every_change_has_a_higher_seq_and_positions_stay():
    timeline = MemoryTimeline()
    one = await timeline.append("r", "m1", {})
    two = await timeline.append("r", "m2", {})
    edited = await timeline.edit("r", "m1", {"text": "x"})
    assert edited is not None
    assert one.seq < two.seq < edited.seq
    assert edited.position == one.position
    assert [entry.id for entry in await timeline.changed(["r"], after=one.seq, limit=9)] == ["m2", "m1"]
    assert [entry.id for entry in await timeline.latest("r", before=None, limit=9)] == ["m1", "m2"]
    assert [entry.id for entry in await timeline.latest("r", before=two.position, limit=9)] == ["m1"]


async def test_a_deleted_message_keeps_its_place_and_loses_its_words():
    timeline = MemoryTimeline()
    await timeline.append("r", "m1", {"text": "secret"})
    gone = await timeline.delete("r", "m1")
    assert gone is not None
    assert gone.document is None
    assert await timeline.edit("r", "m1", {"text": "x"}) is None
    assert await timeline.delete("r", "m1") == gone
    assert await timeline.delete("r", "m9") is None


async def test_messages_of_other_rooms_are_not_told():
    timeline = MemoryTimeline()
    await timeline.append("r", "m1", {})
    await timeline.append("s", "m2", {})
    assert [entry.id for entry in await timeline.changed(["s"], after=0, limit=9)] == ["m2"]
    assert await timeline.get("s", "m1") is None


async def test_an_invite_opens_one_session_before_its_time_is_over():
    entrances = MemoryEntrances()
    later = NOW + timedelta(days=1)
    await entrances.invite("i1", "mara", expires_at=later)
    await entrances.invite("i2", "mara", expires_at=NOW)
    assert await entrances.redeem("i1", "s1", now=NOW, expires_at=later) == "mara"
    assert await entrances.redeem("i1", "s2", now=NOW, expires_at=later) is None
    assert await entrances.redeem("i2", "s3", now=NOW, expires_at=later) is None
    assert await entrances.person("s1", now=NOW) == "mara"
    assert await entrances.person("s1", now=later) is None
    assert await entrances.person("s2", now=NOW) is None


async def test_revoking_a_person_ends_invites_and_sessions():
    entrances = MemoryEntrances()
    later = NOW + timedelta(days=1)
    await entrances.invite("i1", "mara", expires_at=later)
    await entrances.invite("i2", "mara", expires_at=later)
    await entrances.invite("i3", "olga", expires_at=later)
    await entrances.redeem("i1", "s1", now=NOW, expires_at=later)
    assert await entrances.revoke("mara") == 2
    assert await entrances.person("s1", now=NOW) is None
    assert await entrances.redeem("i3", "s3", now=NOW, expires_at=later) == "olga"
    await entrances.leave("s3")
    assert await entrances.person("s3", now=NOW) is None


@pytest.fixture(params=["memory", "folder"])
def shelf(request, tmp_path):
    return Shelf(tmp_path / "files" if request.param == "folder" else None)


async def test_a_file_can_be_had_until_it_is_removed(shelf):
    await shelf.put("r.m1.0", b"abc")
    assert await shelf.read("r.m1.0", limit_bytes=3) == b"abc"
    with pytest.raises(ChannelError, match="larger"):
        await shelf.read("r.m1.0", limit_bytes=2)
    await shelf.remove("r.m1.0")
    await shelf.remove("r.m1.0")
    with pytest.raises(ChannelError, match="not there"):
        await shelf.read("r.m1.0", limit_bytes=3)


async def test_files_in_a_folder_are_for_the_daemon_alone_and_names_can_not_leave_it(tmp_path):
    shelf = Shelf(tmp_path / "files")
    await shelf.put("r.m1.0", b"abc")
    assert (tmp_path / "files" / "r.m1.0").stat().st_mode & 0o077 == 0
    with pytest.raises(ChannelError, match="no handle"):
        await shelf.read("../x", limit_bytes=3)


async def test_files_in_memory_are_bounded():
    shelf = Shelf(memory_bytes=5)
    await shelf.put("r.m1.0", b"abc")
    await shelf.put("r.m2.0", b"def")
    with pytest.raises(ChannelError):
        await shelf.read("r.m1.0", limit_bytes=3)
    assert await shelf.read("r.m2.0", limit_bytes=3) == b"def"


def test_a_newer_draft_replaces_the_older_and_the_whole_message_ends_it():
    live = Live()
    page = live.open("mara", ("r",))
    live.draft("r", "s1", {"room": "r", "reply": "m1", "html": "a"})
    live.draft("r", "s1", {"room": "r", "reply": "m1", "html": "ab"})
    assert [data["html"] for _, data in page.take()] == ["ab"]
    live.draft("r", "s1", {"room": "r", "reply": "m1", "html": "abc"})
    live.settled("r", "m1")
    assert page.take() == []
    assert live.open("mara", ("r",)).take() == []


def test_a_page_that_opens_late_sees_what_is_growing():
    live = Live()
    live.draft("r", "s1", {"room": "r", "reply": "m1", "html": "a"})
    assert len(live.open("mara", ("r",)).take()) == 1
    assert live.open("mara", ("other",)).take() == []


def test_a_private_word_reaches_its_person_only():
    live = Live()
    mara, olga, demo = live.open("mara", ("r",)), live.open("olga", ("r",)), live.open(None, ("r",))
    live.note("mara", "r", "t1", "Noted.")
    assert [len(page.take()) for page in (mara, olga, demo)] == [1, 0, 1]


def test_the_box_of_signs_is_bounded():
    live = Live()
    page = live.open("mara", ("r",))
    for number in range(1000):
        live.note("mara", "r", f"t{number}", "x")
    assert len(page.take()) <= 200
