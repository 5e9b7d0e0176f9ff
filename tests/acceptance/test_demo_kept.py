"""`discreet demo --keep FOLDER` is killed between two clarifications and between an answer and what comes of it (CLAR)."""

import asyncio
import re
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.acceptance.commands import environment
from tests.browser.visitor import Stream

rule = pytest.mark.rule


class Page:
    """The page of the demo over HTTP."""

    def __init__(self, url, http, process):
        self.url, self.http, self.process = url, http, process
        self._nonces = 0

    async def post(self, path, **body):
        self._nonces += 1
        sent = {"nonce": f"{self.process.pid}-{self._nonces}".rjust(32, "0"), **body}
        async with self.http.post(self.url + path, json=sent, headers={"Origin": self.url}) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def shows(self, words, *, true=lambda one: True):
        async with asyncio.timeout(30), self.http.get(f"{self.url}/api/stream?after=0") as answer:
            stream = Stream(answer)
            while True:
                one = await stream.until("message", room="customer")
                if words in one["text"].replace("*", "") and true(one):
                    return one

    async def tap(self, shown, label):
        token = next(button["token"] for button in shown["card"]["buttons"] if button["label"] == label)
        await self.post(f"/api/rooms/customer/messages/{shown['id']}/tap", token=token, **{"as": "carla"})

    async def say(self, text, **more):
        path = "/api/rooms/customer/messages"
        mentions = ["desk"] if "@desk" in text else []
        return (await self.post(path, text=text, mentions=mentions, **{"as": "carla"}, **more))["message"]


@asynccontextmanager
async def demo(folder):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "demo", "--port", "0", "--keep", str(folder / "kept")),
        cwd=folder,
        env=environment(folder, TMPDIR=str(folder)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60), aiohttp.ClientSession() as http:
            found = None
            while found is None:
                line = await process.stdout.readline()
                assert line, (await process.stderr.read()).decode()
                found = re.fullmatch(r"\s+(http://127\.0\.0\.1:\d+)\S*\s+", line.decode())
            yield Page(found[1], http, process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def noted(*notes):
    return lambda one: (one.get("decision") or {}).get("notes") == list(notes)


@rule("CLAR-7", "CLAR-5", "DUR-3")
async def test_the_demo_goes_on_where_it_was_killed_and_shows_the_version_of_the_plan_beside_each_step(tmp_path):
    async with demo(tmp_path) as page:
        asked = await page.say("@desk a tasting menu, please")
        await page.shows("Which composition")
        await page.shows(asked["text"], true=noted("plan_version:1"))
    async with demo(tmp_path) as page:
        await page.tap(await page.shows("Which composition"), "Beta")
        await page.shows("Which composition", true=noted("plan_version:2", "clarification:answer"))
        await page.shows("what goes with it")
    async with demo(tmp_path) as page:
        second = await page.shows("what goes with it")
        said = await page.say("the last one", reply=second["id"])
        await page.shows("tasting menu Beta with A glass of each is noted")
        await page.shows(said["text"], true=noted("plan_version:3", "clarification:answer"))
        await page.shows(asked["text"], true=noted("plan_version:3"))
        first = await page.shows("Which composition")
        assert noted("plan_version:2", "clarification:answer")(first), "it is there still"
    assert {one.name for one in tmp_path.iterdir()} == {"kept"}
