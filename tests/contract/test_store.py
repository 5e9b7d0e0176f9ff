"""What every store must do, whatever database is under it (bot.ports.store)."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.model.errors import StoreError
from bot.model.part import Action
from bot.ports.store import InboxState, Load, Located, OutboxState
from bot.storage.store import Store
from policy.destination import Destination
from policy.event import Original
from tests.stored import (
    ACCOUNT,
    DEFER,
    HOUR,
    MUTE,
    NOW,
    PLACE,
    RESPOND,
    TOPIC,
    answered,
    arrival,
    arrived,
    decided,
    new,
    part,
    rich_part,
    sending,
    subject,
)


class Sqlite:
    """A store in a file; opened again as a restart would."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "data" / "store.sqlite"
        self.open_now: Store | None = None

    async def open(self) -> Store:
        if self.open_now is not None:
            await self.open_now.close()
        self.open_now = await Store.open(self.path)
        return self.open_now


@pytest.fixture(params=[Sqlite])
async def backend(request, tmp_path):
    one = request.param(tmp_path)
    yield one
    if one.open_now is not None:
        await one.open_now.close()


@pytest.fixture
async def store(backend):
    return await backend.open()


# arrivals


async def test_the_first_start_is_remembered_for_ever(backend, store):
    assert await store.inbox.started(ACCOUNT, now=NOW) == NOW
    assert await store.inbox.started(ACCOUNT, now=NOW + HOUR) == NOW
    again = await backend.open()
    assert await again.inbox.started(ACCOUNT, now=NOW + HOUR) == NOW
    assert await again.inbox.started("telegram:7002", now=NOW + HOUR) == NOW + HOUR


async def test_arrivals_are_stored_in_order_and_come_back_whole_after_a_restart(backend, store):
    arrivals = [arrival(key, f"words {key}", lane=f"lane {key % 3}") for key in range(75)]
    stored = await store.inbox.put(ACCOUNT, arrivals)
    assert [one.arrival for one in stored] == arrivals
    assert [one.id for one in stored] == sorted(one.id for one in stored)
    again = await backend.open()
    rows = await again.inbox.unfinished(ACCOUNT)
    assert [row.stored for row in rows] == stored
    assert {row.state for row in rows} == {InboxState.NEW}
    assert rows[0].decision is None
    assert rows[0].attempts == 0


async def test_a_repeated_key_is_recognised_even_within_one_delivery(store):
    first = await store.inbox.put(ACCOUNT, [arrival(1), arrival(2)])
    second = await store.inbox.put(ACCOUNT, [arrival(2), arrival(3), arrival(3, "again"), arrival(1), arrival(4)])
    assert [one.arrival.key for one in second] == ["3", "4"]
    assert first[-1].id < second[0].id < second[1].id
    assert await store.inbox.put(ACCOUNT, [arrival(4)]) == []
    assert [row.stored.arrival.key for row in await store.inbox.unfinished(ACCOUNT)] == ["1", "2", "3", "4"]


async def test_the_same_key_of_two_accounts_is_two_events(store):
    assert len(await store.inbox.put(ACCOUNT, [arrival(1)])) == 1
    assert len(await store.inbox.put("telegram:7002", [arrival(1)])) == 1
    assert len(await store.inbox.unfinished(ACCOUNT)) == 1


async def test_racing_deliveries_of_the_same_events_store_each_once(store):
    batches = [[arrival(key) for key in range(start, start + 40)] for start in (0, 20, 10, 0, 35)]
    results = await asyncio.gather(*(store.inbox.put(ACCOUNT, batch) for batch in batches))
    keys = [int(one.arrival.key) for result in results for one in result]
    assert sorted(keys) == list(range(75))


async def test_nothing_to_store_is_nothing_stored(store):
    assert await store.inbox.put(ACCOUNT, []) == []
    assert await store.outbox.put([], now=NOW) == []
    await store.inbox.settle([], MUTE, now=NOW)


# decisions


