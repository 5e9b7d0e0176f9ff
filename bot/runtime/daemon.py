"""The daemon's life: what starts in which order, what is watched, and how it ends without losing anything."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from bot.approvals.passkeys import Passkeys
from bot.approvals.room import ApprovalRoom
from bot.approvals.saying import Saying
from bot.clarifications.room import ClarificationRoom
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.grants import GrantRoom
from bot.deliveries.schedule import Schedule
from bot.model.errors import ChannelError, StoreError
from bot.model.part import Part
from bot.observability.health import Health, Level
from bot.observability.log import get_logger
from bot.observability.metrics import part_ended, policy_reloaded
from bot.observability.systemd import READY, STOPPING, feed_watchdog, notify, watchdog_s
from bot.ports.agent import Agent
from bot.ports.channel import Channel
from bot.ports.store import OutboxState, Overview, Waiting
from bot.questions.room import QuestionRoom
from bot.runtime.gateway import Gateway
from bot.runtime.gauges import measure
from bot.runtime.inforce import Loaded, PolicyInForce, Refused
from bot.runtime.reports import Reports
from bot.runtime.worker import Worker
from bot.texts.codes import Notice

log = get_logger(__name__)

SWEEP_EVERY_S = 600.0
LOOK_EVERY_S = 1.0
_TROUBLE: Final = {
    "unreachable": "the platform can't be reached",
    "conflict": "another process takes this bot's events",
    "store": "events can't be stored",
    "logged_out": "it is logged out",
}


class Sweeper(Protocol):
    """Erases what has been kept long enough (DUR-5)."""

    async def __call__(self, *, now: datetime, contents_before: datetime) -> int:
        """Returns how much is gone."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Crew:
    """Everything that :mod:`bot.wiring` has put together."""

    policy: PolicyInForce
    overview: Overview
    sweepers: Sequence[Sweeper]
    channels: Mapping[str, Channel]
    agents: Sequence[Agent]
    gateway: Gateway
    worker: Worker
    questions: QuestionRoom
    approvals: ApprovalRoom
    passkeys: Passkeys
    saying: Saying
    grants: GrantRoom
    schedule: Schedule
    clarifications: ClarificationRoom
    dispatcher: Dispatcher
    reports: Reports
    health: Health
    clock: Callable[[], datetime]
    contents_retention: timedelta
    services: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()


