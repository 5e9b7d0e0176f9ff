"""What may become of an approval (APPR-4). What is not listed is an error.

Decided and done are two things: a person approves, somebody claims, and the outcome is recorded apart.
"""

from collections.abc import Mapping
from typing import Final

from bot.model.approval import ApprovalState as State

TABLE: Final[Mapping[tuple[State, str], State]] = {
    (State.PROPOSED, "show"): State.IN_REVIEW,
    (State.PROPOSED, "note"): State.PROPOSED,  # one voice of a quorum, on a page
    (State.PROPOSED, "revise"): State.PROPOSED,
    (State.PROPOSED, "approve"): State.APPROVED,  # the rule needs nobody, or time is over (AUTO-7)
    (State.PROPOSED, "deny"): State.DENIED,
    (State.PROPOSED, "return"): State.RETURNED,
    (State.PROPOSED, "expire"): State.EXPIRED,
    (State.PROPOSED, "cancel"): State.CANCELLED,
    (State.IN_REVIEW, "note"): State.IN_REVIEW,  # unfolded, reminded, escalated, one voice of a quorum
    (State.IN_REVIEW, "revise"): State.PROPOSED,
    (State.IN_REVIEW, "approve"): State.APPROVED,
    (State.IN_REVIEW, "deny"): State.DENIED,
    (State.IN_REVIEW, "return"): State.RETURNED,
    (State.IN_REVIEW, "expire"): State.EXPIRED,
    (State.IN_REVIEW, "cancel"): State.CANCELLED,
    (State.RETURNED, "revise"): State.PROPOSED,
    (State.RETURNED, "expire"): State.EXPIRED,
    (State.RETURNED, "cancel"): State.CANCELLED,
    (State.APPROVED, "claim"): State.CLAIMED,
    (State.APPROVED, "revise"): State.PROPOSED,  # what was approved is void (APPR-3)
    (State.APPROVED, "deny"): State.DENIED,  # taken back before it was used
    (State.APPROVED, "expire"): State.EXPIRED,
    (State.APPROVED, "cancel"): State.CANCELLED,
    (State.CLAIMED, "execute"): State.EXECUTED,
    (State.CLAIMED, "fail"): State.FAILED,
    (State.CLAIMED, "lose"): State.UNKNOWN,  # time-out, dropped connection, death after the claim (APPR-6)
    (State.UNKNOWN, "execute"): State.EXECUTED,  # reconciled, with evidence
    (State.UNKNOWN, "fail"): State.FAILED,
}


class TransitionError(Exception):
    """A fault of ours: the verb does not lead anywhere from here."""


def after(state: State, verb: str) -> State:
    """The state that a verb leads to.

    Raises:
        TransitionError: it leads nowhere from there.
    """
    try:
        return TABLE[state, verb]
    except KeyError:
        raise TransitionError(f"an approval that is {state} can't {verb}") from None
