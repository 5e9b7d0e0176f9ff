"""Where runs of commands and their slots are kept (see :class:`bot.ports.commands.CommandStore`)."""

from datetime import timedelta

import pytest

from bot.model.command import RunState
from bot.model.interaction import Interaction
from bot.model.plan import read_plan
from bot.ports.commands import Kept, KnownRun, NewRun
from bot.storage.store import Store
from policy.decision import Audience
from policy.event import Chat
from tests.looping import PLAN
from tests.stored import NOW, PLACE, RESPOND, decided

LATER = NOW + timedelta(hours=1)
RUN = NewRun(id="r1", event_id=7, agent="main", command="close", content=b"close o-17")
ORDER = Kept(slot="order", command="close", value="o-17")


async def root(whole):
    """A request on which an agent works."""
    return (await decided(whole.inbox, 1, RESPOND)).id


def beginning(event_id):
    return Interaction(
        id="i1",
        agent="main",
        key="run:1",
        conversation="ann",
        destination=PLACE,
        chat=Chat.DIRECT,
        person=None,
        asker="ann",
        audience=Audience.EXTERNAL,
        language="en",
        event_id=event_id,
        root_message="1",
        plan=read_plan(PLAN),
        started_at=NOW,
        changed_at=NOW,
    )


@pytest.fixture
async def whole(tmp_path):
    store = await Store.open(tmp_path / "store.sqlite")
    yield store
    await store.close()


@pytest.fixture
def store(whole):
    return whole.commands


async def test_a_run_is_begun_once_and_known_by_what_it_was_asked_for(store):
    assert await store.known(RUN) is None
    assert await store.begin(RUN, now=NOW)
    assert not await store.begin(RUN, now=NOW)
    assert await store.known(RUN) == KnownRun(id="r1", state=RunState.STARTED)
    other = NewRun(id="r1", event_id=7, agent="main", command="close", content=b"close o-18")
    assert not (await store.known(other)).same


async def test_the_first_end_of_a_run_is_its_end(store):
    await store.begin(RUN, now=NOW)
    await store.settle(RUN, RunState.REFUSED, now=NOW, codes=("late", "closed"))
    await store.settle(RUN, RunState.DONE, now=NOW)
    assert await store.known(RUN) == KnownRun(id="r1", state=RunState.REFUSED, codes=("late", "closed"))


async def test_a_run_that_was_not_begun_can_be_settled_all_the_same(store):
    await store.settle(RUN, RunState.DONE, now=NOW)
    assert (await store.known(RUN)).state is RunState.DONE


async def test_what_an_earlier_process_has_begun_is_unknown_once(store):
    await store.begin(RUN, now=NOW)
    assert await store.lost(started_before=NOW, now=NOW) == []
    assert await store.lost(started_before=LATER, now=LATER) == ["r1"]
    assert await store.lost(started_before=LATER, now=LATER) == []
    assert (await store.known(RUN)).state is RunState.UNKNOWN


async def test_every_step_is_in_the_journal_without_a_word(whole, store, tmp_path):
    await store.begin(RUN, now=NOW)
    await store.settle(RUN, RunState.DONE, now=NOW)
    await store.deny(RUN, "unknown_object", now=NOW)
    facts = [one.facts for one in await whole.journal.tail(20) if one.kind == "command"]
    assert ['"state":"started"' in facts[0], '"state":"done"' in facts[1]] == [True, True]
    assert '"codes":"unknown_object"' in facts[2]
    assert not any("close" in one or "o-17" in one or "main" in one for one in facts)


async def test_a_slot_holds_the_latest_object_until_the_run_ends(store):
    await store.settle(RUN, RunState.DONE, now=NOW, keep=ORDER, root_id=7)
    later = Kept(slot="order", command="other", value="o-18")
    run = NewRun(id="r2", event_id=8, agent="main", command="other", content=b"x")
    await store.settle(run, RunState.DONE, now=NOW, keep=later, root_id=7)
    assert await store.kept(7) == {"order": later}
    assert await store.kept(8) == {}
    await store.forget(8)
    assert await store.kept(7) == {"order": later}
    await store.forget(7)
    assert await store.kept(7) == {}


async def test_a_slot_lasts_as_long_as_its_interaction(whole, store):
    event_id = await root(whole)
    started = await whole.interactions.start(beginning(event_id), now=NOW)
    await store.settle(RUN, RunState.DONE, now=NOW, keep=ORDER, root_id=event_id)
    await store.forget(event_id)
    assert await store.kept(event_id) == {"order": ORDER}
    await whole.interactions.end(started.interaction.id, "complete", now=LATER)
    assert await store.kept(event_id) == {}


async def test_what_was_missed_and_what_ended_long_ago_is_swept(whole, store):
    await store.settle(RUN, RunState.DONE, now=NOW, keep=ORDER, root_id=99)
    await store.sweep(now=NOW, contents_before=NOW - timedelta(days=1))
    assert await store.kept(99) == {}, "no request and no interaction goes on there"
    assert await store.known(RUN) is not None
    await store.sweep(now=LATER, contents_before=LATER)
    assert await store.known(RUN) is None


async def test_a_slot_of_a_request_that_runs_is_not_swept(whole, store):
    event_id = await root(whole)
    await store.settle(RUN, RunState.DONE, now=NOW, keep=ORDER, root_id=event_id)
    await store.sweep(now=NOW, contents_before=NOW)
    assert await store.kept(event_id) == {"order": ORDER}
    await whole.inbox.finish(event_id, [], outcome="silent", now=NOW)
    await store.sweep(now=NOW, contents_before=NOW)
    assert await store.kept(event_id) == {}
