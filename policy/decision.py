"""The decision on one event: outcome, reason, audience, output class, and how far it came (PART-13)."""

from dataclasses import dataclass
from enum import StrEnum

from policy.quick import quick
from policy.reasons import RULES, Reason


class Outcome(StrEnum):
    """What becomes of an event."""

    RESPOND = "respond"
    MUTE = "mute"
    DEFER = "defer"


class Audience(StrEnum):
    """Who reads along (contract: Words). UNKNOWN is treated as EXTERNAL everywhere."""

    EXTERNAL = "external"
    INTERNAL = "internal"
    OPERATOR = "operator"
    UNKNOWN = "unknown"

    @property
    def trusted(self) -> bool:
        """Whether operational facts may be said here (OUT-3)."""
        return self is Audience.INTERNAL or self is Audience.OPERATOR


class OutputClass(StrEnum):
    """What may leave for this audience at most (OUT-3)."""

    BUSINESS = "business"  # a final answer or a short safe error
    OPERATIONAL = "operational"  # also operational facts and allowed progress
    NONE = "none"  # nothing at all


class Gate(StrEnum):
    """The gates in their order; the first that vetoes wins."""

    IDENTITY = "identity"
    KIND = "kind"
    ORIGIN = "origin"
    ACCESS = "access"
    CONSENT = "consent"
    BURST = "burst"
    RATE = "rate"


GATES: tuple[Gate, ...] = tuple(Gate)


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """One decision.

    Attributes:
        outcome: respond, mute or defer.
        reason: stable code; its rules are :attr:`rules`.
        audience: of the event's destination, by the policy in force.
        output_class: what may leave.
        stopped_at: the gate that vetoed or deferred; None: all have passed.
        observe: keep the words as untrusted context (PART-9); only ever with MUTE.
        control: a control command, which needs no agent (PART-8).
    """

    outcome: Outcome
    reason: Reason
    audience: Audience
    output_class: OutputClass
    stopped_at: Gate | None = None
    observe: bool = False
    control: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules that speak through the reason."""
        return RULES[self.reason]

    @property
    def gates_passed(self) -> tuple[Gate, ...]:
        """The gates before the one that stopped the event."""
        return GATES if self.stopped_at is None else GATES[: GATES.index(self.stopped_at)]
