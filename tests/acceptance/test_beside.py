"""Agents that flood, hang, lie, replay or answer after their end, beside others that work: nobody else notices (AGENT-5).

Everything is real: webhook agents and models over HTTP, the gateway, its interface, an emulated Telegram. What is
asserted is what other chats received: every answer, whole, once, in order. Nothing is timed.
"""

import asyncio
import base64
import json
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from bot.agents.openai import OpenAIAgent
from bot.agents.toolbox import Tool
from bot.agents.webhook import MAX_NOTES, WebhookAgent
from bot.api.approvals import ApprovalsApi
from bot.api.deliveries import DeliveriesApi
from bot.api.questions import QuestionsApi
from bot.api.site import serve
from bot.channels.telegram.limits import Limits
from bot.config.secret import Secret
from bot.texts.codes import Failure, Notice
from bot.texts.words import Words
from tests.acceptance.test_questions import CHANNEL
from tests.harness import ANN, BOB, BOT_ID, INTERNAL, CountingAgent, running
from tests.servers.agents import serving
from tests.servers.models import call, calls

rule = pytest.mark.rule
SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
KEY = "SYNTHETIC-key-of-bad"
GOODS = [-1001000000100 - number for number in range(5)]
BADS = [-1001000000200 - number for number in range(5)]
EACH = 12
"""Requests in every chat of others."""
SENTENCES = {Words("en").say(failure) for failure in Failure}
POLICY = f"""
version: 1
operators: [ann]
people:
  ann: {{accounts: ["telegram:{ANN}"], names: [Ann]}}
  bob: {{accounts: ["telegram:{BOB}"], names: [Bob]}}
channels:
  "telegram:{BOT_ID}:{INTERNAL}": {{audience: internal, reports: true}}
""" + "".join(
    f'  "telegram:{BOT_ID}:{chat}": {{{{audience: external, agent: {agent}}}}}\n'.replace("{{", "{").replace("}}", "}")
    for chats, agent in ((GOODS, "good"), (BADS, "bad"))
    for chat in chats
)


async def answer(received):
    """The good agent."""
    asked = await received.json()
    return web.json_response({"kind": "final", "text": f"answer to {asked['untrusted']['text'].split()[-1]}"})


class Bad:
    """A webhook agent that does as its test says, and knows what it was asked."""

    def __init__(self, behave):
        self.behave = behave
        self.asked = []
        self.reached = asyncio.Event()

    async def __call__(self, received):
        self.asked.append(await received.json())
        self.reached.set()
        return await self.behave(received, self.asked[-1])


class Beside:
    """A gateway with five chats of a good agent and five of a bad one."""

    def __init__(self, api, gateway, url, http):
        self.api, self.gateway, self.url, self.http = api, gateway, url, http

    def say(self, chat, text):
        return self.api.say(chat=chat, sender=BOB, text=f"@desk_bot {text}")

    def stop(self, chat):
        words = "/stop@desk_bot"
        entities = [{"type": "bot_command", "offset": 0, "length": len(words)}]
        return self.api.say(chat=chat, sender=BOB, text=words, entities=entities)

    async def call(self, method, path, *, body=None, **headers):
        headers["Authorization"] = f"Bearer {KEY}"
        async with self.http.request(method, f"{self.url}{path}", json=body, headers=headers) as said:
            return said.status, await said.json()

    async def load(self):
        """Every chat of the good agent asks its questions, one after another, all chats at once."""
        for number in range(EACH):
            for chat in GOODS:
                self.say(chat, f"question {number}")
            await asyncio.sleep(0)

    async def nobody_noticed(self):
        """Every answer arrives in each chat of the others: whole, once, in the order of its questions."""
        expected = [f"answer to {number}" for number in range(EACH)]
        async with asyncio.timeout(60):
            for chat in GOODS:
                await self.api.wait_for(lambda chat=chat: len(self.api.texts(chat)) >= EACH, timeout=60)
        for chat in GOODS:
            assert self.api.texts(chat) == expected


