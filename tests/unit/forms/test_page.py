"""A form in a browser: what stands in its controls, and what comes back from them."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms.formats import read_datetime
from forms.page import Control, inputs, read_page
from forms.reading import Locale
from forms.schema import read_form
from forms.validation import FieldError, Judge

TODAY = date(2026, 7, 1)
SOFIA = Locale(language="en-GB", timezone="Europe/Sofia")
GERMAN = Locale(language="de", timezone="Europe/Berlin")
DATES = {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2, "maxItems": 2}
TIMES = {"type": "array", "items": {"type": "string", "format": "time"}, "minItems": 2, "maxItems": 2}
MOMENT = {"type": "string", "format": "date-time"}
CHOICES = {"type": "array", "items": {"enum": ["a", "b", "c"]}}


def form(*, required=False, **schema):
    return read_form({"type": "object", "properties": {"x": schema}, "required": ["x"] if required else []})


def read(sent, *, locale=SOFIA, required=False, **schema):
    """The value of the one field, or the code of what is wrong with it; ``...`` for none."""
    sent = sent if isinstance(sent, dict) else {"f0": sent if isinstance(sent, list) else [sent]}
    values, errors = read_page(form(required=required, **schema), sent, locale=locale, today=TODAY)
    assert not (values and errors)
    return errors[0].code if errors else values.get("x", ...)


def shown(*, locale=SOFIA, kept=None, sent=None, errors=(), **schema):
    (one,) = inputs(form(**schema), locale=locale, today=TODAY, kept=kept, sent=sent, errors=errors)
    return one


def stands(**facts):
    return [entry.value for entry in shown(**facts).entries]


@pytest.mark.parametrize(
    ("schema", "sent", "value"),
    [
        ({"type": "string"}, "as typed ", "as typed "),
        ({"type": "string"}, "two\r\nlines\rthree", "two\nlines\nthree"),
        ({"type": "string"}, " \r\n ", ...),
        ({"type": "string", "pattern": "^[A-Z]+$"}, " AB ", "AB"),
        ({"type": "string", "writeOnly": True}, " pass word ", " pass word "),
        ({"type": "string", "writeOnly": True}, "", ...),
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "integer"}, "2.5", "not_an_integer"),
        ({"type": "number"}, "1,250.5", 1250.5),
        ({"type": "number"}, "many", "not_a_number"),
        ({"type": "number"}, "", ...),
        ({"type": "boolean"}, "0", True),
        ({"type": "boolean"}, "1", False),
        ({"type": "boolean"}, "2", "not_a_boolean"),
        ({"type": "boolean"}, "", ...),
        ({"enum": ["a", 1, True, None]}, "0", "a"),
        ({"enum": ["a", 1, True, None]}, "1", 1),
        ({"enum": ["a", 1, True, None]}, "2", True),
        ({"enum": ["a", 1, True, None]}, "3", None),
        ({"enum": ["a", 1]}, "-1", "not_a_choice"),
        ({"enum": ["a", 1]}, "²", "not_a_choice"),
        ({"enum": ["a", 1]}, "9" * 50, "not_a_choice"),
        (CHOICES, ["0", "2", "0"], ["a", "c"]),
        (CHOICES, ["0", "x"], "not_a_choice"),
        (CHOICES, [], ...),
        ({**CHOICES, "default": ["a"]}, [], []),
        ({**CHOICES, "default": ["a"], "minItems": 1}, [], ...),
        ({"type": "string", "format": "date"}, "2026-03-01", "2026-03-01"),
        ({"type": "string", "format": "date"}, "2026-02-30", "invalid_date"),
        ({"type": "string", "format": "time"}, "10:30", "10:30:00+03:00"),
        (MOMENT, "2026-01-05T10:30", "2026-01-05T10:30:00+02:00"),
        (MOMENT, "2026-07-05T10:30:15", "2026-07-05T10:30:15+03:00"),
        (MOMENT, "2026-03-29T03:30", "nonexistent_local_time"),
        (MOMENT, "2026-10-25T03:30", "ambiguous_local_time"),
        ({"type": "string", "format": "email"}, " ann@example.org ", "ann@example.org"),
        ({"type": "string", "format": "uri"}, "https://example.org/a", "https://example.org/a"),
        ({"const": "fixed"}, "other", "fixed"),
        (DATES, {"f0-from": ["2026-03-01"], "f0-to": ["2026-03-05"]}, ["2026-03-01", "2026-03-05"]),
        (DATES, {"f0-from": [""], "f0-to": [""]}, ...),
        (DATES, {"f0-from": ["2026-03-01"], "f0-to": [""]}, "incomplete_range"),
        (DATES, {"f0-to": ["2026-03-01"]}, "incomplete_range"),
        (DATES, {"f0-from": ["x"], "f0-to": ["2026-03-01"]}, "invalid_date"),
        (DATES, {"f0-from": ["2026-03-01"] * 2, "f0-to": ["2026-03-01"]}, "duplicate_field"),
        (TIMES, {"f0-from": ["22:00"], "f0-to": ["06:00"]}, ["22:00:00+03:00", "06:00:00+03:00"]),
        ({"type": "string"}, ["a", "b"], "duplicate_field"),
        ({"type": "string"}, {"other": ["a"], "x": ["b"], "f1": ["c"]}, ...),
    ],
)
def test_what_a_browser_sends_is_a_value_an_error_or_nothing(schema, sent, value):
    assert read(sent, **schema) == value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": ["string", "null"]}, None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ({**CHOICES, "type": ["array", "null"]}, None),
        (CHOICES, []),
        ({"type": "string"}, ...),
    ],
)
def test_an_empty_control_of_a_required_field_is_null_where_null_is_an_answer(schema, value):
    assert read([], required=True, **schema) == value


def test_a_word_for_nothing_is_no_null_in_a_control():
    assert read("none", anyOf=[{"type": "integer"}, {"type": "null"}]) == "not_an_integer"


def test_a_decimal_comma_is_read_as_the_reader_writes_it():
    assert read("1,5", locale=GERMAN, type="number") == 1.5
    assert read("1.250,5", locale=GERMAN, type="number") == 1250.5


def test_a_doubt_is_settled_by_the_reading_that_was_picked():
    sent = {"f0": ["2026-10-25T03:30"], "f0-as": ["2026-10-25T03:30:00+02:00"]}
    assert read(sent, **MOMENT) == "2026-10-25T03:30:00+02:00"
    assert read({**sent, "f0-as": ["2026-10-25T03:30:00+09:00"]}, **MOMENT) == "ambiguous_local_time"
    ends = {"f0-from": ["03/04/2026"], "f0-to": ["05/04/2026"], "f0-from-as": ["2026-04-03"]}
    unknown = Locale(language="", timezone="UTC")
    assert read(ends, locale=unknown, **DATES) == "ambiguous_date"
    assert read({**ends, "f0-to-as": ["2026-04-05"]}, locale=unknown, **DATES) == ["2026-04-03", "2026-04-05"]


def test_errors_carry_the_limit_and_never_what_was_typed():
    _, errors = read_page(form(type="integer"), {"f0": ["9" * 30]}, locale=SOFIA, today=TODAY)
    assert errors == (FieldError(field="x", code="above_maximum", limit=2**53 - 1),)


@pytest.mark.parametrize(
    ("schema", "control"),
    [
        ({"type": "string"}, Control.AREA),
        ({"type": "string", "maxLength": 500}, Control.AREA),
        ({"type": "string", "maxLength": 80}, Control.LINE),
        ({"type": "string", "pattern": "^a"}, Control.LINE),
        ({"type": "string", "maxLength": 80, "examples": ["two\nlines"]}, Control.AREA),
        ({"type": "string", "writeOnly": True}, Control.PASSWORD),
        ({"type": "string", "enum": ["a", "b"], "writeOnly": True}, Control.RADIOS),
        ({"type": "integer"}, Control.NUMBER),
        ({"type": "boolean"}, Control.RADIOS),
        ({"enum": list("abc")}, Control.RADIOS),
        ({"enum": list("abcdefghij")}, Control.LIST),
        (CHOICES, Control.BOXES),
        (DATES, Control.DATE),
        (TIMES, Control.TIME),
        (MOMENT, Control.MOMENT),
        ({"type": "string", "format": "email"}, Control.EMAIL),
        ({"type": "string", "format": "uri"}, Control.ADDRESS),
    ],
)
def test_a_field_is_asked_by_its_native_control(schema, control):
    assert shown(**schema).control is control


def test_a_fixed_field_is_not_asked():
    assert inputs(form(const=1), locale=SOFIA, today=TODAY) == ()


@pytest.mark.parametrize(
    ("schema", "locale", "values"),
    [
        ({"type": "string", "default": "a"}, SOFIA, ["a"]),
        ({"type": "string"}, SOFIA, [""]),
        ({"type": "integer", "default": 5.0}, SOFIA, ["5"]),
        ({"type": "number", "default": 1.125}, SOFIA, ["1.125"]),
        ({"type": "number", "default": 1.125}, GERMAN, ["1,125"]),
        ({"type": "number", "default": 1.125}, Locale(language="xx"), ["1.1250"]),
        ({"type": "number", "default": 1e-60}, SOFIA, ["1e-60"]),
        ({"type": ["number", "null"], "default": None}, SOFIA, [""]),
        ({**DATES, "default": ["2026-03-01", "2026-03-05"]}, SOFIA, ["2026-03-01", "2026-03-05"]),
        (DATES, SOFIA, ["", ""]),
        ({"type": "string", "format": "time", "default": "10:00:00Z"}, SOFIA, ["13:00"]),
        ({**MOMENT, "default": "2026-01-05T10:00:05.25Z"}, SOFIA, ["2026-01-05T12:00:05.250"]),
        ({**MOMENT, "default": "2026-01-05T10:00:00+05:00"}, SOFIA, ["2026-01-05T07:00"]),
        ({**MOMENT, "default": "0001-01-01T00:00:00+05:00"}, SOFIA, ["0001-01-01T00:00:00+05:00"]),
        ({**MOMENT, "default": "2026-01-05T10:00:00Z"}, Locale(timezone="Mars/Olympus"), ["2026-01-05T10:00:00Z"]),
    ],
)
def test_defaults_stand_in_the_controls_as_one_would_type_them(schema, locale, values):
    assert stands(locale=locale, **schema) == values


def test_kept_values_go_before_defaults_and_what_was_sent_before_both():
    schema = {"type": "string", "default": "default"}
    assert stands(kept={"x": "kept"}, **schema) == ["kept"]
    assert stands(kept={"x": "kept"}, sent={"f0": ["sent"]}, **schema) == ["sent"]
    assert stands(kept={"x": "kept"}, sent={}, **schema) == [""]


def test_a_kept_time_that_is_none_is_left_as_it_is():
    assert stands(kept={"x": "noon"}, **MOMENT) == ["noon"]


def test_options_are_ticked_by_their_places():
    schema = {**CHOICES, "default": ["c"]}
    assert shown(**schema).chosen == {2}
    assert shown(kept={"x": ["a", "b"]}, **schema).chosen == {0, 1}
    assert shown(sent={"f0": ["1", "9", "x"]}, **schema).chosen == {1}
    assert shown(sent={}, **schema).chosen == set()
    assert shown(enum=["a", 1, True], default=1).chosen == {1}
    assert shown(enum=["a", None]).chosen == set()
    assert shown(enum=["a", None], default=None).chosen == {1}
    assert shown(type="boolean", default=False).chosen == {1}


def test_masked_values_never_come_back():
    for facts in ({"kept": {"x": "secret"}}, {"sent": {"f0": ["secret"]}}):
        one = shown(type="string", writeOnly=True, **facts)
        assert [entry.value for entry in one.entries] == [""]
        assert "secret" not in repr(one)
    assert shown(enum=["a", "b"], writeOnly=True, kept={"x": "a"}, sent={"f0": ["0"]}).chosen == set()
    masked = {"type": "string", "format": "password"}
    assert stands(kept={"x": "secret"}, **masked) == [""]


def test_a_doubt_is_shown_with_its_readings():
    (entry,) = shown(sent={"f0": ["2026-10-25T03:30"], "f0-as": ["2026-10-25T03:30:00+02:00"]}, **MOMENT).entries
    assert entry.readings == ("2026-10-25T03:30:00+03:00", "2026-10-25T03:30:00+02:00")
    assert entry.picked == "2026-10-25T03:30:00+02:00"
    first, last = shown(sent={"f0-from": ["2026-03-01"], "f0-to": ["1/2/2026"]}, locale=Locale(), **DATES).entries
    assert (first.readings, last.readings) == ((), ("2026-02-01", "2026-01-02"))


def test_a_default_in_the_hour_that_comes_twice_is_the_one_that_was_meant():
    for offset in ("+03:00", "+02:00"):
        (entry,) = shown(default=f"2026-10-25T03:30:00{offset}", **MOMENT).entries
        assert entry.value == "2026-10-25T03:30"
        assert entry.picked == f"2026-10-25T03:30:00{offset}"


def test_errors_stand_at_their_fields():
    error = FieldError(field="x", code="too_short", limit=3)
    elsewhere = FieldError(field="y", code="too_short")
    assert shown(type="string", errors=[elsewhere, error]).errors == (error,)


SCHEMAS = st.sampled_from(
    [
        ({"type": "integer"}, st.integers(-(2**53) + 1, 2**53 - 1)),
        ({"type": "number"}, st.floats(-1e9, 1e9, allow_nan=False) | st.decimals(-999, 999, places=3).map(float)),
        ({"type": "string", "format": "date"}, st.dates().map(str)),
        (MOMENT, st.integers(-(10**9), 4 * 10**9).map(lambda at: datetime.fromtimestamp(at / 2, UTC))),
        ({"type": "string"}, st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1)),
        (CHOICES, st.sets(st.sampled_from("abc"), min_size=1).map(sorted)),
        ({"enum": ["a", 1, True, None]}, st.sampled_from(["a", 1, True, None])),
        (DATES, st.tuples(st.dates().map(str), st.dates().map(str)).map(sorted)),
    ]
)
LOCALES = st.builds(
    Locale, language=st.sampled_from(["", "en", "de", "bg"]), timezone=st.sampled_from(["UTC", "Europe/Sofia"])
)


@given(data=st.data(), locale=LOCALES)
def test_what_is_shown_comes_back_as_what_it_was(data, locale):
    schema, values = data.draw(SCHEMAS)
    value = data.draw(values)
    if isinstance(value, datetime):
        value = value.replace(microsecond=value.microsecond // 1000 * 1000).isoformat()
    one = shown(kept={"x": value}, locale=locale, **schema)
    sent = {entry.name: [entry.value] for entry in one.entries}
    sent |= {f"{entry.name}-as": [entry.picked] for entry in one.entries}
    sent |= {one.name: [str(place) for place in sorted(one.chosen)]} if one.chosen else {}
    again, errors = read_page(form(**schema), sent, locale=locale, today=TODAY)
    assert errors == ()
    if schema is MOMENT:
        assert read_datetime(again["x"]) == read_datetime(value)
    elif schema == {"type": "string"} and not value.strip():
        assert again == {}
    else:
        assert again == {"x": value}
        assert type(again["x"]) is type(value) or isinstance(value, float)
    assert Judge(form(**schema)).errors(again) == ()


@given(sent=st.dictionaries(st.sampled_from(["f0", "f0-from", "f0-to", "f0-as", "x"]), st.lists(st.text(max_size=40))))
def test_nothing_that_a_browser_could_send_raises(sent):
    for schema in (MOMENT, CHOICES, DATES, TIMES, {"type": "number"}, {"enum": [1, 2]}, {"type": "boolean"}):
        values, errors = read_page(form(**schema), sent, locale=SOFIA, today=TODAY)
        assert values.keys() | {error.field for error in errors} <= {"x"}
        shown(sent=sent, errors=errors, **schema)
