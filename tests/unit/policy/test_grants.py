"""Grants: what they are worth, to whom, where, and until when (OUT-5, OUT-6)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from policy.destination import parse_destination
from policy.event import Chat
from policy.grants import FOR_GOOD, Grant, Issuer, IssuerKind, Muted, admit
from policy.ruleset import Access
from tests.unit.policy.builders import ANN, BOB, DIRECT, GROUP, NOW, STRANGE, STRANGER, TOPIC, policy, with_channel

rule = pytest.mark.rule
POLICY = policy(operators=("ann",))
OPERATOR = Issuer(kind=IssuerKind.OPERATOR, id="ann")
GRANT = Grant(
    id="abc",
    issuer=OPERATOR,
    agent="main",
    destination=GROUP,
    purpose="weekly figures",
    issued_at=NOW - timedelta(hours=1),
    expires_at=NOW + timedelta(hours=1),
    uses=2,
)


def judged(grant=GRANT, **changes):
    given = {
        "agent": "main",
        "destination": GROUP,
        "chat": Chat.GROUP,
        "person": None,
        "dispatchers": ("nightly",),
        "now": NOW,
        "policy": POLICY,
    }
    return admit(grant, **{**given, **changes})


@rule("OUT-6")
@pytest.mark.parametrize(
    "grant",
    [
        GRANT,
        replace(GRANT, used=1),
        replace(GRANT, issuer=Issuer(kind=IssuerKind.DISPATCHER, id="nightly")),
        replace(GRANT, issuer=Issuer(kind=IssuerKind.ADMIN, id="console")),
    ],
)
def test_a_good_grant_lets_a_delivery_go_on(grant):
    assert judged(grant) is None


@rule("OUT-6")
@pytest.mark.parametrize(
    ("grant", "changes", "code"),
    [
        (None, {}, Muted.NO_GRANT),
        (GRANT, {"destination": None}, Muted.INCOMPLETE_DESTINATION),
        (None, {"destination": None}, Muted.INCOMPLETE_DESTINATION),
        (GRANT, {"agent": "other"}, Muted.OTHER_AGENT),
        (GRANT, {"destination": STRANGE}, Muted.OTHER_DESTINATION),
        (replace(GRANT, revoked_at=NOW - timedelta(minutes=1)), {}, Muted.REVOKED),
        (replace(GRANT, expires_at=NOW), {}, Muted.EXPIRED),
        (replace(GRANT, used=2), {}, Muted.USED_UP),
        (replace(GRANT, uses=0), {}, Muted.USED_UP),
        (GRANT, {"policy": replace(POLICY, operators=())}, Muted.ISSUER_NOT_ENTITLED),
        (replace(GRANT, issuer=Issuer(kind=IssuerKind.OPERATOR, id="bob")), {}, Muted.ISSUER_NOT_ENTITLED),
        (replace(GRANT, issuer=Issuer(kind=IssuerKind.DISPATCHER, id="gone")), {}, Muted.ISSUER_NOT_ENTITLED),
        (replace(GRANT, issuer=Issuer(kind=IssuerKind.DISPATCHER, id="ann")), {}, Muted.ISSUER_NOT_ENTITLED),
        (GRANT, {"policy": replace(with_channel(GROUP, access=Access.DENY), operators=("ann",))}, Muted.DENIED_CHANNEL),
        (replace(GRANT, destination=STRANGE), {"destination": STRANGE}, Muted.DENIED_CHANNEL),
        (GRANT, {"chat": Chat.BROADCAST}, Muted.DENIED_CHANNEL),
    ],
)
def test_a_delivery_without_a_good_grant_is_muted_with_its_reason(grant, changes, code):
    assert judged(grant, **changes) is code


@rule("OUT-5", "OUT-6")
def test_threads_are_exact_in_both_directions():
    assert judged(GRANT, destination=TOPIC) is Muted.OTHER_DESTINATION
    in_topic = replace(GRANT, destination=TOPIC)
    assert judged(in_topic, destination=GROUP) is Muted.OTHER_DESTINATION
    assert judged(in_topic, destination=parse_destination(f"{GROUP}:43")) is Muted.OTHER_DESTINATION
    assert judged(in_topic, destination=TOPIC) is None


@rule("OUT-6", "IDENT-5")
@pytest.mark.parametrize(
    ("person", "strangers", "denied", "code"),
    [
        (ANN, Access.UNKNOWN, False, None),
        (STRANGER, Access.ALLOW, False, None),
        (STRANGER, Access.UNKNOWN, False, Muted.DENIED_CHANNEL),
        (BOB, Access.ALLOW, True, Muted.DENIED_CHANNEL),
    ],
)
def test_in_a_private_chat_the_access_of_its_person_counts(person, strangers, denied, code):
    people = dict(POLICY.people)
    if denied:
        people[person] = replace(people[person], access=Access.DENY)
    grant = replace(GRANT, destination=DIRECT)
    given = replace(POLICY, people=people, strangers=strangers)
    assert judged(grant, destination=DIRECT, chat=Chat.DIRECT, person=person, policy=given) is code


def test_a_grant_is_open_while_it_could_be_used():
    assert GRANT.is_open(NOW)
    assert not GRANT.is_open(GRANT.expires_at)
    assert not replace(GRANT, used=2).is_open(NOW)
    assert not replace(GRANT, revoked_at=NOW).is_open(NOW)


def test_an_issuer_is_read_as_it_was_written():
    assert Issuer.of(str(OPERATOR)) == OPERATOR
    with pytest.raises(ValueError, match="agent"):
        Issuer.of("agent:main")


def test_the_words_of_a_grant_are_not_shown_where_values_are():
    assert "weekly" not in repr(GRANT)


def test_what_can_be_mended_in_the_policy_is_not_for_good():
    assert not FOR_GOOD & {Muted.ISSUER_NOT_ENTITLED, Muted.DENIED_CHANNEL, Muted.NO_GRANT}
