"""Methods about the bot itself, chats and their members."""

from typing import Any

import orjson

from tests.servers.botapi.account import Account, method
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.errors import bad_request
from tests.servers.botapi.world import Tree

_NO_GIFTS: Tree = dict.fromkeys(
    ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"),
    False,
)


@method("getMe")
def get_me(account: Account, _: Arguments) -> Tree:
    """The bot."""
    return account.world.me


@method("getChat")
def get_chat(account: Account, arguments: Arguments) -> Tree:
    """All that is known of a chat."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    return {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": _NO_GIFTS, **chat}


@method("getChatMember")
def get_chat_member(account: Account, arguments: Arguments) -> Tree:
    """One member; people whom the chat has never seen are not found."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    user_id = arguments.integer("user_id")
    if member := account.world.members.get((chat["id"], user_id)):
        return member
    if user_id == account.world.me["id"]:
        return {"status": "member", "user": account.world.bot}
    wrote = any(message.get("from", {}).get("id") == user_id for message in account.world.messages[chat["id"]].values())
    if not wrote and chat["id"] != user_id:
        raise bad_request("member not found" if user_id in account.world.users else "PARTICIPANT_ID_INVALID")
    return {"status": "member", "user": account.world.user(user_id)}


@method("getChatAdministrators")
def get_chat_administrators(account: Account, arguments: Arguments) -> list[Tree]:
    """Those who were declared as such."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    if chat["type"] == "private":
        raise bad_request("there are no administrators in the private chat")
    return [
        member
        for (chat_id, _), member in account.world.members.items()
        if chat_id == chat["id"] and member["status"] in {"creator", "administrator"}
    ]


@method("getChatMemberCount")
def get_chat_member_count(account: Account, arguments: Arguments) -> int:
    """The number of people who were declared or have written, and the bot."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    people = {user_id for chat_id, user_id in account.world.members if chat_id == chat["id"]}
    people |= {message["from"]["id"] for message in account.world.messages[chat["id"]].values() if "from" in message}
    return len(people | {account.world.me["id"]})


@method("leaveChat")
def leave_chat(account: Account, arguments: Arguments) -> bool:
    """Leave; the chat is closed to the bot then."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    if chat["type"] == "private":
        raise bad_request("chat member status can't be changed in private chats")
    account.world.close(chat["id"], "left")
    return True


@method("createForumTopic")
def create_forum_topic(account: Account, arguments: Arguments) -> Tree:
    """Open a topic."""
    chat = account.world.addressed(arguments.values.get("chat_id"))
    name = arguments.text("name")
    if not chat.get("is_forum") and chat["type"] != "private":
        raise bad_request("the chat is not a forum")
    if not 1 <= len(name) <= 128:
        raise bad_request("TOPIC_TITLE_EMPTY" if not name else "TOPIC_TITLE_INVALID")
    root = account.world.open_topic(chat, name, account.world.bot)
    return {"message_thread_id": root["message_id"], "name": name, "icon_color": 0x6FB9F0}


@method("setMyCommands")
def set_my_commands(account: Account, arguments: Arguments) -> bool:
    """Set the list that the apps offer."""
    commands: Any = arguments.structure("commands")
    if not isinstance(commands, list) or len(commands) > 100:
        raise bad_request("can't parse list of bot commands")
    for command in commands:
        name, description = str(command.get("command", "")), str(command.get("description", ""))
        if not name.isascii() or not name.replace("_", "a").isalnum() or name != name.lower() or len(name) > 32:
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= len(description) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    account.commands[_scope(arguments)] = commands
    return True


@method("getMyCommands")
def get_my_commands(account: Account, arguments: Arguments) -> list[Tree]:
    """The list that was set for exactly this scope and language."""
    return account.commands.get(_scope(arguments), [])


@method("deleteMyCommands")
def delete_my_commands(account: Account, arguments: Arguments) -> bool:
    """Forget the list of this scope and language."""
    account.commands.pop(_scope(arguments), None)
    return True


def _scope(arguments: Arguments) -> str:
    scope = arguments.structure("scope") or {"type": "default"}
    return f"{orjson.dumps(scope, option=orjson.OPT_SORT_KEYS).decode()}{arguments.text('language_code')}"


@method("setChatMenuButton")
@method("setMyName")
@method("setMyDescription")
@method("setMyShortDescription")
@method("setMyDefaultAdministratorRights")
@method("close")
@method("logOut")
def accept(_: Account, __: Arguments) -> bool:
    """Accepted without an effect."""
    return True
