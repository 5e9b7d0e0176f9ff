"""Signs of work under way: typing, and an answer that grows. Through the door like everything else, but not kept."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Place
from bot.model.part import Delivered, Part, Receipt
from bot.ports.channel import Channel, Reply
from policy.boundary import Withheld
from policy.decision import Audience
from policy.event import Chat
from policy.ruleset import Streaming

TYPING_AFTER_S = 0.7
"""An agent that answers at once needs no sign."""
TYPING_EVERY_S = 4.0
TYPING_LONGEST_S = 300.0
MARK_LONGEST_S = 1.0
"""An answer waits no longer for the mark that its request was read, nor for the end of the typing sign."""
FRAGMENT_EVERY_S = 1.0
FRAGMENT_LONGEST = 10_000
"""Characters; an answer that is longer appears when it is whole, for each fragment is formatted anew."""


class Signs:
    """How people are shown signs: where, in answer to what, and for whom."""

    def __init__(self, channel: Channel, dispatcher: Dispatcher, place: Place, to: Reply, audience: Audience) -> None:
        """Args: audience: of the decision that the signs rest on."""
        self.channel = channel
        self.place = place
        self.to = to
        self._dispatcher = dispatcher
        self._audience = audience

    async def show(self, part: Part) -> Receipt | Withheld:
        """Show one, through the door."""
        return await self._dispatcher.show(part, self.place, written_for=self._audience)


class Attention:
    """While its block runs: the request is marked as read at once, and the typing sign shows if it runs long enough."""

    def __init__(self, signs: Signs) -> None:
        self._signs = signs
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._marking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        mark = self._signs.channel.read_mark(to=self._signs.to)
        if mark is not None:
            self._marking = asyncio.create_task(self._mark(mark), name="read mark")
        self.resume()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.rest()
        if self._marking is not None:
            await asyncio.wait((self._marking,), timeout=MARK_LONGEST_S)
            self._marking.cancel()
            await asyncio.gather(self._marking, return_exceptions=True)

    async def rest(self) -> None:
        """Show no sign for now."""
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        over = self._signs.channel.typing(to=self._signs.to, on=False)
        if over is not None:
            with contextlib.suppress(TimeoutError):  # the sign ends by itself
                async with asyncio.timeout(MARK_LONGEST_S):
                    await self._signs.show(over)

    def resume(self) -> None:
        """Work goes on."""
        self._timer = asyncio.get_running_loop().call_later(TYPING_AFTER_S, self._begin)

    async def _mark(self, mark: Part) -> None:
        await self._signs.show(mark)

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._show(), name="typing")

    async def _show(self) -> None:
        for _ in range(int(TYPING_LONGEST_S / TYPING_EVERY_S)):
            sign = self._signs.channel.typing(to=self._signs.to, on=True)
            if sign is None or isinstance(await self._signs.show(sign), Withheld):
                return
            await asyncio.sleep(TYPING_EVERY_S)


class Stream:
    """An answer that grows before people's eyes, where the policy wants it and the channel can.

    Attributes:
        text: the latest fragment that the agent gave, shown or not.
        message: the platform's id of the message that has been growing; None where there is none to edit.
        shown: people have seen some of it.
    """

    def __init__(self, signs: Signs, streaming: Streaming, *, key: str) -> None:
        self._signs = signs
        self._streaming = streaming
        if streaming is Streaming.DRAFT and signs.place.chat is not Chat.DIRECT:
            self._streaming = Streaming.OFF  # platforms know drafts in one-to-one chats only
        self._key = key
        self._next_at = 0.0
        self.text = ""
        self.message: str | None = None
        self.shown = False

    async def grow(self, text: str) -> None:
        """Show the answer so far, at most once a second."""
        self.text = text
        now = asyncio.get_running_loop().time()
        if self._streaming is Streaming.OFF or now < self._next_at or not text.strip():
            return
        if len(text) > FRAGMENT_LONGEST:
            return
        self._next_at = now + FRAGMENT_EVERY_S
        part = self._signs.channel.present_fragment(
            text,
            to=self._signs.to,
            streaming=self._streaming,
            stream=self._key,
            message=self.message,
        )
        if part is None:
            return
        receipt = await self._signs.show(part)
        self.shown = self.shown or isinstance(receipt, Delivered)
        if isinstance(receipt, Delivered) and receipt.messages and self._streaming is Streaming.EDIT:
            self.message = self.message or receipt.messages[0]
