"""Batches: what opens one, what joins, what it comes to."""

from datetime import timedelta

import pytest

from policy.bursts import batch_key, extend, joins, open_batch, settle, waits
from policy.decision import Outcome
from policy.event import Kind
from policy.participation import admit
from policy.reasons import Reason
from policy.ruleset import Burst
from tests.unit.policy.builders import MEMORY, NOW, STRANGER, command, event, policy

BURST = Burst(quiet=timedelta(seconds=2), longest=timedelta(seconds=10))


def test_an_album_part_waits_and_an_answerable_text_does_not():
    assert waits(admit(policy(), event(batch="b", attachments=1), MEMORY, now=NOW))
    assert not waits(admit(policy(), event(mentions_self=True), MEMORY, now=NOW))
    assert not waits(admit(policy(), event(identity_known=False), MEMORY, now=NOW))


def test_a_batch_is_whole_after_quiet_and_at_the_latest_after_its_longest_time():
    batch = open_batch(event(batch="b", attachments=1), now=NOW)
    assert batch.due_at(BURST) == NOW + BURST.quiet
    late = extend(batch, event(batch="b", attachments=1), now=NOW + timedelta(seconds=9))
    assert late.due_at(BURST) == NOW + BURST.longest


@pytest.mark.parametrize(
    ("first", "further", "joined"),
    [
        (event(batch="b", attachments=1), event(batch="b", attachments=1), True),
        (event(batch="b", attachments=1), event(batch="c", attachments=1), False),
        (event(batch="b", attachments=1), event(attachments=1), False),
        (event(batch="b", attachments=1), event(batch="b", attachments=1, sender=STRANGER), False),
        (event(attachments=1), event("", attachments=1), True),
        (event(attachments=1), event("a text of its own"), False),
        (event(attachments=1), event("", attachments=1, kind=Kind.EDIT), False),
        (event(attachments=1), event("", attachments=1, command=command("status")), False),
        (event(attachments=1), event("", attachments=1, mentions_others=True), False),
        (event(truncated=True), event("the rest"), True),
        (event(truncated=True, sender=None), event("the rest", sender=None), False),
        (event(batch="b", attachments=1, sender=None), event(batch="b", attachments=1, sender=None), True),
    ],
)
def test_only_a_further_part_joins(first, further, joined):
    assert joins(open_batch(first, now=NOW), further) is joined


def test_the_key_holds_place_person_and_album():
    keys = {batch_key(event()), batch_key(event(sender=STRANGER)), batch_key(event(batch="b"))}
    assert len(keys) == 3


def test_one_part_with_consent_is_consent_for_the_whole_batch():
    parts = [event("", batch="b", attachments=1), event("look", batch="b", attachments=1, mentions_self=True)]
    decision = settle(policy(), [(part, MEMORY) for part in parts], now=NOW)
    assert (decision.outcome, decision.reason) == (Outcome.RESPOND, Reason.EXPLICIT_MENTION)


def test_a_batch_without_consent_is_muted_whole():
    parts = [event("", batch="b", attachments=1), event("holiday", batch="b", attachments=1)]
    decision = settle(policy(), [(part, MEMORY) for part in parts], now=NOW)
    assert (decision.outcome, decision.reason) == (Outcome.MUTE, Reason.NO_ADDRESS)
