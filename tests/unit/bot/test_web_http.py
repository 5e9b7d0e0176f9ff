import asyncio
import json

import pytest

from bot.model.clearance import SEAL, Clearance
from bot.model.errors import ChannelError, ClearanceError, StoreError
from bot.model.output import Final, OutFile
from bot.model.part import Delivered, Rejected, TryLater
from bot.ports.channel import Reply
from policy.boundary import Speech
from policy.decision import Audience
from policy.destination import Destination
from policy.ruleset import Streaming
from tests.browser.brain import CARD, open_desk
from tests.browser.visitor import upload, visit

CUSTOMERS = Reply(destination=Destination(platform="web", workspace="demo", channel="customers"))
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
async def desk():
    async with open_desk() as opened:
        yield opened


@pytest.fixture
async def page(desk):
    async with visit(desk) as visitor:
        yield visitor


def clear(part):
    return Clearance(SEAL, part, Audience.EXTERNAL)


async def deliver(desk, answer, to=CUSTOMERS):
    (part,) = desk.chat.present(Speech.FINAL, answer, to=to)
    return await desk.chat.deliver(part, clear(part))


async def test_a_message_is_an_event_and_stands_in_the_room(desk, page):
    message = await page.say("customers", "hello", who="mara")
    (arrival,) = desk.brain.arrivals
    assert arrival.key == message["id"]
    assert arrival.lane == desk.chat.lane(CUSTOMERS.destination) == "web:demo:customers"
    assert [shown["text"] for shown in await page.messages("customers")] == ["hello"]


async def test_a_post_that_is_repeated_is_the_same_post(desk, page):
    body = {"nonce": "n" * 16, "text": "once", "as": "mara"}
    answers = [await page.post("/api/rooms/customers/messages", body) for _ in range(3)]
    assert len({answer["message"]["id"] for _, answer in answers}) == 1
    assert len(desk.brain.arrivals) == 1
    assert len(await page.messages("customers")) == 1


async def test_the_same_nonce_of_another_person_is_another_post(desk, page):
    for who in ("mara", "jordan"):
        await page.say("customers", "x", who=who, nonce="n" * 16)
    assert len(await page.messages("customers")) == 2


async def test_an_answer_never_stands_above_its_question(desk, page):
    for _ in range(10):
        await page.say("private", "echo x", who="mara")
    authors = [message["author"]["id"] for message in await page.messages("private")]
    for number, author in enumerate(authors):
        assert authors[: number + 1].count("desk") <= authors[: number + 1].count("mara"), author


async def test_an_edit_is_judged_as_it_stands_now(desk, page):
    message = await page.say("customers", "hello", who="mara")
    await desk.brain.idle()
    status, answer = await page.post(
        f"/api/rooms/customers/messages/{message['id']}/edit",
        {"text": "@desk hello", "mentions": ["desk"], "as": "mara"},
    )
    assert (status, answer["message"]["edited"], answer["message"]["text"]) == (200, True, "@desk hello")
    await desk.brain.idle()
    event = desk.brain.readings[-1].event
    assert (event.kind.value, event.message, event.mentions_self) == ("edit", message["id"], True)


@pytest.mark.parametrize("act", ["edit", "delete"])
async def test_nobody_changes_a_message_of_another(desk, page, act):
    message = await page.say("customers", "hello", who="mara")
    body = {"as": "jordan", **({"text": "changed"} if act == "edit" else {})}
    status, answer = await page.post(f"/api/rooms/customers/messages/{message['id']}/{act}", body)
    assert (status, answer["error"]) == (403, "error.not_yours")
    assert [shown["text"] for shown in await page.messages("customers")] == ["hello"]


async def test_a_deleted_message_loses_its_words_and_files_everywhere(desk, page):
    message = await page.say("customers", "secret", who="mara", files=[upload("a.txt", b"abc")])
    url = message["files"][0]["url"]
    assert (await page.get(url))[0] == 200
    status, answer = await page.post(f"/api/rooms/customers/messages/{message['id']}/delete", {"as": "mara"})
    assert (status, answer["message"]["deleted"]) == (200, True)
    assert "secret" not in json.dumps(await page.messages("customers"))
    assert (await page.get(url))[0] == 404
    assert desk.brain.readings[-1].event.kind.value == "redaction"
    assert desk.brain.readings[-1].event.message == message["id"]
    status, answer = await page.post(f"/api/rooms/customers/messages/{message['id']}/edit", {"text": "x", "as": "mara"})
    assert (status, answer["error"]) == (404, "error.gone")


