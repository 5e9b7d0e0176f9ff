"""The outbox's way out: parts of one lane leave in their order, lanes don't wait for each other (DUR-1, DUR-2).

A part's whole life (waiting for its time, being tried again, being re-targeted) owns its lane, so that nothing
overtakes it. Before the call begins SENDING is durable; whatever interrupts it from then on is UNKNOWN after a restart
and is not repeated.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from bot.deliveries.door import Door, Place
from bot.model.clearance import Clearance
from bot.model.part import Delivered, Moved, Part, Receipt, Rejected, TryLater, Unclear
from bot.observability.log import get_logger
from bot.ports.channel import Channel
from bot.ports.store import Outbox, OutboxState, Waiting
from policy.boundary import Basis, Withheld
from policy.decision import Audience
from policy.event import Chat

MAX_ATTEMPTS = 8
"""Tries of a part that certainly did not go out; waits that the platform asked for don't count."""

_BOUND = frozenset({Basis.DRAFT, Basis.GRANT})
Observer = Callable[[Waiting, OutboxState, str], None]
log = get_logger(__name__)


class Dispatcher:
    """Carries parts from the outbox to their channels."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        channels: Mapping[str, Channel],
        door: Door,
        clock: Callable[[], datetime],
        observer: Observer = lambda _waiting, _state, _code: None,
    ) -> None:
        """Args: channels: by account. observer: is told what came of each part."""
        self._outbox = outbox
        self._channels = channels
        self._door = door
        self._clock = clock
        self._observer = observer
        self._lanes: dict[str, deque[Waiting]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    async def recover(self) -> list[int]:
        """Take up what an earlier process left, of all channels before anything new can enter the outbox.

        Returns:
            The parts whose call was interrupted, so that nobody knows whether they arrived (DUR-2).
        """
        now = self._clock()
        unknown: list[int] = []
        waiting: list[Waiting] = []
        for account in self._channels:
            unknown += await self._outbox.interrupted(account, now=now)
            waiting += await self._outbox.pending(account, now=now)
        self.enqueue(waiting)
        return unknown

    def enqueue(self, parts: Sequence[Waiting]) -> None:
        """Parts that are durable in the outbox, in order."""
        for waiting in parts:
            lane = waiting.new.lane
            queue = self._lanes.get(lane)
            if queue is None:
                queue = self._lanes[lane] = deque()
            queue.append(waiting)
            if lane not in self._tasks and not self._stopping:
                self._tasks[lane] = asyncio.create_task(self._drain(lane, queue), name=f"outbox {len(self._tasks)}")

    async def show(self, part: Part, place: Place, *, written_for: Audience) -> Receipt | Withheld:
        """A passing sign (typing, a growing draft, the end of a spinner): through the door, but not kept."""
        cleared = self._door.clear(part, place, Basis.REQUEST, written_for=written_for)
        if not isinstance(cleared, Clearance):
            return cleared
        return await self._channels[part.destination.account].deliver(part, cleared)

    @property
    def waiting(self) -> int:
        """Parts in memory that have not ended."""
        return sum(len(queue) for queue in self._lanes.values())

    @property
    def open_lanes(self) -> int:
        """How many conversations have parts on their way."""
        return len(self._lanes)

    async def idle(self) -> None:
        """Return when nothing is on its way."""
        while self._tasks:
            await asyncio.wait(self._tasks.values(), return_when=asyncio.FIRST_COMPLETED)

    async def close(self, *, grace_s: float) -> None:
        """Finish the calls that have begun, for at most ``grace_s`` seconds; what waits stays in the outbox."""
        self._stopping = True
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _drain(self, lane: str, queue: deque[Waiting]) -> None:
        try:
            while queue and not self._stopping:
                following = await self._one(queue[0])
                if following is None:
                    queue.popleft()
                elif isinstance(following, Waiting):
                    queue[0] = following
                elif isinstance(following, Moved):
                    await self._retarget(queue, following)
                else:
                    await self._give_up(queue, following)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the store failed: the lane rests, a restart takes it up again
            log.error("lane_stopped", error=type(error).__name__)
        finally:
            if not queue or self._stopping:
                self._lanes.pop(lane, None)
            self._tasks.pop(lane, None)

    async def _one(self, waiting: Waiting) -> Waiting | Moved | Rejected | None:
        """One try. Returns None: ended; Waiting: the same part again; Moved or Rejected: concerns the whole lane."""
        new = waiting.new
        channel = self._channels[new.part.destination.account]
        if waiting.not_before is not None:
            await self._until(waiting.not_before)
        turn_s = channel.turn_s(new.part)
        if turn_s > 0:
            await self._until(self._clock() + timedelta(seconds=turn_s))
        if self._stopping:
            return waiting
        place = Place(destination=new.part.destination, chat=Chat(new.chat), person=new.person)
        cleared = self._door.clear(new.part, place, new.basis, written_for=new.audience)
        if not isinstance(cleared, Clearance):
            await self._end(waiting, OutboxState.SKIPPED, cleared.value)
            return None
        await self._outbox.begin(waiting.id)
        receipt = await channel.deliver(new.part, cleared)
        attempts = waiting.attempts + 1
        match receipt:
            case Delivered(messages=messages):
                await self._end(waiting, OutboxState.DELIVERED, "delivered", messages)
                return None
            case Rejected(code=code):
                plain = channel.unformatted(new.part) if code == "formatting" else None
                if plain is not None:
                    log.warning("formatting_dropped")
                    await self._outbox.replace(waiting.id, plain)
                    return replace(waiting, new=replace(new, part=plain), attempts=attempts)
                await self._end(waiting, OutboxState.REJECTED, code)
                return receipt if receipt.channel_gone else None
            case TryLater(after_s=after_s, flood=flood):
                if not flood and attempts >= MAX_ATTEMPTS:
                    await self._end(waiting, OutboxState.REJECTED, "gave_up")
                    return None
                until = self._clock() + timedelta(seconds=after_s)
                await self._outbox.postpone(waiting.id, until=until, flood=flood)
                return replace(waiting, attempts=waiting.attempts if flood else attempts, not_before=until)
            case Moved():
                return receipt
            case Unclear(code=code):
                if new.unclear == "resend" and attempts < MAX_ATTEMPTS:
                    until = self._clock() + timedelta(seconds=1)
                    await self._outbox.postpone(waiting.id, until=until, flood=False)
                    return replace(waiting, attempts=attempts, not_before=until)
                await self._end(waiting, OutboxState.UNKNOWN, code)
                return None
            case _:
                assert_never(receipt)

    async def _until(self, moment: datetime) -> None:
        """Wait until a moment, or until the daemon ends; a clock that is set back makes it no longer."""
        time = asyncio.get_running_loop().time
        latest = time() + (moment - self._clock()).total_seconds()
        while not self._stopping:
            rest_s = min((moment - self._clock()).total_seconds(), latest - time())
            if rest_s <= 0:
                return
            await asyncio.sleep(min(rest_s, 1.0))

    async def _end(self, waiting: Waiting, state: OutboxState, code: str, messages: Sequence[str] = ()) -> None:
        await self._outbox.end(waiting.id, state, code=code, messages=messages, now=self._clock())
        self._observer(waiting, state, code)

    async def _retarget(self, queue: deque[Waiting], moved: Moved) -> None:
        """IDENT-4: what waits for the old id goes to the new one, in order; trust does not go with it.

        Nor does what an operator has allowed for the old one and no other (OUT-5).
        """
        old = queue[0].new.part.destination
        channel = self._channels[old.account]
        await self._outbox.moved(old.account, old.channel, moved.channel, now=self._clock())
        for waiting in [one for one in queue if one.new.basis in _BOUND]:
            await self._end(waiting, OutboxState.REJECTED, "moved")
            queue.remove(waiting)
        for index in range(len(queue)):  # what is put behind them meanwhile finds its own way
            waiting = queue[index]
            part = channel.retarget(waiting.new.part, moved.channel)
            await self._outbox.replace(waiting.id, part)
            queue[index] = replace(waiting, new=replace(waiting.new, part=part))

    async def _give_up(self, queue: deque[Waiting], gone: Rejected) -> None:
        """Nothing can be sent there until membership changes: what waits fails now instead of one by one."""
        queue.popleft()
        while queue:
            await self._end(queue[0], OutboxState.REJECTED, gone.code)
            queue.popleft()
