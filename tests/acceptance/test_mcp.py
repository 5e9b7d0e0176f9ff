"""The MCP server as clients of the official SDK meet it, over HTTP and as a process (AGENT-2)."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest

from bot.mcp.site import AT_ONCE
from bot.model.approval import ApprovalState
from tests.acceptance.test_chat_run import POLICY as CHAT_POLICY
from tests.acceptance.test_chat_run import daemon, entered
from tests.browser.visitor import visit
from tests.commanding import loaded, taking
from tests.harness import BOB, GROUP, INTERNAL
from tests.mcp_desk import KEY, OTHER_KEY, http_client, mcp_desk, said, stdio_client

rule = pytest.mark.rule
TOOLS = {
    "human_inform",
    "human_collect",
    "human_authorize",
    "human_escalate",
    "human_send_result",
    "ask_human",
    "request_approval",
    "use_approval",
    "get_answer",
    "take_back",
}
YES_NO = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
FACES = [
    pytest.param(http_client, {"mode": "auto"}, id="http"),
    pytest.param(http_client, {"mode": "legacy"}, id="http-2025"),
    pytest.param(stdio_client, {"mode": "auto"}, id="stdio"),
]


@asynccontextmanager
async def connected(tmp_path, api, face=http_client, **more):
    async with mcp_desk(tmp_path, api) as desk, face(desk, **more) as client:
        yield desk, client


@rule("AGENT-2")
@pytest.mark.parametrize(("face", "more"), FACES)
async def test_a_question_to_operators_is_answered_while_the_client_hears_that_somebody_is_waited_for(
    api, tmp_path, monkeypatch, face, more
):
    monkeypatch.setattr("bot.mcp.tools.SLICE_S", 0.2)
    async with connected(tmp_path, api, face, **more) as (desk, client):
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        heard = []

        async def progress(done, total, message):
            heard.append((done, message))

        asking = {"question": "Shall we ship?", "schema": YES_NO, "wait_s": 30}
        call = asyncio.create_task(client.call_tool("ask_human", asking, progress_callback=progress))
        card = await desk.message("Shall we ship?")
        await desk.answer(card, "Yes")
        answer = said(await call)
        assert answer["status"] == "answered"
        assert (answer["answer"], answer["answered_by"], answer["way"]) == ({"sure": True}, "ann", "tap")
        assert heard[0][1] == "waiting for a person"
        assert api.sent(GROUP) == []


@rule("AGENT-2")
async def test_a_client_that_goes_away_does_not_lose_the_answer(api, tmp_path):
    async with mcp_desk(tmp_path, api) as desk:
        async with http_client(desk) as client:
            asking = {"question": "Which one?", "schema": YES_NO, "wait_s": 0, "key": "one"}
            first = said(await client.call_tool("ask_human", asking))
            assert first["status"] == "pending"
            assert "get_answer" in first["message"]
            lost = asyncio.create_task(client.call_tool("get_answer", {"id": first["id"], "wait_s": 60}))
            await asyncio.sleep(0)
            lost.cancel()
            await asyncio.gather(lost, return_exceptions=True)
        await desk.answer(await desk.message("Which one?"), "No")
        async with stdio_client(desk) as later:
            again = said(await later.call_tool("get_answer", {"id": first["id"]}))
            assert (again["status"], again["answer"]) == ("answered", {"sure": False})
            repeated = said(await later.call_tool("ask_human", asking))
            assert repeated["id"] == first["id"]
            assert repeated["answer"] == {"sure": False}
        async with http_client(desk, key=OTHER_KEY) as stranger:
            refused = await stranger.call_tool("get_answer", {"id": first["id"]})
            assert refused.is_error
            assert said(refused)["error"] == "unknown"


@rule("AGENT-2", "APPR-5")
async def test_an_approval_is_used_once_with_what_people_made_of_it_and_its_outcome_is_told(api, tmp_path):
    async with connected(tmp_path, api) as (desk, client):
        proposing = {"action": "refund", "system": "shop", "parameters": {"order": 17, "amount": 120}, "wait_s": 30}
        call = asyncio.create_task(client.call_tool("request_approval", proposing))
        approval = await desk.approval()
        await desk.tap("Change…")
        await desk.say("amount: 90", to=desk.last())
        answer = said(await call)
        assert (answer["status"], answer["decision"], answer["changed_by_people"]) == ("approved", "APPROVE", True)
        using = {"id": answer["id"], "version": answer["version"]}
        used = said(await client.call_tool("use_approval", using))
        assert used["parameters"] == {"order": 17, "amount": 90}
        twice = await client.call_tool("use_approval", using)
        assert twice.is_error
        assert said(twice)["error"] == "claimed"
        result = {"responds_to": answer["id"], "status": "success", "note": "refund 99"}
        assert said(await client.call_tool("human_send_result", result))["status"] == "executed"
        assert await desk.state(approval) is ApprovalState.EXECUTED


@rule("AGENT-2")
async def test_authorize_says_decline_and_collect_and_escalate_bring_values_from_people(api, tmp_path):
    async with connected(tmp_path, api) as (desk, client):
        authorizing = {"message": "Delete the old index?", "params": {"index": "2019"}, "wait_s": 30}
        call = asyncio.create_task(client.call_tool("human_authorize", authorizing))
        approval = await desk.approval()
        await desk.tap("Deny")
        declined = said(await call)
        assert (declined["status"], declined["decision"], declined["code"]) == ("denied", "DECLINE", approval.code)
        refused = await client.call_tool("use_approval", {"id": declined["id"], "version": approval.version})
        assert said(refused)["error"] == "not_approved"

        components = [
            {
                "name": "size",
                "type": "SELECT",
                "label": "Size",
                "required": True,
                "options": [{"value": "s", "label": "Small"}, {"value": "l", "label": "Large"}],
            }
        ]
        collecting = {"message": "Which size?", "components": components, "principal_id": "ann", "wait_s": 30}
        call = asyncio.create_task(client.call_tool("human_collect", collecting))
        await desk.answer(await desk.message("Which size?"), "Large")
        assert said(await call)["answer"] == {"size": "l"}

        call = asyncio.create_task(client.call_tool("human_escalate", {"message": "I am stuck.", "wait_s": 30}))
        card = await desk.message("I am stuck.")
        await desk.say("taken over: yes\nnote: mine", to=card)
        assert said(await call)["answer"] == {"taken_over": True, "note": "mine"}


@rule("AGENT-2", "OUT-6")
async def test_informing_needs_a_grant_and_a_question_without_a_request_reaches_operators_alone(api, tmp_path):
    async with connected(tmp_path, api) as (desk, client):
        informing = {"destination": f"telegram:7001:{GROUP}", "message": "We have moved."}
        muted = await client.call_tool("human_inform", informing)
        assert muted.is_error
        assert said(muted)["error"] == "no_grant"
        for who in ("asker", "anyone", ["bob"]):
            refused = await client.call_tool("ask_human", {"question": "?", "who": who})
            assert said(refused)["error"] == "who"
        await desk.sent()
        assert api.sent(GROUP) == []
        assert api.sent(INTERNAL) == []


@rule("AGENT-2", "FORM-9")
async def test_a_question_about_a_request_is_asked_where_the_request_was_made(api, tmp_path):
    async with connected(tmp_path, api) as (desk, client):
        api.say(chat=GROUP, sender=BOB, text="@desk_bot book me a table")
        async with asyncio.timeout(15):
            await desk.agent.started.wait()
        asking = {"question": "Inside?", "schema": YES_NO, "request": desk.agent.requests[0].id, "wait_s": 30}
        call = asyncio.create_task(client.call_tool("ask_human", asking))
        await desk.answer(await desk.message("Inside?", chat=GROUP), "Yes", sender=BOB, chat=GROUP)
        answer = said(await call)
        assert (answer["answer"], answer["answered_by"]) == ({"sure": True}, "bob")


async def test_what_can_not_be_asked_is_refused_with_its_place_and_nobody_is_asked(api, tmp_path):
    async with connected(tmp_path, api) as (desk, client):
        for name, given, code in [
            ("ask_human", {}, "invalid"),
            ("ask_human", {"question": "?", "nonsense": 1}, "invalid"),
            ("ask_human", {"question": "?", "schema": {"type": "object", "properties": {"x": {"enum": []}}}}, "schema"),
            ("human_collect", {"message": "?", "components": [{"name": "a", "type": "SELECT"}]}, "invalid"),
            ("request_approval", {"action": "a", "parameters": {"n": 2**60}}, "parameters"),
            ("get_answer", {"id": "../grants"}, "unknown"),
            ("get_answer", {"id": "approval-00"}, "unknown"),
            ("use_approval", {"id": "question-00", "version": "x"}, "unknown"),
            ("list_commands", {"request": "x"}, "unknown"),
        ]:
            refused = await client.call_tool(name, given)
            assert refused.is_error, name
            assert said(refused)["error"] == code, said(refused)
        with pytest.raises(Exception, match="no such tool"):
            await client.call_tool("sudo", {})
        await desk.sent()
        assert api.sent(INTERNAL) == []


async def test_what_was_asked_can_be_taken_back(api, tmp_path):
    async with connected(tmp_path, api) as (_, client):
        asked = said(await client.call_tool("ask_human", {"question": "Really?", "wait_s": 0}))
        assert said(await client.call_tool("take_back", {"id": asked["id"]}))["status"] == "cancelled"
        assert said(await client.call_tool("get_answer", {"id": asked["id"]}))["status"] == "cancelled"


RUN = """\
agents:
  main: {kind: echo}