async def test_a_muted_event_is_finished_and_loses_its_words(store):
    stored = await decided(store.inbox, 1, MUTE)
    assert await store.inbox.unfinished(ACCOUNT) == []
    assert (await store.overview.counts()).inbox[InboxState.DONE] == 1
    assert await store.inbox.put(ACCOUNT, [stored.arrival]) == []  # the key stays


async def test_a_decided_event_is_taken_up_again_with_its_decision_and_attempts(backend, store):
    stored = await decided(store.inbox, 1, RESPOND)
    assert await store.inbox.attempt(stored.id) == 1
    assert await store.inbox.attempt(stored.id) == 2
    again = await backend.open()
    (row,) = await again.inbox.unfinished(ACCOUNT)
    assert (row.stored, row.state, row.decision, row.attempts) == (stored, InboxState.DECIDED, RESPOND, 2)


async def test_every_field_of_a_decision_comes_back(store):
    decision = replace(DEFER, observe=True, control=True)
    await decided(store.inbox, 1, decision, batch="b")
    (row,) = await store.inbox.unfinished(ACCOUNT)
    assert row.decision == decision


async def test_a_deferred_event_keeps_its_batch_and_its_words(backend, store):
    stored = await decided(store.inbox, 1, DEFER, batch="album 7")
    again = await backend.open()
    (row,) = await again.inbox.unfinished(ACCOUNT)
    assert (row.stored, row.state, row.batch) == (stored, InboxState.DEFERRED, "album 7")


async def test_an_event_that_can_not_be_understood_is_set_aside_and_blocks_nothing(store):
    await decided(store.inbox, 1, MUTE, set_aside=True)
    assert await store.inbox.unfinished(ACCOUNT) == []
    assert (await store.overview.counts()).inbox[InboxState.SET_ASIDE] == 1


async def test_an_event_has_exactly_one_decision(store):
    for key, decision in enumerate((MUTE, RESPOND, DEFER)):
        stored = await decided(store.inbox, key, decision)
        with pytest.raises(StoreError, match="can't be decided"):
            await store.inbox.decide(stored, subject(key), RESPOND, now=NOW)
    assert sum((await store.overview.channels())[0].decisions.values()) == 3


async def test_many_decisions_at_once_are_each_recorded(store):
    stored = await store.inbox.put(ACCOUNT, [arrival(key) for key in range(200)])
    await asyncio.gather(
        *(store.inbox.decide(one, subject(one.id), RESPOND if one.id % 2 else MUTE, now=NOW) for one in stored),
    )
    (seen,) = await store.overview.channels()
    assert seen.decisions == {"respond": 100, "mute": 100}
    assert len(await store.inbox.unfinished(ACCOUNT)) == 100
    assert len(await store.journal.tail(1000)) == 200


async def test_a_batch_that_is_answered_is_carried_by_its_first_part(backend, store):
    ids = [(await decided(store.inbox, key, DEFER, f"words {key}", batch="album")).id for key in range(3)]
    await store.inbox.settle(ids, RESPOND, now=NOW)
    again = await backend.open()
    (row,) = await again.inbox.unfinished(ACCOUNT)
    assert (row.stored.id, row.state, row.decision) == (ids[0], InboxState.DECIDED, RESPOND)
    assert [(one.id, one.arrival) for one in row.members] == [
        (ids[1], arrival(1, "words 1")),
        (ids[2], arrival(2, "words 2")),
    ]
    await again.inbox.finish(ids[0], [], outcome="silent", now=NOW)
    assert await again.inbox.unfinished(ACCOUNT) == []
    assert await again.inbox.original(PLACE, "2") is Original.TAKEN


async def test_a_batch_that_is_muted_is_finished_whole(store):
    ids = [(await decided(store.inbox, key, DEFER, batch="album")).id for key in range(3)]
    await store.inbox.settle(ids, MUTE, now=NOW)
    assert await store.inbox.unfinished(ACCOUNT) == []
    assert await store.inbox.original(PLACE, "0") is Original.MUTED


