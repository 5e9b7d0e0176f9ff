"""The judge: what is wrong with an answer, per field, in codes and limits; never more, never less than the schema."""

import math
from decimal import Decimal

import pytest

from forms.schema import read_form
from forms.validation import FieldError, Judge


def judge(part, **root):
    return Judge(read_form({"type": "object", "properties": {"x": part}, "required": ["x"], **root}))


def errors(part, value):
    return [(error.field, error.code, error.limit) for error in judge(part).errors({"x": value})]


WHOLE = {"type": "integer"}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
TAGS = {"type": "array", "items": {"enum": ["a", "b", "c"]}}


def between(name):
    return {"type": "array", "items": {"type": "string", "format": name}, "minItems": 2, "maxItems": 2}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (TEXT, ""),
        (TEXT, "two\nlines"),
        ({"type": "string", "minLength": 2, "maxLength": 2}, "😀😀"),  # code points, not UTF-16
        ({"type": "string", "pattern": "b"}, "abc"),
        ({"type": ["string", "null"], "minLength": 1}, None),
        (WHOLE, 5),
        (WHOLE, 5.0),
        (WHOLE, 2**53 - 1),
        (NUMBER, 1e300),
        ({"type": "number", "multipleOf": 0.01}, 19.99),
        ({"type": "number", "multipleOf": 0.1}, 1.1),
        ({"type": "number", "multipleOf": 1e-8}, 12391239123),
        ({"type": "number", "multipleOf": 0.5}, 1e308),
        ({"type": "boolean"}, False),
        ({"enum": ["a", 1, None]}, None),
        ({"enum": ["a", 1, None]}, 1.0),
        ({"const": "v"}, "v"),
        (TAGS, []),
        (TAGS, ["a", "a"]),
        ({"type": "string", "format": "email"}, "ann@example.org"),
        ({"type": "string", "format": "uri"}, "https://example.org"),
        ({"type": "string", "format": "time"}, "10:00:00Z"),
        (between("date"), ["2026-03-01", "2026-03-01"]),
        (between("time"), ["22:00:00Z", "06:00:00Z"]),  # over midnight
        (between("date-time"), ["2026-03-01T10:00:00+03:00", "2026-03-01T08:00:00Z"]),
        ({"type": ["array", "null"], "prefixItems": [{"format": "date"}] * 2}, None),
    ],
)
def test_a_good_answer_has_no_errors(part, value):
    assert errors(part, value) == []


@pytest.mark.parametrize(
    ("part", "value", "code", "limit"),
    [
        (TEXT, 5, "wrong_type", None),
        (TEXT, None, "missing_required", None),
        (TEXT, ["a"], "wrong_type", None),
        (TEXT, {"a": 1}, "wrong_type", None),
        (TEXT, "\ud800", "not_text", None),
        (TEXT, "x" * 20_000, "too_long", 16_384),
        ({"type": "string", "minLength": 2}, "😀", "too_short", 2),
        ({"type": "string", "maxLength": 1}, "ab", "too_long", 1),
        ({"type": "string", "pattern": "^a$"}, "a\n", "pattern_mismatch", "^a$"),
        (WHOLE, 5.5, "not_an_integer", None),
        (WHOLE, "5", "not_an_integer", None),
        (WHOLE, True, "not_an_integer", None),
        (WHOLE, 2**53, "above_maximum", 2**53 - 1),
        (WHOLE, -(10**400), "below_minimum", 1 - 2**53),
        (WHOLE, Decimal(5), "not_an_integer", None),
        (NUMBER, math.nan, "not_a_number", None),
        (NUMBER, math.inf, "not_a_number", None),
        (NUMBER, False, "not_a_number", None),
        (NUMBER, b"5", "not_a_number", None),
        ({"type": "number", "minimum": 0.1}, 0, "below_minimum", 0.1),
        ({"type": "number", "maximum": 1}, 1.5, "above_maximum", 1),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "not_above_minimum", 0),
        ({"type": "number", "exclusiveMaximum": 1}, 1.0, "not_below_maximum", 1),
        ({"type": "number", "multipleOf": 0.01}, 19.999, "not_a_multiple", 0.01),
        ({"type": "boolean"}, "false", "not_a_boolean", None),
        ({"type": "boolean"}, 0, "not_a_boolean", None),
        ({"enum": ["a", 1]}, True, "not_a_choice", None),
        ({"enum": ["a", "b"]}, "c", "not_a_choice", None),
        ({"const": "v"}, "w", "not_a_choice", None),
        (TAGS, "a", "wrong_type", None),
        (TAGS, ["a", "d"], "not_a_choice", None),
        (TAGS, ["a", ["b"]], "not_a_choice", None),
        (TAGS, ["a"] * 2_000, "too_many", 1_000),
        ({**TAGS, "minItems": 2}, ["a"], "too_few", 2),
        ({**TAGS, "maxItems": 1}, ["a", "b"], "too_many", 1),
        ({**TAGS, "uniqueItems": True}, ["a", "a"], "duplicate_item", True),
        ({"type": "string", "format": "date"}, "2026-02-30", "invalid_date", None),
        ({"type": "string", "format": "date"}, 20260101, "invalid_date", None),
        ({"type": "string", "format": "time"}, "10:00", "invalid_time", None),
        ({"type": "string", "format": "date-time"}, "2026-03-01T25:00:00Z", "invalid_datetime", None),
        ({"type": "string", "format": "email"}, "ann@", "invalid_email", None),
        ({"type": "string", "format": "uri"}, "javascript:alert(1)", "invalid_uri", None),
        (between("date"), ["2026-03-01"], "too_few", 2),
        (between("date"), ["2026-03-01", "tomorrow"], "invalid_date", None),
        (between("time"), ["10:00:00Z", "11:00"], "invalid_time", None),
        (between("date"), ["2026-03-02", "2026-03-01"], "wrong_order", None),
        (between("date-time"), ["2026-03-01T10:00:00Z", "2026-03-01T10:00:00+01:00"], "wrong_order", None),
    ],
)
def test_what_is_wrong_is_said_by_code_with_the_limit_of_the_schema(part, value, code, limit):
    assert errors(part, value) == [("x", code, limit)]


