"""Approvals over HTTP, decided on Telegram: what agents and operators meet at a running gateway (APPR-1, 3 to 8)."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from bot.api.approvals import ApprovalsApi
from bot.api.site import serve
from bot.config.secret import Secret
from bot.config.settings import Proposals
from bot.model.approval import Action, ApprovalState, Proposal
from bot.model.errors import ProposalError
from tests.acceptance.test_approvals_telegram import CLEO, OPEN, Deciding, until
from tests.acceptance.test_questions_api import Working
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, Clock, running

rule = pytest.mark.rule
KEY = "SYNTHETIC-key-of-the-main-agent"
OTHER_KEY = "SYNTHETIC-key-of-another-agent"
BACK = -1001000000003  # a second internal channel
DAN = 504
DAY = datetime(2026, 6, 10, 12, 0, tzinfo=UTC)
POLICY = f"""
version: 1
operators: [ann, cleo, dan]
people:
  ann: {{accounts: ["telegram:{ANN}"], names: [Ann]}}
  cleo: {{accounts: ["telegram:{CLEO}"], names: [Cleo]}}
  dan: {{accounts: ["telegram:{DAN}"], names: [Dan]}}
  bob: {{accounts: ["telegram:{BOB}"], names: [Bob]}}
direct: {{strangers: allow}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{INTERNAL}": {{audience: internal, reports: true}}
  "telegram:{BOT_ID}:{BACK}": {{audience: internal}}
approvers: {{groups: {{finance: [ann, cleo]}}}}
approvals:
  quiet_hours: {{from: "22:00", to: "07:00", timezone: Europe/Berlin}}
  delegations:
    - {{from: ann, to: dan, until: 2026-06-11T00:00:00Z}}
  rules:
    - {{name: small, tools: [refund], when: ["amount <= `50`"], then: allow}}
    - {{name: never, tools: ["wipe*"], then: forbid}}
    - {{name: big, tools: [refund], when: ["amount > `1000`"], then: ask, who: {{groups: [finance]}}, quorum: 2}}
    - name: slow
      tools: [slow]
      then: ask
      who: {{people: [cleo]}}
      ttl: 10h
      remind: 2h
      escalate: {{after: 3h, who: {{people: [ann]}}, shown: ["telegram:{BOT_ID}:{BACK}"]}}
    - {{name: elsewhere, tools: [elsewhere], then: ask, shown: ["telegram:{BOT_ID}:{BACK}"]}}
    - {{name: sure, tools: [sure], then: ask, assurance: high}}
    - {{name: private, tools: [private], then: ask, shown: ["telegram:{BOT_ID}:{CLEO}"]}}
"""


@dataclass
class There(Deciding):
    """A gateway with its interface; people's taps as on Telegram, and calls of agents."""

    url: str
    http: aiohttp.ClientSession
    clock: Clock
    agent: Working

    def __init__(self, api, gateway, url, http, clock, agent):
        super().__init__(api, gateway)
        self.url, self.http, self.clock, self.agent = url, http, clock, agent

    async def call(self, method, path="", *, key=KEY, body=None, **headers):
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        url = f"{self.url}/v1/approvals{path}"
        async with self.http.request(method, url, json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def put(self, action="refund", parameters=None, *, status=201, headers=None, **more):
        body = {"action": action, "parameters": {"amount": 100} if parameters is None else parameters, **more}
        found, document = await self.call("POST", body=body, **(headers or {}))
        assert found == status, document
        await self.settled()
        return document

    async def get(self, one, query=""):
        status, document = await self.call("GET", f"/{one['id']}{query}")
        assert status == 200, document
        return document

    async def use(self, one, *, claim_key="a", version=None, **more):
        body = {"version": one["version"] if version is None else version, "claim_key": claim_key, **more}
        return await self.call("POST", f"/{one['id']}/claim", body=body)

    async def later(self, **time):
        """Let time pass, and the room look once."""
        self.clock.offset += timedelta(**time)
        await self.room._timing.look()
        await self.settled()

    async def settled_but_running(self):
        """Every update is taken and every part sent; the agent still works."""
        async with asyncio.timeout(20):
            await self.api.wait_drained(timeout=15)
            crew = self.gateway.daemon.crew
            await crew.gateway.idle()
            await crew.worker._control.idle()
            await crew.dispatcher.idle()

    def rewrite(self, old, new):
        """Another policy in force."""
        path = self.gateway.folder / "policy.yaml"
        written = path.read_text()
        assert old in written
        path.write_text(written.replace(old, new))
        self.gateway.daemon.crew.policy.poke()

    async def in_force(self, condition):
        async with asyncio.timeout(10):
            while not condition(self.gateway.daemon.crew.policy()):
                await asyncio.sleep(0.02)


@asynccontextmanager
async def there(tmp_path, api, *, at=DAY, policy=POLICY, proposals=None):
    agent, other = Working(), Working(name="idle")
    clock, port = Clock(at), asyncio.get_running_loop().create_future()
    async with running(
        tmp_path, api=api, agent=agent, further=[other], limits=OPEN, policy=policy, clock=clock, proposals=proposals
    ) as gateway:
        crew = gateway.daemon.crew
        service = asyncio.create_task(
            serve(
                [ApprovalsApi(crew.worker, crew.approvals, clock=clock)],
                host="127.0.0.1",
                port=0,
                keys={"main": Secret(KEY), "idle": Secret(OTHER_KEY)},
                bound=port.set_result,
            )
        )
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as http:
                yield There(api, gateway, f"http://127.0.0.1:{await port}", http, clock, agent)
        finally:
            agent.gate.set()
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)


def codes(answer: tuple[int, Any]) -> tuple[int, str]:
    return answer[0], answer[1]["error"]


# the rules


@rule("APPR-1")
async def test_rules_by_tool_and_values_say_which_calls_need_nobody_and_which_never_happen(api, tmp_path):
    async with there(tmp_path, api) as here:
        small = await here.put(parameters={"amount": 50})
        assert (small["state"], small["rule"]) == ("approved", "small")
        assert small["decisions"][0]["way"] == "policy"
        assert here.cards == []
        text = await here.put(parameters={"amount": "50"})  # what can't be compared is never allowed
        assert text["state"] == "in_review"
        never = await here.put("wipe_disk")
        assert (never["state"], never["rule"]) == ("denied", "never")
        assert codes(await here.use(never)) == (409, "not_approved")
        assert (await here.use(small))[0] == 200
        disguised = await here.put("w\u0456pe_disk")  # a Cyrillic letter
        assert (disguised["state"], disguised["rule"]) == ("denied", "never")
        twice = await here.put(parameters={"amount": 5, "Amount": 5000})
        assert twice["state"] == "in_review"


@rule("APPR-1", "APPR-7", "APPR-9")
async def test_what_a_rule_allows_is_asked_for_where_the_agent_itself_wants_more(api, tmp_path):
    async with there(tmp_path, api) as here:
        gate = {"name": "evaluation", "passed": False}
        for more in ({"gates": [gate]}, {"assurance": "high"}):
            one = await here.put(parameters={"amount": 5}, **more)
            assert (one["state"], one["rule"]) == ("in_review", "small")
        met = await here.put(parameters={"amount": 6}, gates=[{**gate, "passed": True}])
        assert met["state"] == "approved"


@rule("APPR-1", "OUT-8")
async def test_a_request_is_shown_where_the_rule_says_and_not_where_the_conversation_is(api, tmp_path):
    async with there(tmp_path, api) as here:
        api.say(chat=GROUP, sender=BOB, text="@desk_bot do it")
        await until(lambda: _now(here.agent.requests))
        put = await here.call(
            "POST", body={"action": "elsewhere", "parameters": {}, "request": here.agent.requests[0].id}
        )
        assert put[0] == 201
        await here.settled_but_running()
        assert [one["chat"]["id"] for one in api.sent(BACK)] == [BACK]
        assert api.sent(GROUP) == []
        assert api.sent(INTERNAL) == []
        here.agent.gate.set()


async def _now(found):
    return bool(found)


@rule("APPR-1", "OUT-8")
async def test_a_request_is_shown_in_an_operators_private_chat_while_they_are_one(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put("private")
        (card,) = api.sent(CLEO)
        assert api.sent(INTERNAL) == []
        button = next(key for row in card["reply_markup"]["inline_keyboard"] for key in row if key["text"] == "Approve")
        press = {"chat": CLEO, "message_id": card["message_id"], "data": button["callback_data"], "force": True}
        api.press(sender=CLEO, **press)
        await here.settled()
        assert (await here.get(one))["decisions"][0]["by"] == "cleo"
        here.rewrite("operators: [ann, cleo, dan]", "operators: [ann, dan]")
        here.rewrite("finance: [ann, cleo]", "finance: [ann, dan]")
        here.rewrite("who: {people: [cleo]}", "who: {people: [dan]}")
        here.rewrite(f', shown: ["telegram:{BOT_ID}:{CLEO}"]', "")
        await here.in_force(lambda policy: "cleo" not in policy.operators)
        before = len(api.sent(CLEO))
        assert (await here.put("private", {"other": 1}))["state"] == "in_review"
        assert len(api.sent(CLEO)) == before


@rule("APPR-1")
async def test_who_is_not_named_by_the_rule_can_not_decide(api, tmp_path):
    async with there(tmp_path, api) as here:
        slow = await here.put("slow")
        card = here.card()
        told = await here.tap("Approve", card=card, sender=ANN)
        assert told
        assert (await here.get(slow))["state"] == "in_review"
        await here.tap("Approve", card=card, sender=CLEO)
        assert (await here.get(slow))["state"] == "approved"


# versions


@rule("APPR-3")
async def test_a_change_by_the_agent_voids_what_was_approved_and_wants_a_new_review(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        card = here.card()
        await here.tap("Approve", card=card)
        approved = await here.get(one)
        assert approved["state"] == "approved"
        status, changed = await here.call(
            "POST", f"/{one['id']}/revise", body={"parameters": {"amount": 900}, "revision": approved["revision"]}
        )
        assert status == 200
        assert changed["version"] != one["version"]
        assert changed["replaced"] == [{"version": one["version"], "by": None}]
        assert changed["state"] == "in_review"
        assert codes(await here.use(one)) == (409, "not_approved")
        await here.tap("Approve", card=card)  # the old button
        assert (await here.get(one))["state"] == "in_review"
        await here.settled()
        await here.tap("Approve")
        assert codes(await here.use(one)) == (409, "version")
        assert (await here.use(changed))[1]["parameters"] == {"amount": 900}


@rule("APPR-3")
async def test_what_was_agreed_to_before_a_change_does_not_count_when_it_is_changed_back(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put(parameters={"amount": 5000})
        await here.tap("Approve")  # one of two
        known = await here.get(one)
        for amount in (6000, 5000):
            body = {"parameters": {"amount": amount}, "revision": known["revision"]}
            _, known = await here.call("POST", f"/{one['id']}/revise", body=body)
            await here.settled()
        assert known["version"] == one["version"]
        assert known["decisions"] == []
        await here.tap("Approve", sender=CLEO)
        assert (await here.get(one))["state"] == "in_review"
        await here.tap("Approve", sender=ANN)
        assert (await here.get(one))["state"] == "approved"


@rule("APPR-3")
async def test_a_change_names_the_revision_that_it_changes(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        body = {"parameters": {"amount": 7}, "revision": one["revision"] - 1}
        assert codes(await here.call("POST", f"/{one['id']}/revise", body=body)) == (409, "version")
        body = {"action": "wipe", "parameters": {}, "revision": one["revision"]}
        assert codes(await here.call("POST", f"/{one['id']}/revise", body=body)) == (409, "forbidden")
        assert (await here.get(one))["version"] == one["version"]


# states and their ends


@rule("APPR-4")
async def test_decided_and_done_are_told_apart_and_nothing_else_leads_there(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        assert codes(await here.call("POST", f"/{one['id']}/outcome", body={"executed": True})) == (409, "state")
        waiting = asyncio.create_task(here.get(one, "?wait=20s"))
        await here.tap("Approve")
        approved = await waiting
        assert (approved["state"], approved["closed_at"]) == ("approved", None)
        _, claimed = await here.use(one)
        assert (claimed["state"], claimed["decisions"][0]["by"]) == ("claimed", "ann")
        status, done = await here.call("POST", f"/{one['id']}/outcome", body={"executed": False, "note": "no stock"})
        assert (status, done["state"], done["note"]) == (200, "failed", "no stock")
        again = await here.call("POST", f"/{one['id']}/outcome", body={"executed": False})
        assert again[0] == 200
        assert codes(await here.call("POST", f"/{one['id']}/outcome", body={"executed": True})) == (
            409,
            "already_decided",
        )
        assert codes(await here.call("DELETE", f"/{one['id']}")) == (409, "already_decided")


@rule("APPR-4")
async def test_nobody_decides_in_time_and_what_is_over_stays_over(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put(ttl_s=60)
        card = here.card()
        waiting = asyncio.create_task(here.get(one, "?wait=20s"))
        await here.later(seconds=61)
        assert (await waiting)["state"] == "expired"
        await here.tap("Approve", card=card)
        assert (await here.get(one))["state"] == "expired"
        assert codes(await here.use(one)) == (409, "expired")


@rule("APPR-4")
async def test_an_agent_takes_back_what_is_not_used_and_the_card_says_so(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        assert (await here.call("DELETE", f"/{one['id']}"))[1]["state"] == "cancelled"
        await here.settled()
        assert here.labels() == []
        two = await here.put()
        await here.tap("Approve")
        await here.use(two)
        assert codes(await here.call("DELETE", f"/{two['id']}")) == (409, "claimed")


# using


@rule("APPR-5")
async def test_of_two_claims_one_wins_and_the_same_claim_made_again_is_the_same(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        await here.tap("Approve")
        found = await asyncio.gather(*(here.use(one, claim_key=f"k{number}") for number in range(8)))
        won = [number for number, (status, _) in enumerate(found) if status == 200]
        assert len(won) == 1
        assert {codes(answer) for answer in found if answer[0] != 200} == {(409, "claimed")}
        assert (await here.use(one, claim_key=f"k{won[0]}"))[0] == 200


@rule("APPR-5")
async def test_a_claim_looks_again_at_version_target_time_and_the_policy(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put(target="order 17")
        await here.tap("Approve")
        assert codes(await here.use(one, version="0" * 64, target_present=True)) == (409, "version")
        for found in ({}, {"target_present": False}, {"target_present": None}):
            assert codes(await here.use(one, **found)) == (409, "target")
        here.rewrite('tools: ["wipe*"]', 'tools: ["wipe*", refund]')
        here.rewrite("{name: small, tools: [refund]", "{name: small, tools: [none]")
        await here.in_force(lambda policy: "refund" in policy.approvals.rules[1].tools)
        assert codes(await here.use(one, target_present=True)) == (409, "forbidden")
        here.rewrite('tools: ["wipe*", refund]', 'tools: ["wipe*"]')
        await here.in_force(lambda policy: "refund" not in policy.approvals.rules[1].tools)
        here.clock.offset += timedelta(minutes=11)
        assert codes(await here.use(one, target_present=True)) == (409, "expired")
        assert (await here.get(one))["state"] == "expired"


@rule("APPR-5")
async def test_who_approved_has_to_be_an_approver_still(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        await here.tap("Approve", sender=CLEO)
        here.rewrite("operators: [ann, cleo, dan]", "operators: [ann, dan]")
        here.rewrite("finance: [ann, cleo]", "finance: [ann, dan]")
        here.rewrite("who: {people: [cleo]}", "who: {people: [dan]}")
        here.rewrite(f'shown: ["telegram:{BOT_ID}:{CLEO}"]', f'shown: ["telegram:{BOT_ID}:{DAN}"]')
        await here.in_force(lambda policy: "cleo" not in policy.operators)
        assert codes(await here.use(one)) == (409, "not_approved")


# unclear outcomes


@rule("APPR-6")
async def test_an_unclear_outcome_blocks_a_repeat_until_somebody_has_found_out(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        await here.tap("Approve")
        await here.use(one)
        assert codes(await here.call("POST", body={"action": "refund", "parameters": {"amount": 100}})) == (
            409,
            "unreconciled",
        )
        assert (await here.call("POST", f"/{one['id']}/outcome", body={"executed": None}))[1]["state"] == "unknown"
        answer = await here.call("POST", body={"action": "refund", "parameters": {"amount": 100}})
        assert codes(answer) == (409, "unreconciled")
        assert (await here.put(parameters={"amount": 101}))["state"] == "in_review"  # another action
        late = await here.call("POST", f"/{one['id']}/outcome", body={"executed": True})
        assert codes(late) == (409, "unreconciled")
        await here.room.reconcile(one["id"], executed=False, evidence="the ledger has no such entry", by="ops")
        assert (await here.put(key="once more"))["state"] == "in_review"


@rule("APPR-6")
async def test_a_claim_without_an_outcome_is_unknown_after_a_time_and_is_never_retried(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        await here.tap("Approve")
        await here.use(one)
        await here.later(minutes=9)
        assert (await here.get(one))["state"] == "claimed"
        await here.later(minutes=2)
        assert (await here.get(one))["state"] == "unknown"
        assert codes(await here.use(one, claim_key="again")) == (409, "claimed")
        assert "nobody knows" in here.card()["text"]


# gates


@rule("APPR-7")
async def test_a_gate_that_is_not_passed_wants_a_justification_and_the_record_has_the_bypass(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put(gates=[{"name": "evaluation", "passed": False, "detail": "2 of 9 ready"}])
        await here.tap("Approve")
        assert (await here.get(one))["state"] == "in_review"
        await here.say("The two are not needed for this.", to=here.last())
        done = await here.get(one)
        assert (done["state"], done["decisions"][0]["words"]) == ("approved", "The two are not needed for this.")
        records = await here.gateway.store.journal.tail(20)
        assert [one for one in records if one.kind == "approval" and '"bypass":1' in one.facts.replace(" ", "")]
        assert not any("not needed" in one.facts for one in records)


# people


@rule("APPR-8")
async def test_as_many_have_to_agree_as_the_rule_says_and_one_who_denies_is_enough(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put(parameters={"amount": 5000})
        await here.tap("Approve", sender=ANN)
        assert (await here.get(one))["state"] == "in_review"
        await here.tap("Approve", sender=ANN)
        await here.tap("Approve", sender=DAN)  # in the name of ann, who has agreed already
        assert (await here.get(one))["state"] == "in_review"
        await here.tap("Approve", sender=CLEO)
        assert (await here.get(one))["state"] == "approved"
        two = await here.put(parameters={"amount": 6000})
        await here.tap("Approve", sender=ANN)
        await here.tap("Deny", sender=CLEO)
        assert (await here.get(two))["state"] == "denied"


@rule("APPR-8")
async def test_the_requester_can_not_approve_their_own_request(api, tmp_path):
    async with there(tmp_path, api) as here:
        api.say(chat=INTERNAL, sender=ANN, text="@desk_bot refund it")
        await until(lambda: _now(here.agent.requests))
        status, one = await here.call(
            "POST",
            body={"action": "refund", "parameters": {"amount": 100}, "request": here.agent.requests[0].id},
        )
        assert status == 201
        await until(lambda: _now(here.cards))
        here.press("Approve", sender=ANN)
        await here.settled_but_running()
        assert (await here.get(one))["state"] == "in_review"
        here.press("Approve", sender=CLEO)
        await here.settled_but_running()
        assert (await here.get(one, "?wait=10s"))["state"] == "approved"
        here.agent.gate.set()


@rule("APPR-8")
async def test_a_right_is_lent_for_a_time_and_not_longer(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put(parameters={"amount": 5000})
        await here.tap("Approve", sender=DAN)
        known = await here.get(one)
        assert [(one["by"], one["for"]) for one in known["decisions"]] == [("dan", "ann")]
        await here.later(hours=13)
        two = await here.put(parameters={"amount": 6000})
        await here.tap("Approve", sender=DAN)
        assert (await here.get(two))["decisions"] == []


@rule("APPR-8")
async def test_people_are_reminded_and_others_are_asked_when_nobody_decides(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put("slow")
        before = len(api.sent(INTERNAL))
        await here.later(hours=1)
        assert len(api.sent(INTERNAL)) == before
        await here.later(hours=1, minutes=1)
        assert len(api.sent(INTERNAL)) == before + 1
        assert api.sent(BACK) == []
        await here.later(hours=1)
        (card,) = api.sent(BACK)
        assert one["code"] in card["text"]
        button = next(key for row in card["reply_markup"]["inline_keyboard"] for key in row if key["text"] == "Approve")
        api.press(chat=BACK, sender=ANN, message_id=card["message_id"], data=button["callback_data"], force=True)
        await here.settled()
        assert (await here.get(one))["state"] == "approved"


@rule("APPR-8")
async def test_in_quiet_hours_nobody_is_reminded_by_the_clocks_of_the_zone(api, tmp_path):
    evening = datetime(2026, 6, 10, 18, 30, tzinfo=UTC)  # 20:30 in Berlin
    async with there(tmp_path, api, at=evening) as here:
        await here.put("slow")
        before = len(api.sent(INTERNAL))
        await here.later(hours=2)  # 22:30
        assert len(api.sent(INTERNAL)) == before
        assert api.sent(BACK) == []
        await here.later(hours=6)  # 04:30
        assert len(api.sent(INTERNAL)) == before
        await here.put("slow", {"other": 1}, ttl_s=36000)
        assert len(api.sent(INTERNAL)) == before + 1  # a new card is shown at any hour


# the interface itself


@rule("APPR-4", "APPR-5")
async def test_the_same_key_is_the_same_proposal_and_another_one_under_it_is_refused(api, tmp_path):
    async with there(tmp_path, api) as here:
        body = {"action": "refund", "system": "shop", "parameters": {"amount": 100, "to": "ä"}}
        one = await here.put(headers={"Idempotency-Key": "k1"}, system="shop", parameters=body["parameters"])
        again = await here.call("POST", body=body, **{"Idempotency-Key": "k1"})
        assert (again[0], again[1]["id"]) == (200, one["id"])
        assert len(here.cards) == 1
        body["parameters"]["amount"] = 101
        assert codes(await here.call("POST", body=body, **{"Idempotency-Key": "k1"})) == (409, "key_used")
        both = await asyncio.gather(*(here.call("POST", body=body, **{"Idempotency-Key": "k2"}) for _ in range(4)))
        assert sorted(status for status, _ in both) == [200, 200, 200, 201]
        assert len({document["id"] for _, document in both}) == 1


@rule("APPR-1")
async def test_an_agent_sees_its_own_alone_and_decides_nothing(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        for method, path, body in (
            ("GET", f"/{one['id']}", None),
            ("DELETE", f"/{one['id']}", None),
            ("POST", f"/{one['id']}/claim", {"version": one["version"], "claim_key": "a"}),
            ("POST", f"/{one['id']}/outcome", {"executed": True}),
            ("POST", f"/{one['id']}/revise", {"parameters": {}, "revision": 2}),
        ):
            assert codes(await here.call(method, path, body=body, key=OTHER_KEY)) == (404, "unknown")
        assert (await here.call("GET", key=OTHER_KEY))[1] == {"approvals": []}
        assert [found["id"] for found in (await here.call("GET"))[1]["approvals"]] == [one["id"]]
        assert codes(await here.call("GET", key="SYNTHETIC-wrong")) == (401, "unauthorized")
        assert codes(await here.call("POST", f"/{one['id']}/approve", body={})) == (404, "unknown")
        assert codes(await here.use(one)) == (409, "not_approved")


@rule("APPR-3")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"parameters": {}}, "/action"),
        ({"action": "refund"}, "/parameters"),
        ({"action": 1, "parameters": {}}, "/action"),
        ({"action": "refund", "parameters": []}, "/parameters"),
        ({"action": "refund", "parameters": {}, "approved": True}, "/approved"),
        ({"action": "refund", "parameters": {}, "gates": [{"name": "a"}]}, "/gates/0/passed"),
        ({"action": "refund", "parameters": {}, "gates": [{"name": "a", "passed": True, "x": 1}]}, "/gates/0/x"),
        ({"action": "refund", "parameters": {}, "gates": [1]}, "/gates/0"),
        ({"action": "refund", "parameters": {}, "gates": 1}, "/gates"),
        ({"action": "refund", "parameters": {}, "assurance": "low"}, "/assurance"),
        ({"action": "refund", "parameters": {}, "ttl_s": "60"}, "/ttl_s"),
    ],
)
async def test_a_body_is_read_strictly_and_nothing_is_proposed(api, tmp_path, body, path):
    async with there(tmp_path, api) as here:
        status, refused = await here.call("POST", body=body)
        assert (status, refused["error"]) == (422, "invalid")
        assert path in [problem["path"] for problem in refused["problems"]]
        assert await here.room.pending() == []


@rule("APPR-3")
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"parameters": {"n": 2**53}}, "parameters"),
        ({"parameters": {"n": "x" * 50_000}}, "parameters"),
        ({"system": "discreet"}, "system"),
        ({"action": "a\u202eb"}, "action"),
        ({"ttl_s": 1}, "ttl"),
        ({"gates": [{"name": "g", "passed": True}] * 21}, "gates"),
        ({"reason": "x" * 4_001}, "reason"),
    ],
)
async def test_what_can_not_be_reviewed_is_not_proposed(api, tmp_path, more, code):
    async with there(tmp_path, api) as here:
        body = {"action": "refund", "parameters": {"amount": 100}, **more}
        assert codes(await here.call("POST", body=body)) == (422, code)
        assert await here.room.pending() == []


@rule("APPR-5")
async def test_claims_and_outcomes_are_read_strictly(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put()
        await here.tap("Approve")
        for path, body in (
            ("claim", {"version": one["version"]}),
            ("claim", {"version": one["version"], "claim_key": ""}),
            ("claim", {"version": one["version"], "claim_key": "a", "target_present": "yes"}),
            ("outcome", {}),
            ("outcome", {"executed": "yes"}),
            ("outcome", {"executed": True, "by": "ann"}),
        ):
            assert codes(await here.call("POST", f"/{one['id']}/{path}", body=body)) == (422, "invalid")
        assert (await here.get(one))["state"] == "approved"


@rule("APPR-4")
async def test_a_look_waits_for_another_revision_or_for_the_decision(api, tmp_path):
    async with there(tmp_path, api) as here:
        one = await here.put(parameters={"amount": 5000})
        assert (await here.get(one, f"?wait=50ms&since={one['revision']}"))["revision"] == one["revision"]
        waiting = asyncio.create_task(here.get(one, f"?wait=20s&since={one['revision']}"))
        await here.tap("Approve", sender=ANN)  # one voice of two
        assert (await waiting)["revision"] == one["revision"] + 1
        assert codes(await here.call("GET", f"/{one['id']}?since=-1")) == (400, "malformed")


@rule("AGENT-5", "APPR-6")
async def test_too_many_open_approvals_of_one_agent_are_refused_and_nobody_elses(api, tmp_path):
    async with there(tmp_path, api, proposals=Proposals(most_open=2)) as here:
        first = await here.put(parameters={"amount": 10})  # approved by a rule, and not used yet
        await here.put(parameters={"amount": 100}, key="k")
        further = {"action": "b", "parameters": {}}
        assert codes(await here.call("POST", body=further)) == (429, "too_many_open")
        assert (await here.call("POST", body={"action": "refund", "parameters": {"amount": 100}, "key": "k"}))[0] == 200
        assert (await here.call("POST", body=further, key=OTHER_KEY))[0] == 201
        assert (await here.use(first))[0] == 200
        await here.call("POST", f"/{first['id']}/outcome", body={"executed": None})
        assert codes(await here.call("POST", body=further)) == (429, "too_many_open"), "unknown is open, too"
        await here.room.reconcile(first["id"], executed=False, evidence="I looked.", by="ops")
        assert (await here.call("POST", body=further))[0] == 201


@rule("AGENT-5")
async def test_what_is_proposed_while_an_agent_works_is_bounded_as_what_it_posts(api, tmp_path):
    async with there(tmp_path, api, proposals=Proposals(most_open=1)) as here:
        await here.put()
        action = Action(name="b", parameters={})
        with pytest.raises(ProposalError) as refused:
            await here.room.propose(Proposal(action=action), agent="main", origin=None)
        assert refused.value.code == "too_many_open"


@rule("AGENT-5", "APPR-2")
async def test_an_agent_that_proposes_and_takes_back_again_and_again_does_not_flood_the_operators(api, tmp_path):
    async with there(tmp_path, api, proposals=Proposals(cards_at_once=2, cards_per_min=0.001)) as here:
        for number in range(5):
            one = await here.put(parameters={"amount": 100 + number})
            if number < 2:
                assert one["state"] == "in_review"
            if number < 4:
                assert (await here.call("DELETE", f"/{one['id']}"))[0] == 200
        assert one["state"] == "proposed"
        assert len(api.sent(INTERNAL)) == 2
        await here.later(minutes=1)
        assert len(api.sent(INTERNAL)) == 2
        body = {"action": "refund", "parameters": {"amount": 7000}}
        assert (await here.call("POST", body=body, key=OTHER_KEY))[1]["state"] == "in_review"
        await here.say(f"/approve@desk_bot {one['code']}", command=True)  # whoever knows of it has it shown
        await here.settled()
        assert any(one["code"] in text for text in api.texts(INTERNAL)[3:])


@rule("AGENT-5")
async def test_what_waits_its_turn_is_shown_in_its_turn(api, tmp_path):
    async with there(tmp_path, api, proposals=Proposals(cards_at_once=1, cards_per_min=600)) as here:
        made = [await here.put(parameters={"amount": 100 + number}) for number in range(3)]
        async with asyncio.timeout(20):
            while "proposed" in [(await here.get(one))["state"] for one in made]:
                await asyncio.sleep(0.05)  # bounded above
        await here.settled()
        assert len(api.sent(INTERNAL)) == 3


@rule("OUT-6", "APPR-1")
async def test_a_request_that_the_agent_does_not_work_on_binds_nothing(api, tmp_path):
    async with there(tmp_path, api) as here:
        body = {"action": "refund", "parameters": {"amount": 100}, "request": "somebody-elses"}
        assert codes(await here.call("POST", body=body)) == (403, "no_request")


@rule("APPR-9")
async def test_high_assurance_is_not_had_by_a_tap(api, tmp_path):
    async with there(tmp_path, api) as here:
        for more in ({"action": "sure"}, {"assurance": "high"}):
            one = await here.put(**more)
            assert "Approve" not in here.labels()
            await here.say(f"approve {one['code']}")
            assert (await here.get(one))["state"] == ApprovalState.IN_REVIEW.value


@rule("OUT-8")
async def test_where_nothing_can_be_shown_it_stays_with_the_agent(api, tmp_path):
    policy = POLICY.replace(", reports: true", "")
    async with there(tmp_path, api, policy=policy) as here:
        one = await here.put()
        assert one["state"] == "proposed"
        assert api.sent(INTERNAL) == []
        here.rewrite('{audience: internal}\n  "telegram', '{audience: internal, reports: true}\n  "telegram')
        await here.in_force(lambda policy: any(one.reports for one in policy.channels.values()))
        await here.later(minutes=1)
        assert (await here.get(one))["state"] == "in_review"
        assert len(here.cards) == 1
