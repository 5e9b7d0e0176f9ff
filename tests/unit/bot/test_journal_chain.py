"""The chain alone: pure functions."""

import hashlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.journal.chain import GENESIS, Break, Head, Record, canonical, link, verify, walk
from bot.model.errors import StoreError

CHAIN = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

NAME = st.sampled_from(["a", "b", "z9", "event", "a_long_name", "n" * 64])
TEXT = st.text(st.sampled_from([chr(code) for code in range(32, 127) if chr(code) not in '"\\']), max_size=64)
FACTS = st.dictionaries(
    NAME,
    st.none() | st.integers(-(10**15) + 1, 10**15 - 1) | TEXT,
    max_size=6,
)
NOTES = st.lists(st.tuples(NAME, FACTS, st.integers(0, 2**52)), min_size=1, max_size=8)


def chain(notes):
    records = []
    last = Head()
    for kind, facts, at_us in notes:
        last = link(last, at_us=at_us, kind=kind, facts=facts)
        records.append(last)
    return records


@CHAIN
@given(FACTS)
def test_canonical_facts_are_what_a_plain_careful_writer_makes(facts):
    assert canonical(facts) == json.dumps(facts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def test_a_record_is_hashed_as_the_documentation_says():
    record = link(Head(), at_us=7, kind="noted", facts={"b": 1, "a": None})
    said = json.dumps(
        {"at": 7, "facts": {"a": None, "b": 1}, "kind": "noted", "seq": 1}, sort_keys=True, separators=(",", ":")
    )
    assert record.hash == hashlib.sha256(bytes.fromhex(GENESIS) + said.encode()).hexdigest()


@CHAIN
@given(NOTES)
def test_an_untouched_chain_holds(notes):
    records = chain(notes)
    end = Head(seq=records[-1].seq, hash=records[-1].hash)
    assert verify(records) is None
    assert verify(records, head=end) is None
    assert walk(iter(records)) == end


@CHAIN
@given(NOTES, st.data())
def test_a_changed_field_breaks_the_chain_at_its_record(notes, data):
    records = chain(notes)
    index = data.draw(st.integers(0, len(records) - 1))
    field = data.draw(st.sampled_from(Record._fields))
    old = getattr(records[index], field)
    other = {
        "seq": st.integers(),
        "at_us": st.integers() | st.text(),
        "kind": NAME | st.text() | st.none(),
        "facts": FACTS.map(canonical) | st.text() | st.none() | st.binary(),
        "hash": st.text() | st.just("0" * 64),
    }[field]
    value = data.draw(other.filter(lambda new: new != old))
    records[index] = records[index]._replace(**{field: value})
    broken = verify(records, head=None)
    if field == "hash" and index == len(records) - 1:
        assert broken == Break(seq=index + 1, why="its content or the one before it was changed")
    else:
        assert broken is not None
        assert broken.seq == index + 1


@CHAIN
@given(NOTES, st.data())
def test_a_missing_record_is_noticed_where_it_is_missing(notes, data):
    records = chain(notes)
    end = Head(seq=records[-1].seq, hash=records[-1].hash)
    index = data.draw(st.integers(0, len(records) - 1))
    del records[index]
    broken = verify(records, head=end)
    assert broken is not None
    assert broken.seq == index + 1


@CHAIN
@given(NOTES.filter(lambda notes: len(notes) > 1), st.data())
def test_records_that_change_places_are_noticed_at_the_first(notes, data):
    records = chain(notes)
    first = data.draw(st.integers(0, len(records) - 2))
    second = data.draw(st.integers(first + 1, len(records) - 1))
    records[first], records[second] = (
        records[second]._replace(seq=first + 1),
        records[first]._replace(seq=second + 1),
    )
    broken = verify(records)
    assert broken is not None
    assert broken.seq == first + 1


@CHAIN
@given(NOTES, st.data())
def test_an_inserted_record_is_noticed(notes, data):
    records = chain(notes)
    end = Head(seq=records[-1].seq, hash=records[-1].hash)
    index = data.draw(st.integers(0, len(records)))
    before = Head() if index == 0 else records[index - 1]
    forged = link(before, at_us=1, kind="forged", facts={})  # hashed as it should be
    records = [*records[:index], forged, *(record._replace(seq=record.seq + 1) for record in records[index:])]
    broken = verify(records, head=end)
    assert broken is not None
    assert broken.seq in (index + 1, index + 2)


def test_words_can_not_move_between_kind_and_facts():
    record = link(Head(), at_us=1, kind="a", facts={})
    moved = record._replace(kind='b","seq":1', facts='{},"kind":"a')
    assert verify([moved]) is not None


@pytest.mark.parametrize("facts", [{"a": b"x"}, {"a": object()}, {"a": "\ud800"}, {"": 1}, {"a": -(10**15)}])
def test_facts_beyond_the_bounds_are_refused_without_their_value(facts):
    with pytest.raises(StoreError) as caught:
        link(Head(), at_us=1, kind="kind", facts=facts)
    assert str(caught.value).startswith("a journal record holds up to 16 facts")
    assert caught.value.__cause__ is None
