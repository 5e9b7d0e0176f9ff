"""Whatever agents, people, time and restarts do to approvals, in any order: the invariants of APPR-3 to 8 hold.

The room, its cards, the door and the store are the real ones; the clock is turned by hand, and what the dispatcher would
carry out arrives at once.
"""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.approvals.room import ApprovalRoom
from bot.channels.telegram.channel import TelegramChannel
from bot.deliveries.door import Door
from bot.model.approval import Action, ApprovalState, DecidedBy, Proposal, Verdict
from bot.model.errors import ProposalError
from bot.ports.approvals import Decided
from bot.ports.store import OutboxState
from bot.storage.store import Store
from policy.destination import parse_destination
from policy.document import load

HOME = parse_destination("telegram:7001:-100200")
PEOPLE = {"ann": "telegram:501", "cleo": "telegram:503", "bob": "telegram:502", "nobody": "telegram:599"}
POLICY = load(
    """
version: 1
operators: [ann, cleo]
people:
  ann: {accounts: ["telegram:501"]}
  cleo: {accounts: ["telegram:503"]}
  bob: {accounts: ["telegram:502"]}
channels: {"telegram:7001:-100200": {audience: internal, reports: true}}
approvals:
  rules:
    - {name: small, tools: [pay], when: ["amount < `10`"], then: allow}
    - {name: never, tools: [pay], when: ["amount > `900`"], then: forbid}
    - {name: two, tools: [pay], when: ["amount > `100`"], then: ask, quorum: 2, ttl: 1h}
""",
    source="policy.yaml",
    environment={},
)
USED = {ApprovalState.CLAIMED, ApprovalState.EXECUTED, ApprovalState.FAILED, ApprovalState.UNKNOWN}
AMOUNTS = st.sampled_from([50, 60, 500, 5, 950])


class Carrier:
    """In place of the dispatcher: what is enqueued has arrived when somebody looks again."""

    def __init__(self):
        self.waiting = []

    def enqueue(self, parts):
        self.waiting.extend(parts)


@dataclass
class Known:
    """What the test remembers of one approval, without looking into it."""

    id: str
    versions: list[str] = field(default_factory=list)
    voices: set[str] = field(default_factory=set)  # for the last of the versions, since it stands
    claims: int = 0


