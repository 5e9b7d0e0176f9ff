"""People at real Matrix clients who keep writing whatever happens to the daemon, and what each of them may expect."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers.matrix_person import Person

NUMBER = re.compile(r"request (\d+)\b")
PAUSE_S = 0.03
FILES = 0.04
LAGGED = 150
"""While so many requests wait, people hold their breath: a slow machine is to end the test too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """A room and who writes there.

    Attributes:
        sender: of files, who says nothing else: files in a row are one request, and only files can be.
        direct: nobody need be mentioned.
    """

    id: str
    people: tuple[Person, ...]
    sender: Person | None = None
    direct: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request: its number, where, the event that makes it, and whether it is a file, which may be merged with others."""

    number: int
    room: str
    event: str
    file: bool = False


@dataclass
class Crowd:
    """Writes at random.

    Attributes:
        requests: by number, in the order in which they were asked.
        silent: events that nobody is to answer.
        answered: tells how many requests have an answer by now.
    """

    bot: str
    rooms: list[Room]
    dice: random.Random
    requests: dict[int, Asked] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    _editable: list[tuple[Room, Person, str, str, bool]] = field(default_factory=list)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def events(self) -> set[str]:
        """Everything that was written."""
        return self.silent | {asked.event for asked in self.requests.values()}

    def answers(self) -> int:
        """How many requests people have seen an answer to."""
        texts = (text for room in self.rooms for text in room.people[0].texts(room.id, self.bot))
        return sum(len(NUMBER.findall(text)) for text in texts)

    async def write(self) -> None:
        """Write until told to stop."""
        while not self._stop.is_set():
            if len(self.requests) - self.answers() < LAGGED:
                await self.act()
            try:
                await asyncio.wait_for(self._stop.wait(), PAUSE_S * self.dice.uniform(0.2, 1.8))
            except TimeoutError:
                continue

    def stop(self) -> None:
        """No further word."""
        self._stop.set()

    async def act(self) -> None:
        """One person does one thing."""
        room = self.dice.choice(self.rooms)
        person = self.dice.choice(room.people)
        if room.direct:
            await self._ask(room, person)
        elif room.sender is not None and self.dice.random() < FILES:
            await self._file(room, room.sender)
        else:
            acts = [self._ask, self._chatter, self._edit, self._ask_by_edit]
            await self.dice.choices(acts, weights=[60, 25, 7, 4])[0](room, person)

    async def _ask(self, room: Room, person: Person) -> None:
        number = len(self.requests) + 1
        text = f"request {number}"
        event = await person.say(room.id, text, mentions=() if room.direct else [self.bot])
        self.requests[number] = Asked(number=number, room=room.id, event=event)
        self._editable.append((room, person, event, text, True))

    async def _chatter(self, room: Room, person: Person) -> None:
        event = await person.say(room.id, "chatter")
        self.silent.add(event)
        self._editable.append((room, person, event, "chatter", False))

    async def _edit(self, room: Room, person: Person) -> None:
        """A request that has been made is not made again; chatter stays chatter."""
        if not self._editable:
            return
        where, who, event, text, request = self._recent()
        mentions = [self.bot] if request and not where.direct else ()
        self.silent.add(await who.say(where.id, f"{text} (edited)", edit=event, mentions=mentions))

    async def _ask_by_edit(self, room: Room, person: Person) -> None:
        """What was said to nobody becomes a request."""
        if not self._editable:
            return
        where, who, event, text, request = self._recent()
        if request:
            return
        self._editable.remove((where, who, event, text, request))
        number = len(self.requests) + 1
        text = f"request {number}"
        edit = await who.say(where.id, text, edit=event, mentions=[self.bot])
        self.requests[number] = Asked(number=number, room=where.id, event=edit)
        self._editable.append((where, who, event, text, True))

    async def _file(self, room: Room, person: Person) -> None:
        number = len(self.requests) + 1
        event = await person.send_file(room.id, b"a file", caption=f"request {number}", mentions=[self.bot])
        self.requests[number] = Asked(number=number, room=room.id, event=event, file=True)

    def _recent(self) -> tuple[Room, Person, str, str, bool]:
        self._editable = self._editable[-40:]
        return self.dice.choice(self._editable)


@asynccontextmanager
async def writing(crowd: Crowd) -> AsyncIterator[Crowd]:
    """A crowd that writes until the block ends, at the latest."""
    task: asyncio.Task[Any] = asyncio.create_task(crowd.write(), name="crowd")
    try:
        yield crowd
    finally:
        crowd.stop()
        await task
