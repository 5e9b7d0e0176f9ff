"""What an agent posts about approvals, read strictly; and approvals as agents see them. JSON in, JSON out; no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from bot.api.answering import MAX_KEY, Reading, RefusedError, pointer, read_callback, read_object
from bot.approvals.proposing import MAX_NOTE
from bot.model.approval import Action, Approval, Assurance, Decision, Gate, Proposal

_PROPOSAL: Final = frozenset(
    {
        "action",
        "system",
        "parameters",
        "reason",
        "task",
        "gates",
        "target",
        "assurance",
        "ttl_s",
        "schema",
        "request",
        "key",
        "callback",
        "as_is",
    }
)
_REVISION: Final = frozenset({"action", "system", "parameters", "revision"})
_CLAIM: Final = frozenset({"version", "claim_key", "target_present"})
_OUTCOME: Final = frozenset({"executed", "note"})
_GATE: Final = frozenset({"name", "passed", "detail"})
_CONFLICTS: Final = frozenset(
    {
        "key_used",
        "version",
        "claimed",
        "not_approved",
        "expired",
        "already_decided",
        "unreconciled",
        "target",
        "forbidden",
        "too_many_versions",
        "state",
    }
)
_OTHERS: Final[Mapping[str, int]] = {"unknown": 404, "no_request": 403, "no_approvals": 403, "too_many_open": 429}


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposed:
    """A proposal, the request to which it belongs, and the address that is told what was decided, if any."""

    proposal: Proposal
    request: str | None = field(default=None, repr=False)
    callback: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Revised:
    """What is to be changed; None: it stays."""

    revision: int
    parameters: Mapping[str, Any] = field(repr=False)
    action: str | None = None
    system: str | None = None

    def action_of(self, approval: Approval) -> Action:
        """The action as it is to be."""
        now = approval.action
        return Action(
            name=now.name if self.action is None else self.action,
            system=now.system if self.system is None else self.system,
            parameters=self.parameters,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Claimed:
    """How an approval is to be used."""

    version: str
    key: str
    target_present: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What came of it."""

    executed: bool | None
    note: str = field(default="", repr=False)


def read_proposal(body: bytes, *, header_key: str | None) -> Proposed:
    """Read a posted proposal.

    Args:
        body: JSON.
        header_key: of ``Idempotency-Key``.

    Raises:
        RefusedError: it can't be taken; every field that is wrong is named.
    """
    reading = Reading(read_object(body), _PROPOSAL)
    reading.required("action", "parameters")
    written = reading.document
    ttl_s = reading.whole("ttl_s", 0) if written.get("ttl_s") is not None else None
    schema = (
        reading.object("schema", "a JSON Schema, which is an object") if written.get("schema") is not None else None
    )
    request = reading.text("request", longest=MAX_KEY) if written.get("request") is not None else None
    proposal = Proposal(
        action=Action(
            name=reading.text("action"),
            system=reading.text("system", blank=True),
            parameters=reading.object("parameters"),
        ),
        reason=reading.text("reason", blank=True),
        task=reading.text("task", blank=True),
        gates=_gates(reading),
        target=reading.text("target", blank=True),
        assurance=_assurance(reading),
        ttl_s=ttl_s,
        key=reading.key(header_key),
        schema=schema,
        as_is=reading.flag("as_is", otherwise=False),
    )
    callback = read_callback(reading)
    reading.done()
    return Proposed(proposal=proposal, request=request, callback=callback)


def read_revision(body: bytes) -> Revised:
    """Read a posted change.

    Raises:
        RefusedError: it can't be taken.
    """
    reading = Reading(read_object(body), _REVISION)
    reading.required("parameters", "revision")
    revised = Revised(
        revision=reading.whole("revision", 0),
        parameters=reading.object("parameters"),
        action=reading.text("action") if "action" in reading.document else None,
        system=reading.text("system", blank=True) if "system" in reading.document else None,
    )
    reading.done()
    return revised


