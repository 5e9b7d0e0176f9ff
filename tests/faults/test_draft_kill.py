"""The daemon is killed while drafts are filed, decided, claimed and sent: none is lost, and none is said twice.

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

from tests.faults.process import ANN, BOB, BOT_ID, GROUP, HANDLE, REPORTS, Process, daemon
from tests.faults.test_kill import DRAINS_S, KILLS, SEED, kill_at_a_random_moment
from tests.servers.botapi import BotApi

GROUPS = [-1001000003001 - n for n in range(60)]
FIRST, SECOND = "It costs 1,400 EUR.", "It costs 1,500 EUR."
SCRIPT = f"""
version: 1
rules:
  - when: {{words: [again]}}
    say: [{{final: {{text: "{SECOND}", class: prices}}}}]
otherwise: [{{final: {{text: "{FIRST}", class: prices}}}}]
"""


def policy(*groups: int, more: str = "") -> str:
    """One operator, the room of reports, and rooms of customers."""
    return "\n".join(
        [
            "version: 1",
            "defaults: {burst: {quiet: 1s, longest: 10s}, rate: {person: 6000, channel: 6000}}",
            "operators: [ann]",
            f'people: {{ann: {{accounts: ["telegram:{ANN}"]}}}}',
            "channels:",
            *(f'  "telegram:{BOT_ID}:{chat}": {{audience: external{more}}}' for chat in groups),
            f'  "telegram:{BOT_ID}:{REPORTS}": {{audience: internal, reports: true}}',
            "",
        ]
    )


def rows(process: Process, statement: str) -> list[Any]:
    """What its store holds."""
    uri = f"{(process.folder / 'data' / 'discreet.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=10)) as database:
        return database.execute(statement).fetchall()


def drafts(process: Process) -> dict[int, list[tuple[str, str]]]:
    """State and text of the drafts of each chat, the oldest first."""
    found: dict[int, list[tuple[str, str]]] = {}
    for channel, state, document in rows(
        process, "SELECT channel, state, document FROM approvals ORDER BY proposed_at, id"
    ):
        text = json.loads(document)["parameters"]["text"]
        found.setdefault(int(channel), []).append((state, text))
    return found


def cards(api: BotApi) -> list[tuple[Any, dict[str, str]]]:
    """What can be decided now: cards and their buttons."""
    found = []
    for message in api.sent(REPORTS):
        keyboard = message.get("reply_markup", {}).get("inline_keyboard", [])
        shown = {one["text"]: one["callback_data"] for row in keyboard for one in row if "callback_data" in one}
        if "Approve" in shown:
            found.append((message, shown))
    return found


def approve(api: BotApi) -> None:
    ((card, shown),) = cards(api)
    api.press(chat=REPORTS, sender=ANN, message_id=card["message_id"], data=shown["Approve"])


async def asked(process: Process, api: BotApi) -> None:
    """Somebody has asked for a price, and the draft stands in the operators' room."""
    api.say(chat=GROUP, sender=BOB, text=f"{HANDLE} what does it cost?")
    await api.wait_for(lambda: cards(api), timeout=20)
    await process.settled()


@pytest.mark.rule("DUR-2", "DUR-3", "AUTO-6")
@pytest.mark.parametrize("arrives", [True, False])
async def test_a_kill_between_the_send_and_its_receipt_leaves_the_draft_unknown_and_it_is_not_sent_again(
    api, tmp_path, arrives
):
    async with daemon(tmp_path, api, policy=policy(GROUP, more=", unclear_sends: resend"), script=SCRIPT) as process:
        await process.start()
        await asked(process, api)
        fault = api.hang("sendMessage", deliver=arrives, chat_id=GROUP)
        approve(api)
        await fault.reached()
        await process.kill()
        fault.cut()
        api.faults.remove(fault)
        for _ in range(2):
            await process.start()
            await process.until(lambda _: drafts(process)[GROUP] == [("unknown", FIRST)])
            await process.settled()
            assert api.texts(GROUP) == ([FIRST] if arrives else [])
            await process.kill()


@pytest.mark.rule("DUR-3", "AUTO-6", "APPR-5")
async def test_a_kill_between_the_claim_and_the_send_loses_nothing_and_doubles_nothing(api, tmp_path):
    async with daemon(tmp_path, api, policy=policy(GROUP), script=SCRIPT) as process:
        await process.start()
        await asked(process, api)
        api.fail("sendMessage", retry_after=3, chat_id=GROUP)
        approve(api)
        await process.until(lambda _: drafts(process)[GROUP] == [("claimed", FIRST)])
        await process.kill()
        assert api.texts(GROUP) == []
        await process.start()
        await process.until(lambda _: drafts(process)[GROUP] == [("executed", FIRST)])
        await process.settled()
        assert api.texts(GROUP) == [FIRST]
        await process.kill()
        await process.start()
        await process.settled()
        assert api.texts(GROUP) == [FIRST]
        assert await process.stop() == 0
        process.check_journal()


@pytest.mark.rule("DUR-3", "AUTO-6")
async def test_a_decision_that_came_while_nobody_was_there_counts_once(api, tmp_path):
    async with daemon(tmp_path, api, policy=policy(GROUP), script=SCRIPT) as process:
        await process.start()
        await asked(process, api)
        await process.kill()
        approve(api)
        await process.start()
        await process.until(lambda _: drafts(process)[GROUP] == [("executed", FIRST)])
        await process.kill()
        await process.start()
        await process.settled()
        assert api.texts(GROUP) == [FIRST]


