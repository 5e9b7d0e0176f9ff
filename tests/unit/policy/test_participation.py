"""The gates: every rule with the events that it must and must not let through."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.decision import GATES, Audience, Gate, Outcome, OutputClass
from policy.destination import parse_destination
from policy.event import Chat, Kind, Memory, Origin, Original, Target
from policy.participation import CONTROL_COMMANDS, admit
from policy.reasons import RULES, Reason
from policy.ruleset import Access, BotRequest, Observation, Rate
from tests.unit.policy.builders import (
    ANN,
    BOB,
    DIRECT,
    GROUP,
    INTERNAL,
    MEMORY,
    NOW,
    ROBOT,
    STRANGE,
    STRANGER,
    TO_OTHER,
    TO_SELF,
    TO_UNKNOWN,
    TOPIC,
    command,
    direct,
    event,
    policy,
    with_channel,
)

R = Reason


def judged(an_event, *, by=None, memory=MEMORY, **how):
    return admit(by or policy(), an_event, memory, now=NOW, **how)


@pytest.mark.parametrize(
    ("an_event", "reason"),
    [
        (event(mentions_self=True), R.EXPLICIT_MENTION),
        (event(mentions_self=True, mentions_others=True), R.EXPLICIT_MENTION),
        (event(mentions_self=True, reply=TO_OTHER), R.EXPLICIT_MENTION),
        (event("Jordan, see this", mentions_self=True), R.EXPLICIT_MENTION),
        (event(mentions_self=True, command=command("frobnicate")), R.EXPLICIT_MENTION),
        (event(mentions_self=True, origin=Origin.ANONYMOUS, sender=None), R.EXPLICIT_MENTION),
        (event(mentions_self=True, destination=TOPIC), R.EXPLICIT_MENTION),
        (event(mentions_self=True, kind=Kind.EDIT), R.EXPLICIT_MENTION),
        (event(command=command("status")), R.DIRECTED_COMMAND),
        (event(command=command("stop")), R.CONTROL_COMMAND),
        (event(reply=TO_SELF), R.DIRECT_REPLY),
        (event(kind=Kind.TAP), R.TAP),
        (direct(), R.DIRECT_CHAT),
        (direct("/frobnicate", command=command("frobnicate", Target.NOBODY)), R.DIRECT_CHAT),
        (direct("/stop", command=command("stop", Target.NOBODY)), R.CONTROL_COMMAND),
    ],
)
def test_what_asks_for_the_agent_is_answered(an_event, reason):
    decision = judged(an_event)
    assert (decision.outcome, decision.reason) == (Outcome.RESPOND, reason)
    assert decision.gates_passed == GATES
    assert decision.rules == RULES[reason]


@pytest.mark.parametrize(
    ("an_event", "reason"),
    [
        (event(), R.NO_ADDRESS),
        (event("", attachments=1), R.NO_ADDRESS),
        (event(destination=INTERNAL), R.NO_ADDRESS),
        (event(apparent_reply=True), R.NOT_A_REPLY),
        (event(mentions_others=True), R.ADDRESSED_TO_OTHER),
        (event(mentions_others=True, reply=TO_SELF), R.ADDRESSED_TO_OTHER),
        (event("Jordan, can you confirm?", reply=TO_SELF, sender=ANN), R.SALUTATION_OF_OTHER),
        (event("Jordan Smith: see above", reply=TO_SELF, sender=STRANGER), R.SALUTATION_OF_OTHER),
        (event(reply=TO_OTHER), R.REPLY_TO_OTHER),
        (event(reply=TO_UNKNOWN), R.REPLY_AUTHOR_UNKNOWN),
        (event(command=command("status", Target.OTHER), mentions_self=True), R.ADDRESSED_TO_OTHER),
        (event(command=command("status", Target.NOBODY)), R.NO_ADDRESS),
        (event(command=command("frobnicate")), R.UNRECOGNISED_COMMAND),
        (direct("/status@other", command=command("status", Target.OTHER)), R.ADDRESSED_TO_OTHER),
        (direct("  "), R.NO_SUBSTANCE),
        (direct(origin=Origin.ANONYMOUS), R.NO_ADDRESS),
    ],
)
def test_what_does_not_ask_for_the_agent_is_muted_at_the_consent_gate(an_event, reason):
    decision = judged(an_event)
    assert (decision.outcome, decision.reason, decision.stopped_at) == (Outcome.MUTE, reason, Gate.CONSENT)
    assert decision.output_class is OutputClass.NONE


def test_ones_own_name_or_an_unlisted_one_is_no_salutation_of_another():
    assert judged(event("Jordan, as I said", reply=TO_SELF, sender=BOB)).reason is R.DIRECT_REPLY
    assert judged(event("Maria, can you?", reply=TO_SELF)).reason is R.DIRECT_REPLY


@pytest.mark.parametrize(
    ("an_event", "reason", "gate"),
    [
        (event(chat=Chat.DELEGATED, mentions_self=True), R.BUSINESS, Gate.KIND),
        (event(chat=Chat.BROADCAST, mentions_self=True), R.CHANNEL_POST, Gate.KIND),
        (event(kind=Kind.SERVICE, mentions_self=True), R.SERVICE, Gate.KIND),
        (event(kind=Kind.REACTION), R.REACTION, Gate.KIND),
        (event(kind=Kind.NOTICE, mentions_self=True), R.NOTICE, Gate.KIND),
        (event(kind=Kind.AUTOMATIC_FORWARD, mentions_self=True), R.AUTOMATIC_FORWARD, Gate.KIND),
        (event(kind=Kind.MALFORMED), R.MALFORMED, Gate.KIND),
        (event(kind=Kind.REDACTION), R.WITHDRAWN, Gate.KIND),
        (event(mentions_self=True, sent_at=NOW - timedelta(days=60)), R.HISTORY, Gate.KIND),
        (event(mentions_self=True, sent_at=NOW - timedelta(hours=2)), R.BACKLOG, Gate.KIND),
        (event(mentions_self=True, origin=Origin.SELF), R.SELF_ORIGIN, Gate.ORIGIN),
        (event(mentions_self=True, origin=Origin.SYNTHETIC), R.SYNTHETIC, Gate.ORIGIN),
        (direct(origin=Origin.SYNTHETIC), R.SYNTHETIC, Gate.ORIGIN),
        (event(mentions_self=True, origin=Origin.UNKNOWN), R.MALFORMED, Gate.ORIGIN),
        (event(mentions_self=True, origin=Origin.BOT, sender=ROBOT), R.BOT_ORIGIN, Gate.ORIGIN),
        (direct(origin=Origin.BOT, sender=ROBOT), R.BOT_ORIGIN, Gate.ORIGIN),
        (event(mentions_self=True, destination=STRANGE), R.UNKNOWN_CHANNEL, Gate.ACCESS),
    ],
)
def test_earlier_gates_veto_whatever_the_words_say(an_event, reason, gate):
    decision = judged(an_event)
    assert (decision.outcome, decision.reason, decision.stopped_at) == (Outcome.MUTE, reason, gate)
    assert decision.gates_passed == GATES[: GATES.index(gate)]


def test_an_event_without_a_first_start_is_history():
    assert judged(event(mentions_self=True), memory=Memory(first_start=None)).reason is R.HISTORY


def test_a_withdrawn_request_is_muted():
    assert judged(event(mentions_self=True), memory=replace(MEMORY, withdrawn=True)).reason is R.WITHDRAWN


@pytest.mark.parametrize(
    ("original", "reason"),
    [
        (Original.UNSEEN, R.EXPLICIT_MENTION),
        (Original.MUTED, R.EXPLICIT_MENTION),
        (Original.TAKEN, R.EDIT_OF_SEEN_MESSAGE),
    ],
)
def test_an_edit_starts_at_most_what_the_original_did_not(original, reason):
    memory = replace(MEMORY, original=original)
    assert judged(event(kind=Kind.EDIT, mentions_self=True), memory=memory).reason is reason


@pytest.mark.parametrize(
    ("an_event", "original", "reason"),
    [
        (event(kind=Kind.EDIT), Original.TAKEN, R.CORRECTION),
        (event(kind=Kind.EDIT, mentions_others=True), Original.TAKEN, R.ADDRESSED_TO_OTHER),
        (event(kind=Kind.EDIT, mentions_self=True, mentions_others=True), Original.TAKEN, R.CORRECTION),
        (direct(kind=Kind.EDIT), Original.TAKEN, R.CORRECTION),
        (event(kind=Kind.EDIT), Original.FOREIGN, R.EDIT_BY_ANOTHER),
        (event(kind=Kind.EDIT), Original.MUTED, R.NO_ADDRESS),
        (event(), Original.UNSEEN, R.NO_ADDRESS),
    ],
)
def test_an_edit_of_an_answer_is_a_correction(an_event, original, reason):
    made = judged(an_event, memory=replace(MEMORY, original=original, corrects=True))
    assert made.reason is reason
    assert made.control is (reason is R.CORRECTION)


@pytest.mark.parametrize(
    ("an_event", "reason", "gate"),
    [
        (event(identity_known=False, mentions_self=True), R.IDENTITY_UNKNOWN, Gate.IDENTITY),
        (direct(identity_known=False), R.IDENTITY_UNKNOWN, Gate.IDENTITY),
        (event(kind=Kind.UNDECRYPTABLE), R.UNDECRYPTABLE, Gate.KIND),
        (event(batch="b", attachments=1), R.ALBUM_PART, Gate.BURST),
        (direct(batch="b", attachments=1), R.ALBUM_PART, Gate.BURST),
        (event(mentions_self=True, attachments=1), R.BURST_PART, Gate.BURST),
        (event(mentions_self=True, truncated=True), R.FRAGMENT, Gate.BURST),
    ],
)
def test_what_cannot_be_judged_yet_is_deferred(an_event, reason, gate):
    decision = judged(an_event)
    assert (decision.outcome, decision.reason, decision.stopped_at) == (Outcome.DEFER, reason, gate)


def test_an_album_directed_at_another_person_is_muted_at_once():
    assert judged(event(batch="b", attachments=1, mentions_others=True)).reason is R.ADDRESSED_TO_OTHER


def test_control_commands_skip_the_burst_gate():
    decision = judged(event("/stop", command=command("stop"), attachments=1))
    assert (decision.outcome, decision.control) == (Outcome.RESPOND, True)
    assert "stop" in CONTROL_COMMANDS


@pytest.mark.parametrize("counts", [{"person_requests": 20}, {"channel_requests": 60}])
def test_too_many_requests_a_minute_are_muted_and_stop_still_works(counts):
    memory = replace(MEMORY, **counts)
    assert judged(event(mentions_self=True), memory=memory).reason is R.RATE_LIMITED
    assert judged(event(command=command("stop")), memory=memory).reason is R.CONTROL_COMMAND


def test_control_commands_have_a_rate_of_their_own():
    memory = replace(MEMORY, person_controls=20)
    assert judged(event(command=command("stop")), memory=memory).reason is R.RATE_LIMITED
    assert judged(event(mentions_self=True), memory=memory).reason is R.EXPLICIT_MENTION


def test_the_rate_of_a_channel_is_the_policys():
    by = with_channel(GROUP, rate=Rate(person=1, channel=5))
    assert judged(event(mentions_self=True), by=by, memory=replace(MEMORY, person_requests=1)).outcome is Outcome.MUTE


def test_a_denied_person_is_muted_everywhere():
    base = policy()
    denied = replace(base, people={**base.people, BOB: replace(base.people[BOB], access=Access.DENY)})
    assert judged(event(mentions_self=True), by=denied).reason is R.PERSON_DENIED
    assert judged(direct(sender=BOB), by=denied).reason is R.PERSON_DENIED


def test_a_denied_channel_is_muted():
    assert judged(event(mentions_self=True), by=with_channel(GROUP, access=Access.DENY)).reason is R.CHANNEL_DENIED


@pytest.mark.parametrize(
    ("strangers", "sender", "reason"),
    [
        (Access.UNKNOWN, STRANGER, R.PERSON_UNKNOWN),
        (Access.DENY, STRANGER, R.PERSON_DENIED),
        (Access.ALLOW, STRANGER, R.DIRECT_CHAT),
        (Access.UNKNOWN, ANN, R.DIRECT_CHAT),
        (Access.UNKNOWN, BOB, R.PERSON_UNKNOWN),
    ],
)
def test_access_to_direct_chats_is_the_policys(strangers, sender, reason):
    assert judged(direct(sender=sender), by=policy(strangers=strangers)).reason is reason


def test_a_person_who_is_allowed_may_write_directly_where_strangers_may_not():
    base = policy(strangers=Access.DENY)
    allowed = replace(base, people={**base.people, BOB: replace(base.people[BOB], access=Access.ALLOW)})
    assert judged(direct(sender=BOB), by=allowed).reason is R.DIRECT_CHAT


def test_direct_chats_can_be_switched_off():
    base = policy()
    off = replace(base, direct=replace(base.direct, access=Access.DENY))
    assert judged(direct(), by=off).reason is R.PERSON_DENIED


def test_only_listed_people_are_heard_where_the_policy_says_so():
    by = with_channel(GROUP, listed_people_only=True)
    assert judged(event(mentions_self=True, sender=STRANGER), by=by).reason is R.PERSON_UNKNOWN
    assert judged(event(mentions_self=True, sender=BOB), by=by).reason is R.EXPLICIT_MENTION


def test_an_explicit_request_in_an_unknown_channel_is_answered_only_if_the_policy_says_so_and_with_external_limits():
    by = policy(answer_unknown=True)
    decision = judged(event(destination=STRANGE, mentions_self=True), by=by)
    assert (decision.outcome, decision.audience) == (Outcome.RESPOND, Audience.UNKNOWN)
    assert decision.output_class is OutputClass.BUSINESS
    assert judged(event(destination=STRANGE, command=command("status")), by=by).outcome is Outcome.RESPOND
    assert judged(event(destination=STRANGE, command=command("nope")), by=by).reason is R.UNKNOWN_CHANNEL
    assert judged(event(destination=STRANGE, reply=TO_SELF), by=by).reason is R.UNKNOWN_CHANNEL
    assert judged(event(destination=STRANGE), by=by).reason is R.UNKNOWN_CHANNEL


@pytest.mark.parametrize(
    ("request_changes", "outcome"),
    [
        ({}, Outcome.RESPOND),
        ({"until": NOW}, Outcome.MUTE),
        ({"bot": "telegram:7999"}, Outcome.MUTE),
        ({"channel": INTERNAL}, Outcome.MUTE),
        ({"channel": TOPIC}, Outcome.RESPOND),
    ],
)
def test_another_bot_is_heard_only_within_an_operators_scoped_request(request_changes, outcome):
    request = BotRequest(bot=ROBOT, channel=GROUP, requested_by="ann", until=NOW + timedelta(hours=1))
    by = policy(bot_requests=(replace(request, **request_changes),))
    said = event(mentions_self=True, origin=Origin.BOT, sender=ROBOT, destination=TOPIC)
    assert judged(said, by=by).outcome is outcome


def test_a_bot_with_a_request_still_needs_consent():
    by = policy(
        bot_requests=(BotRequest(bot=ROBOT, channel=GROUP, requested_by="ann", until=NOW + timedelta(hours=1)),)
    )
    assert judged(event(origin=Origin.BOT, sender=ROBOT), by=by).reason is R.NO_ADDRESS


def test_open_questions_are_answered_only_in_a_trusted_channel_that_says_so():
    by = with_channel(INTERNAL, require_mention=False)
    assert judged(event(destination=INTERNAL), by=by).reason is R.OPEN_QUESTION
    assert judged(event("", destination=INTERNAL, attachments=1), by=by).reason is R.NO_SUBSTANCE
    assert judged(event(destination=INTERNAL, mentions_others=True), by=by).reason is R.ADDRESSED_TO_OTHER
    assert judged(event(destination=INTERNAL, reply=TO_OTHER), by=by).reason is R.REPLY_TO_OTHER
    assert judged(event(), by=with_channel(GROUP, require_mention=False)).reason is R.NO_ADDRESS


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, R.OPERATOR_MESSAGE),
        ({"sender": BOB}, R.NO_ADDRESS),
        ({"sender": STRANGER}, R.NO_ADDRESS),
        ({"text": " "}, R.NO_SUBSTANCE),
        ({"origin": Origin.ANONYMOUS, "sender": None}, R.NO_ADDRESS),
        ({"destination": GROUP}, R.NO_ADDRESS),
    ],
)
def test_automatic_answers_to_operators_need_every_condition(changes, reason):
    by = with_channel(INTERNAL, answer_operators=True)
    assert judged(event(**{"destination": INTERNAL, "sender": ANN, **changes}), by=by).reason is reason


def test_unaddressed_words_are_observed_only_where_the_policy_keeps_them():
    kept = Observation(retention=timedelta(days=1), readers=frozenset({"main"}))
    by = with_channel(GROUP, observation=kept)
    assert judged(event(), by=by).observe is True
    assert judged(event()).observe is False
    assert judged(event(mentions_self=True), by=by).observe is False
    assert judged(event(origin=Origin.BOT, sender=ROBOT), by=by).observe is False


@pytest.mark.parametrize(
    ("sender", "audience", "output_class"),
    [(ANN, Audience.OPERATOR, OutputClass.OPERATIONAL), (STRANGER, Audience.EXTERNAL, OutputClass.BUSINESS)],
)
def test_a_direct_chat_is_external_unless_its_person_is_a_listed_operator(sender, audience, output_class):
    decision = judged(direct(sender=sender))
    assert (decision.audience, decision.output_class) == (audience, output_class)


def test_a_rule_that_fails_is_silence():
    broken = replace(event(mentions_self=True), sent_at=None)
    decision = judged(broken)
    assert (decision.outcome, decision.reason) == (Outcome.MUTE, R.RULE_FAILED)
    assert decision.audience is Audience.UNKNOWN


def test_every_reason_names_its_rules():
    assert set(RULES) == set(Reason)


EVENTS = st.builds(
    event,
    text=st.text(max_size=40),
    chat=st.sampled_from(Chat),
    kind=st.sampled_from(Kind),
    origin=st.sampled_from(Origin),
    sender=st.sampled_from([ANN, BOB, STRANGER, None]),
    destination=st.sampled_from([GROUP, TOPIC, INTERNAL, STRANGE, DIRECT]),
    attachments=st.integers(0, 3),
    batch=st.sampled_from([None, "b"]),
    mentions_self=st.booleans(),
    mentions_others=st.booleans(),
    identity_known=st.booleans(),
    reply=st.sampled_from([None, TO_SELF, TO_OTHER, TO_UNKNOWN]),
    command=st.sampled_from([None, command("status"), command("x"), command("status", Target.OTHER)]),
)


@given(EVENTS)
def test_no_event_is_answered_without_evidence(an_event):
    decision = judged(an_event, by=with_channel(INTERNAL, require_mention=False, answer_operators=True))
    if (
        decision.outcome is Outcome.RESPOND
        and an_event.chat is Chat.GROUP
        and an_event.kind not in (Kind.TAP, Kind.INVITE)
    ):
        trusted = decision.audience is Audience.INTERNAL and an_event.origin is Origin.HUMAN
        own_command = an_event.command is not None and an_event.command.target is Target.SELF
        assert an_event.mentions_self or own_command or an_event.reply is TO_SELF or trusted
    assert decision.reason is not R.RULE_FAILED


@given(EVENTS, st.text(max_size=30))
def test_a_label_in_the_destination_of_another_platform_never_grants_trust(an_event, label):
    elsewhere = parse_destination("web:demo:customer")
    decision = judged(replace(an_event, destination=elsewhere, chat=Chat.GROUP, text=label))
    assert decision.audience is Audience.UNKNOWN


ASKED = replace(MEMORY, question=True)


def test_answers_have_three_times_the_rate_of_requests():
    tap = event("", kind=Kind.TAP)
    assert judged(tap, memory=replace(ASKED, person_controls=59)).reason is R.ANSWER
    assert judged(tap, memory=replace(ASKED, person_controls=60)).reason is R.RATE_LIMITED


@pytest.mark.parametrize(
    "an_event",
    [
        event("beta", reply=TO_SELF),
        event("beta"),
        event("beta", mentions_self=True, mentions_others=True),
        event("beta", attachments=1, reply=TO_SELF),
        event("", kind=Kind.TAP),
        direct("beta"),
    ],
)
def test_a_message_that_is_about_a_question_is_its_answer_and_waits_for_nothing(an_event):
    decision = judged(an_event, memory=ASKED)
    assert (decision.outcome, decision.reason, decision.control) == (Outcome.RESPOND, R.ANSWER, True)


@pytest.mark.parametrize(
    ("an_event", "reason"),
    [
        (event("beta", mentions_others=True, reply=TO_SELF), R.ADDRESSED_TO_OTHER),
        (event("Ann, what do you think?"), R.SALUTATION_OF_OTHER),
        (event(command=command("stop")), R.CONTROL_COMMAND),
        (direct(" ", attachments=0), R.NO_SUBSTANCE),
        (event("beta", origin=Origin.BOT, sender=ROBOT), R.BOT_ORIGIN),
        (event("beta", destination=STRANGE), R.UNKNOWN_CHANNEL),
    ],
)
def test_what_is_for_others_or_may_not_be_said_is_no_answer(an_event, reason):
    assert judged(an_event, memory=ASKED).reason is reason


@pytest.mark.rule("OUT-6", "OUT-8")
@pytest.mark.parametrize("name", ["grant", "revoke", "status"])
@pytest.mark.parametrize(
    ("an_event", "reason"),
    [
        (event(destination=INTERNAL, sender=ANN), R.CONTROL_COMMAND),
        (direct("/x", sender=ANN), R.CONTROL_COMMAND),
        (event(destination=INTERNAL, sender=BOB), R.UNRECOGNISED_COMMAND),
        (event(destination=INTERNAL, sender=None, origin=Origin.ANONYMOUS), R.UNRECOGNISED_COMMAND),
        (event(sender=ANN), R.UNRECOGNISED_COMMAND),
        (event(destination=STRANGE, sender=ANN), R.UNKNOWN_CHANNEL),
        (direct("/x", sender=STRANGER), R.DIRECT_CHAT),
    ],
)
def test_what_operators_command_inside_is_unrecognised_from_others_and_elsewhere(name, an_event, reason):
    said = replace(an_event, text=f"/{name}", command=command(name))
    assert judged(said, by=policy(commands=frozenset())).reason is reason


def test_an_agents_command_of_the_same_name_is_the_agents_elsewhere():
    said = event("/status", command=command("status"))
    assert judged(said).reason is R.DIRECTED_COMMAND
    assert judged(replace(said, destination=INTERNAL)).reason is R.DIRECTED_COMMAND
    assert judged(replace(said, destination=INTERNAL, sender=ANN)).reason is R.CONTROL_COMMAND


@pytest.mark.rule("OUT-8")
@pytest.mark.parametrize("name", ["approve", "deny", "return"])
def test_what_decides_is_heard_inside_and_is_a_word_like_any_among_outsiders(name):
    said = event(f"/{name} K7QM2", command=command(name))
    assert judged(said).reason is R.UNRECOGNISED_COMMAND
    assert judged(replace(said, destination=INTERNAL)).reason is R.CONTROL_COMMAND
    assert judged(replace(said, destination=INTERNAL, sender=ANN)).reason is R.CONTROL_COMMAND
