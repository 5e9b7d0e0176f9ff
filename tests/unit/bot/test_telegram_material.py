"""What a request is made of."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.channels.telegram import facts
from bot.channels.telegram.identity import identity_of
from bot.channels.telegram.material import material_of
from bot.model.inbound import Material
from bot.model.request import Attachment

NOW = datetime(2026, 9, 21, 14, 0, tzinfo=UTC)
ANN = {"id": 501, "is_bot": False, "first_name": "Ann", "last_name": "Lee", "language_code": "bg"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Room"}


def material(**fields: Any) -> Material:
    body = {"message_id": 10, "from": ANN, "chat": GROUP, "date": 1790000000, **fields}
    return material_of_update({"update_id": 1, "message": body})


def material_of_update(update: dict[str, Any]) -> Material:
    return material_of(
        facts.read(update, key="1", received_at=NOW, bot_id=7001, identity=identity_of(7001, "desk_bot"))
    )


def test_a_text_comes_with_its_labels_apart() -> None:
    assert material(text="hello") == Material(text="hello", sender_name="Ann Lee", channel_title="Room", language="bg")


@pytest.mark.parametrize(
    ("fields", "attachment"),
    [
        (
            {"photo": [{"file_id": "s", "width": 9, "height": 6}, {"file_id": "l", "width": 90, "height": 60}]},
            Attachment(handle="l", name="photo_10.jpg", media_type="image/jpeg"),
        ),
        (
            {"photo": [{"file_id": "l", "width": 90, "height": 60, "file_size": 5}, {"file_id": "s"}]},
            Attachment(handle="l", name="photo_10.jpg", media_type="image/jpeg", size=5),
        ),
        (
            {"document": {"file_id": "d", "file_name": "a.pdf", "mime_type": "application/pdf", "file_size": 7}},
            Attachment(handle="d", name="a.pdf", media_type="application/pdf", size=7),
        ),
        (
            {"document": {"file_id": "d"}},
            Attachment(handle="d", name="document_10", media_type="application/octet-stream"),
        ),
        (
            {"voice": {"file_id": "v", "mime_type": "audio/ogg"}},
            Attachment(handle="v", name="voice_10.ogg", media_type="audio/ogg"),
        ),
        (
            {"animation": {"file_id": "g"}, "document": {"file_id": "g"}},
            Attachment(handle="g", name="animation_10.mp4", media_type="video/mp4"),
        ),
        ({"sticker": {"file_id": "s"}}, Attachment(handle="s", name="sticker.webp", media_type="image/webp")),
        (
            {"sticker": {"file_id": "s", "is_video": True}},
            Attachment(handle="s", name="sticker.webm", media_type="video/webm"),
        ),
        (
            {"sticker": {"file_id": "s", "is_animated": True}},
            Attachment(handle="s", name="sticker.tgs", media_type="application/x-tgsticker"),
        ),
    ],
)
def test_a_file_can_be_fetched_by_its_handle(fields: dict[str, Any], attachment: Attachment) -> None:
    assert material(**fields).attachments == (attachment,)


@pytest.mark.parametrize("fields", [{"photo": []}, {"photo": [{}]}, {"voice": {}}, {"document": 5}, {"photo": "x"}])
def test_a_file_that_cannot_be_named_is_left_out(fields: dict[str, Any]) -> None:
    assert material(**fields).attachments == ()


ORIGINAL = {"message_id": 5, "chat": GROUP, "date": 1, "from": ANN, "text": "all of it"}


@pytest.mark.parametrize(
    ("fields", "quoted"),
    [
        ({"reply_to_message": ORIGINAL}, "all of it"),
        ({"reply_to_message": ORIGINAL, "quote": {"text": "of", "position": 4}}, "of"),
        ({"reply_to_message": {**ORIGINAL, "text": None, "caption": "under it"}}, "under it"),
        ({"external_reply": {}, "quote": {"text": "elsewhere", "position": 0}}, "elsewhere"),
        ({"reply_to_message": {**ORIGINAL, "forum_topic_created": {"name": "x"}}}, ""),
    ],
)
def test_what_the_person_points_at_is_quoted(fields: dict[str, Any], quoted: str) -> None:
    assert material(text="hm", **fields).quoted == quoted


def test_who_writes_as_a_chat_is_called_like_it() -> None:
    assert material(text="hm", sender_chat={**GROUP, "title": "The admins"}).sender_name == "The admins"


def test_a_tap_brings_its_token_and_the_id_that_ends_its_spinner() -> None:
    query = {"id": "99", "from": ANN, "message": {"message_id": 10, "chat": GROUP, "date": 0}, "data": "token"}
    found = material_of_update({"update_id": 1, "callback_query": query})
    assert (found.tap_token, found.tap_id, found.language, found.text) == ("token", "99", "bg", "")


def test_an_edit_brings_the_text_as_it_stands_now() -> None:
    body = {"message_id": 10, "from": ANN, "chat": GROUP, "date": 1, "edit_date": 2, "text": "now"}
    assert material_of_update({"update_id": 1, "edited_message": body}).text == "now"


def test_what_cannot_be_read_has_no_material() -> None:
    assert material_of_update({"update_id": 1, "message": 5}) == Material()
