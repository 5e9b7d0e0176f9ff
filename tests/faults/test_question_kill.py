"""The daemon is killed at random moments while people are asked and answer: no question and no answer is lost or doubled.

DISCREET_SEED repeats a run as far as processes can be repeated; there is half of DISCREET_KILLS kills.
"""

import asyncio
import json
import random
import sqlite3
from collections import Counter
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.faults.process import BOT_ID, HANDLE, REPORTS, Process, daemon
from tests.faults.test_kill import DRAINS_S, KILLS, SEED, kill_at_a_random_moment
from tests.servers.botapi import BotApi

GROUPS = [-1001000002001 - n for n in range(150)]
DIRECT = [530000001 + n for n in range(150)]
OTHERS = 540000001
"""Somebody who reads along in a group and is not asked."""
CHANNELS = ("stable", "beta")
SCRIPT = """
version: 1
rules:
  - when: {words: [request]}
    say:
      - ask:
          question: Which channel?
          schema: {type: object, properties: {channel: {enum: [stable, beta]}}, required: [channel]}
      - final: "it is {answer.channel}"
  - when: {words: [important]}
    say:
      - ask:
          question: Which channel, for sure?
          important: true
          schema: {type: object, properties: {channel: {enum: [stable, beta]}}, required: [channel]}
      - final: "it is {answer.channel}"
otherwise: [{silence: true}]
"""
POLICY = "\n".join(
    [
        "version: 1",
        "defaults: {burst: {quiet: 1s, longest: 10s}, rate: {person: 6000, channel: 6000}}",
        "direct: {strangers: allow}",
        "channels:",
        *(f'  "telegram:{BOT_ID}:{chat}": {{audience: external}}' for chat in GROUPS),
        f'  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}',
        "",
    ],
)


@dataclass
class Talk:
    """One chat with one request; what its person has submitted, in order: how, and which choice."""

    chat: int
    person: int
    important: bool
    said: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class People:
    """Ask for things, and answer what they are asked: twice, late, by reply, and sometimes where others are asked."""

    api: BotApi
    dice: random.Random
    talks: list[Talk] = field(default_factory=list)
    _fresh: list[int] = field(default_factory=list)
    _old: dict[int, dict[str, str]] = field(default_factory=dict)
    asking: bool = True
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    def declare(self) -> None:
        """Make the chats known."""
        for chat in GROUPS:
            self.api.chat(chat, type="supergroup", title=f"Room {chat}")
        self._fresh = self.dice.sample([*GROUPS, *DIRECT], len(GROUPS) + len(DIRECT))

    async def live(self) -> None:
        """Go on until told to stop."""
        while not self._stop.is_set():
            if self.asking and self._fresh and self.dice.random() < 0.3:
                self._ask(self._fresh.pop())
            for talk in self.dice.sample(self.talks, min(len(self.talks), 30)):
                self._answer(talk)
            try:
                await asyncio.wait_for(self._stop.wait(), self.dice.uniform(0.02, 0.1))
            except TimeoutError:
                continue

    def stop(self) -> None:
        """No further word."""
        self._stop.set()

    def card(self, chat: int) -> Any:
        """The question as the chat shows it; None: not yet."""
        return next((one for one in self.api.sent(chat) if "Which channel" in one["text"]), None)

    def buttons(self, card: Any) -> dict[str, str]:
        """Labels and data of what can be tapped now."""
        rows = card.get("reply_markup", {}).get("inline_keyboard", [])
        return {one["text"]: one["callback_data"] for row in rows for one in row}

    def _ask(self, chat: int) -> None:
        important = self.dice.random() < 0.3
        talk = Talk(chat=chat, person=chat if chat > 0 else 510000001 + len(self.talks), important=important)
        said = "" if chat > 0 else f"{HANDLE} "
        self.api.say(chat=chat, sender=talk.person, text=f"{said}{'important' if important else 'request'}")
        self.talks.append(talk)

    def _answer(self, talk: Talk) -> None:
        card = self.card(talk.chat)
        if card is None or self.dice.random() < 0.5:
            return
        shown = self.buttons(card)
        if not shown:
            if self.dice.random() < 0.02 and len(talk.said) < 12:  # a late tap on what was shown before
                self._press(talk, card, *self.dice.choice(list(self._old[talk.chat].items())))
            return
        self._old.setdefault(talk.chat, {}).update(shown)
        if talk.chat < 0 and self.dice.random() < 0.2:
            label, data = self.dice.choice(list(shown.items()))
            self.api.press(chat=talk.chat, sender=OTHERS, message_id=card["message_id"], data=data)
        elif "Confirm" in shown:
            self._press(talk, card, "Confirm", shown["Confirm"])
        elif len(talk.said) > 12:
            return
        elif self.dice.random() < 0.3 and not talk.important:
            channel = self.dice.choice(CHANNELS)
            self.api.say(chat=talk.chat, sender=talk.person, text=channel, reply_to=card["message_id"])
            talk.said.append(("reply", channel))
        else:
            for label in self.dice.sample(CHANNELS, 1 if talk.important else self.dice.randint(1, 2)):
                if label in shown:
                    self._press(talk, card, label, shown[label])

    def _press(self, talk: Talk, card: Any, label: str, data: str) -> None:
        self.api.press(chat=talk.chat, sender=talk.person, message_id=card["message_id"], data=data, force=True)
        if label in CHANNELS:
            talk.said.append(("tap", label))


