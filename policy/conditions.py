"""Conditions on the parameters of a call (APPR-1): JMESPath, read strictly.

JMESPath answers null where a type does not fit or a field is missing, and takes null for false: ``!(amount > `100`)``
would be true for an amount that is a text. Here such an expression is unsure as a whole, so that the rule decides what
unsure means and never the operator that stood around it.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from policy.errors import PolicyError

MAX_EXPRESSION: Final = 1_000


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

    def holds(self, parameters: Mapping[str, Any]) -> Holds:
        """What it says of the parameters of a call."""
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
            if node["value"] == "contains" and found is False:
                place, sought = (self.visit(child, value) for child in node["children"])
                if isinstance(place, list) and any(_kind(one) is not _kind(sought) for one in place):
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
