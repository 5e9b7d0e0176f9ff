"""The options of a choice: ``enum``, ``const``, titled ``oneOf``/``anyOf``, and the titles beside them."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from forms.bounds import TYPES, is_of_type, is_too_large, pointer, same
from forms.field import Option
from forms.references import Keyword, Node, RefusedError, is_vendors

OF_AN_OPTION: Final = {"const", "enum", "enumNames", "title", "description", "type", "deprecated", "default"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """An option and where it stands. An empty title: none was given."""

    value: Any
    title: str
    path: str


def listed(node: Node) -> tuple[Listed, ...] | None:
    """The options that the keywords of this very schema list; None: it is no choice."""
    listed_values = _enumerated(node["enum"], node.get("enumNames")) if "enum" in node else None
    if "const" in node:
        title = text(node["title"]) if "title" in node else ""
        only = _checked(Listed(value=node["const"].value, title=title, path=node["const"].path))
        if listed_values is not None and not any(same(only.value, option.value) for option in listed_values):
            raise RefusedError(only.path, "option_never_valid", f"the list at {node['enum'].path} forbids it")
        return (only,)
    if listed_values is not None:
        return listed_values
    if "type" in node and node["type"].value in ("null", ["null"]):
        return (Listed(value=None, title="", path=node["type"].path),)
    return None


def listed_by_branches(nodes: Sequence[Node], *, once: bool) -> tuple[Listed, ...] | None:
    """The options that the branches of a union list together; None: a branch is more than options.

    ``once``: the union is ``oneOf``, where a value that two branches list is never valid.
    """
    together: list[Listed] = []
    for node in nodes:
        options = listed(node)
        if options is None:
            return None
        for name, keyword in node.items():
            if name not in OF_AN_OPTION and not is_vendors(name):
                raise RefusedError(keyword.path, "unsupported_keyword", "not in an option")
        for option in options:
            of_type(option, types_of(node))
            if once and any(same(option.value, other.value) for other in together):
                raise RefusedError(option.path, "duplicate_option", "two branches of oneOf take it, so none does")
        together += options
    return tuple(together)


def options_of(found: Iterable[Listed]) -> tuple[Option, ...]:
    """Each value once, with a title that tells it from the others.

    Raises:
        RefusedError: two values that nobody can tell apart.
    """
    unique: list[Listed] = []
    for option in found:
        if not any(same(option.value, other.value) for other in unique):
            unique.append(option if option.title.strip() else replace(option, title=spelt(option.value)))
    titles = Counter(option.title for option in unique)
    named = [
        option if titles[option.title] == 1 else replace(option, title=f"{option.title} ({spelt(option.value)})")
        for option in unique
    ]
    for place, option in enumerate(named):
        if any(option.title == other.title for other in named[:place]):
            raise RefusedError(option.path, "indistinguishable_options", "give them titles")
    return tuple(Option(value=option.value, title=option.title) for option in named)


def _enumerated(values: Keyword, names: Keyword | None) -> tuple[Listed, ...]:
    if not isinstance(values.value, list):
        raise RefusedError(values.path, "wrong_type", "a list of values")
    if not values.value:
        raise RefusedError(values.path, "never_valid", "an empty list takes no answer")
    titles = [""] * len(values.value)
    if names is not None:
        titles = names.value
        texts = isinstance(titles, list) and all(isinstance(title, str) for title in titles)
        if not texts or len(titles) != len(values.value):
            raise RefusedError(names.path, "wrong_type", "a title for each value")
    return tuple(
        _checked(Listed(value=value, title=title, path=pointer(values.path, step)))
        for step, (value, title) in enumerate(zip(values.value, titles, strict=True))
    )


def _checked(option: Listed) -> Listed:
    if isinstance(option.value, list | dict):
        raise RefusedError(option.path, "unsupported_option", "text, a number, true, false or null")
    if is_too_large(option.value):
        raise RefusedError(option.path, "number_too_large", "write it as a string")
    return option


def of_type(option: Listed, types: Sequence[str]) -> None:
    """Let an option pass that is of one of the types; none named: of any.

    Raises:
        RefusedError: the option could be chosen, and would never be valid.
    """
    if types and not any(is_of_type(option.value, name) for name in types):
        raise RefusedError(option.path, "option_never_valid", "the type beside it forbids it")


def types_in(keyword: Keyword) -> list[str]:
    """The names under ``type``.

    Raises:
        RefusedError: not one of JSON's types, or none.
    """
    names = keyword.value if isinstance(keyword.value, list) else [keyword.value]
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            raise RefusedError(keyword.path, "unknown_type", "one of " + ", ".join(sorted(TYPES)))
    if not names:
        raise RefusedError(keyword.path, "never_valid", "an empty list takes no answer")
    return names


def types_of(node: Node) -> list[str]:
    """The types that a schema names, with the null that ``nullable`` adds; empty: every type."""
    types = types_in(node["type"]) if "type" in node else []
    return [*types, "null"] if types and flag(node, "nullable") else types


def flag(node: Node, name: str) -> bool:
    """Whether the keyword says true; absent, it says false.

    Raises:
        RefusedError: it says anything else.
    """
    value = node[name].value if name in node else False
    if not isinstance(value, bool):
        raise RefusedError(node[name].path, "wrong_type", "true or false")
    return value


def text(keyword: Keyword) -> str:
    """A title or description.

    Raises:
        RefusedError: it is no text.
    """
    if not isinstance(keyword.value, str):
        raise RefusedError(keyword.path, "wrong_type", "text")
    return keyword.value


def spelt(value: object) -> str:
    """A value for want of a title; nothing for null, whose word the caller has."""
    if value is None:
        return ""
    return value if isinstance(value, str) and value.strip() else json.dumps(value)
