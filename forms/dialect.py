"""The dialect of JSON Schema that judges answers: jsonschema, extended by its own mechanism (FORM-2, FORM-13).

``pattern`` is run by RE2, ``multipleOf`` is exact, a number is finite, formats are those of :mod:`forms.formats`, and
the registry resolves nothing.
"""

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry

from forms.formats import FORMATS, has_format
from forms.patterns import Pattern, compiled


def exact(number: float) -> Fraction:
    """The number as it is written: 19.99 is 1999/100."""
    return Fraction(number) if isinstance(number, int) else Fraction(Decimal(repr(number)))


def validator(schema: Mapping[str, Any]) -> Validator:
    """The compiled judge of a schema as :mod:`forms.canonical` makes it; its patterns are compiled here, once.

    Raises:
        PatternError: a pattern that is not taken.
    """
    judge: Validator = _Dialect(_ready(schema), format_checker=_FORMATS, registry=Registry())
    return judge


def _ready(schema: Mapping[str, Any]) -> dict[str, Any]:
    ready = dict(schema)
    if "pattern" in ready:
        ready["pattern"] = compiled(ready["pattern"], ahead=ready.get("format") == "email")
    if "properties" in ready:
        ready["properties"] = {name: _ready(part) for name, part in ready["properties"].items()}
    return ready


def _is_number(_: object, value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _multiple_of(_: Validator, factor: float, value: Any, __: object) -> Iterator[ValidationError]:
    if _is_number(None, value) and (exact(value) / exact(factor)).denominator != 1:
        yield ValidationError("not a multiple")


def _pattern(_: Validator, pattern: Pattern, value: object, __: object) -> Iterator[ValidationError]:
    if isinstance(value, str) and not pattern.is_in(value):
        yield ValidationError("no match")


_FORMATS: Final = FormatChecker(formats=())
for _name in FORMATS:
    _FORMATS.checks(_name)(lambda value, _name=_name: not isinstance(value, str) or has_format(value, _name))

_Dialect: Final = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"multipleOf": _multiple_of, "pattern": _pattern},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number),
)
