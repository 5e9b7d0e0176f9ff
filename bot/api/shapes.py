"""The shapes of what goes in and out of the interface, as JSON Schemas for its OpenAPI document (AGENT-1).

They say what the readers beside them check (:mod:`bot.api.asked` and the like); a test holds the two together.
"""

from collections.abc import Mapping
from typing import Any, Final

from bot.api.a2h import reading as a2h
from bot.api.a2h import translating as to
from bot.api.a2h.refusing import CODES
from bot.api.answering import MAX_KEY, MAX_URL
from bot.api.asked import MAX_PEOPLE
from bot.api.unasked import MAX_PLACE, MAX_REFERENCES
from bot.approvals.proposing import MAX_GATES, MAX_NAME, MAX_NOTE, MAX_REASON, MAX_TASK, TTL_LONGEST_S
from bot.approvals.proposing import TTL_LEAST_S as APPROVAL_TTL_LEAST_S
from bot.deliveries.grants import MAX_PURPOSE, MOST_USES
from bot.model import question
from bot.model.approval import ApprovalState, Assurance, DecidedBy, Subject, Verdict
from bot.model.delivery import MAX_TEXT, DeliveryState
from bot.model.intent import IntentType

Shape = Mapping[str, Any]

TEXT: Final[Shape] = {"type": "string"}
NULLABLE: Final[Shape] = {"type": ["string", "null"]}
MOMENT: Final[Shape] = {"type": "string", "format": "date-time"}
_MAYBE_MOMENT: Final[Shape] = {"type": ["string", "null"], "format": "date-time"}
FREE: Final[Shape] = {"type": "object", "additionalProperties": True}
KEY: Final[Shape] = {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_KEY}
_CALLBACK: Final[Shape] = {
    "type": ["object", "null"],
    "properties": {"url": {"type": "string", "minLength": 1, "maxLength": MAX_URL}},
    "required": ["url"],
    "additionalProperties": False,
}


def text(least: int, longest: int) -> dict[str, Any]:
    """A text of so many characters."""
    return {"type": "string", "minLength": least, "maxLength": longest}


def one_of(names: Any) -> dict[str, Any]:
    """One of the values of an enum."""
    return {"type": "string", "enum": [str(getattr(one, "value", one)) for one in names]}