def test_a_required_field_that_is_missing_and_one_that_is_null_are_one_error_each():
    both = Judge(
        read_form({"type": "object", "properties": {"a": TEXT, "b": WHOLE, "c": TEXT}, "required": ["a", "b"]})
    )
    assert both.errors({}) == (
        FieldError(field="a", code="missing_required"),
        FieldError(field="b", code="missing_required"),
    )
    assert both.errors({"a": None, "b": 1, "c": None}) == (
        FieldError(field="a", code="missing_required"),
        FieldError(field="c", code="wrong_type"),
    )


def test_errors_come_in_the_order_of_the_fields_each_once():
    form = read_form({"type": "object", "properties": {"b": WHOLE, "a": between("date"), "c": TEXT}, "required": ["c"]})
    found = Judge(form).errors({"a": ["x", "y"], "b": "z"})
    assert [(error.field, error.code) for error in found] == [
        ("b", "not_an_integer"),
        ("a", "invalid_date"),
        ("c", "missing_required"),
    ]


def test_names_that_were_not_asked_are_refused_where_the_schema_is_closed_or_they_are_no_json():
    closed = judge(TEXT, additionalProperties=False)
    assert closed.errors({"x": "a", "y": 1}) == (FieldError(field="", code="unknown_field"),)
    assert judge(TEXT, unevaluatedProperties=False).errors({"x": "a", "y": 1}) != ()
    still_open = judge(TEXT)
    assert still_open.errors({"x": "a", "y": [1, {"z": None}]}) == ()
    for odd in (math.nan, "\udc00", {1: 2}, {"\ud800": 1}, b"", 2**70, [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]):
        assert still_open.errors({"x": "a", "y": odd}) == (FieldError(field="", code="unknown_field"),)


def test_an_answer_that_is_no_object_is_one_error_of_the_whole():
    for answer in (None, [], "x", 5, {1: "x"}):
        assert judge(TEXT).errors(answer) == (FieldError(field="", code="wrong_type"),)


def test_a_confirmation_is_answered_with_an_empty_object():
    assert Judge(read_form({"type": "object"})).errors({}) == ()
    assert Judge(read_form({"type": "object", "additionalProperties": False})).errors({"a": 1}) != ()


def test_an_error_never_holds_what_was_typed():
    secret = "correct horse"
    for part in (TEXT | {"maxLength": 3}, TEXT | {"pattern": "^x$"}, WHOLE, {"enum": ["a"]}, between("date")):
        for value in (secret, [secret, secret], {secret: secret}):
            assert secret not in repr(judge(part, additionalProperties=False).errors({"x": value, secret: 1}))
