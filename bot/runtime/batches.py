"""Open batches.

Parts are collected until it is quiet (PART-8). The rules stand in policy.bursts; here are the timers.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from bot.model.inbound import Reading, Stored
from policy.bursts import Batch, batch_key, extend, joins, open_batch
from policy.event import Event
from policy.ruleset import Burst

Parts = list[tuple[Stored, Reading]]


@dataclass(kw_only=True, slots=True)
class _Open:
    batch: Batch
    parts: Parts = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Batches:
    """The batches that are open now, by key."""

    def __init__(self, *, clock: Callable[[], datetime], due: Callable[[Parts], Awaitable[None]]) -> None:
        """Args: due: is given the parts of a batch that is whole."""
        self._clock = clock
        self._due = due
        self._open: dict[str, _Open] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def key(self, event: Event) -> str:
        """The key under which an event would be collected."""
        return batch_key(event)

    def takes(self, event: Event) -> bool:
        """Whether an event is a further part of an open batch."""
        current = self._open.get(batch_key(event))
        return current is not None and joins(current.batch, event)

    def add(self, stored: Stored, reading: Reading, burst: Burst) -> None:
        """Collect a part that is recorded as deferred."""
        event = reading.event
        key = batch_key(event)
        now = self._clock()
        current = self._open.get(key)
        if current is None:
            current = self._open[key] = _Open(batch=open_batch(event, now=now))
        else:
            current.batch = extend(current.batch, event, now=now)
        current.parts.append((stored, reading))
        if current.timer is not None:
            current.timer.cancel()
        rest_s = max(0.0, (current.batch.due_at(burst) - now).total_seconds())
        current.timer = asyncio.get_running_loop().call_later(rest_s, self._close, key)

    def withdraw(self, message: str, lane_of: Event) -> list[int]:
        """A message was deleted: its part leaves the batch; returns the rows of the parts that left."""
        gone: list[int] = []
        for current in self._open.values():
            for stored, reading in list(current.parts):
                if reading.event.message == message and reading.event.destination.room == lane_of.destination.room:
                    current.parts.remove((stored, reading))
                    gone.append(stored.id)
        return gone

    def end(self, event: Event) -> list[Parts]:
        """The batches of whoever wrote an event, there where it was written, are closed; returns their parts."""
        ended: list[Parts] = []
        for key, current in list(self._open.items()):
            first = current.parts[0][1].event if current.parts else None
            if first is None or event.sender is None:
                continue
            if (first.destination, first.sender) == (event.destination, event.sender):
                if current.timer is not None:
                    current.timer.cancel()
                del self._open[key]
                ended.append(sorted(current.parts, key=lambda part: part[0].id))
        return ended

    def __len__(self) -> int:
        return len(self._open)

    async def idle(self) -> None:
        """Return when every batch that was due is settled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Stop the timers; open batches are durable as deferred rows."""
        for current in self._open.values():
            if current.timer is not None:
                current.timer.cancel()
        self._open.clear()
        await self.idle()

    async def cancel(self) -> None:
        """Stop now."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _close(self, key: str) -> None:
        current = self._open.pop(key)
        if current.parts:
            parts = sorted(current.parts, key=lambda part: part[0].id)
            task = asyncio.create_task(self._settle(parts), name="batch")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _settle(self, parts: Parts) -> None:
        await self._due(parts)
