"""Deliveries that come again, whatever the clock and the process do: each time at most once, never early (OUT-6, DUR-3)."""

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bot.deliveries.door import Door
from bot.deliveries.schedule import Order, Schedule
from bot.deliveries.timetable import next_after
from bot.model.part import Action, Part
from bot.storage.store import Store
from policy.destination import parse_destination
from policy.grants import Grant, Issuer, IssuerKind
from tests.harness import BOT_ID, GROUP, POLICY, fixed

PLACE = parse_destination(f"telegram:{BOT_ID}:{GROUP}")
BEGIN = datetime(2026, 10, 24, 21, 7, tzinfo=UTC)
"""The evening before clocks are changed."""
CRONS = ("*/15 * * * *", "30 2 * * *", "0 * * * *", "7 3,4 * * *")
BACKLOG = timedelta(hours=1)
STEPS = some.lists(
    some.one_of(
        some.tuples(some.just("on"), some.integers(1, 200)),
        some.tuples(some.just("back"), some.integers(1, 120)),
        some.tuples(some.just("restart"), some.integers(0, 600)),
        some.tuples(some.just("gone"), some.just(0)),
    ),
    min_size=4,
    max_size=25,
)


class Clock:
    def __init__(self):
        self.now = BEGIN

    def __call__(self):
        return self.now


class Paper:
    """A channel that writes nothing down but what was said; the dispatcher is its reader."""

    repeatable = False

    def present(self, speech, answer, *, to):
        return (Part(destination=to.destination, action=Action.SEND, speech=speech, text=answer.text, payload=b"{}"),)

    def lane(self, destination):
        return str(destination)


def schedule(store, clock, handed, policy):
    dispatcher = SimpleNamespace(enqueue=lambda parts: handed.extend((clock(), part.id) for part in parts))
    return Schedule(
        store=store.deliveries,
        grants=store.grants,
        policy=lambda: policy,
        entries=dict,
        channels={PLACE.account: Paper()},
        dispatcher=dispatcher,
        door=Door(lambda: policy),
        agents=("main",),
        dispatchers=(),
        clock=clock,
    )


async def live(folder, cron, steps, uses):
    clock, handed, policy = Clock(), [], fixed(POLICY)
    store = await Store.open(folder / "discreet.db")
    grant = Grant(
        id="grant",
        issuer=Issuer(kind=IssuerKind.ADMIN, id="console"),
        agent="main",
        destination=PLACE,
        purpose="clocks",
        issued_at=BEGIN,
        expires_at=BEGIN + timedelta(days=300),
        uses=uses,
    )
    await store.grants.add(grant)
    room = schedule(store, clock, handed, policy)
    made = await room.post(
        Order(destination=str(PLACE), text="it is time", cron=cron, timezone="Europe/Berlin"), agent="main", key="1"
    )
    latest = clock.now
    due = [made.next_at]
    for step, minutes in steps:
        if step == "back":
            clock.now -= timedelta(minutes=minutes)
        else:
            clock.now += timedelta(minutes=minutes)
        if step == "restart":
            await store.close()
            store = await Store.open(folder / "discreet.db")
            room = schedule(store, clock, handed, policy)
        if step == "gone":  # two looks at once, as of two that don't know of each other
            other = schedule(store, clock, handed, policy)
            await asyncio.gather(room.look_round(), other.look_round())
        await room.look_round()
        latest = max(latest, clock.now)
        due.append((await store.deliveries.get(made.id)).next_at)
    found, used = await store.deliveries.get(made.id), (await store.grants.get("grant")).used
    await store.close()
    return handed, due, latest, clock.now, found, used


@pytest.mark.rule("OUT-6", "DUR-3")
@given(cron=some.sampled_from(CRONS), steps=STEPS, uses=some.integers(1, 30))
@settings(deadline=None, max_examples=25)
def test_each_time_comes_at_most_once_whatever_clocks_and_processes_do(cron, steps, uses):
    with tempfile.TemporaryDirectory() as folder:
        handed, due, latest, now, found, used = asyncio.run(live(Path(folder), cron, steps, uses))
    assert due == sorted(due), "what is due next is never earlier than before"
    times = []
    at = BEGIN
    while (at := next_after(cron, "Europe/Berlin", at)) <= latest:
        times.append(at)
    assert len(handed) == used == found.fired <= min(uses, len(times))
    for moment, _ in handed:
        assert any(timedelta() <= moment - time <= BACKLOG for time in times), "not early, and not too late"
    assert found.next_at > now, "what was due is dealt with"
