"""What every store of grants and deliveries does (:mod:`bot.ports.grants`)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.model.delivery import TABLE, Delivery, DeliveryState, TransitionError, after
from bot.model.part import Action, Part
from bot.ports.store import NewPart, OutboxState
from bot.storage.store import Store
from policy.boundary import Basis, Speech
from policy.decision import Audience
from policy.destination import parse_destination
from policy.grants import Grant, Issuer, IssuerKind

rule = pytest.mark.rule
NOW = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
PLACE = parse_destination("telegram:7001:-100123")
TOPIC = parse_destination("telegram:7001:-100123:42")
OPERATOR = Issuer(kind=IssuerKind.OPERATOR, id="ann")
GRANT = Grant(
    id="grant",
    issuer=OPERATOR,
    agent="main",
    destination=PLACE,
    purpose="weekly figures",
    issued_at=NOW,
    expires_at=NOW + timedelta(hours=8),
    uses=2,
)
ONCE = Delivery(
    id="one",
    agent="main",
    key="k1",
    destination=PLACE,
    text="words",
    grant=None,
    at=NOW,
    cron=None,
    timezone="UTC",
    state=DeliveryState.SCHEDULED,
    next_at=NOW,
    made_at=NOW,
    references=("r1",),
    declared="routine",
)
AGAIN = replace(ONCE, id="two", key="k2", at=None, cron="0 * * * *", timezone="Europe/Berlin")
SENT = replace(ONCE, state=DeliveryState.SENT, next_at=None, fired=1)


@pytest.fixture
async def store(tmp_path):
    store = await Store.open(tmp_path / "discreet.db")
    yield store
    await store.close()


def part(text="words"):
    made = Part(destination=PLACE, action=Action.SEND, speech=Speech.FINAL, text=text, payload=b"{}")
    return NewPart(
        lane="lane", part=made, audience=Audience.EXTERNAL, basis=Basis.GRANT, person=None, chat="group", event_id=None
    )


async def fire(store, changed=SENT, *, at=NOW, grant="grant", parts=1, now=NOW):
    said = [part() for _ in range(parts)]
    return await store.deliveries.fire(changed, said, at=at, grant_id=grant, missed=0, now=now)


async def end(store, waiting, state):
    if state is not OutboxState.SKIPPED:  # that is said before the call begins
        await store.outbox.begin(waiting.id)
    await store.outbox.end(waiting.id, state, code="", messages=["1"], now=NOW)


@rule("OUT-6")
async def test_a_grant_is_kept_as_it_was_made_and_taken_back_once(store):
    assert await store.grants.add(GRANT) == GRANT
    other = replace(GRANT, purpose="other", uses=9)
    assert await store.grants.add(other) == GRANT, "the first one stays"
    assert await store.grants.get("grant") == GRANT
    assert await store.grants.revoke("grant", by="operator:ann", now=NOW)
    assert not await store.grants.revoke("grant", by="operator:ann", now=NOW)
    assert not await store.grants.revoke("nowhere", by="operator:ann", now=NOW)
    assert (await store.grants.get("grant")).revoked_at == NOW
    assert [one.kind for one in await store.journal.tail(9)] == ["grant", "grant"]
    assert await store.journal.verify() is None


@rule("OUT-5", "OUT-6")
async def test_only_grants_for_exactly_the_place_and_the_agent_are_fitting(store):
    for number, (agent, place) in enumerate((("main", PLACE), ("main", TOPIC), ("other", PLACE))):
        await store.grants.add(replace(GRANT, id=str(number), agent=agent, destination=place))
    assert [one.id for one in await store.grants.fitting("main", PLACE)] == ["0"]
    assert [one.id for one in await store.grants.fitting("main", TOPIC)] == ["1"]
    assert await store.grants.fitting("main", parse_destination("telegram:7001:-100123:43")) == []


@rule("OUT-6", "DUR-3")
async def test_one_occurrence_is_handed_over_once_with_its_use_of_the_grant(store):
    await store.grants.add(GRANT)
    await store.deliveries.put(ONCE)
    assert len(await fire(store, parts=2)) == 2
    assert await fire(store) is None
    assert not await store.deliveries.step(replace(ONCE, state=DeliveryState.CANCELLED), at=NOW, now=NOW)
    assert (await store.grants.get("grant")).used == 1
    assert await store.deliveries.receipts("one") == {"ready": 2}
    assert (await store.deliveries.get("one")) == SENT


@rule("OUT-6")
@pytest.mark.parametrize(
    ("grant", "now"),
    [
        (replace(GRANT, used=2), NOW),
        (replace(GRANT, revoked_at=NOW), NOW),
        (GRANT, GRANT.expires_at),
        (replace(GRANT, id="another"), NOW),
    ],
)
async def test_without_a_good_grant_nothing_of_it_is_written(store, grant, now):
    await store.grants.add(grant)
    await store.deliveries.put(ONCE)
    assert await fire(store, now=now) is None
    assert await store.deliveries.get("one") == ONCE
    assert await store.outbox.pending(PLACE.account, now=NOW) == []
    assert (await store.grants.get(grant.id)).used == grant.used


@rule("OUT-6")
async def test_one_that_comes_again_can_be_handed_over_for_each_time(store):
    await store.grants.add(GRANT)
    await store.deliveries.put(AGAIN)
    later = NOW + timedelta(hours=1)
    assert await fire(store, replace(AGAIN, next_at=later, fired=1))
    assert await fire(store, replace(AGAIN, next_at=later, fired=1)) is None, "this time is dealt with"
    assert await store.deliveries.due(NOW) == []
    assert [one.id for one in await store.deliveries.due(later)] == ["two"]
    assert await store.deliveries.step(
        replace(AGAIN, next_at=None, state=DeliveryState.MISSED, closed_at=later), at=later, now=later
    )
    assert await store.deliveries.open_of("main") == []


@rule("DUR-2")
@pytest.mark.parametrize(
    ("ends", "state"),
    [
        ([OutboxState.DELIVERED, OutboxState.DELIVERED], DeliveryState.DELIVERED),
        ([OutboxState.DELIVERED, OutboxState.REJECTED], DeliveryState.REJECTED),
        ([OutboxState.REJECTED, OutboxState.UNKNOWN], DeliveryState.UNKNOWN),
        ([OutboxState.SKIPPED, OutboxState.SKIPPED], DeliveryState.MUTED),
    ],
)
async def test_it_ends_with_the_worst_that_came_of_its_parts(store, ends, state):
    await store.grants.add(GRANT)
    await store.deliveries.put(ONCE)
    first, second = await fire(store, parts=2)
    await end(store, first, ends[0])
    assert await store.deliveries.settle(now=NOW) == 0, "one of them is still on its way"
    await end(store, second, ends[1])
    assert await store.deliveries.settle(now=NOW) == 1
    found = await store.deliveries.get("one")
    assert (found.state, found.closed_at) == (state, NOW)
    assert await store.deliveries.settle(now=NOW) == 0


@rule("DUR-1")
async def test_a_key_is_one_delivery_and_what_is_muted_keeps_no_words(store):
    assert await store.deliveries.put(ONCE) == ONCE
    assert await store.deliveries.put(replace(ONCE, id="three", text="other")) == ONCE
    assert await store.deliveries.by_key("main", "k1") == ONCE
    assert await store.deliveries.by_key("other", "k1") is None
    muted = replace(AGAIN, state=DeliveryState.MUTED, code="no_grant", next_at=None, closed_at=NOW)
    await store.deliveries.put(muted)
    assert (await store.deliveries.get("two")).text == ""


@rule("DUR-5")
async def test_words_leave_when_they_have_been_kept_long_enough(store):
    await store.deliveries.put(ONCE)
    gone = replace(ONCE, state=DeliveryState.CANCELLED, next_at=None, closed_at=NOW)
    await store.deliveries.step(gone, at=NOW, now=NOW)
    assert await store.deliveries.sweep(now=NOW, contents_before=NOW) == 0
    assert await store.deliveries.sweep(now=NOW, contents_before=NOW + timedelta(days=1)) == 1
    found = await store.deliveries.get("one")
    assert (found.text, found.state) == ("", DeliveryState.CANCELLED)
    assert await store.journal.verify() is None
    facts = "".join(record.facts for record in await store.journal.tail(9))
    for private in ("words", "-100123", "main", "weekly"):
        assert private not in facts


def test_what_is_not_in_the_table_is_an_error():
    for state in DeliveryState:
        for verb in {verb for _, verb in TABLE}:
            if (state, verb) not in TABLE:
                with pytest.raises(TransitionError):
                    after(state, verb)
        assert state.closed is not any(one is state for one, _ in TABLE)
