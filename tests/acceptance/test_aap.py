"""The Agent Approval Protocol: its own client, unmodified, against a running gateway; its fake provider is the oracle."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import pytest
from agentapprovalprotocol import (
    Allow,
    AsyncClient,
    AsyncGate,
    Call,
    Client,
    ConflictError,
    CredentialRefused,
    Deny,
    Gate,
    NotFound,
    Pending,
    ProvisionError,
    Receiver,
    WebhookVerificationFailed,
)
from agentapprovalprotocol._gate import EXPIRED_TEXT, FAIL_CLOSED
from agentapprovalprotocol.langgraph import ApprovalMiddleware, resumer
from agentapprovalprotocol.pydantic_ai import ApprovalCapability
from agentapprovalprotocol.testing import BASE_URL, PROVISIONER_TOKEN, TOKEN, FakeProvider
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from bot.api.aap.instances import MOST
from bot.api.aap.wire import Provisioning
from bot.config.settings import CallbackAddress
from bot.model.approval import ApprovalState
from tests.acceptance.test_langgraph import CONFIG, PLEASE, Scripted, Shop, call, says
from tests.agents_desk import KEY, OTHER_KEY, agents_desk, receiving
from tests.harness import Clock

rule = pytest.mark.rule
REFUND = Call(
    key="run-1:call-1", tool="refund", server="shop", arguments={"amount": 120, "rate": 0.1, "to": ["ä", None]}
)


def base(desk):
    return f"{desk.url}/aap"


@asynccontextmanager
async def clients(desk, token=KEY, **more):
    client = AsyncClient(base(desk), token, **more)
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def checking(work):
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def soon(work):
    return await asyncio.wait_for(work, 40)


async def states(desk):
    found = sorted(await desk.gateway.store.approvals.recent(50), key=lambda one: one.proposed_at)
    return [one.state for one in found]


# the gates


@rule("AGENT-4", "APPR-5")
async def test_a_gate_waits_for_a_person_runs_once_and_tells_the_outcome(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk, clients(desk) as client:
        gate = AsyncGate(client, context={"framework": "none"})
        async with checking(gate.check(REFUND)) as task:
            card = await desk.card_of(0)
            for words in ("refund", "shop", "amount: 120", "to[0]: ä"):
                assert words in card["text"]
            assert "Change…" not in desk.labels(card)
            desk.press("Approve", card=card)
            verdict = await soon(task)
        assert isinstance(verdict, Allow)
        assert await verdict.report("succeeded", "refund 99")
        assert await states(desk) == [ApprovalState.EXECUTED]
        again = await soon(gate.check(REFUND))
        assert (again.status, len(desk.cards)) == ("consumed", 1)


async def test_a_gate_without_an_event_loop_and_its_guard_tell_what_failed(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk:
        client = Client(base(desk), KEY)

        def work():
            with Gate(client).guard(REFUND) as verdict:
                assert verdict
                raise RuntimeError("the bank is closed")

        async with checking(asyncio.to_thread(work)) as task:
            await desk.press_on(0, "Approve")
            with pytest.raises(RuntimeError, match="bank"):
                await soon(task)
        client.close()
        assert await states(desk) == [ApprovalState.FAILED]


async def test_a_denial_comes_with_the_persons_words_and_so_does_what_is_sent_back(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk, clients(desk) as client:
        for number, (words, state) in enumerate((("deny", "denied"), ("return", "returned"))):
            one = Call(key=f"k{number}", tool="refund", arguments={"amount": 120 + number})
            async with checking(AsyncGate(client).check(one)) as task:
                card = await desk.card_of(number)
                desk.api.say(**desk.reply(card, f"{words}: not so much"))
                verdict = await soon(task)
            assert isinstance(verdict, Deny)
            assert (verdict.status, "not so much" in verdict.reason) == ("denied", True)
            assert (await states(desk))[number].value == state


async def test_rules_of_the_policy_hold_and_an_expiry_is_no_refusal(api, tmp_path):
    clock = Clock()
    async with agents_desk(tmp_path, api, clock=clock) as desk, clients(desk) as client:
        gate = AsyncGate(client)
        assert isinstance(await soon(gate.check(Call(key="a", tool="refund", arguments={"amount": 5}))), Allow)
        assert (await soon(gate.check(Call(key="b", tool="wipe_disk", arguments={})))).status == "denied"
        assert desk.cards == []
        async with checking(gate.check(REFUND)) as task:
            await desk.card_of(0)
            clock.offset += timedelta(hours=1)
            verdict = await soon(task)
        assert (verdict.status, verdict.reason) == ("expired", EXPIRED_TEXT)


@rule("APPR-5")
async def test_an_approval_that_is_too_old_or_was_taken_back_by_an_operator_lets_nothing_run(api, tmp_path):
    clock = Clock()
    async with agents_desk(tmp_path, api, clock=clock) as desk, clients(desk) as client:
        gate = AsyncGate(client, mode="async")
        assert isinstance(await soon(gate.check(REFUND)), Pending)
        await desk.press_on(0, "Approve")
        await desk.settled()
        clock.offset += timedelta(minutes=11)
        await desk.room._timing.look()
        found = await client.get((await desk.gateway.store.approvals.recent(1))[0].id)
        assert (found.status, found.consumption) == ("approved", None)
        with pytest.raises(ConflictError) as error:
            await client.consume(found.id, "k")
        assert error.value.code == "approval_expired"
        other = await client.create({"tool": "refund", "arguments": {"amount": 130}, "timeout": "10m"}, "other")
        card = await desk.card_of(1)
        desk.press("Approve", card=card)
        await desk.settled()
        code = (await desk.gateway.store.approvals.recent(1))[0].code
        await desk.say(f"/deny@desk_bot {code}", command=True)
        assert (await client.get(other.id)).status == "denied"
        with pytest.raises(ConflictError) as error:
            await client.consume(other.id, "k")
        assert error.value.code == "not_approved"


async def test_what_can_not_be_compared_exactly_lets_nothing_run(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk, clients(desk, retry_budget=1) as client:
        for number, value in enumerate((2**60, 1e300 * 10, "\ud800")):
            verdict = await soon(AsyncGate(client).check(Call(key=str(number), tool="t", arguments={"v": value})))
            assert (verdict.status, verdict.reason) == ("error", FAIL_CLOSED), value
        assert await states(desk) == []


async def test_an_agent_sees_its_own_requests_alone_and_a_wrong_key_nothing(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk, clients(desk) as mine, clients(desk, OTHER_KEY) as others:
        made = await mine.create({"tool": "refund", "arguments": {"amount": 120}, "timeout": "10m"}, "k")
        for attempt in (others.get(made.id), others.consume(made.id, "x"), others.cancel(made.id)):
            with pytest.raises(NotFound):
                await soon(attempt)
        async with clients(desk, "SYNTHETIC-wrong") as wrong:
            with pytest.raises(CredentialRefused):
                await soon(wrong.get(made.id))
        status, native = await desk.call("POST", "/v1/approvals", {"action": "refund", "parameters": {"amount": 130}})
        assert status == 201
        with pytest.raises(NotFound):  # not asked for through this protocol
            await soon(mine.get(native["id"]))


# the oracle


def shape(value):
    """What there is, without what differs from run to run."""
    if isinstance(value, dict):
        return {
            name: one if name in ("status", "tool", "server", "timeout", "note") else shape(one)
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [shape(one) for one in value]
    return type(value).__name__


class Side:
    """One of the two providers, spoken to in the same words."""

    def __init__(self, http, url, token, decide):
        self.http, self.url, self.token, self.decide = http, url, token, decide
        self.id = ""

    async def say(self, method, path, body=None, key=None, token=None):
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        content = None if body is None else json.dumps(body).encode()
        url = self.url + path.replace("{id}", self.id)
        answer = await self.http.request(method, url, headers=headers, content=content)
        document = answer.json() if answer.content else {}
        if method == "POST" and path == "/v1/requests" and answer.status_code == 201:
            self.id = document["id"]
        if "error" in document:
            error = document["error"]
            return answer.status_code, error["type"] if answer.status_code == 409 else "", error["code"], set(error)
        return answer.status_code, shape(document) if answer.status_code < 400 else None


BODY = {
    "tool": "refund",
    "server": "shop",
    "arguments": {"amount": 120, "list": [1, {"a": None}]},
    "timeout": "10m",
    "agent_reasoning": "The parcel was lost.",
    "context": {"resume": {"framework": "x"}, "nothing": None},
}
SEQUENCES = {
    "approved": [
        ("POST", "/v1/requests", BODY, "k1"),
        ("POST", "/v1/requests", BODY, "k1"),
        ("POST", "/v1/requests", {**BODY, "tool": "other"}, "k1"),
        ("POST", "/v1/requests", {**BODY, "context": {}}, "k1"),
        ("POST", "/v1/requests", BODY, None),
        ("GET", "/v1/requests/{id}", None, None),
        ("POST", "/v1/requests/{id}/consume", None, "c1"),
        ("POST", "/v1/requests/{id}/outcome", {"status": "succeeded"}, None),
        ("decide", "approved"),
        ("GET", "/v1/requests/{id}?wait=25s", None, None),
        ("DELETE", "/v1/requests/{id}", None, None),
        ("POST", "/v1/requests/{id}/outcome", {"status": "succeeded"}, None),
        ("POST", "/v1/requests/{id}/consume", None, None),
        ("POST", "/v1/requests/{id}/consume", None, "c1"),
        ("POST", "/v1/requests/{id}/consume", None, "c1"),
        ("POST", "/v1/requests/{id}/consume", None, "c2"),
        ("POST", "/v1/requests/{id}/outcome", {"status": "failed", "note": "no money"}, None),
        ("POST", "/v1/requests/{id}/outcome", {"status": "failed", "note": "no money"}, None),
        ("POST", "/v1/requests/{id}/outcome", {"status": "failed", "note": "other"}, None),
        ("POST", "/v1/requests/{id}/outcome", {"status": "succeeded"}, None),
        ("POST", "/v1/requests", BODY, "k1"),
        ("GET", "/v1/requests/{id}", None, None),
    ],
    "denied": [
        ("POST", "/v1/requests", {"tool": "t", "arguments": {}, "timeout": "24h"}, "k2"),
        ("decide", "denied"),
        ("GET", "/v1/requests/{id}?wait=25s", None, None),
        ("POST", "/v1/requests/{id}/consume", None, "c1"),
        ("DELETE", "/v1/requests/{id}", None, None),
        ("POST", "/v1/requests/{id}/outcome", {"status": "failed"}, None),
    ],
    "cancelled": [
        ("POST", "/v1/requests", {"tool": "t", "arguments": {}, "timeout": "90s"}, "k3"),
        ("DELETE", "/v1/requests/{id}", None, None),
        ("DELETE", "/v1/requests/{id}", None, None),
        ("GET", "/v1/requests/{id}", None, None),
        ("POST", "/v1/requests/{id}/consume", None, "c1"),
        ("GET", "/v1/requests/3b6a7d2e-0000-4000-8000-000000000000", None, None),
        ("DELETE", "/v1/requests/3b6a7d2e-0000-4000-8000-000000000000", None, None),
    ],
}


@rule("AGENT-4")
@pytest.mark.parametrize("name", SEQUENCES)
async def test_every_call_is_answered_as_the_protocols_own_provider_answers_it(api, tmp_path, name):
    fake = FakeProvider(auto=None)

    async def decide_there(status):
        fake.decide(fake.only().id, status, "too much" if status == "denied" else None)

    async with (
        agents_desk(tmp_path, api) as desk,
        httpx.AsyncClient(timeout=30) as http,
        fake.async_http() as pretended,
    ):

        async def decide_here(status):
            if status == "approved":
                await desk.press_on(0, "Approve")
            else:
                await desk.deny_with(0, "too much")

        there = Side(pretended, BASE_URL, TOKEN, decide_there)
        here = Side(http, base(desk), KEY, decide_here)
        for step in SEQUENCES[name]:
            if step[0] == "decide":
                await there.decide(step[1])
                await here.decide(step[1])
                continue
            method, path, body, key = step
            wanted, found = await there.say(method, path, body, key), await here.say(method, path, body, key)
            assert found == wanted, step


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"timeout": "soon"}, "duration"),
        ({"timeout": "10s"}, "from 30"),
        ({"timeout": "9999999d"}, "from 30"),
        ({"timeout": 600}, "timeout"),
        ({"tool": ""}, "tool"),
        ({"tool": "a\u202eb"}, "hidden"),
        ({"server": "discreet"}, "discreet"),
        ({"server": None}, "null"),
        ({"arguments": []}, "objects"),
        ({"arguments": {"n": 2**60}}, "2^53"),
        ({"context": "x"}, "objects"),
        ({"agent_reasoning": 5}, "text"),
        ({"extra": 1}, "not known"),
    ],
)
async def test_what_can_not_be_asked_is_told_and_nobody_sees_it(api, tmp_path, change, why):
    async with agents_desk(tmp_path, api) as desk:
        headers = {"Idempotency-Key": "k"}
        status, document = await desk.call("POST", "/aap/v1/requests", {**BODY, **change}, **headers)
        assert (status, document["error"]["code"]) == (400, "invalid_request")
        assert why in document["error"]["message"]
        assert await states(desk) == []


# receivers


def entry(receiver):
    return CallbackAddress(to=receiver.url, allow_private=True)


@asynccontextmanager
async def hooked(resumers=None, **more):
    """The protocol's own receiver behind an HTTP server."""
    async with receiving() as server:
        receiver = Receiver(resumers=resumers or {}, **more)
        server.behind = receiver.handle
        yield server, receiver


