"""The scene on which people act: who and what there is, who may be where, and updates as they are."""

from collections.abc import Mapping
from typing import Any, Final

from tests.servers.botapi import attachments
from tests.servers.botapi.account import Account, Query
from tests.servers.botapi.arguments import Upload
from tests.servers.botapi.watch import Watch
from tests.servers.botapi.world import Tree

ANONYMOUS_ADMIN: Final[Tree] = {
    "id": 1087968824,
    "is_bot": True,
    "first_name": "Group",
    "username": "GroupAnonymousBot",
}
"""Stands in ``from`` for an admin who writes as the group; ``sender_chat`` is the group."""
LINKED_CHANNEL: Final[Tree] = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
"""Stands in ``from`` for a post that the linked channel forwarded by itself."""


class Stage:
    """Declaring and moving; everything that Telegram would tell the bot goes into the queue of updates."""

    account: Account
    watch: Watch

    # Declaring who and what there is

    def chat(self, chat_id: int, **fields: Any) -> Tree:
        """Declare a chat, or change it: ``type``, ``title``, ``username``, ``is_forum``."""
        chat = self.account.world.chat(chat_id) | fields
        self.account.world.chats[chat_id] = chat
        return chat

    def user(self, user_id: int, **fields: Any) -> Tree:
        """Declare a person, or change them: ``first_name``, ``username``, ``is_bot``, ``language_code``."""
        user = self.account.world.user(user_id) | fields
        self.account.world.users[user_id] = user
        return user

    def topic(self, chat: int, name: str = "Topic", *, thread: int | None = None, creator: int | None = None) -> int:
        """Open a topic, silently; returns its thread id."""
        world = self.account.world
        home = world.chat(chat)
        if home["type"] != "private" and not home.get("is_forum"):
            home = self.chat(chat, is_forum=True)
        opener = None if creator is None else world.user(creator)
        return int(world.open_topic(home, name, opener, thread)["message_id"])

    def drop_topic(self, chat: int, thread: int) -> None:
        """Delete a topic with its messages, silently."""
        world = self.account.world
        world.topics[chat].pop(thread, None)
        for message_id, message in list(world.messages[chat].items()):
            if message.get("message_thread_id") == thread:
                del world.messages[chat][message_id]

    def file(
        self,
        content: bytes | str | int = b"content",
        *,
        name: str = "note.txt",
        mime: str = "text/plain",
        file_id: str | None = None,
    ) -> str:
        """Register a file that can be downloaded, and return its id; a number makes a file of that many bytes."""
        data = bytes(content) if isinstance(content, int) else content.encode() if isinstance(content, str) else content
        return attachments.keep(self.account.world, Upload(name=name, content=data, mime=mime), file_id)

    # Coming, going, moving

    def member(
        self,
        *,
        chat: int,
        user: int | Tree,
        status: str = "member",
        by: int | Tree | None = None,
        notify: bool = False,
        **rights: Any,
    ) -> Tree:
        """Set somebody's membership, the bot's own too: ``creator``, ``administrator``, ``left``, ``kicked``, ..."""
        world = self.account.world
        person = world.user(user)
        new = {**_rights(status), "user": person, "status": status, **rights}
        old = world.members.get((chat, person["id"]), {"user": person, "status": "left"})
        world.members[chat, person["id"]] = new
        if notify:
            kind = "my_chat_member" if person["id"] == world.me["id"] else "chat_member"
            change: Tree = {"chat": world.chat(chat), "from": world.user(by) if by is not None else person}
            change |= {"date": int(world.now), "old_chat_member": old, "new_chat_member": new}
            self.push({kind: change})
        return new

    def block(self, chat: int, why: str | None = None, *, by: int | Tree | None = None, notify: bool = False) -> None:
        """Close a chat to the bot.

        Args:
            chat: which.
            why: ``blocked`` (private chats), ``kicked`` (others), ``left``, ``deactivated``, ``readonly``, ``missing``.
            by: who did it.
            notify: the bot is told with a ``my_chat_member`` update.
        """
        world = self.account.world
        world.close(chat, why or ("blocked" if chat > 0 else "kicked"))
        if notify:
            actor = by if by is not None else (chat if chat > 0 else ANONYMOUS_ADMIN)
            self.member(chat=chat, user=world.bot, status="kicked", by=actor, notify=True)

    def unblock(self, chat: int) -> None:
        """Open a chat again, silently."""
        self.account.world.refusals.pop(chat, None)

    def migrate(self, old: int, new: int, *, by: int | Tree | None = None) -> None:
        """A basic group becomes a supergroup: two service messages, and the old address fails from now on."""
        world = self.account.world
        group = world.chat(old)
        fields = {key: value for key, value in group.items() if key not in {"id", "type"}}
        supergroup = world.chat({"id": new, "type": "supergroup", **fields})
        actor = world.user(ANONYMOUS_ADMIN if by is None else by)
        self.push({"message": world.new_message(group, actor, {"migrate_to_chat_id": new})})
        self.push({"message": world.new_message(supergroup, actor, {"migrate_from_chat_id": old})})
        world.migrations[old] = new

    # Raw updates

    def push(self, update: Mapping[str, Any], *, again: bool = False) -> int | None:
        """Queue an update as it is; what it shows (chat, people, messages, topics, taps) becomes known.

        Args:
            update: with its own ``update_id``, or without one to get the next.
            again: deliver it although its id is below the offset: a repeated delivery.

        Returns: the update's id, or None when the bot didn't ask for this kind.
        """
        for kind, content in update.items():
            if not isinstance(content, dict):
                continue
            if kind == "callback_query":
                self.account.queries[str(content.get("id"))] = Query(asked=self.account.world.now)
                tapped = content.get("message")
                if isinstance(tapped, dict) and tapped.get("date"):
                    self.account.world.learn(tapped)
            elif kind.removeprefix("edited_") in {"message", "channel_post"}:
                self.account.world.learn(content)
        update_id = self.account.updates.put(dict(update), again=again)
        self.watch.changed()
        return update_id


def _rights(status: str) -> Tree:
    match status:
        case "administrator":
            names = (
                "can_be_edited is_anonymous can_manage_chat can_delete_messages can_manage_video_chats "
                "can_restrict_members can_promote_members can_change_info can_invite_users can_post_stories "
                "can_edit_stories can_delete_stories can_send_welcome_messages"
            )
            return dict.fromkeys(names.split(), False)
        case "creator":
            return {"is_anonymous": False}
        case "kicked":
            return {"until_date": 0}
        case _:
            return {}
