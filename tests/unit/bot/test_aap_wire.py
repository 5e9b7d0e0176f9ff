"""What the Agent Approval Protocol calls each state of an approval, and how its own client reads it."""

import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from agentapprovalprotocol._wire import parse_request

from bot.api.aap.wire import (
    error_of,
    read_id,
    read_outcome,
    read_provisioning,
    read_submission,
    read_timeout,
    request_document,
)
from bot.api.answering import RefusedError
from bot.model.approval import Approval, ApprovalState, DecidedBy, Decision, Subject, Verdict

AT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
BODY = {"tool": "refund", "server": "shop", "arguments": {"amount": 1.5}, "timeout": "1h30m", "context": {"a": None}}


def approval(state, *verdicts, **changes):
    proposal = read_submission(json.dumps(BODY).encode(), key="k")
    version = proposal.action.version
    made = Approval(
        id=uuid.uuid4().hex,
        code="K7QM2",
        agent="main",
        key="k",
        subject=Subject.CALL,
        proposal=proposal,
        version=version,
        origin=None,
        state=state,
        proposed_at=AT,
        expires_at=AT + timedelta(hours=1),
        decisions=tuple(
            Decision(version=version, verdict=one, person="ann", account="a", way=DecidedBy.TAP, at=AT, words=words)
            for one, words in verdicts
        ),
        decided_at=AT + timedelta(minutes=1) if verdicts else None,
        closed_at=AT + timedelta(minutes=3) if state.closed else None,
    )
    return replace(made, **changes)


YES, NO, BACK = (Verdict.APPROVE, ""), (Verdict.DENY, "no"), (Verdict.RETURN, "smaller")
USED = {"claimed_at": AT + timedelta(minutes=2), "expires_at": None}
STATES = [
    (approval(ApprovalState.PROPOSED), "pending", None, None),
    (approval(ApprovalState.IN_REVIEW), "pending", None, None),
    (approval(ApprovalState.IN_REVIEW, YES, decided_at=None), "pending", None, None),  # one voice of two
    (approval(ApprovalState.APPROVED, YES), "approved", None, None),
    (approval(ApprovalState.DENIED, NO), "denied", "no", None),
    (approval(ApprovalState.DENIED, YES, NO), "denied", "no", None),  # taken back before it was used
    (approval(ApprovalState.RETURNED, BACK), "denied", "smaller", None),
    (approval(ApprovalState.EXPIRED, BACK), "denied", "smaller", None),
    (approval(ApprovalState.CANCELLED, BACK), "denied", "smaller", None),
    (approval(ApprovalState.EXPIRED), "expired", None, None),
    (approval(ApprovalState.EXPIRED, YES, decided_at=None), "expired", None, None),
    (approval(ApprovalState.EXPIRED, YES), "approved", None, None),  # used too late
    (approval(ApprovalState.CANCELLED), "cancelled", None, None),
    (approval(ApprovalState.CLAIMED, YES, **USED), "approved", None, ()),
    (approval(ApprovalState.UNKNOWN, YES, **USED), "approved", None, ()),
    (approval(ApprovalState.EXECUTED, YES, **USED), "approved", None, ("succeeded", None)),
    (approval(ApprovalState.FAILED, YES, note="no money", **USED), "approved", None, ("failed", "no money")),
]


@pytest.mark.parametrize(("one", "status", "note", "used"), STATES)
def test_each_state_has_a_word_that_the_protocols_client_understands(one, status, note, used):
    read = parse_request(json.loads(json.dumps(request_document(one, claim_within=timedelta(minutes=10)))))
    assert read.status == status
    assert (None if read.decision is None else read.decision.note) == note
    if used is None:
        assert read.consumption is None
    else:
        outcome = read.consumption.outcome
        assert (() if outcome is None else (outcome.status, outcome.note)) == used
    assert (read.tool, read.server, read.timeout, read.context) == ("refund", "shop", "1h30m", {"a": None})
    assert read.deadline_at == AT + timedelta(minutes=90)
    assert read.agent_reasoning is None


def test_durations_are_read_as_they_are_written_there():
    for text, seconds in (("10m", 600), ("1h30m", 5_400), ("90s", 90), ("60000ms", 60), ("30d", 2_592_000)):
        assert read_timeout(text) == seconds
    for text in ("", "10", "m", "10m ", "-5m", "1.5h", "29s", "31d", "99999999999s", "١٠m"):
        with pytest.raises(RefusedError):
            read_timeout(text)


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (read_outcome, b"{}"),
        (read_outcome, b'{"status": "perhaps"}'),
        (read_outcome, b'{"status": "failed", "note": ""}'),
        (read_outcome, b"[]"),
        (read_outcome, b'{"status": "failed", "status": "succeeded"}'),
        (read_provisioning, b'{"delivery": {"type": "webhook"}}'),
        (
            read_provisioning,
            b'{"delivery": {"type": "mail", "url": "u", "registration_id": "r", "signing_secret": "s"}}',
        ),
        (read_provisioning, b'{"instance_name": 5}'),
        (read_provisioning, b'{"other": 5}'),
    ],
)
def test_other_bodies_are_refused_in_the_protocols_words(read, body):
    with pytest.raises(RefusedError) as error:
        read(body)
    document = error_of(error.value)["error"]
    assert (error.value.status, document["code"], document["type"]) == (400, "invalid_request", "invalid_request")


def test_an_id_is_a_uuid_or_nobodys():
    made = uuid.uuid4()
    assert read_id(str(made)) == read_id(made.hex) == made.hex
    assert [read_id(text) for text in ("", "x", "a" * 1_000)] == ["", "", ""]
