"""The components of A2H (COLLECT) as the JSON Schema of a question. Pure.

Whatever can't be asked is refused by the gateway itself, which reads the schema; here only the shape is looked at.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_LIMITS: Final[Mapping[str, str]] = {"minLength": "minLength", "maxLength": "maxLength", "pattern": "pattern"}
_BOUNDS: Final[Mapping[str, str]] = {"min": "minimum", "max": "maximum"}
MAX_COMPONENTS: Final = 20


class ComponentError(ValueError):
    """A component can't be read; the text says which and why."""


def schema_of(components: Sequence[Any]) -> dict[str, Any]:
    """The schema that asks for these components.

    Raises:
        ComponentError: one can't be read.
    """
    if not 0 < len(components) <= MAX_COMPONENTS:
        raise ComponentError(f"components: from 1 to {MAX_COMPONENTS}")
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
    return {"type": "object", "properties": properties, "required": required}


def _property(one: Mapping[str, Any], where: str) -> dict[str, Any]:
    made = _MADE.get(str(one.get("type", "")).upper())
    if made is None:
        raise ComponentError(f"{where}: type is one of {', '.join(sorted(_MADE))}")
    label = {"title": one["label"]} if isinstance(one.get("label"), str) else {}
    return {**made(one, where), **label}


def _text(one: Mapping[str, Any], _where: str) -> dict[str, Any]:
    return {"type": "string", **_given(one, _LIMITS)}


def _number(one: Mapping[str, Any], _where: str) -> dict[str, Any]:
    return {"type": "number", **_given(one, _BOUNDS)}


def _one_of(one: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {"type": "string", "oneOf": _options(one, where)}


def _some_of(one: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {"type": "array", "items": {"anyOf": _options(one, where)}, "uniqueItems": True}


def _flag(_one: Mapping[str, Any], _where: str) -> dict[str, Any]:
    return {"type": "boolean"}


def _formatted(name: str) -> "_Make":
    return lambda _one, _where: {"type": "string", "format": name}


_Make = Callable[[Mapping[str, Any], str], dict[str, Any]]
_MADE: Final[Mapping[str, _Make]] = {
    "TEXT": _text,
    "TEXTAREA": _text,
    "NUMBER": _number,
    "SELECT": _one_of,
    "RADIO": _one_of,
    "MULTISELECT": _some_of,
    "CHECKBOX": _flag,
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
        options.append({"const": option["value"], "title": label if isinstance(label, str) else option["value"]})
    return options
