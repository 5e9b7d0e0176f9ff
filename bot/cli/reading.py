"""Looking into the store from beside a running daemon: read, never written."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from bot.config.settings import Config

Found = TypeVar("Found")


def read(config: Config, question: Callable[[Any], Awaitable[Found]]) -> Found:
    """Ask the store one thing.

    Args:
        config: names the store.
        question: asks the reader of :func:`bot.wiring.open_reader`.

    Raises:
        StoreError: there is no store yet, or it can't be read.
    """

    async def ask() -> Found:
        from bot.wiring import open_reader

        reader = await open_reader(config)
        try:
            return await question(reader)
        finally:
            await reader.close()

    return asyncio.run(ask())
