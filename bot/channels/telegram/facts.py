"""From one native update to facts (IDENT-1, PART-11, PART-14 to 16).

Evidence is structure, never look: entities, ids and flags that the platform set. Texts are carried along and never
searched, but for the stretch that an entity covers. Whatever does not have the documented shape is ``MALFORMED`` or
lacks its evidence; nothing is repaired, nothing is guessed, and nothing raises.

This runs for every message of every chat, most of which are none of the bot's business: the plain case is cheap.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from bot.channels.telegram.identity import Identity
from bot.model.inbound import Migration, Reading
from policy.destination import Destination, destination_of
from policy.event import Author, Chat, Command, Event, Kind, Origin, Reply, Target
from policy.utf16 import utf16_len, utf16_slice

Native = Mapping[str, Any]

PLATFORM: Final = "telegram"
UNREADABLE: Final = "unreadable"
"""Channel of an event that names no chat; no policy can list it."""

FILES: Final = ("photo", "document", "voice", "audio", "video", "video_note", "sticker")
"""Fields that carry a file. An animation comes with a ``document`` for the same file."""
_CONTENT: Final = frozenset(FILES) | {
    "text", "caption", "animation", "live_photo", "paid_media", "story", "poll", "checklist", "contact", "location",
    "venue", "dice", "game", "giveaway", "invoice", "rich_message",
}  # fmt: skip
_CHATS: Final = {"private": Chat.DIRECT, "group": Chat.GROUP, "supergroup": Chat.GROUP, "channel": Chat.BROADCAST}
_MESSAGES: Final = (
    ("message", Kind.MESSAGE),
    ("edited_message", Kind.EDIT),
    ("channel_post", Kind.MESSAGE),
    ("edited_channel_post", Kind.EDIT),
    ("business_message", Kind.MESSAGE),
    ("edited_business_message", Kind.EDIT),
)
_STAND_INS: Final = frozenset({1087968824, 136817688})
"""``from`` of anonymous admins and of people who write as a channel: accounts shared by everybody (PART-16)."""
_SERVICE_ACCOUNT: Final = 777000
_ASIDE: Final = frozenset({"code", "pre", "blockquote", "expandable_blockquote"})
"""What stands in these is shown, not said (PART-14)."""
_SPLIT_AT: Final = 4096
_SPLIT_SLACK: Final = 256
"""Clients split a paste at 4,096 UTF-16 units, or a little before it at a space or a line's end."""
_GENERAL_TOPIC: Final = 1


class _ShapeError(Exception):
    """The update has not the documented shape."""


@dataclass(slots=True)
class _Address:
    """What the entities of one text say."""

    mentions_self: bool = False
    mentions_others: bool = False
    command: Command | None = None


def read(update: Native, *, key: str, received_at: datetime, bot_id: int, identity: Identity | None) -> Reading:
    """Read the facts out of one update.

    Args:
        update: as the platform sent it, decoded.
        key: of the stored arrival.
        received_at: of the stored arrival, aware; the time of events that carry none.
        bot_id: the bot's own id, by its token.
        identity: the bot's own name, None while it is unknown.
    """
    try:
        message = update.get("message")
        if message is not None:
            return _message(update, message, Kind.MESSAGE, key, bot_id, identity)
        for field, kind in _MESSAGES:
            message = update.get(field)
            if message is not None:
                return _message(update, message, kind, key, bot_id, identity)
        if "callback_query" in update:
            return _tap(update, update["callback_query"], key, received_at, bot_id, identity)
        return _other(update, key, received_at, bot_id, identity)
    except (_ShapeError, KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError):
        return malformed(update, key=key, received_at=received_at, bot_id=bot_id, identity=identity)


def malformed(update: Native, *, key: str, received_at: datetime, bot_id: int, identity: Identity | None) -> Reading:
    """The reading of what can't be read (PART-17)."""
    channel = chat_id_of(update)
    event = Event(
        key=key,
        destination=_destination(bot_id, UNREADABLE if channel is None else channel, None),
        chat=Chat.GROUP,
        kind=Kind.MALFORMED,
        origin=Origin.UNKNOWN,
        sender=None,
        sent_at=received_at,
        identity_known=identity is not None,
    )
    return Reading(event=event, native=update)


def chat_id_of(update: Any) -> int | None:
    """The chat that an update belongs to, if it has one that can be read."""
    if not isinstance(update, dict):
        return None
    for value in update.values():
        if isinstance(value, dict):
            chat = value.get("chat")
            if chat is None and isinstance(inner := value.get("message"), dict):
                chat = inner.get("chat")
            if isinstance(chat, dict) and type(chat.get("id")) is int and chat["id"]:
                return int(chat["id"])
    return None


