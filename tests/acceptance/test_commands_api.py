"""Commands over HTTP: the handbook's agent and order system, run as they stand there (CMD)."""

import asyncio
import os
import re
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from bot.agents.webhook import WebhookAgent
from bot.api.commands import CommandsApi
from bot.api.site import serve
from bot.channels.telegram.limits import Limits
from bot.config.secret import Secret
from bot.model.output import Silence
from tests.acceptance.test_clarifications import card, until
from tests.commanding import SECRET, Orders, http, loaded, taking
from tests.harness import ANN, BOB, INTERNAL, POLICY, CountingAgent, running
from tests.servers.agents import serving

rule = pytest.mark.rule
KEY, OTHER_KEY = "SYNTHETIC-key-of-the-main-agent", "SYNTHETIC-key-of-another-agent"
BLOCK = re.compile(r"```(?P<kind>python|yaml)\n(?P<code>.*?)```", re.DOTALL)
OPEN = Limits(chat=None, group=None, total=None)


@asynccontextmanager
async def interface(gateway):
    """The interface for agents of a gateway on a free port; gives its address."""
    port = asyncio.get_running_loop().create_future()
    service = asyncio.create_task(
        serve(
            [CommandsApi(gateway.daemon.crew.worker)],
            host="127.0.0.1",
            port=0,
            keys={"main": Secret(KEY), "idle": Secret(OTHER_KEY)},
            bound=port.set_result,
        ),
        name="api",
    )
    try:
        yield f"http://127.0.0.1:{await port}"
    finally:
        service.cancel()
        await asyncio.gather(service, return_exceptions=True)


