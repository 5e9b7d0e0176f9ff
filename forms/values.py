"""One field's value from what a person typed (FORM-8): read, asked back, or refused; never guessed, never truncated."""

import json
import re
from datetime import date
from typing import Final, assert_never

from forms import numbers, words
from forms.bounds import MAX_SAFE_INTEGER, same
from forms.canonical import FORMAT_OF, RANGES
from forms.dates import dates
from forms.field import Field, FieldKind, Option
from forms.folding import ascii_digits, fold, seen, trim
from forms.formats import has_format
from forms.pasted import Unsound
from forms.ranges import read_date_range, read_datetime_range, read_time_range
from forms.reading import Ambiguous, Locale, Reading, Value, Wrong, settle
from forms.selection import MOST_PIECES, chosen, found, read_boolean, read_choice, read_choices, unquoted
from forms.times import in_utc, read_datetime, read_time

__all__ = ["Ambiguous", "Locale", "Reading", "Value", "Wrong", "read_json", "read_value"]

LONGEST_LIST: Final = 10_000  # characters of a JSON list among typed values

_NOT_A: Final = {FieldKind.INTEGER: "not_an_integer", FieldKind.NUMBER: "not_a_number"}
_WITH_UNIT: Final = re.compile(r"([^0-9+.,-]{0,20}?)([+-]? ?[0-9.,][0-9 .,'’٫٬]*)([^0-9]{0,20})")
_UNIT_WORD: Final = re.compile(r"[^\W\d_]+|[€$£₽¥₴%]")
_CAMEL: Final = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])|_")
_LINK: Final = re.compile(r"\[[^\[\]]{1,2000}\]\(([^()\s]{1,2000})\)")


def read_value(field: Field, text: str, *, locale: Locale, today: date) -> Reading:
    """What the text means as a value of the field. ``today`` is the person's own day.

    Free text comes back as typed, trimmed. Bounds, lengths and patterns are the judge's business. Raises nothing.
    """
    read = _read(field, text, locale, today)
    return in_utc(read) if field.in_utc else read


def _read(field: Field, text: str, locale: Locale, today: date) -> Reading:
    typed = trim(text)
    if field.kind is FieldKind.TEXT:
        return Value(typed)
    if field.nullable and fold(ascii_digits(typed[:40])) in words.NOTHING:
        return Value(None)
    bare = unquoted(typed)
    if field.kind in FORMAT_OF and field.kind not in RANGES and has_format(bare, FORMAT_OF[field.kind]):
        return Value(bare)  # what already is a value stays as it is
    if field.kind in RANGES | {FieldKind.CHOICES} and typed.startswith("[") and len(typed) <= LONGEST_LIST:
        listed = _list(typed)
        if listed is not None:
            return read_json(field, listed, locale=locale, today=today)
    match field.kind:
        case FieldKind.INTEGER | FieldKind.NUMBER:
            return _number(field, bare, locale)
        case FieldKind.BOOLEAN:
            return read_boolean(field, typed, locale=locale)
        case FieldKind.CHOICE:
            return read_choice(field, typed, locale=locale)
        case FieldKind.CHOICES:
            return read_choices(field, typed, locale=locale)
        case FieldKind.DATE:
            days = (day.isoformat() for day in dates(bare, locale=locale, today=today))
            return settle(days, none="invalid_date", many="ambiguous_date")
        case FieldKind.TIME:
            return read_time(bare, locale=locale, today=today)
        case FieldKind.DATETIME:
            return read_datetime(bare, locale=locale, today=today)
        case FieldKind.DATE_RANGE:
            return read_date_range(bare, locale=locale, today=today)
        case FieldKind.TIME_RANGE:
            return read_time_range(bare, locale=locale, today=today)
        case FieldKind.DATETIME_RANGE:
            return read_datetime_range(bare, locale=locale, today=today)
        case FieldKind.EMAIL | FieldKind.URI:
            return Value(_address(bare, mail=field.kind is FieldKind.EMAIL))
        case _:
            assert_never(field.kind)


def read_json(field: Field, value: object, *, locale: Locale, today: date) -> Reading:
    """A JSON value as it is; a text in place of a number, date, choice or decision is read like a typed one."""
    if isinstance(value, Unsound):
        return Wrong(_NOT_A.get(field.kind, "wrong_type"))
    if field.kind is FieldKind.CHOICE and any(same(option.value, value) for option in field.options):
        return Value(value)
    if isinstance(value, str) and field.kind is not FieldKind.TEXT:
        return read_value(field, value, locale=locale, today=today)
    if isinstance(value, float) and field.kind is FieldKind.INTEGER and value.is_integer():
        return Value(int(value))
    if isinstance(value, list) and field.kind is FieldKind.CHOICES:
        return _choices(field, value, locale)
    if field.kind in RANGES and isinstance(value, list) and [type(end) for end in value] == [str, str]:
        if all(has_format(end, FORMAT_OF[field.kind]) for end in value):
            return Value(value)
        return read_value(field, "\n".join(value), locale=locale, today=today)
    return Value(value)


def _choices(field: Field, items: list[object], locale: Locale) -> Reading:
    """As they are where all are values; titles among them become values."""
    if len(items) > MOST_PIECES or all(any(same(option.value, item) for option in field.options) for item in items):
        return Value(items)
    matching: list[list[Option]] = []
    for item in items:
        equal = [option for option in field.options if same(option.value, item)]
        matching.append(equal or (found(field.options, item, locale=locale) if isinstance(item, str) else []))
    return chosen(matching) if all(matching) else Wrong("not_a_choice")


def _list(text: str) -> list[object] | None:
    try:
        found_list = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found_list if isinstance(found_list, list) else None


def _number(field: Field, text: str, locale: Locale) -> Reading:
    whole = field.kind is FieldKind.INTEGER
    none = _NOT_A[field.kind]
    readings = numbers.readings(text, locale=locale, whole=whole)
    if not readings and (match := _WITH_UNIT.fullmatch(ascii_digits(text)[:100])):
        head, figures, tail = match.groups()
        if bool(head.strip()) != bool(tail.strip()) and _names_unit(field, head + tail):
            readings = numbers.readings(figures, locale=locale, whole=whole)
    if not readings or (whole and not any(number == number.to_integral_value() for number in readings)):
        return Wrong(none)
    read = [numbers.json_number(number) for number in readings]
    if None in read:
        too_low = readings[0] < 0
        limit = -MAX_SAFE_INTEGER if too_low else MAX_SAFE_INTEGER
        return Wrong("below_minimum" if too_low else "above_maximum", limit)
    return settle(read, none=none, many="ambiguous_number")


def _names_unit(field: Field, text: str) -> bool:
    """Whether the field itself speaks of the unit: only then can it be left out without changing what was said."""
    unit = fold(text).strip(" .")
    spoken = " ".join((_CAMEL.sub(" ", field.name), field.title, field.description))
    named = {*_UNIT_WORD.findall(fold(spoken))}
    return unit in named or any(unit in group and named & group for group in words.UNITS)


def _address(text: str, *, mail: bool) -> str:
    """An address without what clients put around it: <…>, mailto:, a Markdown link."""
    address = trim(seen(text))
    link = _LINK.fullmatch(address)
    address = link[1] if link else address
    if address.startswith("<") and address.endswith(">"):
        address = address[1:-1]
    return re.sub("^mailto:", "", address, flags=re.IGNORECASE) if mail else address
