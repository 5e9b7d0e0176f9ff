"""The parameters of an action as a form, and the answer to it as parameters (APPR-3).

Every text, number and yes/no that has a plain path is a field with its present value filled in. What no field can show
(lists as a whole, nothing, names with signs in them, very long texts) stays as it is, and is told.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from bot.approvals.plainness import PLAIN_KEY, Steps, leaves, path_of, visible
from bot.model.approval import Action, Approval, Subject
from forms.form import MAX_BYTES, MAX_FIELDS
from forms.schema import SchemaError, read_form

_ROOM: Final = MAX_BYTES - 512
"""Bytes for the fields; the rest is for the schema around them."""
_TEXT: Final = ("text",)
"""What can be changed of a draft."""
_NOT_OURS: Final = frozenset({"const", "default", "writeOnly", "readOnly", "$ref"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Fields:
    """What can be changed.

    Attributes:
        schema: of the form.
        steps: the way to each field's value, by its name.
        rest: paths without a field.
    """

    schema: Mapping[str, Any] = field(repr=False)
    steps: Mapping[str, Steps]
    rest: tuple[str, ...] = ()


def fields_of(approval: Approval) -> Fields:
    """The form of an approval as it stands; without any field where none can be shown."""
    properties: dict[str, Any] = {}
    steps_of: dict[str, Steps] = {}
    rest: list[str] = []
    size = 0
    for steps, value in leaves(approval.action.parameters):
        if approval.subject is Subject.DRAFT and steps != _TEXT:
            continue
        name = path_of(steps)
        schema = _field(approval, steps, value)
        more = 0 if schema is None else len(json.dumps([name, schema])) + len(name) + 8
        if schema is None or len(properties) >= MAX_FIELDS or size + more > _ROOM:
            rest.append(name)
            continue
        size += more
        properties[name] = schema
        steps_of[name] = steps
    document = {"type": "object", "properties": properties, "required": list(properties)}
    return Fields(schema=document, steps=steps_of, rest=tuple(rest))


def changed(approval: Approval, answer: Mapping[str, object]) -> Action:
    """The action with the values of an answer in their places."""
    action = approval.action
    parameters: dict[str, Any] = deepcopy(dict(action.parameters))
    for name, steps in fields_of(approval).steps.items():
        if name in answer:
            _put(parameters, steps, answer[name])
    return Action(name=action.name, system=action.system, parameters=parameters)


def _put(parameters: Any, steps: Steps, value: object) -> None:
    *way, last = steps
    for step in way:
        parameters = parameters[step]
    if isinstance(parameters[last], float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)  # 90 and 90.0 are the same number
    parameters[last] = value


def _field(approval: Approval, steps: Steps, value: object) -> Mapping[str, Any] | None:
    if not all(isinstance(step, int) or PLAIN_KEY.fullmatch(step) for step in steps):
        return None
    for schema in (*_given(approval, steps, value), _by_value(value)):
        if schema is not None and _holds(path_of(steps), schema):
            return schema
    return None


def _given(approval: Approval, steps: Steps, value: object) -> Iterator[Mapping[str, Any]]:
    """As the agent's schema has it, where that speaks of it."""
    node: Any = approval.proposal.schema
    for step in steps:
        known = node.get("properties") if isinstance(node, Mapping) else None
        if not isinstance(known, Mapping) or not isinstance(step, str) or step not in known:
            return
        node = known[step]
    if isinstance(node, Mapping) and _by_value(value) is not None:
        yield {key: part for key, part in node.items() if key not in _NOT_OURS} | {"default": value}


def _by_value(value: object) -> Mapping[str, Any] | None:
    match value:
        case bool():
            return {"type": "boolean", "default": value}
        case int():
            return {"type": "integer", "default": value}
        case float():
            return {"type": "number", "default": value}
        case str() if visible(value, disguised=False) == value:  # what is unseen in it would get lost
            return {"type": "string", "default": value}
        case _:
            return None


def _holds(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether a field can be made of it that shows its present value."""
    try:
        form = read_form({"type": "object", "properties": {name: schema}, "required": [name]})
    except SchemaError:
        return False
    (one,) = form.fields
    return one.has_default and not one.fixed and not one.masked
