"""The built-in chat as a channel of the gateway: what comes in is made durable, what goes out has its clearance."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
from aiohttp import web

from bot.channels.web import presenting, reading
from bot.channels.web.answering import Answering, ShownQuestions
from bot.channels.web.entering import invite
from bot.channels.web.guard import Guard
from bot.channels.web.intake import Intake
from bot.channels.web.live import Live
from bot.channels.web.people import Member, Register, Room
from bot.channels.web.shelf import HANDLE, Shelf
from bot.channels.web.site import Site
from bot.channels.web.views import Try, decision_of
from bot.channels.web.words import WordsFor, english
from bot.model.clearance import Clearance
from bot.model.errors import ChannelError, StoreError
from bot.model.inbound import Material, Reading, Stored
from bot.model.output import Final as Answer
from bot.model.part import Delivered, Part, Receipt, Rejected, TryLater
from bot.model.request import Attachment, ContextItem
from bot.observability.log import HTTP, get_logger
from bot.ports.channel import Accept, Found, Reply
from bot.ports.decisions import DecisionFeed, Ruling
from bot.ports.entrances import Entrances
from bot.ports.timeline import Timeline
from policy.boundary import Speech
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import Streaming

log = get_logger(__name__)

_MAX_RULINGS: Final = 10_000
_RETRY_S: Final = 1.0
_UNTOLD: Final = timedelta(hours=1)
"""A file comes before its message: only after this time one without a message has none."""


class WebChat:
    """One desk of the built-in chat (a :class:`bot.ports.channel.Channel`)."""

    def __init__(
        self,
        *,
        desk: str,
        bot_name: str,
        rooms: Sequence[Room],
        members: Sequence[Member],
        timeline: Timeline,
        entrances: Entrances,
        feed: DecisionFeed,
        clock: Callable[[], datetime],
        host: str = "127.0.0.1",
        port: int = 0,
        public_url: str | None = None,
        demo: bool = False,
        words: WordsFor = english,
        things_to_try: Sequence[Try] = (),
        files: Path | None = None,
        questions: ShownQuestions | None = None,
    ) -> None:
        """Check the configuration; nothing is bound or opened yet.

        Args:
            desk: id of the desk, the workspace of its destinations.
            bot_name: id by which people mention the bot.
            rooms: with their members.
            members: people.
            timeline: where messages stand.
            entrances: invites and sessions.
            feed: decisions, for operators.
            clock: aware times.
            host: to bind.
            port: to bind; 0: any that is free.
            public_url: as browsers see it, where a reverse proxy stands before it.
            demo: one page plays everybody; binds loopback only.
            words: the page's words by language.
            things_to_try: for the demo page.
            files: folder for files; None: in memory.
            questions: take what people fill into the fields of a card; None: nobody is asked anything.

        Raises:
            ChannelError: the configuration can't hold; the text says the mend.
        """
        self._register = Register(desk=desk, bot_name=bot_name, rooms=rooms, members=members)
        self._timeline = timeline
        self._entrances = entrances
        self._feed = feed
        self._clock = clock
        self._host = host
        self._port = port
        self._shelf = Shelf(files)
        self._live = Live()
        self._guard = Guard(host=host, public_url=public_url, demo=demo)
        self._intake = Intake(
            register=self._register, timeline=timeline, shelf=self._shelf, live=self._live, clock=clock
        )
        self._answering = Answering(
            register=self._register, timeline=timeline, questions=questions, words=words, clock=clock
        )
        self._site = Site(
            register=self._register,
            timeline=timeline,
            entrances=entrances,
            shelf=self._shelf,
            live=self._live,
            intake=self._intake,
            answering=self._answering,
            guard=self._guard,
            clock=clock,
            words=words,
            things_to_try=things_to_try,
            demo=demo,
        )
        self._rulings: asyncio.Queue[Ruling] = asyncio.Queue(maxsize=_MAX_RULINGS)
        self._url = public_url or ""
        self._address: Sequence[Any] = (host, port)
        self.ready = asyncio.Event()

    @property
    def account(self) -> str:
        """``web:<desk>``."""
        return self._register.account

    @property
    def repeatable(self) -> bool:
        """A message's id is part of its payload, and an id that stands there already changes nothing."""
        return True

    @property
    def url(self) -> str:
        """Where browsers find it; known when :attr:`ready` is set."""
        return self._url

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that are bound; known when :attr:`ready` is set."""
        host, port, *_ = self._address
        return host, port

    async def invite(self, person: str) -> str:
        """Make a one-time link for a member.

        Raises:
            ChannelError: there is no such member, or nobody can come in yet.
        """
        if person not in self._register.members:
            raise ChannelError(f"web chat: {person!r} is no member; add them to the configuration first")
        if not self._url:
            raise ChannelError("web chat: it is not up yet; try again in a moment")
        return await invite(self._entrances, person, base_url=self._url, now=self._clock())

    async def run(self, accept: Accept) -> None:
        """Serve until cancelled.

        Raises:
            ChannelError: the address can't be bound.
        """
        self._intake.accept = accept
        runner = web.AppRunner(self._site.application(), access_log=None, logger=HTTP, shutdown_timeout=1.0)
        await runner.setup()
        unsubscribe = self._feed.subscribe(self._hear)
        try:
            site = web.TCPSite(runner, self._host, self._port)
            try:
                await site.start()
            except OSError as error:
                raise ChannelError(f"web chat: port {self._port} can't be bound ({error.strerror})") from error
            self._address = runner.addresses[0]
            self._url = self._guard.bound(self._address[1])
            self.ready.set()
            log.info("chat_serves", host=self.address[0], port=self.address[1])
            await self._show_rulings()
        finally:
            unsubscribe()
            self._intake.accept = None
            self._live.close()
            await runner.cleanup()

    def read(self, stored: Stored) -> Reading:
        """Read the facts out of a stored event."""
        return reading.read(stored)

    def material(self, found: Reading) -> Material:
        """What a request is made of."""
        return reading.material(found)

    def take(self, questions: ShownQuestions) -> None:
        """The room of questions, which is made after its channels: from now on cards can be answered."""
        self._answering.take(questions)

    @property
    def state(self) -> str:
        """For health checks: ``starting`` until it can be opened, then ``ok``."""
        return "ok" if self.ready.is_set() else "starting"

    @property
    def keyboards(self) -> bool:
        """Buttons under a message can change."""
        return True

    def chat(self, destination: Destination, was: Chat) -> Chat:
        """What it was: nobody can join a private chat here."""
        return was

    async def find(self, destination: Destination, message: str) -> Found | None:
        """Not asked: events tell who wrote what they reply to."""
        return None

    async def quoted(self, reading: Reading) -> ContextItem | None:
        """Nothing beyond what the event carries."""
        return None

    def lane(self, destination: Destination) -> str:
        """One lane a room."""
        return self._register.lane(destination.channel)

    def present(self, speech: Speech, answer: Answer, *, to: Reply) -> tuple[Part, ...]:
        """Bring words, files and a card into their final form."""
        return presenting.present(speech, answer, to=to, today=self._clock().date())

    def present_fragment(
        self, text: str, *, to: Reply, streaming: Streaming, stream: str, message: str | None
    ) -> Part | None:
        """An answer that grows."""
        return presenting.present_fragment(text, to=to, streaming=streaming, stream=stream, message=message)

    def present_rest(self, parts: tuple[Part, ...], *, message: str) -> tuple[Part, ...]:
        """Turn the first of final parts into an edit."""
        return presenting.present_rest(parts, message=message)

    def typing(self, *, to: Reply, on: bool) -> Part | None:
        """The sign that work is under way; it ends by itself."""
        return presenting.typing(to.destination) if on else None

    def read_mark(self, *, to: Reply) -> Part | None:
        """None is shown here."""
        return None

    def answer_invite(self, *, to: Reply, accept: bool) -> Part | None:
        """Rooms stand in the configuration: there are no invites."""
        return None

    def answer_tap(self, tap_id: str, text: str, *, to: Reply) -> Part | None:
        """A private word to the person who pressed a button; nothing where there is nothing to say."""
        return presenting.answer_tap(to.destination, tap_id, text) if text else None

    def unformatted(self, part: Part) -> Part | None:
        """The chat refuses no formatting."""
        return None

    def retarget(self, part: Part, channel: str) -> Part:
        """The same part for another room; rooms of the chat don't move."""
        return replace(part, destination=replace(part.destination, channel=channel))

    def turn_s(self, part: Part) -> float:
        """Everything may go at once here."""
        return 0.0

    async def deliver(self, part: Part, clearance: Clearance) -> Receipt:
        """Show what the clearance allows.

        Raises:
            ClearanceError: the clearance does not fit.
        """
        clearance.spend(part)
        room = part.destination.channel
        if part.destination.account != self.account or room not in self._register.rooms:
            return Rejected(code="not_found", channel_gone=True)
        payload: Mapping[str, Any] = orjson.loads(part.payload)
        match payload["kind"]:
            case "send":
                return await self._send(room, part, payload)
            case "edit":
                return await self._edit(room, part, payload)
            case "draft":
                self._live.draft(room, payload["stream"], {"room": room, **payload})
            case "typing":
                self._live.typing(room)
            case "note":
                self._live.note(reading.tapper(payload["tap"]), room, payload["tap"], payload["text"])
            case _:
                return Rejected(code="rejected")
        return Delivered()

    async def fetch(self, attachment: Attachment, *, limit_bytes: int) -> bytes:
        """A file of a request.

        Raises:
            ChannelError: it is gone or too large.
        """
        return await self._shelf.read(attachment.handle, limit_bytes=limit_bytes)

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Erase what has been kept long enough: words, their files, and what lets people in (DUR-5).

        Args:
            now: the time.
            contents_before: words that came before it go.

        Returns:
            How many messages, files, sessions and invites are gone.

        Raises:
            StoreError: the store can't be read or written.
            OSError: the folder of the files can't.
        """
        erased = await self._timeline.sweep(now=now, contents_before=contents_before)
        if erased:
            for room in self._register.rooms:
                self._live.changed(room)
        files = 0
        for handle in await self._shelf.kept(before=max(contents_before, now - _UNTOLD)):
            if not await self._told(handle):
                await self._shelf.remove(handle)
                files += 1
        return erased + files + await self._entrances.sweep(now=now)

    async def _told(self, handle: str) -> bool:
        """Whether there is a message that has this file."""
        found = HANDLE.fullmatch(handle)
        entry = None if found is None else await self._timeline.get(found["room"], found["message"])
        document = None if entry is None else entry.document
        return document is not None and any(file["handle"] == handle for file in document["files"])

    async def close(self) -> None:
        """End open streams; :meth:`run` ends the rest."""
        self._live.close()

    async def _send(self, room: str, part: Part, payload: Mapping[str, Any]) -> Receipt:
        """Append; doing it twice shows it once, so an unclear end may be tried again (DUR-2)."""
        message = payload["message"]
        try:
            for file, noted in zip(part.files, message["files"], strict=True):
                await self._shelf.put(noted["handle"], file.content)
            async with self._intake.lock(room):
                await self._timeline.append(room, payload["id"], self._signed(message), at=self._clock())
        except (StoreError, OSError):
            return TryLater(after_s=_RETRY_S)
        self._settle(room, message)
        return Delivered(messages=(payload["id"],))

    async def _edit(self, room: str, part: Part, payload: Mapping[str, Any]) -> Receipt:
        message = payload["message"]
        try:
            async with self._intake.lock(room):
                entry = await self._timeline.get(room, payload["id"])
                if entry is None or entry.document is None or entry.document["author"] != self._register.bot:
                    return Rejected(code="not_found")
                for file, noted in zip(part.files, message.get("files", ()), strict=True):
                    await self._shelf.put(noted["handle"], file.content)
                kept = {key: value for key, value in entry.document.items() if key in ("author", "at")}
                await self._timeline.edit(room, entry.id, {**self._signed(entry.document), **message, **kept})
        except (StoreError, OSError):
            return TryLater(after_s=_RETRY_S)
        self._settle(room, message)
        return Delivered(messages=(payload["id"],))

    def _signed(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**message, "author": self._register.bot, "at": int(self._clock().timestamp() * 1000)}

    def _settle(self, room: str, message: Mapping[str, Any]) -> None:
        reply = message.get("reply")
        self._live.settled(room, None if reply is None else reply["id"])
        self._live.changed(room)

    def _hear(self, ruling: Ruling) -> None:
        here = ruling.destination.account == self.account and ruling.destination.channel in self._register.rooms
        if here and not self._rulings.full():
            self._rulings.put_nowait(ruling)

    async def _show_rulings(self) -> None:
        """Put each decision beside its message, for operators; runs until cancelled."""
        while True:
            ruling = await self._rulings.get()
            room = ruling.destination.channel
            try:
                async with self._intake.lock(room):
                    entry = await self._timeline.get(room, ruling.message)
                    if entry is None or entry.document is None:
                        continue
                    document = {**entry.document, "decision": decision_of(ruling)}
                    await self._timeline.edit(room, entry.id, document)
            except StoreError:
                continue  # a badge is missing, nothing else
            self._live.changed(room)
