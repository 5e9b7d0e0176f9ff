"""The emulator as tests use it."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.servers.botapi.account import Account
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.calls import Call, Violation
from tests.servers.botapi.control import steer
from tests.servers.botapi.dispatch import Dispatch, RawAnswer
from tests.servers.botapi.errors import ApiError
from tests.servers.botapi.faults import CutError, Fault, FloodControl
from tests.servers.botapi.http import Front
from tests.servers.botapi.people import People
from tests.servers.botapi.schema import known_parameters
from tests.servers.botapi.texts import Parse
from tests.servers.botapi.trouble import Trouble
from tests.servers.botapi.updates import UpdateQueue
from tests.servers.botapi.watch import Watch
from tests.servers.botapi.webhook import Webhook
from tests.servers.botapi.world import Message, Tree, World

T = TypeVar("T")


class BotApi(People, Trouble):
    """A Telegram with one bot, on 127.0.0.1.

    ``async with BotApi() as api`` listens; leaving stops. It may be entered again: it keeps its port and all that
    happened, like a Telegram that was away for a while.

    Args:
        token: the bot's secret; its number is the bot's id.
        username: the bot's handle.
        bot_id: its id, when it isn't the token's number.
        name: its first name.
        port: 0 takes a free one.
        strict: compare the parameters of every call with aiogram's models (its import takes seconds).
        parse: ``none`` leaves TDLib out of what the bot sends, for speed.
        open_world: chats come to be when the bot names them; otherwise undeclared ones are not found.
        first_update_id: where the numbering of updates begins.
        record: keep all calls.
    """

    def __init__(
        self,
        *,
        token: str | None = None,
        username: str = "agent_bot",
        bot_id: int | None = None,
        name: str = "Agent",
        port: int = 0,
        strict: bool = False,
        parse: Parse = "tdlib",
        open_world: bool = True,
        first_update_id: int = 1000,
        record: bool = True,
    ) -> None:
        self.token = token or f"{bot_id or 42}:TOKEN"
        self.port = port
        self.watch = Watch()
        self._me: Tree = {
            "id": bot_id or int(self.token.partition(":")[0]),
            "is_bot": True,
            "first_name": name,
            "username": username,
            "can_join_groups": True,
            "can_read_all_group_messages": True,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
        }
        self._parse = parse
        self._open_world = open_world
        self._first_update_id = first_update_id
        self._dispatch: Dispatch
        self._build(strict=strict, record=record)
        self._front = Front(lambda: self._dispatch, lambda name, options: steer(self, name, options))

    def _build(self, *, strict: bool, record: bool) -> None:
        world = World(me=dict(self._me), open_world=self._open_world)
        updates = UpdateQueue(lambda: world.now, self._first_update_id)
        self.account = Account(
            token=self.token,
            world=world,
            updates=updates,
            webhook=Webhook(updates, lambda: world.now, self._webhook_reply),
            parse=self._parse,
            flood=FloodControl(lambda: world.now),
        )
        self._dispatch = Dispatch(self.account, self.watch, strict=strict, record=record)

    # Life

    async def start(self) -> Self:
        """Listen; what strictness needs is loaded before, or the first call would wait for it."""
        if self._dispatch.strict:
            await asyncio.to_thread(known_parameters)
        self.port = await self._front.start(self.port)
        return self

    async def stop(self) -> None:
        """Stop listening, cut all connections; the state stays."""
        self.account.updates.end_poll(CutError())
        for fault in self._dispatch.faults:
            if fault.kind == "hang":
                fault.cut()
        await self.account.webhook.close()
        await self._front.stop()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def reset(self) -> None:
        """Forget all that happened; the address, the token and the options stay."""
        self.account.updates.end_poll(CutError())
        for fault in self._dispatch.faults:
            fault.cut()
        await self.account.webhook.close()
        self._build(strict=self._dispatch.strict, record=self._dispatch.record)

    @property
    def url(self) -> str:
        """The address, for what is configured as the Bot API's server."""
        return f"http://127.0.0.1:{self.port}"

    # Looking

    @property
    def me(self) -> Tree:
        """What getMe answers; change it in place."""
        return self.account.world.me

    @property
    def world(self) -> World:
        """What exists: chats, people, messages, files."""
        return self.account.world

    @property
    def calls(self) -> list[Call]:
        """All calls, oldest first."""
        return self._dispatch.calls

    @property
    def totals(self) -> dict[str, int]:
        """The number of calls by method."""
        return self._dispatch.total

    @property
    def lint(self) -> list[Violation]:
        """What was wrong without being refused."""
        return self._dispatch.lint

    def calls_of(self, *methods: str) -> list[Call]:
        """The calls of these methods."""
        wanted = {name.lower() for name in methods}
        return [call for call in self.calls if call.method.lower() in wanted]

    def calls_except(self, *methods: str) -> list[Call]:
        """The calls of all other methods."""
        unwanted = {name.lower() for name in methods}
        return [call for call in self.calls if call.method.lower() not in unwanted]

    def screen(self, chat: int, *, thread: int | None = None) -> list[Message]:
        """Everything that a person sees in a chat, or in a topic of it, in order."""
        shown = self.world.messages[chat].values()
        return [message for message in shown if thread is None or message.get("message_thread_id") == thread]

    def sent(self, chat: int, *, thread: int | None = None) -> list[Message]:
        """The bot's messages that a person sees there, in order, as they are after all edits."""
        me = self.me["id"]
        return [
            message
            for message in self.screen(chat, thread=thread)
            if message.get("from", {}).get("id") == me
            or ("from" not in message and message["chat"]["type"] == "channel")
        ]

    def texts(self, chat: int, *, thread: int | None = None) -> list[str]:
        """The same, only the words."""
        return [message.get("text") or message.get("caption") or "" for message in self.sent(chat, thread=thread)]

    def drafts(self, chat: int) -> list[Tree]:
        """What the bot is still writing there."""
        return list(self.account.drafts.get(chat, {}).values())

    @property
    def pending(self) -> list[int]:
        """Ids of the updates that the bot has not acknowledged."""
        return [entry.update_id for entry in self.account.updates.entries]

    @property
    def toasts(self) -> dict[str, Tree]:
        """What people were told after a tap, by callback query id."""
        return {key: query.answer for key, query in self.account.queries.items() if query.answer is not None}

    @property
    def unanswered(self) -> list[str]:
        """Taps whose button still spins, by callback query id."""
        return [key for key, query in self.account.queries.items() if query.answer is None]

    # Waiting

    async def wait_for(self, predicate: Callable[[], T], timeout: float = 10.0) -> T:
        """Wait until ``predicate()`` is true and return its value; it is tried after every call and update.

        Raises:
            TimeoutError: not within ``timeout`` seconds; the message shows the last calls.
        """
        return await self.watch.wait_for(predicate, timeout, self._describe)

    async def wait_sent(
        self, chat: int, count: int = 1, *, thread: int | None = None, timeout: float = 10.0
    ) -> list[Message]:
        """Wait until a chat shows at least ``count`` messages of the bot, and return them all."""
        await self.wait_for(lambda: len(self.sent(chat, thread=thread)) >= count, timeout)
        return self.sent(chat, thread=thread)

    async def wait_call(self, method: str, count: int = 1, *, timeout: float = 10.0) -> Call:
        """Wait until a method has been called ``count`` times and the last one is answered, and return that one."""

        def found() -> Call | None:
            calls = self.calls_of(method)
            return calls[count - 1] if len(calls) >= count and calls[count - 1].fate != "open" else None

        call = await self.wait_for(found, timeout)
        assert call is not None
        return call

    async def wait_drained(self, timeout: float = 10.0) -> None:
        """Wait until the bot has acknowledged every update."""
        await self.wait_for(lambda: not self.account.updates.entries, timeout)

    @property
    def faults(self) -> list[Fault]:
        """Trouble on order; the first rule that applies to a call decides."""
        return self._dispatch.faults

    def _describe(self) -> str:
        recent = [repr(call) for call in self.calls_except("getUpdates")[-8:]]
        return f"pending updates {self.pending[:8]}; last calls: {'; '.join(recent) or 'none'}"

    async def _webhook_reply(self, method: str, values: dict[str, Any]) -> None:
        try:
            await self._dispatch.run(method, Arguments(values=values))
        except (ApiError, RawAnswer, CutError) as error:
            self.lint.append(Violation(method, f"the webhook's reply failed: {error}"))