class Machine(RuleBasedStateMachine):
    approvals = Bundle("approvals")
    template: Path

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp(prefix="approvals-"))
        shutil.copytree(self.template, self.folder, dirs_exist_ok=True)
        self.runner = asyncio.Runner()
        self.now = datetime(2026, 6, 10, 12, 0, tzinfo=UTC)
        self.messages = self.claims = 0
        self.known: list[Known] = []
        self.run(self.open())

    def run(self, coroutine):
        return self.runner.run(coroutine)

    async def open(self):
        self.store = await Store.open(self.folder / "discreet.db")
        self.carrier = Carrier()
        channel = TelegramChannel(token=f"7001:{'A' * 35}", api_url="http://127.0.0.1:9", clock=self.clock)
        self.room = ApprovalRoom(
            store=self.store.approvals,
            policy=lambda: POLICY,
            channels={channel.account: channel},
            dispatcher=self.carrier,
            door=Door(lambda: POLICY),
            clock=self.clock,
        )

    def clock(self):
        return self.now

    async def carry(self):
        """Everything arrives."""
        while self.carrier.waiting:
            part = self.carrier.waiting.pop(0)
            await self.store.outbox.begin(part.id)
            self.messages += 1
            await self.store.outbox.end(
                part.id, OutboxState.DELIVERED, code="ok", messages=[str(self.messages)], now=self.now
            )

    async def look(self, known):
        found = await self.room.look(known.id)
        assert found is not None
        return found

    # what agents do

    @precondition(lambda self: len(self.known) < 6)
    @rule(target=approvals, amount=AMOUNTS)
    def propose(self, amount):
        action = Action(name="pay", parameters={"amount": amount})

        async def do():
            blocked = await self.store.approvals.unreconciled("main", action.version)
            try:
                made = await self.room.propose(Proposal(action=action), agent="main", origin=None)
            except ProposalError:
                assert blocked is not None
                return None
            assert blocked is None
            await self.carry()
            expected = {5: ApprovalState.APPROVED, 950: ApprovalState.DENIED}.get(amount, ApprovalState.IN_REVIEW)
            assert made.state is expected
            return made

        made = self.run(do())
        known = Known(id="" if made is None else made.id, versions=[] if made is None else [made.version])
        if made is not None:
            self.known.append(known)
        return known

    @rule(known=approvals, amount=AMOUNTS, stale=st.sampled_from([False, False, False, True]))
    def revise(self, known, amount, stale):
        if not known.id:
            return

        async def do():
            before = await self.look(known)
            revision = before.revision - stale
            action = Action(name="pay", parameters={"amount": amount})
            try:
                after = await self.room.revise(known.id, action, by=None, revision=revision)
            except ProposalError:
                assert (await self.look(known)).version == before.version
                return
            assert not stale
            assert before.state not in USED
            assert not before.state.closed
            if after.version != before.version:
                assert after.state is ApprovalState.IN_REVIEW
                assert after.standing == ()
                known.versions.append(after.version)
                known.voices.clear()
            await self.carry()

        self.run(do())

    @rule(known=approvals, old=st.booleans(), rivals=st.integers(1, 3))
    def claim(self, known, old, rivals):
        if not known.id:
            return

        async def do():
            before = await self.look(known)
            version = known.versions[0 if old else -1]
            self.claims += 1
            keys = [f"{self.claims}-{number}" for number in range(rivals)]
            found = await asyncio.gather(
                *(self.room.claim(known.id, version=version, key=key, target_present=None) for key in keys),
                return_exceptions=True,
            )
            won = [one for one in found if not isinstance(one, BaseException)]
            assert all(isinstance(one, ProposalError) for one in found if isinstance(one, BaseException)), found
            assert len(won) <= 1
            known.claims += len(won)
            if won:
                assert before.state is ApprovalState.APPROVED
                assert version == known.versions[-1] == won[0].action.version
                amount = won[0].action.parameters["amount"]
                assert amount == 5 or len(known.voices) >= (2 if amount == 500 else 1)

        self.run(do())

    @rule(known=approvals, executed=st.sampled_from([True, False, None]))
    def outcome(self, known, executed):
        if not known.id:
            return

        async def do():
            before = await self.look(known)
            try:
                after = await self.room.outcome(known.id, executed=executed, note="")
            except ProposalError:
                assert before.state is not ApprovalState.CLAIMED
                return
            assert before.state in USED
            assert before.state in (ApprovalState.CLAIMED, after.state)

        self.run(do())

    @rule(known=approvals, really=st.sampled_from([False, False, False, True]))
    def cancel(self, known, really):
        if known.id and really:
            self.run(self._cancel(known))

    async def _cancel(self, known):
        before = await self.look(known)
        try:
            await self.room.cancel(known.id)
        except ProposalError:
            assert before.state in USED or before.state.closed

    # what people do

    @rule(
        known=approvals,
        person=st.sampled_from(["ann", "cleo", "ann", "cleo", "bob", "nobody"]),
        verdict=st.sampled_from([Verdict.APPROVE] * 4 + [Verdict.DENY, Verdict.RETURN]),
        old=st.booleans(),
        twice=st.booleans(),
    )
    def decide(self, known, person, verdict, old, twice):
        if not known.id:
            return

        async def tap(version):
            return await self.room.decide(
                known.id,
                version[:16],
                verdict,
                by=PEOPLE[person],
                way=DecidedBy.TAP,
                at=HOME,
                words="because" if verdict is Verdict.RETURN else "",
            )

        async def do():
            before = await self.look(known)
            version = known.versions[0 if old else -1]
            found = await asyncio.gather(*(tap(version) for _ in range(1 + twice)))
            after = await self.look(known)
            taken = [one for one in found if isinstance(one, Decided)]
            assert len(taken) <= 1
            assert len(after.decisions) == len(before.decisions) + len(taken)
            if not taken:
                assert (after.state, after.version) == (before.state, before.version) or after.state.closed
                return
            assert person in ("ann", "cleo")
            assert version == before.version
            assert before.state.undecided or (before.state is ApprovalState.APPROVED and verdict is Verdict.DENY)
            if verdict is Verdict.APPROVE:
                known.voices.add(person)

        self.run(do())
        self.run(self.carry())

    @rule(known=approvals)
    def reconcile(self, known):
        if known.id:
            self.run(self._reconcile(known))

    async def _reconcile(self, known):
        before = await self.look(known)
        try:
            await self.room.reconcile(known.id, executed=True, evidence="seen", by="ops")
        except ProposalError:
            assert before.state is not ApprovalState.UNKNOWN

    # what happens

    @rule(minutes=st.sampled_from([0, 0, 1, 1, 11, 70]))
    def time_passes(self, minutes):
        self.now += timedelta(minutes=minutes)
        self.run(self.room._timing.look())
        self.run(self.carry())

    @precondition(lambda self: self.known)
    @rule()
    def restart(self):
        async def do():
            before = [await self.look(known) for known in self.known]
            await self.store.close()
            await self.open()
            assert [await self.look(known) for known in self.known] == before

        self.run(do())

    # what always holds

    @invariant()
    def holds(self):
        if hasattr(self, "runner"):
            self.run(self._holds())

    async def _holds(self):
        for known in self.known:
            found = await self.look(known)
            assert known.claims <= 1
            assert (found.state in USED) == (known.claims == 1)
            assert (found.closed_at is not None) == found.state.closed
            assert found.version == found.action.version == known.versions[-1]
            if found.state is ApprovalState.APPROVED:
                amount = found.action.parameters["amount"]
                assert amount == 5 or len(known.voices) >= (2 if amount == 500 else 1)
        codes = [one.code for one in await self.room.pending()]
        assert len(set(codes)) == len(codes)

    def teardown(self):
        if hasattr(self, "runner"):
            assert self.run(self.store.journal.verify()) is None
            self.run(self.store.close())
            self.runner.close()
            shutil.rmtree(self.folder)


@pytest.mark.rule("APPR-3", "APPR-4", "APPR-5", "APPR-6", "APPR-8")
def test_the_invariants_hold_whatever_happens(tmp_path):
    async def empty():
        await (await Store.open(tmp_path / "discreet.db")).close()

    asyncio.run(empty())
    Machine.template = tmp_path
    case = Machine.TestCase
    case.settings = settings(
        max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
    )
    case().runTest()
