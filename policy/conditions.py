"""Conditions on the parameters of a call (APPR-1): JMESPath, read strictly.

JMESPath answers null where a type does not fit or a field is missing, and takes null for false: ``!(amount > `100`)``
would be true for an amount that is a text. Here such an expression is unsure as a whole, so that the rule decides what
unsure means and never the operator that stood around it.

So it is with what only looks the same: "Prod" is neither ``prod`` nor surely another place, and parameters that have a
field ``Amount``, whatever stands in ``amount``, are read by the tool in a way that nobody here knows.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from policy.errors import PolicyError
from policy.folding import readings

MAX_EXPRESSION: Final = 1_000
_FINDING: Final = frozenset({"contains", "starts_with", "ends_with"})
_PARTED: Final = "\0"
"""Stays as it is, whatever the form."""


class Holds(Enum):
    """What comes of a condition."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


class ConditionError(PolicyError):
    """The text is no expression."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One expression, as it is written."""

    expression: str

    def holds(self, parameters: Mapping[str, Any], names: "Names | None" = None) -> Holds:
        """What it says of the parameters of a call; ``names``: of them, where several conditions ask."""
        if (Names(parameters) if names is None else names).look_like(self.expression):
            return Holds.UNSURE
        found = _search(self.expression, dict(parameters))
        if found is True:
            return Holds.YES
        return Holds.NO if found is False else Holds.UNSURE


def check_expression(expression: str) -> None:
    """Check an expression as the policy is loaded.

    Raises:
        ConditionError: it is none; the text says where it ends to be one.
    """
    from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]

    if len(expression) > MAX_EXPRESSION:
        raise ConditionError(f"it is longer than {MAX_EXPRESSION} characters")
    try:
        _parsed(expression)
    except JMESPathError as error:
        place = getattr(error, "lex_position", None)
        raise ConditionError("it breaks off" if place is None else f"it can't be read from character {place}") from None


@functools.lru_cache(maxsize=1_024)
def _parsed(expression: str) -> Any:
    import jmespath  # type: ignore[import-untyped]

    return jmespath.compile(expression)


