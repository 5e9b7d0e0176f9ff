"""A whole gateway in this process on a Matrix homeserver: a scripted one, or a real Synapse."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.approvals.addresses import PageAddresses
from bot.channels.matrix.channel import MatrixChannel
from bot.channels.matrix.limits import Limits
from bot.config.commands import Command
from bot.ports.channel import Channel
from bot.ports.decisions import Ruling
from bot.questions.links import Links
from bot.runtime.daemon import Daemon
from bot.runtime.inforce import PolicyInForce
from bot.runtime.rulings import Rulings
from bot.storage.store import Store
from bot.wiring import assemble
from policy.document import load
from tests.harness import Clock, CountingAgent
from tests.servers.homeserver import Homeserver


@dataclass
class RunningMatrix:
    """A gateway that runs. ``server`` is None on a real homeserver."""

    agent: CountingAgent
    daemon: Daemon
    store: Store
    channel: MatrixChannel
    folder: Path
    rulings: list[Ruling]
    server: Homeserver | None = None

    async def settled(self) -> None:
        """Every event that the scripted server has is taken, judged, answered and sent; open batches don't count."""
        async with asyncio.timeout(30):
            if self.server is not None:
                await self.server.wait_drained(timeout=20)
            await self.daemon.settled()
            await self.channel.idle()

    async def quiet(self) -> None:
        """The same, and no batch is open any more."""
        async with asyncio.timeout(30):
            while True:
                await self.settled()
                if not self.daemon.crew.gateway.open_batches:
                    return
                await asyncio.sleep(0.02)  # a batch's own timer is what is waited for; the bound is above

    async def ruled(self, message: str, *, within_s: float = 20.0) -> Ruling:
        """The first ruling on a message that is no defer."""

        def found() -> Ruling | None:
            final = (r for r in self.rulings if r.message == message and r.decision.outcome.value != "defer")
            return next(final, None)

        await self.until(lambda: found() is not None, within_s=within_s)
        ruling = found()
        assert ruling is not None
        return ruling

    async def until(self, predicate: Callable[[], Any], *, within_s: float = 20.0) -> None:
        """Wait until something holds that no event announces."""
        async with asyncio.timeout(within_s):
            while not predicate():
                await asyncio.sleep(0.02)  # bounded above

    def reasons(self, message: str) -> list[str]:
        """The reasons of all rulings on one message, in order, without what came of them."""
        return [
            ruling.decision.reason.value
            for ruling in self.rulings
            if ruling.message == message and ruling.result is None
        ]

    def outcomes(self, message: str) -> list[str]:
        return [
            ruling.decision.outcome.value
            for ruling in self.rulings
            if ruling.message == message and ruling.result is None
        ]


@asynccontextmanager
async def running_matrix(
    folder: Path,
    *,
    policy: str,
    server: Homeserver | None = None,
    server_url: str | None = None,
    user_id: str | None = None,
    password: str | None = None,
    agent: CountingAgent | None = None,
    clock: Clock | None = None,
    first_start: datetime | None = None,
    limits: Limits | None = None,
    wait_s: int = 5,
    entered: bool = True,
    beside: Sequence[Channel] = (),
    further: Sequence[CountingAgent] = (),
    links: Links | None = None,
    addresses: PageAddresses | None = None,
    commands: Mapping[str, Command] | None = None,
) -> AsyncIterator[RunningMatrix]:
    """Run a gateway on a store in ``folder``; an earlier store and login there are taken up.

    Args:
        server: a scripted homeserver; else ``server_url``, ``user_id`` and ``password`` of an account on a real one.
        first_start: of the bot, by default a day before the clock's now.
        entered: wait until the bot is logged in and the first sync is taken in.
        beside: further channels of the same gateway.
        further: agents beside the default one.
        links: of the pages of questions.
        addresses: of the pages that want a passkey.
        commands: that agents may run.
    """
    clock = Clock() if clock is None else clock
    agent = CountingAgent() if agent is None else agent
    if server is not None:
        server_url, user_id, password = server.url, user_id or server.user_id, password or server.password
    assert server_url is not None
    assert user_id is not None
    path = folder / "policy.yaml"
    path.write_text(policy)
    in_force = PolicyInForce(path, lambda text: load(text, source="policy.yaml", environment={}))
    store = await Store.open(folder / "discreet.db")
    channel = MatrixChannel(
        user_id=user_id,
        folder=folder / "matrix",
        state=store.state,
        clock=clock,
        homeserver=server_url,
        password=password,
        limits=limits,
        wait_s=wait_s,
        retry_first_s=0.05,
    )
    await store.inbox.started(channel.account, now=first_start or clock() - timedelta(days=1))
    rulings = Rulings()
    heard: list[Ruling] = []
    rulings.subscribe(heard.append)
    daemon = assemble(
        policy=in_force,
        store=store,
        channels=[channel, *beside],
        agents={one.name: one for one in (agent, *further)},
        default_agent=agent.name,
        rulings=rulings,
        clock=clock,
        links=links,
        addresses=addresses,
        commands=commands,
    )
    await daemon.start()
    running = RunningMatrix(
        agent=agent, daemon=daemon, store=store, channel=channel, folder=folder, rulings=heard, server=server
    )
    try:
        if entered:
            await running.until(lambda: channel.state == "ok" or daemon.failures, within_s=30)
            assert not daemon.failures, [str(error) for error in daemon.failures]
        yield running
    finally:
        await daemon.close(grace_s=2)
        await store.close()