def topic_of(message: Native) -> int | None:
    """The topic that a message stands in; reply threads and the General topic are none, even with a number."""
    if message.get("is_topic_message") is not True:
        return None
    thread = message["message_thread_id"]
    return None if thread == _GENERAL_TOPIC else _id(thread)


def is_topic_root(message: Native, original: Native) -> bool:
    """Whether the "reply" is only the mark of the topic that every message in it carries (PART-15)."""
    if "forum_topic_created" in original:
        return True
    return message.get("is_topic_message") is True and original.get("message_id") == message.get("message_thread_id")


def _message(
    update: Native,
    message: Native,
    kind: Kind,
    key: str,
    bot_id: int,
    identity: Identity | None,
) -> Reading:
    chat = message["chat"]
    chat_id = _id(chat["id"])
    place = _CHATS[chat["type"]]
    if "business_connection_id" in message:
        place = Chat.DELEGATED  # PART-16: two people talk there
    topic = topic_of(message) if "message_thread_id" in message else None
    origin, sender = _author(message, place, bot_id)
    sent_at = message["date"]
    if kind is Kind.EDIT:
        sent_at = message.get("edit_date", sent_at)
    text = message.get("text")
    attachments = 0
    migration = None
    batch = None
    truncated = False
    if text is not None:
        truncated = len(text) * 2 >= _SPLIT_AT - _SPLIT_SLACK and utf16_len(text) >= _SPLIT_AT - _SPLIT_SLACK
    else:
        text = message.get("caption", "")
        attachments = int("animation" in message or any(field in message for field in FILES))
        batch = message.get("media_group_id")
        if "is_automatic_forward" not in message and _CONTENT.isdisjoint(message):
            kind = Kind.SERVICE  # whatever it is, nobody says anything in it
            migration = _migration(message, chat_id)
    if type(text) is not str or (batch is not None and type(batch) is not str):
        raise _ShapeError
    if message.get("is_automatic_forward"):
        kind = Kind.AUTOMATIC_FORWARD  # PART-15
    address = _NOBODY  # so it stays for a forwarded text: somebody else said it
    entities = message.get("entities") or message.get("caption_entities")
    if entities and "forward_origin" not in message and "forward_date" not in message:  # PART-14
        address = _addressed(text, entities, bot_id, identity)
    reply, apparent = None, False
    if "reply_to_message" in message or "external_reply" in message or "reply_to_story" in message:
        reply, apparent = _reply(message, chat_id, bot_id)
    event = Event(
        key=key,
        destination=_destination(bot_id, chat_id, topic),
        chat=place,
        kind=kind,
        origin=origin,
        sender=sender,
        sent_at=datetime.fromtimestamp(sent_at, UTC),
        message=str(_id(message["message_id"])),
        identity_known=identity is not None,
        text=text,
        attachments=attachments,
        batch=batch,
        truncated=truncated,
        mentions_self=address.mentions_self,
        mentions_others=address.mentions_others,
        command=None if "via_bot" in message else address.command,  # its words are another bot's
        reply=reply,
        apparent_reply=apparent,
    )
    return Reading(event=event, native=update, migration=migration)


_NOBODY: Final = _Address()


def _id(value: Any) -> int:
    """A number that can be an id: neither a truth value nor a text nor 0."""
    if type(value) is not int or not value:
        raise _ShapeError
    return value


@lru_cache(maxsize=8192)
def _destination(bot_id: int, channel: int | str, topic: int | None) -> Destination:
    return destination_of(PLATFORM, str(bot_id), str(channel), None if topic is None else str(topic))


def _author(message: Native, place: Chat, bot_id: int) -> tuple[Origin, str | None]:
    """Who wrote it. A stand-in account is never a person (PART-16)."""
    author = message.get("from")
    if "sender_chat" in message or (author is None and place is Chat.BROADCAST):
        return Origin.ANONYMOUS, None
    if author is None:
        return Origin.UNKNOWN, None
    return _person(author, bot_id)


def _person(author: Native, bot_id: int) -> tuple[Origin, str | None]:
    author_id = _id(author["id"])
    if author_id == bot_id:
        return Origin.SELF, f"telegram:{author_id}"
    if author_id in _STAND_INS:
        return Origin.ANONYMOUS, None
    if author_id == _SERVICE_ACCOUNT:
        return Origin.SYNTHETIC, None
    is_bot = author["is_bot"]
    if is_bot is False:
        return Origin.HUMAN, f"telegram:{author_id}"
    return Origin.BOT, f"telegram:{author_id}"


