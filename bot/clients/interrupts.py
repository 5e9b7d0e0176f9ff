"""What LangChain, Agent Inbox and plain graphs raise when they pause, and the values that they want to go on with.

====================  ==================================================  ===========================================
HITLRequest           ``{action_requests, review_configs}``               ``{decisions: [...]}`` by position
per call              ``{type: tool_approval, tool_call_id, name, args}``  one decision
Agent Inbox           ``[{action_request, config, description}]``         ``[{type, args}]``
question              a text, or ``{question, schema}``                   a text, or the answer as a document
====================  ==================================================  ===========================================
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.clients.people import MAX_REASON, Asked, Call, UnanswerableError


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """An interrupt as it was understood; ``answer`` makes the value that resumes it out of one answer for each item."""

    id: str
    items: tuple[Call | Asked, ...]
    answer: Callable[[Sequence[Any]], Any] = field(repr=False)


# the interrupts


def read(interrupt: Any, tool_calls: Sequence[Mapping[str, Any]] = ()) -> Reading:
    """Understand an interrupt.

    Args:
        interrupt: of langgraph.
        tool_calls: of the model's latest message, by which results are found.

    Raises:
        UnanswerableError: it is of no known kind.
    """
    value, found = interrupt.value, str(interrupt.id)
    if isinstance(value, str):
        return Reading(id=found, items=(Asked(text=value),), answer=lambda answers: answers[0])
    if isinstance(value, Mapping) and {"question", "schema"} <= value.keys():
        asked = Asked(text=str(value["question"]), schema=value["schema"], whole=True)
        return Reading(id=found, items=(asked,), answer=lambda answers: answers[0])
    if isinstance(value, Mapping) and {"action_requests", "review_configs"} <= value.keys():
        items = _batched(value, tool_calls)
        return Reading(id=found, items=items, answer=lambda answers: {"decisions": _decisions(items, answers)})
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        one = _per_call(value, interrupt.response_schema)
        return Reading(id=found, items=(one,), answer=lambda answers: _decisions((one,), answers)[0])
    listed = value if isinstance(value, list) else [value]
    if listed and all(isinstance(one, Mapping) and {"action_request", "config"} <= one.keys() for one in listed):
        inbox = tuple(_inbox(one) for one in listed)
        return Reading(id=found, items=inbox, answer=lambda answers: _responses(inbox, answers))
    raise UnanswerableError("this interrupt is none of LangChain, of Agent Inbox, and no question")


def _batched(value: Mapping[str, Any], tool_calls: Sequence[Mapping[str, Any]]) -> tuple[Call | Asked, ...]:
    """By position; a tool call of the model belongs to one request alone."""
    allowed = {one["action_name"]: frozenset(one["allowed_decisions"]) for one in value["review_configs"]}
    left = list(tool_calls)
    items: list[Call | Asked] = []
    for one in value["action_requests"]:
        name, args = str(one["name"]), one["args"]
        same = next((call for call in left if call.get("name") == name and call.get("args") == args), None)
        if same is not None:
            left.remove(same)
        call = Call(
            name=name,
            args=args,
            allowed=allowed[name],
            reason=_reason(name, args, one.get("description")),
            tool_call=None if same is None else same.get("id"),
        )
        items.append(_asked_instead(call))
    return tuple(items)


def _per_call(value: Mapping[str, Any], schema: object) -> Call | Asked:
    """What is allowed stands in the schema of the answer, and so does what an edit may look like."""
    name, args = str(value["name"]), value["args"]
    branches = _branches(schema if isinstance(schema, Mapping) else {})
    edit = branches.get("edit", {}).get("properties", {}).get("edited_action", {})
    defined = schema.get("$defs", {}) if isinstance(schema, Mapping) else {}
    wanted = _followed(_followed(edit, defined).get("properties", {}).get("args", {}), defined)
    call = Call(
        name=name,
        args=args,
        allowed=frozenset(branches) or frozenset({"approve", "reject"}),
        reason=_reason(name, args, value.get("description")),
        schema=wanted if wanted.get("properties") and "$ref" not in repr(wanted) else None,
        tool_call=value.get("tool_call_id"),
    )
    return _asked_instead(call)


def _inbox(value: Mapping[str, Any]) -> Call | Asked:
    names = {"allow_accept": "approve", "allow_edit": "edit", "allow_respond": "respond", "allow_ignore": "ignore"}
    config, action = value["config"], value["action_request"]
    call = Call(
        name=str(action["action"]),
        args=action["args"],
        allowed=frozenset(mine for theirs, mine in names.items() if config.get(theirs)),
        reason=str(value.get("description") or ""),
    )
    return _asked_instead(call)


def _asked_instead(call: Call) -> Call | Asked:
    """Where nothing can be approved, people are asked for words."""
    if call.allowed & {"approve", "edit"}:
        return call
    if "respond" not in call.allowed:
        raise UnanswerableError(f"{call.name}: the interrupt allows neither to approve nor to respond")
    given = "\n".join(f"{name}: {value}" for name, value in call.args.items())
    return Asked(text="\n\n".join(text for text in (call.reason or call.name, given) if text)[:MAX_REASON])


def _reason(name: str, args: Mapping[str, Any], description: object) -> str:
    """The words beside an action; those that only repeat it are left out."""
    text = str(description or "")
    return "" if text.endswith(f"Tool: {name}\nArgs: {args}") else text


def _branches(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The kinds of answers that a schema takes, by ``type``."""
    defined = schema.get("$defs", {})
    found: dict[str, Mapping[str, Any]] = {}
    for branch in schema.get("oneOf") or schema.get("anyOf") or [schema]:
        followed = _followed(branch, defined)
        kind = followed.get("properties", {}).get("type", {})
        for name in [kind["const"]] if "const" in kind else kind.get("enum", []):
            found[str(name)] = followed
    return found


def _followed(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> Mapping[str, Any]:
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return defined.get(name, {}) if name else schema


# what resumes them


def _decisions(items: Sequence[Call | Asked], answers: Sequence[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item, answer in zip(items, answers, strict=True):
        if isinstance(item, Asked):
            found.append({"type": "respond", "message": answer})
        elif answer.kind == "approve" and "approve" in item.allowed:
            found.append({"type": "approve"})
        elif answer.kind in ("approve", "edit"):
            found.append({"type": "edit", "edited_action": {"name": item.name, "args": dict(answer.args)}})
        elif "reject" in item.allowed:
            found.append({"type": "reject", "message": answer.message})
        else:
            found.append({"type": "respond", "message": answer.message})
    return found


def _responses(items: Sequence[Call | Asked], answers: Sequence[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item, answer in zip(items, answers, strict=True):
        if isinstance(item, Asked):
            found.append({"type": "response", "args": answer})
        elif answer.kind == "approve" and "approve" in item.allowed:
            found.append({"type": "accept", "args": None})
        elif answer.kind in ("approve", "edit"):
            found.append({"type": "edit", "args": {"action": item.name, "args": dict(answer.args)}})
        elif "ignore" in item.allowed and not (answer.said and "respond" in item.allowed):
            found.append({"type": "ignore", "args": None})
        else:
            found.append({"type": "response", "args": answer.message})
    return found
