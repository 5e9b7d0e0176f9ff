"""Signs of work under way: typing, and an answer that grows. Through the door like everything else, but not kept."""

import asyncio
from types import TracebackType
from typing import Self

from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Place
from bot.model.part import Delivered
from bot.ports.channel import Channel, Reply
from policy.boundary import Withheld
from policy.event import Chat
from policy.ruleset import Streaming

TYPING_AFTER_S = 0.7
"""An agent that answers at once needs no sign."""
TYPING_EVERY_S = 4.0
TYPING_LONGEST_S = 300.0
FRAGMENT_EVERY_S = 1.0
FRAGMENT_LONGEST = 10_000
"""Characters; an answer that is longer appears when it is whole, for each fragment is formatted anew."""


class Typing:
    """Shows the typing sign while its block runs, if it runs long enough."""

    def __init__(self, channel: Channel, dispatcher: Dispatcher, place: Place, to: Reply) -> None:
        self._channel = channel
        self._dispatcher = dispatcher
        self._place = place
        self._to = to
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_later(TYPING_AFTER_S, self._begin)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._show(), name="typing")

    async def _show(self) -> None:
        for _ in range(int(TYPING_LONGEST_S / TYPING_EVERY_S)):
            sign = self._channel.typing(to=self._to)
            if sign is None or isinstance(await self._dispatcher.show(sign, self._place), Withheld):
                return
            await asyncio.sleep(TYPING_EVERY_S)


class Stream:
    """An answer that grows before people's eyes, where the policy wants it and the channel can.

    Attributes:
        text: the latest fragment that the agent gave, shown or not.
        message: the platform's id of the message that has been growing; None where there is none to edit.
    """

    def __init__(
        self,
        channel: Channel,
        dispatcher: Dispatcher,
        place: Place,
        to: Reply,
        streaming: Streaming,
        *,
        key: str,
    ) -> None:
        self._channel = channel
        self._dispatcher = dispatcher
        self._place = place
        self._to = to
        self._streaming = streaming
        if streaming is Streaming.DRAFT and place.chat is not Chat.DIRECT:
            self._streaming = Streaming.OFF  # platforms know drafts in one-to-one chats only
        self._key = key
        self._next_at = 0.0
        self.text = ""
        self.message: str | None = None

    async def grow(self, text: str) -> None:
        """Show the answer so far, at most once a second."""
        self.text = text
        now = asyncio.get_running_loop().time()
        if self._streaming is Streaming.OFF or now < self._next_at or not text.strip():
            return
        if len(text) > FRAGMENT_LONGEST:
            return
        self._next_at = now + FRAGMENT_EVERY_S
        part = self._channel.present_fragment(
            text,
            to=self._to,
            streaming=self._streaming,
            stream=self._key,
            message=self.message,
        )
        if part is None:
            return
        receipt = await self._dispatcher.show(part, self._place)
        if isinstance(receipt, Delivered) and receipt.messages and self._streaming is Streaming.EDIT:
            self.message = self.message or receipt.messages[0]
