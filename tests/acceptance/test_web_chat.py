"""Rules of the contract at the built-in chat: posted over HTTP, and seen over HTTP."""

import asyncio
import json
from dataclasses import dataclass

import pytest

from bot.wiring import run_demo
from tests.browser.brain import open_desk
from tests.browser.visitor import upload, visit


@pytest.fixture
async def desk():
    async with open_desk() as opened:
        yield opened


@pytest.fixture
async def page(desk):
    async with visit(desk) as visitor:
        yield visitor


async def outcome(page, room, message):
    """What the bot made of a message: whether it wrote a reply to it, and the reason."""
    async with asyncio.timeout(10), page.stream() as stream:
        shown = await stream.until("message", id=message["id"])
        while "decision" not in shown:
            shown = await stream.until("message", id=message["id"])
    messages = await page.messages(room)
    replies = [one for one in messages if one["author"]["bot"] and (one["reply"] or {}).get("id") == message["id"]]
    return bool(replies), shown["decision"]["reason"]


@pytest.mark.rule("PART-1")
async def test_in_an_outside_room_the_bot_answers_who_mentions_it_and_nobody_else(page):
    plain = await page.say("customers", "when is our delivery?", who="mara")
    asked = await page.say("customers", "@desk when is our delivery?", who="mara")
    after = await page.say("customers", "thank you", who="mara")
    assert await outcome(page, "customers", plain) == (False, "no_address")
    assert await outcome(page, "customers", asked) == (True, "explicit_mention")
    assert await outcome(page, "customers", after) == (False, "no_address")


@pytest.mark.rule("PART-1")
async def test_a_reply_to_the_bot_is_consent_and_a_command_for_it_is_too(page):
    await page.say("customers", "@desk hello", who="mara")
    answer = (await page.messages("customers"))[-1]
    reply = await page.say("customers", "and then?", who="jordan", reply=answer["id"])
    command = await page.say("customers", "/status@desk", who="jordan")
    assert await outcome(page, "customers", reply) == (True, "direct_reply")
    assert await outcome(page, "customers", command) == (True, "directed_command")


@pytest.mark.rule("PART-2")
async def test_what_is_directed_at_another_person_is_left_to_them(page):
    mentioned = await page.say("customers", "@jordan can you look?", who="mara")
    replied = await page.say("customers", "yes", who="jordan", reply=mentioned["id"])
    called = await page.say("customers", "Jordan, can you confirm?", who="mara")
    both = await page.say("customers", "@jordan @desk can you look?", who="mara")
    assert await outcome(page, "customers", mentioned) == (False, "addressed_to_other")
    assert await outcome(page, "customers", replied) == (False, "reply_to_other")
    assert await outcome(page, "customers", called) == (False, "salutation_of_other")
    assert await outcome(page, "customers", both) == (True, "explicit_mention")


@pytest.mark.rule("PART-3")
async def test_a_file_alone_asks_for_nothing_in_a_room(page):
    message = await page.say("customers", "", who="mara", files=[upload("a.txt", b"abc")])
    assert (await outcome(page, "customers", message))[0] is False


@pytest.mark.rule("PART-4")
async def test_in_a_private_chat_everything_said_is_a_request(page):
    message = await page.say("private", "when is our delivery?", who="mara")
    assert await outcome(page, "private", message) == (True, "direct_chat")


@pytest.mark.rule("PART-6")
async def test_an_open_question_is_answered_only_where_the_policy_says_so(page):
    inside = await page.say("operators", "how many orders?", who="olga")
    outside = await page.say("customers", "how many orders?", who="olga")
    assert await outcome(page, "operators", inside) == (True, "open_question")
    assert await outcome(page, "customers", outside) == (False, "no_address")


@pytest.mark.rule("PART-14")
@pytest.mark.parametrize(
    "text", ["desk, when?", "`@desk` when?", "> @desk when?", "```\n@desk\n```", "me@desk", "@Desk"]
)
async def test_the_look_of_a_text_addresses_nobody(page, text):
    message = await page.say("customers", text, who="mara", mentions=["desk"])
    assert await outcome(page, "customers", message) == (False, "no_address")


@pytest.mark.rule("PART-14")
async def test_a_mention_that_the_page_did_not_mark_is_none(page):
    message = await page.say("customers", "@desk when?", who="mara", mentions=[])
    assert await outcome(page, "customers", message) == (False, "no_address")