async def test_a_reply_knows_its_author_from_the_timeline(desk, page):
    await deliver(desk, Final(text="I am here"))
    (said,) = await page.messages("customers")
    await page.say("customers", "and then?", who="mara", reply=said["id"])
    await desk.brain.idle()
    reading = desk.brain.readings[-1]
    assert reading.event.reply is not None
    assert reading.event.reply.author.value == "self"
    assert desk.chat.material(reading).quoted == "I am here"


async def test_a_reply_to_nothing_is_refused(page):
    status, answer = await page.post("/api/rooms/customers/messages", {"text": "x", "as": "mara", "reply": "m0000"})
    assert (status, answer["error"]) == (404, "error.gone")


async def test_a_button_can_be_pressed_and_its_value_stays_with_us(desk, page):
    await deliver(desk, Final(text="", card=CARD))
    (card,) = await page.messages("customers")
    assert "secret" not in json.dumps(card)
    token = card["card"]["buttons"][0]["token"]
    async with page.stream(after=card["seq"]) as stream:
        status, _ = await page.post(f"/api/rooms/customers/messages/{card['id']}/tap", {"token": token, "as": "mara"})
        assert status == 200
        note = await stream.until("note")
        assert (note["person"], note["text"]) == ("mara", "Noted, thank you.")
    reading = desk.brain.readings[-1]
    assert (reading.event.kind.value, reading.event.message) == ("tap", card["id"])


@pytest.mark.parametrize("token", ["x", "' or 1=1"])
async def test_a_button_that_does_not_stand_there_can_not_be_pressed(desk, page, token):
    await deliver(desk, Final(text="", card=CARD))
    (card,) = await page.messages("customers")
    status, answer = await page.post(f"/api/rooms/customers/messages/{card['id']}/tap", {"token": token, "as": "mara"})
    assert (status, answer["error"]) == (404, "error.button_gone")
    assert desk.brain.arrivals == []


async def test_files_come_in_and_go_out(desk, page):
    message = await page.say("private", "", who="mara", files=[upload("a/../b.txt", b"abc"), upload("p.png", PNG)])
    assert [file["name"] for file in message["files"]] == ["a_.._b.txt", "p.png"]
    answer = (await page.messages("private"))[-1]
    assert answer["text"] == "I have read 31 bytes."
    assert await page.get(answer["files"][0]["url"]) == (200, b"received")


async def test_only_pictures_are_shown_everything_else_is_saved(desk, page):
    files = [upload("x.html", b"<script>alert(1)</script>", "text/html"), upload("y.svg", b"<svg/>", "image/svg+xml")]
    message = await page.say("customers", "", who="mara", files=[*files, upload("p.png", PNG, "text/html")])
    seen = []
    for file in message["files"]:
        async with page.http.get(desk.url + file["url"]) as answer:
            assert "sandbox" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            seen.append((answer.content_type, answer.headers["Content-Disposition"].partition(";")[0]))
    assert seen == [("application/octet-stream", "attachment")] * 2 + [("image/png", "inline")]


async def test_a_file_is_fetched_up_to_the_limit(desk, page):
    await page.say("customers", "", who="mara", files=[upload("a.txt", b"abc")])
    await desk.brain.idle()
    (attachment,) = desk.chat.material(desk.brain.readings[0]).attachments
    assert await desk.chat.fetch(attachment, limit_bytes=3) == b"abc"
    with pytest.raises(ChannelError):
        await desk.chat.fetch(attachment, limit_bytes=2)


async def test_nothing_leaves_twice_or_without_its_own_clearance(desk, page):
    part, other = (desk.chat.present(Speech.FINAL, Final(text=text), to=CUSTOMERS)[0] for text in ("a", "b"))
    clearance = clear(part)
    with pytest.raises(ClearanceError):
        await desk.chat.deliver(other, clearance)
    await desk.chat.deliver(part, clearance)
    with pytest.raises(ClearanceError):
        await desk.chat.deliver(part, clearance)
    assert [shown["text"] for shown in await page.messages("customers")] == ["a"]


async def test_a_part_that_is_delivered_again_is_shown_once(desk, page):
    (part,) = desk.chat.present(Speech.FINAL, Final(text="a"), to=CUSTOMERS)
    receipts = [await desk.chat.deliver(part, clear(part)) for _ in range(2)]
    assert receipts[0] == receipts[1]
    assert len(await page.messages("customers")) == 1


async def test_a_part_for_another_room_or_desk_is_rejected(desk):
    (part,) = desk.chat.present(Speech.FINAL, Final(text="a"), to=CUSTOMERS)
    for place in ("nowhere",):
        moved = desk.chat.retarget(part, place)
        assert await desk.chat.deliver(moved, clear(moved)) == Rejected(code="not_found", channel_gone=True)


