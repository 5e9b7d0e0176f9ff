"""What may become of a question. What is not listed is an error."""

from collections.abc import Mapping
from typing import Final

from bot.model.question import QuestionState

TABLE: Final[Mapping[tuple[QuestionState, str], QuestionState]] = {
    (QuestionState.OPEN, "keep"): QuestionState.OPEN,  # valid values of a partly wrong answer, a toggle, a page
    (QuestionState.OPEN, "confirm"): QuestionState.CONFIRMING,  # FORM-12
    (QuestionState.OPEN, "answer"): QuestionState.ANSWERED,
    (QuestionState.OPEN, "expire"): QuestionState.EXPIRED,
    (QuestionState.OPEN, "cancel"): QuestionState.CANCELLED,
    (QuestionState.CONFIRMING, "confirm"): QuestionState.CONFIRMING,  # another answer instead
    (QuestionState.CONFIRMING, "reopen"): QuestionState.OPEN,
    (QuestionState.CONFIRMING, "answer"): QuestionState.ANSWERED,
    (QuestionState.CONFIRMING, "expire"): QuestionState.EXPIRED,
    (QuestionState.CONFIRMING, "cancel"): QuestionState.CANCELLED,
}


class TransitionError(Exception):
    """A fault of ours: the verb does not lead anywhere from here."""


def after(state: QuestionState, verb: str) -> QuestionState:
    """The state that a verb leads to.

    Raises:
        TransitionError: it leads nowhere from there.
    """
    try:
        return TABLE[state, verb]
    except KeyError:
        raise TransitionError(f"a question that is {state} can't {verb}") from None
