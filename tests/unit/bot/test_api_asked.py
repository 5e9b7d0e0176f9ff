"""What agents post is read strictly, whatever it is, and what they see of a question says no more than it may."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.api.answering import LONGEST_WAIT_S, RefusedError, read_wait
from bot.api.asked import question_document, read_asked, refusal
from bot.model.errors import AskError
from bot.model.question import Answerer, Conclusion, Question, QuestionState, Way, Who
from forms.schema import read_form
from policy.destination import parse_destination
from policy.event import Chat

SCHEMA = {"type": "object", "properties": {"pin": {"type": "string", "format": "password"}}}
NOW = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
OPEN = Question(
    id="q1",
    agent="main",
    key="k",
    destination=parse_destination("telegram:7001:-100123"),
    chat=Chat.GROUP,
    person=None,
    asker="telegram:1",
    event_id=None,
    schema=SCHEMA,
    form=read_form(SCHEMA),
    text="PIN?",
    who=Who(),
    asked_at=NOW,
    expires_at=NOW + timedelta(hours=1),
    refused=(("pin", "too_short"),),
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(None, 0), ("0", 0), ("25", 25), ("25s", 25), ("500ms", 0.5), ("1m", 60), ("10m", 60), ("999999", LONGEST_WAIT_S)],
)
def test_a_wait_is_bounded(text, seconds):
    assert read_wait(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1", "1.5s", "1 s", "1h", "٣", "1000000"])
def test_a_wait_that_is_none_is_refused(text):
    with pytest.raises(RefusedError) as caught:
        read_wait(text)
    assert caught.value.status == 400


def test_a_whole_question_is_read():
    body = {
        "question": "x?",
        "schema": SCHEMA,
        "request": "r",
        "who": {"kind": "people", "people": ["ann", "bob"]},
        "ttl_s": 60,
        "important": True,
        "key": "k",
    }
    asked = read_asked(json.dumps(body).encode(), header_key=None)
    assert (asked.request, asked.asking.text, asked.asking.schema, asked.asking.key) == ("r", "x?", SCHEMA, "k")
    assert asked.asking.who == Who(kind=Answerer.PEOPLE, people=frozenset({"ann", "bob"}))
    assert (asked.asking.ttl_s, asked.asking.important) == (60, True)


def test_every_field_that_is_wrong_is_named():
    with pytest.raises(RefusedError) as caught:
        read_asked(b'{"schema": 1, "who": {"kind": [], "people": [1]}, "x": 2}', header_key="\n")
    assert {path for path, _, _ in caught.value.problems} == {
        *("/x", "/question", "/schema", "/who/kind", "/who/people", "/key"),
    }


def test_without_a_request_operators_are_asked_unless_somebody_else_is_named():
    asked = read_asked(json.dumps({"question": "x?", "schema": SCHEMA}).encode(), header_key=None)
    assert (asked.request, asked.asking.who) == (None, Who(kind=Answerer.OPERATORS))
    asked = read_asked(json.dumps({"question": "x?", "schema": SCHEMA, "request": "r"}).encode(), header_key=None)
    assert (asked.request, asked.asking.who) == ("r", Who(kind=Answerer.ASKER))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
names = st.sampled_from(["question", "schema", "request", "who", "ttl_s", "important", "key", "other"])


@given(st.dictionaries(names, anything | st.fixed_dictionaries({"kind": anything, "people": anything})))
def test_any_object_is_a_question_or_refused(document):
    try:
        asked = read_asked(json.dumps(document).encode(), header_key=None)
    except RefusedError:
        return
    assert (asked.asking.text, asked.request) == (document["question"], document.get("request"))


@given(st.binary())
def test_any_bytes_are_refused(body):
    with pytest.raises(RefusedError):
        read_asked(body, header_key=None)


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("no_request", 403, "no_grant"),
        ("withheld", 403, "withheld"),
        ("key_used", 409, "key_used"),
        ("new", 422, "new"),
    ],
)
def test_why_a_question_can_not_be_asked_has_its_status(code, status, said):
    refused = refusal(AskError(code, "words"))
    assert (refused.status, refused.code) == (status, said)


def test_an_open_question_shows_attempts_and_no_values():
    pending = replace(OPEN, state=QuestionState.CONFIRMING, kept={"pin": "SYNTHETIC"})
    seen = question_document(pending, Conclusion(question_id="q1", state=pending.state, answer=None))
    assert (seen["state"], seen["answer"], seen["answered_by"]) == ("confirming", None, None)
    assert seen["errors"] == [{"field": "pin", "code": "too_short"}]
    assert "SYNTHETIC" not in json.dumps(seen)


def test_an_answered_question_shows_its_answer_and_no_old_attempts():
    answered = replace(OPEN, state=QuestionState.ANSWERED, answer={"pin": None}, closed_at=NOW, way=Way.FORM)
    end = Conclusion(question_id="q1", state=answered.state, answer=answered.answer, way=Way.FORM, at=NOW)
    seen = question_document(answered, end)
    assert (seen["answer"], seen["way"], seen["at"], seen["errors"]) == ({"pin": None}, "form", NOW.isoformat(), [])