async def test_a_store_that_rests_makes_a_part_wait(desk, monkeypatch):
    async def fail(*_, **__):
        raise StoreError("full")

    monkeypatch.setattr(desk.timeline, "append", fail)
    assert isinstance(await deliver(desk, Final(text="a")), TryLater)


async def test_a_growing_message_can_be_edited_to_its_end(desk, page):
    receipt = await deliver(desk, Final(text="so"))
    assert isinstance(receipt, Delivered)
    (message,) = receipt.messages
    grown = desk.chat.present_fragment("so far", to=CUSTOMERS, streaming=Streaming.EDIT, stream="s", message=message)
    assert isinstance(await desk.chat.deliver(grown, clear(grown)), Delivered)
    final = desk.chat.present(
        Speech.FINAL,
        Final(text="so far so good", files=(OutFile(name="a", media_type="text/plain", content=b"x"),)),
        to=CUSTOMERS,
    )
    (edit,) = desk.chat.present_rest(final, message=message)
    assert await desk.chat.deliver(edit, clear(edit)) == Delivered(messages=(message,))
    (shown,) = await page.messages("customers")
    assert (shown["text"], len(shown["files"]), shown["author"]["bot"]) == ("so far so good", 1, True)
    (lost,) = desk.chat.present_rest(desk.chat.present(Speech.FINAL, Final(text="x"), to=CUSTOMERS), message="b0")
    assert await desk.chat.deliver(lost, clear(lost)) == Rejected(code="not_found")


async def test_typing_and_drafts_reach_an_open_page(desk, page):
    async with page.stream() as stream:
        await page.say("private", "stream please", who="mara")
        assert (await stream.until("typing"))["room"] == "private"
        assert "Looking" in (await stream.until("draft"))["html"]
        desk.brain.goes_on.set()
        assert "42" in (await stream.until("message", text="Looking it up: the answer is 42."))["html"]


async def test_a_stream_goes_on_after_the_last_event_that_was_seen(desk, page):
    for number in range(3):
        await page.say("customers", f"before {number}", who="mara")
    await desk.brain.idle()
    async with page.stream() as stream:
        seen = [await stream.next() for _ in range(2)]
    last = seen[-1][1]
    message = await page.say("customers", "while away", who="jordan")
    await page.post(f"/api/rooms/customers/messages/{message['id']}/edit", {"text": "edited away", "as": "jordan"})
    await page.say("operators", "elsewhere @desk", who="olga")
    await desk.brain.idle()
    head = await desk.timeline.head()
    heard = []
    async with page.stream(after=0, **{"Last-Event-ID": str(last)}) as stream:
        number = 0
        while number < head:
            _, number, data = await stream.next()
            heard.append(data["text"])
    assert "before 2" in heard
    assert "edited away" in heard
    assert "elsewhere @desk" in heard
    assert "before 0" not in heard


async def test_a_page_hears_everything_while_many_write(desk, page):
    async with page.stream() as stream:
        texts = {f"text {number}" for number in range(25)}
        await asyncio.gather(*(page.say("customers", text, who="mara") for text in texts))
        heard: set[str] = set()
        numbers = []
        while not texts <= heard:
            _, number, data = await stream.next()
            numbers.append(number)
            heard.add(data["text"])
    assert numbers == sorted(numbers)


async def test_earlier_messages_come_by_the_page(desk, page, monkeypatch):
    monkeypatch.setattr("bot.channels.web.site.PAGE_LENGTH", 3)
    for number in range(5):
        await page.say("customers", str(number), who="mara")
    shown = await page.messages("customers")
    assert [message["text"] for message in shown] == ["2", "3", "4"]
    _, earlier = await page.get(f"/api/rooms/customers/messages?before={shown[0]['position']}")
    assert [message["text"] for message in earlier["messages"]] == ["0", "1"]


async def test_messages_outlive_the_daemon(desk, page):
    await page.say("customers", "hello", who="mara")
    await desk.brain.idle()
    async with open_desk(timeline=desk.timeline) as again, visit(again) as later:
        assert [message["text"] for message in await later.messages("customers")] == ["hello"]


async def test_a_store_that_rests_is_said_plainly_and_nothing_is_shown(desk, page):
    desk.brain.fails = StoreError("disk at /secret/path is full")
    status, answer = await page.post("/api/rooms/customers/messages", {"text": "x", "as": "mara"})
    assert (status, answer) == (503, {"error": "error.unavailable"})
    assert await page.messages("customers") == []


async def test_a_port_that_is_taken_is_said_with_the_port(desk):
    port = int(desk.url.rpartition(":")[2])
    with pytest.raises(ChannelError, match=str(port)):
        async with asyncio.timeout(5):
            await open_chat(port)


async def open_chat(port):
    from tests.browser.brain import Desk

    other = Desk(port=port)
    await other.chat.run(other.brain.accept)
