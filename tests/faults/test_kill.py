"""The daemon is killed at random moments while people keep writing: nothing is lost, nothing is done twice.

DISCREET_SEED repeats a run as far as processes can be repeated, DISCREET_KILLS sets the number of kills.
"""

import asyncio
import os
import random
import secrets
from collections import Counter, defaultdict

import pytest

from tests.faults.books import Books
from tests.faults.crowd import CHATS, NUMBER, Crowd, policy, writing
from tests.faults.process import REPORTS, Process, daemon
from tests.servers.botapi import BotApi

KILLS = int(os.environ.get("DISCREET_KILLS", "50"))
SEED = int(os.environ.get("DISCREET_SEED", "0")) or secrets.randbelow(2**31) + 1
DRAINS_S = 60.0


async def pause(seconds: float) -> None:
    """Let things run on: the moment of a kill is what is random here, nothing is waited for."""
    try:
        await asyncio.wait_for(asyncio.Event().wait(), seconds)
    except TimeoutError:
        return


async def kill_at_a_random_moment(process: Process, api: BotApi, dice: random.Random) -> None:
    """Start the daemon and kill it: during its start, while it catches up, or while it idles along."""
    held = [api.hang("sendMessage", deliver=dice.random() < 0.5) for _ in range(dice.randint(0, 2))]
    if dice.random() < 0.2:
        await process.spawn()
        await pause(dice.uniform(0.05, 1.0))
    else:
        await process.start()
        await pause(dice.choice([dice.uniform(0.0, 0.1), dice.uniform(0.1, 1.2)]))
    await process.kill()
    for fault in held:  # calls that were under way end with their daemon, whether they had their effect or not
        fault.cut()
        api.faults.remove(fault)


def check_acknowledged(crowd: Crowd, api: BotApi, books: Books) -> None:
    """DUR-1: what the platform need not repeat is in the inbox."""
    acknowledged = set(crowd.updates) - set(api.pending)
    assert acknowledged <= set(books.updates())


def check_decisions(crowd: Crowd, books: Books) -> None:
    """Each update is there once, with one final decision and one end."""
    entries = books.entries()
    assert sorted(books.updates()) == sorted(crowd.updates)
    assert {entry.state for entry in entries.values()} == {"done"}
    for update in crowd.silent:
        entry = entries[str(update)]
        assert (entry.outcome, entry.result) == ("mute", "muted"), entry
    for asked in crowd.requests.values():
        first, *others = (entries[str(update)] for update in asked.updates)
        assert (first.outcome, first.result) == ("respond", "answered"), (asked, first)
        for entry in others:
            assert (entry.outcome, entry.result, entry.carrier) == ("respond", "carried", first.id), (asked, entry)
    decided, finished = books.journaled("decided", "event"), books.journaled("finished", "event")
    assert set(decided.values()) == {1}
    assert len(decided) == len(crowd.updates)
    assert set(finished.values()) == {1}
    assert len(finished) == len(crowd.requests)


def check_answers(crowd: Crowd, api: BotApi, books: Books) -> Counter[str]:
    """Each request has one answer, seen once in its own chat, or it is known that nobody knows."""
    entries = books.entries()
    answers = defaultdict(list)
    for part in books.answers():
        answers[part.event].append(part)
    shown: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for chat in CHATS:
        for message in api.sent(chat):
            found = NUMBER.search(message["text"])
            assert found is not None, message["text"]
            shown[int(found[1])].append((chat, message["message_id"], message["text"]))
    assert set(shown) <= set(crowd.requests)
    doubts: Counter[str] = Counter()
    for number, asked in crowd.requests.items():
        (part,) = answers.pop(entries[str(asked.updates[0])].id)
        seen = shown[number]
        assert len(seen) <= 1, f"request {number} is answered {len(seen)} times"
        assert part.state in ("delivered", "unknown"), (number, part)
        if part.state == "delivered":
            assert [(chat, (str(message),)) for chat, message, _ in seen] == [(asked.chat, part.messages)], number
        else:
            doubts["arrived all the same" if seen else "did not arrive"] += 1
        for chat, _, text in seen:
            assert chat == asked.chat
            assert text.count(" bytes") == asked.files, f"the album of request {number} was not handed over whole"
    assert not answers
    return doubts


def check_order(crowd: Crowd, api: BotApi) -> None:
    """Within a chat answers stand in the order of the requests; an album waits until it is whole, so it comes later."""
    place = {number: asked.updates[0] for number, asked in crowd.requests.items() if not asked.files}
    for chat in CHATS:
        numbers = [int(found[1]) for text in api.texts(chat) if (found := NUMBER.search(text)) is not None]
        order = [place[number] for number in numbers if number in place]
        assert order == sorted(order), f"in chat {chat} answers overtook each other"


@pytest.mark.rule("DUR-1", "DUR-2", "DUR-3", "DUR-4", "PART-8", "PART-11", "PART-13")
async def test_nothing_is_lost_and_nothing_done_twice_however_often_the_daemon_is_killed(api, tmp_path):
    print(f"DISCREET_SEED={SEED} DISCREET_KILLS={KILLS}")
    dice = random.Random(SEED)
    async with daemon(tmp_path, api, policy=policy()) as process:
        await process.start()  # the very first start: what is written from now on is younger
        await process.kill()
        async with writing(api, random.Random(SEED + 1)) as crowd:
            for _ in range(KILLS):
                await kill_at_a_random_moment(process, api, dice)
                check_acknowledged(crowd, api, process.books)
        await process.start()
        await process.settled(within_s=DRAINS_S)
        assert await process.stop() == 0
    books = process.books
    check_decisions(crowd, books)
    doubts = check_answers(crowd, api, books)
    check_order(crowd, api)
    process.check_journal()
    assert process.complaints() == []
    print(
        f"{len(crowd.updates)} updates, {len(crowd.requests)} requests, {process.starts} starts, unclear: {dict(doubts)}"
    )
    unknown = [part for part in books.parts() if part.state == "unknown"]
    assert bool(unknown) == bool(api.sent(REPORTS)), "operators hear of what nobody knows, and of nothing else"
