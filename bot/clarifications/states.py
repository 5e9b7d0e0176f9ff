"""What may become of an interaction and of a clarification. What is not listed is an error."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

from bot.model.interaction import ClarificationState, InteractionState

_State = TypeVar("_State", bound=StrEnum)

INTERACTION: Final[Mapping[tuple[InteractionState, str], InteractionState]] = {
    (InteractionState.ACTIVE, "patch"): InteractionState.ACTIVE,
    (InteractionState.ACTIVE, "complete"): InteractionState.COMPLETED,
    (InteractionState.ACTIVE, "cancel"): InteractionState.CANCELLED,
    (InteractionState.ACTIVE, "supersede"): InteractionState.SUPERSEDED,
    (InteractionState.ACTIVE, "expire"): InteractionState.EXPIRED,
}
CLARIFICATION: Final[Mapping[tuple[ClarificationState, str], ClarificationState]] = {
    (ClarificationState.OPEN, "answer"): ClarificationState.ANSWERED,
    (ClarificationState.OPEN, "ask_again"): ClarificationState.AGAIN,
    (ClarificationState.OPEN, "outdate"): ClarificationState.STALE,
    (ClarificationState.OPEN, "cancel"): ClarificationState.CANCELLED,
    (ClarificationState.OPEN, "expire"): ClarificationState.EXPIRED,
    (ClarificationState.ANSWERED, "correct"): ClarificationState.ANSWERED,
}


class TransitionError(Exception):
    """A fault of ours: the verb does not lead anywhere from here."""


def after(table: Mapping[tuple[_State, str], _State], state: _State, verb: str) -> _State:
    """The state that a verb leads to.

    Raises:
        TransitionError: it leads nowhere from there.
    """
    try:
        return table[state, verb]
    except KeyError:
        raise TransitionError(f"what is {state} can't {verb}") from None
