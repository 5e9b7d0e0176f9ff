"""The clarification loop with an agent behind a webhook: the one of the handbook, run as it stands there (CLAR)."""

import base64
import json
import re
from pathlib import Path

import pytest
from aiohttp import web

from bot.agents.openai import OpenAIAgent
from bot.agents.script import load_script
from bot.agents.scripted import ScriptedAgent
from bot.agents.webhook import WebhookAgent
from bot.channels.telegram.limits import Limits
from bot.model.interaction import InteractionState
from tests.acceptance.test_clarifications import card, said, tap, until
from tests.harness import BOB, POLICY, running
from tests.servers.agents import serving

rule = pytest.mark.rule
SECRET = "whsec_" + base64.b64encode(b"SYNTHETIC secret of 32 bytes ...").decode()
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```", re.DOTALL)


@pytest.fixture
def handbook(monkeypatch):
    """The agent of docs/clarifications.md."""
    text = (Path(__file__).parents[2] / "docs" / "clarifications.md").read_text(encoding="utf-8")
    example = EXAMPLE.search(text)["code"]
    names: dict = {}
    monkeypatch.setenv("DESK_SECRET", SECRET)
    monkeypatch.setattr(web, "run_app", lambda *_, **__: None)
    exec(compile(example, "docs/clarifications.md", "exec"), names)
    return names["answer"]


def agent_at(url):
    return WebhookAgent(name="main", url=f"{url}/answer", secrets=[SECRET])


def gateway_of(tmp_path, api, url):
    limits = Limits(chat=None, group=None, total=None)
    return running(tmp_path, api=api, agent=agent_at(url), limits=limits, policy=POLICY)


@rule("CLAR-7", "CLAR-4")
async def test_the_agent_of_the_handbook_holds_a_conversation(api, tmp_path, handbook):
    async with serving(handbook) as url, gateway_of(tmp_path, api, url) as gateway:
        api.say(chat=BOB, sender=BOB, text="export it")
        first = await card(api, "Alpha or Beta?")
        answer = api.say(chat=BOB, sender=BOB, text="the first", reply_to=first["message_id"])
        second = await card(api, "Which format?")
        api.edit(chat=BOB, message_id=answer["message_id"], text="the second")
        third = await card(api, "Which format?", after=second["message_id"])
        api.say(chat=BOB, sender=BOB, text="well, I don't know")
        fourth = await card(api, "could not tell", after=third["message_id"])
        tap(api, fourth, "HTML")
        await said(api, "Here is beta as html.")
        await gateway.settled()


@rule("CLAR-2", "CLAR-7")
async def test_the_script_of_the_handbook_holds_a_conversation(api, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "clarifications.md").read_text(encoding="utf-8")
    (rules,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    script = load_script(f"version: 1\nrules:\n{rules}otherwise: [{{silence: true}}]\n", source="handbook")
    agent, limits = ScriptedAgent(name="main", script=script), Limits(chat=None, group=None, total=None)
    async with running(tmp_path, api=api, agent=agent, limits=limits, policy=POLICY) as gateway:
        api.say(chat=BOB, sender=BOB, text="the report")
        tap(api, await card(api, "Alpha or Beta?"), "Beta")
        await card(api, "Which format?")
        api.say(chat=BOB, sender=BOB, text="as a *poster*")
        await said(api, "Here is Beta as as a *poster*.")
        await gateway.settled()


def test_the_steps_of_the_handbook_of_agents_load():
    text = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    steps = [
        one for one in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if one.startswith(("- command", "- propose"))
    ]
    assert len(steps) == 2
    for one in steps:
        assert load_script(f"version: 1\notherwise:\n{one}", source="handbook").otherwise


@rule("CLAR-4", "CLAR-1")
@pytest.mark.parametrize(
    ("words", "state"),
    [("show me the list", InteractionState.SUPERSEDED), ("oh, forget it", InteractionState.CANCELLED)],
)
async def test_the_verdict_of_a_webhook_agent_is_what_a_message_is(api, tmp_path, handbook, words, state):
    async with serving(handbook) as url, gateway_of(tmp_path, api, url) as gateway:
        api.say(chat=BOB, sender=BOB, text="export it")
        await card(api, "Alpha or Beta?")
        (before,) = await gateway.store.interactions.actives()
        api.say(chat=BOB, sender=BOB, text=words)

        async def over():
            return (await gateway.store.interactions.get(before.id)).state is state

        await until(over)
        await gateway.settled()


@rule("CLAR-4")
@pytest.mark.parametrize("status", [500, 204, 200])
async def test_a_webhook_agent_that_gives_no_verdict_is_taken_to_say_answer(api, tmp_path, handbook, status):
    async def answer(request):
        asked = await request.json()
        if asked["kind"] == "classify":
            return (
                web.json_response({"kind": "final", "text": "?"}, status=status)
                if status != 204
                else web.Response(status=204)
            )
        return await handbook(request)

    async with serving(answer) as url, gateway_of(tmp_path, api, url) as gateway:
        api.say(chat=BOB, sender=BOB, text="export it")
        first = await card(api, "Alpha or Beta?")
        api.say(chat=BOB, sender=BOB, text="hm")
        await card(api, "could not tell", after=first["message_id"])
        await gateway.settled()


@rule("CLAR-2", "CLAR-5")
@pytest.mark.parametrize(
    "change",
    [
        {"task": "nothing"},
        {"task": "a b"},
        {"candidates": [{"candidateId": "a", "displayName": "A"}, {"candidateId": "a", "displayName": "B"}]},
        {"candidates": [{"candidateId": "a", "displayName": "A\nB"}]},
        {"question": " "},
        {"plan": {"tasks": {"a": {"depends_on": ["a"]}}}},
        {"ttl_s": 1},
        {"basePlanVersion": "1"},
        {"workspace": {"sha256": "no"}},
    ],
)
async def test_a_clarification_that_can_not_be_asked_is_a_plain_sentence_and_nobody_is_asked(
    api, tmp_path, handbook, change
):
    async def answer(_request):
        whole = {
            "kind": "clarification_required",
            "task": "scope",
            "slot": "x",
            "question": "Which?",
            "plan": {"tasks": {"scope": {"slots": {"x": None}}}},
        }
        return web.json_response({**whole, **change})

    async with serving(answer) as url, gateway_of(tmp_path, api, url) as gateway:
        api.say(chat=BOB, sender=BOB, text="export it")
        await said(api, "can't answer right now")
        await gateway.settled()
        assert await gateway.store.interactions.actives() == []
    assert len(api.texts(BOB)) == 1


@rule("CLAR-7")
async def test_a_model_asks_back_with_its_tool_twice_and_answers_then(api, tmp_path):
    seen = []

    def asking(slot, *names):
        given = {
            "slot": slot,
            "question": f"Which {slot}?",
            "candidates": [{"id": one.lower(), "name": one} for one in names],
        }
        function = {"name": "ask_back", "arguments": json.dumps(given)}
        message = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "function": function}]}
        return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}

    async def model(received):
        body = await received.json()
        document = json.loads(body["messages"][-1]["content"])
        seen.append(document)
        filled = {name: task["slots"][name] for name, task in document.get("plan", {"tasks": {}})["tasks"].items()}
        if "composition" not in filled:
            return web.json_response(asking("composition", "Alpha", "Beta"))
        if "format" not in filled:
            return web.json_response(asking("format", "Pdf", "Html"))
        words = f"Here is {filled['composition']} as {filled['format']}."
        return web.json_response({"choices": [{"message": {"content": words}, "finish_reason": "stop"}]})

    async with serving(model) as url:
        agent = OpenAIAgent(name="main", base_url=url, model="m", asks_back=True)
        limits = Limits(chat=None, group=None, total=None)
        async with running(tmp_path, api=api, agent=agent, limits=limits, policy=POLICY) as gateway:
            api.say(chat=BOB, sender=BOB, text="export it")
            tap(api, await card(api, "Which composition?"), "Beta")
            second = await card(api, "Which format?")
            api.say(chat=BOB, sender=BOB, text="the first", reply_to=second["message_id"])
            await said(api, "Here is beta as pdf.")
            await gateway.settled()
    assert [document["text"] for document in seen] == ["export it"] * 3
