"""Grants and deliveries on the other platforms: an encrypted room on Matrix, and the built-in chat (OUT-6, OUT-9)."""

import asyncio
from datetime import timedelta

import pytest

from bot.deliveries.schedule import Order
from policy.grants import Issuer, IssuerKind
from tests.acceptance.matrix import INTERNAL
from tests.acceptance.test_web_chat import answer_to, demo
from tests.harness import CountingAgent

__all__ = ["demo"]
rule = pytest.mark.rule
WORDS = "The office is open until **six**."


@rule("OUT-6", "OUT-9")
async def test_an_operator_on_matrix_grants_inside_and_the_delivery_arrives_in_an_encrypted_room(desk):
    customers = await desk.room(desk.ann, desk.bob, encrypted=True)
    inside = await desk.room(desk.ann, policy=INTERNAL, encrypted=True)
    async with desk.running(agent=CountingAgent()) as gateway:
        await desk.ready(customers, desk.ann, desk.bob)
        await desk.ready(inside, desk.ann)
        command = f"!grant main {desk.place(customers)} 1 8h office hours"
        outside = await desk.ann.say(customers, f"{desk.bot} {command}", mentions=[desk.bot])
        assert await desk.reason(gateway, outside) != "control_command"
        assert await gateway.store.grants.all() == []
        event = await desk.ann.say(inside, f"{desk.bot} {command}", mentions=[desk.bot])
        assert await desk.reason(gateway, event) == "control_command"
        await desk.ann.hears(inside, desk.bot)
        [grant] = await gateway.store.grants.all()
        assert (str(grant.destination), grant.uses) == (desk.place(customers), 1)
        before = len(desk.bob.texts(customers, desk.bot))
        schedule = gateway.daemon.crew.schedule
        made = await schedule.post(Order(destination=desk.place(customers), text=WORDS), agent="main", key="1")
        await schedule.look_round()
        await desk.bob.hears(customers, desk.bot, before + 1)
        assert desk.bob.texts(customers, desk.bot)[-1] == WORDS.replace("*", "")
        await gateway.settled()
        await schedule.look_round()
        assert (await schedule.look(made.id)).state.value == "delivered"


@rule("OUT-6", "OUT-5")
async def test_on_matrix_a_thread_is_a_destination_of_its_own(desk):
    room = await desk.room(desk.ann, desk.bob)
    async with desk.running(agent=CountingAgent()) as gateway:
        await desk.ready(room, desk.ann, desk.bob)
        root = await desk.bob.say(room, "hello all")
        await desk.over(gateway, root)
        crew = gateway.daemon.crew
        await crew.grants.issue(
            issuer=Issuer(kind=IssuerKind.OPERATOR, id="ann"),
            agent="main",
            destination=f"{desk.place(room)}:{root}",
            uses=5,
            lasts=timedelta(hours=8),
            purpose="a thread",
        )
        other = await crew.schedule.post(Order(destination=desk.place(room), text=WORDS), agent="main", key="1")
        assert (other.state.value, other.code) == ("muted", "no_grant")
        await crew.schedule.post(Order(destination=f"{desk.place(room)}:{root}", text=WORDS), agent="main", key="2")
        await crew.schedule.look_round()
        await desk.bob.hears(room, desk.bot)
        [said] = desk.bob.said(room, desk.bot)
        assert said["content"]["m.relates_to"]["event_id"] == root


@rule("OUT-6", "OUT-9")
async def test_in_the_built_in_chat_an_operator_grants_inside_and_nobody_else_does(demo):
    command = "/grant@desk main web:demo:customer 2 8h office hours"
    asked = await demo.say("operators", command, who="olga")
    said = await answer_to(demo, asked)
    assert said["text"].startswith("Granted")
    refused = await demo.say("customer", command, who="carla")
    async with asyncio.timeout(20), demo.stream() as stream:
        shown = await stream.until("message", id=refused["id"])
        while "decision" not in shown:
            shown = await stream.until("message", id=refused["id"])
    assert (shown["decision"]["outcome"], shown["decision"]["reason"]) == ("mute", "unrecognised_command")
