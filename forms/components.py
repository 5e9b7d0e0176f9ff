"""The components by which A2H collects values (COLLECT), as the JSON Schema of a form.

Only their shape is looked at here. What a form can't hold (too many fields, a pattern of another dialect) is refused
where schemas are read (:func:`forms.schema.read_form`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

LONG: Final = 10_000
"""Characters of a TEXTAREA that says nothing of its length."""

_LIMITS: Final[Mapping[str, str]] = {"minLength": "minLength", "maxLength": "maxLength", "pattern": "pattern"}
_BOUNDS: Final[Mapping[str, str]] = {"min": "minimum", "max": "maximum"}


class ComponentError(ValueError):
    """A component can't be read; the text says which and why."""


def schema_of(components: Sequence[Any]) -> dict[str, Any]:
    """The schema that asks for these components (FORM-1).

    Raises:
        ComponentError: one can't be read.
    """
    if not components:
        raise ComponentError("components: at least one")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for number, one in enumerate(components):
        where = f"components[{number}]"
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise ComponentError(f"{where}: an object with a name and a type")
        if one["name"] in properties:
            raise ComponentError(f"{where}: this name stands there twice")
        properties[one["name"]] = _property(one, where)
        if one.get("required", False):
            required.append(one["name"])
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _property(one: Mapping[str, Any], where: str) -> dict[str, Any]:
    made = _MADE.get(str(one.get("type", "")).upper())
    if made is None:
        raise ComponentError(f"{where}: type is one of {', '.join(sorted(_MADE))}")
    label = one.get("label")
    title = {"title": label} if isinstance(label, str) and label else {}
    return {**made(one, where), **title}


def _text(one: Mapping[str, Any], _where: str) -> dict[str, Any]:
    return {"type": "string", **_given(one, _LIMITS)}


def _long_text(one: Mapping[str, Any], _where: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": LONG, **_given(one, _LIMITS)}


def _number(one: Mapping[str, Any], _where: str) -> dict[str, Any]:
    return {"type": "number", **_given(one, _BOUNDS)}


def _one_of(one: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {"type": "string", "oneOf": _options(one, where)}


def _some_of(one: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {"type": "array", "uniqueItems": True, "items": {"type": "string", "oneOf": _options(one, where)}}


def _box(one: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Yes or no; with options it is a box for each of them."""
    return _some_of(one, where) if one.get("options") else {"type": "boolean"}


def _formatted(name: str) -> "_Make":
    return lambda _one, _where: {"type": "string", "format": name}


_Make = Callable[[Mapping[str, Any], str], dict[str, Any]]
_MADE: Final[Mapping[str, _Make]] = {
    "TEXT": _text,
    "TEXTAREA": _long_text,
    "NUMBER": _number,
    "SELECT": _one_of,
    "RADIO": _one_of,
    "MULTISELECT": _some_of,
    "CHECKBOX": _box,
    "DATE": _formatted("date"),
    "TIME": _formatted("time"),
    "DATETIME": _formatted("date-time"),
}


def _given(one: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    limits = one.get("validation")
    if not isinstance(limits, dict):
        return {}
    return {name: limits[key] for key, name in names.items() if limits.get(key) is not None}


def _options(one: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    written = one.get("options")
    if not isinstance(written, list) or not written:
        raise ComponentError(f"{where}: options, a list of {{value, label}}")
    options = []
    for option in written:
        if not isinstance(option, dict) or not isinstance(option.get("value"), str):
            raise ComponentError(f"{where}: each option is {{value, label}}")
        label = option.get("label")
        title = label if isinstance(label, str) and label else option["value"]
        options.append({"const": option["value"], "title": title})
    return options
