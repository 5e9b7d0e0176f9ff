"""Shapes that go between MCP and the gateway: elicitations, arguments, messages, headers."""

import pytest

from bot.mcp.catalogue import ALWAYS, BY_NAME, COMMANDS
from bot.mcp.eliciting import ElicitationError, form_of
from bot.mcp.holding import Call, Leave
from bot.mcp.messages import kept_meta, marked, outcome_of, with_elicitation
from bot.mcp.stamping import Stamps
from bot.mcp.tools import ArgumentsError, check
from forms.schema import read_form


def test_an_elicitation_becomes_a_form_and_what_does_not_belong_there_stays_behind():
    schema = form_of(
        {
            "type": "object",
            "$schema": "x",
            "properties": {
                "a": {"type": "string", "title": "A", "minLength": 1, "writeOnly": True, "pattern": "(a+)+$"},
                "b": {"type": "string", "enum": ["x", "y"], "enumNames": ["Ex", "Why"]},
                "c": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "Ex"}]}, "maxItems": 1},
                "d": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
                "e": {"type": "integer", "minimum": 1},
                "f": {"type": "string", "format": "date-time"},
            },
            "required": ["a"],
        }
    )
    assert schema["properties"]["a"] == {"type": "string", "title": "A", "minLength": 1}
    assert schema["properties"]["b"]["oneOf"] == [{"const": "x", "title": "Ex"}, {"const": "y", "title": "Why"}]
    assert "$schema" not in schema
    assert [field.name for field in read_form(schema).fields] == list("abcdef")


@pytest.mark.parametrize(
    "written",
    [
        None,
        [],
        {"properties": []},
        {"properties": {"a": 1}},
        {"properties": {}, "required": ["a"]},
        {"properties": {"a": {"type": "array"}}},
        {"properties": {"a": {"type": "string", "format": "password"}}},
    ],
)
def test_other_elicitations_are_refused(written):
    with pytest.raises(ElicitationError):
        form_of(written)


def test_every_tool_says_what_it_takes_and_takes_nothing_else():
    from jsonschema import Draft202012Validator

    assert len(BY_NAME) == len(ALWAYS) + len(COMMANDS)
    for tool in BY_NAME.values():
        Draft202012Validator.check_schema(tool.schema)
        assert set(tool.required) <= set(tool.properties)
        assert len(tool.description) > 40
        with pytest.raises(ArgumentsError):
            check(tool.name, {"nonsense": 1})
    check("ask_human", {"question": "?", "who": ["ann"], "wait_s": 0})
    with pytest.raises(ArgumentsError, match="wait_s"):
        check("ask_human", {"question": "?", "wait_s": 601})


@pytest.mark.parametrize(
    ("answer", "executed"),
    [
        ({"result": {"content": []}}, True),
        ({"result": {"content": [], "isError": True}}, False),
        ({"error": {"code": -32601}}, False),
        ({"error": {"code": -32602}}, False),
        ({"error": {"code": -32603}}, None),
        ({"error": {"code": -32000}}, None),
        ({"error": {}}, None),
    ],
)
def test_only_what_an_answer_says_is_known_of_an_outcome(answer, executed):
    assert outcome_of(answer)[0] is executed


def test_what_was_not_reviewed_stays_behind_and_what_was_changed_is_said():
    assert kept_meta({"progressToken": 1, "x": 2, "io.modelcontextprotocol/x": 3}, elicitation=False) == {
        "progressToken": 1
    }
    assert kept_meta("x", elicitation=False) == {}
    run = Call(name="a", arguments={"n": 2})
    leave = Leave(approval="1", code="ABCDE", call=run, changed=True)
    result = marked({"result": {"content": [{"type": "text", "text": "x"}], "_meta": {"y": 1}}}, leave)["result"]
    assert result["content"][0]["text"].endswith('{"n":2}')
    assert result["content"][1]["text"] == "x"
    assert result["_meta"]["y"] == 1
    assert marked({"error": {"code": 1}}, leave) == {"error": {"code": 1}}


def test_a_server_hears_that_it_may_ask_in_both_ways_of_the_protocol():
    both = {"form": {}, "url": {}}
    assert with_elicitation("initialize", {"capabilities": {"roots": {}}}) == {
        "capabilities": {"roots": {}, "elicitation": both}
    }
    key = "io.modelcontextprotocol/clientCapabilities"
    assert with_elicitation("tools/list", {"_meta": {key: {}}}) == {"_meta": {key: {"elicitation": both}}}
    assert with_elicitation("tools/list", {"_meta": {"a": 1}}) == {"_meta": {"a": 1}}


def test_headers_say_what_the_message_says():
    from mcp_types import JSONRPCNotification, JSONRPCRequest

    stamps = Stamps()

    def request(method, **params):
        return JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params)

    assert stamps.headers(request("initialize")) == {}
    stamps.agreed({"protocolVersion": "2025-06-18"})
    assert stamps.headers(request("initialize")) == {}
    note = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
    assert stamps.headers(note) == {"mcp-protocol-version": "2025-06-18"}
    stamps = Stamps()
    schema = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}
    stamps.listed({"tools": [{"name": "ä", "inputSchema": schema}, {"name": 1}, "x"]})
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    headers = stamps.headers(request("tools/call", name="ä", arguments={"r": "eu"}, _meta=meta))
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert headers["mcp-method"] == "tools/call"
    assert headers["mcp-name"].startswith("=?base64?")
    assert headers["Mcp-Param-Region"] == "eu"