async def test_only_deferred_events_can_be_settled_and_then_all_or_none(store):
    ids = [(await decided(store.inbox, 0, DEFER)).id, (await decided(store.inbox, 1, MUTE)).id]
    with pytest.raises(StoreError, match="can't be settled"):
        await store.inbox.settle(ids, RESPOND, now=NOW)
    (row,) = await store.inbox.unfinished(ACCOUNT)
    assert row.state is InboxState.DEFERRED
    with pytest.raises(StoreError, match="final"):
        await store.inbox.settle(ids[:1], DEFER, now=NOW)


async def test_an_attempt_at_work_that_is_finished_is_an_error(store):
    stored = await decided(store.inbox, 1, MUTE)
    with pytest.raises(StoreError):
        await store.inbox.attempt(stored.id)


async def test_finishing_puts_the_parts_into_the_outbox_in_order(backend, store):
    waiting = await answered(store.inbox, 1, part("one"), rich_part("two"), part("three"))
    assert [one.new.part.text for one in waiting] == ["one", "two", "three"]
    again = await backend.open()
    assert await again.outbox.pending(ACCOUNT, now=NOW) == waiting
    assert await again.inbox.unfinished(ACCOUNT) == []


async def test_work_is_finished_once(store):
    stored = await decided(store.inbox, 1, RESPOND)
    await store.inbox.finish(stored.id, [new(event_id=stored.id)], outcome="answered", now=NOW)
    with pytest.raises(StoreError, match="it is done"):
        await store.inbox.finish(stored.id, [new(event_id=stored.id)], outcome="answered", now=NOW)
    assert len(await store.outbox.pending(ACCOUNT, now=NOW)) == 1


async def test_what_fails_leaves_its_neighbours_alone(store):
    stored = [await decided(store.inbox, key, RESPOND) for key in range(20)]
    twice = [*stored, stored[3], stored[7]]
    results = await asyncio.gather(
        *(store.inbox.finish(one.id, [new(event_id=one.id)], outcome="answered", now=NOW) for one in twice),
        return_exceptions=True,
    )
    assert [type(result) for result in results[20:]] == [StoreError, StoreError]
    assert all(isinstance(result, list) for result in results[:20])
    assert len(await store.outbox.pending(ACCOUNT, now=NOW)) == 20
    assert await store.journal.verify() is None


# messages


async def test_what_became_of_a_message_is_found_by_its_id(store):
    await decided(store.inbox, 1, MUTE)
    await decided(store.inbox, 2, RESPOND)
    await decided(store.inbox, 3, DEFER)
    assert await store.inbox.original(PLACE, "1") is Original.MUTED
    assert await store.inbox.original(TOPIC, "2") is Original.TAKEN
    assert await store.inbox.original(PLACE, "3") is Original.TAKEN
    assert await store.inbox.original(PLACE, "4") is Original.UNSEEN
    assert await store.inbox.original(replace(PLACE, channel="-1"), "1") is Original.UNSEEN


async def test_what_came_later_says_nothing_about_what_a_message_was_before(store):
    first = await decided(store.inbox, "a", MUTE, subject=subject(1))
    edit = await decided(store.inbox, "b", RESPOND, subject=subject(1, kind="edit"))
    assert await store.inbox.original(PLACE, "1", before=first.id) is Original.UNSEEN
    assert await store.inbox.original(PLACE, "1", before=edit.id) is Original.MUTED
    assert await store.inbox.original(PLACE, "1", before=edit.id + 1) is Original.TAKEN


async def test_an_edit_that_was_answered_makes_its_message_taken(store):
    await decided(store.inbox, "a", MUTE, subject=subject(1))
    await decided(store.inbox, "b", RESPOND, subject=subject(1, kind="edit"))
    assert await store.inbox.original(PLACE, "1") is Original.TAKEN


async def test_a_tap_or_a_reaction_says_nothing_about_the_message_under_it(store):
    await decided(store.inbox, "a", RESPOND, subject=subject(1, kind="tap"))
    await decided(store.inbox, "b", MUTE, subject=subject(1, kind="reaction"))
    assert await store.inbox.original(PLACE, "1") is Original.UNSEEN
    assert await store.inbox.withdraw(PLACE, "1", now=NOW) == []


