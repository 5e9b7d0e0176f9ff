"""Hydrogen, a Matrix web client, in Chromium: built from its npm package, served on loopback, used by a person."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from playwright.async_api import Locator, Page, async_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.interop.person import MODULES, NODE, need_node

HERE = Path(__file__).parent
HYDROGEN = MODULES / "hydrogen-view-sdk"
EMOJI = "noto-color-emoji-emoji-400-normal.woff2"  # whole: the parts of this font show no keycaps


class WebClient:
    """A person who looks at a room."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    async def enter(self, user: str, password: str) -> None:
        """Log in through the client's own form."""
        await self.page.locator("#username").fill(user)
        await self.page.locator("#password").fill(password)
        await self.page.get_by_role("button", name="Log In").click()
        await self.page.locator(".LeftPanel").wait_for()

    async def accept(self, room: str) -> None:
        """Follow an invite."""
        await self.page.locator(".RoomList li", has_text=room).click()
        await self.page.get_by_role("button", name="Accept").click()
        await self.page.locator(".RoomView .Timeline").wait_for()

    async def open(self, room: str) -> None:
        await self.page.locator(".RoomList li", has_text=room).click()
        await self.page.locator(".RoomView .Timeline").wait_for()

    async def say(self, words: str) -> None:
        composer = self.page.locator(".MessageComposer_input textarea")
        await composer.fill(words)
        await composer.press("Enter")

    def message(self, words: str) -> Locator:
        """The messages that show these words."""
        return self.page.locator(".Timeline_message", has_text=words)

    async def picture(self, path: Path) -> None:
        await self.page.evaluate("document.fonts.ready.then(() => null)")
        await self.page.screenshot(path=path)


@asynccontextmanager
async def web_client(folder: Path, *, homeserver: str) -> AsyncIterator[WebClient]:
    """Open the client's login page; it talks to this homeserver alone."""
    need_node()
    await build(folder)
    async with serving(folder) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        try:
            context = await browser.new_context(viewport={"width": 1100, "height": 1100}, locale="en-GB")
            client = WebClient(await context.new_page())
            await client.page.goto(f"{address}/index.html?homeserver={homeserver}")
            yield client
            assert client.problems == []
        finally:
            await browser.close()


async def build(folder: Path) -> None:
    """Bundle the page with its client into a folder."""
    of_node = ("crypto", "fs", "path")  # named in code that a browser never reaches
    arguments = (
        "--bundle",
        "--format=esm",
        "--log-level=error",
        *(f"--external:{name}" for name in of_node),
        f"--outfile={folder / 'app.js'}",
    )
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        str(MODULES / "esbuild" / "bin" / "esbuild"),
        str(HERE / "app.mjs"),
        *arguments,
        env={**os.environ, "NODE_PATH": str(MODULES)},  # the page does not stand beside the packages
    )
    async with asyncio.timeout(60):
        assert await process.wait() == 0


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """Serve the page on a free port; gives its address."""
    app = web.Application()
    files = {
        "/index.html": HERE / "index.html",
        "/app.js": folder / "app.js",
        "/sw.js": HYDROGEN / "lib-build" / "sw.js",
        "/emoji.woff2": MODULES / "@fontsource" / "noto-color-emoji" / "files" / EMOJI,
    }
    for path, file in files.items():
        app.router.add_get(path, _file(file))
    app.router.add_static("/assets", HYDROGEN / "asset-build" / "assets")
    app.router.add_static("/olm", MODULES / "@matrix-org" / "olm")
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _file(path: Path):
    async def answer(_request: web.Request) -> web.FileResponse:
        return web.FileResponse(path)

    return answer
