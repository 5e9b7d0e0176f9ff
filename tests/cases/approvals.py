"""Approvals on an emulated Telegram, by a running gateway: an agent that proposes and uses, people who decide.

The agent is ours: what it proposes is what the case opens, and what it executes is claimed first, as every agent has to.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bot.approvals.words import ApprovalWords
from bot.channels.telegram.limits import Limits
from bot.model.approval import Action, Approval, Proposal
from bot.model.errors import ProposalError
from bot.ports.approvals import Role
from policy.document import DocumentError, load
from tests.cases.clocks import Jumping
from tests.harness import CountingAgent, Running, running
from tests.servers.botapi import BotApi

BOT_ID = 7001
OPEN = Limits(chat=None, group=None, total=None)
WORDS = ApprovalWords("en")
LONGEST_CONDITION = 900
NOBODY = 1
"""Of an account that nobody in the cases has: what nobody may approve still has to name somebody."""
Message = dict[str, Any]


@dataclass(kw_only=True)
class Opened:
    """An approval of the case.

    Attributes:
        name: the case's own id of it.
        chat: where it is decided.
        first: as it was proposed.
        card: the message that showed it first, with its buttons, as it was then.
    """

    name: str
    chat: int
    first: Approval
    card: Message = field(default_factory=dict)


@dataclass
class Scene:
    """A gateway that can be restarted, and what has been going on there."""

    api: BotApi
    folder: Path
    policy: str
    clock: Jumping
    agent: CountingAgent
    stack: AsyncExitStack
    gateway: Running
    opened: list[Opened] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    asked_anew: list[Approval] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    @property
    def room(self) -> Any:
        """Of approvals, of the process that runs now."""
        return self.gateway.daemon.crew.approvals

    async def restart(self) -> None:
        """End in order, and start again on the same store."""
        await self.stack.aclose()
        self.stack = AsyncExitStack()
        self.gateway = await self.stack.enter_async_context(self._process())

    def _process(self) -> Any:
        return running(self.folder, api=self.api, policy=self.policy, agent=self.agent, clock=self.clock, limits=OPEN)

    async def settled(self) -> None:
        await self.gateway.settled()

    # what the agent does

    async def open(self, name: str, chat: int, tool: str, args: Mapping[str, Any], ttl_s: int | None) -> Opened:
        """Propose, and wait until it is shown."""
        proposal = Proposal(action=Action(name=tool, parameters=args), ttl_s=ttl_s)
        first = await self.room.propose(proposal, agent="main", origin=None)
        await self.settled()
        one = Opened(name=name, chat=chat, first=await self.room.look(first.id))
        shown = await self.messages(one, Role.CARD)
        one.card = dict(shown[-1]) if shown else {}
        self.opened.append(one)
        return one

    async def execute(self, one: Opened, tool: str, args: Mapping[str, Any]) -> bool:
        """Claim it for what would run, then tell that it ran; whether it was let. A refused agent asks anew."""
        action = Action(name=tool, parameters=args)
        key = f"use {len(self.executed) + len(self.refused)}"
        try:
            await self.room.claim(one.first.id, version=action.version, key=key, target_present=None)
        except ProposalError as error:
            self.refused.append(error.code)
            return False
        await self.room.outcome(one.first.id, executed=True, note="")
        self.executed.append(one.name)
        await self.settled()
        return True

    async def ask_anew(self, tool: str, args: Mapping[str, Any]) -> None:
        """What was not approved is proposed by itself."""
        proposal = Proposal(action=Action(name=tool, parameters=args))
        anew = await self.room.propose(proposal, agent="main", origin=None)
        await self.settled()
        self.asked_anew.append(await self.room.look(anew.id))

    async def revise(self, one: Opened, tool: str, args: Mapping[str, Any]) -> None:
        """Propose something else in its place."""
        now = await self.now(one)
        await self.room.revise(one.first.id, Action(name=tool, parameters=args), by=None, revision=now.revision)
        await self.settled()

    # what people see and do

    async def now(self, one: Opened) -> Approval:
        """As it stands."""
        found: Approval = await self.room.look(one.first.id)
        return found

    async def messages(self, one: Opened, role: str) -> list[Message]:
        """Our messages of a role about the version that stands now, as they are on the platform now."""
        standing = await self.gateway.store.approvals.messages(one.first.id, role)
        return [
            self.api.world.messages[one.chat][int(found.message)]
            for found in standing
            if found.version == found.approval.version
        ]

    def press(self, one: Opened, label: str, sender: int, *, card: Message | None = None) -> str | None:
        """Tap a button that the card has, or had; None: it never had one."""
        shown = one.card if card is None else card
        data = {key["text"]: key.get("callback_data") for key in buttons_of(shown)}.get(label)
        if data is None:
            return None
        query = self.api.press(chat=one.chat, sender=sender, message_id=shown["message_id"], data=data, force=True)
        self.queries.append(query)
        return query

    def toast(self, query: str) -> str:
        """What the person was told in private after a tap."""
        return str(self.api.toasts.get(query, {}).get("text", ""))


def buttons_of(message: Message) -> list[Message]:
    """The buttons under a message."""
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    return [key for row in rows for key in row]


def policy_of(opens: Sequence[Mapping[str, Any]], everybody: Sequence[Any] = ()) -> str:
    """The case's approvers as operators, its groups as channels of our own, and a rule for each thing it opens.

    Args:
        opens: what is proposed, with its approvers and its chat.
        everybody: operators beside them.
    """
    users = list(dict.fromkeys([*(user for one in opens for user in one["approvers"] or [NOBODY]), *everybody]))
    names = {user: f"person{number}" for number, user in enumerate(users)}
    people = {name: {"accounts": [f"telegram:{user}"]} for user, name in names.items()}
    places = {one["chat"]: f"telegram:{BOT_ID}:{one['chat']}" for one in opens}
    channels = {place: {"audience": "internal", "reports": True} for chat, place in places.items() if chat < 0}
    rules = [
        {
            "name": f"rule{number}",
            "tools": [one["tool"]],
            **_when(one["args"]),
            "then": "ask",
            "who": {"people": [names[user] for user in one["approvers"] or [NOBODY]]},
            "shown": [places[one["chat"]]],
        }
        for number, one in enumerate(opens)
    ]
    document: dict[str, Any] = {"version": 1, "operators": list(names.values()), "people": people}
    document["channels"] = channels
    document["approvals"] = {"rules": rules}
    return yaml.safe_dump({key: value for key, value in document.items() if value}, sort_keys=False)


def _when(args: Mapping[str, Any]) -> dict[str, list[str]]:
    """The parameters as a condition; what is too long for one is told apart by its tool alone."""
    literal = json.dumps(args).replace("`", "\\`")
    return {"when": [f"@ == `{literal}`"]} if len(literal) < LONGEST_CONDITION else {}


def refusal_of(policy: str) -> str:
    """Why a policy is refused at load, with the mend; empty: it is not."""
    try:
        load(policy, source="policy.yaml", environment={})
    except DocumentError as error:
        return str(error)
    return ""


@asynccontextmanager
async def scene(
    folder: Path, opens: Sequence[Mapping[str, Any]], *, everybody: Sequence[int] = ()
) -> AsyncIterator[Scene]:
    """Run a gateway for what is going to be opened (see :func:`policy_of`)."""
    agent = CountingAgent()
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as api, AsyncExitStack() as outer:
        for chat in {one["chat"] for one in opens if one["chat"] < 0}:
            api.chat(chat, type="supergroup", title="Operators")
        policy, clock = policy_of(opens, everybody), Jumping()
        stack = AsyncExitStack()
        gateway = await stack.enter_async_context(
            running(folder, api=api, policy=policy, agent=agent, clock=clock, limits=OPEN)
        )
        made = Scene(api=api, folder=folder, policy=policy, clock=clock, agent=agent, stack=stack, gateway=gateway)
        outer.push_async_callback(lambda: made.stack.aclose())
        yield made