def read_claim(body: bytes) -> Claimed:
    """Read a posted claim.

    Raises:
        RefusedError: it can't be taken.
    """
    reading = Reading(read_object(body), _CLAIM)
    reading.required("version", "claim_key")
    claimed = Claimed(
        version=reading.text("version", longest=64),
        key=reading.text("claim_key", longest=MAX_KEY),
        target_present=reading.maybe("target_present"),
    )
    reading.done()
    return claimed


def read_outcome(body: bytes) -> Told:
    """Read a posted outcome; that nobody knows is said by null, and not by silence.

    Raises:
        RefusedError: it can't be taken.
    """
    reading = Reading(read_object(body), _OUTCOME)
    reading.required("executed")
    told = Told(executed=reading.maybe("executed"), note=reading.text("note", longest=MAX_NOTE, blank=True))
    reading.done()
    return told


def refusal(code: str, text: str) -> RefusedError:
    """How an agent hears that something can't be done with an approval."""
    if code in _CONFLICTS:
        return RefusedError(409, code, text)
    return RefusedError(_OTHERS.get(code, 422), code, text, after_s=60.0 if code == "too_many_open" else 0.0)


def head_document(approval: Approval) -> dict[str, Any]:
    """How an approval stands."""
    return {
        "id": approval.id,
        "code": approval.code,
        "state": approval.state.value,
        "version": approval.version,
        "revision": approval.revision,
        "proposed_at": approval.proposed_at.isoformat(),
        "expires_at": _time(approval.expires_at),
    }


def approval_document(approval: Approval) -> dict[str, Any]:
    """An approval as its agent sees it: what would run, what replaced what, and who decided (ids of the policy)."""
    action = approval.action
    return {
        **head_document(approval),
        "subject": approval.subject.value,
        "action": action.name,
        "system": action.system,
        "parameters": dict(action.parameters),
        "rule": approval.rule,
        "replaced": [{"version": version, "by": by or None} for version, by in approval.replaced],
        "decisions": [_decision(decision) for decision in approval.standing],
        "decided_at": _time(approval.decided_at),
        "claimed_at": _time(approval.claimed_at),
        "closed_at": _time(approval.closed_at),
        "note": approval.note,
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "verdict": decision.verdict.value,
        "by": decision.person or None,
        "for": decision.for_whom or None,
        "way": decision.way.value,
        "at": decision.at.isoformat(),
        "words": decision.words,
    }


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _gates(reading: Reading) -> tuple[Gate, ...]:
    written = reading.document.get("gates", [])
    if not isinstance(written, list):
        reading.wrong("/gates", "wrong_type", "a list of {name, passed, detail}")
        return ()
    gates: list[Gate] = []
    for number, one in enumerate(written):
        gate = _gate(one, f"/gates/{number}", reading)
        if gate is not None:
            gates.append(gate)
    return tuple(gates)


def _gate(written: object, path: str, reading: Reading) -> Gate | None:
    if not isinstance(written, dict):
        reading.wrong(path, "wrong_type", "an object such as {name: evaluation, passed: false}")
        return None
    for name in sorted(written.keys() - _GATE):
        reading.wrong(f"{path}{pointer(name)}", "unknown_field", "")
    name, passed, detail = written.get("name"), written.get("passed"), written.get("detail", "")
    if not isinstance(name, str):
        reading.wrong(f"{path}/name", "wrong_type", "a text")
    if type(passed) is not bool:
        reading.wrong(f"{path}/passed", "wrong_type", "true or false")
    if not isinstance(detail, str):
        reading.wrong(f"{path}/detail", "wrong_type", "a text")
    if isinstance(name, str) and isinstance(passed, bool) and isinstance(detail, str):
        return Gate(name=name, passed=passed, detail=detail)
    return None


def _assurance(reading: Reading) -> Assurance:
    written = reading.document.get("assurance", Assurance.NORMAL.value)
    found = next((one for one in Assurance if one.value == written), None)
    if found is None:
        reading.wrong("/assurance", "not_known", f"one of {', '.join(one.value for one in Assurance)}")
    return found or Assurance.NORMAL
