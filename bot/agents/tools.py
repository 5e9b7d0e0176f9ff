"""The one tool that a model may have: asking back with one question (CLAR-7).

A call of it ends the run. Its arguments are as hostile as any words of a model: read strictly, checked like every
clarification, and an error of the agent where they don't hold.
"""

from dataclasses import replace
from typing import Any, Final

from bot.agents.loopwire import ClarifyModel
from bot.agents.wire import parse_json
from bot.model.errors import AgentError
from bot.model.interaction import Continuing
from bot.model.output import Clarify
from bot.model.plan import Plan, plan_document, read_plan, single

NAME: Final = "ask_back"
MAX_ARGUMENTS: Final = 32_768
"""Characters."""
TOOLS: Final[list[dict[str, Any]]] = [
    {
        "type": "function",
        "function": {
            "name": NAME,
            "description": (
                "Ask the person one short question, because the request can mean several things and the answer decides "
                "what you do. Your work on this request ends with the call; when the person has answered you get the "
                "request again, and under plan what was answered. Never ask what stands there already."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "slot": {"type": "string", "description": "What is asked for, as one word such as format."},
                    "question": {"type": "string"},
                    "candidates": {
                        "type": "array",
                        "description": "The choices, if there are only these; otherwise none.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {"type": "string", "description": "A word that tells it, such as annual-report."},
                                "name": {"type": "string", "description": "As people read it."},
                            },
                            "required": ["id", "name"],
                        },
                    },
                },
                "required": ["slot", "question"],
            },
        },
    }
]


def called(name: str, arguments: str, continuing: Continuing | None) -> Clarify:
    """What a call of the tool asks.

    Raises:
        AgentError: it is another tool, or its arguments don't hold.
    """
    if name != NAME:
        raise AgentError("the model called a tool that it has not got")
    if len(arguments) > MAX_ARGUMENTS:
        raise AgentError("the model called its tool with too much")
    given = parse_json(arguments)
    if not isinstance(given, dict) or not isinstance(given.get("slot"), str):
        raise AgentError("the model called its tool without a slot")
    candidates = given.get("candidates") or []
    if not isinstance(candidates, list) or not all(isinstance(one, dict) for one in candidates):
        raise AgentError("the model called its tool with candidates that are none")
    slot = given["slot"].strip().replace(" ", "_")
    fault: str
    try:
        model = ClarifyModel.model_validate(
            {
                "kind": "clarification_required",
                "task": slot,
                "slot": slot,
                "question": given.get("question"),
                "candidates": [{"candidateId": one.get("id"), "displayName": one.get("name")} for one in candidates],
            }
        )
    except ValueError as error:
        fault = type(error).__name__
    else:
        return replace(model.clarify(), plan=_with(slot, continuing))
    raise AgentError(f"the model called its tool with arguments that don't hold ({fault})")


def answered_document(continuing: Continuing) -> dict[str, Any]:
    """What has been answered, for the model."""
    return {"plan": plan_document(continuing.interaction.plan), "answer": continuing.patch.value}


def _with(slot: str, continuing: Continuing | None) -> Plan:
    """The plan with a task for this slot: a model has none of its own."""
    if continuing is None:
        return single(slot, slot)
    known = plan_document(continuing.interaction.plan)
    known["tasks"].setdefault(slot, {"slots": {slot: None}})
    return read_plan(known)
