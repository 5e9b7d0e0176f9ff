"""A whole gateway in this process, between an emulated Telegram and an agent that counts.

Nothing is replaced but the clock (so that events from any year can be replayed) and the agent.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.approvals.addresses import PageAddresses
from bot.channels.telegram.channel import TelegramChannel
from bot.channels.telegram.intake import Polling
from bot.channels.telegram.limits import Limits
from bot.channels.telegram.sending import CALL_S
from bot.channels.telegram.webhook import Webhook
from bot.config.commands import Command
from bot.config.settings import CallbackAddress, Proposals
from bot.model.output import Final, Output
from bot.model.request import Request
from bot.ports.decisions import Ruling
from bot.questions.links import Links
from bot.record.room import Record
from bot.runtime.daemon import Daemon
from bot.runtime.inforce import PolicyInForce
from bot.runtime.rulings import Rulings
from bot.storage.store import Store
from bot.wiring import assemble
from bot.wiring.questions import Asks
from policy.document import load
from policy.ruleset import Policy
from tests.servers.botapi import BotApi

BOT_ID = 7001
GROUP = -1001000000001
INTERNAL = -1001000000002
ANN, BOB, MALLORY = 501, 502, 599  # ann is the operator

POLICY = f"""
version: 1
commands: [status, help]
operators: [ann]
people:
  ann: {{accounts: ["telegram:{ANN}"], names: [Ann]}}
  bob: {{accounts: ["telegram:{BOB}"], names: [Bob, Jordan]}}
direct: {{strangers: allow}}
defaults:
  burst: {{quiet: 1s, longest: 5s}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{INTERNAL}": {{audience: internal, reports: true}}
"""


@dataclass
class CountingAgent:
    """Answers every request in the same way, and remembers what it was asked and what it fetched."""

    name: str = "main"
    answer: Callable[[Request], list[Output]] = lambda _request: [Final(text="ok")]
    read_files: bool = True
    requests: list[Request] = field(default_factory=list)
    files: list[bytes] = field(default_factory=list)
    gate: asyncio.Event | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, request: Request, files: Any):
        self.requests.append(request)
        self.started.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.read_files:
            for attachment in request.attachments:
                self.files.append(await files.read(attachment))
        for output in self.answer(request):
            if isinstance(output, Exception):
                raise output
            yield output

    async def close(self) -> None:
        pass


class Clock:
    """Runs like the real one, from any moment on."""

    def __init__(self, at: datetime | None = None) -> None:
        self.offset = timedelta() if at is None else at - datetime.now(UTC)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.offset


@dataclass
class Running:
    """A gateway that runs."""

    api: BotApi
    agent: CountingAgent
    daemon: Daemon
    store: Store
    channel: TelegramChannel
    folder: Path
    rulings: list[Ruling]
    task: asyncio.Task[None] | None = None

    async def settled(self) -> None:
        """Every update is taken, judged, answered and sent; batches that wait for quiet don't count."""
        async with asyncio.timeout(20):
            await self.api.wait_drained(timeout=15)
            await self.daemon.settled()

    async def quiet(self) -> None:
        """The same, and no batch is open any more."""
        async with asyncio.timeout(20):
            while True:
                await self.settled()
                if not self.daemon.crew.gateway.open_batches:
                    return
                await asyncio.sleep(0.02)  # a batch's own timer is what is waited for; the bound is above

    def reasons(self, message_id: int | str) -> list[str]:
        """The reasons of all rulings on one message, in order, without what came of them."""
        return [
            ruling.decision.reason.value
            for ruling in self.rulings
            if ruling.message == str(message_id) and ruling.result is None
        ]

    def outcomes(self, message_id: int | str) -> list[str]:
        return [
            ruling.decision.outcome.value
            for ruling in self.rulings
            if ruling.message == str(message_id) and ruling.result is None
        ]

    @property
    def person_calls(self) -> list[Any]:
        """Everything that was asked of Telegram but for what keeps the bot itself going."""
        return self.api.calls_except("getUpdates", "getMe", "deleteWebhook")


def fixed(policy: str) -> Policy:
    """The policy of a text."""
    return load(policy, source="policy.yaml", environment={})


@asynccontextmanager
async def running(
    folder: Path,
    *,
    api: BotApi,
    policy: str = POLICY,
    agent: CountingAgent | None = None,
    clock: Clock | None = None,
    first_start: datetime | None = None,
    identified: bool = True,
    limits: Limits | None = None,
    mode: Polling | Webhook | None = None,
    call_s: float = CALL_S,
    identity_refresh_s: float = 600.0,
    further: Sequence[CountingAgent] = (),
    links: Links | None = None,
    dispatchers: Sequence[str] = (),
    addresses: PageAddresses | None = None,
    facts: Record | None = None,
    asking: Sequence[Asks] = (),
    callbacks: Sequence[CallbackAddress] = (),
    proposals: Proposals | None = None,
    commands: Mapping[str, Command] | None = None,
) -> AsyncIterator[Running]:
    """Run a gateway on a store in ``folder``; an earlier store there is taken up.

    Args:
        first_start: of the bot, by default a day before the clock's now.
        identified: wait until the bot knows its own name.
        mode: how updates come in.
        call_s: seconds that a call may take.
        identity_refresh_s: seconds between two looks at the bot's own name.
        further: agents beside the default one.
        links: of the pages of questions.
        dispatchers: names of the keys with which grants are made.
        facts: the authorised record; None: the policy's.
        addresses: of the pages that want a passkey.
        asking: services that need the rooms.
        callbacks: addresses that agents may have told how something ended.
        proposals: how much one agent may propose.
        commands: that agents may run.
    """
    clock = Clock() if clock is None else clock
    agent = CountingAgent() if agent is None else agent
    path = folder / "policy.yaml"
    path.write_text(policy)
    in_force = PolicyInForce(path, lambda text: load(text, source="policy.yaml", environment={}))
    store = await Store.open(folder / "discreet.db")
    channel = TelegramChannel(
        token=api.token,
        api_url=api.url,
        limits=limits,
        clock=clock,
        mode=mode,
        call_s=call_s,
        identity_refresh_s=identity_refresh_s,
    )
    await store.inbox.started(channel.account, now=first_start or clock() - timedelta(days=1))
    rulings = Rulings()
    heard: list[Ruling] = []
    rulings.subscribe(heard.append)
    daemon = assemble(
        policy=in_force,
        store=store,
        channels=[channel],
        agents={one.name: one for one in (agent, *further)},
        default_agent=agent.name,
        rulings=rulings,
        clock=clock,
        links=links,
        dispatchers=dispatchers,
        facts=facts,
        addresses=addresses,
        asking=asking,
        callbacks=callbacks,
        proposals=proposals,
        commands=commands,
    )
    await daemon.start()
    try:
        if identified:
            async with asyncio.timeout(10):
                await channel.identified()
        yield Running(
            api=api,
            agent=agent,
            daemon=daemon,
            store=store,
            channel=channel,
            folder=folder,
            rulings=heard,
        )
    finally:
        await daemon.close(grace_s=2)
        await store.close()