@pytest.fixture
def handbook(monkeypatch):
    """The blocks of docs/commands.md: the configuration, the order system, the agent."""
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    found = list(BLOCK.finditer(text))
    settings = next(one["code"] for one in found if one["kind"] == "yaml")
    names: list[dict] = []
    for name in ("ORDERS_SECRET", "DESK_SECRET"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("GATEWAY", "set later")
    monkeypatch.setenv("DESK_KEY", KEY)
    monkeypatch.setattr(web, "run_app", lambda *_, **__: None)
    for one in found:
        if one["kind"] == "python":
            names.append({})
            exec(compile(one["code"], "docs/commands.md", "exec"), names[-1])
    return settings, *names


@asynccontextmanager
async def played(tmp_path, api, handbook, policy=POLICY):
    """A gateway with the configuration of the handbook, its order system and its agent."""
    settings, orders, agent = handbook
    async with AsyncExitStack() as stack:
        orders_url = await stack.enter_async_context(serving(orders["orders"]))
        agent_url = await stack.enter_async_context(serving(agent["answer"]))
        text = settings.replace("http://127.0.0.1:8200", orders_url).replace("${ORDERS_SECRET}", SECRET)
        commands = loaded(tmp_path / "config", yaml.safe_load(text)["commands"])
        gateway = await stack.enter_async_context(
            running(
                tmp_path,
                api=api,
                agent=WebhookAgent(name="main", url=f"{agent_url}/answer", secrets=[SECRET]),
                limits=OPEN,
                policy=policy,
                commands=commands,
            )
        )
        agent["GATEWAY"] = await stack.enter_async_context(interface(gateway))
        yield gateway


@rule("CMD-1", "CMD-2", "CMD-3", "CMD-4")
async def test_the_agent_and_the_order_system_of_the_handbook_work(api, tmp_path, handbook):
    policy = POLICY.replace("names: [Bob, Jordan]}", "names: [Bob, Jordan], language: de}")
    async with played(tmp_path, api, handbook, policy) as gateway:
        for number, (said, answer) in enumerate(
            [
                ("close o-17", "Closed: Order 17."),
                ("close o-18", "„Auftrag schließen“ geht für Order 18 nicht. Er ist schon geschlossen."),
                ("close o-19", "I can't do that (unknown_object)."),
                ("close o-20", "I can't do that (unknown_object)."),
                ("close o-17", "„Auftrag schließen“ geht für Order 17 nicht. Er ist schon geschlossen."),
            ],
            1,
        ):
            api.say(chat=BOB, sender=BOB, text=said)
            await gateway.settled()
            assert api.texts(BOB)[number - 1] == answer
    assert os.environ["GATEWAY"] == "set later"


def test_every_configuration_in_the_handbook_holds(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    blocks = [one["code"].replace("${ORDERS_SECRET}", SECRET) for one in BLOCK.finditer(text) if one["kind"] == "yaml"]
    whole, table, slots = (yaml.safe_load(one) for one in blocks)
    found = loaded(tmp_path / "a", {**whole["commands"], **slots})
    assert set(found) == {"close_order", "person", "take_order", "ship"}
    other = {**whole["commands"]["close_order"], "objects": table["objects"]}
    assert set(loaded(tmp_path / "b", {"other": other})) == {"other"}


@dataclass
class Api:
    url: str
    http: aiohttp.ClientSession
    agent: CountingAgent
    gateway: Any

    @property
    def request(self):
        return self.agent.requests[-1].id

    async def list(self, *, request=None, key=KEY):
        params = {"request": self.request if request is None else request}
        headers = {"Authorization": f"Bearer {key}"}
        async with self.http.get(f"{self.url}/v1/commands", params=params, headers=headers) as answer:
            return answer.status, await answer.json()

    async def run(self, name="close_order", *, bearer=KEY, idempotency=None, **body):
        headers = {"Authorization": f"Bearer {bearer}"}
        if idempotency is not None:
            headers["Idempotency-Key"] = idempotency
        body = {"request": self.request, **body}
        async with self.http.post(f"{self.url}/v1/commands/{name}", json=body, headers=headers) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def working(tmp_path, api, commands):
    """Bob has asked for something, and the agent works on it until the end."""
    agent, idle = CountingAgent(answer=lambda _: [Silence()], gate=asyncio.Event()), CountingAgent(name="idle")
    settings = loaded(tmp_path / "config", commands)
    async with (
        running(
            tmp_path, api=api, agent=agent, further=[idle], limits=OPEN, policy=POLICY, commands=settings
        ) as gateway,
        interface(gateway) as url,
        asyncio.timeout(30),
        aiohttp.ClientSession() as session,
    ):
        try:
            api.say(chat=BOB, sender=BOB, text="please")
            await agent.started.wait()
            yield Api(url=url, http=session, agent=agent, gateway=gateway)
        finally:
            agent.gate.set()


@rule("CMD-1", "CMD-3")
async def test_commands_are_bound_to_the_request_on_which_the_agent_works(api, tmp_path):
    orders = Orders()
    commands = {
        "close_order": taking(action=http("http://127.0.0.1:1/")),
        "inside": taking(audiences=["internal"], action={"kind": "handover"}),
    }
    async with serving(orders) as url:
        commands["close_order"]["action"]["url"] = url
        async with working(tmp_path, api, commands) as there:
            status, listed = await there.list()
            assert status == 200
            assert listed == {
                "commands": [
                    {
                        "name": "close_order",
                        "description": "Closes one order.",
                        "input_description": "The id of one order, such as o-17.",
                        "reads": [],
                        "keep_as": None,
                        "takes_text": False,
                    }
                ]
            }
            for status, refused in (
                await there.list(request="another"),
                await there.list(key=OTHER_KEY),
                await there.run(object="o-17", bearer=OTHER_KEY),
                await there.run(object="o-17", request="another"),
            ):
                assert (status, refused["error"]) == (403, "no_request")
            status, refused = await there.run(object="o-17", person="ann")
            assert (status, refused["problems"][0]["path"]) == (422, "/person")
            status, ran = await there.run(object="o-17")
            assert (status, ran["outcome"], ran["object"]["id"]) == (200, "done", "o-17")
            assert [one["person"] for one in orders.calls] == ["bob"]
            there.agent.gate.set()
            await there.gateway.settled()
            status, refused = await there.run(object="o-17")
            assert (status, refused["error"]) == (403, "no_request"), "the run has ended"


@rule("CMD-3")
async def test_unreadable_and_unknown_have_the_same_bytes(api, tmp_path):
    async with working(tmp_path, api, {"close_order": taking(action={"kind": "handover"})}) as there:
        answers = [await there.run(object=one) for one in ("o-99", "o-404", "")]
        assert answers == [(404, {"error": "unknown_object", "message": "There is no such object."})] * 3
        heads = []
        for one in ("o-99", "o-404"):
            body = {"request": there.request, "object": one}
            headers = {"Authorization": f"Bearer {KEY}"}
            async with there.http.post(f"{there.url}/v1/commands/close_order", json=body, headers=headers) as answer:
                heads.append(({**answer.headers, "Date": ""}, await answer.read()))
        assert heads[0] == heads[1]


@rule("CMD-2", "CMD-4")
async def test_the_refusals_of_the_tool_have_their_codes(api, tmp_path):
    plain = {"description": "Calls.", "audiences": ["external"], "action": {"kind": "handover"}}
    kept = {"keep": taking(keep_as="order", action={"kind": "keep"})}
    reads = {**plain, "reads": ["order"]}
    async with working(
        tmp_path, api, {"close_order": taking(action={"kind": "handover"}), "call": plain, "reads": reads, **kept}
    ) as there:
        for (status, code), name, body in (
            ((404, "unknown_command"), "rm", {}),
            ((422, "no_input_expected"), "call", {"object": "o-17"}),
            ((422, "object_missing"), "close_order", {}),
            ((422, "object_missing"), "close_order", {"object": None}),
            ((422, "invalid"), "close_order", {"object": ["o-17", "o-18"]}),
            ((422, "no_text_expected"), "keep", {"object": "o-17", "text": "x"}),
            ((422, "text_too_long"), "call", {"text": "x" * 4001}),
            ((409, "slot_empty"), "reads", {}),
        ):
            found, refused = await there.run(name, **body)
            assert (found, refused["error"]) == (status, code)
        assert api.texts(INTERNAL) == []
        assert (await there.run("keep", object="o-17"))[1]["outcome"] == "done"
        assert (await there.run("reads"))[1]["outcome"] == "done"


async def test_a_call_with_the_same_key_is_carried_out_once(api, tmp_path):
    refused = {"refused": [{"code": "late", "reason": {"en": "Too late."}}]}
    orders = Orders()
    async with serving(orders) as url, working(tmp_path, api, {"close_order": taking(action=http(url))}) as there:
        _, first = await there.run(object="o-17", idempotency="k")
        _, second = await there.run(object="o-17", idempotency="k")
        assert second == {**first, "repeated": True}
        status, other = await there.run(object="o-18", idempotency="k")
        assert (status, other["error"]) == (409, "key_used")
        assert len(orders.calls) == 1
        orders.status, orders.answer = 409, refused
        _, first = await there.run(object="o-17", idempotency="m")
        _, second = await there.run(object="o-17", idempotency="m")
        assert second == {**first, "repeated": True}
        assert (first["outcome"], first["reasons"]) == ("refused", [{"code": "late", "reason": "Too late."}])
        assert len(orders.calls) == 2
        await there.run(object="o-17")
        await there.run(object="o-17")
        assert len(orders.calls) == 4, "without a key each call is one of its own"


@rule("CMD-4")
async def test_a_second_call_in_the_conversation_is_busy_and_another_conversation_is_not(api, tmp_path):
    orders = Orders(gate=asyncio.Event())
    async with serving(orders) as url, working(tmp_path, api, {"close_order": taking(action=http(url))}) as there:
        first = asyncio.create_task(there.run(object="o-17"))

        async def called():
            return len(orders.calls) == 1

        await until(called)
        status, refused = await there.run(object="o-17")
        assert (status, refused["error"]) == (409, "busy")
        bobs = there.request
        there.agent.started.clear()
        api.say(chat=ANN, sender=ANN, text="mine")
        await there.agent.started.wait()
        anns = asyncio.create_task(there.run(object="o-99", request=there.request))

        async def both():
            return len(orders.calls) == 2

        await until(both)
        orders.gate.set()
        assert [(await one)[1]["outcome"] for one in (first, anns)] == ["done", "done"]
        assert [one["person"] for one in orders.calls] == ["bob", "ann"]
        assert bobs != there.request


async def test_a_form_over_http_is_opened_and_the_run_of_the_command_has_ended(api, tmp_path):
    schema = {"type": "object", "properties": {"sure": {"enum": ["yes", "no"]}}, "required": ["sure"]}
    action = {"kind": "form", "question": {"en": "Close {object}?"}, "schema": schema}
    async with working(tmp_path, api, {"close_order": taking(action=action)}) as there:
        _, ran = await there.run(object="o-17", idempotency="form")
        assert ran["outcome"] == "done"
        await card(api, "Close Order 17?")
        _, again = await there.run(object="o-17", idempotency="form")
        assert again["question"] == ran["question"]
        await there.gateway.settled()
        assert len(api.texts(BOB)) == 1
