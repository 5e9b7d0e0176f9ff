"""Commands in the demo: done, refused and unreadable, each with the rights and in the language of whoever asks (CMD)."""

import pytest

from tests.acceptance.test_clarifications_web import said, shown, tap
from tests.acceptance.test_web_chat import demo

__all__ = ["demo"]

rule = pytest.mark.rule


async def called_off(page, who, label, *, room="customer", but=()):
    await page.say(room, "@desk call off a booking", who=who)
    asked = await shown(page, room, "Which booking", but=but)
    assert (await tap(page, asked, label, who=who))[0] == 200
    return asked["id"]


@rule("CMD-1", "CMD-3", "CMD-4")
async def test_a_booking_is_called_off_by_its_own_guest_in_time_and_by_nobody_else(demo):
    first = await called_off(demo, "carla", "Friday at 20:00")
    await said(demo, "customer", "Friday at 20:00 is called off")
    told = await said(demo, "operators", "What it is about: Friday at 20:00")
    assert "Who asks: Carla" in told["text"].replace("*", "")
    second = await called_off(demo, "carla", "Tonight at 19:00", but={first})
    await said(demo, "customer", "“Call the booking off” can't be done for Tonight at 19:00. It is too late for today.")
    third = await called_off(demo, "carla", "Sunday at 12:00", but={first, second})
    await said(demo, "customer", "There is no such object.")
    await called_off(demo, "carlos", "Sunday at 12:00", but={first, second, third})
    await said(demo, "customer", "Sunday at 12:00 is called off")
    texts = [one["text"] for one in (await demo.state())["messages"]["operators"] if "What it is about" in one["text"]]
    assert len(texts) == 2


@rule("CMD-1")
async def test_a_person_is_called_and_customers_read_nothing_of_how(demo):
    await demo.say("customer", "@desk I want to speak to a person", who="carlos")
    await said(demo, "customer", "One of them will write to you here.")
    told = await said(demo, "operators", "Please answer yourselves.")
    assert "I want to speak to a person" in told["text"]
