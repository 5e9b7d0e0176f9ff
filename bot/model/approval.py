"""An approval (APPR): an action that a person has to see before it happens; or, for drafts, before it is said (AUTO-6).

A draft is an approval whose action is to say words at a destination, and whose executor is the gateway's own door; a
call is one whose executor is the agent, which claims it and tells the outcome. The states are a table
(:mod:`bot.approvals.states`). Every change names the revision that it changes, and every decision the version that
was shown.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import rfc8785

from bot.model.errors import ProposalError
from policy.approvals import Window
from policy.destination import Destination
from policy.event import Chat

SAY: Final = "say"
"""The action of a draft; its parameters are ``text`` and ``files``."""
ITSELF: Final = "discreet"
"""The system on which drafts act."""


class Subject(StrEnum):
    """What is to be approved."""

    CALL = "call"
    DRAFT = "draft"


class ApprovalState(StrEnum):
    """Where an approval stands (APPR-4)."""

    PROPOSED = "proposed"  # stored, nobody has seen it yet
    IN_REVIEW = "in_review"
    APPROVED = "approved"
    DENIED = "denied"
    RETURNED = "returned"  # for changes; a revision brings it back
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    CLAIMED = "claimed"  # used: the action may be under way
    EXECUTED = "executed"
    FAILED = "failed"
    UNKNOWN = "unknown"  # nobody knows whether it happened: blocks a repeat until somebody reconciles it (APPR-6)

    @property
    def undecided(self) -> bool:
        """Whether people can still decide."""
        return self in (ApprovalState.PROPOSED, ApprovalState.IN_REVIEW)

    @property
    def closed(self) -> bool:
        """Whether nothing more comes of it by itself."""
        return self in _CLOSED


_CLOSED: Final = frozenset(
    {
        ApprovalState.DENIED,
        ApprovalState.EXPIRED,
        ApprovalState.CANCELLED,
        ApprovalState.EXECUTED,
        ApprovalState.FAILED,
    }
)


class Verdict(StrEnum):
    """What a person says to it."""

    APPROVE = "approve"
    DENY = "deny"
    RETURN = "return"


class DecidedBy(StrEnum):
    """By which way a decision came."""

    TAP = "tap"
    REPLY = "reply"  # a closed word, as a reply to the card or to what asked for the words
    COMMAND = "command"  # approve CODE
    FORM = "form"  # edited and approved
    PASSKEY = "passkey"
    TIME = "time"  # AUTO-7
    POLICY = "policy"  # the rule needs nobody, or forbids it


class Assurance(StrEnum):
    """How sure it has to be who decides."""

    NORMAL = "normal"  # the platform's own word
    HIGH = "high"  # a passkey bound to the version (APPR-9)


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """What is to happen: ``name`` of the tool, ``system`` it acts on, ``parameters`` as a JSON object."""

    name: str
    system: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def version(self) -> str:
        """SHA-256 of the RFC 8785 form of {action, system, parameters}, hexadecimal (APPR-3).

        Raises:
            ProposalError: the parameters have no canonical form (NaN, integers from 2^53, halves of surrogate pairs).
        """
        document: Any = {"action": self.name, "system": self.system, "parameters": dict(self.parameters)}
        try:
            return hashlib.sha256(rfc8785.dumps(document)).hexdigest()
        except (rfc8785.CanonicalizationError, UnicodeError, RecursionError, TypeError, ValueError):
            raise ProposalError("parameters", "they have no canonical JSON form") from None


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """A condition of the agent's own, such as an evaluation that has to be ready (APPR-7)."""

    name: str
    passed: bool
    detail: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What an agent proposes.

    Attributes:
        action: exactly what would run.
        reason: why, in the agent's words.
        task: the task it comes from.
        gates: conditions that are met or not.
        target: what has to be still there when it is claimed; empty: nothing is checked.
        assurance: what the agent asks for; the policy can ask for more.
        ttl_s: seconds until it expires; None: as the policy says. The policy's time is the longest.
        key: the same proposal made again is the same; None: it is a new one.
        schema: JSON Schema of the parameters, for the form in which operators change them; None: made from the values.
        addressee: id of the one whose word the agent wants; empty: whoever may decide. It narrows what the policy says,
            and a call that would need nobody is asked for all the same.
        shown: where that person can be asked, where the policy does not say where it is shown.
        as_is: nobody can change its values: who proposes has no way to take others.
        context: the agent's own, given back to it as it was; nobody else sees it.
    """

    action: Action
    reason: str = field(default="", repr=False)
    task: str = field(default="", repr=False)
    gates: tuple[Gate, ...] = ()
    target: str = field(default="", repr=False)
    assurance: Assurance = Assurance.NORMAL
    ttl_s: int | None = None
    key: str | None = None
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    addressee: str = ""
    shown: tuple[Window, ...] = ()
    as_is: bool = False
    context: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where the proposal comes from, or where a draft is to be said.

    Attributes:
        destination: of the conversation.
        chat: kind of place.
        person: in a direct chat the account of the other side.
        requester: account of whoever made the request (separation of duties, APPR-8).
        event_id: the inbox row of that request.
    """

    destination: Destination
    chat: Chat
    person: str | None = None
    requester: str | None = None
    event_id: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One decision on one version.

    Attributes:
        version: that was shown.
        verdict: what was said.
        person: id of the principal in the policy; empty: time or the policy itself.
        account: of that person; None: time or the policy.
        way: by which it came.
        words: reason, comment or justification (APPR-7).
        at: when.
        for_whom: id of the principal who delegated it (APPR-8); empty: nobody.
        assurance: that was wanted of it, by the agent or by the policy of that moment.
        proof: of a passkey (APPR-9), JSON.
    """

    version: str
    verdict: Verdict
    person: str
    account: str | None
    way: DecidedBy
    at: datetime
    words: str = field(default="", repr=False)
    for_whom: str = ""
    assurance: Assurance = Assurance.NORMAL
    proof: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """An approval as it is stored.

    Attributes:
        id: opaque.
        code: short, for people: ``approve K7QM2``; unique among those that are not closed.
        agent: name of the agent that proposes.
        key: unique within the agent.
        subject: a call or a draft.
        proposal: as it stands now.
        version: of the action as it stands now (APPR-3).
        origin: None: it belongs to no conversation.
        language: of the gateway's words in what is sent to the origin.
        rule: name of the policy's rule that asked for it.
        state: where it stands.
        revision: rises with each change; a change names the one that it changes.
        unfolded: destinations where everything of this version was shown that did not fit into the card (APPR-2).
        decisions: of all versions, in order.
        heard: how many of them were made before the version as it stands: they say nothing of it (APPR-3).
        replaced: (version, id of whoever replaced it or the empty text for the agent), in order.
        note: what was said of the outcome, or the evidence of a reconciliation.
        claim_key: with which it was claimed: the same claim made again is the same.
        auto_at: a draft is approved by time then (AUTO-7).
        reminded_at: when people were last reminded.
        escalated: others were asked, too.
    """

    id: str
    code: str
    agent: str
    key: str
    subject: Subject
    proposal: Proposal
    version: str
    origin: Origin | None
    language: str = "en"
    rule: str = ""
    state: ApprovalState = ApprovalState.PROPOSED
    revision: int = 1
    unfolded: frozenset[str] = frozenset()
    decisions: tuple[Decision, ...] = ()
    heard: int = 0
    replaced: tuple[tuple[str, str], ...] = ()
    note: str = field(default="", repr=False)
    claim_key: str = field(default="", repr=False)
    proposed_at: datetime
    expires_at: datetime | None
    auto_at: datetime | None = None
    reminded_at: datetime | None = None
    escalated: bool = False
    decided_at: datetime | None = None
    claimed_at: datetime | None = None
    closed_at: datetime | None = None

    @property
    def action(self) -> Action:
        """What would run."""
        return self.proposal.action

    @property
    def standing(self) -> tuple[Decision, ...]:
        """The decisions on the version as it stands now."""
        return tuple(decision for decision in self.decisions[self.heard :] if decision.version == self.version)
