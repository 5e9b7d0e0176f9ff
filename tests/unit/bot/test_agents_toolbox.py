"""What is told to a model about the use of its tools, where no gateway is needed to see it."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bot.agents.completion import MAX_CALLS, Completion, ToolCall
from bot.agents.toolbox import MAX_ARGUMENTS, MAX_PUT, Tool, Toolbox, offered
from bot.model.approval import Action, Approval, ApprovalState, Proposal, Subject
from bot.model.errors import AgentError, AskError, ProposalError
from bot.model.output import Final
from bot.model.question import Asking, Conclusion, QuestionState
from policy.decision import Audience
from tests.servers.agents import request

SIZE = {"type": "object", "properties": {"size": {"enum": ["small", "large"]}}}


class Desk:
    """A desk that answers at once."""

    def __init__(self, *, error=None, known=()):
        self.error = error
        self.known = dict(known)
        self.asked = []

    async def ask(self, asking):
        self.asked.append(asking)
        if self.error is not None:
            raise self.error
        return Conclusion(question_id="q", state=QuestionState.ANSWERED, answer={"size": "large"}, answered_by="bob")

    async def asked_before(self, key):
        return self.known.get(key)

    async def proposed_before(self, _key):
        return None

    async def outcome(self, approval, *, executed, note):
        raise self.error


def box(desk, *tools, **changes):
    asked = request(**changes)
    return Toolbox(request=asked, desk=desk, offered=offered(tools or tuple(Tool), asked))


async def used(toolbox, name, **arguments):
    found = await toolbox.use(ToolCall(id="c", name=name, arguments=json.dumps(arguments)))
    return found if isinstance(found, Final) else json.loads(found)


async def test_each_tool_is_offered_where_it_means_something():
    assert box(Desk(), Tool.ASK_HUMAN).offered == ("ask_human",)
    assert box(Desk(), Tool.REQUEST_APPROVAL).offered == ("request_approval", "report_outcome")
    assert box(Desk(), Tool.FILE_DRAFT, audience=Audience.INTERNAL).offered == ()
    assert [one["function"]["name"] for one in box(Desk()).documents] == list(box(Desk()).offered)


async def test_people_are_asked_only_so_often_in_one_run():
    desk = Desk()
    toolbox = box(desk)
    for _ in range(MAX_PUT):
        assert (await used(toolbox, "ask_human", question="?"))["answer"] == {"size": "large"}
    assert "enough" in (await used(toolbox, "ask_human", question="?"))["error"]
    assert "enough" in (await used(toolbox, "request_approval", action="x", parameters={}, reason="y"))["error"]
    assert len({asking.key for asking in desk.asked}) == MAX_PUT


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("file_draft", {"text": " ", "class": "prices"}, "text is empty"),
        ("file_draft", {"text": "x", "class": "prices", "references": ["a"] * 51}, "at most 50"),
        ("file_draft", {"text": "x", "class": "prices", "references": [1]}, "not a list of texts"),
        ("ask_human", {"question": "?", "choices": ["a"], "schema": SIZE}, "not both"),
        ("ask_human", {"question": "?", "ttl_s": True}, "not a whole number"),
        ("ask_human", {"question": "?", "whom": "all"}, "unknown arguments: whom"),
        ("request_approval", {"action": "x", "parameters": [], "reason": "y"}, "parameters is not an object"),
        ("report_outcome", {"approval": "a", "outcome": "fine"}, "no approval of this id"),
        ("ask_human", {"question": "x" * MAX_ARGUMENTS}, "more than"),
    ],
)
async def test_what_is_wrong_is_named(name, arguments, told):
    desk = Desk()
    assert told in (await used(box(desk), name, **arguments))["error"]
    assert desk.asked == []


async def test_null_stands_for_nothing_and_a_draft_ends_the_run():
    drafted = await used(box(Desk()), "file_draft", text="It costs 3 EUR.", references=None, **{"class": "prices"})
    assert drafted == Final(text="It costs 3 EUR.", declared="prices")


async def test_what_was_asked_before_a_restart_is_told_also_where_it_may_not_be_asked_any_more():
    known = {"req-1:tool:1": Asking(text="Which size?", schema=SIZE)}
    assert await box(Desk(known=known)).before() == [], "a first attempt has asked nothing before"
    ((call, result),) = await box(Desk(known=known), attempt=2).before()
    assert json.loads(call.arguments)["question"] == "Which size?"
    assert json.loads(result)["answer"] == {"size": "large"}
    desk = Desk(known=known, error=AskError("withheld", "the question may not be shown there"))
    ((_, result),) = await box(desk, attempt=2).before()
    assert json.loads(result)["code"] == "withheld"


async def test_an_outcome_that_is_written_down_already_costs_no_answer():
    toolbox = box(Desk(error=ProposalError("state", "it is unknown already")))
    action = Action(name="refund")
    claimed = Approval(
        id="a",
        code="K7QM2",
        agent="model",
        key="k",
        subject=Subject.CALL,
        proposal=Proposal(action=action),
        version=action.version,
        origin=None,
        state=ApprovalState.CLAIMED,
        proposed_at=datetime(2026, 5, 4, tzinfo=UTC),
        expires_at=None,
    )
    toolbox.claimed = {"a": claimed, "b": replace(claimed, id="b")}
    await toolbox.close()
    assert toolbox.claimed == {}


def finished(*pieces, finish="tool_calls"):
    completion = Completion()
    for piece in pieces:
        completion.add(json.dumps({"choices": [{"delta": {"tool_calls": piece}}]}))
    completion.add(json.dumps({"choices": [{"delta": {}, "finish_reason": finish}]}))
    return completion


@pytest.mark.parametrize(
    "pieces",
    [
        [
            [{"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}}],
            [{"index": 1, "id": "b", "function": {"name": "y", "arguments": "{"}}],
            [{"index": 0, "function": {"arguments": "{}"}}, {"index": 1, "function": {"arguments": "}"}}],
        ],
        [
            [{"id": "a", "function": {"name": "x", "arguments": "{}"}}],
            [{"id": "b", "function": {"name": "y", "arguments": "{}"}}],
        ],
        [
            [{"id": "a", "function": {"name": "x", "arguments": "{"}}],
            [{"id": "a", "function": {"arguments": "}"}}],
            [{"id": "b", "function": {"name": "y", "arguments": "{}"}}],
        ],
    ],
    ids=["by number", "whole", "by id"],
)
def test_calls_are_put_together_however_a_server_cuts_them(pieces):
    found = finished(*pieces).calls
    assert [(one.id, one.name, one.arguments) for one in found] == [("a", "x", "{}"), ("b", "y", "{}")]


def test_calls_without_ids_get_some_and_a_server_that_ends_with_stop_means_them_too():
    found = finished(
        [{"function": {"name": "x", "arguments": "{"}}, {"function": {"arguments": "}"}}],
        [{"function": {"name": "y"}}],
        finish="stop",
    ).calls
    assert [(one.id, one.name, one.arguments) for one in found] == [("call_0", "x", "{}"), ("call_1", "y", "")]


def test_calls_that_were_cut_for_their_length_are_none():
    assert finished([{"index": 0, "function": {"name": "x"}}], finish="length").calls == ()


def test_more_calls_than_the_bound_are_an_error():
    with pytest.raises(AgentError, match="too many tools"):
        finished([{"index": number, "function": {"name": "x"}} for number in range(MAX_CALLS + 1)])