async def test_a_withdrawn_request_is_named_and_never_starts_again(backend, store):
    waiting = await decided(store.inbox, 1, RESPOND, "regretted")
    deferred = await decided(store.inbox, 2, DEFER, "regretted too", batch="b")
    muted = await decided(store.inbox, 3, MUTE)
    assert await store.inbox.withdraw(PLACE, "1", now=NOW) == [waiting.id]
    assert await store.inbox.withdraw(PLACE, "2", now=NOW) == [deferred.id]
    assert await store.inbox.withdraw(PLACE, str(muted.arrival.key), now=NOW) == []
    assert await store.inbox.withdraw(PLACE, "9", now=NOW) == []
    again = await backend.open()
    assert await again.inbox.unfinished(ACCOUNT) == []
    assert (await again.overview.counts()).inbox[InboxState.DONE] == 3


async def test_a_withdrawn_request_is_finished_without_an_answer(store):
    decided_row = await decided(store.inbox, 1, RESPOND)
    deferred_row = await decided(store.inbox, 2, DEFER)
    for row in (decided_row, deferred_row):
        with pytest.raises(StoreError, match="no answer"):
            await store.inbox.finish(row.id, [new(event_id=row.id)], outcome="withdrawn", now=NOW)
        assert await store.inbox.finish(row.id, [], outcome="withdrawn", now=NOW) == []
    assert await store.inbox.unfinished(ACCOUNT) == []


async def test_work_that_had_begun_may_end_although_its_request_was_withdrawn(store):
    stored = await decided(store.inbox, 1, RESPOND)
    await store.inbox.withdraw(PLACE, "1", now=NOW)
    assert await store.inbox.finish(stored.id, [], outcome="stopped", now=NOW) == []


async def test_withdrawing_one_part_of_a_batch_withdraws_the_work_that_it_belongs_to(store):
    ids = [(await decided(store.inbox, key, DEFER, batch="album")).id for key in range(3)]
    await store.inbox.settle(ids, RESPOND, now=NOW)
    assert await store.inbox.withdraw(PLACE, "2", now=NOW) == [ids[0]]
    assert await store.inbox.unfinished(ACCOUNT) == []


# observations


async def test_observed_words_are_kept_for_their_channel_until_their_time(store):
    for key in range(4):
        await decided(store.inbox, key, MUTE, observe=(f"kept {key}", NOW + HOUR * (key + 1)))
    await decided(store.inbox, "t", MUTE, observe=("in the topic", NOW + HOUR), subject=subject(9, destination=TOPIC))
    seen = await store.inbox.observed(PLACE, limit=3, now=NOW)
    assert [one.text for one in seen] == ["kept 1", "kept 2", "kept 3"]
    assert (seen[0].sender, seen[0].at) == ("telegram:510000001", NOW)
    assert [one.text for one in await store.inbox.observed(PLACE, limit=9, now=NOW + 2 * HOUR)] == ["kept 2", "kept 3"]
    assert [one.text for one in await store.inbox.observed(TOPIC, limit=9, now=NOW)] == ["in the topic"]


async def test_of_an_edited_message_only_the_latest_words_are_kept(store):
    await decided(store.inbox, "a", MUTE, observe=("first", NOW + HOUR), subject=subject(1))
    await decided(store.inbox, "b", MUTE, observe=("second", NOW + HOUR), subject=subject(1, kind="edit"))
    assert [one.text for one in await store.inbox.observed(PLACE, limit=9, now=NOW)] == ["second"]


async def test_an_erased_message_is_erased_among_the_observations_too(store):
    await decided(store.inbox, 1, MUTE, observe=("regretted", NOW + HOUR))
    await decided(store.inbox, 2, MUTE, observe=("stays", NOW + HOUR))
    await store.inbox.withdraw(PLACE, "1", now=NOW)
    assert [one.text for one in await store.inbox.observed(PLACE, limit=9, now=NOW)] == ["stays"]


# retention