def _addressed(text: str, entities: list[Any], bot_id: int, identity: Identity | None) -> _Address:
    """What the entities say. One that lies (outside of the text, through a surrogate pair) says nothing."""
    address = _Address()
    aside = [entity for entity in entities if entity["type"] in _ASIDE]
    for entity in entities:
        kind = entity["type"]
        if kind not in ("mention", "text_mention", "bot_command"):
            continue
        offset, length = entity["offset"], entity["length"]
        if type(offset) is not int or type(length) is not int or any(_covers(other, offset, length) for other in aside):
            continue
        covered = utf16_slice(text, offset, length)
        if not covered:
            continue
        if kind == "mention":
            if identity is None:
                continue  # the gate is shut anyway
            if covered.lower() == identity.handle:
                address.mentions_self = True
            else:
                address.mentions_others = True
        elif kind == "text_mention":
            if entity["user"]["id"] == bot_id:
                address.mentions_self = True
            else:
                address.mentions_others = True
        elif offset == 0:
            address.command = _command(covered, identity)
    return address


def _covers(other: Native, offset: int, length: int) -> bool:
    start, size = other["offset"], other["length"]
    return bool(start < offset + length and offset < start + size)


def _command(covered: str, identity: Identity | None) -> Command | None:
    name, at, suffix = covered[1:].lower().partition("@")
    if covered[0] != "/" or not name:
        return None
    if not at:
        return Command(name=name, target=Target.NOBODY)
    mine = identity is not None and suffix == identity.suffix
    return Command(name=name, target=Target.SELF if mine else Target.OTHER)


def _reply(message: Native, chat_id: int, bot_id: int) -> tuple[Reply | None, bool]:
    """The true reply, or whether there is only the look of one (PART-15)."""
    original = message.get("reply_to_message")
    if original is None or "via_bot" in message or is_topic_root(message, original):
        return None, True
    if original.get("is_automatic_forward") or original.get("chat", message["chat"])["id"] != chat_id:
        return None, True
    return Reply(message=str(_id(original["message_id"])), author=_reply_author(original, bot_id)), False


def _reply_author(original: Native, bot_id: int) -> Author:
    if "via_bot" in original or "sender_chat" in original:
        return Author.OTHER  # a person sent it through an inline bot, or wrote as a group or channel
    author = original.get("from")
    if author is None:
        return Author.UNKNOWN
    return Author.SELF if _id(author["id"]) == bot_id else Author.OTHER


def _migration(message: Native, chat_id: int) -> Migration | None:
    """IDENT-4: both service messages tell the same pair."""
    if "migrate_to_chat_id" in message:
        return Migration(old=str(chat_id), new=str(_id(message["migrate_to_chat_id"])))
    if "migrate_from_chat_id" in message:
        return Migration(old=str(_id(message["migrate_from_chat_id"])), new=str(chat_id))
    return None


def _tap(
    update: Native,
    query: Native,
    key: str,
    received_at: datetime,
    bot_id: int,
    identity: Identity | None,
) -> Reading:
    """A pressed button. Its message may be inaccessible (no date, no author); a tap itself carries no time."""
    message = query["message"]  # a button of an inline message stands in no chat: malformed
    chat = message["chat"]
    origin, sender = _person(query["from"], bot_id)
    event = Event(
        key=key,
        destination=_destination(bot_id, _id(chat["id"]), topic_of(message)),
        chat=Chat.DELEGATED if "business_connection_id" in message else _CHATS[chat["type"]],
        kind=Kind.TAP,
        origin=origin,
        sender=sender,
        sent_at=received_at,
        message=str(_id(message["message_id"])),
        identity_known=identity is not None,
    )
    return Reading(event=event, native=update)


def _other(update: Native, key: str, received_at: datetime, bot_id: int, identity: Identity | None) -> Reading:
    """Memberships, reactions and kinds that are not known here: things that happen in a chat, never a request."""
    kind_name = next((name for name in update if name != "update_id"), "")
    body = update[kind_name]
    chat = body["chat"]
    author = body.get("from") or body.get("user")
    origin, sender = (Origin.ANONYMOUS, None) if author is None else _person(author, bot_id)
    date = body.get("date")
    message = body.get("message_id")
    event = Event(
        key=key,
        destination=_destination(bot_id, _id(chat["id"]), None),
        chat=Chat.DELEGATED if "business_connection_id" in body else _CHATS[chat["type"]],
        kind=Kind.REACTION if kind_name in ("message_reaction", "message_reaction_count") else Kind.SERVICE,
        origin=origin,
        sender=sender,
        sent_at=received_at if date is None else datetime.fromtimestamp(date, UTC),
        message=None if message is None else str(_id(message)),
        identity_known=identity is not None,
    )
    return Reading(event=event, native=update)
