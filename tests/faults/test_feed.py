"""The platform's feed repeats itself and starts to count anew; the daemon takes each update once and misses none."""

import pytest

from tests.faults.process import BOB, GROUP, HANDLE, daemon


@pytest.mark.rule("DUR-1", "DUR-3")
@pytest.mark.parametrize("killed", [False, True], ids=["the-same-daemon", "after-a-kill"])
async def test_a_repeated_update_is_recognised(api, tmp_path, killed):
    async with daemon(tmp_path, api) as process:
        await process.start()
        first = api.account.updates.next_id
        messages = [api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} {n}") for n in range(3)]
        await process.settled()
        if killed:
            await process.kill()
        for n, message in enumerate(messages):
            api.push({"update_id": first + n, "message": message}, again=True)
        if killed:
            await process.start()
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} 3")
        await api.wait_sent(GROUP, 4)
        await process.settled()
        assert api.texts(GROUP) == [f"{HANDLE} {n}" for n in range(4)]
        assert sorted(process.books.updates()) == list(range(first, first + 4))
        assert await process.stop() == 0
        assert process.complaints() == []


@pytest.mark.rule("DUR-1")
@pytest.mark.parametrize("killed", [False, True], ids=["the-same-daemon", "after-a-kill"])
@pytest.mark.parametrize("again_at", [3, 2_000_000_000], ids=["lower", "higher"])
async def test_numbers_that_start_anew_after_a_quiet_week_cost_nothing(api, tmp_path, killed, again_at):
    async with daemon(tmp_path, api) as process:
        await process.start()
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} before")
        await process.settled()
        if killed:
            await process.kill()
        api.restart_update_ids(again_at)
        for n in range(3):
            api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} {n}")
        if killed:
            await process.start()
        await api.wait_sent(GROUP, 4)
        await process.settled()
        assert api.texts(GROUP) == [f"{HANDLE} {words}" for words in ("before", 0, 1, 2)]
        assert await process.stop() == 0
        assert process.complaints() == []