@rule("AGENT-4", "DUR-3")
async def test_a_receiver_is_verified_gets_a_credential_and_wakes_what_waits(api, tmp_path):
    woken = asyncio.Queue()
    resumers = {"test": lambda handle, request: woken.put_nowait((handle, request))}
    one = Call(key="r", tool="refund", arguments={"amount": 120}, resume={"framework": "test", "thread": "7"})
    async with hooked(resumers) as (server, receiver):
        async with agents_desk(tmp_path, api, callbacks=[entry(server)]) as desk:
            url = f"{server.url}/aap/events"
            made = await receiver.provision(provider_url=base(desk), provisioner_token=KEY, url=url)
            again = await receiver.provision(provider_url=base(desk), provisioner_token=KEY, url=url)
            assert (again.token, again.instance_id) == (made.token, made.instance_id)
            assert (server.statuses, made.instance_name.startswith("main-")) == ([200], True)
            async with clients(desk, made.token) as client:
                pending = await soon(AsyncGate(client, mode="async").check(one))
                assert isinstance(pending, Pending)
                await desk.press_on(0, "Approve")
                handle, request = await soon(woken.get())
                assert (handle["thread"], request.status, request.id) == ("7", "approved", pending.request_id)
                assert isinstance(await soon(AsyncGate(client, mode="async").check(one)), Allow)
            await receiver.client.aclose()
            told = json.loads(server.came[-1][2])  # that something is decided, and not what
            assert set(told) == {"id", "type", "instance_id", "request_id", "created_at"}
            # the credential is for the protocol alone
            assert (await desk.call("GET", "/v1/approvals", key=made.token))[0] == 401
            assert (await desk.call("POST", "/aap/v1/instances", {}, key=made.token))[0] == 401
        async with agents_desk(tmp_path, api) as desk, clients(desk, made.token) as client:  # after a restart
            assert (await client.get(pending.request_id)).consumption
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tests.agents_desk.KEY", f"{KEY}-changed")
            async with agents_desk(tmp_path, api) as desk, clients(desk, made.token) as client:
                with pytest.raises(CredentialRefused):  # with the agent's key its instances are void
                    await client.get(pending.request_id)


