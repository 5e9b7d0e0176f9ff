"""How people see and decide approvals: hearing, changing values, unfolding what did not fit."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.approvals.editing import Editing
from bot.approvals.hearing import ApprovalHearing
from bot.approvals.room import ApprovalRoom
from bot.approvals.unfolding import Unfolding
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door
from bot.ports.approvals import ApprovalStore
from bot.questions.room import QuestionRoom
from policy.ruleset import Policy


@dataclass(frozen=True, kw_only=True, slots=True)
class Deciding:
    """Attributes: hearing: taps and words. editing: other values. unfolding: what has arrived in full."""

    hearing: ApprovalHearing
    editing: Editing
    unfolding: Unfolding


def deciding(
    approvals: ApprovalRoom,
    questions: QuestionRoom,
    *,
    store: ApprovalStore,
    policy: Callable[[], Policy],
    door: Door,
    dispatcher: Dispatcher,
    clock: Callable[[], datetime],
) -> Deciding:
    """Put it together."""
    editing = Editing(approvals, questions, cards=approvals.cards, policy=policy, door=door, clock=clock)
    unfolding = Unfolding(approvals, store=store)
    hearing = ApprovalHearing(
        approvals,
        store=store,
        cards=approvals.cards,
        requirement=approvals.book.widened,
        policy=policy,
        door=door,
        dispatcher=dispatcher,
        unfold=unfolding.unfold,
        change=editing.ask,
        clock=clock,
    )
    return Deciding(hearing=hearing, editing=editing, unfolding=unfolding)
