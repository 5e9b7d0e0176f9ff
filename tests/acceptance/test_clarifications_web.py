"""The clarification loop in the built-in chat, as the demo holds it (CLAR)."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.channels.web import demo as page_of_demo
from bot.channels.web.channel import WebChat
from bot.channels.web.memory import MemoryEntrances, MemoryTimeline
from bot.model.interaction import VerdictKind, Workspace
from bot.runtime.rulings import Rulings
from bot.storage.store import Store
from bot.wiring.channels import chat_words
from bot.wiring.clock import utc_now
from bot.wiring.gateway import assemble, in_force
from bot.wiring.questions import answers_in
from tests.acceptance.test_web_chat import Running, demo
from tests.browser.visitor import visit
from tests.looping import PlanningAgent

__all__ = ["demo"]

rule = pytest.mark.rule


async def shown(page, room, words, *, but=()):
    """A message of the bot with these words and buttons to tap."""
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            one = await stream.until("message", room=room)
            fits = one["author"]["bot"] and words in one["text"] and one["id"] not in but
            if fits and one.get("card", {}).get("buttons"):
                return one


async def said(page, room, words):
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            one = await stream.until("message", room=room)
            if one["author"]["bot"] and words in one["text"].replace("*", ""):
                return one


async def decided(page, message, true):
    """What operators see beside a message, once it is as wanted."""
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            one = await stream.until("message", id=message["id"])
            if one.get("decision") and true(one["decision"]):
                return one["decision"]


async def tap(page, card, label, *, who="carla"):
    token = next(button["token"] for button in card["card"]["buttons"] if button["label"] == label)
    return await page.post(f"/api/rooms/{card['room']}/messages/{card['id']}/tap", {"token": token, "as": who})


@rule("CLAR-2", "CLAR-3", "CLAR-7")
@pytest.mark.parametrize(("room", "who"), [("customer", "carla"), ("operators", "olga"), ("private", "carla")])
async def test_the_demo_holds_a_conversation_of_two_clarifications(demo, room, who):
    asked = await demo.say(room, "@desk a tasting menu, please", who=who)
    first = await shown(demo, room, "Which composition")
    assert [button["label"] for button in first["card"]["buttons"]] == ["Alpha", "Beta"]
    assert (await tap(demo, first, "Beta", who=who))[0] == 200
    second = await shown(demo, room, "what goes with it")
    await demo.say(room, "the last one", who=who, reply=second["id"])
    await said(demo, room, "tasting menu Beta with A glass of each is noted")
    made = await decided(demo, asked, lambda one: one["result"] == "answered")
    assert made["outcome"] == "respond"


@rule("CLAR-5")
async def test_an_operator_sees_the_version_of_the_plan_beside_each_step(demo):
    asked = await demo.say("customer", "@desk a tasting menu, please", who="carla")
    first = await shown(demo, "customer", "Which composition")
    made = await decided(demo, asked, lambda one: one["notes"])
    assert (made["result"], made["notes"]) == ("clarification", ["plan_version:1"])
    await tap(demo, first, "Alpha")
    step = await decided(demo, first, lambda one: one["notes"])
    assert step["notes"] == ["plan_version:2", "clarification:answer"]
    second = await shown(demo, "customer", "what goes with it")
    answer = await demo.say("customer", "Juice", who="carla", reply=second["id"])
    await said(demo, "customer", "tasting menu Alpha with Juice is noted")
    made = await decided(demo, asked, lambda one: one["result"] == "answered")
    assert made["notes"] == ["plan_version:3"]
    step = next(one for one in (await demo.state())["messages"]["customer"] if one["id"] == answer["id"])["decision"]
    assert (step["result"], step["notes"]) == ("control", ["plan_version:3", "clarification:answer"])


@rule("CLAR-4")
async def test_a_change_of_mind_after_the_first_answer_is_a_correction(demo):
    await demo.say("private", "a tasting menu, please", who="carla")
    await shown(demo, "private", "Which composition")
    answer = await demo.say("private", "Alpha", who="carla")
    second = await shown(demo, "private", "what goes with it")
    path = f"/api/rooms/private/messages/{answer['id']}/edit"
    status, told = await demo.post(path, {"text": "Beta", "mentions": [], "as": "carla"})
    assert status == 200, told
    third = await shown(demo, "private", "what goes with it", but={second["id"]})
    await tap(demo, third, "Wine")
    await said(demo, "private", "tasting menu Beta with Wine is noted")


@rule("CLAR-4", "CLAR-1")
async def test_free_text_in_a_private_chat_is_classed_by_the_agent(demo):
    await demo.say("private", "a tasting menu, please", who="carla")
    first = await shown(demo, "private", "Which composition")
    await demo.say("private", "something nice", who="carla")
    again = await shown(demo, "private", "could not tell", but={first["id"]})
    await tap(demo, again, "Beta")
    await shown(demo, "private", "what goes with it")
    await demo.say("private", "no wait, alpha", who="carla")
    await said(demo, "private", "could not tell what you mean by this change")
    await demo.say("private", "what are your opening hours?", who="carla")
    await said(demo, "private", "We are open")
    await demo.say("private", "Wine", who="carla")
    await said(demo, "private", "Hello, I am the desk")


@rule("CLAR-4")
async def test_a_cancel_word_as_a_reply_ends_the_conversation(demo):
    await demo.say("customer", "@desk a tasting menu, please", who="carla")
    first = await shown(demo, "customer", "Which composition")
    await demo.say("customer", "never mind", who="carla", reply=first["id"])
    await said(demo, "customer", "stopped working on this")
    assert (await tap(demo, first, "Alpha"))[0] == 404, "the card has closed"
    texts = [one["text"] for one in (await demo.state())["messages"]["customer"] if one["author"]["bot"]]
    assert not any("goes with it" in text for text in texts)


# The whole gateway with an agent whose workspace changes, on one folder


class Chat:
    """What outlives the gateway: its folder, and what the page has kept."""

    def __init__(self, folder):
        self.folder = folder
        self.timeline = MemoryTimeline()
        self.entrances = MemoryEntrances()

    @asynccontextmanager
    async def running(self, agent):
        (self.folder / "policy.yaml").write_text(page_of_demo.policy_text(), encoding="utf-8")
        policy = in_force(self.folder / "policy.yaml", {"main"})
        store = await Store.open(self.folder / "discreet.db")
        rulings = Rulings()
        page = WebChat(
            desk=page_of_demo.DESK,
            bot_name=page_of_demo.BOT_NAME,
            rooms=page_of_demo.ROOMS,
            members=page_of_demo.MEMBERS,
            timeline=self.timeline,
            entrances=self.entrances,
            feed=rulings,
            clock=utc_now,
            port=0,
            demo=True,
            words=chat_words,
        )
        daemon = assemble(
            policy=policy,
            store=store,
            channels=[page],
            agents={"main": agent},
            default_agent="main",
            rulings=rulings,
            asking=[answers_in(page)],
        )
        await daemon.start()
        try:
            async with asyncio.timeout(30):
                await page.ready.wait()
            async with visit(Running(url=page.url)) as visitor:
                visitor.store, visitor.daemon = store, daemon
                yield visitor
        finally:
            await daemon.close(grace_s=2)
            await store.close()


@pytest.fixture
def chat(tmp_path):
    return Chat(tmp_path)


@rule("CLAR-6")
async def test_a_choice_that_has_gone_is_asked_anew_in_the_chat_and_says_why(chat):
    agent = PlanningAgent()
    async with chat.running(agent) as page:
        await page.say("private", "report", who="carla")
        await tap(page, await shown(page, "private", "Which composition?"), "Beta")
        second = await shown(page, "private", "Which format?")
        agent.workspace, agent.existing = Workspace(generation=2, sha256="2" * 64), ("alpha", "pdf", "html")
        await tap(page, second, "Pdf")
        anew = await shown(page, "private", "Beta” is no longer available")
        assert [button["label"] for button in anew["card"]["buttons"]] == ["Alpha"]
        await tap(page, anew, "Alpha")
        await tap(page, await shown(page, "private", "Which format?", but={second["id"]}), "Html")
        await said(page, "private", "report on alpha as html")


@rule("CLAR-7")
async def test_the_loop_in_the_chat_survives_a_restart_between_question_and_answer(chat):
    agent = PlanningAgent()
    async with chat.running(agent) as page:
        await page.say("private", "report", who="carla")
        first = await shown(page, "private", "Which composition?")
    async with chat.running(agent) as page:
        await tap(page, first, "Beta")
        second = await shown(page, "private", "Which format?")
        await page.daemon.settled()
    async with chat.running(agent) as page:
        await page.say("private", "the first", who="carla", reply=second["id"])
        await said(page, "private", "report on beta as pdf")
    assert len(agent.requests) == 3


@rule("CLAR-1", "CLAR-2")
async def test_a_new_request_in_the_chat_supersedes_and_the_old_card_takes_nothing(chat):
    agent = PlanningAgent(verdict=VerdictKind.NEW_REQUEST)
    async with chat.running(agent) as page:
        await page.say("private", "report", who="carla")
        first = await shown(page, "private", "Which composition?")
        await page.say("private", "a better report", who="carla")
        await shown(page, "private", "Which composition?", but={first["id"]})
        await page.daemon.settled()
        assert (await tap(page, first, "Alpha"))[0] == 404
        path = f"/api/rooms/private/messages/{first['id']}/answer"
        _, told = await page.post(path, {"fields": {"f0": ["0"]}, "as": "carla"})
        assert told["outcome"] == "cancelled"
        (now,) = await page.store.interactions.actives()
        assert now.plan_version == 1
    assert len(agent.requests) == 2


@rule("CLAR-2")
async def test_a_choice_outside_the_list_is_refused_whatever_the_page_sends(chat):
    agent = PlanningAgent()
    async with chat.running(agent) as page:
        await page.say("private", "report", who="carla")
        first = await shown(page, "private", "Which composition?")
        await page.daemon.settled()
        path = f"/api/rooms/private/messages/{first['id']}/answer"
        _, told = await page.post(path, {"fields": {"f0": ["2"]}, "as": "carla"})
        assert told["outcome"] == "refused"
        _, told = await page.post(path, {"fields": {"f0": ["1"]}, "as": "carla"})
        assert told["outcome"] == "taken"
        await shown(page, "private", "Which format?")
        await page.daemon.settled()
        (now,) = await page.store.interactions.actives()
    assert now.plan.tasks["scope"].slots == {"composition": "beta"}
