"""Fields and values in words: what a field takes, and what is filled in.

The words are the caller's, by the codes of :data:`WORDS`, which says them in English. What the agent has written
(titles, descriptions, options) stands in them as it is.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from forms.bounds import same
from forms.field import Field, FieldKind, Option
from forms.folding import trim

Words = Mapping[str, str]

MAX_LISTED: Final = 30
"""Options that a hint names; it says how many more there are."""
LONGEST_LABEL: Final = 32
"""Characters of a title that a button surely shows, a phone's too."""
DOTS: Final = "•••"
"""Stands for a masked value that is filled in (FORM-10)."""

WORDS: Final[Words] = {
    "yes": "Yes",
    "no": "No",
    "none": "None",
    "done": "Done",
    "skip": "Skip",
    "confirm": "Confirm",
    "cancel": "Cancel",
    "change": "Change",
    "back": "Back",
    "required": "required",
    "column_field": "Field",
    "column_format": "Format",
    "column_required": "Required",
    "column_answer": "Answer",
    "month_1": "January",
    "month_2": "February",
    "month_3": "March",
    "month_4": "April",
    "month_5": "May",
    "month_6": "June",
    "month_7": "July",
    "month_8": "August",
    "month_9": "September",
    "month_10": "October",
    "month_11": "November",
    "month_12": "December",
    "month_of_year": "{month} {year}",
    "weekday_1": "Mo",
    "weekday_2": "Tu",
    "weekday_3": "We",
    "weekday_4": "Th",
    "weekday_5": "Fr",
    "weekday_6": "Sa",
    "weekday_7": "Su",
    "from_date": "from {date}",
    "choose_exactly": "Choose {count}",
    "choose_between": "Choose {low} to {high}",
    "choose_at_least": "Choose at least {low}",
    "choose_at_most": "Choose at most {high}",
    "format_text": "text",
    "format_masked": "secret, in the form only",
    "format_integer": "whole number",
    "format_number": "number",
    "format_boolean": "yes or no",
    "format_choice": "one of: {options}",
    "format_choices": "one or several of: {options}",
    "format_date": "date, like 2026-03-01",
    "format_time": "time, like 10:30",
    "format_datetime": "date and time, like 2026-03-01 10:30",
    "format_date_range": "two dates, like 2026-03-01 – 2026-03-05",
    "format_time_range": "two times, like 10:30 – 12:00",
    "format_datetime_range": "two dates with times, like 2026-03-01 10:30 – 2026-03-02 12:00",
    "format_email": "e-mail address",
    "format_uri": "web address",
    "more_options": "{count} more",
    "between": "{low} to {high}",
    "at_least": "at least {low}",
    "at_most": "at most {high}",
    "more_than": "more than {low}",
    "less_than": "less than {high}",
    "multiple_of": "a multiple of {step}",
    "length_exactly": "{count} characters",
    "length_between": "{low} to {high} characters",
    "length_at_least": "at least {low} characters",
    "length_at_most": "at most {high} characters",
    "pattern": "in the form {pattern}",
    "default": "if left out: {value}",
    "example": "for example {value}",
}

_TIME: Final = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ])?([0-9]{2}:[0-9]{2})(:[0-9.]+)?(?:[Zz]|([+-][0-9]{2}:[0-9]{2}))"
)
_TIMES: Final = frozenset({FieldKind.TIME, FieldKind.DATETIME, FieldKind.TIME_RANGE, FieldKind.DATETIME_RANGE})
_ZERO_SECONDS: Final = re.compile(r":0+(?:\.0+)?")
_TRUTH: Final = (Option(value=True, title=""), Option(value=False, title=""))
_PLAIN_DIGITS: Final = 21


def say(words: Words, code: str, **values: object) -> str:
    """The words of a code; in English where the caller has none."""
    return (words.get(code) or WORDS[code]).format(**values)


def hint(field: Field, words: Words) -> str:
    """What a field takes, in lines: the agent's description, then the format with its limits."""
    said = [_format(field, words), *_limits(field, words)]
    if field.pattern is not None:
        said.append(say(words, "pattern", pattern=_one_line(field.pattern)))
    if field.has_default and not _is_nothing(field.default):
        said.append(say(words, "default", value=_one_line(spelt(field, field.default, words))))
    elif field.examples:
        said.append(say(words, "example", value=_one_line(spelt(field, field.examples[0], words))))
    if "\n" in said[0]:  # a list has its lines for itself
        said = [said[0] + "\n" + ", ".join(said[1:])]
    return "\n".join(line for line in (field.description.strip(), ", ".join(said).strip()) if line)


