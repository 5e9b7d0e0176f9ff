"""Rooms and who is in them: direct chats, invites, kicks, upgrades, on a real homeserver."""

import asyncio

import pytest

from bot.model.output import Final
from tests.acceptance.matrix import INTERNAL, SHOWS
from tests.harness import CountingAgent

rule = pytest.mark.rule


@rule("PART-4", "IDENT-3", "IDENT-5")
async def test_a_direct_chat_is_answered_without_a_mention_and_trusted_only_with_an_operator(desk):
    async with desk.running() as gateway:
        mallory = await desk.people("mallory")
        for person, audience in ((mallory, "external"), (desk.ann, "operator")):
            room = await person.room(desk.bot, direct=True, encrypted=True)
            await desk.ready(room, person)
            await desk.over(gateway, await person.say(room, "hello there"))
            (answer,) = await person.hears(room, desk.bot)
            assert answer["content"]["body"] == "ok"
            assert gateway.agent.requests[-1].audience.value == audience


@rule("PART-16")
async def test_two_members_make_no_direct_chat(desk):
    room = await desk.room(desk.bob)
    async with desk.running() as gateway:
        await desk.ready(room, desk.bob)
        assert await desk.reason(gateway, await desk.bob.say(room, "hello there")) == "no_address"
        await desk.assert_silent(gateway)


@rule("PART-16", "OUT-5", "IDENT-3")
async def test_a_direct_chat_that_a_third_joins_is_none_any_more_and_nothing_written_for_the_operator_reaches_them(
    desk,
):
    ann, bob = desk.ann, desk.bob
    agent = CountingAgent(gate=asyncio.Event(), answer=lambda _request: [Final(text="for the operator")])
    async with desk.running(agent=agent) as gateway:
        room = await ann.room(desk.bot, direct=True)
        await desk.ready(room, ann)
        asked = await ann.say(room, "how are the sales?")
        async with asyncio.timeout(20):
            await agent.started.wait()
        assert agent.requests[0].audience.value == "operator"
        await ann.invite(room, bob.id)
        await bob.join(room)
        after = await ann.say(room, "and now?")
        assert (await desk.judged(after)).outcome == "mute"
        agent.gate.set()
        await desk.over(gateway, asked)
        await bob.caught_up(room)
        assert "for the operator" not in bob.texts(room, desk.bot)
        assert len(agent.requests) == 1


@rule("PART-16", "DUR-3")
async def test_what_was_made_as_a_direct_chat_is_one_after_a_restart_too(desk):
    async with desk.running() as gateway:
        room = await desk.bob.room(desk.bot, direct=True)
        await desk.ready(room, desk.bob)
        await desk.over(gateway, await desk.bob.say(room, "hello"))
    async with desk.running() as gateway:
        assert await desk.reason(gateway, await desk.bob.say(room, "hello again")) == "direct_chat"


@rule("IDENT-5")
async def test_an_invite_is_accepted_from_an_operator_or_into_a_listed_room_and_else_left_alone(desk):
    mallory = await desk.people("mallory")
    listed = await desk.room(mallory, bot=False)
    strange, operators = await mallory.room(), await desk.ann.room()
    async with desk.running() as gateway:
        for person, room in ((mallory, strange), (desk.ann, operators), (mallory, listed)):
            await person.invite(room, desk.bot)
        await desk.becomes(operators, desk.ann, "join")
        await desk.becomes(listed, mallory, "join")
        await gateway.settled()
        assert await desk.membership(strange, mallory) == "invite"
        joined = [call.path for call in await desk.calls(SHOWS)]
        assert sorted(joined) == sorted(f"join/{room}" for room in (operators, listed))
        assert (
            await desk.reason(gateway, await desk.ann.say(operators, "hello", mentions=[desk.bot])) == "unknown_channel"
        )
    async with desk.running() as gateway:
        await gateway.settled()
        assert await desk.membership(strange, mallory) == "invite"


@rule("IDENT-5")
async def test_an_invite_is_declined_where_the_policy_says_so(desk):
    desk.further = "invites: {otherwise: decline}"
    mallory = await desk.people("mallory")
    async with desk.running() as gateway:
        room = await mallory.room(desk.bot)
        await desk.becomes(room, mallory, "leave")
        await gateway.settled()
        assert [call.verb for call in await desk.calls(SHOWS)] == ["leave"]
        await mallory.invite(room, desk.bot)
        await desk.becomes(room, mallory, "leave")