def strict(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def told(properties: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    """An object of ours: all fields are there, but for some."""
    return strict(properties, *(name for name in properties if name not in optional))


def listed(name: str, shape: str) -> dict[str, Any]:
    """A list under a name."""
    return told({name: {"type": "array", "items": ref(shape)}})


def ref(name: str) -> dict[str, Any]:
    """Another shape."""
    return {"$ref": f"#/components/schemas/{name}"}


_PROBLEM: Final = told({"path": TEXT, "code": TEXT, "detail": TEXT})
_QUESTION_HEAD: Final[Shape] = {
    "id": TEXT,
    "state": one_of(question.QuestionState),
    "asked_at": MOMENT,
    "expires_at": MOMENT,
}
_APPROVAL_HEAD: Final[Shape] = {
    "id": TEXT,
    "code": TEXT,
    "state": one_of(ApprovalState),
    "version": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "revision": {"type": "integer", "minimum": 1},
    "proposed_at": MOMENT,
    "expires_at": _MAYBE_MOMENT,
}
_DELIVERY: Final[Shape] = {
    "id": TEXT,
    "destination": TEXT,
    "state": one_of(DeliveryState),
    "code": NULLABLE,
    "at": _MAYBE_MOMENT,
    "cron": NULLABLE,
    "timezone": NULLABLE,
    "next_at": _MAYBE_MOMENT,
    "grant": NULLABLE,
    "fired": {"type": "integer", "minimum": 0},
    "made_at": MOMENT,
    "closed_at": _MAYBE_MOMENT,
    "receipts": {"type": "object", "additionalProperties": {"type": "integer"}},
}

OF_OURS: Final[Mapping[str, Shape]] = {
    "Error": told({"error": TEXT, "message": TEXT, "problems": {"type": "array", "items": _PROBLEM}}, "problems"),
    "Asking": strict(
        {
            "question": text(1, question.MAX_TEXT),
            "schema": FREE,
            "request": {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_KEY},
            "who": {
                "type": ["object", "null"],
                "properties": {
                    "kind": one_of(question.Answerer),
                    "people": {"type": "array", "items": text(1, MAX_KEY), "maxItems": MAX_PEOPLE},
                },
                "required": ["kind"],
                "additionalProperties": False,
            },
            "ttl_s": {"type": "integer", "minimum": question.TTL_LEAST_S, "maximum": question.TTL_LONGEST_S},
            "important": {"type": "boolean"},
            "key": KEY,
            "callback": _CALLBACK,
        },
        "question",
        "schema",
    ),
    "QuestionHead": told(_QUESTION_HEAD),
    "Question": told(
        {
            **_QUESTION_HEAD,
            "answer": {"type": ["object", "null"], "additionalProperties": True},
            "answered_by": NULLABLE,
            "way": {"enum": [*(one.value for one in question.Way), None]},
            "at": _MAYBE_MOMENT,
            "errors": {"type": "array", "items": told({"field": TEXT, "code": TEXT})},
        }
    ),
    "Questions": listed("questions", "Question"),
    "Proposal": strict(
        {
            "action": text(1, MAX_NAME),
            "system": text(0, MAX_NAME),
            "parameters": FREE,
            "reason": text(0, MAX_REASON),
            "task": text(0, MAX_TASK),
            "gates": {
                "type": "array",
                "maxItems": MAX_GATES,
                "items": strict(
                    {"name": text(1, MAX_NAME), "passed": {"type": "boolean"}, "detail": text(0, MAX_REASON)},
                    "name",
                    "passed",
                ),
            },
            "target": text(0, MAX_REASON),
            "assurance": one_of(Assurance),
            "ttl_s": {"type": ["integer", "null"], "minimum": APPROVAL_TTL_LEAST_S, "maximum": TTL_LONGEST_S},
            "schema": {"type": ["object", "null"], "additionalProperties": True},
            "request": {"type": ["string", "null"], "minLength": 1, "maxLength": MAX_KEY},
            "key": KEY,
            "callback": _CALLBACK,
            "as_is": {"type": "boolean"},
        },
        "action",
        "parameters",
    ),
    "Revision": strict(
        {
            "action": text(1, MAX_NAME),
            "system": text(0, MAX_NAME),
            "parameters": FREE,
            "revision": {"type": "integer"},
        },
        "parameters",
        "revision",
    ),
    "Claim": strict(
        {
            "version": text(1, 64),
            "claim_key": text(1, MAX_KEY),
            "target_present": {"type": ["boolean", "null"]},
        },
        "version",
        "claim_key",
    ),
    "Outcome": strict({"executed": {"type": ["boolean", "null"]}, "note": text(0, MAX_NOTE)}, "executed"),
    "ApprovalHead": told(_APPROVAL_HEAD),
    "Approval": told(
        {
            **_APPROVAL_HEAD,
            "subject": one_of(Subject),
            "action": TEXT,
            "system": TEXT,
            "parameters": FREE,
            "rule": TEXT,
            "replaced": {"type": "array", "items": told({"version": TEXT, "by": NULLABLE})},
            "decisions": {
                "type": "array",
                "items": told(
                    {
                        "verdict": one_of(Verdict),
                        "by": NULLABLE,
                        "for": NULLABLE,
                        "way": one_of(DecidedBy),
                        "at": MOMENT,
                        "words": TEXT,
                    }
                ),
            },
            "decided_at": _MAYBE_MOMENT,
            "claimed_at": _MAYBE_MOMENT,
            "closed_at": _MAYBE_MOMENT,
            "note": TEXT,
        }
    ),
    "Approvals": listed("approvals", "Approval"),
    "Order": strict(
        {
            "destination": text(1, MAX_PLACE),
            "text": text(1, MAX_TEXT),
            "at": _MAYBE_MOMENT,
            "cron": KEY,
            "timezone": KEY,
            "grant": KEY,
            "class": KEY,
            "references": {"type": "array", "items": text(1, MAX_KEY), "maxItems": MAX_REFERENCES},
            "key": KEY,
        },
        "destination",
        "text",
    ),
    "Delivery": told(_DELIVERY),
    "Muted": told({"error": TEXT, "message": TEXT, "delivery": ref("Delivery")}),
    "Deliveries": listed("deliveries", "Delivery"),
    "Wish": strict(
        {
            "agent": text(1, MAX_KEY),
            "destination": text(1, MAX_PLACE),
            "uses": {"type": "integer", "minimum": 1, "maximum": MOST_USES},
            "for": {"type": "string", "pattern": "^[0-9]{1,6}[mhd]$"},
            "purpose": text(1, MAX_PURPOSE),
            "key": KEY,
        },
        *("agent", "destination", "uses", "for", "purpose"),
    ),
    "Grant": told(
        {
            "id": TEXT,
            "agent": TEXT,
            "destination": TEXT,
            "purpose": TEXT,
            "uses": {"type": "integer"},
            "used": {"type": "integer"},
            "issued_at": MOMENT,
            "expires_at": MOMENT,
            "revoked_at": _MAYBE_MOMENT,
            "open": {"type": "boolean"},
        }
    ),
    "Grants": listed("grants", "Grant"),
}


def _further(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """An object of A2H: further fields are allowed."""
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": True}


_URI: Final[Shape] = {"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9+.\-]*:[^\s]+$", "maxLength": a2h.MAX_SHORT}
_RENDER: Final = _further(
    {"title": text(0, 256), "body": text(1, 4096), "footer": text(0, 512), "icon": text(0, 128)}, "body"
)
_WAY: Final[Shape] = {"type": text(1, a2h.MAX_ID), "address": _URI}
_STATES: Final = (to.PENDING, to.SENT, to.WAITING, to.ANSWERED, to.EXPIRED, to.CANCELLED, to.FAILED)
_EVIDENCE: Final = _further({"factor": TEXT, "proof": FREE}, "factor", "proof")
_RESPONSE: Final[Shape] = {
    "decision": one_of(("APPROVE", "DECLINE")),
    "decided_at": MOMENT,
    "data": FREE,
    "evidence": _EVIDENCE,
    "signature": TEXT,
}

OF_A2H: Final[Mapping[str, Shape]] = {
    "A2HError": _further(
        {"error": one_of(CODES), "message": TEXT, "details": FREE, "retry_after_sec": {"type": "integer"}},
        "error",
        "message",
    ),
    "A2HMessage": _further(
        {
            "a2h_version": {"type": "string", "const": a2h.VERSION},
            "a2h_min_version": {"type": "string", "const": a2h.VERSION},
            "type": one_of(IntentType),
            "message_id": text(1, a2h.MAX_ID),
            "agent_id": text(1, a2h.MAX_ID),
            "principal_id": text(1, a2h.MAX_ID),
            "responds_to": text(1, a2h.MAX_ID),
            "channel": _further(
                {
                    **_WAY,
                    "nonce": {"type": "string", "pattern": "^[A-Za-z0-9_.\\-]{1,512}$"},
                    "expires_at": MOMENT,
                    "render": _RENDER,
                    "fallback": {
                        "type": "array",
                        "maxItems": a2h.MAX_FALLBACK,
                        "items": _further(_WAY, "type", "address"),
                    },
                },
                "type",
                "address",
            ),
            "render": _RENDER,
            "links": FREE,
            "params": _further({"profile": text(0, a2h.MAX_ID)}),
            "profile": text(0, a2h.MAX_ID),
            "ttl_sec": {"type": "integer", "minimum": a2h.TTL_LEAST_S, "maximum": a2h.TTL_LONGEST_S},
            "assurance": _further(
                {
                    "level": one_of(a2h.LEVELS),
                    "required_factors": {"type": "array", "items": text(0, a2h.MAX_ID)},
                }
            ),
            "explanation_bundle": _further({"why": text(0, a2h.MAX_SHORT)}),
            "callback": _further(
                {
                    "url": {"type": "string", "format": "uri", "maxLength": a2h.MAX_SHORT},
                    "secret": text(1, 512),
                },
                "url",
                "secret",
            ),
            "components": {
                "type": "array",
                "items": _further(
                    {
                        "type": one_of(a2h.COMPONENTS),
                        "name": text(1, 64),
                        "label": text(0, 256),
                        "required": {"type": "boolean"},
                        "validation": _further(
                            {
                                "pattern": TEXT,
                                "min": {"type": "number"},
                                "max": {"type": "number"},
                                "minLength": {"type": "integer", "minimum": 0},
                                "maxLength": {"type": "integer", "minimum": 0},
                            }
                        ),
                        "options": {"type": "array", "items": _further({"value": TEXT, "label": TEXT})},
                    },
                    "type",
                    "name",
                ),
            },
            "created_at": MOMENT,
        },
        *("type", "message_id", "agent_id", "principal_id", "render"),
    ),
    "Interaction": told(
        {
            "interaction_id": {"type": "string", "format": "uuid"},
            "message_id": TEXT,
            "type": one_of(IntentType),
            "state": one_of(_STATES),
            "created_at": MOMENT,
            "updated_at": MOMENT,
            "ttl_sec": {"type": "integer"},
            "channel_id": TEXT,
            "duplicate": {"type": "boolean"},
            "webhook_failed": {"type": "boolean"},
            "error": told({"code": one_of(CODES), "message": TEXT, "timestamp": MOMENT}),
            "response": _further(_RESPONSE, "decided_at", "data", "evidence", "signature"),
            **_RESPONSE,
        },
        *("channel_id", "duplicate", "webhook_failed", "error", "response", *_RESPONSE),
    ),
    "Cancelled": told({"success": {"type": "boolean"}, "message": TEXT, "state": one_of(_STATES)}),
    "Nonce": told({"nonce": TEXT, "expires_at": MOMENT}),
    "Capabilities": _further(
        {
            "a2h_supported": {"type": "array", "items": TEXT},
            "channels": {"type": "array", "items": TEXT},
            "factors": {"type": "array", "items": TEXT},
            "max_ttl_sec": {"type": "integer"},
            "locales": {"type": "array", "items": TEXT},
            "jwks_uri": {"type": "string", "format": "uri"},
            "auth": FREE,
            "replay_protection": FREE,
            "webhooks": FREE,
        },
        *("a2h_supported", "channels", "factors", "jwks_uri"),
    ),
    "KeySet": _further({"keys": {"type": "array", "items": FREE}}, "keys"),
}
