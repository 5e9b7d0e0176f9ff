"""The web server of hosted forms, as a service of the daemon."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.config.errors import ConfigError
from bot.config.secret import Secret
from bot.observability.log import HTTP, get_logger
from bot.ports.questions import Questions

if TYPE_CHECKING:
    from bot.approvals.passkeys import Passkeys
    from bot.pages.rendering import Markup

log = get_logger(__name__)


def prefix_of(public_url: str) -> str:
    """The path of a public address, without a slash at its end; "" for none.

    Raises:
        ConfigError: it is no address of a place on the web.
    """
    parts = urlsplit(public_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(
            "pages: public_url is an address such as https://forms.example.org or https://example.org/ask"
        )
    return parts.path.rstrip("/")


async def serve(
    questions: Questions,
    *,
    host: str,
    port: int,
    public_url: str,
    markup: "Markup",
    clock: Callable[[], datetime],
    telegram: Sequence[Secret] = (),
    proxies: Sequence[str] | None = None,
    bound: Callable[[int], None] = lambda _: None,
    passkeys: "Passkeys | None" = None,
) -> None:
    """Serve until cancelled. A port that is taken is told and costs nothing but the pages.

    Whether the public address leads here is looked at meanwhile, and told if it does not.

    Args:
        questions: what is asked and who has answered.
        host: to bind.
        port: to bind; 0 for a free one.
        public_url: the address under which people reach the pages, with the path that a proxy puts before them.
        markup: the agent's Markdown as HTML that can do nothing.
        clock: gives aware times.
        telegram: tokens of the bots whose Mini Apps may open the pages; none: there are no such pages.
        proxies: networks of proxies whose ``X-Forwarded-For`` is believed; None: this machine.
        bound: is told the port.
        passkeys: of operators; None: there are no pages for them.

    Raises:
        ConfigError: ``public_url`` is no address.
    """
    prefix = prefix_of(public_url)
    from aiohttp import web

    from bot.pages.miniapp import MiniApp
    from bot.pages.reach import Reach
    from bot.pages.site import Site

    reach = Reach(public_url)

    site = Site(
        questions,
        prefix=prefix,
        markup=markup,
        clock=clock,
        answer_self=reach.answer,
        mini_app=MiniApp(telegram, clock=clock) if telegram else None,
        proxies=proxies,
        passkeys=passkeys,
    )
    runner = web.AppRunner(site.application(), access_log=None, logger=HTTP, shutdown_timeout=2.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            log.error("pages_failed", port=port, cause=error.strerror)
            return
        bound(runner.addresses[0][1])
        log.info("pages", host=host, port=runner.addresses[0][1])
        async with asyncio.TaskGroup() as around:
            around.create_task(reach.check(), name="pages self-check")
            await asyncio.Event().wait()
    finally:
        await runner.cleanup()