def spelt(field: Field, value: object, words: Words) -> str:
    """A value that the field takes, as people read it. A masked one is never shown (FORM-10); a time names its zone."""
    if field.masked:
        return DOTS
    if value is None:
        return say(words, "none")
    if isinstance(value, list):
        joint = ", " if field.kind is FieldKind.CHOICES else " – "
        return joint.join(_spelt_one(field, item, words) for item in value) or say(words, "none")
    return _spelt_one(field, value, words)


def options_of(field: Field) -> tuple[Option, ...]:
    """What can be chosen; a truth value without titles has yes and no. None where it is no choice."""
    return _TRUTH if field.kind is FieldKind.BOOLEAN and not field.options else field.options


def title_of(option: Option, words: Words) -> str:
    """An option's own title, or its word."""
    if option.title.strip():
        return _one_line(option.title)
    if option.value is None:
        return say(words, "none")
    return say(words, "yes" if option.value else "no")


def is_numbered(field: Field, words: Words) -> bool:
    """Whether its options are told by their numbers: a title is too long for a button, unseen, or like another."""
    titles = [title_of(option, words) for option in options_of(field)]
    return len(set(titles)) < len(titles) or not all(trim(title) and len(title) <= LONGEST_LABEL for title in titles)


def _spelt_one(field: Field, value: object, words: Words) -> str:
    for option in options_of(field):
        if same(option.value, value):
            return title_of(option, words)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(Decimal(repr(value)))
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=str)
    match = _TIME.fullmatch(value) if field.kind in _TIMES else None
    if match is None:
        return value
    day, clock, seconds, offset = match.groups()
    if seconds and not _ZERO_SECONDS.fullmatch(seconds):
        clock += seconds
    return " ".join(part for part in (day, clock, f"UTC{offset or ''}") if part)


def _format(field: Field, words: Words) -> str:
    if field.masked:
        return say(words, "format_masked")
    options = options_of(field)
    if not options:
        return say(words, f"format_{field.kind}")
    titles = [title_of(option, words) for option in options]
    if field.kind is FieldKind.BOOLEAN and not field.options:
        return say(words, "format_boolean")
    numbered = is_numbered(field, words)
    listed = [f"{place}. {title}" if numbered else title for place, title in enumerate(titles[:MAX_LISTED], 1)]
    if len(titles) > len(listed):
        listed.append(f"… {say(words, 'more_options', count=len(titles) - len(listed))}")
    code = "format_choices" if field.kind is FieldKind.CHOICES else "format_choice"
    if not numbered:
        return say(words, code, options=" | ".join(listed))
    head, _, tail = say(words, code, options="\n").partition("\n")
    return "\n".join(line for line in (head.strip(), *listed, tail.strip()) if line)


def _limits(field: Field, words: Words) -> list[str]:
    if field.kind is FieldKind.CHOICES:
        chosen = how_many(field, words)
        return [chosen[:1].lower() + chosen[1:]] if chosen else []
    said = _between("", field.minimum, field.maximum, words)
    if field.exclusive_minimum is not None:
        said.append(say(words, "more_than", low=_number(field.exclusive_minimum)))
    if field.exclusive_maximum is not None:
        said.append(say(words, "less_than", high=_number(field.exclusive_maximum)))
    if field.multiple_of is not None and not (field.kind is FieldKind.INTEGER and field.multiple_of == 1):
        said.append(say(words, "multiple_of", step=_number(field.multiple_of)))
    low, high = field.min_length or None, field.max_length
    if low is not None and low == high:
        return [*said, say(words, "length_exactly", count=low)]
    return said + _between("length_", low, high, words)


def how_many(field: Field, words: Words) -> str:
    """How many choices are wanted; empty where any number is."""
    low = field.min_items or None
    high = None if field.max_items is None or field.max_items >= len(field.options) else field.max_items
    if low is not None and low == (field.max_items if high is None else high):
        return say(words, "choose_exactly", count=low)
    return "".join(_between("choose_", low, high, words))


def _between(prefix: str, low: Decimal | int | None, high: Decimal | int | None, words: Words) -> list[str]:
    if low is not None and high is not None:
        return [say(words, f"{prefix}between", low=_number(low), high=_number(high))]
    if low is not None:
        return [say(words, f"{prefix}at_least", low=_number(low))]
    if high is not None:
        return [say(words, f"{prefix}at_most", high=_number(high))]
    return []


def _number(number: Decimal | int) -> str:
    """Without an exponent while it is short, without a fraction of zeros."""
    exact = Decimal(number)
    if exact == exact.to_integral_value() and abs(exact.adjusted()) < _PLAIN_DIGITS:
        return f"{exact:.0f}"
    return f"{exact.normalize():f}" if abs(exact.adjusted()) < _PLAIN_DIGITS else str(exact)


def _is_nothing(value: object) -> bool:
    return value is None or value in ("", [])


def _one_line(text: str) -> str:
    return " ".join(text.split())
