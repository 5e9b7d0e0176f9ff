"""Answers go out: the adapter against an emulated Telegram with the real TDLib inside, through the real door."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.channels.telegram.channel import TelegramChannel
from bot.channels.telegram.limits import Limits, Rate
from bot.deliveries.door import Door, Place
from bot.model.clearance import Clearance
from bot.model.errors import ChannelError, ClearanceError
from bot.model.output import Final, OutFile
from bot.model.part import Delivered, Moved, Part, Receipt, Rejected, TryLater, Unclear
from bot.model.request import Attachment
from bot.ports.channel import Reply
from forms.card import Button, Card, Style
from policy.boundary import Basis, Speech
from policy.decision import Audience
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import Access, ChannelPolicy, Policy, Streaming
from policy.utf16 import utf16_len
from tests.servers.botapi import BotApi

ANN = 501
GROUP = -1001000000001
FORUM = -1001000000002
OPEN = Limits(chat=None, group=None, total=None)
POLICY = Policy(
    channels={},
    people={},
    direct=ChannelPolicy(audience=Audience.EXTERNAL, access=Access.ALLOW),
    unknown=ChannelPolicy(audience=Audience.UNKNOWN, access=Access.UNKNOWN),
)
PNG = OutFile(name="a.png", media_type="image/png", content=b"\x89PNG...")
PDF = OutFile(name="report.pdf", media_type="application/pdf", content=b"%PDF...")
CARD = Card(title="Ship?", buttons=(Button(label="Yes", value="y", style=Style.SUCCESS), Button(label="No", value="n")))


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi(bot_id=7001, username="desk_bot", strict=True) as emulator:
        emulator.chat(GROUP, title="Room", type="supergroup")
        yield emulator
        assert emulator.lint == []


@pytest.fixture
async def channel(api: BotApi) -> AsyncIterator[TelegramChannel]:
    made = channel_for(api)
    yield made
    await made.close()


def channel_for(api: BotApi, limits: Limits = OPEN, call_s: float = 5.0) -> TelegramChannel:
    return TelegramChannel(
        token=api.token, api_url=api.url, clock=lambda: datetime.now(UTC), limits=limits, call_s=call_s
    )


def to(chat: int, *, thread: int | None = None, message: str | None = None) -> Reply:
    place = Destination(
        platform="telegram", workspace="7001", channel=str(chat), thread=None if thread is None else str(thread)
    )
    return Reply(destination=place, message=message)


def cleared(part: Part) -> Clearance:
    direct = not part.destination.channel.startswith("-")
    chat = Chat.DIRECT if direct else Chat.GROUP
    place = Place(destination=part.destination, chat=chat, person=f"telegram:{ANN}")
    clearance = Door(lambda: POLICY).clear(part, place, Basis.REQUEST, written_for=Audience.EXTERNAL)
    assert isinstance(clearance, Clearance)
    return clearance


async def deliver(channel: TelegramChannel, *parts: Part | None) -> list[Receipt]:
    receipts = []
    for part in parts:
        assert part is not None
        async with asyncio.timeout(20):
            receipts.append(await channel.deliver(part, cleared(part)))
    return receipts


async def say(channel: TelegramChannel, text: str, chat: int = GROUP, **where: Any) -> list[Receipt]:
    return await deliver(channel, *channel.present(Speech.FINAL, Final(text=text), to=to(chat, **where)))


async def test_an_answer_arrives_as_a_reply_with_its_formatting(api: BotApi, channel: TelegramChannel) -> None:
    asked = api.say(chat=GROUP, sender=ANN, text="how?")
    markdown = "**Bold** and `code` 😀 and [a link](https://example.org/x)\n\n```python\nprint(1)\n```\n\n> said"
    [receipt] = await say(channel, markdown, message=str(asked["message_id"]))
    [sent] = api.sent(GROUP)
    assert receipt == Delivered(messages=(str(sent["message_id"]),))
    assert sent["reply_to_message"]["message_id"] == asked["message_id"]
    asked_for = api.calls_of("sendMessage")[0].params["entities"]
    assert [(e["type"], e["offset"], e["length"]) for e in sent["entities"]] == [
        (e["type"], e["offset"], e["length"]) for e in asked_for
    ]
    assert {e["type"] for e in sent["entities"]} == {"bold", "code", "text_link", "pre", "blockquote"}


async def test_a_long_answer_arrives_in_parts_that_add_up(api: BotApi, channel: TelegramChannel) -> None:
    receipts = await say(channel, "😀" * 2100)
    assert all(isinstance(receipt, Delivered) for receipt in receipts)
    assert "".join(api.texts(GROUP)) == "😀" * 2100
    assert all(utf16_len(text) <= 4096 for text in api.texts(GROUP))


async def test_an_answer_in_a_topic_stays_in_it(api: BotApi, channel: TelegramChannel) -> None:
    thread = api.topic(FORUM)
    await say(channel, "here", FORUM, thread=thread)
    assert [message["text"] for message in api.sent(FORUM, thread=thread)] == ["here"]


async def test_an_answer_whose_question_has_gone_comes_without_the_reply_mark(
    api: BotApi, channel: TelegramChannel
) -> None:
    [receipt] = await say(channel, "here", message="987654")
    assert isinstance(receipt, Delivered)
    assert "reply_to_message" not in api.sent(GROUP)[0]


async def test_buttons_stand_under_the_message_and_a_tap_brings_their_token_back(
    api: BotApi, channel: TelegramChannel
) -> None:
    [part] = channel.present(Speech.FINAL, Final(text="", card=CARD), to=to(GROUP))
    await deliver(channel, part)
    [sent] = api.sent(GROUP)
    [[yes], [_no]] = sent["reply_markup"]["inline_keyboard"]
    assert (yes["text"], yes["style"], yes["callback_data"]) == ("Yes", "success", part.buttons[0].token)


async def test_files_arrive_with_their_names_captions_and_buttons(api: BotApi, channel: TelegramChannel) -> None:
    answer = Final(text="**Here**", files=(PDF, PNG, PNG), card=CARD)
    receipts = await deliver(channel, *channel.present(Speech.FINAL, answer, to=to(GROUP)))
    document, first, second, card = api.sent(GROUP)
    assert document["document"]["file_name"] == "report.pdf"
    assert document["caption"] == "Here"
    assert first["media_group_id"] == second["media_group_id"]
    assert card["reply_markup"]
    assert [len(receipt.messages) for receipt in receipts if isinstance(receipt, Delivered)] == [1, 2, 1]


async def test_an_answer_grows_by_edits_and_ends_as_one_message(api: BotApi, channel: TelegramChannel) -> None:
    def fragment(text: str, message: str | None) -> Part | None:
        return channel.present_fragment(text, to=to(GROUP), streaming=Streaming.EDIT, stream="s", message=message)

    [first] = await deliver(channel, fragment("Hel", None))
    assert isinstance(first, Delivered)
    message = first.messages[0]
    [again] = await deliver(channel, fragment("Hello", message))
    assert again == Delivered(messages=(message,))
    parts = channel.present_rest(
        channel.present(Speech.FINAL, Final(text="Hello **you**", card=CARD), to=to(GROUP)), message=message
    )
    await deliver(channel, *parts)
    [sent] = api.sent(GROUP)
    assert sent["text"] == "Hello you\n\nShip?"
    assert sent["reply_markup"]


async def test_an_answer_grows_as_a_draft_in_a_private_chat(api: BotApi, channel: TelegramChannel) -> None:
    for text in ("Hel", "Hello"):
        part = channel.present_fragment(text, to=to(ANN), streaming=Streaming.DRAFT, stream="s", message=None)
        assert await deliver(channel, part) == [Delivered()]
    assert [draft["text"] for draft in api.drafts(ANN)] == ["Hello"]
    await say(channel, "Hello", ANN)
    assert api.drafts(ANN) == []


async def test_signs_are_shown(api: BotApi, channel: TelegramChannel) -> None:
    assert await deliver(channel, channel.typing(to=to(GROUP), on=True)) == [Delivered()]
    assert api.account.actions == [(GROUP, "typing")]
    [part] = channel.present(Speech.FINAL, Final(text="", card=CARD), to=to(GROUP))
    await deliver(channel, part)
    tap = api.press(chat=GROUP, sender=ANN, button="Yes")
    assert await deliver(channel, channel.answer_tap(tap, "Noted", to=to(GROUP))) == [Delivered()]
    assert api.toasts[tap]["text"] == "Noted"


async def test_a_tap_that_is_too_old_is_refused_and_harms_nothing(api: BotApi, channel: TelegramChannel) -> None:
    [receipt] = await deliver(channel, channel.answer_tap("12345", "", to=to(GROUP)))
    assert isinstance(receipt, Rejected)
    assert not receipt.channel_gone


# what Telegram says


async def test_a_flood_wait_is_the_platforms_number_and_silences_passing_signs(
    api: BotApi, channel: TelegramChannel
) -> None:
    api.fail("sendMessage", retry_after=30)
    assert await say(channel, "x") == [TryLater(after_s=30.0, flood=True)]
    [sign] = await deliver(channel, channel.typing(to=to(GROUP), on=True))
    assert isinstance(sign, TryLater)
    assert api.account.actions == []
    assert api.sent(GROUP) == []


@pytest.mark.parametrize("code", [500, 502, 503])
async def test_a_server_that_fails_is_tried_again_later_and_later(
    api: BotApi, channel: TelegramChannel, code: int
) -> None:
    api.fail("sendMessage", code, raw="<html>", times=6)
    waits = [receipt.after_s for _ in range(6) for receipt in await say(channel, "x") if isinstance(receipt, TryLater)]
    assert len(waits) == 6
    assert waits[0] <= 2.0
    assert waits[5] > waits[0]
    assert await say(channel, "x") == [Delivered(messages=("1",))]


async def test_a_front_server_that_gave_up_waiting_leaves_it_unclear(api: BotApi, channel: TelegramChannel) -> None:
    api.fail("sendMessage", 504, raw="<html>")
    assert await say(channel, "x") == [Unclear(code="timeout")]


async def test_without_a_connection_it_certainly_did_not_go_out_and_costs_no_attempt(
    api: BotApi, channel: TelegramChannel
) -> None:
    await api.stop()
    [receipt] = await say(channel, "x")
    assert isinstance(receipt, TryLater)
    assert receipt.flood
    await api.start()


@pytest.mark.parametrize("arrives", [True, False])
async def test_an_answer_that_never_comes_is_unclear_whatever_happened(api: BotApi, arrives: bool) -> None:
    channel = channel_for(api, call_s=0.3)
    fault = api.hang("sendMessage", deliver=arrives)
    assert await say(channel, "x") == [Unclear(code="timeout")]
    fault.cut()
    assert len(api.sent(GROUP)) == int(arrives)
    assert len(api.calls_of("sendMessage")) == 1
    await channel.close()


async def test_a_cut_connection_is_unclear(api: BotApi, channel: TelegramChannel) -> None:
    api.drop("sendMessage", deliver=True)
    assert await say(channel, "x") == [Unclear(code="disconnected")]
    assert len(api.calls_of("sendMessage")) == 1


async def test_a_group_that_moved_tells_its_new_id_and_the_part_arrives_there(
    api: BotApi, channel: TelegramChannel
) -> None:
    asked = api.say(chat=-41, sender=ANN, text="how?")
    api.migrate(-41, -1001000000041)
    [part] = channel.present(Speech.FINAL, Final(text="x"), to=to(-41, message=str(asked["message_id"])))
    assert await deliver(channel, part) == [Moved(channel="-1001000000041")]
    moved = channel.retarget(part, "-1001000000041")
    [receipt] = await deliver(channel, moved)
    assert isinstance(receipt, Delivered)
    [sent] = api.sent(-1001000000041)
    assert "reply_to_message" not in sent


async def test_an_edit_that_changes_nothing_is_a_success(api: BotApi, channel: TelegramChannel) -> None:
    [sent] = await say(channel, "same")
    assert isinstance(sent, Delivered)
    again = channel.present_rest(
        channel.present(Speech.FINAL, Final(text="same"), to=to(GROUP)), message=sent.messages[0]
    )
    assert await deliver(channel, *again) == [Delivered()]


@pytest.mark.parametrize("why", ["kicked", "left", "deactivated", "missing", "readonly"])
async def test_a_group_that_is_closed_to_the_bot_is_gone(api: BotApi, channel: TelegramChannel, why: str) -> None:
    api.block(GROUP, why)
    [receipt] = await say(channel, "x")
    assert isinstance(receipt, Rejected)
    assert receipt.code in ("forbidden", "not_found")
    assert receipt.channel_gone


async def test_a_person_who_blocked_the_bot_is_gone(api: BotApi, channel: TelegramChannel) -> None:
    api.block(ANN)
    assert await say(channel, "x", ANN) == [Rejected(code="forbidden", channel_gone=True)]


async def test_a_topic_that_was_deleted_is_not_replaced_by_another_place(api: BotApi, channel: TelegramChannel) -> None:
    thread = api.topic(FORUM)
    api.drop_topic(FORUM, thread)
    assert await say(channel, "private", FORUM, thread=thread) == [Rejected(code="thread_not_found")]
    assert api.sent(FORUM) == []


async def test_a_topic_of_a_private_chat_that_telegram_ignores_is_noticed(
    api: BotApi, channel: TelegramChannel, caplog: pytest.LogCaptureFixture
) -> None:
    [receipt] = await say(channel, "x", ANN, thread=55)
    assert isinstance(receipt, Delivered)
    assert "thread_ignored" in caplog.text


@pytest.mark.parametrize(
    ("description", "receipt"),
    [
        ("Bad Request: can't parse entities: Can't find end of the entity", Rejected(code="formatting")),
        ("Bad Request: ENTITY_BOUNDS_INVALID", Rejected(code="formatting")),
        ("Bad Request: message is too long", Rejected(code="too_long")),
        ("Bad Request: MEDIA_CAPTION_TOO_LONG", Rejected(code="too_long")),
        ("Bad Request: chat not found", Rejected(code="not_found", channel_gone=True)),
        ("Bad Request: group chat was deactivated", Rejected(code="not_found", channel_gone=True)),
        ("Bad Request: message to be replied not found", Rejected(code="not_found")),
        ("Bad Request: TOPIC_CLOSED", Rejected(code="forbidden")),
        ("Bad Request: not enough rights to send photos to the chat", Rejected(code="forbidden")),
        ("Bad Request: have no rights to send a message", Rejected(code="forbidden", channel_gone=True)),
        ("Bad Request: message text is empty", Rejected(code="rejected")),
        ("Bad Request: BUTTON_DATA_INVALID", Rejected(code="rejected")),
    ],
)
async def test_a_refusal_has_a_bounded_code(
    api: BotApi, channel: TelegramChannel, description: str, receipt: Rejected
) -> None:
    api.fail("sendMessage", 400, description)
    assert await say(channel, "x") == [receipt]


async def test_a_refused_formatting_can_be_dropped_for_one_more_try(api: BotApi, channel: TelegramChannel) -> None:
    [part] = channel.present(Speech.FINAL, Final(text="**x** y"), to=to(GROUP))
    api.fail("sendMessage", 400, "Bad Request: can't parse entities: nonsense")
    assert await deliver(channel, part) == [Rejected(code="formatting")]
    await deliver(channel, channel.unformatted(part))
    [sent] = api.sent(GROUP)
    assert sent["text"] == "x y"
    assert "entities" not in sent


async def test_a_revoked_token_loses_nothing(api: BotApi, channel: TelegramChannel) -> None:
    api.fail("sendMessage", 401, "Unauthorized")
    assert await say(channel, "x") == [TryLater(after_s=30.0, flood=True)]


# the clearance


async def test_nothing_is_called_without_a_fitting_clearance(api: BotApi, channel: TelegramChannel) -> None:
    [part] = channel.present(Speech.FINAL, Final(text="x"), to=to(GROUP))
    [other] = channel.present(Speech.FINAL, Final(text="y"), to=to(GROUP))
    clearance = cleared(part)
    with pytest.raises(ClearanceError):
        await channel.deliver(other, clearance)
    assert await channel.deliver(part, clearance) == Delivered(messages=("1",))
    with pytest.raises(ClearanceError):
        await channel.deliver(part, clearance)
    assert len(api.calls) == 1


async def test_an_attempt_costs_its_clearance_also_when_it_fails(api: BotApi, channel: TelegramChannel) -> None:
    [part] = channel.present(Speech.FINAL, Final(text="x"), to=to(GROUP))
    clearance = cleared(part)
    api.fail("sendMessage", retry_after=30)
    await channel.deliver(part, clearance)
    with pytest.raises(ClearanceError):
        await channel.deliver(part, clearance)


# pace


async def test_messages_to_a_chat_wait_for_their_turn_and_fragments_are_left_out(api: BotApi) -> None:
    channel = channel_for(api, Limits(chat=Rate(per_s=4.0, burst=2), group=None, total=None))
    [part] = channel.present(Speech.FINAL, Final(text="a"), to=to(GROUP))
    assert [channel.turn_s(part), channel.turn_s(part)] == [0.0, 0.0]
    assert 0.2 < channel.turn_s(part) <= 0.25
    assert channel.turn_s(channel.typing(to=to(GROUP), on=True)) == 0.0
    part = channel.present_fragment("d", to=to(GROUP), streaming=Streaming.EDIT, stream="s", message=None)
    [receipt] = await deliver(channel, part)
    assert isinstance(receipt, TryLater)
    assert receipt.flood
    assert await deliver(channel, channel.typing(to=to(GROUP), on=True)) == [Delivered()]
    await channel.close()


# files in


async def test_a_file_is_fetched_up_to_its_limit(api: BotApi, channel: TelegramChannel) -> None:
    handle = api.file(b"x" * 1000, name="a.txt")
    attachment = Attachment(handle=handle, name="a.txt", media_type="text/plain", size=1000)
    assert await channel.fetch(attachment, limit_bytes=1000) == b"x" * 1000
    with pytest.raises(ChannelError, match="too large"):
        await channel.fetch(attachment, limit_bytes=999)


async def test_a_file_that_cannot_be_had_is_told_without_an_address(api: BotApi, channel: TelegramChannel) -> None:
    gone = Attachment(handle="no-such-file", name="a.txt", media_type="text/plain")
    with pytest.raises(ChannelError) as caught:
        await channel.fetch(gone, limit_bytes=10)
    assert "TOKEN" not in repr(caught.value)
    await api.stop()
    with pytest.raises(ChannelError, match="can't be reached") as caught:
        await channel.fetch(gone, limit_bytes=10)
    assert "TOKEN" not in f"{caught.value!r}{caught.value.__context__!r}"
    await api.start()


async def test_a_file_larger_than_bots_may_have_is_told_as_such(api: BotApi, channel: TelegramChannel) -> None:
    api.fail("getFile", 400, "Bad Request: file is too big")
    with pytest.raises(ChannelError, match="larger than Telegram gives"):
        await channel.fetch(Attachment(handle="x", name="x", media_type="x/y"), limit_bytes=10)
