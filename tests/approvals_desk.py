"""A whole gateway with the built-in chat, in this process: an operators' room and a customers' room over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.channels.web.channel import WebChat
from bot.channels.web.people import Member, Room
from bot.model.approval import Action, Approval, ApprovalState, Proposal
from bot.runtime.daemon import Daemon
from bot.runtime.inforce import PolicyInForce
from bot.runtime.rulings import Rulings
from bot.storage.store import Store
from bot.wiring import assemble
from bot.wiring.questions import Asks
from policy.document import load
from tests.browser.visitor import Visitor, visit
from tests.harness import Clock, CountingAgent

DESK_POLICY = """
version: 1
operators: [ann, cleo]
people:
  ann: {accounts: ["web:ann"], names: [Ann]}
  cleo: {accounts: ["web:cleo"], names: [Cleo]}
  bob: {accounts: ["web:bob"], names: [Bob]}
defaults: {timezone: Europe/Berlin}
channels:
  "web:desk:ops": {audience: internal, reports: true}
  "web:desk:customers": {audience: external}
"""


@dataclass
class ApprovalsDesk:
    """A gateway that runs, and somebody at its page."""

    chat: WebChat
    daemon: Daemon
    store: Store
    agent: CountingAgent
    visitor: Visitor | None = None

    @property
    def url(self) -> str:
        return self.chat.url

    @property
    def brain(self) -> "ApprovalsDesk":
        """What the visitor waits for."""
        return self

    async def idle(self) -> None:
        async with asyncio.timeout(20):
            await self.daemon.settled()

    @property
    def room(self) -> Any:
        return self.daemon.crew.approvals

    async def propose(self, parameters: dict[str, Any], *, name: str = "deploy", **more: Any) -> Approval:
        action = Action(name=name, system="cluster", parameters=parameters)
        made: Approval = await self.room.propose(Proposal(action=action, **more), agent="main", origin=None)
        await self.idle()
        return made

    async def state(self, approval: Approval) -> ApprovalState:
        now: Approval = await self.room.look(approval.id)
        return now.state

    async def cards(self, room: str = "ops") -> list[dict[str, Any]]:
        assert self.visitor is not None
        messages = await self.visitor.messages(room)
        return [one for one in messages if one["author"]["bot"] and (one.get("card") or {}).get("title")]

    async def tap(self, label: str, message: dict[str, Any], *, who: str = "ann", room: str = "ops") -> str:
        """Tap a button of a message; what the person is told."""
        assert self.visitor is not None
        token = next(one["token"] for one in message["card"]["buttons"] if one["label"] == label)
        path = f"/api/rooms/{room}/messages/{message['id']}/tap"
        async with self.visitor.stream() as stream:
            status, answer = await self.visitor.post(path, {"token": token, "as": who})
            assert status == 200, answer
            note = await stream.until("note")
        await self.idle()
        return str(note["text"])


@asynccontextmanager
async def approvals_desk(
    folder: Path,
    *,
    policy: str = DESK_POLICY,
    clock: Clock | None = None,
    agent: CountingAgent | None = None,
    own_room: str | None = None,
    asking: Sequence[Asks] = (),
) -> AsyncIterator[ApprovalsDesk]:
    """Run it on a store in ``folder``; an earlier store there is taken up.

    Args:
        own_room: who has a room of their own with the bot.
        asking: further services that need the rooms.
    """
    clock = Clock() if clock is None else clock
    path = folder / "policy.yaml"
    path.write_text(policy)
    in_force = PolicyInForce(path, lambda text: load(text, source="policy.yaml", environment={}))
    store = await Store.open(folder / "discreet.db")
    rulings = Rulings()
    chat = WebChat(
        desk="desk",
        bot_name="desk",
        rooms=[
            Room(id="ops", title="Operators", members=("ann", "cleo", "bob")),
            Room(id="customers", title="Customers", members=("bob", "ann")),
            *([] if own_room is None else [Room(id="own", title="Own", members=(own_room,), direct=True)]),
        ],
        members=[
            Member(id="ann", name="Ann", operator=True),
            Member(id="cleo", name="Cleo", operator=True),
            Member(id="bob", name="Bob"),
        ],
        timeline=store.timeline("desk"),
        entrances=store.entrances("desk"),
        feed=rulings,
        clock=clock,
        demo=True,
        files=folder / "files",
    )
    agent = CountingAgent() if agent is None else agent
    daemon = assemble(
        policy=in_force,
        store=store,
        channels=[chat],
        agents={agent.name: agent},
        default_agent=agent.name,
        rulings=rulings,
        clock=clock,
        asking=[lambda rooms: chat.take(rooms.questions), *asking],
    )
    await daemon.start()
    try:
        async with asyncio.timeout(10):
            while not chat.url:
                await asyncio.sleep(0.01)  # bounded above
        desk = ApprovalsDesk(chat=chat, daemon=daemon, store=store, agent=agent)
        async with visit(desk) as visitor:  # type: ignore[arg-type] # it asks for an address and for idle() alone
            desk.visitor = visitor
            yield desk
    finally:
        await daemon.close(grace_s=2)
        await store.close()
