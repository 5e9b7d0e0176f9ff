"""What people do on the emulated Telegram: write, edit, tap, react."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tests.servers import tdlib
from tests.servers.botapi import attachments, keyboards
from tests.servers.botapi.stage import Stage
from tests.servers.botapi.world import Message, Tree

_MEDIA: Final = ("photo", "document", "voice", "audio", "video", "animation", "video_note", "sticker")


class People(Stage):
    """The people's side; every act puts the update that Telegram would send into the queue."""

    # Writing

    def say(
        self,
        *,
        chat: int | Tree,
        sender: int | Tree | None = None,
        text: str | None = None,
        markdown: str | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        **extra: Any,
    ) -> Message:
        """A person writes a message.

        Args:
            chat: where.
            sender: who; in a private chat the other side, if it isn't given.
            text: the text, or the caption when there is a file; TDLib finds mentions, commands, links in it.
            markdown: the same, as typed with ``**bold**`` and ```` `code` ````.
            thread: the topic.
            reply_to: id of the message that is answered.
            **extra: fields of the message as they are; ``photo``, ``document`` and the like may be a file id.

        Returns: the message.
        """
        update, message = self._written(chat, sender, text, markdown, thread, reply_to, extra)
        if self._shown_to_bot(message):
            self.push({update: message})
        return message

    def album(
        self,
        *,
        chat: int | Tree,
        sender: int | Tree | None = None,
        items: Iterable[str | Mapping[str, Any]],
        thread: int | None = None,
        reply_to: int | None = None,
    ) -> list[Message]:
        """A person sends an album: separate messages with one ``media_group_id``.

        Args:
            chat: where.
            sender: who.
            items: file ids of pictures, or mappings such as ``{"video": file_id, "text": "the caption"}``.
            thread: the topic.
            reply_to: id of the message that is answered.
        """
        group_id = self.account.world.group_id()
        messages = []
        for item in items:
            fields = {"photo": item} if isinstance(item, str) else dict(item)
            text, markdown = fields.pop("text", None), fields.pop("markdown", None)
            messages.append(
                self.say(
                    chat=chat,
                    sender=sender,
                    text=text,
                    markdown=markdown,
                    thread=thread,
                    reply_to=reply_to,
                    media_group_id=group_id,
                    **fields,
                ),
            )
        return messages

    def edit(
        self,
        *,
        chat: int,
        message_id: int,
        text: str | None = None,
        markdown: str | None = None,
        **extra: Any,
    ) -> Message:
        """A person edits a message; without a new text it is one of the edits that nobody sees, such as a preview."""
        world = self.account.world
        message = world.messages[chat][message_id]
        changed = message | {"edit_date": int(world.now)} | extra
        if text is not None or markdown is not None:
            body = "text" if "text" in message else "caption"
            for key in ("text", "caption", "entities", "caption_entities"):
                changed.pop(key, None)
            changed |= self._body(text, markdown, caption=body == "caption")
        world.messages[chat][message_id] = changed
        kind = "edited_channel_post" if message["chat"]["type"] == "channel" else "edited_message"
        self.push({kind: changed})
        return changed

    # Tapping and reacting

    def press(
        self,
        *,
        chat: int,
        sender: int | Tree | None = None,
        message_id: int | None = None,
        button: str | None = None,
        data: str | None = None,
        inaccessible: bool = False,
        force: bool = False,
    ) -> str:
        """A person taps a button.

        Args:
            chat: where.
            sender: who; in a private chat the other side, if it isn't given.
            message_id: the message; otherwise the newest of the bot that has the button.
            button: the words on it.
            data: or what it sends.
            inaccessible: the message has become too old for the bot to see.
            force: tap although there is no such button, as a forged client can.

        Returns: the callback query id.

        Raises:
            LookupError: the chat shows no such button.
        """
        world = self.account.world
        shown = world.messages[chat]
        ids = [message_id] if message_id is not None else list(reversed(shown))
        found = next(((key, tap) for key in ids if (tap := _tap(shown.get(key), button, data)) is not None), None)
        if found is None:
            if not force or message_id is None or data is None:
                raise LookupError(f"no button {button or data!r} in chat {chat}")
            found = message_id, data
        message = shown.get(found[0])
        if inaccessible or message is None:
            message = {"chat": world.chat(chat), "message_id": found[0], "date": 0}
        query_id = str(4_000_000_000_000_000 + len(self.account.queries) + 1)
        query = {
            "id": query_id,
            "from": world.user(chat if sender is None else sender),
            "message": message,
            "chat_instance": str(-chat),
            "data": found[1],
        }
        self.push({"callback_query": query})
        return query_id

    def react(
        self, *, chat: int, message_id: int, sender: int | Tree, emoji: str | None, old: str | None = None
    ) -> None:
        """A person puts an emoji under a message, or takes it away (None)."""
        world = self.account.world

        def reactions(value: str | None) -> list[Tree]:
            return [] if value is None else [{"type": "emoji", "emoji": value}]

        update: Tree = {
            "chat": world.chat(chat),
            "message_id": message_id,
            "user": world.user(sender),
            "date": int(world.now),
            "old_reaction": reactions(old),
            "new_reaction": reactions(emoji),
        }
        self.push({"message_reaction": update})

    def stop_generation(self, *, chat: int, draft_id: int) -> None:
        """A person stops a draft that the bot is writing."""
        self.account.drafts.get(chat, {}).pop(draft_id, None)
        self.push({"stopped_message_generation": {"chat": self.account.world.chat(chat), "draft_id": draft_id}})

    def _written(
        self,
        chat: int | Tree,
        sender: int | Tree | None,
        text: str | None,
        markdown: str | None,
        thread: int | None,
        reply_to: int | None,
        extra: Tree,
    ) -> tuple[str, Message]:
        world = self.account.world
        home = world.chat(chat)
        fields: Tree = dict(extra)
        for kind in _MEDIA:
            if isinstance(reference := fields.get(kind), str):
                fields |= attachments.fields_of(world, kind, reference)
        content = self._body(text, markdown, caption=any(kind in fields for kind in _MEDIA)) | fields
        if thread is not None:
            if thread not in world.topics[home["id"]]:
                raise LookupError(f"chat {home['id']} has no topic {thread}; declare it with topic()")
            content |= {"message_thread_id": thread, "is_topic_message": True}
            content.setdefault("reply_to_message", world.topic_root(home, thread))
        if reply_to is not None:
            target = world.messages[home["id"]][reply_to]
            content["reply_to_message"] = {key: value for key, value in target.items() if key != "reply_to_message"}
        if home["type"] == "channel":
            return "channel_post", world.new_message(home, None, {"sender_chat": home, **content})
        who = world.user(home["id"] if sender is None and home["type"] == "private" else _required(sender))
        return "message", world.new_message(home, who, content)

    def _body(self, text: str | None, markdown: str | None, *, caption: bool) -> Tree:
        if markdown is not None:
            typed = tdlib.parse_typed(markdown)
            shown, entities = typed.text, tdlib.merged(*typed)
        elif text is not None:
            shown, entities = text, tdlib.detect(text)
        else:
            return {}
        body: Tree = {"caption" if caption else "text": shown}
        if entities:
            body["caption_entities" if caption else "entities"] = entities
        return body

    def _shown_to_bot(self, message: Message) -> bool:
        """With privacy mode on a bot in a group sees commands, mentions of it and replies to it only."""
        me = self.account.world.me
        if me.get("can_read_all_group_messages", True) or message["chat"]["type"] in {"private", "channel"}:
            return True
        if message.get("reply_to_message", {}).get("from", {}).get("id") == me["id"]:
            return True
        body = message.get("text") or message.get("caption") or ""
        handle = f"@{me.get('username', '')}".lower()
        for entity in message.get("entities") or message.get("caption_entities") or ():
            words = tdlib.covered(body, entity).lower()
            if entity["type"] == "bot_command" and ("@" not in words or words.endswith(handle)):
                return True
            if entity["type"] == "mention" and words == handle:
                return True
            if entity["type"] == "text_mention" and entity["user"]["id"] == me["id"]:
                return True
        return False


def _required(sender: int | Tree | None) -> int | Tree:
    if sender is None:
        raise TypeError("who writes? a group needs a sender")
    return sender


def _tap(message: Message | None, words: str | None, data: str | None) -> str | None:
    """What the button with these words or this data sends, None when the message has none."""
    for button in keyboards.buttons(message or {}):
        sends = button.get("callback_data")
        if sends is not None and (words is None or button["text"] == words) and (data is None or sends == data):
            return str(sends)
    return None