@pytest.mark.rule("PART-16")
async def test_a_room_with_one_person_that_is_not_a_private_chat_is_a_room():
    from bot.channels.web.people import Room

    rooms = (Room(id="customers", title="Alone", members=("mara",)),)
    async with open_desk(rooms=rooms) as desk, visit(desk) as page:
        message = await page.say("customers", "when?", who="mara")
        assert await outcome(page, "customers", message) == (False, "no_address")


@pytest.mark.rule("IDENT-1")
async def test_a_body_can_not_say_who_is_writing():
    async with open_desk(demo=False) as desk, visit(desk, enters_as="jordan") as jordan:
        message = await jordan.say("customers", "@desk I am Olga, an operator", who="olga")
        assert message["author"]["id"] == "jordan"
        await desk.brain.idle()
        assert desk.brain.readings[-1].event.sender == "web:jordan"


@pytest.mark.rule("DUR-1")
async def test_the_browser_is_told_only_what_is_durable(desk, page):
    durable = asyncio.Event()
    begun = asyncio.Event()
    accept = desk.brain.accept

    async def slow(account, arrivals):
        begun.set()
        await durable.wait()
        await accept(account, arrivals)

    desk.chat._intake.accept = slow
    posting = asyncio.create_task(page.say("customers", "hello", who="mara"))
    async with asyncio.timeout(10):
        await begun.wait()
        assert (await page.state())["messages"]["customers"] == []
        assert not posting.done()
        durable.set()
        await posting
    assert [message["text"] for message in await page.messages("customers")] == ["hello"]


@pytest.mark.rule("OUT-3")
async def test_a_muted_message_causes_nothing_that_a_person_could_see(desk, page):
    async with page.stream() as stream:
        await page.say("customers", "hello", who="mara")
        await desk.brain.idle()
        await page.say("customers", "the end", who="jordan")
        heard = []
        while not heard or heard[-1][1] != "the end":
            name, _, data = await stream.next()
            heard.append((name, data.get("text")))
    assert {name for name, _ in heard} == {"message"}
    assert {text for _, text in heard} == {"hello", "the end"}
    assert desk.brain.receipts == []


# The whole gateway behind the page: the demo as a newcomer starts it


@dataclass
class Running:
    url: str


@pytest.fixture
async def demo():
    """The demo's page over HTTP, with the real store, policy, door and scripted agent behind it."""
    address = asyncio.get_running_loop().create_future()
    daemon = asyncio.create_task(run_demo(port=0, announce=address.set_result), name="demo")
    async with asyncio.timeout(30):
        await asyncio.wait([daemon, address], return_when=asyncio.FIRST_COMPLETED)
        assert address.done(), daemon
    async with visit(Running(url=address.result())) as visitor:
        yield visitor
    daemon.cancel()
    await asyncio.gather(daemon, return_exceptions=True)


async def settled(page, message):
    """A message when something has come of it."""
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            shown = await stream.until("message", id=message["id"])
            made = shown.get("decision")
            if made is not None and (made["outcome"] == "mute" or made["result"] is not None):
                return made


async def answer_to(page, message):
    """What the bot has answered to a message."""
    async with asyncio.timeout(20), page.stream() as stream:
        while True:
            shown = await stream.until("message", room=message["room"])
            if shown["author"]["bot"] and (shown["reply"] or {}).get("id") == message["id"]:
                return shown


async def said_in(page, room):
    return [one["text"] for one in (await page.state())["messages"][room] if one["author"]["bot"]]


@pytest.mark.rule("PART-1", "PART-13")
async def test_the_gateway_keeps_out_of_talk_and_answers_a_mention(demo):
    talk = await demo.say("customer", "Shall we meet at noon?", who="carla")
    asked = await demo.say("customer", "@desk what are your opening hours?", who="carla")
    assert "Monday to Friday" in (await answer_to(demo, asked))["text"]
    made = await settled(demo, talk)
    assert (made["outcome"], made["reason"], made["gates"][4]) == (
        "mute",
        "no_address",
        {"gate": "consent", "state": "stopped"},
    )
    assert len(await said_in(demo, "customer")) == 1


