"""The daemon is killed at random moments while people clarify what they want: nothing is lost, and nothing is doubled.

DISCREET_SEED repeats a run as far as processes can be repeated; there is a quarter of DISCREET_KILLS kills.
"""

import asyncio
import random
import sqlite3
from collections import Counter
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.faults.process import BOT_ID, REPORTS, Process, daemon
from tests.faults.test_kill import DRAINS_S, KILLS, SEED, kill_at_a_random_moment
from tests.servers.botapi import BotApi

DIRECT = [530000001 + n for n in range(120)]
SCRIPT = """
version: 1
rules:
  - when: {words: [report]}
    say:
      - clarify:
          task: scope
          slot: composition
          question: Which composition?
          candidates: [{id: alpha, name: Alpha}, {id: beta, name: Beta}]
      - clarify:
          task: export
          slot: format
          after: [scope]
          question: Which format?
          candidates: [{id: pdf, name: Pdf}, {id: html, name: Html}]
      - final: "report on {slot.composition} as {slot.format}"
otherwise: [{silence: true}]
"""
POLICY = f"""
version: 1
defaults: {{burst: {{quiet: 1s, longest: 10s}}, rate: {{person: 6000, channel: 6000}}}}
direct: {{strangers: allow}}
channels:
  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}
"""


@dataclass
class People:
    """Ask for a report each, and answer each question that they see: by a tap, or by a reply with its name."""

    api: BotApi
    dice: random.Random
    chats: list[int] = field(default_factory=list)
    said: dict[int, list[str]] = field(default_factory=dict)
    asking: bool = True
    _answered: set[tuple[int, int]] = field(default_factory=set)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def live(self) -> None:
        """Go on until told to stop."""
        while not self._stop.is_set():
            if self.asking and len(self.chats) < len(DIRECT) and self.dice.random() < 0.4:
                self._ask(DIRECT[len(self.chats)])
            for chat in self.dice.sample(self.chats, min(len(self.chats), 30)):
                self._answer(chat)
            try:
                await asyncio.wait_for(self._stop.wait(), self.dice.uniform(0.02, 0.1))
            except TimeoutError:
                continue

    def stop(self) -> None:
        """No further word."""
        self._stop.set()

    def _ask(self, chat: int) -> None:
        self.api.say(chat=chat, sender=chat, text="report")
        self.chats.append(chat)
        self.said[chat] = []

    def _answer(self, chat: int) -> None:
        for card in self.api.sent(chat):
            rows = card.get("reply_markup", {}).get("inline_keyboard", [])
            buttons = {one["text"]: one["callback_data"] for row in rows for one in row}
            once = (chat, card["message_id"])
            if not buttons or (once in self._answered and self.dice.random() > 0.02) or self.dice.random() < 0.4:
                continue
            label, data = self.dice.choice(list(buttons.items()))
            if once in self._answered or self.dice.random() < 0.6:  # twice perhaps, and then another choice
                self.api.press(chat=chat, sender=chat, message_id=card["message_id"], data=data)
            else:
                self.api.say(chat=chat, sender=chat, text=label, reply_to=card["message_id"])
            self._answered.add(once)


@asynccontextmanager
async def living(api, dice):
    people = People(api=api, dice=dice)
    task = asyncio.create_task(people.live(), name="people")
    try:
        yield people
    finally:
        people.stop()
        await task


def rows(process: Process, statement: str, *values: Any) -> list[Any]:
    """What its store holds."""
    uri = f"{(process.folder / 'data' / 'discreet.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=10)) as database:
        return database.execute(statement, values).fetchall()


def stuck(process: Process) -> set[int]:
    """Chats whose question nobody knows to have arrived."""
    found = rows(
        process,
        "SELECT i.channel FROM clarifications c JOIN interactions i ON i.id = c.interaction_id"
        " JOIN question_parts p ON p.question_id = c.id JOIN outbox o ON o.id = p.part_id"
        " WHERE c.closed_at IS NULL AND o.state = 'unknown'",
    )
    return {int(channel) for (channel,) in found}


def over(process: Process, people: People) -> bool:
    """Every interaction has come to its end, but for those whose question never arrived."""
    states = {int(channel): status for channel, status in rows(process, "SELECT channel, status FROM interactions")}
    left = {chat for chat in people.chats if states.get(chat) != "completed"}
    return left <= stuck(process)


@pytest.mark.rule("CLAR-5", "CLAR-7", "DUR-3")
async def test_no_clarification_and_no_continuation_is_lost_or_doubled_however_often_the_daemon_is_killed(
    api, tmp_path
):
    kills = max(6, KILLS // 4)
    print(f"DISCREET_SEED={SEED} DISCREET_KILLS={KILLS}: {kills} kills")
    dice = random.Random(SEED)
    async with daemon(tmp_path, api, policy=POLICY, script=SCRIPT) as process:
        await process.start()
        await process.kill()
        async with living(api, random.Random(SEED + 1)) as people:
            for _ in range(kills):
                await kill_at_a_random_moment(process, api, dice)
            people.asking = False
            await process.start()
            await process.until(lambda _: over(process, people), within_s=DRAINS_S)
        await api.wait_drained(timeout=DRAINS_S)
        await process.until(lambda books: not books.open_parts(), within_s=DRAINS_S)
        assert await process.stop() == 0
    results = Counter(check(process, api, chat) for chat in people.chats)
    process.check_journal()
    assert process.complaints() == []
    print(f"{len(people.chats)} requests, {process.starts} starts, {dict(results)}")


def check(process: Process, api: BotApi, chat: int) -> str:
    """One request, one interaction; each answered slot is one patch and one run; the report is what was answered."""
    ((interaction, status, version),) = rows(
        process, "SELECT id, status, plan_version FROM interactions WHERE channel = ?", str(chat)
    )
    asked = rows(
        process,
        "SELECT slot, status, json_extract(document, '$.value') FROM clarifications WHERE interaction_id = ?"
        " ORDER BY asked_at",
        interaction,
    )
    values = {slot: value for slot, state, value in asked if state == "answered"}
    runs = rows(
        process,
        "SELECT inbox.result FROM continuations c JOIN inbox ON inbox.id = c.event_id WHERE c.interaction_id = ?"
        " ORDER BY c.event_id",
        interaction,
    )
    assert [slot for slot, state, _ in asked if state == "answered"] == ["composition", "format"][: len(values)]
    assert version == 1 + len(values), (asked, version)
    assert len(runs) == len(values), "each answer begins one run"
    reports = [text for text in api.texts(chat) if text.startswith("report on")]
    if status != "completed":
        assert reports == []
        return "never shown"
    assert [result for (result,) in runs] == ["clarification", "answered"], runs
    wanted = f"report on {values['composition'].title()} as {values['format'].title()}"
    assert reports in ([], [wanted])
    return "reported" if reports else "reported, and nobody knows whether it was told"