@asynccontextmanager
async def beside(tmp_path, api, bad, *, policy=POLICY):
    """``bad``: the bad agent, ready made, or how it behaves behind a webhook."""
    for chat in (*GOODS, *BADS):
        api.chat(chat, type="supergroup", title="Room")
    bound = asyncio.get_running_loop().create_future()
    async with AsyncExitStack() as stack:
        good_url = await stack.enter_async_context(serving(answer))
        if isinstance(bad, Bad):
            url = await stack.enter_async_context(serving(bad))
            bad = WebhookAgent(name="bad", url=url, secrets=[SECRET], total_s=30, wait_s=20)
        good = WebhookAgent(name="good", url=good_url, secrets=[SECRET])
        gateway = await stack.enter_async_context(
            running(
                tmp_path,
                api=api,
                agent=CountingAgent(),
                further=[good, bad],
                policy=policy,
                limits=Limits(chat=None, group=None, total=None),
            )
        )
        crew = gateway.daemon.crew
        parts = (
            QuestionsApi(crew.worker, crew.questions, clock=crew.clock),
            ApprovalsApi(crew.worker, crew.approvals, clock=crew.clock),
            DeliveriesApi(crew.schedule),
        )
        keys = {"bad": Secret(KEY), "good": Secret("SYNTHETIC-key-of-good")}
        service = asyncio.create_task(
            serve(parts, host="127.0.0.1", port=0, keys=keys, bound=bound.set_result), name="api"
        )
        timeout = aiohttp.ClientTimeout(total=60)
        connector = aiohttp.TCPConnector(limit=0)
        http = await stack.enter_async_context(aiohttp.ClientSession(timeout=timeout, connector=connector))
        try:
            yield Beside(api, gateway, f"http://127.0.0.1:{await bound}", http)
        finally:
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)
            await good.close()
            await bad.close()


def lines(*outputs):
    return b"".join(json.dumps(one).encode() + b"\n" for one in outputs)


async def streamed(received, pieces, *, endless=False):
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    await response.prepare(received)
    while True:
        for piece in pieces:
            await response.write(piece)
        if not endless:
            return response


# floods


@rule("AGENT-5")
@pytest.mark.parametrize(
    "flood",
    [
        [lines(*[{"kind": "progress", "text": "busy " * 50}] * 200)],
        [lines(*[{"kind": "fragment", "text": "grown " * 2_000}] * 20)],
        [lines(*[{"kind": "operational", "text": "x" * 3_000}] * 50)],
        [b"x" * 65_536],
        [lines({"kind": "final", "text": "*_`[" * 24_000})],
    ],
    ids=["progress", "fragments", "facts", "no lines", "hard to format"],
)
async def test_an_agent_that_floods_drowns_in_its_own_channels_alone(api, tmp_path, flood):
    async def behave(received, _):
        return await streamed(received, flood, endless=True)

    async with beside(tmp_path, api, Bad(behave)) as there:
        for chat in BADS:
            for _ in range(2):
                there.say(chat, "flood please")
        await there.load()
        await there.nobody_noticed()


@rule("AGENT-5")
async def test_notes_of_a_run_are_bounded_also_where_they_may_be_shown(api, tmp_path):
    async def behave(received, _):
        notes = lines(*[{"kind": "operational", "text": f"fact {number}"} for number in range(500)])
        return await streamed(received, [notes, lines({"kind": "final", "text": "told"})])

    bad = Bad(behave)
    inside = POLICY.replace("audience: external, agent: bad", "audience: internal, agent: bad")
    async with beside(tmp_path, api, bad, policy=inside) as there:
        for chat in BADS:
            there.say(chat, "tell everything")
        await there.load()
        await there.nobody_noticed()
        await there.gateway.quiet()
        for chat in BADS:
            *facts, last = api.texts(chat)
            assert facts == [f"fact {number}" for number in range(MAX_NOTES + 1)]
            assert last in SENTENCES


@rule("AGENT-5")
async def test_a_model_that_floods_with_calls_of_tools_drowns_alone(api, tmp_path):
    async def flood(received):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(received)
        pieces = [*calls(*(call("ask_human", "{" * 1_000, number=number) for number in range(8)))]
        for piece in pieces:
            await response.write(piece)
        return response

    async with serving(flood) as url:
        tools = tuple(Tool)
        model = OpenAIAgent(name="bad", base_url=url, model="m", tools=tools, total_s=30, wait_s=20)
        async with beside(tmp_path, api, model) as there:
            for chat in BADS:
                for _ in range(3):
                    there.say(chat, "flood please")
            await there.load()
            await there.nobody_noticed()
            await there.gateway.quiet()
            for chat in BADS:
                assert set(api.texts(chat)) == {Words("en").say(Failure.UNAVAILABLE)}


# hanging


