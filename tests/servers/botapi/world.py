"""What exists on the emulated Telegram: people, chats, topics, messages, files."""

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from tests.servers.botapi.arguments import Upload
from tests.servers.botapi.errors import ApiError, bad_request, forbidden

Message = dict[str, Any]
Tree = dict[str, Any]

_SHARED: Final = 0
"""Key of the counter of message ids that private chats and basic groups share; a supergroup has its own."""
_ME_IN_MESSAGES: Final = ("id", "is_bot", "first_name", "last_name", "username")


@dataclass(kw_only=True)
class World:
    """The state behind the methods.

    Attributes:
        me: what getMe answers.
        open_world: a chat that nobody has declared comes to be when it is named; otherwise it is not found.
        chats: chat objects by id.
        users: user objects by id.
        messages: by chat and message id, in the order in which a person sees them.
        topics: names of topics by chat and thread id.
        members: ChatMember objects by chat and user.
        refusals: chats that are closed to the bot, with the answer.
        migrations: old basic group to new supergroup.
        files: contents by file id.
        skew_s: how far the emulator's clock is ahead of the machine's.
    """

    me: Tree
    open_world: bool = True
    chats: dict[int, Tree] = field(default_factory=dict)
    users: dict[int, Tree] = field(default_factory=dict)
    messages: defaultdict[int, dict[int, Message]] = field(default_factory=lambda: defaultdict(dict))
    topics: defaultdict[int, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    members: dict[tuple[int, int], Tree] = field(default_factory=dict)
    refusals: dict[int, ApiError] = field(default_factory=dict)
    migrations: dict[int, int] = field(default_factory=dict)
    files: dict[str, Upload] = field(default_factory=dict)
    skew_s: float = 0.0
    _last_ids: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    _groups: int = 0

    @property
    def now(self) -> float:
        """Unix time on the emulator's clock."""
        return time.time() + self.skew_s

    @property
    def bot(self) -> Tree:
        """The bot as it stands in messages."""
        return {key: self.me[key] for key in _ME_IN_MESSAGES if key in self.me}

    def user(self, who: int | Tree) -> Tree:
        """The user object of ``who``; an id that is new gets a plausible person."""
        if isinstance(who, dict):
            known = self.users.get(who["id"], {})
            if not who.keys() <= known.keys() or any(known[key] != value for key, value in who.items()):
                self.users[who["id"]] = who = known | who
            return who
        if who == self.me["id"]:
            return self.bot
        if who not in self.users:
            self.users[who] = {"id": who, "is_bot": False, "first_name": f"Person {who}"}
        return self.users[who]

    def chat(self, which: int | Tree) -> Tree:
        """The chat object of ``which``; an id that is new gets a chat of the kind that its number tells."""
        if isinstance(which, dict):
            known = self.chats.get(which["id"])
            if known == which:
                return known
            self.chats[which["id"]] = merged = (known or {}) | which
            return merged
        if which not in self.chats:
            self.chats[which] = self._new_chat(which)
        return self.chats[which]

    def addressed(self, value: Any) -> Tree:
        """The chat that a bot's call names, by id or by @username.

        Raises:
            ApiError: there is none, or it is closed to the bot, or it has moved.
        """
        if value in (None, ""):
            raise bad_request("chat_id is empty")
        try:
            chat_id = int(value)
        except (TypeError, ValueError):
            chat_id = self._by_username(str(value))
        if new := self.migrations.get(chat_id):
            raise bad_request("group chat was upgraded to a supergroup chat", migrate_to_chat_id=new)
        if refusal := self.refusals.get(chat_id):
            raise ApiError(refusal.code, refusal.description, refusal.parameters)
        if chat_id == 0 or (chat_id not in self.chats and not self.open_world):
            raise bad_request("chat not found")
        if chat_id == self.me["id"]:
            raise ApiError(403, "Forbidden: bots can't send messages to bots")
        return self.chat(chat_id)

    def store(self, chat: Tree, message: Message) -> Message:
        """Keep a message; one without an id gets the next of its chat."""
        chat_id = chat["id"]
        counter = chat_id if chat["type"] in {"supergroup", "channel"} else _SHARED
        if "message_id" in message:
            self._last_ids[counter] = max(self._last_ids[counter], message["message_id"])
        else:
            self._last_ids[counter] += 1
            message = {"message_id": self._last_ids[counter], **message}
        self.messages[chat_id][message["message_id"]] = message
        return message

    def new_message(self, chat: Tree, sender: Tree | None, content: Tree) -> Message:
        """Make and keep a message that is written now."""
        head: Message = {} if sender is None else {"from": sender}
        return self.store(chat, {**head, "chat": chat, "date": int(self.now), **content})

    def learn(self, message: Message) -> None:
        """Take over a message that a test wrote by hand, with the chat, the people and the topic that it shows."""
        chat = message.get("chat")
        if not (isinstance(chat, dict) and isinstance(chat.get("id"), int) and chat.get("type")):
            return
        chat = self.chat(chat)
        for key in ("from", "via_bot"):
            who = message.get(key)
            if isinstance(who, dict) and isinstance(who.get("id"), int):
                self.user(who)
        thread = message.get("message_thread_id")
        if message.get("is_topic_message") and isinstance(thread, int):
            self.topics[chat["id"]].setdefault(thread, "Topic")
        if isinstance(message.get("message_id"), int):
            self.store(chat, message)
        if isinstance(original := message.get("reply_to_message"), dict):
            known = self.messages[chat["id"]].get(original.get("message_id", 0))
            if known is None:
                self.learn(original)

    def open_topic(self, chat: Tree, name: str, creator: Tree | None, thread_id: int | None = None) -> Message:
        """Open a topic in a forum, or in a private chat that has topics; its first message is its root."""
        if chat["type"] != "private":
            self._last_ids[chat["id"]] = max(self._last_ids[chat["id"]], 1)  # 1 is the General topic
        root: Message = {"chat": chat, "date": int(self.now), "is_topic_message": True}
        if creator is not None:
            root = {"from": creator, **root}
        if thread_id is not None:
            root = {"message_id": thread_id, **root}
        root["forum_topic_created"] = {"name": name, "icon_color": 0x6FB9F0}
        root = self.store(chat, root)
        root["message_thread_id"] = root["message_id"]
        self.topics[chat["id"]][root["message_id"]] = name
        return root

    def topic_root(self, chat: Tree, thread_id: int) -> Message:
        """The first message of a topic, as messages in it show it."""
        if root := self.messages[chat["id"]].get(thread_id):
            return {key: value for key, value in root.items() if key != "reply_to_message"}
        name = self.topics[chat["id"]].get(thread_id, "Topic")
        created = {"name": name, "icon_color": 0x6FB9F0}
        return {
            "message_id": thread_id,
            "chat": chat,
            "date": int(self.now),
            "message_thread_id": thread_id,
            "is_topic_message": True,
            "forum_topic_created": created,
        }

    def close(self, chat_id: int, why: str) -> None:
        """Close a chat to the bot: ``blocked``, ``kicked``, ``left``, ``deactivated``, ``readonly`` or ``missing``."""
        kind = self.chat(chat_id)["type"]
        self.refusals[chat_id] = {
            "blocked": forbidden("bot was blocked by the user"),
            "deactivated": forbidden("user is deactivated"),
            "kicked": forbidden(f"bot was kicked from the {kind} chat"),
            "left": forbidden(f"bot is not a member of the {kind} chat"),
            "readonly": bad_request("not enough rights to send text messages to the chat"),
            "missing": bad_request("chat not found"),
        }[why]

    def group_id(self) -> str:
        """A new media_group_id."""
        self._groups += 1
        return str(13_000_000_000 + self._groups)

    def _by_username(self, name: str) -> int:
        wanted = name.removeprefix("@").lower()
        for chat in self.chats.values():
            if chat["type"] != "private" and chat.get("username", "").lower() == wanted:
                return int(chat["id"])
        raise bad_request("chat not found")

    def _new_chat(self, chat_id: int) -> Tree:
        if chat_id > 0:
            person = self.user(chat_id)
            named: Tree = {key: person[key] for key in ("first_name", "last_name", "username") if key in person}
            return {"id": chat_id, **named, "type": "private"}
        kind = "supergroup" if chat_id < -1_000_000_000_000 else "group"
        return {"id": chat_id, "title": f"Room {chat_id}", "type": kind}
