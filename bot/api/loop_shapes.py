"""The shapes of interactions and commands, as JSON Schemas for the OpenAPI document (see :mod:`bot.api.shapes`)."""

from collections.abc import Mapping
from typing import Any, Final

from bot.api.answering import MAX_KEY
from bot.api.shapes import FREE, KEY, MOMENT, NULLABLE, TEXT, Shape, listed, one_of, ref, strict, text, told
from bot.model import plan
from bot.model.command import RunState
from bot.model.interaction import MAX_CANDIDATES, ClarificationState, InteractionState
from bot.model.question import MAX_TEXT, TTL_LEAST_S, TTL_LONGEST_S

_NAME: Final[Shape] = {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$"}
_VERSION: Final[Shape] = {"type": "integer", "minimum": 1, "maximum": (1 << 31) - 1}
_SLOTS: Final[Shape] = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
_PLAN: Final = strict(
    {
        "tasks": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": plan.MAX_TASKS,
            "additionalProperties": strict(
                {
                    "goal": text(0, plan.MAX_GOAL),
                    "slots": _SLOTS,
                    "depends_on": {"type": "array", "items": _NAME},
                    "state": one_of(plan.TaskState),
                }
            ),
        }
    },
    "tasks",
)
_WORKSPACE: Final[Mapping[str, Any]] = {
    "generation": {"type": ["integer", "null"], "minimum": 0, "maximum": (1 << 62) - 1},
    "sha256": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"},
    "documentation_version": {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_KEY},
}
_CANDIDATE: Final = strict({"candidateId": TEXT, "displayName": TEXT, "identity": TEXT}, "candidateId", "displayName")

OF_LOOPS: Final[Mapping[str, Shape]] = {
    "Beginning": strict(
        {
            "request": text(1, MAX_KEY),
            "plan": _PLAN,
            "workspace": {**strict(_WORKSPACE), "type": ["object", "null"]},
            "key": KEY,
        },
        "request",
        "plan",
    ),
    "Clarify": strict(
        {
            "request": text(1, MAX_KEY),
            "task": _NAME,
            "slot": _NAME,
            "question": text(1, MAX_TEXT),
            "candidates": {"type": "array", "items": _CANDIDATE, "maxItems": MAX_CANDIDATES},
            "free_text": {"type": "boolean"},
            "basePlanVersion": {"type": ["integer", "null"], "minimum": 1, "maximum": (1 << 31) - 1},
            "ttl_s": {"type": "integer", "minimum": TTL_LEAST_S, "maximum": TTL_LONGEST_S},
            "key": KEY,
        },
        *("request", "task", "slot", "question"),
    ),
    "Patch": {
        **strict(
            {
                "basePlanVersion": _VERSION,
                "task": _NAME,
                "slot": _NAME,
                "value": {"type": ["string", "null"], "minLength": 1, "maxLength": plan.MAX_VALUE},
                "candidateId": text(1, 64),
                "replyToClarificationId": text(1, 64),
            },
            *("basePlanVersion", "task", "slot"),
        ),
        "oneOf": [{"required": ["value"]}, {"required": ["candidateId", "replyToClarificationId"]}],
    },
    "Clarification": told(
        {
            "id": TEXT,
            "task": TEXT,
            "slot": TEXT,
            "state": one_of(ClarificationState),
            "question": TEXT,
            "candidates": {"type": "array", "items": _CANDIDATE},
            "free_text": {"type": "boolean"},
            "planVersion": {"type": "integer"},
            "asked_at": MOMENT,
            "question_message": NULLABLE,
            "answer_message": NULLABLE,
            "untrusted": told({"value": NULLABLE}),
        }
    ),
    "PlannedInteraction": told(
        {
            "id": TEXT,
            "state": one_of(InteractionState),
            "destination": TEXT,
            "planVersion": {"type": "integer"},
            "workspace": told(_WORKSPACE),
            "started_at": MOMENT,
            "changed_at": MOMENT,
            "untrusted": told({"plan": FREE}),
            "clarifications": {"type": "array", "items": ref("Clarification")},
        }
    ),
    "PlannedInteractions": listed("interactions", "PlannedInteraction"),
    "Commands": told(
        {
            "commands": {
                "type": "array",
                "items": told(
                    {
                        "name": TEXT,
                        "description": TEXT,
                        "input_description": NULLABLE,
                        "reads": {"type": "array", "items": TEXT},
                        "keep_as": NULLABLE,
                        "takes_text": {"type": ["boolean", "string", "null"]},
                    }
                ),
            }
        }
    ),
    "Run": strict(
        {
            "request": text(1, MAX_KEY),
            "object": {"type": ["string", "null"]},
            "text": {"type": ["string", "null"]},
            "key": KEY,
        },
        "request",
    ),
    "Ran": {
        "type": "object",
        "properties": {"run": TEXT, "command": TEXT, "outcome": one_of(RunState)},
        "required": ["run", "command", "outcome"],
    },
}
