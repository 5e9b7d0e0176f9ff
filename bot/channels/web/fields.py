"""The fields of a question as the page draws them (FORM-1, FORM-3).

The page gets what it needs to draw native inputs and nothing else of the schema. What a masked field stands at stays
here (FORM-10), and so do the defaults of times where nobody has named the zone in which they are meant.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import orjson

from forms.canonical import RANGES
from forms.field import Field, FieldKind, Form
from forms.page import Input, Sent, inputs
from forms.reading import Locale
from forms.validation import FieldError
from forms.wording import Words, is_numbered, options_of, spelt

_TIMES: Final = frozenset({FieldKind.TIME, FieldKind.DATETIME, FieldKind.TIME_RANGE, FieldKind.DATETIME_RANGE})
_LIMITS: Final = (
    ("minimum", "at_least"),
    ("maximum", "at_most"),
    ("exclusive_minimum", "more_than"),
    ("exclusive_maximum", "less_than"),
    ("multiple_of", "multiple_of"),
    ("min_length", "length_at_least"),
    ("max_length", "length_at_most"),
    ("min_items", "choose_at_least"),
    ("max_items", "choose_at_most"),
)


def form_of(form: Form, locale: Locale, *, today: date) -> Mapping[str, Any]:
    """A form as the page draws it.

    Args:
        form: the question's.
        locale: zone in which its times are meant ("" is not known), and how its numbers are written.
        today: there.
    """
    asked = inputs(form, locale=locale, today=today)
    times = any(one.field.kind in _TIMES for one in asked)
    return {
        "fields": [_field(one, locale) for one in asked],
        "fixed": [[field.title, _fixed(field.default)] for field in form.fields if field.fixed and not field.masked],
        "free": _takes_words(form, asked),
        "zone": locale.timezone if times else "",
    }


def words_of(form: Mapping[str, Any]) -> Iterator[str]:
    """Everything that a person could read in it, a line each (OUT-2)."""
    for title, value in form["fixed"]:
        yield f"{title}: {value}"
    for field in form["fields"]:
        yield from (field["title"], field["description"], field["example"])
        yield from (title for _, title in field["options"])
        yield from field["values"]
    yield form["zone"]


def rows_of(form: Form, values: Mapping[str, object], words: Words) -> Sequence[tuple[str, str | None]]:
    """An answer that is to be confirmed, field by field; None: there is a value, and it is never shown (FORM-10)."""
    return [
        (field.title, None if field.masked else spelt(field, values[field.name], words))
        for field in form.fields
        if field.name in values
    ]


def errors_of(form: Form, errors: Iterable[FieldError]) -> Sequence[Mapping[str, Any]]:
    """Errors by the names that fields have on the page; no values."""
    places = {field.name: f"f{place}" for place, field in enumerate(form.fields)}
    return [
        {"field": places.get(error.field, ""), "code": error.code, "limit": _limit(error.limit)} for error in errors
    ]


def doubts_of(form: Form, sent: Sent, locale: Locale, *, today: date) -> Sequence[Mapping[str, Any]]:
    """What can mean two things, with both readings to choose from (FORM-8)."""
    return [
        {
            "field": one.name,
            "name": f"{entry.name}-as",
            "readings": [[str(reading), spelt(one.field, reading, {})] for reading in entry.readings],
        }
        for one in inputs(form, locale=locale, today=today, sent=sent)
        for entry in one.entries
        if entry.readings and not entry.picked
    ]


def _takes_words(form: Form, asked: Sequence[Input]) -> bool:
    """Whether there is a line for an answer in one's own words.

    What is typed there stays in the conversation, so a form with a masked field has none (FORM-10); one field of text
    is such a line itself.
    """
    if not asked or any(field.masked for field in form.fields):
        return False
    return not (len(asked) == 1 and asked[0].field.kind is FieldKind.TEXT)


def _field(one: Input, locale: Locale) -> Mapping[str, Any]:
    field = one.field
    known = field.kind not in _TIMES or locale.timezone != ""
    example = spelt(field, field.examples[0], {}) if field.examples and not field.masked else ""
    numbered = is_numbered(field, {})
    return {
        "id": one.name,
        "names": [entry.name for entry in one.entries] or [one.name],
        "kind": field.kind.value,
        "control": one.control.value,
        "title": field.title,
        "description": field.description,
        "example": example,
        "required": field.required and not field.nullable,
        "masked": field.masked,
        "signed": field.minimum is None or field.minimum < 0,
        "limits": [[code, _limit(limit)] for code, limit in _limits_of(field)],
        "numbered": numbered,
        "options": [
            [str(place), f"{place + 1}. {option.title}" if numbered and option.title else option.title]
            for place, option in enumerate(options_of(field))
        ],
        "chosen": [str(place) for place in sorted(one.chosen)],
        "values": [entry.value for entry in one.entries] if known else [""] * len(one.entries),
    }


def _fixed(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _limits_of(field: Field) -> Iterator[tuple[str, object]]:
    for name, code in _LIMITS:
        limit = getattr(field, name)
        says_nothing = (limit == 0 and name.startswith("min_")) or (field.kind in RANGES and name.endswith("_items"))
        if limit is not None and not says_nothing:
            yield code, limit


def _limit(limit: object) -> str | None:
    """A limit as text; the page writes numbers as its reader does."""
    if limit is None or isinstance(limit, str):
        return limit
    exact = Decimal(str(limit)) if isinstance(limit, int | float | Decimal) and not isinstance(limit, bool) else None
    return None if exact is None else f"{exact.normalize():f}" if abs(exact.adjusted()) < 30 else str(exact)
