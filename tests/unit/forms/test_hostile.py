"""Schemas and answers as weapons: nothing is fetched, nothing is unbounded, nothing raises but SchemaError (FORM-13)."""

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms.bounds import MAX_NESTING, flaw, is_of_type, same
from forms.schema import SchemaError, read_form
from forms.validation import Judge

KEYWORDS = [
    *("type", "properties", "required", "additionalProperties", "enum", "const", "oneOf", "anyOf", "allOf", "items"),
    *("prefixItems", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "format", "minimum"),
    *("maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "title", "description", "default", "examples"),
    *("example", "enumNames", "nullable", "writeOnly", "readOnly", "$ref", "$defs", "$schema", "$id", "not", "x-a"),
    *("additionalItems", "unevaluatedProperties", "a", "b"),
]
WORDS = [
    *("string", "integer", "number", "boolean", "null", "array", "object", "date", "time", "date-time", "email", "uri"),
    *("password", "#/$defs/a", "#/properties/a", "#", "http://a/", "^a+$", "(?=a)", "\\", "2026-03-01", "a", "b", ""),
    *("\ud800", "https://json-schema.org/draft/2020-12/schema", "int32", "10:00:00Z"),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=5),
    max_leaves=20,
)
FORMS = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("ab"), JSON, max_size=2)},
    optional={"required": st.just(["a"]) | JSON, "$defs": st.dictionaries(st.sampled_from("ab"), JSON, max_size=2)},
)


@pytest.fixture
def _cut_off(monkeypatch):
    """No network, no file: whatever tries fails the test."""

    def touched(*_args, **_more):
        raise AssertionError("outside was touched")

    read_form({"type": "object", "properties": {"a": {"type": "string", "format": "email", "default": "a@b.example"}}})
    for place, name in ((socket, "socket"), (socket, "create_connection"), (socket, "getaddrinfo"), (os, "open")):
        monkeypatch.setattr(place, name, touched)
    monkeypatch.setattr(urllib.request, "urlopen", touched)
    monkeypatch.setattr("builtins.open", touched)
    monkeypatch.setattr(Path, "open", touched)


@pytest.mark.usefixtures("_cut_off")
@pytest.mark.parametrize(
    "address", ["http://169.254.169.254/latest", "https://example.org/a.json", "file:///etc/passwd"]
)
def test_no_address_in_a_schema_is_ever_fetched(address):
    for part in (
        {"$ref": address},
        {"$id": address},
        {"$schema": address},
        {"$dynamicRef": address},
        {"anyOf": [{"$ref": address}, {"type": "null"}]},
        {"type": "array", "items": {"$ref": address}},
    ):
        for schema in (
            {"type": "object", "properties": {"x": part}},
            {"type": "object"} | part,
            {"type": "object", "$defs": {"Unused": part}},
        ):
            with pytest.raises(SchemaError) as refused:
                read_form(schema)
            assert address not in str(refused.value)


@pytest.mark.usefixtures("_cut_off")
def test_judging_touches_neither_network_nor_files():
    named = {"type": "string", "description": "see http://169.254.169.254/", "default": "http://169.254.169.254/"}
    address = {"type": "string", "format": "uri"}
    mail = {"type": "string", "format": "email"}
    draft = "https://json-schema.org/draft/2019-09/schema"
    judge = Judge(
        read_form({"$schema": draft, "type": "object", "properties": {"a": named, "$ref": address, "m": mail}})
    )
    assert judge.errors({"a": "x", "$ref": "http://169.254.169.254/", "m": "ann@nowhere.example"}) == ()
    assert judge.errors({"$ref": "file:///etc/passwd", "m": {"$ref": "http://host/"}}) != ()


def test_reading_what_a_form_is_brings_no_heavy_library_in():
    code = "import sys, forms.schema; print([n for n in ('jsonschema', 're2', 'email_validator', 'referencing') if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"


