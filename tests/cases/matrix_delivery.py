"""Delivery cases on Matrix: people ask, an agent answers, a scripted homeserver does what the case says.

    request -> agent -> present -> door -> outbox -> dispatcher -> real HTTP -> scripted homeserver

A case is played in a plain room and in an encrypted one, where somebody reads along, unless it says which it means.
Cases that stop, kill or restart the daemon run the real one in a process of its own. Each case is played to its end,
then further messages are sent (into its rooms and into another one), then the gateway is started again on the same
store. What must hold is judged in :mod:`tests.cases.matrix_verdict`.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from tests.cases import ledger
from tests.cases.matrix_gateways import Gateway, inside, outside, until
from tests.cases.matrix_played import ELSEWHERE, Played, Sent
from tests.cases.matrix_reader import Reader
from tests.cases.matrix_script import MESSAGES, Reply, Send, Step, place_replies, replies_of, sends_of
from tests.cases.result import NotRun
from tests.servers.homeserver import Call, Fault, Homeserver
from tests.servers.homeserver.front import Front
from tests.servers.homeserver.person import Person

Json = dict[str, Any]
ASKER, READER = "@alice:example.org", "@carol:example.org"
REQUEST: Final = re.compile(r"(request|probe) (\d+)")
DRAINS_S, HELD_S = 45.0, 6.0
_DAEMON: Final = re.compile(
    r"daemon|gateway|process|kill|crash|power|oom|sigterm|sigkill|restart|\bstart|\bstops?\b|shut"
)
_SERVER: Final = re.compile(r"\b(homeserver|server|synapse|network|connection)\b")


class _Headed(Front):
    """Answers with the headers of the case, too."""

    replies: Sequence[Reply] = ()

    async def _answer(self, call: Call, method: Any) -> web.StreamResponse:
        response = await super()._answer(call, method)
        for reply in self.replies:
            if reply.call is call and call.status == reply.status:
                response.headers.update(reply.headers)
        return response


class _Server(Homeserver):
    def __init__(self) -> None:
        super().__init__()
        self._front = self.front = _Headed(self)

    @property
    def listens(self) -> bool:
        """Whether it can be reached."""
        return self.front._runner is not None


class _Recorder(Fault):
    """Spoils nothing: it looks, when a message comes in, whether the store had it before."""

    def __init__(self, play: "_Play") -> None:
        super().__init__(name="send", kind="fail")
        self._play = play

    def applies(self, call: Call) -> bool:
        if call.name == "send" and call.parts[1] in MESSAGES:
            self._play.record(call)
        return False


class _Play:
    """One case under way."""

    def __init__(self, given: Json, folder: Path, server: _Server, *, encrypted: bool) -> None:
        self.steps: list[Step] = given["steps"]
        self.sends = sends_of(self.steps)
        self.replies = replies_of(self.steps, self.sends)
        self.server = server
        self.folder = folder
        self.encrypted = encrypted
        self.gates = {send.index: asyncio.Event() for send in self.sends if send.held}
        self._device: str | None = None
        self._asked = 0
        self._prepare()
        reader = Reader(server, READER) if encrypted else None
        self._person = Person(server.keys, ASKER) if encrypted else None
        self.played = Played(sends=self.sends, replies=self.replies, server=server, reader=reader, folder=folder)
        self.gateway: Gateway

    @property
    def restarts(self) -> bool:
        """Whether the daemon's own process is spoken of."""
        return any(_daemon(step) for step in self.steps)

    # before

    def _prepare(self) -> None:
        for room in [*dict.fromkeys(send.room for send in self.sends), ELSEWHERE]:
            self.server.room(room, joined=[ASKER, READER], encrypted=self.encrypted)
        for send in self.sends:
            if send.thread is not None and self.server.world.rooms[send.room].find(send.thread) is None:
                root = self.server.event("m.room.message", {"msgtype": "m.text", "body": "a root"}, sender=ASKER)
                self.server.push(send.room, {**root, "event_id": send.thread})
        self.server.faults.append(_Recorder(self))
        for fault in place_replies(self.replies, self.place):
            reply = fault.reply
            if reply.status == 401 and reply.errcode == "M_UNKNOWN_TOKEN":
                soft = reply.more.get("soft_logout") is True
                fault.then = lambda soft=soft: self.server.log_out(soft=soft)  # type: ignore[misc]
            self.server.faults.append(fault)
        self.server.front.replies = self.replies

    def policy(self) -> str:
        """Everybody may ask in the rooms of the case."""
        streaming = "edit" if any(send.edited for send in self.sends) else "none"
        lines = ["version: 1", "defaults: {rate: {person: 6000, channel: 6000}, backlog: 20h}", "channels:"]
        lines += [
            f"  {json.dumps(f'matrix:{self.server.user_id}:{room}')}: {{audience: external, streaming: {streaming}}}"
            for room in self.server.world.rooms
        ]
        return "\n".join(lines) + "\n"

    def voice(self, words: str) -> tuple[str, int, bool]:
        """What the agent says."""
        found = REQUEST.search(words)
        if found is None or found[1] == "probe":
            return f"probe {found[2] if found else ''}", 0, False
        send = self.sends[int(found[2])]
        return send.written, send.files, send.edited

    def gate(self, words: str) -> asyncio.Event | None:
        """What an answer waits for."""
        found = REQUEST.search(words)
        return self.gates.get(int(found[2])) if found is not None and found[1] == "request" else None

    # looking

    def place(self, call: Call) -> tuple[int, int] | None:
        """Which send and which part of it a message is."""
        return next((one.place for one in reversed(self.played.tape) if one.call is call), None)

    def record(self, call: Call) -> None:
        """Write down a message that comes in."""
        device = self.server.tokens.get(call.token or "")
        rows = ledger.select(
            self.folder,
            "SELECT o.id, i.key, o.payload FROM outbox o LEFT JOIN inbox i ON i.id = o.event_id ORDER BY o.id",
        )
        found, numbers = None, dict.fromkeys(self.played.keys.values(), 0)
        for row, key, payload in rows:
            document = json.loads(payload) if payload else {}
            if document.get("do") == "send" and key in numbers:
                numbers[key] += 1
            if document.get("txn") == call.parts[2] and document.get("room") == call.parts[0]:
                found = row, key, document
        if found is None:
            self.played.tape.append(Sent(call=call, place=None, row=None, document={}, device=device))
            return
        row, key, document = found
        index = next((index for index, one in self.played.keys.items() if one == key), None)
        place = None if index is None else (index, self._part(rows, key, row))
        self.played.tape.append(Sent(call=call, place=place, row=row, document=document, device=device))

    def _part(self, rows: list[tuple[Any, ...]], key: str, row: int) -> int:
        mine = [one[0] for one in rows if one[1] == key and one[2] and json.loads(one[2]).get("do") == "send"]
        return mine.index(row) + 1

    # playing

    async def ask(self, room: str, words: str, *, thread: str | None = None) -> str:
        """A person asks; returns the key of the event."""
        content: Json = {"msgtype": "m.text", "body": words, "m.mentions": {"user_ids": [self.server.user_id]}}
        if thread is not None:
            content["m.relates_to"] = {
                "rel_type": "m.thread",
                "event_id": thread,
                "is_falling_back": True,
                "m.in_reply_to": {"event_id": thread},
            }
        kind = "m.room.message"
        if self._person is not None:
            if self._device is None:
                await until(self._find_device)
            session = f"session {self._asked}"
            self._asked += 1
            clear, content = content, self._person.encrypt(room, kind, content, session=session)
            if "m.relates_to" in clear:
                content["m.relates_to"] = clear["m.relates_to"]
            kind = "m.room.encrypted"
            key = self._person.room_key(room, self.server.user_id, self._device or "", session=session)
            self.server.to_device(key)
        return str(self.server.push(room, self.server.event(kind, content, sender=ASKER))["event_id"])

    def _find_device(self) -> bool:
        """The bot's device, once it has published keys."""
        for (user, device), keys in self.server.keys.one_time.items():
            if user == self.server.user_id and keys and device in self.server.keys.devices.get(user, {}):
                self._device = device
        return self._device is not None

    async def run(self) -> None:
        """Play all of it."""
        played = self.played
        played.gateway = self.gateway
        await self.gateway.start()
        if self.steps and _daemon(self.steps[0]) and re.search("down|start", _words(self.steps[0])):
            await self.gateway.stop()  # it had run before
        for number, step in enumerate(self.steps):
            for send in self.sends:
                if send.number == number:
                    await self._say(send, self.steps[number + 1 :])
            if "event" in step:
                await self._event(number, _words(step))
        if not self.gateway.running:
            await self.gateway.start()
        if not self.server.listens:
            await self.server.start()
        for gate in self.gates.values():
            gate.set()
        played.drained = await self._drain(HELD_S if self._shut_out() else DRAINS_S)
        played.before = ledger.parts(self.folder)
        played.errors = list(self.gateway.errors)
        if played.drained:
            await self._afterwards()

    async def _afterwards(self) -> None:
        """Messages into the same rooms and another one, and another start."""
        played = self.played
        for number, room in enumerate([*played.rooms, ELSEWHERE]):
            if self.server.world.rooms[room].membership == "join":
                await self.ask(room, f"probe {number}")
                await self._drain(DRAINS_S)
                bodies = [message["content"].get("body", "").strip() for message in played.shown(room)]
                played.probes[room] = bodies.count(f"probe {number}")
        await self.gateway.stop()
        made = len(played.tape)
        await self.gateway.start()
        await self._drain(DRAINS_S)
        await self.gateway.stop()
        played.again = played.tape[made:]
        played.after = ledger.parts(self.folder)

    async def _say(self, send: Send, following: list[Step]) -> None:
        key = await self.ask(send.room, f"request {send.index}", thread=send.thread)
        self.played.keys[send.index] = key
        if send.held and self.gateway.running:
            await self.gateway.heard_of(f"request {send.index}")
        elif following and "event" in following[0] and self.gateway.running and self.server.listens:
            await until(lambda: self._over(send))

    def _over(self, send: Send) -> bool:
        key = self.played.keys[send.index]
        rows = [row for row in ledger.parts(self.folder) if row.key == key]
        return (bool(rows) and all(row.state not in ("ready", "sending") for row in rows)) or bool(
            self._due(send.number)
        )

    def _due(self, number: int) -> list[Reply]:
        """Answers up to a step that have been given."""
        return [one for one in self.replies if one.number <= number and one.fault is not None and one.fault.hits]

    async def _event(self, number: int, words: str) -> None:
        gateway, server = self.gateway, self.server
        if not _daemon(self.steps[number]):
            await self._outer_event(number, words)
            return
        if gateway.running and server.listens:
            due = [one for one in self.replies if one.number < number and one.fault is not None]
            await until(lambda: all(one.fault is not None and one.fault.hits for one in due), within_s=30)
            for send in self.sends:
                mine = [one for one in due if one.send in (send, None)]
                if send.number < number and not send.held and not mine:
                    await until(lambda send=send: self._over(send))  # type: ignore[misc]
        if re.search(r"kill|crash|power|oom", words):
            if gateway.running:
                await gateway.stop(kill=True)
        elif re.search(r"restart|sigterm|stop|shut|down|ends", words):
            if gateway.running:
                await gateway.stop()
        elif gateway.running:
            await gateway.stop()
        for gate in self.gates.values():
            gate.set()
        for reply in self.replies:
            if reply.fault is not None and reply.fate == "timeout" and reply.fault.hits and not gateway.running:
                reply.fault.cut()
        if re.search(r"start", words):
            await gateway.start()

    async def _outer_event(self, number: int, words: str) -> None:
        server = self.server
        rooms = {send.room for send in self.sends}
        if _SERVER.search(words) and re.search(r"restart", words):
            await server.stop()
            await server.start()
        elif _SERVER.search(words) and re.search(r"down|unreachable|offline|away|stop|lost|gone", words):
            await self._settle_before(number)
            await server.stop()
        elif _SERVER.search(words) and re.search(r"\bup\b|back|return|start|reachable|online|again", words):
            if not server.listens:
                await server.start()
        elif re.search(r"log(ged)?[ _-]?out|token (is )?(expire|revoke|invalid)", words):
            await self._settle_before(number)
            server.log_out(soft="soft" in words or "expire" in words)
        elif re.search(r"kick|ban\b|banned|removed", words):
            await self._settle_before(number)
            for room in rooms:
                server.member(room, server.user_id, "ban" if "ban" in words else "leave", sender=ASKER)
        elif re.search(r"wait|later|passes|settle|deliver", words):
            await self._settle_before(number)
        else:
            raise NotRun(f"the event {words!r} is not understood")

    async def _settle_before(self, number: int) -> None:
        """What was to be said before this step has left, unless it waits for what comes."""
        for send in self.sends:
            if send.number < number and not send.held:
                await until(lambda send=send: self._over(send), within_s=30)  # type: ignore[misc]

    def _shut_out(self) -> bool:
        """Whether the bot's account is closed for good, so that nothing can leave."""
        return not self.server.tokens and not self.server.soft_logout

    async def _drain(self, within_s: float) -> bool:
        """Wait until all is answered and sent; False: something is left."""
        books = self.gateway.books
        loop = asyncio.get_running_loop()
        end = loop.time() + within_s

        def idle() -> bool:
            self.gateway.pass_waits()
            return (self.server.drained and not books.open_events() and not books.open_parts()) or loop.time() > end

        await until(idle, within_s=within_s + 10)
        return loop.time() <= end


