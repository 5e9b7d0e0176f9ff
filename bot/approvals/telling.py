"""What a person is told who has decided, or would have: in their language, by the outcome alone."""

from collections.abc import Mapping
from typing import assert_never

from bot.approvals.showing import decider_of, result_of
from bot.approvals.words import ApprovalWords
from bot.model.approval import Approval, ApprovalState, Verdict
from bot.ports.approvals import (
    Already,
    Decided,
    NoSuch,
    NotEntitled,
    Outcome,
    PasskeyWanted,
    Stale,
    Unseen,
    WordsWanted,
)
from policy.entitlement import Bar


def told(
    outcome: Outcome, code: str, verdict: Verdict, words: ApprovalWords, *, people: Mapping[str, str], page: str
) -> str:
    """What came of a decision.

    Args:
        outcome: of it.
        code: of the approval.
        verdict: what they said.
        words: in their language.
        people: what people are called, by their ids in the policy.
        page: where a passkey approves it; empty: nowhere.
    """
    match outcome:
        case Decided(approval=now):
            more = verdict is Verdict.APPROVE and now.state.undecided
            return words.say("told.voice" if more else f"told.{verdict.value}", code=code)
        case Stale():
            return words.say("told.stale", code=code)
        case Already(approval=now):
            return already(now, words, people)
        case NotEntitled(why=why):
            return barred_by(why, code, words)
        case Unseen():
            return words.say("told.unseen", code=code)
        case PasskeyWanted():
            sentence = words.say("told.passkey", code=code)
            return f"{sentence} {page}" if page else sentence
        case NoSuch():
            return words.say("told.no_such")
        case WordsWanted():
            return words.say("told.words")
        case _:
            assert_never(outcome)


def already(approval: Approval, words: ApprovalWords, people: Mapping[str, str]) -> str:
    """It was decided before: how, and by whom."""
    if approval.state is ApprovalState.EXPIRED:
        return words.say("told.expired", code=approval.code)
    person, result = decider_of(approval, words, people), result_of(approval, words)
    if not person:
        return words.say("told.already", code=approval.code, result=result)
    return words.say("told.already_by", code=approval.code, result=result, person=person)


def barred_by(why: str, code: str, words: ApprovalWords) -> str:
    """Why somebody else has to decide."""
    match why:
        case Bar.REQUESTER.value:
            return words.say("told.requester")
        case Bar.VOTED.value:
            return words.say("told.voted", code=code)
        case _:
            return words.say("told.not_yours")
