"""One request in the hands of its agent, until its end is being written."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.runtime.signs import Attention
from bot.runtime.work import Work

if TYPE_CHECKING:
    from bot.runtime.desk import RequestDesk


@dataclass(kw_only=True, slots=True, eq=False)
class Run:
    """A request whose turn has come.

    Attributes:
        work: the request.
        place: one of the places that its agent has.
        held: it has it, which it does while the agent works.
        asked: its agent has been asked; before that it can be withdrawn (PART-18).
        cut: what is noted where it does not come to an end of its own.
        parked: it waits for a person, and its conversation goes on without it.
        over: its end is being written, too late to stop it.
        task: does it.
        limits: of the agent's time, each with the seconds that were left when it came to rest.
        desk: of the agent.
        attention: the signs that people see.
        asking: how many questions are open.
        rested_s: seconds that it has rested so far.
        rests_since: when it came to rest.
    """

    work: Work
    place: asyncio.Semaphore
    held: bool = False
    asked: bool = False
    cut: str = "stopped"
    parked: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False
    task: "asyncio.Task[None]" = field(init=False)
    limits: dict[asyncio.Timeout, float | None] = field(default_factory=dict)
    desk: "RequestDesk | None" = None
    attention: Attention | None = None
    asking: int = 0
    rested_s: float = 0.0
    rests_since: float = 0.0

    @asynccontextmanager
    async def waiting_for_a_person(self) -> AsyncIterator[None]:
        """People take their time: meanwhile the agent's clock stands, its place is free and no typing sign shows."""
        self.asking += 1
        if self.asking == 1:
            await self._rest()
        try:
            yield
        except BaseException:  # stopped, or the daemon ends: it does not go on
            self.asking -= 1
            raise
        self.asking -= 1
        if not self.asking and not self.over:
            await self._resume()

    async def take_place(self) -> None:
        """Wait for a place and hold it."""
        await self.place.acquire()
        self.held = True

    def leave_place(self) -> None:
        """Give the place back, if it is held."""
        if self.held:
            self.held = False
            self.place.release()

    @contextmanager
    def timed(self, limit: asyncio.Timeout) -> Iterator[None]:
        """A limit of the agent's time, which stands while a person is asked."""
        self.limits[limit] = None
        if self.asking:
            self._stop_clock(limit)
        try:
            yield
        finally:
            del self.limits[limit]

    def _stop_clock(self, limit: asyncio.Timeout) -> None:
        when = limit.when()
        self.limits[limit] = None if when is None else when - asyncio.get_running_loop().time()
        limit.reschedule(None)

    async def _rest(self) -> None:
        self.rests_since = asyncio.get_running_loop().time()
        for limit in self.limits:
            self._stop_clock(limit)
        if self.attention is not None:
            await self.attention.rest()
        self.leave_place()
        self.parked.set()

    async def _resume(self) -> None:
        await self.take_place()
        now = asyncio.get_running_loop().time()
        self.rested_s += now - self.rests_since
        for limit, left_s in self.limits.items():
            if left_s is not None:
                limit.reschedule(now + left_s)
        if self.attention is not None:
            self.attention.resume()
