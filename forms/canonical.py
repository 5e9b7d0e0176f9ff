"""The JSON Schema that judges the answers of a form: not wider than the agent's, without unions and references.

An answer that it takes is one that the agent's own schema takes; the tests prove it with another validator.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from forms.field import Field, FieldKind

FORMAT_OF: Final = {
    FieldKind.DATE: "date",
    FieldKind.TIME: "time",
    FieldKind.DATETIME: "date-time",
    FieldKind.EMAIL: "email",
    FieldKind.URI: "uri",
    FieldKind.DATE_RANGE: "date",
    FieldKind.TIME_RANGE: "time",
    FieldKind.DATETIME_RANGE: "date-time",
}
RANGES: Final = frozenset({FieldKind.DATE_RANGE, FieldKind.TIME_RANGE, FieldKind.DATETIME_RANGE})
_TYPES: Final = {FieldKind.INTEGER: "integer", FieldKind.NUMBER: "number", FieldKind.BOOLEAN: "boolean"}


def schema_of(fields: Iterable[Field], *, strict: bool) -> dict[str, Any]:
    """The schema of a whole answer."""
    fields = tuple(fields)
    return {
        "type": "object",
        "properties": {field.name: schema_of_field(field) for field in fields},
        "required": [field.name for field in fields if field.required],
        "additionalProperties": not strict,
    }


def schema_of_field(field: Field) -> dict[str, Any]:
    """The schema of one field's value."""
    if field.fixed or field.kind is FieldKind.CHOICE:
        return {"enum": [option.value for option in field.options]}
    type_name = _TYPES.get(field.kind, "string")
    schema: dict[str, Any] = {}
    if field.kind is FieldKind.CHOICES:
        type_name, schema["items"] = "array", {"enum": [option.value for option in field.options]}
    elif field.kind in RANGES:
        type_name, schema["items"] = "array", {"type": "string", "format": FORMAT_OF[field.kind]}
    elif field.kind in FORMAT_OF:
        schema["format"] = FORMAT_OF[field.kind]
    schema["type"] = [type_name, "null"] if field.nullable else type_name
    limits = {
        "minimum": _number(field.minimum),
        "maximum": _number(field.maximum),
        "exclusiveMinimum": _number(field.exclusive_minimum),
        "exclusiveMaximum": _number(field.exclusive_maximum),
        "multipleOf": _number(field.multiple_of),
        "minLength": field.min_length,
        "maxLength": field.max_length,
        "pattern": field.pattern,
        "minItems": field.min_items,
        "maxItems": field.max_items,
        "uniqueItems": field.unique_items or None,
    }
    return schema | {name: limit for name, limit in limits.items() if limit is not None}


def _number(number: Decimal | None) -> float | None:
    """The JSON number again; decimals come from its shortest spelling, so that this is the very same one."""
    if number is None or abs(number) >= 2**64 or number % 1:
        return None if number is None else float(number)
    return int(number)
