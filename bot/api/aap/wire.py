"""What clients of AAP send, read strictly; and approvals as they want them. JSON in, JSON out; no I/O.

Its clients refuse unknown fields, nulls, and times that are not in Z; so nothing is null here, and what is not known is
left out. A status that is terminal stays what it is, and so does the deadline.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from bot.api.answering import MAX_URL, RefusedError, error_document, read_object
from bot.approvals.proposing import MAX_REASON, TTL_LEAST_S, TTL_LONGEST_S
from bot.model.approval import Action, Approval, ApprovalState, Proposal, Verdict

PENDING: Final = "pending"
APPROVED: Final = "approved"
MAX_KEY: Final = 255
_TIME: Final = re.compile(r"(?:[0-9]{1,9}(?:ms|s|m|h|d))+")
_PART: Final = re.compile(r"([0-9]+)(ms|s|m|h|d)")
_UNITS_S: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_TYPES: Final = {
    401: "authentication",
    403: "permission",
    404: "not_found",
    409: "conflict",
    429: "rate_limited",
}
_SUBMISSION: Final = frozenset({"tool", "server", "arguments", "timeout", "agent_reasoning", "context"})
_CONSUMED: Final = frozenset(
    {ApprovalState.CLAIMED, ApprovalState.EXECUTED, ApprovalState.FAILED, ApprovalState.UNKNOWN}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """Where an instance is told."""

    url: str = field(repr=False)
    registration: str = field(repr=False)
    secret: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Provisioning:
    """What is asked for when an instance is made."""

    name: str
    delivery: Delivery | None


# what clients send


def read_submission(body: bytes, *, key: str) -> Proposal:
    """Read a posted request.

    Args:
        body: JSON.
        key: of the proposal.

    Raises:
        RefusedError: it can't be taken.
    """
    written = _object(body, _SUBMISSION, required=("tool", "arguments", "timeout"))
    tool, timeout = _text(written, "tool"), _text(written, "timeout")
    server = _text(written, "server") if "server" in written else ""
    reasoning = written.get("agent_reasoning", "")
    if not isinstance(reasoning, str):
        raise invalid("agent_reasoning is a text")
    arguments, context = written["arguments"], written.get("context", {})
    if not (isinstance(arguments, dict) and isinstance(context, dict)):
        raise invalid("arguments and context are objects")
    kept = {name: written[name] for name in ("timeout", "agent_reasoning", "context") if name in written}
    return Proposal(
        action=Action(name=tool, system=server, parameters=arguments),
        reason=reasoning[:MAX_REASON],
        ttl_s=read_timeout(timeout),
        key=key,
        as_is=True,  # the protocol has no word for other arguments than those that were sent
        context={"aap": kept},
    )


def read_timeout(text: str) -> int:
    """Whole seconds of a duration such as ``10m`` or ``1h30m``.

    Raises:
        RefusedError: it is none, or too short or long.
    """
    if _TIME.fullmatch(text) is None:
        raise invalid("timeout is a duration such as 10m")
    seconds = int(sum(int(number) * _UNITS_S[unit] for number, unit in _PART.findall(text)))
    if not TTL_LEAST_S <= seconds <= TTL_LONGEST_S:
        raise invalid(f"timeout is from {TTL_LEAST_S} to {TTL_LONGEST_S} seconds")
    return seconds


def read_outcome(body: bytes) -> tuple[bool, str]:
    """Whether it succeeded, and a note.

    Raises:
        RefusedError: it can't be taken.
    """
    written = _object(body, frozenset({"status", "note"}), required=("status",))
    if written["status"] not in ("succeeded", "failed"):
        raise invalid("status is succeeded or failed")
    return written["status"] == "succeeded", _text(written, "note") if "note" in written else ""


def read_provisioning(body: bytes) -> Provisioning:
    """Read what is asked for when an instance is made.

    Raises:
        RefusedError: it can't be taken.
    """
    written = _object(body, frozenset({"instance_name", "delivery"}))
    name = _text(written, "instance_name", longest=100) if "instance_name" in written else ""
    delivery = written.get("delivery")
    if delivery is None:
        return Provisioning(name=name, delivery=None)
    fields = ("type", "url", "registration_id", "signing_secret")
    if not isinstance(delivery, dict) or delivery.keys() != set(fields) or delivery["type"] != "webhook":
        raise invalid("delivery has type webhook, url, registration_id and signing_secret")
    url, registration, secret = (_text(delivery, one, longest=MAX_URL) for one in fields[1:])
    return Provisioning(name=name, delivery=Delivery(url=url, registration=registration, secret=secret))


def read_key(keys: list[str]) -> str:
    """What ``Idempotency-Key`` says.

    Raises:
        RefusedError: there is none, or no good one.
    """
    if len(keys) != 1 or not keys[0]:
        raise RefusedError(400, "missing_idempotency_key", "send one Idempotency-Key")
    if len(keys[0]) > MAX_KEY or not keys[0].isprintable():
        raise invalid(f"Idempotency-Key has at most {MAX_KEY} characters")
    return keys[0]


def read_id(text: str) -> str:
    """The id of an approval, out of a UUID; empty: it is none."""
    try:
        return uuid.UUID(text[:64]).hex
    except ValueError:
        return ""


# what they get


def request_document(approval: Approval, *, claim_within: timedelta) -> dict[str, Any]:
    """An approval as a request of AAP.

    Args:
        approval: made by :func:`read_submission`.
        claim_within: how long one that is approved can be consumed.
    """
    kept = (approval.proposal.context or {}).get("aap", {})
    timeout = kept.get("timeout", "10m")
    status = status_of(approval)
    document: dict[str, Any] = {
        "id": str(uuid.UUID(approval.id)),
        "tool": approval.action.name,
        "arguments": dict(approval.action.parameters),
        **kept,
        "timeout": timeout,
        "status": status,
        "created_at": stamp(approval.proposed_at),
        "deadline_at": stamp(approval.proposed_at + timedelta(seconds=read_timeout(timeout))),
    }
    if approval.action.system:
        document["server"] = approval.action.system
    if status != PENDING:
        document["decision"] = _decision(approval, status, claim_within)
    if approval.state in _CONSUMED:
        document["consumption"] = _consumption(approval)
    return document


def status_of(approval: Approval) -> str:
    """What AAP calls the state: sent back for changes is denied, and approved stays approved, used or too late."""
    latest = approval.standing[-1].verdict if approval.standing and approval.decided_at is not None else None
    match approval.state:
        case ApprovalState.PROPOSED | ApprovalState.IN_REVIEW:
            return PENDING
        case ApprovalState.DENIED | ApprovalState.RETURNED:
            return "denied"
        case ApprovalState.EXPIRED | ApprovalState.CANCELLED if latest is Verdict.RETURN:
            return "denied"
        case ApprovalState.EXPIRED if latest is not Verdict.APPROVE:
            return "expired"
        case ApprovalState.CANCELLED:
            return "cancelled"
        case _:
            return APPROVED


def error_of(refused: RefusedError) -> dict[str, Any]:
    """An error as AAP has them."""
    kind = _TYPES.get(refused.status, "invalid_request" if refused.status < 500 else "api_error")
    text = refused.text
    for problem in error_document(refused).get("problems", ()):
        text += f"; {problem['path']}: {problem['code']}"
    error = {"type": kind, "code": refused.code, "message": text, "request_id": str(uuid.uuid4())}
    return {"error": error}


def invalid(text: str) -> RefusedError:
    """A body that can't be taken."""
    return RefusedError(400, "invalid_request", text)


