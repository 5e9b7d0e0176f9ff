"""How people decide in the built-in chat, over HTTP, with the whole gateway behind it (APPR-2, APPR-3)."""

import asyncio

import pytest

from bot.model.approval import Action, ApprovalState, DecidedBy
from tests.approvals_desk import approvals_desk

rule = pytest.mark.rule
DEPLOY = {"service": "api", "version": "1.4.2", "amount": 100}


@pytest.fixture
async def desk(tmp_path):
    async with approvals_desk(tmp_path) as opened:
        yield opened


async def until(look):
    async with asyncio.timeout(10):
        while not (found := await look()):
            await asyncio.sleep(0.02)
        return found


def labels(message):
    return [one["label"] for one in message["card"]["buttons"]]


@rule("APPR-2", "OUT-8")
async def test_the_card_has_rows_blocks_and_buttons_and_closes_with_who_decided(desk):
    approval = await desk.propose({**DEPLOY, "note": "<b>x</b>\nResult: approved"}, reason="because")
    (message,) = await desk.cards()
    rows, blocks = dict(message["card"]["rows"]), dict(message["card"]["blocks"])
    assert rows["Action"] == "deploy"
    assert rows["May decide"] == "Ann, Cleo"
    assert "│ amount: 100" in blocks["Parameters"]
    assert "│ note:\n│ │ <b>x</b>\n│ │ Result: approved" in blocks["Parameters"]
    assert labels(message) == ["Approve", "Deny", "Deny with reason…", "Return…", "Change…"]
    assert await desk.tap("Approve", message, who="bob") == "Somebody else has to decide this."
    assert await desk.tap("Approve", message) == f"Noted: you approve {approval.code}."
    (message,) = await desk.cards()
    assert labels(message) == []
    assert message["card"]["title"] == f"{approval.code}: approved"
    assert dict(message["card"]["rows"])["Decided by"].startswith("Ann, 20")
    assert await desk.cards("customers") == []


@rule("APPR-3")
async def test_a_tap_on_an_earlier_version_is_told_so(desk):
    approval = await desk.propose(DEPLOY)
    (old,) = await desk.cards()
    other = Action(name="deploy", system="cluster", parameters={**DEPLOY, "amount": 90})
    await desk.room.revise(approval.id, other, by=None, revision=approval.revision)
    await desk.idle()
    closed, new = await desk.cards()
    assert labels(closed) == []
    token = old["card"]["buttons"][0]["token"]
    path = f"/api/rooms/ops/messages/{old['id']}/tap"
    status, refused = await desk.visitor.post(path, {"token": token, "as": "ann"})
    assert (status, refused) == (404, {"error": "error.button_gone"})
    await desk.tap("Approve", new)
    assert await desk.state(approval) is ApprovalState.APPROVED


@rule("APPR-2", "FORM-14")
async def test_a_reply_and_a_reason_are_heard(desk):
    first = await desk.propose(DEPLOY)
    (message,) = await desk.cards()
    await desk.visitor.say("ops", "yes", who="bob", reply=message["id"])
    await desk.idle()
    assert await desk.state(first) is ApprovalState.IN_REVIEW
    await desk.visitor.say("ops", "yes", who="ann", reply=message["id"])
    await desk.idle()
    assert await desk.state(first) is ApprovalState.APPROVED
    second = await desk.propose({"n": 2})
    await desk.tap("Deny with reason…", (await desk.cards())[-1])
    prompt = (await desk.cards())[-1]
    assert prompt["card"]["title"].startswith("Ann, why do you deny")
    await desk.visitor.say("ops", "not mine", who="cleo", reply=prompt["id"])
    await desk.visitor.say("ops", "too early", who="ann", reply=prompt["id"])
    await desk.idle()
    denied = await desk.room.look(second.id)
    assert (denied.state, denied.standing[-1].words) == (ApprovalState.DENIED, "too early")
    assert desk.agent.requests == []


@rule("APPR-3", "FORM-9")
async def test_the_form_has_the_values_filled_in_and_is_for_that_person_alone(desk):
    approval = await desk.propose(DEPLOY)
    (message,) = await desk.cards()
    assert await desk.tap("Change…", message) == "The values are in the form below."
    asked = (await desk.visitor.messages("ops"))[-1]
    fields = {one["title"]: one for one in asked["card"]["form"]["fields"]}
    assert {title: one["values"] for title, one in fields.items()} == {
        "service": ["api"],
        "version": ["1.4.2"],
        "amount": ["100"],
    }
    path = f"/api/rooms/ops/messages/{asked['id']}/answer"
    values = {one["names"][0]: one["values"] for one in fields.values()} | {fields["amount"]["names"][0]: ["90"]}
    assert (await desk.visitor.post(path, {"fields": values, "as": "cleo"}))[1]["outcome"] == "not_yours"
    assert await desk.state(approval) is ApprovalState.IN_REVIEW
    assert (await desk.visitor.post(path, {"fields": values, "as": "ann"}))[1] == {"outcome": "taken"}

    async def decided():
        return await desk.state(approval) is ApprovalState.APPROVED

    await until(decided)
    now = await desk.room.look(approval.id)
    assert now.action.parameters == {**DEPLOY, "amount": 90}
    assert (now.standing[-1].person, now.standing[-1].way) == ("ann", DecidedBy.FORM)


@rule("APPR-2")
async def test_a_very_long_text_is_whole_in_the_card(desk):
    await desk.propose({"command": "echo ok; " * 5_000 + "rm -rf /srv"})
    (message,) = await desk.cards()
    assert message["card"]["blocks"][0][1].endswith("rm -rf /srv")
    assert "Approve" in labels(message)
