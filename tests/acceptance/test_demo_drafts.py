"""Drafts in the demo, with the whole gateway behind the built-in chat (AUTO-2, AUTO-5, AUTO-6, OUT-8)."""

import asyncio
import hashlib
import json

import pytest

from tests.acceptance.test_web_chat import answer_to, demo, said_in, settled

__all__ = ["demo"]

rule = pytest.mark.rule
PRICE = "what does a wedding for 40 cost?"


async def card(page, words):
    """The card in the operators' room that shows these words and can be approved."""
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            shown = await stream.until("message", room="operators")
            if shown.get("card") and words in json.dumps(shown["card"]) and button(shown, "Approve"):
                return shown


def button(shown, label):
    """The token of a button of a card; None: it has none of that name."""
    found = [one.get("token") for one in shown["card"].get("buttons", ()) if one["label"] == label]
    return found[0] if found else None


def text_of(shown):
    """The exact text of a draft, as its card shows it: without the bars before its lines."""
    ((name, lines),) = [block for block in shown["card"]["blocks"] if "SHA-256" in block[0]]
    text = "\n".join(line.removeprefix("│").removeprefix(" ") for line in lines.split("\n"))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] in name
    return text


async def tap(page, shown, token, *, who="olga"):
    path = f"/api/rooms/operators/messages/{shown['id']}/tap"
    return await page.post(path, {"token": token, "as": who})


async def said_to_customers(page, words):
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            shown = await stream.until("message", room="customer")
            if shown["author"]["bot"] and words in shown["text"]:
                return shown


@rule("AUTO-2", "AUTO-6", "OUT-8")
async def test_a_customer_asks_for_a_price_and_gets_exactly_what_an_operator_has_approved(demo):
    asked = await demo.say("customer", f"@desk {PRICE}", who="carla")
    assert (await settled(demo, asked))["result"] == "drafted"
    shown = await card(demo, "1,400 EUR")
    assert await said_in(demo, "customer") == []
    assert (await tap(demo, shown, button(shown, "Approve")))[0] == 200
    sent = await said_to_customers(demo, "1,400 EUR")
    assert sent["text"] == text_of(shown)
    assert sent["reply"]["id"] == asked["id"]
    assert await said_in(demo, "customer") == [sent["text"]]


@rule("AUTO-6")
async def test_asking_again_changes_the_draft_and_makes_the_old_button_void(demo):
    await demo.say("customer", f"@desk {PRICE}", who="carla")
    old = await card(demo, "1,400 EUR")
    asked = await demo.say("customer", "@desk and a wedding for 60?", who="carla")
    assert (await settled(demo, asked))["result"] == "drafted"
    new = await card(demo, "2,100 EUR")
    await tap(demo, old, button(old, "Approve"))
    assert (await tap(demo, new, button(new, "Approve")))[0] == 200
    await said_to_customers(demo, "2,100 EUR")
    assert "1,400" not in json.dumps((await demo.state())["messages"]["customer"])


@rule("AUTO-6")
async def test_a_denied_draft_stays_where_it_is(demo):
    await demo.say("customer", f"@desk {PRICE}", who="carla")
    shown = await card(demo, "1,400 EUR")
    await tap(demo, shown, button(shown, "Deny"))
    async with asyncio.timeout(20), demo.stream() as stream:
        while "denied" not in json.dumps((await stream.until("message", room="operators", id=shown["id"]))["card"]):
            pass
    hours = await demo.say("customer", "@desk what are your opening hours?", who="carla")
    assert "Monday" in (await answer_to(demo, hours))["text"]
    assert len(await said_in(demo, "customer")) == 1


@rule("AUTO-5")
async def test_the_secret_of_another_customer_is_stopped_and_told_inside_without_it(demo):
    asked = await demo.say("customer", "@desk who celebrates with you?", who="carla")
    assert (await settled(demo, asked))["result"] == "withheld"
    assert (await answer_to(demo, asked))["speech"] == "safe_error"
    async with asyncio.timeout(20), demo.stream() as stream:
        await stream.until("message", room="operators", speech="report")
    assert "Sea Terrace" not in json.dumps((await demo.state())["messages"])
    assert len(await said_in(demo, "customer")) == 1


@rule("AUTO-2", "AUTO-6")
async def test_the_price_list_is_a_draft_outside_and_is_sent_inside(demo):
    inside = await demo.say("operators", "@desk price list", who="olga")
    assert (await settled(demo, inside))["result"] == "answered"
    outside = await demo.say("customer", "@desk price list", who="carlos")
    assert (await settled(demo, outside))["result"] == "drafted"
    shown = await card(demo, "price-list.csv")
    assert (await tap(demo, shown, button(shown, "Approve")))[0] == 200
    sent = await said_to_customers(demo, "price list")
    assert (await demo.get(sent["files"][0]["url"]))[1].startswith(b"dish,price")