@given(FORMS | JSON, st.dictionaries(st.sampled_from("abc"), JSON, max_size=3) | JSON)
def test_any_schema_is_a_form_or_refused_and_any_answer_is_judged(schema, answer):
    try:
        form = read_form(schema)
    except SchemaError as refused:
        problems, words = refused.problems, str(refused)
    else:
        problems, words = None, ""
    if problems is not None:
        assert problems
        assert all(problem.code and problem.path in words for problem in problems)
        return
    for error in Judge(form).errors(answer):
        assert error.code
        assert error.field == "" or error.field in {field.name for field in form.fields}


@given(FORMS)
def test_what_is_read_out_of_a_schema_does_not_depend_on_what_happened_before(schema):
    def read():
        try:
            return read_form(schema)
        except SchemaError as refused:
            return refused.problems

    before = repr(schema)
    assert repr(read()) == repr(read())
    assert repr(schema) == before


def nested(depth, wrap):
    value = {}
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("depth", [MAX_NESTING + 2, 100_000])
@pytest.mark.parametrize(
    "wrap", [lambda inner: [inner], lambda inner: {"properties": inner}, lambda inner: {"anyOf": [inner]}]
)
def test_nesting_is_bounded_without_recursion(depth, wrap):
    with pytest.raises(SchemaError) as refused:
        read_form(nested(depth, wrap))
    assert refused.value.problems[0].code == "nested_too_deeply"


def test_references_that_multiply_each_other_are_bounded():
    doubling = {
        f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}, {"$ref": f"#/$defs/D{n + 1}"}, {"type": "null"}]}
        for n in range(50)
    }
    twice = {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(50)}
    for defs in (doubling, twice):
        with pytest.raises(SchemaError) as refused:
            read_form(
                {
                    "type": "object",
                    "properties": {"x": {"$ref": "#/$defs/D0"}},
                    "$defs": defs | {"D50": {"type": "string"}},
                }
            )
        assert {problem.code for problem in refused.value.problems} <= {"too_many_references", "ambiguous_type"}


@pytest.mark.parametrize(
    ("value", "path", "code"),
    [
        (float("nan"), "", "not_a_number"),
        ({"a": [1, float("inf")]}, "/a/1", "not_a_number"),
        ({"a": 2**64}, "/a", "number_too_large"),
        ({"a": 10**5_000}, "/a", "number_too_large"),
        (["\ud800"], "/0", "not_text"),
        ({"\udfff": 1}, "", "not_text"),
        ({1: 2}, "", "not_json"),
        ({"a/b": {1, 2}}, "/a~1b", "not_json"),
        ((1,), "", "not_json"),
        (b"x", "", "not_json"),
    ],
)
def test_what_is_no_json_has_a_flaw_with_its_place(value, path, code):
    assert flaw(value) == (path, code)
    with pytest.raises(SchemaError) as refused:
        read_form(value)
    assert (refused.value.problems[0].path, refused.value.problems[0].code) == (path, code)


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=10))  # fmt: skip
def test_plain_json_has_no_flaw_and_is_the_same_as_its_copy(value):
    surrogates = any("\\ud" in repr(value).lower() for _ in (0,))
    assert surrogates or flaw(value) is None
    assert same(value, json.loads(json.dumps(value)))


def test_sameness_is_that_of_json():
    assert same({"a": [1]}, {"a": [1.0]})
    assert not same({"a": 1}, {"b": 1})
    assert not same({"a": 1}, {"a": True})
    assert not same([1, 2], [1])
    assert not same(1, "1")
    assert same(None, None)


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (None, {"null"}),
        (True, {"boolean"}),
        (5, {"integer", "number"}),
        (5.0, {"integer", "number"}),
        (5.5, {"number"}),
        ("a", {"string"}),
        ([], {"array"}),
        ({}, {"object"}),
    ],
)
def test_types_are_those_of_json_schema(value, types):
    names = {"null", "boolean", "integer", "number", "string", "array", "object"}
    assert {name for name in names if is_of_type(value, name)} == types
