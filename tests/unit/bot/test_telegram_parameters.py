"""What the adapter asks of Telegram, against models that are generated from Telegram's documentation."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from aiogram import methods
from aiogram.types import InlineKeyboardButton

from bot.channels.telegram import payload, presenting
from bot.channels.telegram.client import BotApi
from bot.channels.telegram.identity import IdentityWatch
from bot.channels.telegram.intake import ALLOWED_UPDATES, Intake, Polling
from bot.channels.telegram.webhook import Webhook, WebhookIntake
from bot.model.output import Final, OutFile
from bot.model.part import Part
from bot.ports.channel import Reply
from forms.card import Button, Card, FieldRow, Style
from policy.boundary import Speech
from policy.destination import Destination
from policy.ruleset import Streaming

MODELS: dict[str, Any] = {
    model.__api_method__: model
    for model in (getattr(methods, name) for name in methods.__all__)
    if isinstance(getattr(model, "__api_method__", None), str)
}


def answers() -> Iterator[Final]:
    png = OutFile(name="a.png", media_type="image/png", content=b"x")
    pdf = OutFile(name="a.pdf", media_type="application/pdf", content=b"x")
    styles = tuple(Button(label=style, value=style, style=style) for style in Style)
    card = Card(title="t", rows=(("a", "b"),), buttons=styles)
    question = Card(
        fields=(FieldRow(title="a", hint="text", required="required", value="b"),),
        example="a: b",
        note="c",
        buttons=(*styles, Button(label="d", url="https://example.org/q", web_app=True)),
        widths=(4, 1),
    )
    yield Final(text="", card=question)
    text = "**a** [b](https://example.org) `c`\n```python\nd\n```\n> e"
    for files in ((), (png,), (pdf,), (png, png)):
        yield Final(text=text, files=files)
        yield Final(text=text, files=files, card=card)
    yield Final(text="word " * 2000)


def parts() -> Iterator[Part]:
    for channel, thread in (("501", None), ("-1002", "77")):
        place = Destination(platform="telegram", workspace="7001", channel=channel, thread=thread)
        to = Reply(destination=place, message="10")
        for answer in answers():
            made = presenting.present(Speech.FINAL, answer, to=to)
            yield from made
            yield from payload.final_edit(made, "33")
            yield from filter(None, map(payload.unformatted, made))
            yield from (payload.retargeted(part, "-1009") for part in made)
        for streaming in (Streaming.DRAFT, Streaming.EDIT):
            for message in (None, "33"):
                part = presenting.present_fragment("**a**", to=to, streaming=streaming, stream="s", message=message)
                if part is not None:
                    yield part
        yield presenting.typing(to)
        yield presenting.answer_tap("9", "", to=to)
        yield presenting.answer_tap("9", "words", to=to)


class Recorder(BotApi):
    """Records calls instead of making them, and ends the loop that makes them."""

    def __init__(self) -> None:
        super().__init__(token="7001:x", api_url="http://127.0.0.1:9")
        self.seen: list[tuple[str, dict[str, Any]]] = []

    async def call(self, method: str, params: Any, **_: Any) -> Any:
        self.seen.append((method, dict(params)))
        raise asyncio.CancelledError


async def own_calls() -> list[tuple[str, dict[str, Any]]]:
    api = Recorder()
    intake = Intake(api, Polling(), account="telegram:7001", clock=lambda: datetime.now(UTC))
    intake._offset = 5
    webhook = Webhook(url="https://example.org/telegram", secret="s" * 16)
    hook = WebhookIntake(api, webhook, account="telegram:7001", clock=lambda: datetime.now(UTC))
    for coroutine in (intake._fetch(), intake._delete_webhook(), hook._announce(), IdentityWatch(api).look()):
        with pytest.raises(asyncio.CancelledError):
            await coroutine
    return api.seen


def check(method: str, params: dict[str, Any]) -> None:
    model = MODELS[method]
    known = {field.alias or name for name, field in model.model_fields.items()}
    assert params.keys() <= known, (method, params.keys() - known)
    model.model_validate(params)


def test_every_part_is_a_call_that_telegrams_documentation_knows() -> None:
    seen = set()
    for part in parts():
        method, params = payload.decode(part)
        for name in ("photo", "document"):
            params.pop(name, None)  # aiogram wants its own kind of file here
        for medium in params.get("media", ()):
            medium["media"] = "file"
        model = MODELS[method]
        known = {field.alias or name for name, field in model.model_fields.items()}
        assert params.keys() <= known, (method, params.keys() - known)
        required = {field.alias or name for name, field in model.model_fields.items() if field.is_required()}
        assert required - {"photo", "document"} <= params.keys()
        for row in params.get("reply_markup", {}).get("inline_keyboard", ()):
            assert all(key.keys() <= InlineKeyboardButton.model_fields.keys() for key in row)
        model.model_validate({**params, **dict.fromkeys(required & {"photo", "document"}, "file")})
        seen.add(method)
    assert seen == {
        "sendMessage",
        "sendPhoto",
        "sendDocument",
        "sendMediaGroup",
        "sendMessageDraft",
        "editMessageText",
        "sendChatAction",
        "answerCallbackQuery",
    }


async def test_what_the_bot_asks_for_itself_is_known_too() -> None:
    calls = await own_calls()
    assert [method for method, _ in calls] == ["getUpdates", "deleteWebhook", "setWebhook", "getMe"]
    for method, params in calls:
        check(method, params)
    check("getFile", {"file_id": "x"})


def test_every_kind_of_update_that_is_asked_for_exists() -> None:
    from aiogram.types import Update

    assert set(ALLOWED_UPDATES) <= set(Update.model_fields)
    assert "message_reaction" not in ALLOWED_UPDATES  # needs rights, and nothing is done with it