async def test_a_receiver_that_is_another_or_not_allowed_gets_no_credential(api, tmp_path):
    async with (
        hooked() as (server, receiver),
        hooked(registration_id="another", secret="whsec_" + "A" * 44) as (_, other),
        agents_desk(tmp_path, api, callbacks=[entry(server)]) as desk,
    ):
        with pytest.raises(ProvisionError) as error:
            await receiver.provision(
                provider_url=base(desk), provisioner_token=KEY, url="https://elsewhere.example.org/"
            )
        assert (error.value.status, error.value.code) == (422, "webhook_not_allowed")
        with pytest.raises(WebhookVerificationFailed):  # what answers there knows nothing of this registration
            await other.provision(provider_url=base(desk), provisioner_token=KEY, url=f"{server.url}/x")
        with pytest.raises(ProvisionError) as error:
            await receiver.provision(provider_url=base(desk), provisioner_token="wrong", url=f"{server.url}/x")
        assert error.value.status == 401


async def test_instances_are_made_as_the_protocols_own_provider_makes_them(api, tmp_path):
    fake = FakeProvider()
    async with (
        agents_desk(tmp_path, api) as desk,
        httpx.AsyncClient(timeout=30) as http,
        fake.async_http() as pretended,
    ):
        there = Side(pretended, BASE_URL, PROVISIONER_TOKEN, None)
        here = Side(http, base(desk), KEY, None)
        webhook = {"type": "webhook", "url": "https://x.example.org/", "registration_id": "r", "signing_secret": "s"}
        for body, key in (
            ({}, "a"),
            ({}, "a"),
            ({"instance_name": "desk"}, "a"),
            ({"instance_name": "desk"}, "b"),
            ({}, None),
        ):
            wanted = await there.say("POST", "/v1/instances", body, key)
            if wanted[0] < 400:
                wanted[1]["credential"].pop("expires_at")  # ours are void with the agent's key, and not before
            assert await here.say("POST", "/v1/instances", body, key) == wanted, (body, key)
        refused = await here.say("POST", "/v1/instances", {"delivery": webhook}, "c")
        assert refused[:3] == (422, "", "webhook_not_allowed")


