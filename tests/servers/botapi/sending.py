"""Methods that put messages into a chat."""

from typing import Any, Final

from tests.servers.botapi.account import Account, method
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.attachments import Attachment, attach
from tests.servers.botapi.errors import bad_request
from tests.servers.botapi.keyboards import markup_of, visible
from tests.servers.botapi.texts import CAPTION, MESSAGE, format_text, formatted
from tests.servers.botapi.world import Message, Tree

_ALBUM: Final = range(2, 11)
_ALONE_IN_ALBUMS: Final = frozenset({"audio", "document"})


@method("sendMessage")
def send_message(account: Account, arguments: Arguments) -> Message:
    """A text."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
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
    content: Tree = {"text": text}
    if entities:
        content["entities"] = entities
    message = _post(account, arguments, chat, [content])[0]
    account.drafts.pop(chat["id"], None)
    return message


@method("sendMessageDraft")
def send_message_draft(account: Account, arguments: Arguments) -> bool:
    """A text that is still being written; it vanishes with the next message."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    if chat["type"] != "private":
        raise bad_request("message drafts can be sent only to private chats")
    draft_id = arguments.integer("draft_id")
    if draft_id == 0:
        raise bad_request("draft identifier must be non-zero")
    draft: Tree = {"draft_id": draft_id, "text": ""}
    if arguments.text("text"):
        text, entities = formatted(
            arguments,
            account.world,
            field="text",
            entities="entities",
            limit=MESSAGE,
            parse=account.parse,
        )
        draft |= {"text": text, "entities": entities}
    draft["can_stop"] = arguments.flag("can_stop")
    account.drafts.setdefault(chat["id"], {})[draft_id] = draft
    return True


@method("sendDocument")
def send_document(account: Account, arguments: Arguments) -> Message:
    """Any file."""
    return _send_media(account, arguments, "document")


@method("sendPhoto")
def send_photo(account: Account, arguments: Arguments) -> Message:
    """A picture."""
    return _send_media(account, arguments, "photo")


@method("sendVoice")
def send_voice(account: Account, arguments: Arguments) -> Message:
    """A voice message."""
    return _send_media(account, arguments, "voice")


@method("sendAudio")
def send_audio(account: Account, arguments: Arguments) -> Message:
    """Music."""
    return _send_media(account, arguments, "audio")


@method("sendVideo")
def send_video(account: Account, arguments: Arguments) -> Message:
    """A film."""
    return _send_media(account, arguments, "video")


@method("sendAnimation")
def send_animation(account: Account, arguments: Arguments) -> Message:
    """A film without sound."""
    return _send_media(account, arguments, "animation")


