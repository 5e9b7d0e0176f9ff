"""What may be said unasked (OUT-6): the rooms of grants and of scheduled deliveries, and what commands them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.config.settings import Config
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door
from bot.deliveries.grants import GrantRoom, read_duration
from bot.deliveries.schedule import Schedule
from bot.model.delivery import Delivery
from bot.ports.channel import Channel
from bot.runtime.granting import Granting
from bot.runtime.reports import Reports
from bot.storage.store import Store
from bot.texts.codes import Notice
from bot.wiring.clock import utc_now
from bot.wiring.records import CONTROL, STORE, Verb
from policy.grants import Issuer, IssuerKind
from policy.record import Entry
from policy.ruleset import Policy

CONSOLE = Issuer(kind=IssuerKind.ADMIN, id="console")
"""Whoever may use the control socket may write the policy and make dispatcher keys, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unasked:
    """The rooms, and what hears the commands of operators."""

    grants: GrantRoom
    schedule: Schedule
    granting: Granting


def unasked(
    store: Store,
    *,
    policy: Callable[[], Policy],
    entries: Callable[[], Mapping[str, Entry]],
    channels: Mapping[str, Channel],
    dispatcher: Dispatcher,
    door: Door,
    reports: Reports,
    agents: Collection[str],
    dispatchers: Collection[str],
    clock: Callable[[], datetime],
) -> Unasked:
    """Put them together.

    Args:
        store: open.
        policy: gives the policy in force now.
        entries: gives the authorised record as it stands now.
        channels: by account.
        dispatcher: carries parts out.
        door: clears them.
        reports: tells operators.
        agents: names of the agents that there are.
        dispatchers: names of the dispatcher keys that there are.
        clock: gives aware times.
    """
    grants = GrantRoom(store=store.grants, agents=agents, accounts=tuple(channels), clock=clock)

    async def muffled(delivery: Delivery, code: str) -> None:
        await reports.tell(Notice.DELIVERY_MUTED, delivery=delivery.id[:8], code=code)

    schedule = Schedule(
        store=store.deliveries,
        grants=store.grants,
        policy=policy,
        entries=entries,
        channels=channels,
        dispatcher=dispatcher,
        door=door,
        agents=agents,
        dispatchers=dispatchers,
        clock=clock,
        muffled=muffled,
    )
    granting = Granting(grants, standing=store.overview.standing, policy=policy, door=door, clock=clock)
    return Unasked(grants=grants, schedule=schedule, granting=granting)


def grant_verbs(room: GrantRoom) -> dict[str, Verb]:
    """What the command line asks about grants of a running daemon."""

    async def add(*, agent: str, destination: str, uses: str, lasts: str, purpose: str) -> str:
        grant = await room.issue(
            issuer=CONSOLE,
            agent=agent,
            destination=destination,
            uses=int(uses) if uses.isascii() and uses.isdecimal() and len(uses) <= 9 else 0,
            lasts=read_duration(lasts) or timedelta(),
            purpose=purpose,
        )
        return grant.id

    async def revoke(*, grant: str) -> str:
        return "yes" if await room.revoke(grant, by=CONSOLE) else ""

    return {"grant_add": add, "grant_revoke": revoke}


async def add_grant(config: Config, *, agent: str, destination: str, uses: int, lasts: str, purpose: str) -> str:
    """Make a grant as the admin of this machine, by the running daemon, else in its store; returns its id.

    Raises:
        ConfigError: the daemon refused.
        GrantError: it can't be made.
        StoreError: no daemon answers, and the store can't be had.
    """
    from bot.api.control import answers, ask

    words = {"agent": agent, "destination": destination, "uses": str(uses), "lasts": lasts, "purpose": purpose}
    socket = config.data_dir / CONTROL
    if await answers(socket):
        return await ask(socket, "grant_add", **words)
    return await _offline(config, "grant_add", words)


async def revoke_grant(config: Config, grant: str) -> bool:
    """Take a grant back, likewise; whether there was one.

    Raises:
        ConfigError: the daemon refused.
        StoreError: no daemon answers, and the store can't be had.
    """
    from bot.api.control import answers, ask

    socket = config.data_dir / CONTROL
    if await answers(socket):
        return bool(await ask(socket, "grant_revoke", grant=grant))
    return bool(await _offline(config, "grant_revoke", {"grant": grant}))


async def _offline(config: Config, verb: str, words: Mapping[str, str]) -> str:
    store = await Store.open(config.data_dir / STORE)
    try:
        accounts = [*(bot.account for bot in config.telegram), *(bot.account for bot in config.matrix)]
        if config.chat.enabled:
            accounts.append(f"web:{config.chat.desk}")
        room = GrantRoom(store=store.grants, agents=tuple(config.agents), accounts=accounts, clock=utc_now)
        return await grant_verbs(room)[verb](**words)
    finally:
        await store.close()
