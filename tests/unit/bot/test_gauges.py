"""What the metrics show of how much waits (OPS-4), and what the sweep does when something fails."""

import asyncio
import re
from contextlib import suppress
from datetime import timedelta

import pytest

from bot.model.approval import ApprovalState
from bot.model.errors import StoreError
from bot.observability import metrics
from bot.observability.health import Level
from bot.ports.store import OutboxState
from bot.runtime import gauges
from bot.storage import statements
from bot.storage.store import Store
from tests.harness import GROUP, CountingAgent, running
from tests.servers.botapi import BotApi
from tests.stored import MUTE, NOW, RESPOND, answered, arrived, decided, new, sending


@pytest.fixture
async def store(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    yield store
    await store.close()


async def test_the_load_counts_what_waits_and_not_what_is_over(store):
    assert (await store.overview.load()).journal == 0
    await arrived(store.inbox, 1)
    await decided(store.inbox, 2, RESPOND)
    await decided(store.inbox, 3, MUTE)
    await answered(store.inbox, 4)
    first, second = await sending(store.outbox, [new(), new()])
    await store.outbox.end(first.id, OutboxState.UNKNOWN, code="timeout", messages=[], now=NOW)
    await store.outbox.end(second.id, OutboxState.DELIVERED, code="delivered", messages=["7"], now=NOW)
    load = await store.overview.load()
    assert (load.inbox, load.outbox, load.unknown) == (2, 1, 1)
    assert load.journal == (await store.journal.tail(1))[0].seq


async def test_the_load_is_read_from_small_indexes_only(store):
    for text, index in (
        (statements.LOAD_INBOX, "ix_inbox_unfinished"),
        (statements.LOAD_OUTBOX, "ix_outbox_open"),
        (statements.LOAD_UNKNOWN, "ix_outbox_unknown"),
    ):
        assert index in str(store._readers[0].read(f"EXPLAIN QUERY PLAN {text}"))


def gauge(name, **labels):
    inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
    line = re.escape(f"{name}{{{inner}}}" if labels else name)
    return float(re.search(rf"^{line} (\S+)$", metrics.render()[0].decode(), re.MULTILINE)[1])


class Nothing:
    """Parts of a daemon in which nothing waits but what is given."""

    def __init__(self, **counts):
        self.__dict__.update({"open_lanes": 0, "open_batches": 0, "waiting": 0, **counts})


class Approvals:
    """One approval whose outcome nobody knows."""

    async def counts(self):
        return {ApprovalState.UNKNOWN: 1, ApprovalState.PROPOSED: 0}


async def measured(overview, gateway, worker, dispatcher, seen):
    """Measure until something has been seen."""
    task = asyncio.create_task(gauges.measure(overview, gateway, worker, dispatcher, Approvals()))
    try:
        async with asyncio.timeout(10):
            await seen.wait()
            await asyncio.sleep(0)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_store_that_can_not_be_read_is_measured_again_later(store, monkeypatch):
    monkeypatch.setattr(gauges, "MEASURE_EVERY_S", 0)
    await decided(store.inbox, 1, RESPOND)
    read = asyncio.Event()
    asked = 0

    class Flaky:
        async def load(self):
            nonlocal asked
            asked += 1
            if asked == 1:
                raise StoreError("busy")
            if asked > 2:
                read.set()
            return await store.overview.load()

    await measured(Flaky(), Nothing(open_lanes=3, open_batches=2), Nothing(waiting=4), Nothing(), read)
    assert gauge("discreet_lanes", kind="inbound") == 3
    assert gauge("discreet_queue", queue="batches") == 2
    assert gauge("discreet_queue", queue="work") == 4
    assert gauge("discreet_queue", queue="inbox") == 1
    assert gauge("discreet_journal_records") == 1
    assert gauge("discreet_approvals", state="unknown") == 1


@pytest.fixture
async def api():
    async with BotApi(token=f"7001:{'A' * 35}", username="desk_bot") as emulator:
        emulator.chat(GROUP, type="supergroup", title="Customer")
        yield emulator


async def test_a_daemon_shows_a_request_that_runs_and_one_that_waits_behind_it(api, tmp_path, monkeypatch):
    monkeypatch.setattr(gauges, "MEASURE_EVERY_S", 0.02)
    sizes, changed = {}, asyncio.Event()

    def note(queue, count):
        metrics.queue_size(queue, count)
        sizes[queue] = count
        changed.set()

    monkeypatch.setattr(gauges, "queue_size", note)
    agent = CountingAgent(gate=asyncio.Event())
    async with running(tmp_path, api=api, agent=agent):
        for number in range(2):
            api.say(chat=GROUP, sender=502, text=f"@desk_bot question {number}")

        async def shown(**wanted):
            async with asyncio.timeout(15):
                while {name: sizes.get(name) for name in wanted} != wanted:
                    changed.clear()
                    await changed.wait()

        await shown(inbox=2, work=1, outbox=0)
        assert gauge("discreet_lanes", kind="work") == 1
        assert gauge("discreet_queue", queue="work") == 1
        agent.gate.set()
        await shown(inbox=0, work=0, outbox=0)


async def test_a_sweeper_that_fails_keeps_no_other_from_its_work_and_is_told(api, tmp_path):
    asked = []

    async def broken(*, now, contents_before):
        raise OSError("the folder is gone")

    async def works(*, now, contents_before):
        asked.append(now - contents_before)
        return 1

    async with running(tmp_path, api=api) as gateway:
        daemon = gateway.daemon
        crew = daemon.crew
        object.__setattr__(crew, "sweepers", (broken, works))
        await daemon._sweep_once(crew.clock())
        assert asked == [timedelta(days=30)]
        assert crew.health.states()["sweep"].level is Level.DEGRADED
        object.__setattr__(crew, "sweepers", (works,))
        await daemon._sweep_once(crew.clock())
        assert crew.health.states()["sweep"].level is Level.OK
