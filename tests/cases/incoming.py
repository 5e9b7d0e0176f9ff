"""Delivery cases about what comes in: updates, stops and crashes, against the real daemon in a process of its own.

An update is taken as done before the next step unless the case says that it is in progress (its agent has been asked and
has not answered) or that the daemon is down. Afterwards everything has to be answered exactly once.
"""

import asyncio
import re
import signal
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp

from tests.cases import ledger
from tests.cases.child import HOOK_SECRET, Brain, Child, Document, child, text_of
from tests.cases.result import Failed, NotRun, check
from tests.cases.script import PERSON
from tests.servers.botapi import BotApi

BOT_ID = 7001
Step = dict[str, Any]


class Sequence:
    """One case under way.

    Attributes:
        done: updates that were answered before the next step.
        cut: updates whose agent was asked and died with the daemon.
    """

    def __init__(self, steps: list[Step], api: BotApi) -> None:
        self.steps = steps
        self.api = api
        self.brain = Brain(self._answer)
        self.daemon: Child
        self.held: dict[str, asyncio.Event] = {}
        self.dying: set[str] = set()
        self.expected: dict[str, int] = {}
        self.done: set[str] = set()
        self.cut: set[str] = set()
        self.texts: dict[int, Step] = {}
        self.away = timedelta()

    async def _answer(self, document: Document) -> Document:
        words = text_of(document)
        key = next((key for key in [*self.held, *self.dying] if f"update {key}" in words), None)
        if key in self.dying:  # the work ends the daemon, and only then is it answered
            self.dying.discard(key or "")
            self.daemon.tell(signal.SIGTERM)
        elif key is not None:
            await self.held[key].wait()
        return {"kind": "final", "text": f"answer to {words}"}

    async def play(self) -> None:
        first = self.steps[0]
        if not _is(first, "down", "start"):
            await self.daemon.start()
        for number, step in enumerate(self.steps):
            following = self.steps[number + 1 :]
            if "update" in step:
                await self._update(step, following)
            elif "http" in step:
                await self._post(step, following)
            elif "event" in step:
                await self._event(step)
            elif "effect" not in step:
                raise NotRun(f"the step {step!r} is not understood")
        if not self.daemon.running:
            await self.daemon.start()
        for gate in self.held.values():
            gate.set()
        for key, chat in self.expected.items():
            await self.api.wait_for(lambda key=key, chat=chat: self.answers(key, chat), timeout=20)
        if self.daemon.port is None:
            await self.api.wait_drained(timeout=20)
        check(await self.daemon.stop() == 0, "an orderly end", self.daemon.code)

    def answers(self, key: str, chat: int) -> int:
        """How many answers to an update can be seen."""
        return sum(f"update {key}" in text for text in self.api.texts(chat))

    async def _update(self, step: Step, following: list[Step]) -> None:
        key, chat = str(step["update"]), int(step.get("chat", PERSON))
        if not key.isdecimal():
            raise NotRun(f"the update {key!r} is not understood")
        if key in self.expected:
            self.api.push(self.texts[int(key)], again=True)
            await self._settled(key)
            return
        update = self._made(int(key), chat, str(step.get("text", "hello")))
        status = str(step.get("status", ""))
        self.expected[key] = chat
        if "progress" in status or "pending" in status:
            self.held[key] = asyncio.Event()
        elif self.daemon.running and following and _is(following[0], "sigterm"):
            self.dying.add(key)
        self.api.push(update)
        if not self.daemon.running:
            return
        await self.brain.heard(f"update {key}")
        if key in self.held:
            self.cut.add(key)
        elif key in self.dying or (following and _is(following[0], "sigterm")):
            check(await self.daemon.over() == 0, "an orderly end", self.daemon.code)
            self.done.add(key)
        else:
            await self.api.wait_for(lambda: self.answers(key, chat), timeout=20)
            self.done.add(key)

    async def _post(self, step: Step, following: list[Step]) -> None:
        """The platform posts an update; where a crash follows, its agent has not answered yet."""
        found = re.search(r"update (\d+)", str(step["http"]))
        if found is None:
            raise NotRun(f"the call {step['http']!r} is not understood")
        key = found[1]
        if any(_is(one, "crash", "kill") for one in following):
            self.held[key] = asyncio.Event()
        self.expected.setdefault(key, PERSON)
        update = self.texts.get(int(key)) or self._made(int(key), PERSON, "hello")
        headers = {"X-Telegram-Bot-Api-Secret-Token": HOOK_SECRET}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{self.daemon.port}/telegram", json=update, headers=headers) as response,
        ):
            check(response.status == 200, "200", response.status)
        kept = ledger.select(self.daemon.folder, "SELECT key FROM inbox WHERE key = ?", key)
        check(kept, "the update to be durable when 200 is said")

    async def _event(self, step: Step) -> None:
        words = str(step["event"]).lower()
        daemon = self.daemon
        if re.search(r"kill|crash|power|oom", words):
            if daemon.running:
                await daemon.stop(signal.SIGKILL)
            for gate in self.held.values():
                gate.set()
        elif re.search(r"sigterm|stop|shutdown|down", words):
            if daemon.running:
                check(await daemon.stop() == 0, "an orderly end", daemon.code)
            self.away = _duration(words)
        elif "start" in words:
            if daemon.running:
                check(await daemon.stop() == 0, "an orderly end", daemon.code)
            await daemon.start()
            self.away = timedelta()
        elif "returned" not in words:
            raise NotRun(f"the event {words!r} is not understood")

    async def _settled(self, key: str) -> None:
        """A repeated update has been taken."""
        await self.api.wait_drained(timeout=20)
        check(self.answers(key, self.expected[key]) == 1, f"one answer to the repeated update {key}")

    def _made(self, number: int, chat: int, words: str) -> Step:
        who = {"id": chat if chat > 0 else PERSON, "is_bot": False, "first_name": "Bob"}
        place: Step = {"id": chat, "type": "private", "first_name": "Bob"}
        if chat < 0:
            place = {"id": chat, "type": "supergroup", "title": "Room"}
        text = f"{words} (update {number})"
        handle = f"@{self.api.me['username']}"
        message: Step = {"message_id": number, "from": who, "chat": place, "text": text}
        message["date"] = int((datetime.now(UTC) - self.away / 2).timestamp())
        entities: list[Step] = []
        for found in re.finditer(rf"/\w+(?:{handle})?|{handle}", text):
            kind = "bot_command" if found[0].startswith("/") else "mention"
            entities.append({"type": kind, "offset": found.start(), "length": len(found[0])})
        if chat < 0 and not entities:
            message["text"] = f"{handle} {text}"
            entities.append({"type": "mention", "offset": 0, "length": len(handle)})
        if entities:
            message["entities"] = entities
        self.texts[number] = {"update_id": number, "message": message}
        return self.texts[number]


