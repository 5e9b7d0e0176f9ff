"""Passkeys over a real store, with approvals in memory that are decided as the room decides them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.approvals.addresses import PageAddresses, relying_party
from bot.approvals.passkeys import Passkeys
from bot.model.approval import (
    Action,
    Approval,
    ApprovalState,
    Assurance,
    DecidedBy,
    Decision,
    Gate,
    Proposal,
    Subject,
    Verdict,
)
from bot.ports.approvals import Already, Decided, NoSuch, NotEntitled, Stale, WordsWanted
from bot.storage.store import Store
from policy.document import load

NOW = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
BASE = "https://desk.example.org/relay"
ORIGIN = "https://desk.example.org"
KEY = b"k" * 32
POLICY = """
version: 1
operators: [ann, eve]
people:
  ann: {accounts: ["telegram:501"], names: [Ann Example]}
  bob: {accounts: ["telegram:502"]}
  eve: {accounts: ["telegram:503"]}
"""
ACTION = Action(name="transfer", system="bank", parameters={"amount": 1200.5, "to": "Lindqvist Foods"})


def approval(action=ACTION, **facts) -> Approval:
    gates = facts.pop("gates", ())
    proposal = Proposal(action=action, reason="The invoice is due.", gates=gates, assurance=Assurance.HIGH)
    made = Approval(
        id="ap1",
        code="K7QM2",
        agent="planner",
        key="k1",
        subject=Subject.CALL,
        proposal=proposal,
        version=action.version,
        origin=None,
        state=ApprovalState.IN_REVIEW,
        proposed_at=NOW,
        expires_at=NOW + timedelta(hours=1),
    )
    return replace(made, **facts)


@dataclass
class Room:
    """The part of the room of approvals that pages need."""

    now: datetime = NOW
    approvals: dict[str, Approval] = field(default_factory=dict)
    entitled: frozenset[str] = frozenset({"telegram:501"})
    decisions: list[dict[str, object]] = field(default_factory=list)
    quorum: int = 1
    people: dict[str, str] = field(default_factory=lambda: {"telegram:501": "ann", "telegram:503": "eve"})

    def put(self, one: Approval) -> Approval:
        self.approvals[one.id] = one
        return one

    def revise(self, action: Action) -> Approval:
        old = self.approvals["ap1"]
        return self.put(replace(old, proposal=replace(old.proposal, action=action), version=action.version))

    async def look(self, approval_id: str) -> Approval | None:
        return self.approvals.get(approval_id)

    async def decide(self, approval_id, version, verdict, *, by, way, at, words="", proof=None):
        self.decisions.append({"version": version, "by": by, "way": way, "at": at, "words": words, "proof": proof})
        one = self.approvals.get(approval_id)
        if one is None:
            return NoSuch()
        if one.version != version:
            return Stale(approval=one)
        if not one.state.undecided:
            return Already(approval=one)
        if by not in self.entitled:
            return NotEntitled(why="not_named")
        if not words and any(not gate.passed for gate in one.proposal.gates):
            return WordsWanted(approval=one)
        assert (verdict, way, at) == (Verdict.APPROVE, DecidedBy.PASSKEY, None)
        decision = Decision(
            version=version,
            verdict=verdict,
            person=self.people[by],
            account=by,
            way=way,
            at=self.now,
            words=words,
            proof=proof,
        )
        decisions = (*one.decisions, decision)
        full = len(decisions) >= self.quorum
        state = ApprovalState.APPROVED if full else ApprovalState.IN_REVIEW
        return Decided(approval=self.put(replace(one, state=state, decisions=decisions)))


@dataclass
class Bench:
    """What a test holds."""

    room: Room
    store: Store
    passkeys: Passkeys
    addresses: PageAddresses
    told: list[tuple[str, dict[str, object]]]

    def token(self, one: Approval) -> str:
        address = self.addresses.approval(one.id, one.version)
        assert address is not None
        return address.rpartition("/")[2]

    async def invited(self, person="ann") -> str:
        return (await self.passkeys.invite(person)).rpartition("/")[2]

    async def enrolled(self, device, person="ann", *, label=""):
        """Somebody adds the passkey of a device."""
        token = await self.invited(person)
        options = await self.passkeys.creation(token)
        assert isinstance(options, dict), options
        came = await self.passkeys.enrol(token, device.create(options, origin=ORIGIN), label=label)
        assert came is None, came
        return device

    async def asked(self, one, *, words=""):
        options = await self.passkeys.request(self.token(one), words=words)
        assert isinstance(options, dict), options
        return options


@asynccontextmanager
async def bench(folder: Path, *, base_url=BASE) -> AsyncIterator[Bench]:
    room, told = Room(), []
    store = await Store.open(folder / "discreet.db")
    party = relying_party(base_url)
    addresses = PageAddresses(KEY, party)
    policy = load(POLICY, source="policy.yaml", environment={})

    async def tell(notice, **values):
        told.append((notice.value, values))
        return 1

    passkeys = Passkeys(
        store=store.passkeys,
        approvals=room,
        policy=lambda: policy,
        may_approve=lambda _approval, account: account in room.entitled,
        addresses=addresses,
        tell=tell,
        clock=lambda: room.now,
    )
    try:
        yield Bench(room=room, store=store, passkeys=passkeys, addresses=addresses, told=told)
    finally:
        await store.close()


def gated() -> Approval:
    return approval(gates=(Gate(name="evaluation", passed=False, detail="not ready"),))