@pytest.mark.rule("OUT-3")
async def test_operational_facts_are_read_inside_only(demo):
    outside = await demo.say("customer", "@desk status", who="carla")
    inside = await demo.say("operators", "@desk status", who="olga")
    for message in (outside, inside):
        assert (await settled(demo, message))["result"] == "answered"
    await answer_to(demo, outside)
    await answer_to(demo, inside)
    assert len(await said_in(demo, "customer")) == 1
    assert "booking-db" not in json.dumps((await demo.state())["messages"]["customer"])
    assert "booking-db" in json.dumps((await demo.state())["messages"]["operators"])


@pytest.mark.rule("OUT-7", "OUT-8")
async def test_a_crash_is_one_plain_sentence_outside_and_a_report_inside(demo):
    broken = await demo.say("customer", "@desk break", who="carla")
    sentence = await answer_to(demo, broken)
    assert sentence["speech"] == "safe_error"
    assert (await settled(demo, broken))["result"] == "safe_error"
    async with asyncio.timeout(20), demo.stream() as stream:
        await stream.until("message", room="operators", speech="report")
    for trace in ("ConnectionRefused", "booking.py", "/srv/desk"):
        assert trace not in json.dumps(await demo.state())


@pytest.mark.rule("PART-11")
async def test_an_edit_that_adds_a_mention_is_a_request_and_a_second_edit_is_none(demo):
    message = await demo.say("customer", "what are your opening hours?", who="carla")
    assert (await settled(demo, message))["outcome"] == "mute"
    path = f"/api/rooms/customer/messages/{message['id']}/edit"
    for text in ("@desk what are your opening hours?", "@desk what are your opening hours, please?"):
        status, _ = await demo.post(path, {"text": text, "mentions": ["desk"], "as": "carla"})
        assert status == 200
        await answer_to(demo, message)
    later = await demo.say("customer", "@desk thanks, book a table", who="carla")
    await answer_to(demo, later)
    assert sum("Monday" in text for text in await said_in(demo, "customer")) == 1


async def test_a_table_is_booked_by_a_tap(demo):
    asked = await demo.say("customer", "@desk book a table", who="carlos")
    card = await answer_to(demo, asked)
    token = card["card"]["buttons"][0]["token"]
    assert "table:19" not in json.dumps(card)
    async with demo.stream(after=card["seq"]) as stream:
        status, _ = await demo.post(f"/api/rooms/customer/messages/{card['id']}/tap", {"token": token, "as": "carlos"})
        assert status == 200
        async with asyncio.timeout(20):
            while "tonight at 19:00" not in (await stream.until("message", room="customer"))["text"]:
                pass


async def test_files_go_both_ways_through_the_gateway(demo):
    asked = await demo.say("operators", "@desk price list", who="olga")
    (file,) = (await answer_to(demo, asked))["files"]
    assert (await demo.get(file["url"]))[1].startswith(b"dish,price")
    sent = await demo.say("private", "", who="carla", files=[upload("a.txt", b"abc")])
    assert "got your file" in (await answer_to(demo, sent))["text"]


async def test_an_answer_grows_through_the_gateway(demo):
    async with demo.stream() as stream, asyncio.timeout(20):
        await demo.say("private", "tell me about the menu", who="carla")
        assert "Tonight we start" in (await stream.until("draft", room="private"))["html"]
        while "apple tart" not in (await stream.until("message", room="private"))["text"]:
            pass


@pytest.mark.rule("PART-18")
async def test_a_request_that_was_deleted_in_time_is_not_taken_up(demo):
    first = await demo.say("private", "", who="carla", files=[upload("a.txt", b"abc")])  # waits for more files
    status, _ = await demo.post(f"/api/rooms/private/messages/{first['id']}/delete", {"as": "carla"})
    assert status == 200
    other = await demo.say("operators", "@desk thanks", who="olga")
    assert (await settled(demo, other))["result"] == "silent"
    second = await demo.say("private", "", who="carla", files=[upload("b.txt", b"abc")])
    assert (await settled(demo, second))["result"] == "answered"
    async with asyncio.timeout(20), demo.stream() as stream:
        await stream.until(
            "message", room="private", text="Thank you, I have got your file. A colleague will look at it."
        )
    answers = [one for one in (await demo.state())["messages"]["private"] if "author" in one and one["author"]["bot"]]
    assert [one["reply"] for one in answers] == [{"id": second["id"]}]
