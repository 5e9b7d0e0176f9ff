"""Callbacks: an agent is told over HTTP what people decided and answered, on a running gateway (AGENT-4, AGENT-5)."""

import asyncio
import json

import pytest
from standardwebhooks import Webhook

from bot.config.secret import Secret
from bot.config.settings import CallbackAddress
from bot.model.question import Way
from bot.questions.links import Links
from bot.storage.store import Store
from tests.acceptance.test_questions_api import SECRET as MASKED
from tests.agents_desk import OTHER_KEY, SECRET, agents_desk, receiving
from tests.harness import BOB, GROUP

rule = pytest.mark.rule
LINKS = Links(bytes(32), "https://forms.example.org")
REFUND = {"action": "refund", "parameters": {"amount": 120}}


def entry(receiver, **more):
    return CallbackAddress(to=receiver.url, secrets=(Secret(SECRET),), allow_private=True, **more)


async def test_who_proposed_is_told_what_was_decided_by_a_signed_message(api, tmp_path):
    async with receiving() as receiver, agents_desk(tmp_path, api, callbacks=[entry(receiver)]) as desk:
        url = f"{receiver.url}/webhook-waiting/17?signature=0f3a"
        status, made = await desk.call("POST", "/v1/approvals", {**REFUND, "callback": {"url": url}})
        assert (status, made["state"]) == (201, "in_review")
        await desk.press_on(0, "Approve")
        await receiver.wait()
        path, headers, body = receiver.came[0]
        told = Webhook(SECRET).verify(body, headers)
        assert path == "/webhook-waiting/17?signature=0f3a"
        assert told["type"] == "approval.decided"
        assert (told["data"]["id"], told["data"]["state"]) == (made["id"], "approved")
        assert told["data"] == (await desk.call("GET", f"/v1/approvals/{made['id']}"))[1]


async def test_what_needs_nobody_is_told_too_and_a_flow_that_starts_over_hears_it_at_its_new_address(api, tmp_path):
    async with receiving() as receiver, agents_desk(tmp_path, api, callbacks=[entry(receiver)]) as desk:
        small = {"action": "refund", "parameters": {"amount": 5}, "key": "one"}
        for number in (1, 2):
            await desk.call("POST", "/v1/approvals", {**small, "callback": {"url": f"{receiver.url}/{number}"}})
            await receiver.wait(number)
        assert [path for path, _, _ in receiver.came] == ["/1", "/2"]
        assert len({json.loads(body)["data"]["id"] for _, _, body in receiver.came}) == 1
        assert desk.cards == []


@rule("FORM-10")
async def test_who_asked_is_told_the_answer_without_its_masked_values(api, tmp_path):
    async with receiving() as receiver, agents_desk(tmp_path, api, callbacks=[entry(receiver)], links=LINKS) as desk:
        api.say(chat=GROUP, sender=BOB, text="@desk_bot go on")
        await asyncio.wait_for(desk.agent.started.wait(), 20)
        room = desk.gateway.daemon.crew.questions
        asked = {"question": "PIN?", "schema": MASKED, "request": desk.agent.requests[0].id}
        status, made = await desk.call("POST", "/v1/questions", {**asked, "callback": {"url": f"{receiver.url}/q"}})
        assert status == 201, made
        values = {"pin": "SYNTHETIC-pin", "note": "n"}
        await room.submit(room._links.token(made["id"]), values, by=None, way=Way.FORM)
        await receiver.wait()
        told = Webhook(SECRET).verify(receiver.came[0][2], receiver.came[0][1])
        assert (told["type"], told["data"]["state"]) == ("question.ended", "answered")
        assert told["data"]["answer"] == {"pin": None, "note": "n"}
        _, question = await desk.call("GET", f"/v1/questions/{made['id']}")
        assert question["answer"] == values  # nothing was taken from whoever fetches it


@pytest.mark.parametrize(
    ("callback", "why"),
    [
        ({"url": "https://elsewhere.example.org/x"}, "callback"),
        ({"url": "http://169.254.169.254/latest/meta-data"}, "callback"),
        ({"url": "http://127.0.0.1:1/x"}, "callback"),
        ({"url": ""}, "invalid"),
        ({"url": 5}, "invalid"),
        ({"url": "https://a.example.org/", "secret": "x"}, "invalid"),
        ("https://a.example.org/", "invalid"),
    ],
)
async def test_no_other_address_is_called_and_nobody_is_asked(api, tmp_path, callback, why):
    async with receiving() as receiver, agents_desk(tmp_path, api, callbacks=[entry(receiver)]) as desk:
        status, refused = await desk.call("POST", "/v1/approvals", {**REFUND, "callback": callback})
        assert (status, refused["error"]) == (422, why)
        assert "169.254" not in json.dumps(refused)
        assert (await desk.call("GET", "/v1/approvals"))[1] == {"approvals": []}


async def test_an_entry_for_one_agent_is_not_for_another(api, tmp_path):
    only = frozenset({"main"})
    async with receiving() as receiver, agents_desk(tmp_path, api, callbacks=[entry(receiver, agents=only)]) as desk:
        body = {**REFUND, "callback": {"url": f"{receiver.url}/x"}}
        assert (await desk.call("POST", "/v1/approvals", body, key=OTHER_KEY))[0] == 422
        assert (await desk.call("POST", "/v1/approvals", body))[0] == 201


@rule("DUR-3")
async def test_what_was_decided_while_the_receiver_was_away_is_told_after_a_restart(api, tmp_path):
    async with receiving() as receiver:
        receiver.answers = [503]
        async with agents_desk(tmp_path, api, callbacks=[entry(receiver)]) as desk:
            body = {**REFUND, "callback": {"url": f"{receiver.url}/x"}}
            _, made = await desk.call("POST", "/v1/approvals", body)
            await desk.press_on(0, "Deny")
            await receiver.wait()
            await desk.callbacks.idle()
        receiver.answers = [204]
        store = await Store.open(tmp_path / "discreet.db")
        kept = await store.callbacks.of("approval", made["id"])
        await store.callbacks.again(kept, at=kept.made_at)  # the pause is over
        await store.close()
        async with agents_desk(tmp_path, api, callbacks=[entry(receiver)]):
            await receiver.wait(2)
        ids = [headers["webhook-id"] for _, headers, _ in receiver.came]
        assert ids == [kept.id, kept.id]
        assert json.loads(receiver.came[1][2])["data"]["state"] == "denied"
