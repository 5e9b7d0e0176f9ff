"""Unions taken apart: ``anyOf`` and ``oneOf`` that say "or null", list options, or spell one number in several ways."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from forms.bounds import pointer
from forms.choices import OF_AN_OPTION, Listed, listed, listed_by_branches, types_of
from forms.references import Document, Node, RefusedError, branches, merge

_UNIONS: Final = ("anyOf", "oneOf")


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    """A schema whose unions are taken apart.

    ``options``: what can be chosen, by its own list or by that of the branches; None: it is no choice.
    ``nullable``: whether null is taken; None: there was no union with null, and the types say it.
    """

    node: Node
    options: tuple[Listed, ...] | None = None
    nullable: bool | None = None


def without_unions(document: Document, node: Node) -> Union:
    """The schema as one branch that a person can answer.

    Raises:
        RefusedError: an answer could be read as several types.
    """
    nullable: bool | None = None
    while name := next((name for name in _UNIONS if name in node), None):
        union = node[name]
        node = {other: keyword for other, keyword in node.items() if other != name}
        opened = [
            document.opened(part, pointer(union.path, step))
            for step, part in enumerate(branches(union.value, union.path))
        ]
        options = listed_by_branches(opened, once=name == "oneOf")
        if options is not None:
            if not {*_UNIONS, "enum", "const"}.isdisjoint(node):
                raise RefusedError(union.path, "contradiction", "the options are listed twice")
            if nullable and not any(option.value is None for option in options):
                options = (*options, Listed(value=None, title="", path=union.path))
            return Union(node=node, options=_without_null(options) if nullable is False else options)
        others = [branch for branch in opened if not _is_null(branch)]
        branch = others[0] if len(others) == 1 else _number_among(others, union.path, once=name == "oneOf")
        if len(others) < len(opened) and nullable is None:
            alone = len(opened) - len(others) == 1 and "type" in branch and "null" not in types_of(branch)
            nullable = (name == "anyOf" or alone) and _takes_null(node)
        merge(node, branch)
    found = listed(node)
    return Union(node=node, options=_without_null(found) if found and nullable is False else found, nullable=nullable)


def _without_null(options: tuple[Listed, ...]) -> tuple[Listed, ...]:
    """The options, none of which is null: what stands around them takes it once too often, or not at all."""
    for option in options:
        if option.value is None:
            raise RefusedError(option.path, "option_never_valid", "what stands around it forbids it")
    return options


def _is_null(node: Node) -> bool:
    found = listed(node) if node.keys() <= OF_AN_OPTION else None
    return found is not None and len(found) == 1 and found[0].value is None


def _takes_null(node: Node) -> bool:
    return "type" not in node or "null" in types_of(node)


def _number_among(nodes: Sequence[Node], path: str, *, once: bool) -> Node:
    """The branch for a number where the others spell the same number otherwise: as an integer, or as digits in a text.

    An answer of that branch is an answer of the union.
    """
    by_type = {str(node["type"].value): node for node in nodes if "type" in node}
    plain = len(by_type) == len(nodes) and by_type.keys() <= {"integer", "number", "string"}
    overlap = once and {"integer", "number"} <= by_type.keys()
    digits = "string" not in by_type or "pattern" in by_type["string"]
    number = by_type.get("number") or by_type.get("integer")
    if not plain or overlap or not digits or number is None:
        raise RefusedError(path, "ambiguous_type", "one type, or one type and null")
    return number
