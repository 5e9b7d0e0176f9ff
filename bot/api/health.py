"""The health page: ``/healthz``, ``/readyz``, ``/metrics`` (OPS-4)."""

import asyncio

from bot.observability.health import Health, answers
from bot.observability.log import HTTP, get_logger

log = get_logger(__name__)


async def serve(health: Health, host: str, port: int) -> None:
    """Serve until cancelled. A port that is taken is told and costs nothing but the page."""
    from aiohttp import web

    application = web.Application()
    for path, answer in answers(health).items():
        application.router.add_get(path, answer)
    runner = web.AppRunner(application, access_log=None, logger=HTTP, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            log.error("health_page_failed", port=port, cause=error.strerror)
            return
        log.info("health_page", host=host, port=port)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
