"""Approvals between their value and their rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from bot.model.approval import (
    Action,
    Approval,
    ApprovalState,
    Assurance,
    DecidedBy,
    Decision,
    Gate,
    Origin,
    Proposal,
    Subject,
    Verdict,
)
from bot.storage.approval_statements import COLUMNS
from bot.storage.parts import destination_of
from bot.storage.times import from_us, to_us
from policy.approvals import Window
from policy.destination import parse_destination
from policy.event import Chat

Row = tuple[Any, ...]

_REVISABLE: Final = frozenset(
    {ApprovalState.PROPOSED, ApprovalState.IN_REVIEW, ApprovalState.RETURNED, ApprovalState.APPROVED}
)


def obligation_of(approval: Approval) -> str | None:
    """AUTO-6: the destination of a draft that filing again would replace; None: nothing is replaced any more."""
    if approval.subject is not Subject.DRAFT or approval.origin is None or approval.state not in _REVISABLE:
        return None
    return str(approval.origin.destination)


def new_row(approval: Approval) -> Row:
    """A row in the order of the columns."""
    values = values_of(approval)
    return tuple(values[name] for name in COLUMNS)


def values_of(approval: Approval) -> dict[str, Any]:
    """The values of a row, by column."""
    origin = approval.origin
    place = None if origin is None else origin.destination
    return {
        "id": approval.id,
        "code": approval.code,
        "agent": approval.agent,
        "key": approval.key,
        "subject": approval.subject.value,
        "version": approval.version,
        "account": None if place is None else place.account,
        "channel": None if place is None else place.channel,
        "thread": None if place is None else place.thread,
        "chat": None if origin is None else origin.chat.value,
        "person": None if origin is None else origin.person,
        "requester": None if origin is None else origin.requester,
        "event_id": None if origin is None else origin.event_id,
        "obligation": obligation_of(approval),
        "language": approval.language,
        "rule": approval.rule,
        "state": approval.state.value,
        "revision": approval.revision,
        "claim_key": approval.claim_key,
        "proposed_at": to_us(approval.proposed_at),
        "expires_at": _us(approval.expires_at),
        "auto_at": _us(approval.auto_at),
        "reminded_at": _us(approval.reminded_at),
        "escalated": int(approval.escalated),
        "decided_at": _us(approval.decided_at),
        "claimed_at": _us(approval.claimed_at),
        "closed_at": _us(approval.closed_at),
        "document": _document(approval),
    }


def decision_row(approval_id: str, decision: Decision) -> Row:
    """A row of a decision."""
    return (
        approval_id,
        decision.version,
        decision.verdict.value,
        decision.person,
        decision.account,
        decision.way.value,
        decision.for_whom,
        decision.assurance.value,
        to_us(decision.at),
        decision.words,
        decision.proof,
    )


def approval_of(row: Row, decisions: Sequence[Row]) -> Approval:
    """An approval from its row and those of its decisions."""
    values = dict(zip(COLUMNS, row, strict=True))
    written: dict[str, Any] = orjson.loads(values["document"]) if values["document"] else {}
    origin = None
    if values["account"] is not None:
        origin = Origin(
            destination=destination_of(values["account"], values["channel"], values["thread"]),
            chat=Chat(values["chat"]),
            person=values["person"],
            requester=values["requester"],
            event_id=values["event_id"],
        )
    return Approval(
        id=values["id"],
        code=values["code"],
        agent=values["agent"],
        key=values["key"],
        subject=Subject(values["subject"]),
        proposal=_proposal(written),
        version=values["version"],
        origin=origin,
        language=values["language"],
        rule=values["rule"],
        state=ApprovalState(values["state"]),
        revision=values["revision"],
        unfolded=frozenset(written.get("unfolded", ())),
        decisions=tuple(_decision(one) for one in decisions),
        heard=written.get("heard", 0),
        replaced=tuple((version, by) for version, by in written.get("replaced", ())),
        note=written.get("note", ""),
        claim_key=values["claim_key"],
        proposed_at=from_us(values["proposed_at"]),
        expires_at=_at(values["expires_at"]),
        auto_at=_at(values["auto_at"]),
        reminded_at=_at(values["reminded_at"]),
        escalated=bool(values["escalated"]),
        decided_at=_at(values["decided_at"]),
        claimed_at=_at(values["claimed_at"]),
        closed_at=_at(values["closed_at"]),
    )


def _decision(row: Row) -> Decision:
    version, verdict, person, account, way, for_whom, assurance, at, words, proof = row
    return Decision(
        version=version,
        verdict=Verdict(verdict),
        person=person,
        account=account,
        way=DecidedBy(way),
        for_whom=for_whom,
        assurance=Assurance(assurance),
        at=from_us(at),
        words=words or "",
        proof=proof,
    )


def _document(approval: Approval) -> bytes:
    proposal = approval.proposal
    written = {
        "action": proposal.action.name,
        "system": proposal.action.system,
        "parameters": proposal.action.parameters,
        "reason": proposal.reason,
        "task": proposal.task,
        "gates": [(gate.name, gate.passed, gate.detail) for gate in proposal.gates],
        "target": proposal.target,
        "assurance": proposal.assurance.value,
        "ttl_s": proposal.ttl_s,
        "key": proposal.key,
        "schema": proposal.schema,
        "addressee": proposal.addressee,
        "at": [(str(window.destination), window.person) for window in proposal.shown],
        "as_is": proposal.as_is,
        "context": proposal.context,
        "unfolded": sorted(approval.unfolded),
        "heard": approval.heard,
        "replaced": approval.replaced,
        "note": approval.note,
    }
    return orjson.dumps(written, default=dict)


def _proposal(written: dict[str, Any]) -> Proposal:
    """What was proposed; erased words leave an action without a name."""
    return Proposal(
        action=Action(
            name=written.get("action", ""),
            system=written.get("system", ""),
            parameters=written.get("parameters", {}),
        ),
        reason=written.get("reason", ""),
        task=written.get("task", ""),
        gates=tuple(Gate(name=name, passed=passed, detail=detail) for name, passed, detail in written.get("gates", ())),
        target=written.get("target", ""),
        assurance=Assurance(written.get("assurance", Assurance.NORMAL)),
        ttl_s=written.get("ttl_s"),
        key=written.get("key"),
        schema=written.get("schema"),
        addressee=written.get("addressee", ""),
        shown=tuple(
            Window(destination=parse_destination(place), person=person) for place, person in written.get("at", ())
        ),
        as_is=written.get("as_is", False),
        context=written.get("context"),
    )


def _us(at: datetime | None) -> int | None:
    return None if at is None else to_us(at)


def _at(at_us: int | None) -> datetime | None:
    return None if at_us is None else from_us(at_us)
