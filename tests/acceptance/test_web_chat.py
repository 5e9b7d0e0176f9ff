"""Rules of the contract at the built-in chat: posted over HTTP, and seen over HTTP."""

import asyncio

import pytest

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