@asynccontextmanager
async def living(api, dice):
    people = People(api=api, dice=dice)
    people.declare()
    task = asyncio.create_task(people.live(), name="people")
    try:
        yield people
    finally:
        people.stop()
        await task


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question in the store, with what became of it."""

    state: str
    answer: Any
    result: str | None
    shown: str


def rows(process: Process, statement: str) -> list[Any]:
    """What its store holds."""
    uri = f"{(process.folder / 'data' / 'discreet.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=10)) as database:
        return database.execute(statement).fetchall()


def asked(process: Process) -> dict[int, list[Asked]]:
    """The questions of each chat."""
    found: dict[int, list[Asked]] = {}
    for channel, state, document, result, shown in rows(
        process,
        "SELECT q.channel, q.state, q.document, inbox.result, outbox.state FROM questions q"
        " JOIN inbox ON inbox.id = q.event_id"
        " JOIN outbox ON outbox.id = (SELECT min(part_id) FROM question_parts WHERE question_id = q.id)",
    ):
        one = Asked(state=state, answer=json.loads(document)["answer"], result=result, shown=shown)
        found.setdefault(int(channel), []).append(one)
    return found


def submissions(process: Process) -> list[int]:
    """How often each question was answered, as the journal says."""
    statement = (
        "SELECT count(*) FROM journal WHERE kind = 'question' AND json_extract(facts, '$.state') = 'answered'"
        " GROUP BY json_extract(facts, '$.question')"
    )
    return [count for (count,) in rows(process, statement)]


def over(process: Process, talks: list[Talk]) -> bool:
    """Every request has come to its end, but for those whose question never arrived."""
    found = asked(process)
    left = [one for ones in found.values() for one in ones if one.result != "answered"]
    return found.keys() == {talk.chat for talk in talks} and all(one.shown == "unknown" for one in left)


def check_talk(talk: Talk, questions: list[Asked], people: People, api: BotApi) -> str:
    """One request, one question, one answer: the first that was submitted; and the agent has it."""
    (question,) = questions
    ends = [text for text in api.texts(talk.chat) if text.startswith("it is ")]
    card = people.card(talk.chat)
    if question.state == "open":  # nobody knows whether it was shown, and it was not
        assert (card, question.shown) == (None, "unknown"), (talk, question)
        return "never shown"
    assert question.state == "answered", (talk, question)
    counted = [value for way, value in talk.said if way == "tap" or question.shown == "delivered"]
    if not talk.important:  # a reply is one to the question once its receipt is stored
        assert question.answer["channel"] in {value for _, value in talk.said}
        if question.shown == "unknown" or all(way == "tap" for way, _ in talk.said):
            assert question.answer == {"channel": counted[0]}, (talk, question)
    assert question.result == "answered", (talk, question)
    assert len(ends) <= 1
    assert ends in ([], [f"it is {question.answer['channel']}"])
    if question.shown == "delivered" or any(way == "tap" for way, _ in talk.said):
        assert people.buttons(card) == {}, (talk, question)
    return "answered" if ends else "answered, and nobody knows whether it was told"


@pytest.mark.rule("DUR-3", "FORM-7", "FORM-9", "FORM-12")
async def test_no_question_and_no_answer_is_lost_or_doubled_however_often_the_daemon_is_killed(api, tmp_path):
    kills = max(6, KILLS // 2)
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
            await process.until(lambda _: over(process, people.talks), within_s=DRAINS_S)
        await api.wait_drained(timeout=DRAINS_S)
        await process.until(lambda books: not books.open_parts(), within_s=DRAINS_S)
        assert await process.stop() == 0
    found = asked(process)
    assert found.keys() == {talk.chat for talk in people.talks}
    results = Counter(check_talk(talk, found[talk.chat], people, api) for talk in people.talks)
    taken = submissions(process)
    assert set(taken) == {1}
    assert len(taken) == sum(one.state == "answered" for (one,) in found.values())
    process.check_journal()
    assert process.complaints() == []
    print(f"{len(people.talks)} requests, {process.starts} starts, {dict(results)}")
