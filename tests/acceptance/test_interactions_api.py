"""Interactions over HTTP: what an agent meets at /v1/interactions (CLAR)."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from bot.api.interactions import InteractionsApi
from bot.api.site import serve
from bot.channels.telegram.limits import Limits
from bot.config.secret import Secret
from bot.model.interaction import InteractionState, PatchKind
from bot.model.output import Final, Silence
from tests.acceptance.test_clarifications import card, tap
from tests.harness import BOB, POLICY, CountingAgent, running
from tests.looping import PLAN

rule = pytest.mark.rule
KEY, OTHER_KEY = "SYNTHETIC-key-of-the-main-agent", "SYNTHETIC-key-of-another-agent"
CANDIDATES = [
    {"candidateId": "alpha", "identity": "object/1", "displayName": "Alpha"},
    {"candidateId": "beta", "displayName": "Beta"},
]


@dataclass
class Api:
    url: str
    http: aiohttp.ClientSession
    agent: CountingAgent
    gateway: Any

    async def call(self, method, path="/v1/interactions", *, key=KEY, body=None, **headers):
        headers["Authorization"] = f"Bearer {key}"
        async with self.http.request(method, f"{self.url}{path}", json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def start(self, *, plan=PLAN, expect=201, **more):
        status, document = await self.call("POST", body={"plan": plan, "request": self.agent.requests[0].id, **more})
        assert status == expect, document
        return document

    async def ask(self, interaction, *, slot="composition", task="scope", **more):
        body = {
            "request": self.agent.requests[0].id,
            "task": task,
            "slot": slot,
            "question": "Which composition?",
            "candidates": CANDIDATES,
            **more,
        }
        return await self.call("POST", f"/v1/interactions/{interaction['id']}/clarifications", body=body)

    async def patch(self, interaction, **body):
        return await self.call("POST", f"/v1/interactions/{interaction['id']}/patches", body=body)

    async def look(self, interaction):
        status, document = await self.call("GET", f"/v1/interactions/{interaction['id']}")
        assert status == 200
        return document


@asynccontextmanager
async def interface(tmp_path, api):
    """A gateway with the interface on a free port; Bob has asked for something, and the agent works on it."""

    def answer(request):
        return [Silence()] if request.continuing is None else [Final(text=f"at {request.continuing.plan_version}")]

    agent = CountingAgent(answer=answer, gate=asyncio.Event())
    limits = Limits(chat=None, group=None, total=None)
    async with running(tmp_path, api=api, agent=agent, limits=limits, policy=POLICY) as gateway:
        port = asyncio.get_running_loop().create_future()
        crew = gateway.daemon.crew
        service = asyncio.create_task(
            serve(
                [InteractionsApi(crew.worker, crew.clarifications)],
                host="127.0.0.1",
                port=0,
                keys={"main": Secret(KEY), "idle": Secret(OTHER_KEY)},
                bound=port.set_result,
            ),
            name="api",
        )
        async with asyncio.timeout(30), aiohttp.ClientSession() as http:
            try:
                api.say(chat=BOB, sender=BOB, text="report")
                await agent.started.wait()
                yield Api(url=f"http://127.0.0.1:{await port}", http=http, agent=agent, gateway=gateway)
            finally:
                agent.gate.set()
                service.cancel()
                await asyncio.gather(service, return_exceptions=True)


@rule("CLAR-1", "CLAR-7")
async def test_an_interaction_is_begun_asked_about_and_goes_on_after_the_run(api, tmp_path):
    async with interface(tmp_path, api) as there:
        begun = await there.start()
        assert (begun["state"], begun["planVersion"]) == ("active", 1)
        assert (await there.start(expect=200))["id"] == begun["id"], "the same key is the same interaction"
        status, asked = await there.ask(begun)
        assert status == 201, asked
        shown = await card(api, "Which composition?")
        there.agent.gate.set()
        await there.gateway.settled()
        tap(api, shown, "Beta")
        await there.gateway.settled()
        assert api.texts(BOB)[-1] == "at 2"
        (known,) = (await there.look(begun))["clarifications"]
        assert (known["id"], known["state"], known["untrusted"]["value"]) == (asked["id"], "answered", "beta")
        assert (await there.look(begun))["state"] == "completed"
    assert there.agent.requests[1].continuing.patch.kind is PatchKind.ANSWER


@rule("CLAR-5")
async def test_a_stale_patch_is_a_conflict_that_names_the_current_version(api, tmp_path):
    async with interface(tmp_path, api) as there:
        begun = await there.start()
        status, first = await there.patch(begun, basePlanVersion=1, task="scope", slot="composition", value="alpha")
        assert (status, first["planVersion"]) == (200, 2)
        assert first["untrusted"]["plan"]["tasks"]["scope"]["state"] == "ready"
        assert first["untrusted"]["plan"]["tasks"]["export"]["state"] == "invalid"
        status, refused = await there.patch(begun, basePlanVersion=1, task="export", slot="format", value="pdf")
        assert (status, refused["error"], refused["problems"][0]["detail"]) == (409, "version_conflict", "2")
        assert (await there.look(begun))["planVersion"] == 2, "nothing has changed"


@rule("CLAR-2", "CLAR-3")
async def test_an_answer_by_reference_is_one_of_the_frozen_candidates_and_closes_the_card(api, tmp_path):
    async with interface(tmp_path, api) as there:
        begun = await there.start()
        _, asked = await there.ask(begun)
        shown = await card(api, "Which composition?")
        reply = {"basePlanVersion": 1, "task": "scope", "slot": "composition", "replyToClarificationId": asked["id"]}
        status, refused = await there.patch(begun, **reply, candidateId="gamma")
        assert (status, refused["error"]) == (422, "candidate")
        status, refused = await there.patch(begun, **reply, value="of my own")
        assert (status, refused["error"]) == (422, "candidate")
        status, document = await there.patch(begun, **reply, candidateId="alpha")
        assert (status, document["planVersion"]) == (200, 2)
        status, refused = await there.patch(begun, **{**reply, "basePlanVersion": 2}, candidateId="beta")
        assert (status, refused["error"]) == (409, "closed")
        query = tap(api, shown, "Beta")
        there.agent.gate.set()
        await there.gateway.settled()
        assert "no longer" in api.toasts[query]["text"]
        assert (await there.look(begun))["clarifications"][0]["untrusted"]["value"] == "alpha"
    assert len(there.agent.requests) == 1, "an agent begins no run by itself"


@rule("CLAR-2")
async def test_a_slot_that_is_filled_or_missing_and_a_second_open_question_are_refused(api, tmp_path):
    async with interface(tmp_path, api) as there:
        begun = await there.start()
        assert (await there.ask(begun, slot="nothing"))[1]["error"] == "slot"
        assert (await there.ask(begun))[0] == 201
        assert (await there.ask(begun, task="export", slot="format"))[1]["error"] == "open"
        await there.patch(begun, basePlanVersion=1, task="scope", slot="composition", value="alpha")
        assert (await there.ask(begun, key="later"))[1]["error"] == "slot"


@rule("CLAR-1")
async def test_an_interaction_is_completed_or_given_up_and_then_takes_nothing(api, tmp_path):
    async with interface(tmp_path, api) as there:
        begun = await there.start()
        status, done = await there.call("POST", f"/v1/interactions/{begun['id']}/complete")
        assert (status, done["state"]) == (200, "completed")
        assert (await there.call("DELETE", f"/v1/interactions/{begun['id']}"))[0] == 409
        assert (await there.ask(begun))[1]["error"] == "ended"
        status, refused = await there.patch(begun, basePlanVersion=1, task="scope", slot="composition", value="alpha")
        assert (status, refused["error"]) == (409, "ended")
        again = await there.start(key="another")
        assert again["id"] != begun["id"]
        assert (await there.call("DELETE", f"/v1/interactions/{again['id']}"))[1]["state"] == "cancelled"
        assert (await there.call("GET"))[1] == {"interactions": []}


@rule("CLAR-1")
async def test_a_second_interaction_of_a_conversation_supersedes_the_first(api, tmp_path):
    async with interface(tmp_path, api) as there:
        first = await there.start()
        await there.ask(first)
        shown = await card(api, "Which composition?")
        second = await there.start(key="another")
        assert (await there.look(first))["state"] == InteractionState.SUPERSEDED.value
        query = tap(api, shown, "Beta")
        there.agent.gate.set()
        await there.gateway.settled()
        assert "no longer" in api.toasts[query]["text"]
        assert (await there.look(second))["planVersion"] == 1


@rule("CLAR-5")
async def test_a_plan_with_a_cycle_and_other_nonsense_is_refused_with_its_path(api, tmp_path):
    cycle = {"tasks": {"a": {"depends_on": ["b"]}, "b": {"depends_on": ["a"]}}}
    async with interface(tmp_path, api) as there:
        status, refused = await there.call(
            "POST", body={"plan": cycle, "request": there.agent.requests[0].id, "more": 1}
        )
        problems = {(one["path"], one["code"]) for one in refused["problems"]}
        assert status == 422
        assert problems == {
            ("/more", "unknown_field"),
            ("/plan/tasks/a/depends_on", "cycle"),
            ("/plan/tasks/b/depends_on", "cycle"),
        }
        status, refused = await there.call("POST", body={"plan": PLAN, "request": "of somebody else"})
        assert (status, refused["error"]) == (403, "no_grant")
        begun = await there.start()
        twice = [CANDIDATES[0], CANDIDATES[0]]
        status, refused = await there.ask(begun, candidates=twice)
        assert (status, refused["problems"][0]["path"]) == (422, "/candidates/1/candidateId")


@rule("CLAR-1")
async def test_interactions_of_another_agent_are_unknown(api, tmp_path):
    async with interface(tmp_path, api) as there:
        begun = await there.start()
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/complete")):
            status, document = await there.call(method, f"/v1/interactions/{begun['id']}{path}", key=OTHER_KEY)
            assert (status, document["error"]) == (404, "unknown")
        assert (await there.look(begun))["state"] == "active"
