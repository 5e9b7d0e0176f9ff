"""What every store of approvals must do, whatever database is under it (bot.ports.approvals)."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.model.approval import (
    Action,
    Approval,
    ApprovalState,
    Assurance,
    DecidedBy,
    Decision,
    Gate,
    Origin,
    Proposal,
    Subject,
    Verdict,
)
from bot.model.errors import StoreError
from bot.model.output import OutFile
from bot.ports.approvals import Role, Shown
from bot.ports.store import OutboxState
from bot.storage.store import Store
from policy.event import Chat
from tests.contract.test_store import Sqlite
from tests.stored import HOUR, NOW, PLACE, TOPIC, new, part

rule = pytest.mark.rule
FILE = OutFile(name="a.txt", media_type="text/plain", content=b"words")


@pytest.fixture
async def backend(tmp_path):
    one = Sqlite(tmp_path)
    yield one
    if one.open_now is not None:
        await one.open_now.close()


@pytest.fixture
async def store(backend):
    return await backend.open()


def made(number=1, **more) -> Approval:
    action = Action(name="refund", system="shop", parameters={"amount": number, "to": ["ä", None, 1.5]})
    values = {
        "id": f"id{number}",
        "code": f"CODE{number}",
        "agent": "main",
        "key": f"key{number}",
        "subject": Subject.CALL,
        "proposal": Proposal(
            action=action,
            reason="because",
            task="the task",
            gates=(Gate(name="evaluation", passed=False, detail="2 of 9"),),
            target="order 7",
            assurance=Assurance.HIGH,
            ttl_s=600,
            key=f"key{number}",
            schema={"type": "object"},
        ),
        "version": action.version,
        "origin": Origin(destination=TOPIC, chat=Chat.GROUP, person=None, requester="telegram:502", event_id=None),
        "language": "de",
        "rule": "refunds",
        "proposed_at": NOW,
        "expires_at": NOW + HOUR,
    }
    return Approval(**{**values, **more})


def draft(number=1, **more) -> Approval:
    origin = Origin(destination=PLACE, chat=Chat.GROUP)
    return made(number, subject=Subject.DRAFT, origin=origin, expires_at=None, **more)


def decision(approval, verdict=Verdict.APPROVE, **more) -> Decision:
    values = {
        "version": approval.version,
        "verdict": verdict,
        "person": "ann",
        "account": "telegram:501",
        "way": DecidedBy.TAP,
        "at": NOW,
        "words": "fine",
        "for_whom": "cleo",
        "assurance": Assurance.HIGH,
        "proof": b"{}",
    }
    return Decision(**{**values, **more})


async def put(store: Store, approval: Approval, *shown: Shown, files=()):
    return await store.approvals.put(approval, shown, files=files, now=NOW)


def card(text="a card", *, version, role=Role.CARD) -> Shown:
    return Shown(part=new(part(text)), role=role, version=version)


async def deliver(store, waiting, message):
    await store.outbox.begin(waiting.id)
    await store.outbox.end(waiting.id, OutboxState.DELIVERED, code="ok", messages=[message], now=NOW)


async def facts(store, kind):
    return [json.loads(one.facts) for one in await store.journal.tail(50) if one.kind == kind]


@rule("APPR-4")
async def test_an_approval_comes_back_as_it_was_put_also_after_a_restart(backend, store):
    approval = made()
    kept, waiting, is_new = await put(store, approval)
    assert (kept, waiting, is_new) == (approval, [], True)
    store = await backend.open()
    for found in (
        await store.approvals.get("id1"),
        await store.approvals.by_key("main", "key1"),
        await store.approvals.by_code("CODE1"),
        *await store.approvals.pending(),
        *await store.approvals.recent(5),
    ):
        assert found == approval
        assert found.action.version == approval.version
    assert await store.approvals.get("other") is None
    assert await store.approvals.by_key("other", "key1") is None
    assert await store.approvals.by_code("OTHER") is None
    reader = await Store.open_reader(backend.path)
    assert await reader.approvals.pending() == [approval]
    await reader.close()


@rule("APPR-4")
async def test_the_same_key_finds_what_is_there_and_a_code_is_of_one_that_is_open(store):
    approval = made()
    await put(store, approval)
    again = made(2, key="key1")
    assert await put(store, again) == (approval, [], False)
    with pytest.raises(StoreError):
        await put(store, made(3, code="CODE1"))
    closed = replace(approval, state=ApprovalState.CANCELLED, closed_at=NOW)
    await store.approvals.change(closed, verb="cancel", now=NOW)
    assert (await put(store, made(3, code="CODE1")))[2]
    assert (await store.approvals.by_code("CODE1")).id == "id3"


@rule("AUTO-6")
async def test_one_draft_is_open_for_each_destination_while_it_can_be_revised(store):
    one = draft()
    assert (await put(store, one, files=[FILE]))[2]
    assert await store.approvals.files("id1", one.version) == (FILE,)
    assert (await put(store, draft(2)))[0].id == "id1"
    assert (await store.approvals.draft_for(PLACE)).id == "id1"
    assert await store.approvals.draft_for(TOPIC) is None
    claimed = replace(one, state=ApprovalState.CLAIMED, claimed_at=NOW)
    await store.approvals.change(claimed, verb="claim", now=NOW)
    assert await store.approvals.draft_for(PLACE) is None
    assert (await put(store, draft(2)))[2]


@rule("APPR-5")
async def test_of_two_changes_of_one_revision_one_is_written(store):
    approval = made()
    await put(store, approval)
    changed = replace(approval, state=ApprovalState.CANCELLED, closed_at=NOW)
    found = await asyncio.gather(
        *(store.approvals.change(changed, verb="cancel", now=NOW) for _ in range(5)),
    )
    assert sorted(found, key=repr) == [None, None, None, None, []]
    assert (await store.approvals.get("id1")).revision == 2
    assert len(await facts(store, "approval")) == 1


@rule("APPR-3", "APPR-7", "DUR-5")
async def test_decisions_are_added_and_the_record_has_them_without_words_or_ids(store):
    approval = made()
    await put(store, approval)
    first = decision(approval, person="cleo", account="telegram:503", for_whom="", proof=None)
    noted = replace(approval, state=ApprovalState.IN_REVIEW, decisions=(first,), unfolded=frozenset({"a", "b"}))
    assert await store.approvals.change(noted, verb="note", now=NOW) == []
    second = decision(approval)
    approved = replace(
        noted,
        revision=2,
        state=ApprovalState.APPROVED,
        decisions=(first, second),
        decided_at=NOW,
        reminded_at=NOW,
        escalated=True,
        auto_at=NOW,
        heard=1,
        replaced=(("old", "ann"),),
        note="a note",
    )
    await store.approvals.change(approved, verb="approve", now=NOW)
    found = await store.approvals.get("id1")
    assert found == replace(approved, revision=3)
    assert found.standing == (second,)
    record = (await facts(store, "approval"))[-1]
    assert (record["verb"], record["state"], record["verdict"], record["way"]) == (
        "approve",
        "approved",
        "approve",
        "tap",
    )
    assert (record["bypass"], record["high"], record["words"]) == (1, 1, 1)
    written = json.dumps([one.facts for one in await store.journal.tail(50)])
    for word in ("fine", "ann", "telegram:501", "refund", "shop", "id1", "CODE1", approval.version, "key1"):
        assert word not in written
    assert await store.journal.verify() is None


@rule("APPR-6")
async def test_what_is_claimed_or_unknown_is_found_by_agent_and_version(store):
    approval = made()
    await put(store, approval)
    assert await store.approvals.unreconciled("main", approval.version) is None
    for revision, state in enumerate((ApprovalState.CLAIMED, ApprovalState.UNKNOWN), start=1):
        await store.approvals.change(replace(approval, revision=revision, state=state), verb="claim", now=NOW)
        assert (await store.approvals.unreconciled("main", approval.version)).state is state
    assert await store.approvals.unreconciled("other", approval.version) is None
    counts = await store.approvals.counts()
    assert counts[ApprovalState.UNKNOWN] == 1
    assert ApprovalState.EXECUTED not in counts
    failed = replace(approval, revision=3, state=ApprovalState.FAILED, closed_at=NOW)
    await store.approvals.change(failed, verb="fail", now=NOW)
    assert await store.approvals.unreconciled("main", approval.version) is None


@rule("APPR-2", "APPR-3")
async def test_messages_are_known_by_what_they_show(store):
    approval = made()
    _, (sent,), _ = await put(store, approval, card(version=approval.version))
    assert await store.approvals.role_of(sent.id) == (Role.CARD, approval.version)
    assert await store.approvals.role_of(999) is None
    assert await store.approvals.of_part(999) is None
    assert await store.approvals.of_part(sent.id) == (approval, None)
    assert await store.approvals.places("id1", approval.version) == frozenset()  # it is not on its way yet
    await deliver(store, sent, "77")
    found, standing = await store.approvals.of_part(sent.id)
    assert (found.id, standing.message, standing.destination, standing.role) == ("id1", "77", PLACE, Role.CARD)
    assert (await store.approvals.at(PLACE, "77")).approval == approval
    assert await store.approvals.at(PLACE, "78") is None
    assert [one.message for one in await store.approvals.messages("id1", Role.CARD)] == ["77"]
    assert await store.approvals.messages("id1", Role.FULL) == []
    assert await store.approvals.messages("other", Role.CARD) == []
    assert await store.approvals.places("id1", approval.version) == {(PLACE, Role.CARD)}
    assert await store.approvals.places("id1", "another") == frozenset()


@rule("APPR-3")
async def test_a_card_that_arrives_after_the_end_is_late(store):
    approval = made(state=ApprovalState.IN_REVIEW)
    _, (sent,), _ = await put(store, approval, card(version=approval.version))
    assert await store.approvals.late(sent.id) is None
    closed = replace(approval, state=ApprovalState.EXPIRED, closed_at=NOW)
    more = await store.approvals.change(
        closed, verb="expire", now=NOW, shown=[card("a notice", version=approval.version, role=Role.NOTICE)]
    )
    assert (await store.approvals.late(sent.id)).state is ApprovalState.EXPIRED
    assert await store.approvals.late(more[0].id) is None


@rule("DUR-2")
async def test_what_says_the_words_of_a_draft_is_known_with_its_state(store):
    approval = draft()
    await put(store, approval)
    said = [card(version=approval.version, role=Role.SEND), card("more", version=approval.version, role=Role.SEND)]
    sent = await store.approvals.show(approval, said, now=NOW)
    await deliver(store, sent[0], "5")
    states = await store.approvals.sendings("id1", approval.version)
    assert [states[one.id] for one in sent] == ["delivered", "ready"]
    assert await store.approvals.show(approval, [], now=NOW) == []


@rule("DUR-5")
async def test_words_go_when_their_time_is_over_and_the_chain_stays_valid(store):
    approval = draft()
    await put(store, approval, files=[FILE])
    closed = replace(approval, state=ApprovalState.DENIED, decisions=(decision(approval, Verdict.DENY),), closed_at=NOW)
    await store.approvals.change(closed, verb="deny", now=NOW)
    open_one = made(2)
    await put(store, open_one)
    assert await store.approvals.sweep(now=NOW, contents_before=NOW) == 0
    assert await store.approvals.sweep(now=NOW, contents_before=NOW + timedelta(seconds=1)) == 1
    found = await store.approvals.get("id1")
    assert (found.state, found.version, found.action.name) == (ApprovalState.DENIED, approval.version, "")
    assert (found.decisions[0].words, found.decisions[0].proof) == ("", b"{}")
    assert await store.approvals.files("id1", approval.version) == ()
    assert await store.approvals.get("id2") == open_one
    assert await store.journal.verify() is None


@rule("AUTO-6")
async def test_the_files_of_an_earlier_version_go(store):
    approval = draft()
    await put(store, approval, files=[FILE])
    again = replace(approval, version="another", state=ApprovalState.PROPOSED)
    await store.approvals.change(again, verb="revise", now=NOW, files=[FILE, FILE])
    assert await store.approvals.files("id1", approval.version) == ()
    assert len(await store.approvals.files("id1", "another")) == 2
