"""The limits of a field: bounds, lengths and numbers of items, read and checked against each other."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from forms.bounds import MAX_SAFE_INTEGER, MAX_TEXT
from forms.field import Field, FieldKind
from forms.references import Keyword, Node, RefusedError

# Formats of OpenAPI and of Rust for numbers; JSON Schema gives them no meaning.
_FORMATS: Final = frozenset(
    {"float", "double", *(f"{sign}int{bits}" for sign in ("", "u") for bits in ("", 8, 16, 32, 64))}
)


def is_number_format(name: object) -> bool:
    """Whether the format is one for numbers, which changes nothing."""
    return isinstance(name, str) and name in _FORMATS


def counts(node: Node, names: dict[str, str]) -> dict[str, Any]:
    """The lengths under these keywords, by the names of :class:`Field`."""
    return {attribute: _count(node[name]) for attribute, name in names.items() if name in node}


def _count(keyword: Keyword) -> int:
    value = keyword.value
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        raise RefusedError(keyword.path, "wrong_type", "a whole number from 0 on")
    return int(value)


def bounds(node: Node) -> dict[str, Any]:
    """The bounds and the step of a number, by the names of :class:`Field`."""
    found: dict[str, Any] = {}
    for side in ("minimum", "maximum"):
        exclusive = "exclusive" + side.capitalize()
        keyword, strict = node.get(side), node.get(exclusive)
        if strict is not None and isinstance(strict.value, bool):  # draft 4, OpenAPI 3.0: how minimum is meant
            if strict.value and keyword is None:
                raise RefusedError(strict.path, "wrong_type", f"true only beside {side}")
            keyword, strict = (None, keyword) if strict.value else (keyword, None)
        if keyword is not None:
            found[side] = _number(keyword)
        if strict is not None:
            found["exclusive_" + side] = _number(strict)
    if "multipleOf" in node:
        found["multiple_of"] = _number(node["multipleOf"])
        if found["multiple_of"] <= 0:
            raise RefusedError(node["multipleOf"].path, "wrong_type", "a number above 0")
    return found


def _number(keyword: Keyword) -> Decimal:
    value = keyword.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusedError(keyword.path, "wrong_type", "a number")
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def check_answerable(field: Field, path: str) -> None:
    """Let a field pass that some answer fits.

    Raises:
        RefusedError: a minimum above the maximum, or no step between them.
    """
    most = len(field.options) if field.kind is FieldKind.CHOICES else None
    for low, high, ceiling in (
        (field.min_length, field.max_length, MAX_TEXT),
        (field.min_items, field.max_items, most),
    ):
        highest = min((limit for limit in (high, ceiling) if limit is not None), default=math.inf)
        if (low or 0) > highest or field.max_length == 0:
            raise RefusedError(path, "never_valid", "the smallest size is above the largest")
    if field.kind in {FieldKind.INTEGER, FieldKind.NUMBER} and not _has_number(field):
        raise RefusedError(path, "never_valid", "no number is within the bounds")


def _has_number(field: Field) -> bool:
    whole = field.kind is FieldKind.INTEGER
    low = _tightest(field.minimum, field.exclusive_minimum, sign=1, whole=whole)
    high = _tightest(field.maximum, field.exclusive_maximum, sign=-1, whole=whole)
    if low is None or high is None:
        return True
    step = None if field.multiple_of is None else Fraction(field.multiple_of)
    if whole:
        step = Fraction(step.numerator if step else 1)  # the whole multiples of a/b are those of a
    first, closed = low
    if step is not None:
        first = math.ceil(first / step) * step + (step if not closed and first % step == 0 else 0)
        closed = True
    last = -high[0]
    return first < last or (first == last and closed and high[1])


def _tightest(
    limit: Decimal | None, exclusive: Decimal | None, *, sign: int, whole: bool
) -> tuple[Fraction, bool] | None:
    """The highest of the lower limits (of the upper ones with the signs changed), and whether it is itself allowed."""
    found = [(Fraction(-MAX_SAFE_INTEGER), True)] if whole else []
    if limit is not None:
        found.append((sign * Fraction(limit), True))
    if exclusive is not None:
        found.append((sign * Fraction(exclusive), False))
    return max(found, key=lambda item: (item[0], not item[1]), default=None)
