"""People who keep writing whatever happens to the daemon, and what each of them may expect."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.faults.process import BOT_ID, HANDLE, REPORTS
from tests.servers.botapi import BotApi
from tests.servers.botapi.world import Message

MENTIONED = [-1001000000001 - n for n in range(15)]
OBSERVED = [-1001000000101, -1001000000102]
DIRECT = [520000001, 520000002, 520000003]
CHATS = [*MENTIONED, *OBSERVED, *DIRECT]
PEOPLE = [510000001 + n for n in range(30)]
NUMBER = re.compile(r"request (\d+)\b")
PAUSE_S = 0.02
LAGGED = 400
"""While so many updates wait, people hold their breath: a slow machine is to end the test too."""


def policy() -> str:
    """The groups are listed; in two of them what is said to nobody is kept."""
    observed = "observe_unmentioned_group_messages: true, observation: {retention: 1h, readers: [main]}"
    lines = [f'  "telegram:{BOT_ID}:{chat}": {{audience: external}}' for chat in MENTIONED]
    lines += [f'  "telegram:{BOT_ID}:{chat}": {{audience: external, {observed}}}' for chat in OBSERVED]
    lines.append(f'  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}')
    return "\n".join(
        [
            "version: 1",
            "defaults:",
            "  burst: {quiet: 1s, longest: 10s}",
            "  rate: {person: 6000, channel: 6000}",
            "direct: {strangers: allow}",
            "channels:",
            *lines,
            "",
        ],
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request: its number, where, its updates in order, and how many files belong to it."""

    number: int
    chat: int
    updates: tuple[int, ...]
    files: int = 0


@dataclass
class Crowd:
    """Writes at random.

    Attributes:
        requests: by number, in the order in which they were asked.
        updates: everything that was written, in order; silent: what nobody is to answer.
    """

    api: BotApi
    dice: random.Random
    requests: dict[int, Asked] = field(default_factory=dict)
    updates: list[int] = field(default_factory=list)
    silent: set[int] = field(default_factory=set)
    _editable: list[tuple[int, Message, bool]] = field(default_factory=list)
    _picture: str = ""
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    def declare(self) -> None:
        """Make the chats known, and a picture to send."""
        for chat in [*MENTIONED, *OBSERVED]:
            self.api.chat(chat, type="supergroup", title=f"Room {chat}")
        self._picture = self.api.file(b"a picture", name="picture.jpg", mime="image/jpeg")

    async def write(self) -> None:
        """Write until told to stop."""
        while not self._stop.is_set():
            if len(self.api.pending) < LAGGED:
                for _ in range(self.dice.randint(1, 4)):
                    self.act()
            try:
                await asyncio.wait_for(self._stop.wait(), PAUSE_S * self.dice.uniform(0.2, 1.8))
            except TimeoutError:
                continue

    def stop(self) -> None:
        """No further word."""
        self._stop.set()

    def act(self) -> None:
        """One person does one thing."""
        chat = self.dice.choice(CHATS)
        if chat in DIRECT:
            self._ask(chat)
            return
        self.dice.choices(
            [self._ask, self._chatter, self._edit, self._ask_by_edit, self._album],
            weights=[60, 25, 7, 4, 4],
        )[0](chat)

    def _note(self, act: list[int]) -> tuple[int, ...]:
        self.updates += act
        return tuple(act)

    def _next(self) -> int:
        return self.api.account.updates.next_id

    def _ask(self, chat: int) -> None:
        number = len(self.requests) + 1
        update = self._next()
        said = "" if chat in DIRECT else f"{HANDLE} "
        message = self.api.say(chat=chat, sender=self._who(chat), text=f"{said}request {number}")
        self.requests[number] = Asked(number=number, chat=chat, updates=self._note([update]))
        self._editable.append((chat, message, True))

    def _chatter(self, chat: int) -> None:
        update = self._next()
        message = self.api.say(chat=chat, sender=self._who(chat), text=f"chatter {update}")
        self.silent.update(self._note([update]))
        self._editable.append((chat, message, False))

    def _edit(self, chat: int) -> None:
        """A request that has been made is not made again; chatter stays chatter."""
        where, message, _ = self._recent()
        update = self._next()
        self.api.edit(chat=where, message_id=message["message_id"], text=f"{message['text']} (edited)")
        self.silent.update(self._note([update]))

    def _ask_by_edit(self, chat: int) -> None:
        """What was said to nobody becomes a request."""
        where, message, request = self._recent()
        if request:
            return
        self._editable.remove((where, message, request))
        number = len(self.requests) + 1
        update = self._next()
        edited = self.api.edit(chat=where, message_id=message["message_id"], text=f"{HANDLE} request {number}")
        self.requests[number] = Asked(number=number, chat=where, updates=self._note([update]))
        self._editable.append((where, edited, True))

    def _album(self, chat: int) -> None:
        """Its caption may stand on any of its pictures."""
        number = len(self.requests) + 1
        files = self.dice.randint(2, 4)
        first, caption = self._next(), self.dice.randrange(files)
        items = [{"photo": self._picture} for _ in range(files)]
        items[caption]["text"] = f"{HANDLE} request {number}"
        self.api.album(chat=chat, sender=self._who(chat), items=items)
        updates = self._note(list(range(first, first + files)))
        self.requests[number] = Asked(number=number, chat=chat, updates=updates, files=files)

    def _recent(self) -> tuple[int, Message, bool]:
        if not self._editable:
            self._chatter(MENTIONED[0])
        self._editable = self._editable[-40:]
        return self.dice.choice(self._editable)

    def _who(self, chat: int) -> int:
        return chat if chat in DIRECT else self.dice.choice(PEOPLE)


@asynccontextmanager
async def writing(api: BotApi, dice: random.Random) -> AsyncIterator[Crowd]:
    """A crowd that writes until the block ends, at the latest."""
    crowd = Crowd(api=api, dice=dice)
    crowd.declare()
    task = asyncio.create_task(crowd.write(), name="crowd")
    try:
        yield crowd
    finally:
        crowd.stop()
        await task