@dataclass
class People:
    """Ask for prices, some of them twice; an operator decides on what stands there, and taps on what stood there, too."""

    api: BotApi
    dice: random.Random
    asked: dict[int, int] = field(default_factory=dict)
    denied: Counter[int] = field(default_factory=Counter)
    asking: bool = True
    _old: list[tuple[int, str]] = field(default_factory=list)
    _pressed: set[str] = field(default_factory=set)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def live(self) -> None:
        """Go on until told to stop."""
        while not self._stop.is_set():
            if self.asking and self.dice.random() < 0.3:
                chat = self.dice.choice(GROUPS)
                number = self.asked.get(chat, 0)
                if number < 2:
                    self.asked[chat] = number + 1
                    word = "again, what does it cost?" if number else "what does it cost?"
                    self.api.say(chat=chat, sender=BOB, text=f"{HANDLE} {word}")
            for card, shown in self.dice.sample(found := cards(self.api), min(len(found), 3)):
                self._decide(card["message_id"], shown)
            try:
                await asyncio.wait_for(self._stop.wait(), self.dice.uniform(0.02, 0.1))
            except TimeoutError:
                continue

    def stop(self) -> None:
        """No further word."""
        self._stop.set()

    def _decide(self, message: int, shown: dict[str, str]) -> None:
        if self._old and self.dice.random() < 0.1:
            late, data = self.dice.choice(self._old)
            self.api.press(chat=REPORTS, sender=ANN, message_id=late, data=data, force=True)
        label = "Deny" if self.dice.random() < 0.15 else "Approve"
        if shown[label] in self._pressed and self.dice.random() < 0.9:
            return
        self._pressed.add(shown[label])
        self._old.append((message, shown["Approve"]))
        self.api.press(chat=REPORTS, sender=ANN, message_id=message, data=shown[label])


@asynccontextmanager
async def living(api, dice):
    for chat in GROUPS:
        api.chat(chat, type="supergroup", title=f"Room {chat}")
    people = People(api=api, dice=dice)
    task = asyncio.create_task(people.live(), name="people")
    try:
        yield people
    finally:
        people.stop()
        await task


OVER = frozenset({"executed", "denied", "unknown"})


def over(process: Process) -> bool:
    """Every draft has come to its end, but for those whose card never arrived."""
    shown = dict(
        rows(
            process,
            "SELECT a.id, group_concat(o.state) FROM approvals a JOIN approval_parts p ON p.approval_id = a.id"
            " JOIN outbox o ON o.id = p.part_id WHERE p.role = 'card' AND p.version = a.version GROUP BY a.id",
        )
    )
    left = rows(process, "SELECT id, state FROM approvals")
    return all(state in OVER or "delivered" not in shown.get(one, "") for one, state in left)


@pytest.mark.rule("DUR-3", "AUTO-6", "APPR-5", "APPR-6")
async def test_no_draft_is_lost_and_none_is_said_twice_however_often_the_daemon_is_killed(api, tmp_path):
    kills = max(6, KILLS // 2)
    print(f"DISCREET_SEED={SEED} DISCREET_KILLS={KILLS}: {kills} kills")
    dice = random.Random(SEED)
    async with daemon(tmp_path, api, policy=policy(*GROUPS), script=SCRIPT) as process:
        await process.start()
        await process.kill()
        async with living(api, random.Random(SEED + 1)) as people:
            for _ in range(kills):
                await kill_at_a_random_moment(process, api, dice)
            people.asking = False
            await process.start()
            await api.wait_drained(timeout=DRAINS_S)
            await process.idle(within_s=DRAINS_S)
            await process.until(lambda _: over(process), within_s=DRAINS_S)
        await api.wait_drained(timeout=DRAINS_S)
        await process.until(lambda books: not books.open_parts(), within_s=DRAINS_S)
        assert await process.stop() == 0
    results = rows(process, "SELECT result FROM inbox JOIN decisions ON event_id = inbox.id WHERE kind = 'message'")
    assert Counter(result for (result,) in results) == Counter({"drafted": sum(people.asked.values())})
    found, ends = drafts(process), Counter[str]()
    assert found.keys() == people.asked.keys()
    for chat, filed in found.items():
        said = api.texts(chat)
        assert len(set(said)) == len(said), (chat, said)
        sent = [text for state, text in filed if state == "executed"]
        doubtful = [text for state, text in filed if state == "unknown"]
        assert set(sent) <= set(said) <= {*sent, *doubtful}, (chat, filed, said)
        ends.update(state for state, _ in filed)
    decided = Counter(rows(process, "SELECT approval_id, version FROM approval_decisions WHERE verdict = 'approve'"))
    assert set(decided.values()) <= {1}  # filed again before it was claimed, a draft is approved once more
    assert len({approval for approval, _ in decided}) == ends["executed"] + ends["unknown"]
    process.check_journal()
    assert process.complaints() == []
    print(f"{sum(people.asked.values())} requests, {process.starts} starts, {dict(ends)}")
