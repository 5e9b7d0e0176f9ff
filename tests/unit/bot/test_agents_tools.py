"""The tool with which a model asks back (CLAR-7): read strictly, whatever the model writes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agents.openai import OpenAIAgent
from bot.agents.tools import MAX_ARGUMENTS, NAME, called
from bot.model.errors import AgentError, ConfigError
from bot.model.output import Clarify, Final
from tests.servers.agents import outputs_of, request, serving
from tests.unit.bot.test_agents_openai import Model, answering, streaming

ASKED = {"slot": "format", "question": "Which format?", "candidates": [{"id": "pdf", "name": "PDF"}]}


def piece(finish=None, **delta):
    return f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish}]})}\n\n".encode()


def call(arguments, name=None, **more):
    function = {"arguments": arguments, **({} if name is None else {"name": name})}
    return [{"index": 0, "function": function, **more}]


def agent(url, **changes):
    return OpenAIAgent(name="main", base_url=url, model="m", **{"asks_back": True, **changes})


@pytest.mark.parametrize("whole", [True, False])
async def test_a_call_of_the_tool_ends_the_run_with_a_clarification(whole):
    written = json.dumps(ASKED)
    if whole:
        message = {"role": "assistant", "content": None, "tool_calls": call(written, NAME)}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
        model = Model(answering(body))
    else:
        pieces = [piece(tool_calls=call("", NAME)), *(piece(tool_calls=call(one)) for one in written)]
        model = Model(streaming(*pieces, piece("tool_calls")))
    async with serving(model) as url:
        asking = agent(url)
        (output,) = await outputs_of(asking, request("export it"))
        await asking.close()
    assert isinstance(output, Clarify)
    assert (output.task, output.slot, output.text) == ("format", "format", "Which format?")
    assert [(one.id, one.display_name) for one in output.candidates] == [("pdf", "PDF")]
    assert output.plan.is_empty("format", "format")
    assert [one["function"]["name"] for one in model.seen[0][1]["tools"]] == [NAME]


async def test_without_the_switch_there_is_no_tool_and_a_call_is_an_error():
    model = Model(streaming(piece(tool_calls=call(json.dumps(ASKED), NAME)), piece("tool_calls")))
    async with serving(model) as url:
        asking = agent(url, asks_back=False)
        with pytest.raises(AgentError):
            await outputs_of(asking, request("export it"))
        await asking.close()
    assert "tools" not in model.seen[0][1]


async def test_words_without_a_call_are_an_answer_as_ever():
    model = Model(streaming(piece(content="Hello"), piece("stop")))
    async with serving(model) as url:
        asking = agent(url)
        assert (await outputs_of(asking, request("hello")))[-1] == Final(text="Hello")
        await asking.close()


def test_tools_of_the_admin_are_refused_beside_ours():
    with pytest.raises(ConfigError):
        agent("http://127.0.0.1:1", options={"tools": []})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("another", json.dumps(ASKED)),
        (NAME, "{"),
        (NAME, "[]"),
        (NAME, "{}"),
        (NAME, json.dumps({**ASKED, "slot": 1})),
        (NAME, json.dumps({**ASKED, "slot": "a/b"})),
        (NAME, json.dumps({**ASKED, "question": None})),
        (NAME, json.dumps({**ASKED, "question": ""})),
        (NAME, json.dumps({**ASKED, "candidates": "pdf"})),
        (NAME, json.dumps({**ASKED, "candidates": ["pdf"]})),
        (NAME, json.dumps({**ASKED, "candidates": [{"id": "pdf"}]})),
        (NAME, " " * (MAX_ARGUMENTS + 1)),
    ],
)
def test_arguments_that_do_not_hold_are_an_error_of_the_agent(name, arguments):
    with pytest.raises(AgentError):
        called(name, arguments, None)


@given(
    st.text(max_size=60)
    | st.builds(
        json.dumps,
        st.dictionaries(
            st.sampled_from(["slot", "question", "candidates"]),
            st.text(max_size=9)
            | st.lists(st.dictionaries(st.sampled_from(["id", "name"]), st.text(max_size=5)), max_size=3),
        ),
    )
)
def test_any_arguments_are_a_clarification_or_an_error(arguments):
    try:
        found = called(NAME, arguments, None)
    except AgentError:
        found = None
    assert found is None or found.plan.is_empty(found.task, found.slot)
