"""The one place where concrete things are made and put together. Everything else meets through Protocols."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door
from bot.observability.health import Health
from bot.ports.agent import Agent
from bot.ports.channel import Channel
from bot.runtime.daemon import Crew, Daemon
from bot.runtime.gateway import Gateway
from bot.runtime.inforce import PolicyInForce
from bot.runtime.reports import Reports
from bot.runtime.rulings import Rulings
from bot.runtime.worker import Worker
from bot.storage.store import Store

Clock = Callable[[], datetime]
Service = Callable[[], Coroutine[Any, Any, None]]


def utc_now() -> datetime:
    """The clock of the daemon."""
    return datetime.now(UTC)


def assemble(
    *,
    policy: PolicyInForce,
    store: Store,
    channels: Iterable[Channel],
    agents: Mapping[str, Agent],
    default_agent: str,
    rulings: Rulings | None = None,
    health: Health | None = None,
    clock: Clock = utc_now,
    contents_retention: timedelta = timedelta(days=30),
    services: Sequence[Service] = (),
) -> Daemon:
    """Put a daemon together.

    Args:
        policy: in force, checked.
        store: open.
        channels: one an account.
        agents: by name.
        default_agent: answers where the policy names no other.
        rulings: where decisions are published; channels may have subscribed already.
        health: shared with a health page.
        clock: gives aware times.
        contents_retention: how long the words of finished work are kept.
        services: further things that run as long as the daemon does.
    """
    by_account = {channel.account: channel for channel in channels}
    rulings = Rulings() if rulings is None else rulings
    door = Door(policy)
    dispatcher = Dispatcher(
        outbox=store.outbox,
        channels=by_account,
        door=door,
        clock=clock,
        observer=lambda waiting, state, code: daemon.sent(waiting, state, code),
    )
    reports = Reports(
        policy=policy,
        channels=by_account,
        outbox=store.outbox,
        dispatcher=dispatcher,
        door=door,
        clock=clock,
    )
    worker = Worker(
        policy=policy,
        agents=agents,
        default_agent=default_agent,
        channels=by_account,
        inbox=store.inbox,
        outbox=store.outbox,
        journal=store.journal,
        dispatcher=dispatcher,
        door=door,
        reports=reports,
        rulings=rulings,
        clock=clock,
    )
    gateway = Gateway(
        policy=policy,
        inbox=store.inbox,
        outbox=store.outbox,
        channels=by_account,
        worker=worker,
        reports=reports,
        rulings=rulings,
        clock=clock,
    )
    daemon = Daemon(
        Crew(
            policy=policy,
            inbox=store.inbox,
            channels=by_account,
            agents=tuple(agents.values()),
            gateway=gateway,
            worker=worker,
            dispatcher=dispatcher,
            reports=reports,
            health=Health() if health is None else health,
            clock=clock,
            contents_retention=contents_retention,
            services=services,
        ),
    )
    return daemon
