"""Serial work by key: items of one lane in their order, lanes side by side."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from bot.observability.log import get_logger

T = TypeVar("T")
log = get_logger(__name__)


class Lanes(Generic[T]):
    """Keyed queues, each drained by one task while it has items."""

    def __init__(self, name: str, work: Callable[[T], Awaitable[None]]) -> None:
        """Args: work: does one item; an error in it ends that item, never the lane."""
        self._name = name
        self._work = work
        self._queues: dict[str, deque[T]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._closed = False

    def push(self, lane: str, item: T) -> None:
        """Put an item at the end of its lane."""
        queue = self._queues.get(lane)
        if queue is not None:
            queue.append(item)
            return
        if self._closed:
            return
        self._queues[lane] = queue = deque((item,))
        self._tasks[lane] = asyncio.create_task(self._drain(lane, queue), name=self._name)

    def drop(self, lane: str, unwanted: Callable[[T], bool]) -> list[T]:
        """Take waiting items out of a lane; returns them."""
        queue = self._queues.get(lane)
        if queue is None:
            return []
        dropped = [item for item in queue if unwanted(item)]
        for item in dropped:
            queue.remove(item)
        return dropped

    def __len__(self) -> int:
        return len(self._queues)

    @property
    def waiting(self) -> int:
        """Items that have not begun."""
        return sum(len(queue) for queue in self._queues.values())

    async def idle(self) -> None:
        """Return when every lane is empty."""
        while self._tasks:
            await asyncio.wait(self._tasks.values(), return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        """Stop after what is being done; waiting items are left to the store."""
        self._closed = True
        for queue in self._queues.values():
            queue.clear()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def cancel(self) -> None:
        """Stop now."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain(self, lane: str, queue: deque[T]) -> None:
        try:
            while queue:
                item = queue.popleft()
                try:
                    await self._work(item)
                except Exception as error:  # noqa: BLE001 - one bad item must not stop the ones behind it
                    log.error("item_failed", lanes=self._name, error=type(error).__name__)
        finally:
            self._queues.pop(lane, None)
            self._tasks.pop(lane, None)