def _words(step: Step) -> str:
    return str(step.get("event", "")).lower()


def _daemon(step: Step) -> bool:
    """Whether a step is about the daemon's own process."""
    words = _words(step)
    return bool(words) and not _SERVER.search(words) and bool(_DAEMON.search(words) or re.search(r"\bdown\b", words))


async def run(given: Json, folder: Path, judge: Any) -> None:
    """Play a case in a plain room and in an encrypted one, and have what came of it judged."""
    said = [step["encrypted"] for step in given["steps"] if "encrypted" in step]
    said += [given["encrypted"]] if "encrypted" in given else []
    for encrypted in [bool(said[0])] if said else [False, True]:
        place = folder / ("encrypted" if encrypted else "plain")
        place.mkdir()
        async with _Server() as server:
            play = _Play(given, place, server, encrypted=encrypted)
            if play.restarts:
                if any(send.edited for send in play.sends):
                    raise NotRun("an answer that grows while the daemon is stopped and started")
                async with outside(place, server, play.policy(), play.voice, play.gate) as gateway:
                    play.gateway = gateway
                    await play.run()
            else:
                timely = any(reply.fate == "timeout" for reply in play.replies)
                async with inside(place, server, play.policy(), play.voice, timely=timely) as gateway:
                    play.gateway = gateway
                    await play.run()
            judge(play.played)
