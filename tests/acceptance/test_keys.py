"""Keys of agents and dispatchers: made, used within their limits, and taken away (AGENT-1)."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from bot.api.approvals import ApprovalsApi
from bot.api.commands import CommandsApi
from bot.api.deliveries import DeliveriesApi
from bot.api.grants import GrantsApi
from bot.api.interactions import InteractionsApi
from bot.api.questions import QuestionsApi
from bot.api.site import Callers, serve
from bot.config.credentials import OF_AGENTS, Credentials, KeyRing, Scope
from tests.acceptance.test_approvals_telegram import OPEN
from tests.acceptance.test_questions_api import CHANNEL, POLICY, Working, request, until
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, running

rule = pytest.mark.rule
HERE, INSIDE = f"telegram:{BOT_ID}:{GROUP}", f"telegram:{BOT_ID}:{INTERNAL}"
ORDER = {"destination": HERE, "text": "The office is open until six."}


class Keyed:
    """An interface whose keys are made in a file."""

    def __init__(self, url, http, credentials, agent):
        self.url, self.http, self.credentials, self.agent = url, http, credentials, agent

    def key(self, name="main", *, scopes=OF_AGENTS, principals=None, destinations=None):
        made, key = self.credentials.add(
            name, scopes=scopes, principals=principals, destinations=destinations, now=datetime.now(UTC)
        )
        return made.id, key.reveal()

    async def call(self, method, path, key, body=None, **headers):
        headers = {"Authorization": f"Bearer {key}", **headers}
        async with self.http.request(method, f"{self.url}{path}", json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def code(self, method, path, key, body=None, **headers):
        status, document = await self.call(method, path, key, body, **headers)
        return status, document.get("error")

    def asking(self, **more):
        return {"question": "Which?", "schema": CHANNEL, "request": self.agent.requests[0].id, **more}

    def proposing(self):
        return {"action": "refund", "parameters": {"amount": 1}, "request": self.agent.requests[0].id}


@asynccontextmanager
async def keyed(tmp_path, api, *, further=()):
    """Bob has asked for something in a group, and the agent works on it."""
    agent, bound = Working(), asyncio.get_running_loop().create_future()
    credentials = Credentials(tmp_path / "keys.json")
    ring = KeyRing(agents={}, dispatchers={}, known=["main", "idle"], credentials=credentials)
    async with running(
        tmp_path,
        api=api,
        agent=agent,
        further=[Working(name="idle")],
        limits=OPEN,
        policy=POLICY,
        dispatchers=ring.dispatchers,
    ) as gateway:
        crew = gateway.daemon.crew

        def person(account):
            found = crew.policy().person(account)
            return None if found is None else found.id

        parts = (
            QuestionsApi(crew.worker, crew.questions, clock=crew.clock),
            ApprovalsApi(crew.worker, crew.approvals, clock=crew.clock),
            DeliveriesApi(crew.schedule, people=person),
            GrantsApi(crew.grants, Callers(ring, dispatchers=True), clock=crew.clock),
            CommandsApi(crew.worker),
            InteractionsApi(crew.worker, crew.clarifications),
            *further,
        )
        service = asyncio.create_task(serve(parts, host="127.0.0.1", port=0, keys=ring, bound=bound.set_result))
        try:
            request(api)
            await until(lambda: agent.requests)
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as http:
                yield Keyed(f"http://127.0.0.1:{await bound}", http, credentials, agent)
        finally:
            agent.gate.set()
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)


@rule("AGENT-1", "OUT-6")
async def test_each_scope_opens_its_own_calls_and_none_lets_an_agent_grant(tmp_path, api):
    calls = {
        Scope.ASK: ("/v1/questions", lambda here: here.asking()),
        Scope.PROPOSE: ("/v1/approvals", lambda here: here.proposing()),
        Scope.DELIVER: ("/v1/deliveries", lambda _: ORDER),
        Scope.DISPATCH: (
            "/v1/grants",
            lambda _: {"agent": "main", "destination": HERE, "uses": 1, "for": "1h", "purpose": "figures"},
        ),
    }
    async with keyed(tmp_path, api) as here:
        for own in Scope:
            _, key = here.key("main" if own in OF_AGENTS else "nightly", scopes=[own])
            for scope in Scope:
                path, body = calls[scope]
                status, code = await here.code("POST", path, key, body(here), **{"Idempotency-Key": f"{own}"})
                got = await here.code("GET", path, key)
                one = await here.code("GET", f"{path}/{'0' * 32}", key)
                if scope is own:
                    assert status == (403 if scope is Scope.DELIVER else 201), (own, scope, code)
                    assert code in (None, "no_grant")
                    assert (got[0], one) == (200, (404, "unknown"))
                else:
                    assert (status, code) == (403, "forbidden")
                    assert got == one == (403, "forbidden")


@rule("AGENT-1")
async def test_a_key_that_was_taken_away_is_refused_from_the_next_call_on(tmp_path, api):
    async with keyed(tmp_path, api) as here:
        key_id, key = here.key()
        _, other = here.key()
        assert (await here.code("GET", "/v1/questions", key))[0] == 200
        here.credentials.revoke(key_id)
        assert await here.code("GET", "/v1/questions", key) == (401, "unauthorized")
        assert (await here.code("GET", "/v1/questions", other))[0] == 200


@rule("AGENT-1")
async def test_a_key_is_of_no_use_beyond_its_places(tmp_path, api):
    async with keyed(tmp_path, api) as here:
        _, away = here.key(destinations=[INSIDE])
        _, there = here.key(destinations=[HERE])
        for path, body in (
            ("/v1/questions", here.asking()),
            ("/v1/approvals", here.proposing()),
            ("/v1/deliveries", ORDER),
        ):
            assert await here.code("POST", path, away, body, **{"Idempotency-Key": "a"}) == (403, "beyond_key")
            status, code = await here.code("POST", path, there, body, **{"Idempotency-Key": "a"})
            assert (status, code) in ((201, None), (403, "no_grant"))
        _, dispatcher = here.key("nightly", scopes=[Scope.DISPATCH], destinations=[INSIDE])
        wish = {"agent": "main", "uses": 1, "for": "1h", "purpose": "figures"}
        assert (await here.code("POST", "/v1/grants", dispatcher, {**wish, "destination": HERE}))[1] == "beyond_key"
        assert (await here.code("POST", "/v1/grants", dispatcher, {**wish, "destination": INSIDE}))[0] == 201
        assert (await here.code("POST", "/v1/grants", dispatcher, {**wish, "destination": "here"}))[0] == 422


@rule("AGENT-1")
async def test_a_key_is_of_no_use_beyond_its_people(tmp_path, api):
    async with keyed(tmp_path, api) as here:
        _, anns = here.key(principals=["ann"])
        _, bobs = here.key(principals=["bob"])
        assert (await here.code("POST", "/v1/questions", anns, here.asking()))[1] == "beyond_key"
        assert (await here.code("POST", "/v1/approvals", anns, here.proposing()))[1] == "beyond_key"
        for who in ({"kind": "operators"}, {"kind": "anyone"}, {"kind": "people", "people": ["ann", "bob"]}):
            assert (await here.code("POST", "/v1/questions", bobs, here.asking(who=who)))[1] == "beyond_key"
        assert (await here.code("POST", "/v1/questions", bobs, here.asking()))[0] == 201
        asked = here.asking(who={"kind": "people", "people": ["ann"]})
        assert (await here.code("POST", "/v1/questions", anns, asked))[0] == 201
        assert (await here.code("POST", "/v1/approvals", bobs, here.proposing()))[0] == 201
        for place in (HERE, f"telegram:{BOT_ID}:{ANN}", f"telegram:{BOT_ID}:{BOB}"):
            order = {**ORDER, "destination": place}
            found = await here.code("POST", "/v1/deliveries", anns, order, **{"Idempotency-Key": place})
            assert found == (403, "beyond_key")  # nobody has written there yet, so nobody knows whose chat it is


@rule("AGENT-1")
async def test_what_others_have_asked_is_as_unknown_as_what_is_not_there(tmp_path, api):
    async with keyed(tmp_path, api) as here:
        _, mine = here.key()
        _, others = here.key("idle")
        for path, body in (("/v1/questions", here.asking()), ("/v1/approvals", here.proposing())):
            status, one = await here.call("POST", path, mine, body)
            assert status == 201
            for method, tail in (("GET", ""), ("GET", "?wait=1s"), ("DELETE", "")):
                foreign = await here.call(method, f"{path}/{one['id']}{tail}", others)
                none = await here.call(method, f"{path}/{'f' * 32}{tail}", others)
                assert foreign == none
                assert foreign[0] == 404
            assert (await here.call("GET", path, others))[1] == {path.rpartition("/")[2]: []}
            assert (await here.call("GET", f"{path}/{one['id']}", mine))[0] == 200


@rule("AGENT-1", "CMD-1")
async def test_commands_and_interactions_want_their_scopes_and_places_too(tmp_path, api):
    async with keyed(tmp_path, api) as here:
        _, asks = here.key(scopes=[Scope.ASK])
        _, proposes = here.key(scopes=[Scope.PROPOSE])
        _, away = here.key(destinations=[INSIDE])
        run = f"/v1/commands?request={here.agent.requests[0].id}"
        plan = {"request": here.agent.requests[0].id, "plan": {"tasks": {"a": {"slots": {"b": None}}}}}
        assert await here.code("GET", run, asks) == (403, "forbidden")
        assert (await here.code("GET", run, proposes))[0] == 200
        assert await here.code("GET", run, away) == (403, "beyond_key")
        assert await here.code("POST", "/v1/interactions", proposes, plan) == (403, "forbidden")
        assert await here.code("POST", "/v1/interactions", away, plan) == (403, "beyond_key")
        status, begun = await here.call("POST", "/v1/interactions", asks, plan)
        assert status == 201, begun
        _, others = here.key("idle")
        foreign = await here.call("GET", f"/v1/interactions/{begun['id']}", others)
        assert foreign == await here.call("GET", f"/v1/interactions/{'f' * 32}", others)
