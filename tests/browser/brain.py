"""A desk of the built-in chat with a small gateway behind it: the real policy, the real door, and a scripted agent."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.channels.web.channel import WebChat
from bot.channels.web.memory import MemoryEntrances, MemoryTimeline
from bot.channels.web.people import Member, Room
from bot.channels.web.views import Try
from bot.deliveries.door import Door, Place
from bot.model.clearance import Clearance
from bot.model.inbound import Arrival, Material, Reading, Stored
from bot.model.output import Final, OutFile
from bot.model.part import Delivered, Part, Receipt
from bot.model.question import Question
from bot.ports.channel import Reply
from bot.ports.decisions import Ruling
from bot.runtime.rulings import Rulings
from forms.card import Button, Card, Style
from policy.boundary import Basis, Speech
from policy.decision import Audience, Decision, Outcome
from policy.destination import Destination, parse_destination
from policy.event import Memory
from policy.participation import admit
from policy.ruleset import Access, ChannelPolicy, Person, Policy, Streaming
from tests.browser.questions import Asked

MEMBERS = (
    Member(id="mara", name="Mara Lindqvist"),
    Member(id="jordan", name="Jordan Blake", language="de"),
    Member(id="olga", name="Olga Petrova", operator=True),
)
ROOMS = (
    Room(id="customers", title="Lindqvist Foods", audience="external", members=("mara", "jordan", "olga")),
    Room(id="operators", title="Operators", audience="internal", members=("olga",)),
    Room(id="private", title="Mara and desk", audience="external", members=("mara",), direct=True),
)
POLICY = Policy(
    channels={
        parse_destination("web:demo:customers"): ChannelPolicy(audience=Audience.EXTERNAL, access=Access.ALLOW),
        parse_destination("web:demo:operators"): ChannelPolicy(
            audience=Audience.INTERNAL, access=Access.ALLOW, require_mention=False, progress=True
        ),
    },
    people={
        "web:olga": Person(id="olga", accounts=frozenset({"web:olga"}), operator=True),
        "web:mara": Person(id="mara", accounts=frozenset({"web:mara"}), access=Access.ALLOW),
    },
    direct=ChannelPolicy(audience=Audience.EXTERNAL, access=Access.ALLOW, streaming=Streaming.DRAFT),
    unknown=ChannelPolicy(audience=Audience.UNKNOWN, access=Access.UNKNOWN),
    commands=frozenset({"status"}),
    called={"jordan": frozenset({"jordan"})},
)
THINGS = (
    Try(
        title="Silence",
        hint="Nobody addressed the bot, so it stays out.",
        room="customers",
        person="mara",
        text="See you on Tuesday, Jordan.",
    ),
    Try(
        title="A mention",
        hint="Now it is addressed, and answers.",
        room="customers",
        person="mara",
        text="@desk when is our delivery?",
    ),
    Try(
        title="A question with buttons",
        hint="Tap an answer under the card.",
        room="private",
        person="mara",
        text="card please",
    ),
    Try(
        title="A growing answer",
        hint="It appears while it is written.",
        room="private",
        person="mara",
        text="stream please",
    ),
    Try(
        title="Operators",
        hint="In the operators' room it answers open questions.",
        room="operators",
        person="olga",
        text="How many orders are open?",
    ),
)
ANSWER = "Your delivery comes on **Tuesday**.\n\n| item | count |\n|---|---|\n| Rye flour | 40 |\n| Oats | 12 |\n\nSee <https://example.org/orders>."


class Brain:
    """Decides by the policy, answers by a script, and lets nothing out but through the door."""

    def __init__(self, chat: WebChat, board: Rulings, asked: "Asked", policy: Policy = POLICY) -> None:
        self.chat = chat
        self.asked = asked
        asked.shows = self.edit
        self.board = board
        self.policy = policy
        self.door = Door(lambda: self.policy)
        self.arrivals: list[Arrival] = []
        self.readings: list[Reading] = []
        self.decisions: list[Decision] = []
        self.receipts: list[Receipt] = []
        self.goes_on = asyncio.Event()  # lets a streamed answer end
        self.fails: Exception | None = None
        self._keys: set[str] = set()
        self._queue: asyncio.Queue[Stored] = asyncio.Queue()

    async def accept(self, account: str, arrivals: Sequence[Arrival]) -> None:
        if self.fails is not None:
            raise self.fails
        for arrival in arrivals:
            if arrival.key not in self._keys:
                self._keys.add(arrival.key)
                self.arrivals.append(arrival)
                self._queue.put_nowait(Stored(id=len(self.arrivals), account=account, arrival=arrival))

    async def run(self) -> None:
        while True:
            stored = await self._queue.get()
            await self._one(stored)
            self._queue.task_done()

    async def idle(self) -> None:
        async with asyncio.timeout(10):
            await self._queue.join()

    async def _one(self, stored: Stored) -> None:
        reading = self.chat.read(stored)
        event = reading.event
        memory = Memory(first_start=datetime(2020, 1, 1, tzinfo=UTC))
        decision = admit(self.policy, event, memory, now=event.sent_at + timedelta(seconds=1), whole=True)
        self.readings.append(reading)
        self.decisions.append(decision)
        self._tell(reading, decision)
        if decision.outcome is Outcome.RESPOND:
            await self._answer(reading, self.chat.material(reading))
            self._tell(reading, decision, "answered")

    def _tell(self, reading: Reading, decision: Decision, result: str | None = None) -> None:
        event = reading.event
        if event.message is not None:
            self.board.publish(
                Ruling(destination=event.destination, message=event.message, decision=decision, result=result)
            )

    async def say(self, part: Part, place: Place) -> Receipt:
        cleared = self.door.clear(part, place, Basis.REQUEST, written_for=Audience.EXTERNAL)
        assert isinstance(cleared, Clearance), cleared
        receipt = await self.chat.deliver(part, cleared)
        self.receipts.append(receipt)
        return receipt

    async def _answer(self, reading: Reading, material: Material) -> None:
        event = reading.event
        place = Place(destination=event.destination, chat=event.chat, person=event.sender)
        to = Reply(destination=event.destination, message=event.message)
        if await self.asked.hear(event, material):
            return
        if material.tap_token is not None:
            note = self.chat.answer_tap(material.tap_id or "", "Noted, thank you.", to=to)
            assert note is not None
            await self.say(note, place)
            await self.final(Final(text="You have chosen."), to, place)
            return
        sign = self.chat.typing(to=to, on=True)
        assert sign is not None
        await self.say(sign, place)
        if material.attachments:
            sizes = [len(await self.chat.fetch(one, limit_bytes=1 << 24)) for one in material.attachments]
            files = (OutFile(name="receipt.txt", media_type="text/plain", content=b"received"),)
            await self.final(Final(text=f"I have read {sum(sizes)} bytes.", files=files), to, place)
        elif "card" in material.text:
            await self.final(Final(text="", card=CARD), to, place)
        elif "ask" in material.text:
            await self.ask(material.text.partition("ask ")[2], event.destination, asker=event.sender, to=to)
        elif "stream" in material.text:
            for text in ("Looking", "Looking it up", "Looking it up: the answer"):
                grown = self.chat.present_fragment(
                    text, to=to, streaming=Streaming.DRAFT, stream=reading.event.key, message=None
                )
                assert grown is not None
                await self.say(grown, place)
            async with asyncio.timeout(30):
                await self.goes_on.wait()
            await self.final(Final(text="Looking it up: the answer is **42**."), to, place)
        elif "echo" in material.text:
            await self.final(Final(text=material.text.partition("echo ")[2]), to, place)
        else:
            await self.final(Final(text=ANSWER), to, place)

    async def final(self, answer: Final, to: Reply, place: Place) -> list[Receipt]:
        return [await self.say(part, place) for part in self.chat.present(Speech.FINAL, answer, to=to)]

    async def ask(self, name: str, room: Destination, *, asker: str | None, to: Reply | None = None) -> str:
        """Show a question of :data:`tests.browser.questions.SCHEMAS`; returns the id of its message."""
        question = self.asked.new(name, room, asker=asker)
        (part,) = self.chat.present(Speech.FINAL, self.asked.open(question), to=to or Reply(destination=room))
        receipt = await self.say(part, Place(destination=room, chat=question.chat, person=question.asker))
        assert isinstance(receipt, Delivered)
        (message,) = receipt.messages
        self.asked.shown(question, message, part.buttons)
        return message

    async def edit(self, question: Question, message: str, answer: Final) -> None:
        """Show a question's message anew; the card's buttons have new tokens."""
        to = Reply(destination=question.destination)
        (part,) = self.chat.present_rest(self.chat.present(Speech.FINAL, answer, to=to), message=message)
        place = Place(destination=question.destination, chat=question.chat, person=question.asker)
        assert isinstance(await self.say(part, place), Delivered)
        self.asked.shown(question, message, part.buttons)


CARD = Card(
    title="Move the delivery?",
    rows=(("Order", "A-1042"), ("Now", "Tuesday 14:00"), ("Then", "Wednesday 09:00")),
    buttons=(
        Button(label="Move it", value="secret-yes", style=Style.PRIMARY),
        Button(label="Leave it", value="secret-no"),
        Button(label="Cancel the order", value="secret-cancel", style=Style.DANGER),
    ),
)


class Clock:
    """Goes with the real time, and can be put forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Desk:
    """What a test holds."""

    def __init__(self, **settings: Any) -> None:
        self.board = Rulings()
        self.timeline = settings.pop("timeline", None) or MemoryTimeline()
        self.entrances = settings.pop("entrances", None) or MemoryEntrances()
        self.clock = Clock()
        self.asked = Asked(self.clock)
        demo = settings.pop("demo", True)
        self.chat = WebChat(
            desk="demo",
            bot_name="desk",
            rooms=settings.pop("rooms", ROOMS),
            members=settings.pop("members", MEMBERS),
            timeline=self.timeline,
            entrances=self.entrances,
            feed=self.board,
            clock=self.clock,
            demo=demo,
            things_to_try=THINGS if demo else (),
            questions=self.asked,
            **settings,
        )
        self.brain = Brain(self.chat, self.board, self.asked)

    @property
    def url(self) -> str:
        return self.chat.url


@asynccontextmanager
async def open_desk(**settings: Any) -> AsyncIterator[Desk]:
    """A desk that serves on loopback until the block ends."""
    desk = Desk(**settings)
    tasks = [
        asyncio.create_task(desk.chat.run(desk.brain.accept), name="chat"),
        asyncio.create_task(desk.brain.run(), name="brain"),
    ]
    try:
        async with asyncio.timeout(10):
            await desk.chat.ready.wait()
        yield desk
    finally:
        await desk.chat.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
