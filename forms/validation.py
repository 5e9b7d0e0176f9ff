"""The judge of answers (FORM-2): one schema, compiled once, whichever way an answer came."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jsonschema.exceptions import ValidationError

from forms.bounds import MAX_SAFE_INTEGER, MAX_TEXT, flaw, is_text
from forms.dialect import validator
from forms.field import Field, FieldKind, Form
from forms.formats import read_date, read_datetime

MAX_ITEMS: Final = 1_000

_MALFORMED: Final = {
    FieldKind.INTEGER: "not_an_integer",
    FieldKind.NUMBER: "not_a_number",
    FieldKind.BOOLEAN: "not_a_boolean",
    FieldKind.CHOICE: "not_a_choice",
    FieldKind.DATE: "invalid_date",
    FieldKind.TIME: "invalid_time",
    FieldKind.DATETIME: "invalid_datetime",
    FieldKind.EMAIL: "invalid_email",
    FieldKind.URI: "invalid_uri",
}
_MALFORMED_ITEM: Final = {
    FieldKind.CHOICES: "not_a_choice",
    FieldKind.DATE_RANGE: "invalid_date",
    FieldKind.TIME_RANGE: "invalid_time",
    FieldKind.DATETIME_RANGE: "invalid_datetime",
}
_ORDERED: Final[dict[FieldKind, Callable[[str], Any]]] = {
    FieldKind.DATE_RANGE: read_date,
    FieldKind.DATETIME_RANGE: read_datetime,
}
_BEYOND: Final = {
    "minimum": "below_minimum",
    "maximum": "above_maximum",
    "exclusiveMinimum": "not_above_minimum",
    "exclusiveMaximum": "not_below_maximum",
    "multipleOf": "not_a_multiple",
    "minLength": "too_short",
    "maxLength": "too_long",
    "pattern": "pattern_mismatch",
    "minItems": "too_few",
    "maxItems": "too_many",
    "uniqueItems": "duplicate_item",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldError:
    """What is wrong with one field; ``field`` is "" for the answer as a whole.

    ``limit`` is the schema's (a bound, a length, a pattern), never what somebody typed.
    """

    field: str
    code: str
    limit: object | None = None


class Judge:
    """Judges answers to one form."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._fields = {field.name: field for field in form.fields}
        self._validator = validator(form.schema)

    def errors(self, answer: object) -> tuple[FieldError, ...]:
        """What is wrong, in the order of the form's fields; empty: the answer may resume the work. Raises nothing."""
        if not isinstance(answer, dict) or not all(isinstance(name, str) for name in answer):
            return (FieldError(field="", code="wrong_type"),)
        found = [*self._of_unknown(answer)]
        sound: dict[str, Any] = {}
        for name, field in self._fields.items():
            unsound = [*_unsound(field, answer[name])] if name in answer else []
            found += unsound
            if name in answer and not unsound:
                sound[name] = answer[name]
            elif field.required and not unsound:
                found.append(FieldError(field=name, code="missing_required"))
        for error in self._validator.iter_errors(sound):
            if error.absolute_path:
                field = self._fields[str(error.absolute_path[0])]
                found.append(_named(field, error, sound[field.name]))
        malformed = {error.field for error in found if error.limit is None}
        found = [error for error in found if error.limit is None or error.field not in malformed]
        faulty = {error.field for error in found}
        for name, value in sound.items():
            if name not in faulty and not _in_order(self._fields[name], value):
                found.append(FieldError(field=name, code="wrong_order"))
        places = {name: place for place, name in enumerate(["", *self._fields])}
        return tuple(sorted(dict.fromkeys(found), key=lambda error: places[error.field]))

    def _of_unknown(self, answer: Mapping[str, object]) -> Iterator[FieldError]:
        unknown = {name: value for name, value in answer.items() if name not in self._fields}
        if unknown and (self._form.strict or flaw(unknown)):
            yield FieldError(field="", code="unknown_field")


def _unsound(field: Field, value: object) -> Iterator[FieldError]:
    """What no schema of ours should have to look at: not JSON, or too large to be looked at."""
    items = value if isinstance(value, list) else [value]
    if len(items) > MAX_ITEMS:
        yield FieldError(field=field.name, code="too_many", limit=MAX_ITEMS)
        return
    for item in items:
        if isinstance(item, str) and len(item) > MAX_TEXT:
            yield FieldError(field=field.name, code="too_long", limit=MAX_TEXT)
        elif isinstance(item, str) and not is_text(item):
            yield FieldError(field=field.name, code="not_text")
        elif isinstance(item, int) and item > MAX_SAFE_INTEGER:
            yield FieldError(field=field.name, code="above_maximum", limit=MAX_SAFE_INTEGER)
        elif isinstance(item, int) and item < -MAX_SAFE_INTEGER:
            yield FieldError(field=field.name, code="below_minimum", limit=-MAX_SAFE_INTEGER)
        elif not (item is None or isinstance(item, str | int | float)):
            yield FieldError(field=field.name, code=_malformed(field, item is value))


def _named(field: Field, error: ValidationError, value: Any) -> FieldError:
    keyword = str(error.validator)
    whole = len(error.absolute_path) == 1
    if whole and value is None:
        return FieldError(field=field.name, code="missing_required" if field.required else _malformed(field, whole))
    code = _BEYOND.get(keyword)
    if code is None:
        return FieldError(field=field.name, code=_malformed(field, whole))
    limit = error.validator_value
    return FieldError(field=field.name, code=code, limit=field.pattern if keyword == "pattern" else limit)


def _malformed(field: Field, whole: bool) -> str:
    return (_MALFORMED if whole else _MALFORMED_ITEM).get(field.kind, "wrong_type")


def _in_order(field: Field, value: Any) -> bool:
    """A range starts before it ends; one of times may go over midnight."""
    if value is None or field.kind not in _ORDERED:
        return True
    first, last = map(_ORDERED[field.kind], value)
    return bool(first <= last)
