"""The daemon's life: what starts in which order, what is watched, and how it ends: stop taking in first, lose nothing."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.deliveries.dispatcher import Dispatcher
from bot.model.errors import ChannelError
from bot.model.part import Part
from bot.observability.health import Health, Level
from bot.observability.log import get_logger
from bot.observability.metrics import part_ended, policy_reloaded
from bot.observability.systemd import READY, STOPPING, feed_watchdog, notify, watchdog_s
from bot.ports.agent import Agent
from bot.ports.channel import Channel
from bot.ports.store import Inbox, OutboxState, Waiting
from bot.runtime.gateway import Gateway
from bot.runtime.inforce import Loaded, PolicyInForce, Refused
from bot.runtime.reports import Reports
from bot.runtime.worker import Worker
from bot.texts.codes import Notice

log = get_logger(__name__)

SWEEP_EVERY_S = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Crew:
    """Everything that :mod:`bot.wiring` has put together."""

    policy: PolicyInForce
    inbox: Inbox
    channels: Mapping[str, Channel]
    agents: Sequence[Agent]
    gateway: Gateway
    worker: Worker
    dispatcher: Dispatcher
    reports: Reports
    health: Health
    clock: Callable[[], datetime]
    contents_retention: timedelta
    services: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()


class Daemon:
    """Runs a crew until it is told to stop or no channel is left."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: list[ChannelError] = []
        self._told: set[asyncio.Task[int]] = set()

    @property
    def crew(self) -> Crew:
        """What it runs."""
        return self._crew

    def stop(self) -> None:
        """End in order; may be called from a signal handler."""
        self._stop.set()

    async def start(self) -> None:
        """Take up what is left, then open the doors."""
        crew = self._crew
        for account in crew.channels:
            await crew.gateway.start(account)
            await crew.dispatcher.recover(account)
        for account, channel in crew.channels.items():
            self._spawn(self._channel(account, channel), f"channel {channel.account.partition(':')[0]}")
        self._spawn(crew.policy.watch(self._policy_changed), "policy")
        self._spawn(self._sweep(), "sweep")
        for service in crew.services:
            self._spawn(service(), "service")
        every_s = watchdog_s()
        if every_s is not None:
            self._spawn(feed_watchdog(lambda: crew.health.alive, every_s=every_s), "watchdog")
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

    async def close(self, *, grace_s: float = 8.0) -> None:
        """Stop taking in, let what has begun end, leave the rest in the store."""
        crew = self._crew
        notify(STOPPING)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await crew.gateway.close()
        await crew.worker.close(grace_s=grace_s / 2)
        await crew.dispatcher.close(grace_s=grace_s / 2)
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

    def sent(self, waiting: Waiting, state: OutboxState, code: str) -> None:
        """What came of a part: counted, and told to operators where nobody knows whether it arrived (DUR-2)."""
        part: Part = waiting.new.part
        part_ended(part.destination.platform, state.value)
        if state is OutboxState.UNKNOWN:
            task = asyncio.create_task(self._crew.reports.tell(Notice.UNCLEAR_SEND, part=waiting.id), name="report")
            self._told.add(task)
            task.add_done_callback(self._told.discard)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._watch)
        self._tasks.append(task)

    def _watch(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled() or task.exception() is None:
            return
        log.error("task_died", task=task.get_name(), error=type(task.exception()).__name__)
        self._crew.health.set(task.get_name(), Level.FAILED, type(task.exception()).__name__)

    async def _channel(self, account: str, channel: Channel) -> None:
        health = self._crew.health
        name = f"channel {account.partition(':')[0]}"
        health.set(name, Level.OK)
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
            now = self._crew.clock()
            gone = await self._crew.inbox.sweep(now=now, contents_before=now - self._crew.contents_retention)
            if gone:
                log.info("swept", rows=gone)
            await asyncio.sleep(SWEEP_EVERY_S)
