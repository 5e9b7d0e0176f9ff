"""The disk is full: nothing is acknowledged that is not stored, and when there is room again everything goes on by itself.

The system's limit on the size of a file plays the disk: SQLite's log can't grow beyond it.
"""

import resource

import pytest

from tests.faults.process import BOB, GROUP, HANDLE, Process, daemon

LONGEST_S = 10.0
ROOM = resource.RLIM_INFINITY
STEPS = [0, 4, 8, 16, 40]
"""Pages for which there is still room: it runs out at the first step of an event or at any later one."""
PAGE = 4096 + 24


def limit(process: Process, size: int) -> None:
    """No file of the daemon may grow beyond ``size`` bytes."""
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, ROOM))


@pytest.mark.rule("DUR-1", "DUR-3")
@pytest.mark.parametrize("pages", STEPS)
async def test_with_a_full_disk_nothing_is_acknowledged_unstored_and_everything_goes_on_when_there_is_room(
    api,
    tmp_path,
    pages,
):
    async with daemon(tmp_path, api) as process:
        await process.start()
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} 0")
        await process.settled()
        log = tmp_path / "data" / "discreet.db-wal"
        limit(process, log.stat().st_size + pages * PAGE)
        first = api.account.updates.next_id
        updates = set(range(first, first + 12))
        for n in range(1, 13):
            api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} {n}")
        await process.until(lambda _: process.said("store_failing"))
        assert updates - set(api.pending) <= set(process.books.updates())
        limit(process, ROOM)
        await process.settled()
        assert api.texts(GROUP) == [f"{HANDLE} {n}" for n in range(13)]
        assert process.said("store_recovered")
        assert await process.stop() == 0
        process.check_journal()


@pytest.mark.rule("DUR-3")
@pytest.mark.parametrize("pages", [0, 16])
async def test_a_daemon_with_a_full_disk_ends_in_time_and_loses_nothing(api, tmp_path, pages):
    async with daemon(tmp_path, api) as process:
        await process.start()
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} 0")
        await process.settled()
        limit(process, (tmp_path / "data" / "discreet.db-wal").stat().st_size + pages * PAGE)
        for n in range(1, 13):
            api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} {n}")
        await process.until(lambda _: process.said("store_failing"))
        assert await process.stop(within_s=LONGEST_S) == 0
        await process.start()
        await process.settled()
        doubtful = [part.text for part in process.books.answers() if part.state == "unknown"]
        shown = api.texts(GROUP)
        assert [words for n in range(13) if (words := f"{HANDLE} {n}") in shown or words not in doubtful] == shown
        assert len(set(shown)) == len(shown)
        assert await process.stop() == 0
        process.check_journal()
