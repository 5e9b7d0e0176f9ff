"""Decisions and long options on Telegram, and the page's second post after a restart, on a running gateway (FORM)."""

import re

import pytest

from bot.model.question import QuestionState, Way
from bot.ports.questions import Lost, Taken
from bot.questions.links import Links
from tests.acceptance.test_questions import AskingAgent, asking, keyboard, request, until
from tests.harness import BOB, GROUP, MALLORY

rule = pytest.mark.rule
PAGES = Links(bytes(32), "https://forms.example.org")
NOTHING = {"type": "object"}
FIXED = {"type": "object", "properties": {"terms": {"const": "2026-01", "title": "Terms"}}}
LONG = (
    "Keep the current provider and renegotiate the contract before the end of March",
    "Keep the current provider and do nothing until the end of March",
)
PLAN = {"type": "object", "properties": {"plan": {"enum": list(LONG)}}, "required": ["plan"]}
DECISION = {
    "type": "object",
    "properties": {"answer": {"enum": ["yes", "no", "always", "never"]}},
    "required": ["answer"],
}


async def asked(api, gateway, number=1):
    request(api)
    card = (await api.wait_sent(GROUP, number))[-1]
    await gateway.settled()
    return card


async def reply(api, gateway, card, text, *, sender=BOB):
    """A reply; returns what was said then."""
    before = len(api.texts(GROUP))
    api.say(chat=GROUP, sender=sender, text=text, reply_to=card["message_id"])
    await gateway.settled()
    return api.texts(GROUP)[before:]


@rule("FORM-14", "FORM-12")
@pytest.mark.parametrize("text", ["deny", "Nein, danke", "нет"])
@pytest.mark.parametrize("schema", [NOTHING, FIXED])
async def test_a_no_declines_a_question_without_fields_as_its_button_does(api, tmp_path, text, schema):
    agent = AskingAgent(text="Delete it all?", schema=schema)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        said = await reply(api, gateway, card, text)
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert said[0] == "Thank you, noted."
        assert keyboard(api, card) == []
    (ended,) = agent.conclusions
    assert (ended.state, ended.answer) == (QuestionState.CANCELLED, None)


@rule("FORM-9", "FORM-14")
async def test_a_no_of_somebody_else_declines_nothing_and_what_is_neither_is_asked_back(api, tmp_path):
    agent = AskingAgent(text="Delete it all?", schema=FIXED)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        assert await reply(api, gateway, card, "no", sender=MALLORY) == []
        (told,) = await reply(api, gateway, card, "maybe later")
        assert "yes or no" in told
        assert "Terms" not in told
        assert agent.conclusions == []
        said = await reply(api, gateway, card, "yes")
        await until(lambda: agent.conclusions)
        await gateway.settled()
        assert any("2026-01" in text for text in said)
        closed = next(one for one in api.sent(GROUP) if one["message_id"] == card["message_id"])["text"]
        assert "Terms: 2026-01" in closed
    assert (agent.conclusions[0].answer, agent.conclusions[0].way) == ({"terms": "2026-01"}, Way.REPLY)


@rule("FORM-8", "FORM-14")
@pytest.mark.parametrize(("text", "value"), [("да", "yes"), ("нет", "no"), ("never", "never")])
async def test_an_option_that_is_a_yes_or_a_no_takes_one_in_any_language(api, tmp_path, text, value):
    agent = AskingAgent(schema=DECISION)
    async with asking(tmp_path, api, agent) as gateway:
        await reply(api, gateway, await asked(api, gateway), text)
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"answer": value}


@rule("FORM-5")
async def test_long_options_stand_in_full_and_numbered_over_their_buttons(api, tmp_path):
    agent = AskingAgent(schema=PLAN)
    async with asking(tmp_path, api, agent) as gateway:
        card = await asked(api, gateway)
        labels = [button["text"] for row in keyboard(api, card) for button in row]
        for number, title in enumerate(LONG, 1):
            assert re.search(rf"^{number}\. {title}$", card["text"], re.MULTILINE)
            assert labels[number - 1].startswith(f"{number}. ")
        await reply(api, gateway, card, "2")
        await until(lambda: agent.conclusions)
    assert agent.conclusions[0].answer == {"plan": LONG[1]}


@rule("FORM-5")
async def test_short_options_are_told_by_their_buttons_alone(api, tmp_path):
    async with asking(tmp_path, api, AskingAgent()) as gateway:
        assert (await asked(api, gateway))["text"] == "Which channel?"


@rule("FORM-7")
async def test_the_page_can_read_what_was_answered_and_the_same_again_is_taken_after_a_restart(api, tmp_path):
    agent = AskingAgent()
    async with asking(tmp_path, api, agent, links=PAGES) as gateway:
        card = await asked(api, gateway)
        token = next(b["url"] for row in keyboard(api, card) for b in row if "url" in b).rsplit("/", 1)[1]
        room = gateway.daemon.crew.questions
        assert await room.closed(token) is None
        assert await room.closed("x" * 43) is None
        await room.submit(token, {"channel": "beta"}, by=None, way=Way.FORM)
        await until(lambda: agent.conclusions)
        await gateway.settled()
    async with asking(tmp_path, api, agent, links=PAGES) as gateway:
        room = gateway.daemon.crew.questions
        question = await room.closed(token)
        assert (question.answer, [field.name for field in question.form.fields]) == ({"channel": "beta"}, ["channel"])
        assert isinstance(await room.submit(token, {"channel": "beta"}, by=None, way=Way.FORM), Taken)
        assert isinstance(await room.submit(token, {"channel": "stable"}, by=None, way=Way.FORM), Lost)
        assert await gateway.store.questions.sweep(now=question.closed_at, contents_before=question.expires_at) == 1
        assert isinstance(await room.submit(token, {}, by=None, way=Way.FORM), Lost)  # nobody knows any more
