import os
from datetime import UTC, datetime, timedelta

import pytest

from bot.channels.web.live import Live
from bot.channels.web.shelf import Shelf
from bot.model.errors import ChannelError

HOUR = timedelta(hours=1)


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


async def test_files_are_told_apart_by_when_they_came(shelf):
    assert await shelf.kept(before=datetime.now(UTC) + HOUR) == []
    await shelf.put("r.m1.0", b"abc")
    assert await shelf.kept(before=datetime.now(UTC) - HOUR) == []
    assert await shelf.kept(before=datetime.now(UTC) + HOUR) == ["r.m1.0"]


async def test_what_a_crash_left_half_written_is_removed_and_what_is_not_ours_is_left_alone(tmp_path):
    shelf = Shelf(tmp_path)
    for name in ("r.m1.0.part", "r.m2.0.part", "notes.txt", ".part"):
        (tmp_path / name).write_bytes(b"abc")
    long_ago = (datetime.now(UTC) - 2 * HOUR).timestamp()
    for name in ("r.m1.0.part", "notes.txt", ".part"):
        os.utime(tmp_path / name, (long_ago, long_ago))
    assert await shelf.kept(before=datetime.now(UTC) - HOUR) == []
    assert {path.name for path in tmp_path.iterdir()} == {"r.m2.0.part", "notes.txt", ".part"}


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
