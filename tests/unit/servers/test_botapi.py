"""Unmodified libraries drive the emulator end to end: aiogram, and python-telegram-bot to keep it honest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiogram import Bot, Dispatcher, F
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.enums import ParseMode
from aiogram.exceptions import (
    TelegramConflictError,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramUnauthorizedError,
)
from aiogram.filters import Command
from aiogram.types import (
    BotCommand,
    BufferedInputFile,
    CallbackQuery,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaDocument,
    Message,
    MessageEntity,
    ReplyParameters,
)

from tests.servers.botapi import BotApi, FloodLimits

GROUP = -1001900000001


@asynccontextmanager
async def connected(api: BotApi, token: str | None = None) -> AsyncIterator[Bot]:
    session = AiohttpSession(api=TelegramAPIServer.from_base(api.url), timeout=15)
    bot = Bot(token or api.token, session=session)
    try:
        yield bot
    finally:
        await session.close()


@asynccontextmanager
async def polling(dispatcher: Dispatcher, bot: Bot) -> AsyncIterator[None]:
    task = asyncio.create_task(dispatcher.start_polling(bot, handle_signals=False, polling_timeout=10))
    try:
        yield
    finally:
        with suppress(RuntimeError):
            await dispatcher.stop_polling()
        async with asyncio.timeout(10):
            await task


@pytest.fixture
async def strict() -> AsyncIterator[BotApi]:
    async with BotApi(strict=True) as emulator:
        yield emulator
        assert emulator.lint == []


async def test_aiogram_polls_and_answers_with_markup_and_buttons(strict: BotApi) -> None:
    dispatcher = Dispatcher()

    @dispatcher.message(Command("ask"))
    async def ask(message: Message) -> None:
        button = InlineKeyboardButton(text="Yes", callback_data="y:1", style="success")
        await message.reply(
            "<b>Sure?</b>", parse_mode=ParseMode.HTML, reply_markup=InlineKeyboardMarkup(inline_keyboard=[[button]])
        )

    @dispatcher.message(F.text)
    async def echo(message: Message) -> None:
        await message.answer(message.md_text, parse_mode=ParseMode.MARKDOWN_V2)

    @dispatcher.callback_query(F.data == "y:1")
    async def yes(query: CallbackQuery) -> None:
        await query.answer("Noted")
        assert isinstance(query.message, Message)
        await query.message.edit_text("Decided: yes")

    async with connected(strict) as bot, polling(dispatcher, bot):
        strict.say(chat=GROUP, sender=7, markdown="see **bold** and `@agent_bot` 😀 @agent_bot's")
        (echoed,) = await strict.wait_sent(GROUP)
        assert [entity["type"] for entity in echoed["entities"]] == ["bold", "code", "mention"]
        asked = strict.say(chat=7, text="/ask@Agent_Bot now")
        (question,) = await strict.wait_sent(7)
        assert question["reply_to_message"]["message_id"] == asked["message_id"]
        query = strict.press(chat=7, button="Yes")
        await strict.wait_for(lambda: strict.texts(7) == ["Decided: yes"])
        assert strict.toasts[query]["text"] == "Noted"
        assert "reply_markup" not in strict.sent(7)[0]
        await strict.wait_drained()


async def test_aiogram_sends_and_fetches_files(strict: BotApi) -> None:
    async with connected(strict) as bot:
        sent = await bot.send_document(
            7, BufferedInputFile(b"report", "r.pdf"), caption="<i>new</i>", parse_mode="HTML"
        )
        assert sent.document is not None
        assert (sent.document.file_name, sent.caption_entities is not None) == ("r.pdf", True)
        fetched = await bot.download(sent.document)
        assert fetched is not None
        assert fetched.read() == b"report"
        photo = await bot.send_photo(7, BufferedInputFile(b"jpeg", "p.jpg"))
        assert photo.photo
        await bot.send_voice(7, BufferedInputFile(b"ogg", "v.ogg"))
        album = await bot.send_media_group(
            7,
            [
                InputMediaDocument(media=BufferedInputFile(b"1", "1.txt"), caption="first"),
                InputMediaDocument(media=sent.document.file_id),
            ],
        )
        assert [message.caption for message in album] == ["first", None]
        picture = strict.say(chat=7, text="@agent_bot look", photo=strict.file(b"png", name="x.png"))
        (update,) = await bot.get_updates()
        assert update.message is not None
        assert update.message.caption_entities is not None
        assert update.message.photo is not None
        downloaded = await bot.download(update.message.photo[-1])
        assert downloaded is not None
        assert downloaded.read() == b"png"
        assert picture["photo"][-1]["file_id"] == update.message.photo[-1].file_id


async def test_aiogram_reads_everything_that_people_do(strict: BotApi) -> None:
    kinds = ["message", "edited_message", "message_reaction", "my_chat_member", "callback_query", "chat_member"]
    async with connected(strict) as bot:
        await bot.get_updates(allowed_updates=[*kinds, "stopped_message_generation", "channel_post"])
        picture = strict.file(b"png", name="x.png")
        first = strict.say(chat=GROUP, sender=7, text="hi")
        strict.edit(chat=GROUP, message_id=first["message_id"])
        strict.album(chat=GROUP, sender=7, items=[picture, {"photo": picture, "text": "@agent_bot these"}])
        strict.say(chat=GROUP, sender=8, thread=strict.topic(GROUP, "Deploys"), text="in a topic")
        strict.say(chat=GROUP, sender=8, reply_to=first["message_id"], voice=picture)
        strict.react(chat=GROUP, message_id=first["message_id"], sender=8, emoji="👍")
        strict.member(chat=GROUP, user=strict.me["id"], status="administrator", by=7, notify=True)
        strict.member(chat=GROUP, user=9, status="left", notify=True)
        strict.press(chat=GROUP, sender=8, message_id=1, data="x", force=True, inaccessible=True)
        strict.chat(-1001900000009, type="channel", title="News")
        strict.say(chat=-1001900000009, text="post")
        strict.migrate(-5, -1001900000005)
        strict.stop_generation(chat=7, draft_id=3)
        updates = await bot.get_updates(offset=1, limit=100)
    assert [update.event_type for update in updates] == [
        "message",
        "edited_message",
        *["message"] * 4,
        "message_reaction",
        "my_chat_member",
        "chat_member",
        "callback_query",
        "channel_post",
        "message",
        "message",
        "stopped_message_generation",
    ]
    in_topic = updates[4].message
    assert in_topic is not None
    assert in_topic.is_topic_message
    assert in_topic.reply_to_message is not None
    assert in_topic.reply_to_message.forum_topic_created is not None


async def test_aiogram_calls_the_rest(strict: BotApi) -> None:
    async with connected(strict) as bot:
        assert (await bot.me()).username == "agent_bot"
        sent = await bot.send_message(
            7,
            "due then",
            entities=[MessageEntity(type="date_time", offset=4, length=4, unix_time=1790000000, date_time_format="r")],
        )
        assert sent.entities is not None
        assert sent.entities[0].unix_time == 1790000000
        await bot.send_message(7, "re", reply_parameters=ReplyParameters(message_id=sent.message_id, quote="due"))
        await bot.send_message_draft(7, 5, text="wri")
        await bot.send_chat_action(7, "typing")
        await bot.set_my_commands([BotCommand(command="help", description="What I do")])
        assert [command.command for command in await bot.get_my_commands()] == ["help"]
        assert (await bot.get_chat(7)).id == 7
        assert (await bot.get_chat_member(GROUP, strict.me["id"])).status == "member"
        assert (await bot.get_webhook_info()).url == ""
        await bot.edit_message_reply_markup(
            chat_id=7,
            message_id=sent.message_id,
            reply_markup=InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="a", callback_data="b")]]),
        )
        await bot.delete_message(7, sent.message_id)
        assert strict.texts(7) == ["re"]


async def test_aiogram_sees_the_errors_that_it_knows(api: BotApi) -> None:
    api.block(9)
    api.migrate(-41, GROUP)
    api.flood = FloodLimits()
    async with connected(api) as bot:
        await bot.send_message(7, "x")
        with pytest.raises(TelegramRetryAfter) as flood:
            await bot.send_message(7, "y")
        assert flood.value.retry_after == 1
        with pytest.raises(TelegramForbiddenError, match="blocked by the user"):
            await bot.send_message(9, "x")
        with pytest.raises(TelegramMigrateToChat) as moved:
            await bot.send_message(-41, "x")
        assert moved.value.migrate_to_chat_id == GROUP
        api.drop("sendChatAction")
        with pytest.raises(TelegramNetworkError):
            await bot.send_chat_action(7, "typing")
    async with connected(api, token="42:WRONG") as stranger:
        with pytest.raises(TelegramUnauthorizedError):
            await stranger.get_me()


async def test_two_aiogram_pollers_disturb_each_other(api: BotApi) -> None:
    async with connected(api) as one, connected(api) as two:
        first = asyncio.create_task(one.get_updates(timeout=10))
        await api.wait_for(lambda: api.totals.get("getUpdates") == 1)
        second = asyncio.create_task(two.get_updates(timeout=10, offset=1))
        with pytest.raises(TelegramConflictError):
            await first
        api.say(chat=7, text="hello")
        assert len(await second) == 1


async def test_a_send_that_times_out_may_have_been_delivered(api: BotApi) -> None:
    api.hang("sendMessage", deliver=True)
    async with connected(api) as bot:
        with pytest.raises(TelegramNetworkError):
            await bot.send_message(7, "unclear", request_timeout=1)
    assert api.texts(7) == ["unclear"]


async def test_parameters_that_telegram_does_not_know_are_noticed() -> None:
    async with BotApi(strict=True) as api, connected(api) as bot:
        address = f"{api.url}/bot{api.token}/sendMessage"
        session: Any = await bot.session.create_session()  # type: ignore[attr-defined]
        form = {"chat_id": 7, "text": "x", "colour": "red", "parse_mode": "HTML", "entities": []}
        async with session.post(address, json=form) as response:
            assert response.status == 200
        assert [violation.problem for violation in api.lint] == [
            "unknown parameter colour",
            "parse_mode makes Telegram ignore the entities",
        ]


async def test_python_telegram_bot_polls_and_answers_too(api: BotApi) -> None:
    from telegram import Update
    from telegram.ext import Application, ContextTypes, MessageHandler, filters

    async def echo(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
        assert update.message is not None
        await update.message.reply_html(f"<b>{update.message.text}</b>", do_quote=True)

    builder = Application.builder().token(api.token).base_url(f"{api.url}/bot").base_file_url(f"{api.url}/file/bot")
    application = builder.build()
    application.add_handler(MessageHandler(filters.TEXT, echo))
    async with application:
        await application.start()
        assert application.updater is not None
        await application.updater.start_polling(timeout=10)
        asked = api.say(chat=7, text="ping 😀")
        (answer,) = await api.wait_sent(7)
        assert answer["reply_to_message"]["message_id"] == asked["message_id"]
        assert answer["entities"] == [{"type": "bold", "offset": 0, "length": 7}]
        await application.updater.stop()
        await application.stop()