async def test_of_many_instances_the_oldest_is_void(api, tmp_path):
    async with agents_desk(tmp_path, api) as desk:
        part = desk.aap
        made = [
            (
                await part._instances.provision(
                    part._callers, "main", f"k{number}", Provisioning(name="", delivery=None)
                )
            )[0]
            for number in range(MOST + 1)
        ]
        tokens = [part._instances.token(part._callers.credentials(one.agent)[0], one) for one in made]
        good = [part._instances.of_token(part._callers, token) is not None for token in tokens]
        assert good == [False] + [True] * MOST
        for forged in ("", "aap_", f"aap_{made[-1].id}", f"aap_{made[-1].id}.x", f"{tokens[-1]}x", tokens[-1][:-1]):
            assert part._instances.of_token(part._callers, forged) is None


# their middleware for LangGraph


@rule("AGENT-4")
async def test_their_middleware_pauses_a_graph_and_their_receiver_wakes_it(api, tmp_path):
    shop, graphs = Shop(), []

    async def wake(handle, request):
        await resumer(graphs[0])(handle, request)

    async with (
        hooked({"langgraph": wake}) as (server, receiver),
        agents_desk(tmp_path, api, callbacks=[entry(server)]) as desk,
    ):
        made = await receiver.provision(provider_url=base(desk), provisioner_token=KEY, url=f"{server.url}/e")
        async with clients(desk, made.token) as client:
            script = [says(call("refund", order=17, amount=120)), AIMessage(content="done")]
            graph = create_agent(
                Scripted(messages=iter(script)),
                tools=shop.tools,
                middleware=[ApprovalMiddleware(async_gate=AsyncGate(client, mode="async"))],
                checkpointer=InMemorySaver(),
            )
            graphs.append(graph)
            await soon(graph.ainvoke(PLEASE, CONFIG))
            assert shop.ran == []
            await desk.press_on(0, "Approve")
            async with asyncio.timeout(30):
                while not any(isinstance(one, ToolMessage) for one in graph.get_state(CONFIG).values["messages"]):
                    await asyncio.sleep(0.02)  # bounded above
            assert shop.ran == [("refund", {"order": 17, "amount": 120})]
            async with asyncio.timeout(30):
                while await states(desk) != [ApprovalState.EXECUTED]:
                    await asyncio.sleep(0.02)  # bounded above
            await asyncio.gather(*receiver._tasks)
        await receiver.client.aclose()


@rule("AGENT-4")
async def test_their_capability_for_pydantic_ai_waits_for_a_person(api, tmp_path):
    ran = []

    def refund(order: int, amount: int) -> str:
        """Pay money back."""
        ran.append((order, amount))
        return "refunded"

    def say(messages, info):
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("refund", {"order": 17, "amount": 120}, "call-1")])

    async with agents_desk(tmp_path, api) as desk, clients(desk) as client:
        approvals = ApprovalCapability(gate=AsyncGate(client))
        agent = Agent(FunctionModel(say), tools=[refund], capabilities=[approvals])
        async with checking(agent.run("refund")) as task:
            await desk.press_on(0, "Approve")
            assert ((await soon(task)).output, ran) == ("done", [(17, 120)])
        assert await states(desk) == [ApprovalState.EXECUTED]