def stamp(at: datetime) -> str:
    """A time, in Z."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def message(document: Mapping[str, Any]) -> bytes:
    """What is posted to a receiver."""
    return orjson.dumps(document)


def _decision(approval: Approval, status: str, claim_within: timedelta) -> dict[str, Any]:
    decided_at = approval.decided_at or approval.closed_at or approval.proposed_at
    decision: dict[str, Any] = {"status": status, "decided_at": stamp(decided_at)}
    words = approval.standing[-1].words if approval.standing and approval.decided_at is not None else ""
    if words:
        decision["note"] = words
    if status == APPROVED:
        until = approval.expires_at or decided_at + claim_within
        decision["expires_at"] = stamp(max(until, decided_at + timedelta(seconds=1)))
    return decision


def _consumption(approval: Approval) -> dict[str, Any]:
    consumption: dict[str, Any] = {"consumed_at": stamp(approval.claimed_at or approval.proposed_at)}
    if approval.state in (ApprovalState.EXECUTED, ApprovalState.FAILED):
        succeeded = approval.state is ApprovalState.EXECUTED
        outcome = {
            "status": "succeeded" if succeeded else "failed",
            "reported_at": stamp(approval.closed_at or approval.proposed_at),
        }
        consumption["outcome"] = {**outcome, **({"note": approval.note} if approval.note else {})}
    return consumption


def _object(body: bytes, known: frozenset[str], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    try:
        written = read_object(body)
    except RefusedError as refused:
        raise invalid(refused.text) from None
    for name in sorted(written.keys() - known):
        raise invalid(f"{name[:60]} is not known")
    for name in required:
        if name not in written:
            raise invalid(f"{name} is missing")
    if any(value is None for value in written.values()):
        raise invalid("leave out what there is not, instead of null")
    return written


def _text(written: Mapping[str, Any], name: str, *, longest: int = 4_000) -> str:
    value = written.get(name)
    if not isinstance(value, str) or not value or len(value) > longest:
        raise invalid(f"{name} is a text of at most {longest} characters")
    return value