async def test_the_sweep_erases_what_is_past_its_time_and_nothing_else(backend, store):
    await decided(store.inbox, 1, MUTE, observe=("old", NOW + HOUR))
    await decided(store.inbox, 2, MUTE, observe=("young", NOW + 9 * HOUR))
    await decided(store.inbox, 3, MUTE, set_aside=True)
    (sent,) = await answered(store.inbox, 4, rich_part("spoken", token="old"))
    await store.outbox.begin(sent.id)
    await store.outbox.end(sent.id, OutboxState.DELIVERED, code="delivered", messages=["77"], now=NOW)
    (open_part,) = await answered(store.inbox, 5, part("still waiting"))
    running = await decided(store.inbox, 6, RESPOND)
    late = NOW + 2 * HOUR
    assert await store.inbox.sweep(now=late, contents_before=NOW) == 1  # the observation alone
    # raw of 3, 4 and 5; buttons of 4; content of the part of 4
    assert await store.inbox.sweep(now=late, contents_before=NOW + HOUR) == 3 + 2 + 1
    assert await store.inbox.sweep(now=late, contents_before=NOW + HOUR) == 0
    assert [one.text for one in await store.inbox.observed(PLACE, limit=9, now=NOW)] == ["young"]
    assert await store.outbox.pending(ACCOUNT, now=NOW) == [open_part]
    assert [row.stored for row in await store.inbox.unfinished(ACCOUNT)] == [running]
    assert await store.outbox.wrote(TOPIC, "77")  # ids stay
    assert await store.outbox.tapped(ACCOUNT, "old") is None
    assert await store.journal.verify() is None


async def test_the_parts_of_a_batch_are_kept_while_its_work_is_not_finished(store):
    ids = [(await decided(store.inbox, key, DEFER, batch="album")).id for key in range(3)]
    await store.inbox.settle(ids, RESPOND, now=NOW)
    assert await store.inbox.sweep(now=NOW + HOUR, contents_before=NOW + HOUR) == 0
    (row,) = await store.inbox.unfinished(ACCOUNT)
    assert len(row.members) == 2
    await store.inbox.finish(ids[0], [], outcome="silent", now=NOW)
    assert await store.inbox.sweep(now=NOW + HOUR, contents_before=NOW + HOUR) == 3


async def test_a_long_sweep_goes_on_to_the_end(store):
    stored = await store.inbox.put(ACCOUNT, [arrival(key) for key in range(1203)])
    await asyncio.gather(
        *(store.inbox.decide(one, subject(one.id), MUTE, now=NOW, observe=("kept", NOW)) for one in stored),
    )
    assert await store.inbox.sweep(now=NOW, contents_before=NOW) == 1203


# outbox


async def test_a_part_of_every_kind_comes_back_as_it_was(backend, store):
    news = [
        replace(new(rich_part()), person="telegram:1", chat="direct", unclear="resend", lane="x"),
        new(part("with\nlines, ü and 🙂", destination=TOPIC)),
    ]
    waiting = await store.outbox.put(news, now=NOW)
    again = await backend.open()
    assert await again.outbox.pending(ACCOUNT, now=NOW) == waiting
    assert [one.new for one in waiting] == news
    assert await again.outbox.pending("telegram:7002", now=NOW) == []


async def test_a_delivered_part_leaves_its_receipt(backend, store):
    (one,) = await sending(store.outbox, [new()])
    assert not await store.outbox.wrote(PLACE, "501")
    await store.outbox.end(one.id, OutboxState.DELIVERED, code="delivered", messages=["501", "502"], now=NOW)
    again = await backend.open()
    assert await again.outbox.wrote(PLACE, "501")
    assert await again.outbox.wrote(TOPIC, "502")
    assert not await again.outbox.wrote(PLACE, "503")
    assert not await again.outbox.wrote(replace(PLACE, workspace="7002"), "501")
    assert await again.outbox.pending(ACCOUNT, now=NOW) == []


async def test_an_edit_of_our_message_has_the_same_receipt_again(store):
    for _ in range(2):
        (one,) = await sending(store.outbox, [new()])
        await store.outbox.end(one.id, OutboxState.DELIVERED, code="delivered", messages=["501"], now=NOW)
    assert await store.outbox.wrote(PLACE, "501")


