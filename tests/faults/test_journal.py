"""The journal stays a chain however its daemon ends, and only one daemon at a time writes it."""

import random

import pytest

from tests.faults.crowd import policy, writing
from tests.faults.process import BOB, GROUP, HANDLE, daemon


@pytest.mark.rule("DUR-3", "DUR-4")
async def test_the_journal_is_whole_right_after_each_kill_while_it_grows(api, tmp_path):
    async with daemon(tmp_path, api, policy=policy()) as process:
        grown = [0]
        async with writing(api, random.Random(7)):
            for _ in range(4):
                await process.start()
                await process.until(lambda books: sum(books.journaled("sent", "state").values()) > grown[-1] + 20)
                await process.kill()
                process.check_journal()  # nobody has opened the store for writing since
                grown.append(sum(process.books.journaled("sent", "state").values()))
        assert grown == sorted(set(grown))
        assert process.complaints() == []


@pytest.mark.rule("DUR-3")
async def test_a_second_daemon_on_the_same_store_is_refused_and_the_first_goes_on(api, tmp_path):
    async with daemon(tmp_path, api) as process:
        await process.start()
        polls = api.totals["getUpdates"]
        second = process.command("run")
        assert second.returncode == 2
        assert "another discreet already runs" in second.stderr
        api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} still there?")
        await api.wait_sent(GROUP)
        assert api.texts(GROUP) == [f"{HANDLE} still there?"]
        assert api.totals["getUpdates"] <= polls + 2
        await process.kill()
        await process.start()  # a killed daemon's lock is no hindrance
        assert await process.stop() == 0
