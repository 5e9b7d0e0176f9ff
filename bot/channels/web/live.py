"""What browsers are told as it happens.

Messages are not pushed: a subscriber is woken and reads the timeline from where it stands, so that a slow or broken
connection misses nothing. Passing signs (typing, a growing draft, a private note) wait in a small box of their own,
where a newer one of the same kind replaces the older.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

_MAX_SIGNS: Final = 200


class Subscriber:
    """One open page.

    Attributes:
        person: whose page; None: the demo, which is everybody's.
        rooms: what it may see.
    """

    def __init__(self, person: str | None, rooms: tuple[str, ...]) -> None:
        self.person = person
        self.rooms = rooms
        self.closed = False
        self._woken = asyncio.Event()
        self._signs: dict[tuple[str, ...], tuple[str, Mapping[str, Any]]] = {}

    def wake(self) -> None:
        """There may be something new."""
        self._woken.set()

    def sign(self, key: tuple[str, ...], name: str, data: Mapping[str, Any]) -> None:
        """Put a passing sign into the box."""
        self._signs.pop(key, None)
        if len(self._signs) >= _MAX_SIGNS:
            self._signs.pop(next(iter(self._signs)))
        self._signs[key] = (name, data)
        self._woken.set()

    def withdraw(self, key: tuple[str, ...]) -> None:
        """Take a sign out again, if it still waits."""
        self._signs.pop(key, None)

    def take(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Everything in the box, oldest first."""
        signs = list(self._signs.values())
        self._signs.clear()
        return signs

    async def wait(self, timeout_s: float) -> None:
        """Return when woken, or after ``timeout_s`` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()


class Live:
    """All open pages of a desk."""

    def __init__(self) -> None:
        self._subscribers: set[Subscriber] = set()
        self._drafts: dict[tuple[str, ...], Mapping[str, Any]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether streams are being ended."""
        return self._closed

    def open(self, person: str | None, rooms: tuple[str, ...]) -> Subscriber:
        """A page was opened; it learns of drafts that are growing."""
        subscriber = Subscriber(person, rooms)
        for key, data in self._drafts.items():
            if data["room"] in rooms:
                subscriber.sign(key, "draft", data)
        self._subscribers.add(subscriber)
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """A page is gone."""
        self._subscribers.discard(subscriber)

    def count(self, person: str | None) -> int:
        """How many pages a person has open."""
        return sum(subscriber.person == person for subscriber in self._subscribers)

    def changed(self, room: str) -> None:
        """A message of this room is new or other than before."""
        for subscriber in self._subscribers:
            if room in subscriber.rooms:
                subscriber.wake()

    def typing(self, room: str) -> None:
        """Work is under way in this room."""
        self._sign(room, ("typing", room), "typing", {"room": room})

    def draft(self, room: str, stream: str, data: Mapping[str, Any]) -> None:
        """An answer has grown."""
        key = ("draft", room, stream)
        while len(self._drafts) >= _MAX_SIGNS:
            self._drafts.pop(next(iter(self._drafts)))
        self._drafts[key] = data
        self._sign(room, key, "draft", data)

    def settled(self, room: str, reply: str | None) -> None:
        """A whole message of the bot came, in answer to ``reply``: what was growing there is over."""
        over = [key for key, data in self._drafts.items() if key[1] == room and data["reply"] == reply]
        for key in over:
            del self._drafts[key]
        for subscriber in self._subscribers:
            for key in (*over, ("typing", room)):
                subscriber.withdraw(key)

    def note(self, person: str, room: str, number: str, text: str) -> None:
        """A short private word to one person (in the demo to the page that plays everybody)."""
        data = {"room": room, "person": person, "text": text}
        for subscriber in self._subscribers:
            if room in subscriber.rooms and subscriber.person in (None, person):
                subscriber.sign(("note", number), "note", data)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for subscriber in self._subscribers:
            subscriber.closed = True
            subscriber.wake()

    def _sign(self, room: str, key: tuple[str, ...], name: str, data: Mapping[str, Any]) -> None:
        for subscriber in self._subscribers:
            if room in subscriber.rooms:
                subscriber.sign(key, name, data)