@pytest.mark.parametrize(
    ("state", "begun", "fits"),
    [
        (OutboxState.DELIVERED, True, True),
        (OutboxState.REJECTED, True, True),
        (OutboxState.UNKNOWN, True, True),
        (OutboxState.SKIPPED, False, True),
        (OutboxState.REJECTED, False, True),
        (OutboxState.RETRACTED, False, True),
        (OutboxState.DELIVERED, False, False),
        (OutboxState.UNKNOWN, False, False),
        (OutboxState.SKIPPED, True, False),
        (OutboxState.READY, True, False),
        (OutboxState.SENDING, False, False),
    ],
)
async def test_a_part_ends_only_as_the_table_of_states_allows(store, state, begun, fits):
    (one,) = await store.outbox.put([new()], now=NOW)
    if begun:
        await store.outbox.begin(one.id)
    ending = store.outbox.end(one.id, state, code="c", messages=[], now=NOW)
    if fits:
        await ending
        with pytest.raises(StoreError):
            await store.outbox.end(one.id, state, code="c", messages=[], now=NOW)
        with pytest.raises(StoreError):
            await store.outbox.begin(one.id)
    else:
        with pytest.raises(StoreError):
            await ending
    assert (await store.overview.counts()).outbox[state] == (1 if fits else 0)


async def test_a_call_that_was_interrupted_is_unknown_after_a_restart_and_not_made_again(backend, store):
    waiting = await sending(
        store.outbox,
        [
            new(part("parked")),
            new(part("again"), unclear="resend"),
            new(part("a draft", action=Action.DRAFT), unclear="resend"),
        ],
    )
    again = await backend.open()
    (ready,) = await again.outbox.pending(ACCOUNT, now=NOW)
    assert (ready.id, ready.attempts) == (waiting[1].id, 1)
    assert [one.id for one in await again.overview.unclear()] == [waiting[0].id, waiting[2].id]
    assert [one.new for one in await again.overview.unclear()] == [waiting[0].new, waiting[2].new]
    notes = [record for record in await again.journal.tail(9) if record.kind == "interrupted"]
    assert len(notes) == 3
    await again.outbox.begin(ready.id)


async def test_operators_are_told_of_interrupted_calls_once(backend, store):
    parked, resent = await sending(store.outbox, [new(), new(unclear="resend")])
    again = await backend.open()
    assert await again.outbox.interrupted("telegram:7002", now=NOW) == []
    assert await again.outbox.interrupted(ACCOUNT, now=NOW) == [parked.id]
    assert await again.outbox.interrupted(ACCOUNT, now=NOW) == []
    assert [one.id for one in await again.outbox.pending(ACCOUNT, now=NOW)] == [resent.id]


async def test_a_postponed_part_waits_and_counts_its_attempts(backend, store):
    (one,) = await sending(store.outbox, [new()])
    await store.outbox.postpone(one.id, until=NOW + HOUR, flood=False)
    await store.outbox.begin(one.id)
    await store.outbox.postpone(one.id, until=NOW + 2 * HOUR, flood=True)
    again = await backend.open()
    (row,) = await again.outbox.pending(ACCOUNT, now=NOW)
    assert (row.attempts, row.not_before) == (1, NOW + 2 * HOUR)
    with pytest.raises(StoreError):
        await again.outbox.postpone(one.id, until=NOW, flood=False)


async def test_a_replaced_part_has_other_bytes_and_keeps_its_place(backend, store):
    first, second = await store.outbox.put([new(rich_part("old")), new(part("behind"))], now=NOW)
    await store.outbox.begin(first.id)
    moved = replace(rich_part("new"), destination=replace(TOPIC, channel="-200"), files=rich_part().files[:1])
    await store.outbox.replace(first.id, moved)
    again = await backend.open()
    rows = await again.outbox.pending(ACCOUNT, now=NOW)
    assert [row.id for row in rows] == [first.id, second.id]
    assert (rows[0].new.part, rows[0].attempts) == (moved, 1)
    tapped = await again.outbox.tapped(ACCOUNT, "t1")
    assert tapped is not None
    assert tapped.destination == moved.destination
    with pytest.raises(StoreError, match="its account"):
        await again.outbox.replace(first.id, part(destination=replace(PLACE, workspace="7002")))


