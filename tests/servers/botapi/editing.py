"""Methods that change or remove messages, and small answers to people."""

from typing import Any, Final

from tests.servers.botapi.account import Account, method
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.errors import bad_request, forbidden
from tests.servers.botapi.keyboards import markup_of, visible
from tests.servers.botapi.texts import CAPTION, MESSAGE, formatted
from tests.servers.botapi.world import Message, Tree

ANSWER_CHARS: Final = 200
ANSWER_S: Final = 15 * 60
_ACTIONS: Final = frozenset(
    {
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    },
)
_REACTION_EMOJI: Final = (
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 "
    "👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"
)
_REACTIONS: Final = frozenset(_REACTION_EMOJI.split())
_CAPTIONED: Final = ("photo", "document", "voice", "audio", "video", "animation")
_UNCHANGED: Final = (
    "message is not modified: specified new message content and reply markup are exactly the same as "
    "a current content and reply markup of the message"
)
_RIGHTS: Final = frozenset({"administrator", "creator"})


@method("editMessageText")
def edit_message_text(account: Account, arguments: Arguments) -> Message:
    """Another text, and another inline keyboard or none."""
    chat, message = _editable(account, arguments)
    if "text" not in message:
        raise bad_request("there is no text in the message to edit")
    if not arguments.text("text"):
        raise bad_request("message text is empty")
    text, entities = formatted(
        arguments,
        account.world,
        field="text",
        entities="entities",
        limit=MESSAGE,
        parse=account.parse,
    )
    return _change(account, arguments, chat, message, {"text": text, "entities": entities or None})


@method("editMessageCaption")
def edit_message_caption(account: Account, arguments: Arguments) -> Message:
    """Another caption, and another inline keyboard or none."""
    chat, message = _editable(account, arguments)
    if not any(kind in message for kind in _CAPTIONED):
        raise bad_request("there is no caption in the message to edit")
    text, entities = formatted(
        arguments,
        account.world,
        field="caption",
        entities="caption_entities",
        limit=CAPTION,
        parse=account.parse,
    )
    return _change(account, arguments, chat, message, {"caption": text or None, "caption_entities": entities or None})


@method("editMessageReplyMarkup")
def edit_message_reply_markup(account: Account, arguments: Arguments) -> Message:
    """Another inline keyboard or none."""
    chat, message = _editable(account, arguments)
    return _change(account, arguments, chat, message, {})


@method("deleteMessage")
def delete_message(account: Account, arguments: Arguments) -> bool:
    """Remove one message."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    message_id = arguments.integer("message_id")
    message = account.world.messages[chat["id"]].get(message_id)
    if message is None:
        raise bad_request("message to delete not found")
    if not _may_delete(account, chat, message):
        raise bad_request("message can't be deleted for everyone")
    del account.world.messages[chat["id"]][message_id]
    return True


@method("deleteMessages")
def delete_messages(account: Account, arguments: Arguments) -> bool:
    """Remove up to 100 messages; those that are not there are skipped."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    wanted = arguments.structure("message_ids")
    if not isinstance(wanted, list) or not 1 <= len(wanted) <= 100:
        raise bad_request("message identifiers are not specified")
    for message_id in wanted:
        message = account.world.messages[chat["id"]].get(int(message_id))
        if message is not None and _may_delete(account, chat, message):
            del account.world.messages[chat["id"]][int(message_id)]
    return True


@method("answerCallbackQuery")
def answer_callback_query(account: Account, arguments: Arguments) -> bool:
    """Tell the person who tapped; only the first answer to a tap is shown."""
    query = account.queries.get(arguments.text("callback_query_id"))
    if query is None or query.answer is not None or account.world.now - query.asked > ANSWER_S:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    if len(arguments.text("text")) > ANSWER_CHARS:
        raise bad_request("MESSAGE_TOO_LONG")
    query.answer = {"text": arguments.text("text"), "show_alert": arguments.flag("show_alert")}
    return True


@method("sendChatAction")
def send_chat_action(account: Account, arguments: Arguments) -> bool:
    """Show that the bot is typing, for five seconds."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    action = arguments.text("action")
    if action not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    thread = arguments.integer("message_thread_id")
    if thread > 1 and chat["type"] != "private" and thread not in account.world.topics[chat["id"]]:
        raise bad_request("message thread not found")
    account.actions.append((chat["id"], action))
    return True


@method("setMessageReaction")
def set_message_reaction(account: Account, arguments: Arguments) -> bool:
    """Put one emoji under a message, or take it away."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    message_id = arguments.integer("message_id")
    if message_id not in account.world.messages[chat["id"]]:
        raise bad_request("message to react not found")
    wanted: Any = arguments.structure("reaction") or []
    if not isinstance(wanted, list) or len(wanted) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    for reaction in wanted:
        if reaction.get("type") == "emoji" and reaction.get("emoji") not in _REACTIONS:
            raise bad_request("REACTION_INVALID")
    account.reactions[chat["id"], message_id] = wanted
    return True


def _editable(account: Account, arguments: Arguments) -> tuple[Tree, Message]:
    if arguments.text("inline_message_id"):
        raise bad_request("MESSAGE_ID_INVALID")
    chat = account.world.addressed(arguments.values.get("chat_id"))
    message_id = arguments.integer("message_id")
    if message_id <= 0:
        raise bad_request("message identifier is not specified")
    message = account.world.messages[chat["id"]].get(message_id)
    if message is None:
        raise bad_request("message to edit not found")
    if message.get("from", {}).get("id") != account.world.me["id"]:
        raise bad_request("message can't be edited")
    return chat, message


def _change(account: Account, arguments: Arguments, chat: Tree, message: Message, content: Tree) -> Message:
    """Store the edited message as a new value, so that what was answered before stays as it was."""
    wanted = message | content | {"reply_markup": visible(markup_of(arguments, chat, inline_only=True))}
    wanted = {key: value for key, value in wanted.items() if value is not None}
    if wanted == message:
        raise bad_request(_UNCHANGED)
    wanted["edit_date"] = int(account.world.now)
    account.world.messages[chat["id"]][message["message_id"]] = wanted
    return wanted


def _may_delete(account: Account, chat: Tree, message: Message) -> bool:
    me = account.world.me["id"]
    if message.get("from", {}).get("id") == me or chat["type"] == "private":
        return True
    status = account.world.members.get((chat["id"], me), {}).get("status")
    if status == "kicked":
        raise forbidden(f"bot was kicked from the {chat['type']} chat")
    return status in _RIGHTS
