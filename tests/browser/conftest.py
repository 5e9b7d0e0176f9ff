"""Chromium on the page. Pictures go to a temporary folder, or to the one that DISCREET_SCREENSHOTS names."""

import asyncio
import os
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.browser.brain import Desk, open_desk

PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


@dataclass
class Stage:
    url: str


class Screen:
    """A page in Chromium that is watched: an error in its console or a refusal by its policy fails the test."""

    def __init__(self, page: Page, desk: Desk | Stage, pictures: Path) -> None:
        self.page = page
        self.desk = desk
        self.problems: list[str] = []
        self._pictures = pictures
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def room(self, name):
        return self.page.locator(f'[data-room="{name}"]')

    async def say(self, room, text, *, who=None):
        pane = self.room(room)
        if who is not None:
            await pane.locator(".composer select").select_option(who)
        await pane.locator(".composer textarea").fill(text)
        await pane.locator(".composer textarea").press("Enter")

    async def sees(self, room, text, selector=".message"):
        await self.room(room).locator(selector, has_text=text).first.wait_for()

    async def follows(self, room):
        """The newest message is in sight."""
        await self.page.wait_for_function(
            """(room) => {
                const box = document.querySelector(`[data-room="${room}"] .scroll`);
                return box.scrollHeight - box.scrollTop - box.clientHeight < 2;
            }""",
            arg=room,
        )

    async def picture(self, name):
        await self.page.screenshot(path=self._pictures / f"{name}.png")

    async def overflow(self):
        """Pixels that the page is wider than its window."""
        return await self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")

    async def check(self):
        violations = await self.page.evaluate("window.violations ?? []")
        assert violations + self.problems == []

    def _console(self, kind, text):
        if kind in ("error", "warning"):
            self.problems.append(text)


@asynccontextmanager
async def open_stage(run):
    """A whole gateway that tells its address when it serves."""
    address = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(run(port=0, announce=address.set_result), name="stage")
    try:
        async with asyncio.timeout(30):
            await asyncio.wait([running, address], return_when=asyncio.FIRST_COMPLETED)
        assert address.done(), running
        yield Stage(url=address.result())
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def screen(tmp_path):
    """Opens a desk and a page on it: ``async with screen() as page``."""
    if not Path(CHROMIUM).exists():
        reason = "Chromium is missing; on Debian: apt-get install chromium"
        if os.environ.get("DISCREET_NO_SKIP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    pictures = Path(os.environ.get("DISCREET_SCREENSHOTS") or tmp_path)

    @asynccontextmanager
    async def opened(*, width=1440, height=860, person=None, dark=False, touch=False, stage=None, **settings):
        opening = open_stage(stage) if stage is not None else open_desk(demo=person is None, **settings)
        async with opening as desk, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
            try:
                context = await browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme="dark" if dark else "light",
                    has_touch=touch,
                    is_mobile=touch,
                    locale="en-GB",
                )
                await context.add_init_script(WATCH)
                shown = Screen(await context.new_page(), desk, pictures)
                if person is None:
                    await shown.page.goto(desk.url)
                else:
                    await shown.page.goto(await desk.chat.invite(person))
                    await shown.page.locator("#enter").click()
                await shown.page.locator("#state.live").wait_for()
                yield shown
                await shown.check()
            finally:
                if stage is None:
                    desk.brain.goes_on.set()
                await browser.close()

    return opened