def _search(expression: str, parameters: dict[str, Any]) -> Any:
    from jmespath.exceptions import JMESPathError

    try:
        return _interpreter().visit(_parsed(expression).parsed, parameters)
    except (_UnsureError, JMESPathError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return None


# what only looks the same


class Names:
    """The fields of a call by what their names could be read as; made once for a call, when a condition asks first."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        """Args: parameters: of the call."""
        self._parameters = parameters

    def look_like(self, expression: str) -> bool:
        """Whether a field has a name that could be taken for one of which an expression speaks."""
        fields, read = _fields(expression)
        return any(name not in fields for reading in read for name in self._by_reading.get(reading, ()))

    @functools.cached_property
    def _by_reading(self) -> dict[tuple[int, str], set[str]]:
        names: set[str] = set()
        level: list[Any] = [self._parameters]
        while level:
            one = level.pop()
            if isinstance(one, Mapping):
                names.update(one)
                level += one.values()
            elif isinstance(one, list):
                level += one
        known = list(names)
        found: dict[tuple[int, str], set[str]] = {}
        for form, read in enumerate(_each_read(known)):
            for name, reading in zip(known, read, strict=True):
                found.setdefault((form, reading), set()).add(name)
        return found


@functools.lru_cache(maxsize=1_024)
def _fields(expression: str) -> tuple[frozenset[str], frozenset[tuple[int, str]]]:
    """The names of fields of which an expression speaks, and what they could be read as."""
    names: set[str] = set()
    level = [_parsed(expression).parsed]
    while level:
        node = level.pop()
        if node["type"] == "field":
            names.add(node["value"])
        level += [child for child in node["children"] if isinstance(child, dict)]
    return frozenset(names), frozenset(reading for name in names for reading in enumerate(readings(name)))


def _each_read(texts: Sequence[str]) -> list[list[str]]:
    """What texts could be read as, all of them in each form at once: a tool may be called with thousands."""
    joined = _PARTED.join(text.replace(_PARTED, " ") for text in texts)
    return [read.split(_PARTED)[: len(texts)] for read in readings(joined)]


def _are_alike(one: Any, other: Any) -> bool:
    """Whether texts that differ could be read as the same."""
    if not (isinstance(one, str) and isinstance(other, str)) or one == other:
        return False
    return any(read == wanted for read, wanted in zip(readings(one), readings(other), strict=True))


def _would_fit(name: str, place: Any, sought: Any) -> bool:
    """Whether ``contains`` and its kin would find a text by what it could be read as."""
    if isinstance(place, list):
        if not isinstance(sought, str):
            return False
        return any(wanted in read for read, wanted in zip(_each_read(place), readings(sought), strict=True))
    fits = {"contains": str.__contains__, "starts_with": str.startswith, "ends_with": str.endswith}[name]
    pairs = zip(readings(str(place)), readings(str(sought)), strict=True)
    return any(wanted and fits(read, wanted) for read, wanted in pairs)


class _UnsureError(Exception):
    """What is compared does not fit together."""


@functools.cache
def _interpreter() -> Any:
    """JMESPath's own interpreter, which raises where the original goes on with null."""
    from jmespath.visitor import TreeInterpreter  # type: ignore[import-untyped]

    class Strict(TreeInterpreter):  # type: ignore[misc] # the library has no types
        def visit_comparator(self, node: Any, value: Any) -> bool:
            left, right = (self.visit(child, value) for child in node["children"])
            if left != left or right != right:  # noqa: PLR0124 - to_number('nan') is no number that can be compared
                raise _UnsureError
            nulls = [child["type"] == "literal" and child["value"] is None for child in node["children"]]
            if node["value"] in self._EQUALITY_OPS:
                if not any(nulls) and (left is None or right is None or _kind(left) is not _kind(right)):
                    raise _UnsureError
                if _are_alike(left, right):
                    raise _UnsureError
            elif _kind(left) is not float or _kind(right) is not float:
                raise _UnsureError
            return _certain(super().visit_comparator(node, value))

        def visit_projection(self, node: Any, value: Any) -> Any:
            base = self.visit(node["children"][0], value)
            return [self._there(node, one) for one in base] if isinstance(base, list) else None

        def visit_value_projection(self, node: Any, value: Any) -> Any:
            base = self.visit(node["children"][0], value)
            return [self._there(node, one) for one in base.values()] if isinstance(base, dict) else None

        def visit_filter_projection(self, node: Any, value: Any) -> Any:
            base = self.visit(node["children"][0], value)
            if not isinstance(base, list):
                return None
            fitting = [one for one in base if _certain(self.visit(node["children"][2], one))]
            return [self._there(node, one) for one in fitting]

        def _there(self, node: Any, element: Any) -> Any:
            """What is asked of one of many; JMESPath leaves out an element that has no such field."""
            found = self.visit(node["children"][1], element)
            if found is None:
                raise _UnsureError
            return found

        def visit_function_expression(self, node: Any, value: Any) -> Any:
            found = super().visit_function_expression(node, value)
            if node["value"] in _FINDING and found is False:
                place, sought = (self.visit(child, value) for child in node["children"])
                if isinstance(place, list) and any(_kind(one) is not _kind(sought) for one in place):
                    raise _UnsureError
                if _would_fit(node["value"], place, sought):
                    raise _UnsureError
            return found

        def visit_or_expression(self, node: Any, value: Any) -> bool:
            return any(_certain(self.visit(child, value)) for child in node["children"])

        def visit_and_expression(self, node: Any, value: Any) -> bool:
            return all(_certain(self.visit(child, value)) for child in node["children"])

        def visit_not_expression(self, node: Any, value: Any) -> bool:
            return not _certain(self.visit(node["children"][0], value))

    return Strict()


def _certain(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise _UnsureError


def _kind(value: Any) -> type:
    """The JSON type of a value; a whole number is a number."""
    return float if type(value) is int else type(value)