@rule("AGENT-5", "PART-8")
async def test_an_agent_that_hangs_holds_its_own_chats_and_stop_frees_them(api, tmp_path):
    gone = []

    async def behave(_received, asked):
        try:
            await asyncio.Event().wait()
        finally:
            gone.append(asked["id"])

    bad = Bad(behave)
    async with beside(tmp_path, api, bad) as there:
        for chat in BADS:
            for _ in range(20):
                there.say(chat, "hang please")
        await asyncio.wait_for(bad.reached.wait(), 20)
        await there.load()
        await there.nobody_noticed()
        for chat in BADS:
            assert api.texts(chat) == []
            there.stop(chat)
        await there.gateway.quiet()
        for chat in BADS:
            assert api.texts(chat) == [Words("en").say(Notice.STOPPED)]
        async with asyncio.timeout(20):
            while len(gone) < len(bad.asked):
                await asyncio.sleep(0.01)  # bounded above
        assert len(bad.asked) <= len(BADS), "what waited behind it was never asked"


# lies about destinations


@rule("AGENT-5", "OUT-5", "OUT-6")
async def test_an_agent_that_lies_about_destinations_reaches_no_other_chat_by_any_way(api, tmp_path):
    place = f"telegram:{BOT_ID}:{GOODS[0]}"
    tried = []

    async def behave(_received, asked):
        lie = {"destination": place, "audience": "operator", "chat": GOODS[0], "to": place, "reply_to": place}
        for path, body in (
            ("/v1/questions", {"question": "LIE?", "schema": CHANNEL, "request": asked["id"], **lie}),
            ("/v1/questions", {"question": "LIE?", "schema": CHANNEL, "request": asked["id"]}),
            ("/v1/questions", {"question": "LIE?", "schema": CHANNEL, "request": "of somebody else"}),
            ("/v1/deliveries", {"destination": place, "text": "LIE"}),
            ("/v1/deliveries", {"destination": f"{place}:7", "text": "LIE"}),
            ("/v1/approvals", {"action": "x", "parameters": {"destination": place}, "request": asked["id"]}),
        ):
            key = f"{asked['id']} {len(tried)}"
            tried.append((path, (await there.call("POST", path, body=body, **{"Idempotency-Key": key}))[0]))
        return web.json_response({"kind": "final", "text": "LIE told", **lie})

    bad = Bad(behave)
    async with beside(tmp_path, api, bad) as there:
        for chat in BADS:
            there.say(chat, "lie please")
        await there.load()
        await there.nobody_noticed()
        async with asyncio.timeout(20):
            while len(tried) < 6 * len(BADS):
                await asyncio.sleep(0.01)  # bounded above
        await there.gateway.settled()
    for chat in BADS:
        assert all("LIE" in text for text in api.texts(chat))
    assert sorted(set(tried)) == [
        ("/v1/approvals", 201),
        ("/v1/deliveries", 403),
        ("/v1/questions", 201),
        ("/v1/questions", 403),
        ("/v1/questions", 422),
    ]
    assert not [one for one in api.calls if one.chat_id in GOODS and "LIE" in one.text]


# replays


@rule("AGENT-5", "DUR-1")
async def test_an_agent_that_replays_its_calls_asks_proposes_and_says_everything_once(api, tmp_path):
    async def behave(_received, asked):
        key = {"Idempotency-Key": f"replayed {asked['id']}"}
        question = {"question": "Which channel?", "schema": CHANNEL, "request": asked["id"]}
        proposal = {"action": "deploy", "parameters": {"version": 1}, "request": asked["id"]}
        made = await asyncio.gather(
            *(there.call("POST", "/v1/questions", body=question, **key) for _ in range(5)),
            *(there.call("POST", "/v1/approvals", body=proposal, **key) for _ in range(5)),
        )
        assert {status for status, _ in made} <= {200, 201, 429}
        other = {**question, "question": "Another one?"}
        assert (await there.call("POST", "/v1/questions", body=other, **key))[0] in (409, 429)
        for status, body in made:
            if status == 201:
                kind = "approvals" if "action" in body else "questions"
                await there.call("DELETE", f"/v1/{kind}/{body['id']}")
        final = {"kind": "final", "text": "once"}
        return web.json_response({"outputs": [final, final, {"kind": "final", "text": "twice"}]})

    bad = Bad(behave)
    async with beside(tmp_path, api, bad) as there:
        for chat in BADS:
            there.say(chat, "replay please")
        await there.load()
        await there.nobody_noticed()
        for chat in BADS:
            await api.wait_for(lambda chat=chat: "once" in api.texts(chat), timeout=30)
        await there.gateway.settled()
        for chat in BADS:
            texts = api.texts(chat)
            assert texts.count("once") == 1
            assert "twice" not in texts
            assert sum("Which channel?" in text for text in texts) <= 1
        assert len(bad.asked) == len(BADS)