@rule("IDENT-5", "PART-12")
async def test_a_bot_that_was_put_out_says_nothing_there_and_goes_on_elsewhere(desk):
    ann, bob = desk.ann, desk.bob
    room, other = await desk.room(ann, bob), await desk.room(ann, bob)
    agent = CountingAgent(gate=asyncio.Event())
    async with desk.running(agent=agent) as gateway:
        await desk.ready(room, bob)
        await desk.ready(other, bob)
        asked = await bob.say(room, "hello", mentions=[desk.bot])
        async with asyncio.timeout(20):
            await agent.started.wait()
        await ann.kick(room, desk.bot)
        meanwhile = await bob.say(room, "hello?", mentions=[desk.bot])
        agent.gate.set()
        await desk.over(gateway, asked)
        await desk.over(gateway, await bob.say(other, "hello there", mentions=[desk.bot]))
        await bob.hears(other, desk.bot)
        assert (bob.texts(room, desk.bot), bob.texts(other, desk.bot)) == ([], ["ok"])
        await ann.invite(room, desk.bot)
        await desk.becomes(room, ann, "join")
        await desk.ready(room, bob)
        await desk.over(gateway, await bob.say(room, "welcome back", mentions=[desk.bot]))
        await bob.hears(room, desk.bot)
        assert [request.text for request in agent.requests] == ["hello", "hello there", "welcome back"]
        seen = desk.entry(meanwhile)
        assert seen is None or seen.reason == "before_first_start"


@rule("IDENT-4")
async def test_a_room_that_is_upgraded_is_unknown_until_the_new_one_is_listed(desk):
    old = await desk.room(desk.ann, desk.bob, policy=INTERNAL, version="11")
    async with desk.running() as gateway:
        await desk.ready(old, desk.bob)
        new = await desk.ann.upgrade(old)
        await desk.ann.invite(new, desk.bob.id)
        await desk.ann.invite(new, desk.bot)
        await desk.bob.join(new)
        await desk.becomes(new, desk.ann, "join")
        await desk.ready(new, desk.bob)
        event = await desk.bob.say(new, "still here?", mentions=[desk.bot])
        assert await desk.reason(gateway, event) == "unknown_channel"
        assert gateway.agent.requests == []
        desk.rooms[new] = INTERNAL
        desk.reload(gateway)
        await desk.over(gateway, await desk.bob.say(new, "and now?", mentions=[desk.bot]))
        await desk.bob.hears(new, desk.bot)
        assert [request.audience.value for request in gateway.agent.requests] == ["internal"]


@rule("PART-6", "PART-7")
async def test_open_questions_and_operators_are_answered_only_in_a_trusted_room_that_says_so(desk):
    open_room = await desk.room(desk.ann, desk.bob, policy="{audience: internal, require_mention: false}")
    for_operators = await desk.room(desk.ann, desk.bob, policy="{audience: internal, answer_operators: true}")
    outside = await desk.room(desk.ann, desk.bob)
    async with desk.running() as gateway:
        for room in (open_room, for_operators, outside):
            await desk.ready(room, desk.ann, desk.bob)
        for person, room, reason in (
            (desk.bob, open_room, "open_question"),
            (desk.bob, for_operators, "no_address"),
            (desk.ann, for_operators, "operator_message"),
            (desk.ann, outside, "no_address"),
        ):
            assert await desk.reason(gateway, await person.say(room, "how is the build?")) == reason


async def test_keys_go_to_those_who_are_in_an_encrypted_room_now_on_all_their_devices(desk):
    ann, bob = desk.ann, desk.bob
    carl, dora = await desk.people("carl"), await desk.people("dora")
    room = await desk.room(ann, bob, carl, encrypted=True)
    async with desk.running() as gateway:
        await desk.ready(room, ann, bob, carl)

        async def key_of_next_answer():
            seen = len(bob.said(room, desk.bot))
            await desk.over(gateway, await bob.say(room, "hello", mentions=[desk.bot]))
            event = (await bob.hears(room, desk.bot, seen + 1))[-1]["event_id"]
            return (await desk.synapse.act(bob.id, "GET", f"rooms/{room}/event/{event}"))["content"]["session_id"]

        first = await key_of_next_answer()
        await carl.hears(room, desk.bot)
        phone = await desk.people("bob", account=(bob.id, bob.password))
        await phone.until(lambda: room in phone.client.rooms)
        await ann.kick(room, carl.id)
        for person in (ann, bob):
            await person.member(room, carl.id, present=False)
        second = await key_of_next_answer()
        assert second != first, "who has gone reads nothing more"
        await ann.invite(room, dora.id)
        await dora.join(room)
        await bob.member(room, dora.id)
        await dora.member(room, desk.bot)
        await key_of_next_answer()
        await dora.hears(room, desk.bot)
        await phone.hears(room, desk.bot, 2)
        assert dora.texts(room, desk.bot) == ["ok"]
