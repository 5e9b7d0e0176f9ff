"""What the demo asks people, in each of its rooms, with the whole gateway behind it (FORM)."""

import asyncio

import pytest

from tests.acceptance.test_web_chat import answer_to, demo

__all__ = ["demo"]

rule = pytest.mark.rule
PARTLY = "Channel: beta\nVersion: 1.2\nWindow: 2026-12-01 - 2026-12-05\nConfirmed: yes"


async def said(page, room, words):
    """A message of the bot in a room that holds these words."""
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            shown = await stream.until("message", room=room)
            if shown["author"]["bot"] and words in shown["text"]:
                return shown


@rule("FORM-3", "FORM-8")
@pytest.mark.parametrize(("room", "who"), [("customer", "carla"), ("operators", "olga"), ("private", "carla")])
async def test_the_demo_asks_for_a_release_in_each_room_and_takes_the_answer(demo, room, who):
    asked = await demo.say(room, "@desk prepare the release", who=who)
    question = await answer_to(demo, asked)
    assert "Which release" in question["text"]
    wrong = await demo.say(room, PARTLY, who=who, reply=question["id"])
    assert "Version" in (await answer_to(demo, wrong))["text"]
    await demo.say(room, "Version: 2026.12", who=who, reply=question["id"])
    noted = await said(demo, room, "release is noted")
    assert "2026.12 for beta" in noted["text"].replace("*", "").replace("\\", "")
    assert "Confirmed: Yes" in noted["text"]


@rule("FORM-3")
async def test_the_one_choice_of_the_demo_is_answered_by_a_tap(demo):
    asked = await demo.say("private", "is there a dessert?", who="carla")
    question = await answer_to(demo, asked)
    token = next(button["token"] for button in question["card"]["buttons"] if button["label"] == "Cheese")
    path = f"/api/rooms/private/messages/{question['id']}/tap"
    assert (await demo.post(path, {"token": token, "as": "carla"}))[0] == 200
    assert "Cheese" in (await said(demo, "private", "is kept for you"))["text"]


@rule("FORM-12")
async def test_the_important_question_of_the_demo_wants_its_answer_twice(demo):
    asked = await demo.say("customer", "@desk close tonight", who="carla")
    question = await answer_to(demo, asked)
    first = await demo.say("customer", "yes", who="carla", reply=question["id"])
    assert "confirm" in (await answer_to(demo, first))["text"].lower()
    await demo.say("customer", "yes", who="carla", reply=question["id"])
    assert "Yes" in (await said(demo, "customer", "It is noted"))["text"]