chat:
  enabled: true
  listen: "127.0.0.1:0"
  rooms:
    operators: {title: Operators, members: [olga]}
api: {enabled: true, listen: "127.0.0.1:0"}
metrics: {enabled: false}
"""


@rule("AGENT-2")
async def test_a_gateway_that_runs_serves_the_tools_and_asks_in_the_built_in_chat(tmp_path):
    policy = CHAT_POLICY.replace("audience: internal", "audience: internal, reports: true")
    for name, text in {"config.yaml": RUN, "policy.yaml": policy, "api-keys": f"main {KEY}\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    async with daemon(tmp_path) as one, visit(one) as page:
        url = f"http://127.0.0.1:{(await one.logged('api'))['port']}"
        await entered(page, one, "olga")
        async with page.stream() as stream, http_client(Address(url)) as client:
            call = asyncio.create_task(client.call_tool("ask_human", {"question": "Shall we?", "schema": YES_NO}))
            card = await stream.until("message", room="operators")
            token = next(button["token"] for button in card["card"]["buttons"] if button["label"] == "Yes")
            assert (await page.post(f"/api/rooms/operators/messages/{card['id']}/tap", {"token": token}))[0] == 200
            async with asyncio.timeout(20):
                answer = said(await call)
        assert (answer["answer"], answer["answered_by"]) == ({"sure": True}, "olga")


@dataclass
class Address:
    url: str


@rule("AGENT-2", "CMD-1")
async def test_commands_appear_where_the_gateway_has_them_and_are_run_for_the_person_who_asked(api, tmp_path):
    close = loaded(tmp_path / "config", {"close": taking(action={"kind": "handover"})})
    async with mcp_desk(tmp_path, api, commands=close) as desk, http_client(desk) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS | {"list_commands", "run_command"}
        api.say(chat=GROUP, sender=BOB, text="@desk_bot close my order")
        async with asyncio.timeout(15):
            await desk.agent.started.wait()
        mine = {"request": desk.agent.requests[0].id}
        (offered,) = said(await client.call_tool("list_commands", mine))["commands"]
        assert offered["name"] == "close"
        ran = said(await client.call_tool("run_command", {**mine, "name": "close", "object": "o-17"}))
        assert (ran["command"], ran["object"]) == ("close", {"id": "o-17", "display": "Order 17"})
        foreign = await client.call_tool("run_command", {**mine, "name": "close", "object": "o-99"})
        assert (foreign.is_error, said(foreign)["error"]) == (True, "unknown_object")
        for name in ("other", "../grants", "close/../x"):
            refused = await client.call_tool("run_command", {**mine, "name": name})
            assert (refused.is_error, said(refused)["error"]) == (True, "unknown_command"), name
        assert said(await client.call_tool("list_commands", {"request": "r2"}))["error"] == "no_request"


@rule("AGENT-2", "AGENT-5")
async def test_only_agents_with_a_key_come_in_and_nothing_too_large_or_out_of_shape_does_harm(api, tmp_path):
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    keyed = {**headers, "Authorization": f"Bearer {KEY}"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with mcp_desk(tmp_path, api) as desk, aiohttp.ClientSession() as http:

        async def post(body, sent):
            async with http.post(f"{desk.url}/mcp", data=body, headers=sent) as answer:
                return answer.status, await answer.text()

        assert (await post(json.dumps(ping), headers))[0] == 401
        assert (await post(json.dumps(ping), {**headers, "Authorization": "Bearer wrong"}))[0] == 401
        status, answer = await post(json.dumps(ping), keyed)
        assert status == 200
        assert '"result":{}' in answer
        assert (await post(b" " * 100_000, keyed))[0] == 413
        for body in (b"", b"[]", b"{}", b"nonsense", json.dumps([ping]).encode(), b"[" * 5_000, b'{"a":1e999}'):
            status, answer = await post(body, keyed)
            assert 400 <= status < 500, (body[:20], status)
            assert "Traceback" not in answer
        async with http.get(f"{desk.url}/mcp", headers=keyed) as answer:
            assert answer.status == 405
        assert (await post(json.dumps(ping), keyed))[0] == 200
        async with http_client(desk) as client:
            assert await client.list_tools()


@rule("AGENT-2", "AGENT-5")
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_an_agent_that_holds_too_many_calls_waits_alone_and_gets_its_places_back_when_it_hangs_up(
    api, tmp_path, version
):
    async with mcp_desk(tmp_path, api) as desk, http_client(desk) as client, aiohttp.ClientSession() as other:
        asked = said(await client.call_tool("ask_human", {"question": "Well?", "wait_s": 0}))
        looking = {"name": "get_answer", "arguments": {"id": asked["id"], "wait_s": 600}}

        async def post(http, number, method, **params):
            meta = {
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
                "progressToken": number,
            }
            named = {"Mcp-Name": params["name"]} if "name" in params else {}
            headers = {
                "Accept": "application/json, text/event-stream",
                "Authorization": f"Bearer {KEY}",
                "MCP-Protocol-Version": version,
                "Mcp-Method": method,
                **named,
            }
            body = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": meta}}
            return await http.post(f"{desk.url}/mcp", json=body, headers=headers)

        hanging = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        held = [await post(hanging, number, "tools/call", **looking) for number in range(AT_ONCE)]
        assert {one.status for one in held} == {200}
        refused = await post(other, 1, "tools/list")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        async with http_client(desk, key=OTHER_KEY) as neighbour:
            assert (await neighbour.list_tools()).tools
        for one in held:
            one.close()
        await hanging.close()
        async with asyncio.timeout(15):
            while (await post(other, 2, "tools/list")).status == 429:
                await asyncio.sleep(0.1)  # bounded above
        assert said(await client.call_tool("take_back", {"id": asked["id"]}))["status"] == "cancelled"