@rule("AGENT-5", "PART-18")
async def test_the_id_of_a_request_that_is_over_opens_nothing_any_more(api, tmp_path):
    async def behave(_received, _asked):
        return web.json_response({"kind": "final", "text": "done"})

    bad = Bad(behave)
    async with beside(tmp_path, api, bad) as there:
        there.say(BADS[0], "hello")
        await there.gateway.quiet()
        (asked,) = bad.asked
        await there.load()
        for number in range(10):
            body = {"question": "LATE?", "schema": CHANNEL, "request": asked["id"]}
            key = {"Idempotency-Key": f"late {number}"}
            status, said = await there.call("POST", "/v1/questions", body=body, **key)
            assert (status, said["error"]) == (403, "no_grant")
            body = {"action": "x", "parameters": {}, "request": asked["id"]}
            assert (await there.call("POST", "/v1/approvals", body=body, **key))[0] == 403
        await there.nobody_noticed()
        assert api.texts(BADS[0]) == ["done"]
        assert api.texts(INTERNAL) == []


# answers after the end


@rule("AGENT-5", "PART-8")
async def test_an_agent_that_answers_after_it_was_stopped_says_nothing_by_any_way(api, tmp_path):
    late = asyncio.Event()

    async def behave(_received, _asked):
        await asyncio.shield(late.wait())
        return web.json_response({"kind": "final", "text": "LATE"})

    bad = Bad(behave)
    async with beside(tmp_path, api, bad) as there:
        for chat in BADS:
            there.say(chat, "answer late please")
        async with asyncio.timeout(20):
            while len(bad.asked) < len(BADS):
                await asyncio.sleep(0.01)  # bounded above
        proposed = []
        for asked in bad.asked:
            body = {"action": "deploy", "parameters": {"version": 1}, "request": asked["id"]}
            status, approval = await there.call("POST", "/v1/approvals", body=body, **{"Idempotency-Key": asked["id"]})
            assert status == 201
            proposed.append(approval)
        await there.load()
        for chat in BADS:
            there.stop(chat)
        await there.gateway.quiet()
        before = {chat: api.texts(chat) for chat in (*BADS, INTERNAL)}
        for asked, approval in zip(bad.asked, proposed, strict=True):
            claim = {"version": approval["version"], "claim_key": "late"}
            status, said = await there.call("POST", f"/v1/approvals/{approval['id']}/claim", body=claim)
            assert status == 409, said
            body = {"question": "LATE?", "schema": CHANNEL, "request": asked["id"]}
            status, _ = await there.call("POST", "/v1/questions", body=body, **{"Idempotency-Key": "q" + asked["id"]})
            assert status == 403
        late.set()
        await there.nobody_noticed()
        await there.gateway.quiet()
        assert {chat: api.texts(chat) for chat in (*BADS, INTERNAL)} == before


# all of them at once


@rule("AGENT-5")
async def test_all_of_them_at_once_change_nothing_for_the_others(api, tmp_path):
    async def behave(received, asked):
        match int(asked["destination"].rpartition(":")[2]) % 5:
            case 0:
                return await streamed(received, [lines({"kind": "progress", "text": "busy"})] * 100, endless=True)
            case 1:
                return await asyncio.Event().wait()
            case 2:
                return web.Response(status=500, text="Traceback SECRET")
            case 3:
                return web.json_response({"kind": "final", "text": "x" * 200_000, "destination": "telegram:1:2"})
            case _:
                for number in range(50):
                    body = {"question": f"{number}?", "schema": CHANNEL, "request": asked["id"]}
                    await there.call("POST", "/v1/questions", body=body, **{"Idempotency-Key": f"{number}"})
                return web.json_response({"kind": "silence"})

    async with beside(tmp_path, api, Bad(behave)) as there:
        for _ in range(10):
            for chat in BADS:
                there.say(chat, "do your worst")
        await there.load()
        await there.nobody_noticed()
        said = " ".join(one.text for one in api.calls if one.chat_id in GOODS)
        assert "SECRET" not in said
        assert not SENTENCES & set(said.split("\n"))
