"""The clarification loop on Matrix: a real homeserver, encrypted rooms, signs, replies, threads and edits (CLAR)."""

import pytest

from bot.model.interaction import InteractionState, PatchKind, Workspace
from tests.looping import PlanningAgent
from tests.servers.synapse import until

rule = pytest.mark.rule


@pytest.fixture
async def room(desk):
    return await desk.room(desk.ann, desk.bob, encrypted=True)


async def shown(desk, room, words, *, after=0):
    """The bot's message with these words, from the ``after``-th on."""

    async def look():
        await desk.bob.caught_up(room)
        found = [event for event in desk.bob.said(room, desk.bot) if words in event["content"]["body"]]
        found = [event for event in found if "m.new_content" not in event["content"]]
        return found[after] if len(found) > after else None

    return await until(look)


async def begun(desk, gateway, room):
    await desk.ready(room, desk.ann, desk.bob)
    await desk.bob.say(room, "desk, the report", mentions=[desk.bot])
    card = await shown(desk, room, "Which composition?")
    await gateway.settled()
    return card


async def active(gateway):
    (interaction,) = await gateway.store.interactions.actives()
    return interaction


@rule("CLAR-2", "CLAR-3", "CLAR-7")
async def test_a_sign_and_a_reply_answer_two_clarifications_in_an_encrypted_room(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        first = await begun(desk, gateway, room)
        assert "1." in first["content"]["body"] or "Alpha" in first["content"]["body"]
        await desk.bob.react(room, first["event_id"], "2️⃣")
        second = await shown(desk, room, "Which format?")
        await gateway.settled()
        await desk.bob.say(room, "the first", reply=second["event_id"])
        await shown(desk, room, "report on beta as pdf")
        await gateway.settled()
        assert await gateway.store.interactions.actives() == []
    assert [one.patch.value for one in agent.continuations] == ["beta", "pdf"]


@rule("CLAR-2")
async def test_a_sign_on_an_old_card_changes_nothing(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        first = await begun(desk, gateway, room)
        await desk.bob.react(room, first["event_id"], "2️⃣")
        await shown(desk, room, "Which format?")
        await gateway.settled()
        event = await desk.bob.react(room, first["event_id"], "1️⃣")
        await desk.over(gateway, event)
        interaction = await active(gateway)
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}
    assert interaction.plan_version == 2


@rule("CLAR-3")
async def test_nobody_else_answers_or_cancels_in_a_room(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        card = await begun(desk, gateway, room)
        await desk.ann.react(room, card["event_id"], "2️⃣")
        for words in ("Beta", "cancel"):
            await desk.judged(await desk.ann.say(room, words, reply=card["event_id"]))
        await gateway.settled()
        interaction = await active(gateway)
        assert (interaction.plan_version, len(agent.requests)) == (1, 1)
        await desk.bob.react(room, card["event_id"], "2️⃣")
        await shown(desk, room, "Which format?")


@rule("CLAR-4", "CLAR-5")
async def test_an_edited_reply_is_a_correction_and_the_second_question_comes_anew(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        first = await begun(desk, gateway, room)
        answer = await desk.bob.say(room, "Alpha", reply=first["event_id"])
        await shown(desk, room, "Which format?")
        await gateway.settled()
        await desk.bob.say(room, "Beta", edit=answer)
        third = await shown(desk, room, "Which format?", after=1)
        await gateway.settled()
        await desk.bob.react(room, third["event_id"], "2️⃣")
        await shown(desk, room, "report on beta as html")
        await gateway.settled()
    assert [one.patch.kind for one in agent.continuations] == [
        PatchKind.ANSWER,
        PatchKind.CORRECTION,
        PatchKind.ANSWER,
    ]


@rule("CLAR-3")
async def test_what_is_said_in_the_thread_of_a_question_answers_it(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        first = await begun(desk, gateway, room)
        await desk.bob.say(room, "zweite", thread=first["event_id"])
        await shown(desk, room, "Which format?")
        await gateway.settled()
        interaction = await active(gateway)
    assert interaction.plan.tasks["scope"].slots == {"composition": "beta"}


@rule("CLAR-1", "CLAR-4")
async def test_a_new_request_supersedes_and_a_cancel_word_ends(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        await begun(desk, gateway, room)
        before = await active(gateway)
        await desk.bob.say(room, "/status", mentions=[desk.bot])
        await shown(desk, room, "something else")
        await gateway.settled()
        assert (await gateway.store.interactions.get(before.id)).state is InteractionState.SUPERSEDED
        await desk.bob.say(room, "desk, the report", mentions=[desk.bot])
        card = await shown(desk, room, "Which composition?", after=1)
        await gateway.settled()
        now = await active(gateway)
        await desk.bob.say(room, "отмена", reply=card["event_id"])

        async def over():
            return (await gateway.store.interactions.get(now.id)).state is InteractionState.CANCELLED

        await until(over)
        await gateway.settled()


@rule("CLAR-7")
async def test_the_loop_survives_a_restart_between_question_and_answer(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        first = await begun(desk, gateway, room)
    await desk.bob.react(room, first["event_id"], "2️⃣")
    async with desk.running(agent=agent) as gateway:
        second = await shown(desk, room, "Which format?")
        await gateway.settled()
    async with desk.running(agent=agent) as gateway:
        await desk.bob.say(room, "Html", reply=second["event_id"])
        await shown(desk, room, "report on beta as html")
        await gateway.settled()
    assert len(agent.requests) == 3


@rule("CLAR-6")
async def test_a_choice_that_has_gone_is_asked_anew_and_says_why(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        first = await begun(desk, gateway, room)
        await desk.bob.react(room, first["event_id"], "2️⃣")
        second = await shown(desk, room, "Which format?")
        await gateway.settled()
        agent.workspace, agent.existing = Workspace(generation=2, sha256="2" * 64), ("alpha", "pdf", "html")
        await desk.bob.react(room, second["event_id"], "1️⃣")
        anew = await shown(desk, room, "Beta” is no longer available")
        await gateway.settled()
        await desk.bob.say(room, "Alpha", reply=anew["event_id"])
        third = await shown(desk, room, "Which format?", after=1)
        await gateway.settled()
        await desk.bob.react(room, third["event_id"], "2️⃣")
        await shown(desk, room, "report on alpha as html")
        await gateway.settled()


@rule("CLAR-8")
async def test_what_fits_nothing_in_a_reply_is_told_and_what_is_mentioned_is_asked_again(desk, room):
    agent = PlanningAgent()
    async with desk.running(agent=agent) as gateway:
        await begun(desk, gateway, room)
        await desk.bob.say(room, "desk, whichever", mentions=[desk.bot])
        again = await shown(desk, room, "could not tell")
        await gateway.settled()
        await desk.bob.say(room, "desk la segunda", mentions=[desk.bot])
        await shown(desk, room, "Which format?")
        await gateway.settled()
    assert "Alpha" in again["content"]["body"]
    assert [one.text for one in agent.doubts] == ["desk, whichever"]
