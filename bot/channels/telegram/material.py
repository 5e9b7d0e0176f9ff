"""What a request is made of, read after consent only. Everything in it is somebody else's word (PROMPT-2)."""

from collections.abc import Mapping
from typing import Any, Final

from bot.channels.telegram.facts import is_topic_root
from bot.model.inbound import Material, Reading
from bot.model.request import Attachment

Native = Mapping[str, Any]

_FIELDS: Final = (
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "business_message",
    "edited_business_message",
)
_NAMED: Final = {
    "voice": ("voice", ".ogg", "audio/ogg"),
    "audio": ("audio", ".mp3", "audio/mpeg"),
    "video": ("video", ".mp4", "video/mp4"),
    "video_note": ("video", ".mp4", "video/mp4"),
    "animation": ("animation", ".mp4", "video/mp4"),
    "document": ("document", "", "application/octet-stream"),
}
"""Field: first part of the name, ending and media type, where the platform tells none."""


def material_of(reading: Reading) -> Material:
    """The material of a reading; what has not the documented shape is left out."""
    update = reading.native
    query = update.get("callback_query")
    if query is not None:
        return _tap(query)
    message = next((update[field] for field in _FIELDS if field in update), None)
    if not isinstance(message, dict):
        return Material(text=reading.event.text)
    return Material(
        text=reading.event.text,
        attachments=_attachments(message),
        sender_name=_sender_name(message),
        channel_title=_text(_tree(message, "chat"), "title"),
        quoted=_quoted(message),
        language=_text(_tree(message, "from"), "language_code") or None,
    )


def _tap(query: Native) -> Material:
    person = _tree(query, "from")
    return Material(
        sender_name=_name(person),
        channel_title=_text(_tree(_tree(query, "message"), "chat"), "title"),
        language=_text(person, "language_code") or None,
        tap_token=_text(query, "data") or None,
        tap_id=_text(query, "id") or None,
    )


def _attachments(message: Native) -> tuple[Attachment, ...]:
    photo = message.get("photo")
    if isinstance(photo, list):
        sizes = [size for size in photo if isinstance(size, dict)]
        largest = max(sizes, key=_area, default={})
        return _attachment(largest, f"photo_{message.get('message_id')}.jpg", "image/jpeg")
    sticker = _tree(message, "sticker")
    if sticker:
        if sticker.get("is_animated"):
            return _attachment(sticker, "sticker.tgs", "application/x-tgsticker")
        if sticker.get("is_video"):
            return _attachment(sticker, "sticker.webm", "video/webm")
        return _attachment(sticker, "sticker.webp", "image/webp")
    for field, (stem, ending, media_type) in _NAMED.items():
        file = _tree(message, field)
        if file:
            name = _text(file, "file_name") or f"{stem}_{message.get('message_id')}{ending}"
            return _attachment(file, name, _text(file, "mime_type") or media_type)
    return ()


def _attachment(file: Native, name: str, media_type: str) -> tuple[Attachment, ...]:
    handle = _text(file, "file_id")
    if not handle:
        return ()
    return (Attachment(handle=handle, name=name, media_type=media_type, size=_number(file, "file_size")),)


def _sender_name(message: Native) -> str:
    sender_chat = _tree(message, "sender_chat")
    return _text(sender_chat, "title") if sender_chat else _name(_tree(message, "from"))


def _name(person: Native) -> str:
    return f"{_text(person, 'first_name')} {_text(person, 'last_name')}".strip()


def _quoted(message: Native) -> str:
    """The words that the person points at: the chosen stretch, else the whole message that is replied to."""
    quote = _text(_tree(message, "quote"), "text")
    original = _tree(message, "reply_to_message")
    if quote or not original or is_topic_root(message, original):
        return quote
    return _text(original, "text") or _text(original, "caption")


def _tree(parent: Native, field: str) -> Native:
    value = parent.get(field)
    return value if isinstance(value, dict) else {}


def _text(parent: Native, field: str) -> str:
    value = parent.get(field)
    return value if isinstance(value, str) else ""


def _area(size: Native) -> int:
    return (_number(size, "width") or 0) * (_number(size, "height") or 0)


def _number(parent: Native, field: str) -> int | None:
    value = parent.get(field)
    return value if isinstance(value, int) else None