async def run(steps: list[Step], expected: dict[str, Any], folder: Path) -> None:
    """Run one case."""
    handles = re.findall(r"@(\w+)", " ".join(str(step.get("text", "")) for step in steps))
    commands = re.findall(r"(?:^|\s)/(\w+)", " ".join(str(step.get("text", "")) for step in steps))
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username=handles[0] if handles else "desk_bot") as api:
        api.account.updates.allow(None)
        sequence = Sequence(steps, api)
        policy = _policy({int(step.get("chat", PERSON)) for step in steps}, commands)
        webhook = any("http" in step for step in steps)
        async with child(folder, api, policy, sequence.brain, webhook=webhook) as daemon:
            sequence.daemon = daemon
            await sequence.play()
        _judge(sequence, folder)


def _judge(sequence: Sequence, folder: Path) -> None:
    check(sequence.expected, "something to happen")
    for key, chat in sequence.expected.items():
        seen, asked = sequence.answers(key, chat), sequence.brain.times(f"update {key})")
        check(seen == 1, f"{key} to be answered exactly once", seen)
        if key in sequence.done:
            check(asked == 1, f"{key} not to be processed again", f"asked {asked} times")
        elif key in sequence.cut:
            check(asked == 2, f"{key} to be processed after the restart", f"asked {asked} times")
    for call in sequence.api.calls:
        dropped = call.params.get("drop_pending_updates") in (True, "true")
        check(not dropped, "no pending update to be dropped", call.method)
    rows = ledger.select(folder, "SELECT key, state FROM inbox")
    check(len(rows) == len({key for key, _ in rows}), "each update once in the inbox")
    unfinished = [key for key, state in rows if state not in ("done", "set_aside")]
    check(not unfinished, "everything to be finished", unfinished)
    if "Traceback" in sequence.daemon.out:
        raise Failed("expected no traceback")


def _policy(chats: set[int], commands: Iterable[str]) -> str:
    lines = [
        "version: 1",
        "direct: {strangers: allow}",
        "defaults: {backlog: 20h}",
        f"commands: [{', '.join(sorted({*commands}))}]",
    ]
    groups = sorted(chat for chat in chats if chat < 0)
    if groups:
        lines += ["channels:", *(f'  "telegram:{BOT_ID}:{chat}": {{audience: external}}' for chat in groups)]
    return "\n".join(lines) + "\n"


def _duration(words: str) -> timedelta:
    """How long the daemon is said to be away; at most a day, which is as long as the platform keeps updates."""
    found = re.search(r"(\d+)\s*(s|min|h)", words)
    if found is None:
        return timedelta()
    unit_s = {"s": 1, "min": 60, "h": 3600}[found[2]]
    return min(timedelta(seconds=int(found[1]) * unit_s), timedelta(hours=20))


def _is(step: Step, *words: str) -> bool:
    said = str(step.get("event", "")).lower()
    return any(word in said for word in words)