@method("sendMediaGroup")
def send_media_group(account: Account, arguments: Arguments) -> list[Message]:
    """An album: separate messages with one ``media_group_id`` and without a keyboard."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    items = arguments.structure("media")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise bad_request("can't parse media JSON object")
    if len(items) not in _ALBUM:
        raise bad_request(f"an album has 2-10 messages, not {len(items)}")
    kinds = {str(item.get("type")) for item in items}
    if len(kinds) > 1 and (alone := sorted(kinds & _ALONE_IN_ALBUMS)):
        raise bad_request(f"{alone[0].capitalize()} can't be mixed with other media types")
    group_id = account.world.group_id()
    contents = []
    for item in items:
        attachment = attach(account.world, arguments, str(item.get("type")), item.get("media"))
        caption = _caption(
            account,
            text=str(item.get("caption") or ""),
            mode=str(item.get("parse_mode") or ""),
            entities=item.get("caption_entities"),
        )
        contents.append({"media_group_id": group_id, **attachment.fields, **caption})
    return _post(account, arguments, chat, contents)


def _send_media(account: Account, arguments: Arguments, kind: str) -> Message:
    chat = account.world.addressed(arguments.values.get("chat_id"))
    attachment: Attachment = attach(account.world, arguments, kind, arguments.values.get(kind, f"attach://{kind}"))
    caption = _caption(
        account,
        text=arguments.text("caption"),
        mode=arguments.text("parse_mode"),
        entities=arguments.structure("caption_entities"),
    )
    return _post(account, arguments, chat, [attachment.fields | caption])[0]


def _caption(account: Account, *, text: str, mode: str, entities: Any) -> Tree:
    result = format_text(
        account.world,
        text=text,
        mode=mode,
        entities=entities,
        limit=CAPTION,
        parse=account.parse,
    )
    if not result.text:
        return {}
    return {"caption": result.text} | ({"caption_entities": result.entities} if result.entities else {})


def _post(account: Account, arguments: Arguments, chat: Tree, contents: list[Tree]) -> list[Message]:
    """Put messages into the chat, with all that every kind of message shares."""
    world = account.world
    shared: Tree = {}
    if thread := arguments.integer("message_thread_id"):
        shared |= _thread(account, chat, thread)
    shared |= _reply(account, arguments, chat)
    if markup := visible(markup_of(arguments, chat)):
        shared["reply_markup"] = markup
    if arguments.flag("protect_content"):
        shared["has_protected_content"] = True
    ephemeral = arguments.structure("ephemeral_message_parameters") or {}
    if receiver := arguments.integer("receiver_user_id") or int(ephemeral.get("receiver_user_id") or 0):
        if chat["type"] == "private":
            raise bad_request("ephemeral messages can be sent only to groups")
        shared["receiver_user"] = world.user(receiver)
    if account.limits is not None:
        account.flood.admit(account.limits, chat["id"], len(contents))
    sender = None if chat["type"] == "channel" else world.bot
    if sender is None:
        shared["sender_chat"] = chat
    return [world.new_message(chat, sender, shared | content) for content in contents]


def _thread(account: Account, chat: Tree, thread: int) -> Tree:
    if thread == 1 or thread not in account.world.topics[chat["id"]]:
        if chat["type"] == "private":
            return {}  # a deleted topic: Telegram posts to the main chat and says ok
        raise bad_request("message thread not found")
    root = account.world.topic_root(chat, thread)
    return {"message_thread_id": thread, "is_topic_message": True, "reply_to_message": root}


def _reply(account: Account, arguments: Arguments, chat: Tree) -> Tree:
    parameters = arguments.structure("reply_parameters")
    if parameters is None and arguments.integer("reply_to_message_id"):
        parameters = {
            "message_id": arguments.integer("reply_to_message_id"),
            "allow_sending_without_reply": arguments.flag("allow_sending_without_reply"),
        }
    if not parameters:
        return {}
    if not isinstance(parameters, dict):
        raise bad_request("can't parse reply parameters JSON object")
    other = parameters.get("chat_id", chat["id"])
    home = chat if str(other) == str(chat["id"]) else account.world.addressed(other)
    target = account.world.messages[home["id"]].get(int(parameters.get("message_id") or 0))
    if target is None:
        if parameters.get("allow_sending_without_reply"):
            return {}
        raise bad_request("message to be replied not found")
    fields: Tree = {}
    if quote := parameters.get("quote"):
        position = (target.get("text") or target.get("caption") or "").find(quote)
        if position < 0:
            raise bad_request("QUOTE_TEXT_INVALID")
        fields["quote"] = {"text": quote, "position": position, "is_manual": True}
    if home is chat:
        if target.get("is_topic_message") and "message_thread_id" in target:
            fields |= {"message_thread_id": target["message_thread_id"], "is_topic_message": True}
        fields["reply_to_message"] = {key: value for key, value in target.items() if key != "reply_to_message"}
    else:
        fields["external_reply"] = {
            "origin": {"type": "hidden_user", "sender_user_name": "Somebody", "date": target["date"]},
            "chat": home,
            "message_id": target["message_id"],
        }
    return fields
