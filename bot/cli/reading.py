"""Looking into the store from beside a running daemon: read, never written."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
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

        async with AsyncExitStack() as stack:
            reader: Any = open_reader(config)
            if inspect.isawaitable(reader):
                reader = await reader
            if hasattr(reader, "__aenter__"):
                reader = await stack.enter_async_context(reader)
            elif hasattr(reader, "close"):
                stack.push_async_callback(reader.close)
            return await question(reader)

    return asyncio.run(ask())
