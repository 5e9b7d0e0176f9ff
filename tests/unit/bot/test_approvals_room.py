"""The corners of the room of approvals, with the real store, cards and door; what is enqueued arrives when it is told."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.approvals import book, room, timing
from bot.approvals.deciding import is_version
from bot.approvals.room import ApprovalRoom
from bot.channels.telegram.channel import TelegramChannel
from bot.deliveries.door import Door
from bot.model.approval import Action, ApprovalState, Assurance, DecidedBy, Gate, Proposal, Verdict
from bot.model.errors import ProposalError, StoreError
from bot.ports.approvals import (
    Already,
    Decided,
    NoSuch,
    NotEntitled,
    PasskeyWanted,
    Role,
    Stale,
    Unseen,
    WordsWanted,
)
from bot.ports.store import OutboxState
from bot.storage.store import Store
from policy.destination import parse_destination
from policy.document import load

rule = pytest.mark.rule
HOME = parse_destination("telegram:7001:-100200")
ELSEWHERE = parse_destination("telegram:7001:-100300")
ANN, BOB = "telegram:501", "telegram:502"
TEXT = """
version: 1
operators: [ann]
people:
  ann: {accounts: ["telegram:501"]}
  bob: {accounts: ["telegram:502"]}
channels:
  "telegram:7001:-100200": {audience: internal, reports: true}
  "telegram:7001:-100300": {audience: internal}