class Daemon:
    """Runs a crew until it is told to stop or no channel is left."""

    def __init__(self, crew: Crew, *, stop: asyncio.Event | None = None) -> None:
        """Args: stop: ends the daemon when it is set."""
        self._crew = crew
        self._stop = asyncio.Event() if stop is None else stop
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: list[ChannelError] = []
        self._told: set[asyncio.Task[int]] = set()

    @property
    def crew(self) -> Crew:
        """What it runs."""
        return self._crew

    @property
    def failures(self) -> tuple[ChannelError, ...]:
        """Why channels could not go on."""
        return tuple(self._failed)

    def stop(self) -> None:
        """End in order; may be called from a signal handler."""
        self._stop.set()

    async def start(self) -> None:
        """Take up what is left, then open the doors."""
        crew = self._crew
        unknown = await crew.dispatcher.recover()
        for account in crew.channels:
            await crew.gateway.start(account)
        for account, channel in crew.channels.items():
            crew.health.set(self._name(account), Level.STARTING)
            self._spawn(self._channel(account, channel), self._name(account))
        self._spawn(self._look(), "look")
        self._spawn(crew.policy.watch(self._policy_changed), "policy")
        self._spawn(self._sweep(), "sweep")
        self._spawn(measure(crew.overview, crew.gateway, crew.worker, crew.dispatcher, crew.approvals), "gauges")
        for service in crew.services:
            self._spawn(service(), "service")
        every_s = watchdog_s()
        if every_s is not None:
            self._spawn(feed_watchdog(lambda: crew.health.alive, every_s=every_s), "watchdog")
        if unknown:
            await self._tell_interrupted(unknown)
        notify(READY)
        log.info("started", channels=len(crew.channels))

    async def run(self) -> None:
        """Start, run until told to stop, end in order.

        Raises:
            ChannelError: no channel could go on.
        """
        await self.start()
        try:
            await self._stop.wait()
        finally:
            await self.close()
        if self._failed:
            raise self._failed[0]

    async def close(self, *, grace_s: float = 7.0) -> None:
        """Stop taking in, let what has begun end, leave the rest in the store."""
        crew = self._crew
        notify(STOPPING)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await crew.gateway.close(grace_s=grace_s / 8)
        await crew.worker.close(grace_s=grace_s / 2)
        await crew.dispatcher.close(grace_s=grace_s / 2)
        await crew.saying.close(grace_s=grace_s / 8)
        if self._told:
            await asyncio.wait(self._told, timeout=grace_s / 8)
        for channel in crew.channels.values():
            await channel.close()
        for agent in crew.agents:
            await agent.close()
        log.info("stopped")

    async def settled(self) -> None:
        """Return when nothing is being judged, answered or sent (batches that wait for quiet don't count)."""
        crew = self._crew
        for _ in range(3):  # each stage may feed the one before it (reports)
            await crew.gateway.idle()
            await crew.worker.idle()
            await crew.dispatcher.idle()
            await crew.saying.idle()
            await asyncio.gather(*self._told, return_exceptions=True)

    def sent(self, waiting: Waiting, state: OutboxState, code: str) -> None:
        """What came of a part: counted, and told to operators where nobody knows whether it arrived (DUR-2)."""
        part: Part = waiting.new.part
        part_ended(part.destination.platform, state.value)
        if state is OutboxState.UNKNOWN:
            task = asyncio.create_task(self._crew.reports.tell(Notice.UNCLEAR_SEND, part=waiting.id), name="report")
            self._told.add(task)
            task.add_done_callback(self._told.discard)

    async def _tell_interrupted(self, parts: Sequence[int]) -> None:
        """An earlier process ended in the middle of these sends (DUR-2)."""
        reports = self._crew.reports
        if len(parts) == 1:
            await reports.tell(Notice.UNCLEAR_SEND, part=parts[0])
        else:
            await reports.tell(Notice.UNCLEAR_SENDS, count=len(parts), first=min(parts), last=max(parts))

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._watch)
        self._tasks.append(task)

    def _watch(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled() or task.exception() is None:
            return
        log.error("task_died", task=task.get_name(), error=type(task.exception()).__name__)
        self._crew.health.set(task.get_name(), Level.FAILED, type(task.exception()).__name__)

    def _name(self, account: str) -> str:
        """What a channel is called on the health page: its platform, or its account where the platform has several."""
        platform = account.partition(":")[0]
        alone = sum(other.partition(":")[0] == platform for other in self._crew.channels) == 1
        return f"channel {platform if alone else account}"

    async def _look(self) -> None:
        """See how the channels are; of one that could not go on it is known already."""
        health = self._crew.health
        while True:
            for account, channel in self._crew.channels.items():
                state, name = channel.state, self._name(account)
                if health.states()[name].level is not Level.FAILED:
                    level = {"ok": Level.OK, "starting": Level.STARTING}.get(state, Level.DEGRADED)
                    health.set(name, level, _TROUBLE.get(state, ""))
            await asyncio.sleep(LOOK_EVERY_S)

    async def _channel(self, account: str, channel: Channel) -> None:
        health, name = self._crew.health, self._name(account)
        try:
            await channel.run(self._crew.gateway.accept)
        except ChannelError as error:
            log.error("channel_failed", channel=name, cause=str(error))
            health.set(name, Level.FAILED, str(error))
            self._failed.append(error)
            if len(self._failed) == len(self._crew.channels):
                self.stop()

    async def _policy_changed(self, change: Loaded | Refused) -> None:
        match change:
            case Loaded(digest=digest):
                log.info("policy_loaded", digest=digest[:12])
                self._crew.health.set("policy", Level.OK)
                policy_reloaded(accepted=True)
                await self._crew.reports.tell(Notice.POLICY_LOADED)
            case Refused(places=places):
                log.error("policy_refused", places=places)
                self._crew.health.set("policy", Level.DEGRADED, places)
                policy_reloaded(accepted=False)
                await self._crew.reports.tell(Notice.POLICY_BROKEN)

    async def _sweep(self) -> None:
        while True:
            await self._sweep_once(self._crew.clock())
            await asyncio.sleep(SWEEP_EVERY_S)

    async def _sweep_once(self, now: datetime) -> None:
        """Let every sweeper have its turn; one that fails keeps no other from it, and is tried again next time."""
        gone = 0
        failed: Exception | None = None
        for sweep in self._crew.sweepers:
            try:
                gone += await sweep(now=now, contents_before=now - self._crew.contents_retention)
            except (StoreError, OSError) as error:
                failed = error
                log.error("sweep_failed", error=type(error).__name__)
        if gone:
            log.info("swept", rows=gone)
        if failed is None:
            self._crew.health.set("sweep", Level.OK)
        else:
            self._crew.health.set("sweep", Level.DEGRADED, type(failed).__name__)
