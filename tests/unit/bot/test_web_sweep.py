"""What the chat has kept long enough leaves: words, files, and what lets people in (DUR-5)."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from bot.model.clearance import SEAL, Clearance
from bot.model.errors import ChannelError
from bot.model.output import Final, OutFile
from bot.ports.channel import Reply
from policy.boundary import Speech
from policy.decision import Audience
from policy.destination import Destination
from tests.browser.brain import open_desk
from tests.browser.visitor import upload, visit

CUSTOMERS = Reply(destination=Destination(platform="web", workspace="demo", channel="customers"))
HOUR = timedelta(hours=1)
MONTH = timedelta(days=30)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "files"


@pytest.fixture
async def desk(folder):
    async with open_desk(files=folder) as opened:
        yield opened


@pytest.fixture
async def page(desk):
    async with visit(desk) as visitor:
        yield visitor


async def sweep(desk, *, kept=MONTH):
    now = desk.clock()
    return await desk.chat.sweep(now=now, contents_before=now - kept)


def names(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def age(folder, name, by):
    then = (datetime.now(UTC) - by).timestamp()
    os.utime(folder / name, (then, then))


async def test_words_and_files_leave_together_when_their_time_is_over(desk, page, folder):
    old = await page.say("customers", "the old contract", who="mara", files=[upload("a.txt", b"abc")])
    desk.clock.ahead = MONTH
    young = await page.say("customers", "the new contract", who="mara", files=[upload("b.txt", b"abc")])
    assert len(names(folder)) == 2
    desk.clock.ahead = MONTH + HOUR
    async with page.stream(after=young["seq"]) as stream:
        assert await sweep(desk) == 2
        shown = await stream.until("message", id=old["id"])
    assert shown["deleted"] is True
    assert "text" not in shown
    assert names(folder) == {young["files"][0]["url"].rpartition("/")[2]}
    assert (await page.get(old["files"][0]["url"]))[0] == 404
    assert (await page.get(young["files"][0]["url"]))[1] == b"abc"
    assert await sweep(desk) == 0


async def test_files_of_the_agent_leave_in_the_same_way(desk, page, folder):
    answer = Final(text="here", files=(OutFile(name="list.csv", media_type="text/csv", content=b"a,b"),))
    (part,) = desk.chat.present(Speech.FINAL, answer, to=CUSTOMERS)
    await desk.chat.deliver(part, Clearance(SEAL, part, Audience.EXTERNAL))
    (message,) = await page.messages("customers")
    assert (await page.get(message["files"][0]["url"]))[1] == b"a,b"
    desk.clock.ahead = MONTH + HOUR
    assert await sweep(desk) == 2
    assert names(folder) == set()


async def test_a_file_whose_message_never_came_is_removed_when_nobody_can_be_waiting_any_more(desk, folder):
    for number in range(2):
        await desk.chat._shelf.put(f"customers.m{number}lost.0", b"abc")
    age(folder, "customers.m0lost.0", 2 * HOUR)
    assert await sweep(desk) == 1
    assert names(folder) == {"customers.m1lost.0"}


async def test_a_deleted_message_whose_file_survived_a_crash_loses_it_at_last(desk, page, folder):
    message = await page.say("customers", "mine", who="mara", files=[upload("a.txt", b"abc")])
    await desk.timeline.delete("customers", message["id"])  # and then the daemon died
    assert await sweep(desk) == 0
    desk.clock.ahead = 2 * HOUR
    assert await sweep(desk) == 1
    assert names(folder) == set()


async def test_a_short_retention_holds_for_files_too(desk, page, folder):
    await page.say("customers", "hello", who="mara", files=[upload("a.txt", b"abc")])
    desk.clock.ahead = timedelta(minutes=10)
    assert await sweep(desk, kept=timedelta(minutes=5)) == 2
    assert names(folder) == set()


async def test_sessions_and_invites_that_are_over_are_forgotten():
    async with open_desk(demo=False) as desk, visit(desk, enters_as="mara") as mara:
        await desk.chat.invite("olga")
        assert await sweep(desk) == 0
        await mara.state()
        desk.clock.ahead = MONTH
        assert await sweep(desk) == 2
        assert (await mara.get("/api/state"))[0] == 401


async def test_nobody_is_invited_to_an_address_that_is_not_known_yet(desk):
    desk.chat._url = ""
    with pytest.raises(ChannelError, match="not up yet"):
        await desk.chat.invite("mara")