approvals: {rules: [{name: never, tools: [wipe], then: forbid}]}
"""


@dataclass
class There:
    room: ApprovalRoom
    store: Store
    policy: Any
    now: datetime
    waiting: list[Any]
    messages: int = 0

    def enqueue(self, parts):
        self.waiting.extend(parts)

    async def arrive(self):
        while self.waiting:
            part = self.waiting.pop(0)
            await self.store.outbox.begin(part.id)
            self.messages += 1
            await self.store.outbox.end(
                part.id, OutboxState.DELIVERED, code="ok", messages=[str(self.messages)], now=self.now
            )

    async def propose(self, name="deploy", *, arrive=True, **more):
        made = await self.room.propose(
            Proposal(action=Action(name=name, parameters={"n": 1}), **more), agent="main", origin=None
        )
        if arrive:
            await self.arrive()
        return made

    async def decide(self, approval, verdict=Verdict.APPROVE, *, by=ANN, at=HOME, version=None, **more):
        more.setdefault("way", DecidedBy.COMMAND)
        return await self.room.decide(approval.id, version or approval.version, verdict, by=by, at=at, **more)

    async def state(self, approval):
        return (await self.room.look(approval.id)).state


@pytest.fixture
async def there(tmp_path):
    async with opened(tmp_path) as one:
        yield one


@asynccontextmanager
async def opened(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    policy = load(TEXT, source="policy.yaml", environment={})
    one = There(room=None, store=store, policy=policy, now=datetime(2026, 6, 10, 12, tzinfo=UTC), waiting=[])
    channel = TelegramChannel(token=f"7001:{'A' * 35}", api_url="http://127.0.0.1:9", clock=lambda: one.now)
    one.room = ApprovalRoom(
        store=store.approvals,
        policy=lambda: one.policy,
        channels={channel.account: channel},
        dispatcher=one,
        door=Door(lambda: one.policy),
        clock=lambda: one.now,
    )
    try:
        yield one
    finally:
        await store.close()


@rule("APPR-3", "APPR-8")
async def test_what_a_decision_is_told_depends_on_what_stands(there):
    one = await there.propose()
    assert await there.room.decide("none", one.version, Verdict.DENY, by=ANN, way=DecidedBy.TAP, at=HOME) == NoSuch()
    assert isinstance(await there.decide(one, version="0" * 64), Stale)
    assert isinstance(await there.decide(one, version=one.version[:15]), Stale)
    assert await there.decide(one, by=BOB) == NotEntitled(why="stranger")
    assert isinstance(await there.decide(one, Verdict.RETURN), WordsWanted)
    assert await there.state(one) is ApprovalState.IN_REVIEW
    assert isinstance(await there.decide(one, version=one.version[:16]), Decided)
    assert isinstance(await there.decide(one), Already)
    assert not is_version(one, "")


@rule("APPR-2")
async def test_it_is_approved_only_where_it_was_seen(there):
    one = await there.propose(arrive=False)
    assert isinstance(await there.decide(one), Unseen)  # it has not left yet
    await there.arrive()
    assert isinstance(await there.decide(one, at=ELSEWHERE), Unseen)
    assert isinstance(await there.decide(one, Verdict.RETURN, at=ELSEWHERE, words="not now"), Decided)


@rule("APPR-2")
async def test_what_does_not_fit_is_seen_once_it_was_unfolded(there):
    long = Proposal(action=Action(name="deploy", parameters={"text": "word " * 2_000}))
    one = await there.room.propose(long, agent="main", origin=None)
    await there.arrive()
    assert isinstance(await there.decide(one), Unseen)
    assert await there.room.unfold(one.id, "0" * 64, HOME) is None
    unfolded = await there.room.unfold(one.id, one.version[:16], HOME)
    assert unfolded.unfolded == {str(HOME)}
    assert await there.room.unfold(one.id, one.version, HOME) == unfolded
    await there.arrive()
    assert isinstance(await there.decide(one), Decided)
    assert await there.room.unfold(one.id, one.version, HOME) is None


@rule("APPR-1")
async def test_what_the_policy_forbids_meanwhile_is_denied_when_somebody_would_approve_it(there):
    one = await there.propose()
    there.policy = load(TEXT.replace("tools: [wipe]", "tools: [deploy]"), source="p", environment={})
    found = await there.decide(one)
    assert isinstance(found, Already)
    assert (found.approval.state, found.approval.decisions[-1].way) == (ApprovalState.DENIED, DecidedBy.POLICY)


@rule("APPR-9", "APPR-5")
async def test_high_assurance_takes_a_proof_and_nothing_else(there):
    one = await there.propose(assurance=Assurance.HIGH)
    for way, proof in (
        (DecidedBy.TAP, None),
        (DecidedBy.PASSKEY, None),
        (DecidedBy.COMMAND, b"{}"),
        (DecidedBy.PASSKEY, b"{}"),  # a proof of nothing
    ):
        assert isinstance(await there.decide(one, way=way, proof=proof, at=None), PasskeyWanted)
    assert (await there.room.look(one.id)).decisions == ()


@rule("APPR-5", "APPR-9")
async def test_a_policy_that_wants_more_by_the_time_of_the_claim_gets_it(there):
    one = await there.propose()
    assert isinstance(await there.decide(one), Decided)
    there.policy = load(TEXT.replace("rules:", "defaults: {assurance: high}, rules:"), source="p", environment={})
    with pytest.raises(ProposalError) as refused:
        await there.room.claim(one.id, version=one.version, key="k", target_present=None)
    assert refused.value.code == "not_approved"


@rule("APPR-7")
async def test_a_gate_that_is_not_passed_wants_words(there):
    one = await there.propose(gates=(Gate(name="ready", passed=False),))
    assert isinstance(await there.decide(one, words="  "), WordsWanted)
    assert isinstance(await there.decide(one, words="It is needed today."), Decided)


@rule("APPR-4")
async def test_what_is_approved_and_not_used_yet_can_be_taken_back_in_words(there):
    one = await there.propose()
    await there.decide(one)
    assert isinstance(await there.decide(one, Verdict.DENY, way=DecidedBy.TAP), Already)
    assert isinstance(await there.decide(one, Verdict.DENY), Decided)
    assert await there.state(one) is ApprovalState.DENIED


@rule("APPR-4")
async def test_a_decision_comes_too_late_also_before_anybody_has_looked_at_the_clock(there):
    one = await there.propose(ttl_s=60)
    there.now += timedelta(seconds=60)
    found = await there.decide(one)
    assert isinstance(found, Already)
    assert found.approval.state is ApprovalState.EXPIRED


@rule("APPR-3")
async def test_a_card_that_arrives_after_the_end_is_brought_up_to_date(there):
    one = await there.propose(arrive=False)
    (card,) = there.waiting
    await there.room.cancel(one.id)
    assert await there.store.approvals.messages(one.id, Role.CARD) == []
    await there.arrive()
    there.room.delivered(card.id)
    for task in list(there.room._timing._late):
        await task
    (closing,) = there.waiting
    assert "taken back" in closing.new.part.text
    assert "Approve" not in [button.label for button in closing.new.part.buttons]


@rule("APPR-3", "APPR-8")
async def test_only_who_may_decide_may_change_it(there):
    one = await there.propose()
    other = Action(name="deploy", parameters={"n": 2})
    with pytest.raises(ProposalError) as refused:
        await there.room.revise(one.id, other, by=BOB, revision=one.revision)
    assert refused.value.code == "not_entitled"
    changed = await there.room.revise(one.id, other, by=ANN, revision=one.revision)
    assert changed.replaced == ((one.version, "ann"),)
    assert await there.room.revise(one.id, other, by=None, revision=changed.revision) == changed
    for action, code in ((Action(name="x", system="discreet"), "system"), (Action(name="wipe"), "forbidden")):
        with pytest.raises(ProposalError) as refused:
            await there.room.revise(one.id, action, by=None, revision=changed.revision)
        assert refused.value.code == code
    with pytest.raises(ProposalError) as refused:
        await there.room.revise("none", other, by=None, revision=1)
    assert refused.value.code == "unknown"


@rule("AGENT-5", "APPR-3")
async def test_an_agent_changes_one_call_so_often_and_not_for_ever(there, monkeypatch):
    monkeypatch.setattr(room, "MOST_VERSIONS", 3)
    one = await there.propose()
    for number in range(2, 5):
        action = Action(name="deploy", parameters={"n": number})
        one = await there.room.revise(one.id, action, by=None, revision=one.revision)
    with pytest.raises(ProposalError) as refused:
        await there.room.revise(one.id, Action(name="deploy"), by=None, revision=one.revision)
    assert refused.value.code == "too_many_versions"
    changed = await there.room.revise(one.id, Action(name="deploy"), by=ANN, revision=one.revision)
    assert changed.replaced[-1] == (one.version, "ann")


@rule("APPR-6")
async def test_a_reconciliation_wants_evidence_and_something_to_reconcile(there):
    one = await there.propose()
    for evidence, code in (("  ", "evidence"), ("seen", "state")):
        with pytest.raises(ProposalError) as refused:
            await there.room.reconcile(one.id, executed=True, evidence=evidence, by="ops")
        assert refused.value.code == code
    with pytest.raises(ProposalError) as refused:
        await there.room.claim(one.id, version=one.version, key="", target_present=None)
    assert refused.value.code == "key"


@rule("DUR-3")
async def test_a_card_that_was_not_made_before_a_crash_is_made_after_it(there):
    one = await there.propose()
    proposed = replace(one, id="other", code="OTHER", key="other", state=ApprovalState.PROPOSED, revision=1)
    await there.store.approvals.put(proposed, (), now=there.now)
    await there.room._timing.look()
    await there.room._timing.look()
    assert await there.state(proposed) is ApprovalState.IN_REVIEW
    assert len(there.waiting) == 1


async def test_whoever_executes_is_told_of_what_is_approved_also_after_a_restart(there):
    told = []

    class Executor:
        def approved(self, approval):
            told.append(approval.id)

    there.room.take(Executor())
    one = await there.propose()
    await there.decide(one)
    assert told == [one.id]
    await there.room._timing.resume()
    assert told == [one.id, one.id]


async def test_a_fault_with_one_approval_does_not_hold_up_the_others(there, monkeypatch):
    first = await there.propose(ttl_s=60)
    second = await there.propose(name="second", ttl_s=60)
    write = there.room.book.write

    async def faulty(approval, verb, **more):
        if approval.id == first.id:
            raise RuntimeError("a fault")
        return await write(approval, verb, **more)

    monkeypatch.setattr(there.room.book, "write", faulty)
    there.now += timedelta(minutes=2)
    await there.room._timing.look()
    await there.room._timing.look()
    assert await there.state(second) is ApprovalState.EXPIRED
    assert there.room._timing._broken == {first.id}


async def test_a_store_that_fails_for_a_while_is_asked_again(there, monkeypatch):
    monkeypatch.setattr(timing, "LOOK_EVERY_S", 0)
    one = await there.propose(ttl_s=60)
    there.now += timedelta(minutes=2)
    pending, failures = there.store.approvals.pending, 3

    async def failing():
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise StoreError("busy")
        return await pending()

    monkeypatch.setattr(there.room.book.store, "pending", failing)
    import asyncio

    task = asyncio.create_task(there.room.run())
    async with asyncio.timeout(10):
        found = await there.room.changed(one.id, since=one.revision)
    task.cancel()
    assert found.state is ApprovalState.EXPIRED
    assert await there.room.changed("none", since=1) is None


ESCALATED = TEXT.replace(
    "rules: [",
    'rules: [{name: slow, tools: [slow], then: ask, shown: ["telegram:7001:-100200"], '
    'escalate: {after: 1h, shown: ["telegram:7001:-100200", "telegram:7001:-100300"]}}, ',
)


@rule("APPR-8")
async def test_a_card_that_is_on_its_way_is_not_made_again_when_others_are_asked(there):
    there.policy = load(ESCALATED, source="p", environment={})
    await there.propose(name="slow", arrive=False)
    there.now += timedelta(hours=1)
    await there.room._timing.look()
    assert [part.new.part.destination for part in there.waiting] == [HOME, ELSEWHERE]


@rule("AGENT-5", "APPR-1")
async def test_what_is_looked_at_every_second_is_judged_and_read_once(there, monkeypatch):
    judged = []
    judge = book.judge_call

    def counting(policy, call):
        judged.append(call.action)
        return judge(policy, call)

    monkeypatch.setattr(book, "judge_call", counting)
    one = await there.propose()
    for _ in range(3):
        await there.room._timing.look()
    assert judged == ["deploy"]
    (first,), (second,) = await there.room.pending(), await there.room.pending()
    assert first is second
    there.policy = load(TEXT.replace("tools: [wipe]", "tools: [deploy]"), source="p", environment={})
    assert isinstance(await there.decide(one), Already)
    assert judged == ["deploy", "deploy"]
    assert await there.room.pending() == []
