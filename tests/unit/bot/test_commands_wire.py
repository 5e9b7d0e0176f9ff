"""What endpoints of commands are sent, and how their answers are read: strictly, and never as more than they say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands.resolving import TABLE_S, patience_s
from bot.commands.wire import content_of, look_document, read_outcome, read_thing, run_document
from bot.config.commands import Endpoint
from bot.config.secret import Secret
from bot.model.command import RunState, Thing
from bot.ports.commands import Answered
from tests.unit.bot.test_commands_deciding import COMMAND, call


def answered(status, document=None, *, body=None):
    return Answered(status=status, body=json.dumps(document).encode() if body is None else body)


def test_requests_name_the_person_and_hold_what_is_needed():
    looked = json.loads(look_document(COMMAND, "o-17", call(), "bob"))
    assert looked == {
        "version": "discreet/1",
        "kind": "object",
        "command": "close",
        "object": "o-17",
        "person": "bob",
        "request": "r",
    }
    thing = Thing(id="o-17", display="Order", fields={"state": "open"})
    ran = json.loads(run_document(COMMAND, call(), None, run="x", thing=thing, slots={"s": thing}))
    assert (ran["object"], ran["slots"]) == (
        {"id": "o-17", "display": "Order"},
        {"s": {"id": "o-17", "display": "Order"}},
    )
    assert (ran["person"], ran["run"], ran["kind"]) == (None, "x", "command")
    assert json.loads(run_document(COMMAND, call(), None, run="x", thing=None, slots={}))["object"] is None


def test_half_of_a_surrogate_pair_is_no_way_to_break_a_request():
    assert json.loads(look_document(COMMAND, "\ud800", call(), "bob"))["object"] == "?"


def test_calls_that_differ_in_anything_have_different_contents():
    calls = [call(), call(object_id="a"), call(words="a"), call(name="a"), call(request_id="a"), call(object_id="")]
    assert len({content_of(one) for one in calls}) == len(calls)
    assert content_of(call(key="other")) == content_of(call())


@pytest.mark.parametrize(
    ("answer", "thing"),
    [
        (answered(200, {"display": "A"}), Thing(id="a", display="A", fields={})),
        (
            answered(200, {"display": "A", "fields": {"s": "x", "t": True, "n": 3, "l": []}}),
            Thing(id="a", display="A", fields={"s": "x", "t": "true", "n": "3"}),
        ),
        (answered(200, {"display": "A\n\u202eB \u2028 C"}), Thing(id="a", display="A B C")),
        (answered(200, {"display": "\u200b\n"}), Thing(id="a", display="a")),
        (answered(201, {"display": "A"}), None),
        (answered(404, {"display": "A"}), None),
        (answered(200, {"display": ""}), None),
        (answered(200, {"display": "A" * 201}), None),
        (answered(200, {"display": 1}), None),
        (answered(200, {"display": "A", "fields": []}), None),
        (answered(200, {"display": "A", "fields": {str(n): "" for n in range(51)}}), None),
        (answered(200, {}), None),
        (answered(200, []), None),
        (answered(200, body=b"{"), None),
    ],
)
def test_an_object_is_read_strictly(answer, thing):
    assert read_thing("a", answer) == thing


GROUND = {"code": "late", "reason": {"en": "Late."}}


@pytest.mark.parametrize(
    ("answer", "state", "codes"),
    [
        (answered(200, {}), RunState.DONE, []),
        (answered(299, body=b"no JSON"), RunState.DONE, []),
        (answered(204, body=b""), RunState.DONE, []),
        (answered(400, {"refused": [GROUND]}), RunState.REFUSED, ["late"]),
        (answered(499, {"refused": [GROUND, {**GROUND, "code": "b"}]}), RunState.REFUSED, ["late", "b"]),
        (answered(408, {"refused": [GROUND]}), RunState.UNKNOWN, []),
        (answered(500, {"refused": [GROUND]}), RunState.UNKNOWN, []),
        (answered(302, {}), RunState.UNKNOWN, []),
        (answered(409, {"refused": [GROUND] * 9}), RunState.FAILED, []),
        (answered(409, {"refused": [GROUND, 1]}), RunState.FAILED, []),
        (answered(409, {"refused": {}}), RunState.FAILED, []),
        (answered(409, {"refused": [{**GROUND, "code": 1}]}), RunState.FAILED, []),
        (answered(409, {"refused": [{**GROUND, "code": "A,b"}]}), RunState.FAILED, []),
        (answered(409, {"refused": [{**GROUND, "reason": "Late."}]}), RunState.FAILED, []),
        (answered(409, {"refused": [{**GROUND, "reason": {"de": "Spät."}}]}), RunState.FAILED, []),
        (answered(409, {"refused": [{**GROUND, "reason": {"en": ""}}]}), RunState.FAILED, []),
        (answered(409, {"refused": [{**GROUND, "reason": {"en": "x" * 1001}}]}), RunState.FAILED, []),
        (answered(409, {"refused": [{**GROUND, "reason": {"en": 1}}]}), RunState.FAILED, []),
        (answered(409, []), RunState.FAILED, []),
        (answered(409, body=b"\xff"), RunState.FAILED, []),
    ],
)
def test_an_outcome_is_read_strictly(answer, state, codes):
    found = read_outcome(answer)
    assert (found.state, [one.code for one in found.grounds]) == (state, codes)


def test_a_result_goes_to_the_agent_unless_it_is_too_much():
    assert read_outcome(answered(200, {"a": [1]})).result == {"a": [1]}
    assert read_outcome(answered(200, "x" * (16 << 10))).result is None


@given(st.integers(100, 599), st.binary(max_size=200))
def test_no_answer_whatever_breaks_anything(status, body):
    read_thing("a", Answered(status=status, body=body))
    assert read_outcome(Answered(status=status, body=body)).state is not RunState.STARTED


def test_the_patience_of_a_look_is_the_time_of_its_endpoint():
    endpoint = Endpoint(url="https://x", secrets=(Secret("s"),), timeout_s=3.0)
    from dataclasses import replace

    assert patience_s(replace(COMMAND, objects=endpoint)) == 3.0 + TABLE_S
    assert patience_s(COMMAND) == TABLE_S
