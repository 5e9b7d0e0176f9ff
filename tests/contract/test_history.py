"""What every store tells of a conversation's past (bot.ports.history)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.model.inbound import Arrival
from bot.ports.store import OutboxState
from bot.storage import history
from bot.storage.store import Store
from policy.boundary import Speech
from policy.decision import Audience
from policy.destination import Destination
from policy.event import Chat
from tests.stored import ACCOUNT, MUTE, NOW, PLACE, RESPOND, TOPIC, new, part, subject

ANY_ROW = 1_000
OTHER = Destination(platform=PLACE.platform, workspace=PLACE.workspace, channel="-100999", thread=None)


@pytest.fixture
async def store(tmp_path):
    store = await Store.open(tmp_path / "data" / "store.sqlite")
    yield store
    await store.close()


class Talk:
    """A conversation, minute by minute."""

    def __init__(self, store):
        self.store = store
        self.now = NOW

    def later(self):
        self.now += timedelta(minutes=1)
        return self.now

    async def asked(self, key, words, *, decision=RESPOND, outcome="answered", message=None, **facts):
        """Somebody writes; it is decided, and its work ends."""
        arrived = Arrival(key=str(key), lane="lane", raw=words.encode(), received_at=self.later())
        (stored,) = await self.store.inbox.put(ACCOUNT, [arrived])
        about = replace(subject(message or key, destination=facts.pop("destination", PLACE)), **facts)
        await self.store.inbox.decide(stored, about, decision, now=self.now)
        if decision is RESPOND:
            await self.store.inbox.finish(stored.id, [], outcome=outcome, now=self.now)
        return stored

    async def said(self, words, *, state=OutboxState.DELIVERED, speech=Speech.FINAL, **facts):
        """The gateway writes; it arrives, or not."""
        where = facts.pop("destination", PLACE)
        waiting = replace(new(replace(part(words, destination=where), speech=speech)), **facts)
        (one,) = await self.store.outbox.put([waiting], now=self.later())
        await self.store.outbox.begin(one.id)
        await self.store.outbox.end(one.id, state, code="x", messages=[f"m{one.id}"], now=self.now)

    async def past(self, *, limit=20, before=ANY_ROW, chat=Chat.GROUP, audience=Audience.EXTERNAL, where=PLACE):
        found = await self.store.history.past(where, chat=chat, audience=audience, before=before, limit=limit)
        assert [one.at for one in found] == sorted(one.at for one in found)
        return [one.text if one.event is None else one.event.arrival.raw.decode() for one in found]


@pytest.fixture
def talk(store):
    return Talk(store)


async def test_questions_and_answers_come_in_their_order_with_who_wrote_what(talk):
    await talk.asked(1, "open?")
    await talk.said("yes")
    await talk.asked(2, "until when?")
    await talk.said("six")
    assert await talk.past() == ["open?", "yes", "until when?", "six"]
    assert await talk.past(limit=3) == ["yes", "until when?", "six"]
    found = await talk.store.history.past(PLACE, chat=Chat.GROUP, audience=Audience.EXTERNAL, before=ANY_ROW, limit=9)
    assert [one.sender for one in found] == ["telegram:510000001", None, "telegram:510000001", None]


async def test_nothing_of_another_place_thread_or_kind_of_chat_is_told(talk):
    await talk.asked(1, "here")
    await talk.said("answer here")
    for where in (OTHER, TOPIC):
        await talk.asked(f"in {where}", "elsewhere", destination=where)
        await talk.said("answer elsewhere", destination=where)
    await talk.asked("direct", "when it was private", chat="direct")
    await talk.said("answer in private", chat="direct")
    assert await talk.past() == ["here", "answer here"]
    assert await talk.past(where=TOPIC) == ["elsewhere", "answer elsewhere"]
    assert await talk.past(chat=Chat.DIRECT) == ["when it was private", "answer in private"]


async def test_what_was_written_for_trusted_readers_is_told_to_the_same_ones_alone(talk):
    inside = replace(RESPOND, audience=Audience.INTERNAL)
    stored = Arrival(key="1", lane="lane", raw=b"inside", received_at=talk.later())
    (event,) = await talk.store.inbox.put(ACCOUNT, [stored])
    await talk.store.inbox.decide(event, subject("1"), inside, now=talk.now)
    await talk.store.inbox.finish(event.id, [], outcome="answered", now=talk.now)
    await talk.said("for insiders", audience=Audience.INTERNAL)
    await talk.said("for everybody")
    assert await talk.past() == ["for everybody"]
    assert await talk.past(audience=Audience.OPERATOR) == ["for everybody"]
    assert await talk.past(audience=Audience.INTERNAL) == ["inside", "for insiders", "for everybody"]


@pytest.mark.parametrize("outcome", ["stopped", "withheld", "control"])
async def test_what_was_not_answered_is_not_told(talk, outcome):
    await talk.asked(1, "a request", outcome=outcome)
    await talk.asked(2, "muted", decision=MUTE)
    assert await talk.past() == []


async def test_of_an_edited_message_the_last_words_alone_are_told_and_of_a_deleted_one_none(talk):
    await talk.asked(1, "my number is 555")
    await talk.asked("1 again", "my number is private", message="1", kind="edit")
    await talk.asked(2, "wrong")
    await talk.store.inbox.withdraw(PLACE, "2", now=talk.later())
    await talk.asked(3, "was fine")
    await talk.asked("3 again", "is muted now", message="3", kind="edit", decision=MUTE)
    assert await talk.past() == ["my number is private"]


async def test_what_did_not_arrive_and_what_is_no_answer_is_not_told(talk):
    await talk.said("lost", state=OutboxState.UNKNOWN)
    await talk.said("refused", state=OutboxState.REJECTED)
    await talk.said("sorry", speech=Speech.SAFE_ERROR)
    await talk.said("a fact", speech=Speech.OPERATIONAL)
    assert await talk.past() == []


async def test_only_what_came_before_is_told_and_no_more_than_the_window(talk, monkeypatch):
    first = await talk.asked(1, "one")
    second = await talk.asked(2, "two")
    assert await talk.past(before=second.id) == ["one"]
    assert await talk.past(before=first.id) == []
    assert await talk.past(limit=0) == []
    monkeypatch.setattr(history, "WINDOW", 1)
    assert await talk.past(before=second.id + 1) == ["two"]


async def test_words_that_have_left_the_store_are_told_no_more(talk):
    await talk.asked(1, "old")
    await talk.said("old answer")
    await talk.store.inbox.sweep(now=talk.later(), contents_before=talk.later())
    assert await talk.past() == []
