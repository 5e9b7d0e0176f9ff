"""Whose invites the bot follows (IDENT-5), with the events that only Matrix has."""

from dataclasses import replace

import pytest

from policy.decision import Gate, Outcome
from policy.event import Chat, Kind, Origin, Original
from policy.invites import answer
from policy.participation import admit
from policy.reasons import Reason
from policy.ruleset import Access, Invites, Person
from tests.unit.policy.builders import (
    ANN,
    BOB,
    GROUP,
    MEMORY,
    NOW,
    STRANGE,
    STRANGER,
    direct,
    event,
    policy,
    with_channel,
)

BY_BOB = policy(invites=Invites(inviters=frozenset({"bob"})))
DENIED = Person(id="bob", accounts=frozenset({BOB}), access=Access.DENY)
WELCOME = Person(id="bob", accounts=frozenset({BOB}), access=Access.ALLOW)


def bob(person, **changes):
    base = policy(**changes)
    return replace(base, people={**base.people, BOB: person})


def invite(**changes):
    return event("", **{"kind": Kind.INVITE, "destination": STRANGE, "message": None, **changes})


def judged(by, an_event):
    return admit(by, an_event, MEMORY, now=NOW)


@pytest.mark.parametrize(
    ("by", "an_event"),
    [
        (policy(), invite(sender=ANN)),  # an operator, anywhere
        (BY_BOB, invite()),
        (policy(), invite(destination=GROUP, sender=STRANGER)),  # anybody, into a listed channel
        (policy(), direct("", kind=Kind.INVITE)),  # strangers are welcome in this policy
        (policy(strangers=Access.DENY), direct("", kind=Kind.INVITE, sender=ANN)),
        (bob(WELCOME, strangers=Access.UNKNOWN), direct("", kind=Kind.INVITE, sender=BOB)),
    ],
)
def test_an_invite_is_accepted_by_who_invites_and_where_to(by, an_event):
    decision = judged(by, an_event)
    assert (decision.outcome, decision.reason, decision.control) == (Outcome.RESPOND, Reason.INVITE_ACCEPTED, True)


@pytest.mark.parametrize(
    ("by", "an_event"),
    [
        (policy(), invite()),
        (policy(), invite(sender=STRANGER)),
        (BY_BOB, invite(sender=STRANGER)),
        (policy(invites=Invites(listed_rooms=False)), invite(destination=GROUP, sender=STRANGER)),
        (bob(DENIED), invite(destination=GROUP)),
        (with_channel(GROUP, access=Access.DENY), invite(destination=GROUP, sender=ANN)),
        (policy(bots=frozenset({BOB}), invites=Invites(inviters=frozenset({"bob"}))), invite()),
        (BY_BOB, invite(origin=Origin.SELF)),
        (policy(strangers=Access.UNKNOWN), direct("", kind=Kind.INVITE)),
        (bob(DENIED), direct("", kind=Kind.INVITE, sender=BOB)),
    ],
)
def test_every_other_invite_is_left_alone_or_declined_as_the_policy_says(by, an_event):
    decision = judged(by, an_event)
    assert (decision.outcome, decision.reason) == (Outcome.MUTE, Reason.INVITE_NOT_AUTHORISED)
    assert decision.stopped_at is Gate.ACCESS
    declining = replace(by, invites=replace(by.invites, decline=True))
    assert judged(declining, an_event).reason is Reason.INVITE_DECLINED
    assert judged(declining, an_event).outcome is Outcome.RESPOND


def test_no_direct_invite_is_accepted_where_direct_chats_are_denied():
    base = policy()
    closed = replace(base, direct=replace(base.direct, access=Access.DENY))
    an_event = direct("", kind=Kind.INVITE, sender=ANN)
    assert answer(closed, an_event, closed.direct, closed.person(ANN)) is Reason.INVITE_NOT_AUTHORISED


def test_a_bot_that_the_platform_takes_for_a_person_is_muted_as_a_bot():
    assert judged(policy(bots=frozenset({BOB})), event(mentions_self=True)).reason is Reason.BOT_ORIGIN


def test_what_is_from_before_the_bot_was_there_is_history_whatever_its_clock_says():
    assert judged(policy(), event(mentions_self=True, history=True)).reason is Reason.HISTORY


@pytest.mark.parametrize(
    ("original", "reason"),
    [(Original.FOREIGN, Reason.EDIT_BY_ANOTHER), (Original.UNKNOWN, Reason.EDIT_OF_UNKNOWN)],
)
def test_an_edit_of_what_somebody_else_wrote_or_nobody_knows_is_no_request(original, reason):
    edit = event(kind=Kind.EDIT, mentions_self=True)
    assert admit(policy(), edit, replace(MEMORY, original=original), now=NOW).reason is reason


@pytest.mark.parametrize(
    ("by", "an_event", "outcome", "reason"),
    [
        (policy(), event("", kind=Kind.UNDECRYPTABLE), Outcome.DEFER, Reason.UNDECRYPTABLE),
        (policy(), event("", kind=Kind.UNDECRYPTABLE, history=True), Outcome.MUTE, Reason.HISTORY),
        (policy(), event("", kind=Kind.UNDECRYPTABLE, origin=Origin.SELF), Outcome.MUTE, Reason.SELF_ORIGIN),
        (policy(), event("", kind=Kind.UNDECRYPTABLE, destination=STRANGE), Outcome.MUTE, Reason.UNKNOWN_CHANNEL),
        (
            policy(answer_unknown=True),
            event("", kind=Kind.UNDECRYPTABLE, destination=STRANGE),
            Outcome.DEFER,
            Reason.UNDECRYPTABLE,
        ),
    ],
)
def test_what_cannot_be_read_yet_waits_only_where_it_could_come_to_anything(by, an_event, outcome, reason):
    decision = judged(by, an_event)
    assert (decision.outcome, decision.reason) == (outcome, reason)


def test_a_direct_chat_is_a_place_of_its_own_kind_for_invites():
    assert judged(policy(strangers=Access.UNKNOWN), invite(chat=Chat.DIRECT)).reason is Reason.INVITE_NOT_AUTHORISED


def test_invites_of_others_than_operators_have_a_rate():
    busy = replace(MEMORY, person_controls=policy().direct.rate.person)
    assert admit(policy(), direct("", kind=Kind.INVITE), busy, now=NOW).reason is Reason.RATE_LIMITED
    assert admit(policy(), invite(sender=ANN), busy, now=NOW).reason is Reason.INVITE_ACCEPTED
