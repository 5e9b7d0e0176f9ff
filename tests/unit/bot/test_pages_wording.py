"""Values, limits and errors in the words of one reader."""

import re
from datetime import UTC, datetime

import pytest

from bot.pages.wording import HIDDEN, Reader, Wording
from bot.pages.words import ENGLISH, ERRORS
from bot.questions.words import PROBLEMS
from forms.schema import read_form
from forms.validation import FieldError

NOW = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
# These can't come from a page: its controls have names and values of ours.
NOT_OF_A_PAGE = {
    "unknown_field",
    "nearest",
    "unparseable",
    "undecided",
    "ambiguous_field",
    "ambiguous_choice",
    "ambiguous",
}
NOT_SAID = {"wrong_type", "not_text", "other"}


def field(**schema):
    return read_form({"type": "object", "properties": {"x": schema}}).fields[0]


def wording(language="en-GB", timezone="Europe/Sofia"):
    return Wording(Reader.of(language, timezone=timezone), NOW)


def said(value, *, language="en-GB", timezone="Europe/Sofia", **schema):
    return wording(language, timezone).value(field(**schema), {} if value is ... else {"x": value})


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "string"}, "two\nlines", "two\nlines"),
        ({"type": "string"}, ..., "not answered"),
        ({"type": "integer"}, 12345, "12,345"),
        ({"type": "number"}, 0.1, "0.1"),
        ({"type": "number"}, 1234.5678901, "1,234.5678901"),
        ({"type": ["number", "null"]}, None, "None"),
        ({"type": "boolean"}, True, "Yes"),
        ({"type": "boolean"}, False, "No"),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": True, "title": "Yes"}, {"const": None}]}, 1, "One"),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": True, "title": "Yes"}, {"const": None}]}, True, "Yes"),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": True, "title": "Yes"}, {"const": None}]}, None, "None"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a", "b"], "a\nb"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, [], "None"),
        ({"type": "string", "format": "date"}, "2026-03-01", "Sunday, 1 March 2026"),
        ({"type": "string", "format": "time"}, "10:30:00+03:00", "10:30 (Europe/Sofia, UTC+03:00)"),
        ({"type": "string", "format": "time"}, "10:30:05Z", "10:30:05 (UTC)"),
        (
            {"type": "string", "format": "date-time"},
            "2026-01-05T10:30:00+02:00",
            "Monday, 5 January 2026, 10:30 (Europe/Sofia, UTC+02:00)",
        ),
        (
            {"type": "string", "format": "date-time"},
            "2026-01-05T10:30:00-05:00",
            "Monday, 5 January 2026, 10:30 (UTC−05:00)",
        ),
        ({"type": "string", "format": "date-time"}, "nonsense", "nonsense"),
        ({"type": "string", "writeOnly": True}, "secret", HIDDEN),
        ({"type": "string", "writeOnly": True}, "s", HIDDEN),
    ],
)
def test_a_value_is_shown_as_people_read_it(schema, value, words):
    assert said(value, **schema) == words


def test_a_range_is_shown_with_both_ends():
    schema = {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2, "maxItems": 2}
    assert said(["2026-03-01", "2026-03-02"], **schema) == "Sunday, 1 March 2026 – Monday, 2 March 2026"


def test_numbers_and_dates_are_written_as_the_reader_does():
    assert said(1234.5, type="number", language="de") == "1.234,5"
    assert said(1234.5, type="number", language="de-CH") in {"1’234.5", "1'234.5"}
    assert said("2026-03-01", type="string", format="date", language="de") == "Sonntag, 1. März 2026"


def test_a_zone_that_nobody_knows_is_utc():
    shown = said("2026-01-05T10:30:00Z", type="string", format="date-time", timezone="Mars/Olympus_Mons")
    assert shown == "Monday, 5 January 2026, 10:30 (Mars/Olympus Mons, UTC)"


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 12, "multipleOf": 1}, ["From 1 to 12"]),
        ({"type": "number", "minimum": 1.5, "multipleOf": 0.25}, ["At least: 1.5", "In steps of: 0.25"]),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 9, "multipleOf": 0.01}, ["More than: 0", "Less than: 9", "Decimal places: at most 2"]),
        ({"type": "number", "maximum": 1e3}, ["At most: 1,000"]),
        ({"type": "string", "minLength": 2, "maxLength": 4}, ["Characters: at least 2", "Characters: at most 4"]),
        ({"type": "string", "minLength": 4, "maxLength": 4}, ["Characters: exactly 4"]),
        ({"type": "string", "minLength": 0}, []),
        ({"type": "array", "items": {"enum": [*"abc"]}, "minItems": 1, "maxItems": 3}, ["Choices: at least 1"]),
        ({"type": "array", "items": {"enum": [*"abc"]}, "maxItems": 2}, ["Choices: at most 2"]),
        ({"type": "array", "items": {"enum": [*"abc"]}, "minItems": 2, "maxItems": 2}, ["Choices: exactly 2"]),
        ({"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2, "maxItems": 2}, []),
    ],
)  # fmt: skip
def test_what_an_answer_has_to_keep_to_is_said_beforehand(schema, lines):
    assert wording().limits(field(**schema)) == lines


def test_every_error_that_a_page_can_have_has_its_sentence():
    own = {key.removeprefix("page.error.") for key in ERRORS}
    assert set(PROBLEMS) - NOT_OF_A_PAGE - NOT_SAID == own - {"other"}
    assert wording().error(FieldError(field="x", code="never heard of"), None) == ENGLISH["page.error.other"]


def test_an_error_names_the_limit_and_not_the_pattern():
    words = wording()
    assert words.error(FieldError(field="x", code="above_maximum", limit=12000), None).endswith("12,000")
    assert "^a" not in words.error(FieldError(field="x", code="pattern_mismatch", limit="^a"), None)


def test_no_limit_has_to_be_counted_in_any_language():
    """A number stands at the end or between words that do not change with it."""
    assert all(
        re.search(r"\{limit\}$|\{low\} to \{high\}$", text)
        for text in ENGLISH.values()
        if "{limit}" in text or "{low}" in text
    )


@pytest.mark.parametrize(
    ("accepted", "fallback", "found"),
    [
        ("de-AT,de;q=0.9", None, ("de", "de-AT")),
        ("fr, es-MX;q=0.4", "de", ("es", "es-MX")),
        ("fr", "de-AT", ("de", "de")),
        ("", None, ("en", "en")),
        ("de;q=nan", "ru", ("ru", "ru")),
        ("../../etc, \x00", "ru", ("ru", "ru")),
    ],
)
def test_the_reader_is_known_by_what_the_browser_asks_for(accepted, fallback, found):
    reader = Reader.of(accepted, fallback=fallback)
    assert (reader.language, reader.tag) == found
