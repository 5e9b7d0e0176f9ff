"""The daemon is killed at random moments while people write on Matrix: nothing is lost, nothing is done twice.

A transaction id makes an unclear send one message, so here each request has exactly one answer, whatever happened.
DISCREET_SEED repeats a run as far as processes can be repeated, DISCREET_KILLS sets the number of kills.
"""

import asyncio
import os
import random
import secrets
from collections import defaultdict

import pytest

from tests.faults.books import Books
from tests.faults.matrix_crowd import NUMBER, Crowd, Room, writing
from tests.faults.matrix_process import MatrixProcess, matrix_daemon
from tests.servers.matrix_person import edited, people_on
from tests.servers.synapse import Way, way_to

KILLS = int(os.environ.get("DISCREET_KILLS", "25"))
SEED = int(os.environ.get("DISCREET_SEED", "0")) or secrets.randbelow(2**31) + 1
DRAINS_S = 90.0
LOST = ["/send/m.room", "/send/m.room", "/sync", "/keys/", "/sendToDevice/", "/typing/", "/receipt/", "/media/"]
"""Calls whose answers get lost now and then."""
OBSERVED = (
    "{audience: external, observe_unmentioned_group_messages: true, observation: {retention: 1h, readers: [main]}}"
)


def policy(bot: str, rooms: dict[str, str]) -> str:
    return "\n".join(
        [
            "version: 1",
            "defaults:",
            "  burst: {quiet: 1s, longest: 10s}",
            "  rate: {person: 6000, channel: 6000}",
            "direct: {strangers: allow}",
            "channels:",
            *(f'  "matrix:{bot}:{room}": {settings}' for room, settings in rooms.items()),
            "",
        ],
    )


async def pause(seconds: float) -> None:
    """Let things run on: the moment of a kill is what is random here, nothing is waited for."""
    try:
        await asyncio.wait_for(asyncio.Event().wait(), seconds)
    except TimeoutError:
        return


async def kill_at_a_random_moment(process: MatrixProcess, way: Way, dice: random.Random) -> None:
    """Start the daemon and kill it: during its start, while it catches up, or while it idles along."""
    for _ in range(dice.randint(0, 3)):
        way.lose_answer(dice.choice(LOST), arrives=dice.random() < 0.5)
    if dice.random() < 0.2:
        await process.spawn()
        await pause(dice.uniform(0.05, 1.0))
    else:
        await process.start()
        await pause(dice.choice([dice.uniform(0.0, 0.1), dice.uniform(0.1, 1.2)]))
    await process.kill()
    way.keep_answers()


def check_decisions(crowd: Crowd, books: Books) -> None:
    """Each event is there once, with one final decision and one end."""
    entries = books.entries()
    assert crowd.events <= set(entries)
    assert {entry.state for entry in entries.values()} == {"done"}
    for event in crowd.silent:
        assert (entries[event].outcome, entries[event].result) == ("mute", "muted"), entries[event]
    for asked in crowd.requests.values():
        entry = entries[asked.event]
        assert entry.outcome == "respond", asked
        assert entry.result == "answered" or (asked.file and entry.result == "carried"), (asked, entry)
    assert set(books.journaled("decided", "event").values()) == {1}
    finished = books.journaled("finished", "event")
    assert set(finished.values()) == {1}


def check_answers(crowd: Crowd, books: Books) -> None:
    """Each request has one answer, seen once in its own room, and the store knows it by its id."""
    entries = books.entries()
    parts = defaultdict(list)
    for part in books.answers():
        if part.text:
            parts[part.event].append(part)
    shown: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for room in crowd.rooms:
        for message in room.people[0].said(room.id, crowd.bot):
            assert edited(message) is None
            text = message["content"]["body"]
            numbers = [int(number) for number in NUMBER.findall(text)]
            files = sum(crowd.requests[number].file for number in numbers)
            assert numbers, text
            assert files in (0, len(numbers)), text
            assert (len(numbers), text.count(" bytes")) == (max(files, 1), files), text
            for number in numbers:
                shown[number].append((room.id, message["event_id"]))
    assert set(shown) == set(crowd.requests)
    ids = {entry.id: entry for entry in entries.values()}
    for number, asked in crowd.requests.items():
        entry = entries[asked.event]
        carrier = entry if entry.carrier is None else ids[entry.carrier]
        (part,) = parts[carrier.id]
        assert part.state == "delivered", (number, part)
        assert len(shown[number]) == 1, f"request {number} is answered {len(shown[number])} times"
        assert shown[number] == [(asked.room, *part.messages)], number
    assert len(parts) == len({shown[number][0] for number in crowd.requests})


def check_order(crowd: Crowd) -> None:
    """Within a room answers stand in the order of the requests; a file waits for more, so its answer comes later."""
    quick = {number for number, asked in crowd.requests.items() if not asked.file}
    for room in crowd.rooms:
        texts = room.people[0].texts(room.id, crowd.bot)
        order = [number for text in texts for number in map(int, NUMBER.findall(text)) if number in quick]
        assert order == sorted(order), "answers overtook each other"


@pytest.mark.rule("DUR-1", "DUR-2", "DUR-3", "DUR-4", "PART-11", "PART-13")
async def test_on_matrix_nothing_is_lost_and_nothing_done_twice_however_often_the_daemon_is_killed(synapse, tmp_path):
    print(f"DISCREET_SEED={SEED} DISCREET_KILLS={KILLS}")
    dice = random.Random(SEED)
    bot, password = await synapse.register(synapse.fresh("desk"))
    async with people_on(synapse, tmp_path) as people, way_to(synapse) as way:
        crowd = Crowd(bot=bot, rooms=[], dice=random.Random(SEED + 1))
        members = [await people(name) for name in ("ann", "bob", "carl", "dora")]
        listed = {}
        for number in range(5):
            room = await members[0].room(bot, *(person.id for person in members[1:]), encrypted=number >= 3)
            for person in members[1:]:
                await person.join(room)
            await synapse.act(bot, "POST", f"join/{room}", {})
            listed[room] = OBSERVED if number == 0 else "{audience: external}"
            crowd.rooms.append(Room(id=room, people=tuple(members[:3]), sender=members[3]))
        options = {"url": way.url, "user_id": bot, "password": password, "policy": policy(bot, listed)}
        async with matrix_daemon(tmp_path / "bot", synapse, **options) as process:
            await process.start()  # the very first start: what is written from now on is younger
            for person, encrypted in ((members[1], False), (members[2], True)):
                room = await person.room(bot, direct=True, encrypted=encrypted)
                await person.member(room, bot)
                crowd.rooms.append(Room(id=room, people=(person,), direct=True))
            for one in crowd.rooms:
                for person in (*one.people, *([one.sender] if one.sender else [])):
                    await person.member(one.id, bot)
            await process.kill()
            async with writing(crowd):
                for _ in range(KILLS):
                    await kill_at_a_random_moment(process, way, dice)
            await process.start()
            await process.settled(crowd.events, within_s=DRAINS_S)
            assert await process.stop() == 0
        for one in crowd.rooms:
            await one.people[0].caught_up(one.id)
        books = process.books
        check_decisions(crowd, books)
        check_answers(crowd, books)
        check_order(crowd)
        process.check_journal()
        assert process.complaints() == []
        print(f"{len(crowd.events)} events, {len(crowd.requests)} requests, {process.starts} starts, {way.lost} lost")