async def test_a_button_is_known_by_its_token_and_account(store):
    (one,) = await answered(store.inbox, 1, rich_part())
    tapped = await store.outbox.tapped(ACCOUNT, "t1-")
    assert tapped is not None
    assert (tapped.value, tapped.label, tapped.destination) == ("deny", "No", TOPIC)
    assert tapped.event_id == one.new.event_id
    assert await store.outbox.tapped("telegram:7002", "t1") is None
    assert await store.outbox.tapped(ACCOUNT, "t2") is None


async def test_a_channel_moves_once(backend, store):
    assert await store.outbox.moved(ACCOUNT, "-1", "-100", now=NOW)
    assert not await store.outbox.moved(ACCOUNT, "-1", "-100", now=NOW)
    again = await backend.open()
    assert not await again.outbox.moved(ACCOUNT, "-1", "-100", now=NOW)
    (record,) = await again.journal.tail(9)
    assert record.kind == "channel_moved"
    assert "-100" not in record.facts


# overview


async def test_operators_see_every_channel_with_its_decisions(store):
    await decided(store.inbox, 1, MUTE)
    await decided(store.inbox, 2, MUTE)
    await decided(store.inbox, 3, RESPOND, subject=subject(3, destination=TOPIC))
    stored = await arrived(store.inbox, 4)
    await store.inbox.decide(stored, subject(4), RESPOND, now=NOW + timedelta(minutes=1))
    room, topic = await store.overview.channels()
    assert (room.destination, room.chat, room.last_at) == (PLACE, "group", NOW + timedelta(minutes=1))
    assert room.decisions == {"mute": 2, "respond": 1}
    assert (topic.destination, topic.decisions) == (TOPIC, {"respond": 1})


async def test_destinations_of_every_platform_come_back_as_they_were(store):
    account = "matrix:@desk:example.org"
    place = Destination(platform="matrix", workspace="@desk:example.org", channel="!a:example.org", thread="$t")
    (stored,) = await store.inbox.put(account, [arrival("$e")])
    await store.inbox.decide(stored, subject("$e", destination=place), RESPOND, now=NOW)
    await store.outbox.put([new(part(destination=place))], now=NOW)
    assert [one.destination for one in await store.overview.channels()] == [place]
    (row,) = await store.outbox.pending(account, now=NOW)
    assert row.new.part.destination == place


async def test_the_load_counts_what_is_not_over(store):
    await arrived(store.inbox, 1)
    await decided(store.inbox, 2, MUTE)
    await decided(store.inbox, 3, DEFER)
    await answered(store.inbox, 4)
    (one,) = await sending(store.outbox, [new()])
    await store.outbox.end(one.id, OutboxState.UNKNOWN, code="timeout", messages=[], now=NOW)
    await sending(store.outbox, [new()])
    assert await store.overview.load() == Load(inbox=2, outbox=2, unknown=1, journal=5)


# journal


async def test_notes_are_chained_and_verified(backend, store):
    for number in range(5):
        await store.journal.note("policy_loaded", {"number": number, "digest": "ab", "previous": None}, now=NOW)
    await decided(store.inbox, 1, MUTE)
    again = await backend.open()
    records = await again.journal.tail(3)
    assert [(record.seq, record.kind) for record in records] == [
        (4, "policy_loaded"),
        (5, "policy_loaded"),
        (6, "decided"),
    ]
    assert await again.journal.verify() is None


async def test_every_step_of_a_message_is_in_the_journal_and_none_of_its_words_or_ids(store):
    stored = await arrived(store.inbox, "key-8127", "secret plans")
    await store.inbox.decide(stored, subject("8127"), RESPOND, now=NOW)
    (one,) = await store.inbox.finish(
        stored.id, [new(part("hidden words"), event_id=stored.id)], outcome="answered", now=NOW
    )
    await store.outbox.begin(one.id)
    await store.outbox.end(one.id, OutboxState.DELIVERED, code="delivered", messages=["6211"], now=NOW)
    records = await store.journal.tail(99)
    assert [record.kind for record in records] == ["decided", "finished", "sent"]
    text = str(records)
    for words in ("secret", "hidden", "8127", "6211", "100123", "510000001", "7001"):
        assert words not in text


@pytest.mark.parametrize(
    "facts",
    [
        {"text": "x" * 65},
        {"text": "ключ"},
        {"text": 'quo"te'},
        {"text": "two\nlines"},
        {"Name": 1},
        {"number": 1.5},
        {"number": True},
        {"number": 10**16},
        {"nested": {"a": 1}},
        {f"n{number}": 1 for number in range(17)},
    ],
)
async def test_facts_that_are_not_bounded_are_refused_and_nothing_is_noted(store, facts):
    with pytest.raises(StoreError, match="journal"):
        await store.journal.note("kind", facts, now=NOW)
    with pytest.raises(StoreError, match="kind"):
        await store.journal.note("Not A Kind", {}, now=NOW)
    assert await store.journal.tail(9) == []


async def test_a_closed_store_says_so_and_closes_again_without_harm(store):
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.inbox.put(ACCOUNT, [arrival(1)])
    with pytest.raises(StoreError):
        await store.outbox.wrote(PLACE, "1")


async def test_closing_finishes_what_was_submitted(backend, store):
    tasks = [asyncio.ensure_future(store.inbox.put(ACCOUNT, [arrival(key)])) for key in range(300)]
    await asyncio.sleep(0)
    await store.close()
    assert all(len(result) == 1 for result in await asyncio.gather(*tasks))
    again = await backend.open()
    assert len(await again.inbox.unfinished(ACCOUNT)) == 300


async def test_a_caller_that_is_cancelled_disturbs_nobody(store):
    tasks = [asyncio.ensure_future(store.inbox.put(ACCOUNT, [arrival(key)])) for key in range(20)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[3], asyncio.CancelledError)
    assert sum(isinstance(result, list) for result in results) == 19


async def test_a_sign_under_a_message_of_ours_stands_for_its_button(store):
    signed = replace(
        rich_part(), buttons=tuple(replace(b, key=k) for b, k in zip(rich_part().buttons, "12", strict=True))
    )
    (one,) = await answered(store.inbox, 1, signed)
    assert await store.outbox.pressed(TOPIC, "77", "2") is None
    await store.outbox.begin(one.id)
    await store.outbox.end(one.id, OutboxState.DELIVERED, code="delivered", messages=["77"], now=NOW)
    pressed = await store.outbox.pressed(TOPIC, "77", "2")
    assert pressed is not None
    assert (pressed.value, pressed.destination, pressed.event_id) == ("deny", TOPIC, one.new.event_id)
    for message, key in (("77", "3"), ("78", "2"), ("77", "")):
        assert await store.outbox.pressed(TOPIC, message, key) is None


async def test_a_message_is_found_by_its_id_with_its_author_and_thread(store):
    await decided(store.inbox, 1, MUTE, subject=replace(subject("9", destination=TOPIC), sender="telegram:502"))
    assert await store.inbox.located(PLACE, "9") == Located(sender="telegram:502", thread=TOPIC.thread)
    assert await store.inbox.located(PLACE, "8") is None
    await decided(store.inbox, 2, MUTE, subject=subject("8", kind="edit"))
    assert await store.inbox.located(PLACE, "8") is None, "an edit says nothing of who wrote the message"


async def test_what_adapters_keep_survives_and_can_be_forgotten(backend, store):
    await store.state.write(ACCOUNT, {"sync": "s1", "direct": "1"})
    await store.state.write(ACCOUNT, {"sync": "s2", "direct": None, "never": None})
    await store.state.write("telegram:7002", {"sync": "other"})
    await store.state.write(ACCOUNT, {})
    again = await backend.open()
    assert await again.state.read(ACCOUNT) == {"sync": "s2"}
