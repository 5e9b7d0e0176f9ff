"""Which calls need nobody, an approval, or are forbidden; who may decide; when people are reminded (APPR-1, APPR-8)."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.approvals import (
    Allow,
    Ask,
    Call,
    Delegation,
    Escalation,
    Forbid,
    QuietHours,
    Requirement,
    Window,
    escalation_due,
    is_inside,
    judge_call,
    reminder_due,
    windows,
)
from policy.conditions import MAX_EXPRESSION, Condition, ConditionError, Holds, check_expression
from policy.destination import parse_destination
from policy.document import load
from policy.entitlement import Bar, Voice, counted, entitled, still_entitled

HEAD = """
version: 1
operators: [ann, cleo, dan]
people:
  ann: {accounts: ["telegram:501", "matrix:@ann:example.org"]}
  cleo: {accounts: ["telegram:503"]}
  dan: {accounts: ["telegram:504"]}
  bob: {accounts: ["telegram:502"]}
channels:
  "telegram:7001:-100": {audience: external}
  "telegram:7001:-200": {audience: internal, reports: true}
  "telegram:7001:-200:9": {}
  "telegram:7001:-300": {audience: internal}
approvers: {groups: {finance: [ann, cleo]}}
"""
NOW = datetime(2026, 6, 10, 12, 0, tzinfo=UTC)
ANN, BOB, CLEO, DAN = "telegram:501", "telegram:502", "telegram:503", "telegram:504"


def policy(section: str = "", head: str = HEAD):
    return load(head + section, source="policy.yaml", environment={})


def judged(section: str, **call):
    return judge_call(policy(section), Call(**{"action": "refund", **call}))


RULES = """
approvals:
  rules:
    - {name: small, tools: [refund], systems: [shop], agents: ["ma*"], when: ["amount <= `50`"], then: allow}
    - {name: never, tools: ["wipe*", "*.drop"], then: forbid}
    - {name: foreign, when: ["currency != 'EUR'"], then: forbid}
    - {name: big, tools: [refund], when: ["amount > `1000`", "to != 'ann'"], then: ask}
"""


@pytest.mark.parametrize(
    ("call", "kind", "rule"),
    [
        ({"system": "shop", "agent": "main", "parameters": {"amount": 50, "currency": "EUR"}}, Allow, "small"),
        ({"system": "shop", "agent": "other", "parameters": {"amount": 50, "currency": "EUR"}}, Ask, ""),
        ({"system": "Shop", "agent": "main", "parameters": {"amount": 50, "currency": "EUR"}}, Ask, ""),
        ({"system": "shop", "agent": "main", "parameters": {"amount": "50", "currency": "EUR"}}, Ask, "big"),
        ({"system": "shop", "agent": "main", "parameters": {"currency": "EUR"}}, Ask, "big"),
        ({"system": "shop", "agent": "main", "parameters": {"amount": True, "currency": "EUR"}}, Ask, "big"),
        ({"action": "wipe\n_all"}, Forbid, "never"),
        ({"action": "db.drop"}, Forbid, "never"),
        ({"action": "Wipe_all"}, Forbid, "never"),
        ({"action": "w\u00efpe  all"}, Forbid, "never"),
        ({"action": "\uff57ipe_all"}, Forbid, "never"),
        ({"action": "w\u0456pe_all"}, Forbid, "never"),  # Cyrillic i
        ({"action": "wlpe_all", "parameters": {"currency": "EUR"}}, Ask, ""),  # another word
        ({"action": "db.dr0p"}, Forbid, "never"),
        ({"action": "db\u2024drop"}, Forbid, "never"),
        ({"action": "\u0561\u200dwipe_all", "parameters": {"currency": "EUR"}}, Ask, ""),
        ({"action": "Refund", "parameters": {"amount": 2000, "currency": "EUR", "to": "bob"}}, Ask, "big"),
        (
            {"action": "Refund", "system": "shop", "agent": "main", "parameters": {"amount": 1, "currency": "EUR"}},
            Ask,
            "",
        ),
        ({"action": "dbxdrop", "parameters": {"currency": "EUR"}}, Ask, ""),
        ({"parameters": {"currency": "USD"}}, Forbid, "foreign"),
        ({"parameters": {}}, Forbid, "foreign"),  # unsure
        ({"parameters": {"amount": 1001, "currency": "EUR", "to": "ann"}}, Ask, ""),
        ({"parameters": {"amount": 1001, "currency": "EUR", "to": "bob"}}, Ask, "big"),
    ],
)
def test_the_first_rule_that_fits_decides(call, kind, rule):
    verdict = judged(RULES, **call)
    assert isinstance(verdict, kind)
    assert verdict.rule == rule


def test_what_no_rule_fits_is_asked_or_forbidden_and_never_allowed():
    assert isinstance(judged(""), Ask)
    assert judged("approvals: {otherwise: forbid}") == Forbid(rule="")


def test_a_draft_is_spoken_of_by_its_system_alone_and_never_allowed():
    everything = 'approvals: {otherwise: forbid, rules: [{name: all, systems: ["*"], then: forbid}]}'
    assert isinstance(judged(everything, action="say", system="discreet"), Ask)
    named = "approvals: {rules: [{name: drafts, systems: [discreet], then: ask, quorum: 2}]}"
    verdict = judged(named, action="say", system="discreet")
    assert (verdict.rule, verdict.requirement.quorum) == ("drafts", 2)


@pytest.mark.parametrize(
    ("section", "drafts", "calls"),
    [
        ("", False, True),
        ("{defaults: {separate: true}}", False, True),
        ("{rules: [{name: all, then: ask, separate: true}]}", False, True),
        ("{rules: [{name: drafts, systems: [discreet, shop], then: ask}]}", False, True),
        ("{defaults: {separate: true}, rules: [{name: drafts, systems: [discreet], then: ask}]}", False, True),
        ("{rules: [{name: drafts, systems: [discreet, shop], then: ask, separate: true}]}", True, True),
        ("{rules: [{name: drafts, systems: [discreet, shop], then: ask, separate: false}]}", False, False),
    ],
)
def test_a_draft_is_the_agents_text_so_who_asked_may_approve_it_unless_a_rule_of_drafts_says_otherwise(
    section, drafts, calls
):
    written = f"approvals: {section}" if section else ""
    said = judged(written, action="say", system="discreet")
    done = judged(written, system="shop")
    assert (said.requirement.separate, done.requirement.separate) == (drafts, calls)


@pytest.mark.parametrize(
    ("expression", "parameters", "holds"),
    [
        ("amount > `100`", {"amount": 101}, Holds.YES),
        ("amount > `100`", {"amount": 99.5}, Holds.NO),
        ("amount > `100`", {"amount": "101"}, Holds.UNSURE),
        ("amount > `100`", {"amount": True}, Holds.UNSURE),
        ("amount > `100`", {}, Holds.UNSURE),
        ("!(amount > `100`)", {"amount": "101"}, Holds.UNSURE),
        ("!(amount > `100`)", {"amount": 1}, Holds.YES),
        ("amount > `100` || to == 'x'", {"amount": "101", "to": "y"}, Holds.UNSURE),
        ("amount > `100` || to == 'x'", {"amount": 1, "to": "x"}, Holds.YES),
        ("amount > `100` && to == 'x'", {"amount": 101, "to": "x"}, Holds.YES),
        ("to == 'x'", {"to": "x"}, Holds.YES),
        ("to == 'x'", {"to": ["x"]}, Holds.UNSURE),
        ("to != 'x'", {}, Holds.UNSURE),
        ("bcc == `null`", {}, Holds.YES),
        ("bcc != `null`", {"bcc": ["a"]}, Holds.YES),
        ("bcc", {"bcc": "a"}, Holds.UNSURE),
        ("bcc && to == 'x'", {"bcc": "a", "to": "x"}, Holds.UNSURE),
        ("length(items[?price > `100`]) == `0`", {"items": [{"price": 5}]}, Holds.YES),
        ("length(items[?price > `100`]) == `0`", {"items": [{"price": "500"}]}, Holds.UNSURE),
        ("length(items[?price > `100`]) == `0`", {"items": "none"}, Holds.UNSURE),
        ("length(items[?price > `100`].name) == `0`", {"items": [{"price": 500}]}, Holds.UNSURE),
        ("length(items[?price > `100`].name) == `0`", {"items": [{"price": 500, "name": "x"}]}, Holds.NO),
        ("max(items[*].amount) <= `100`", {"items": [{"amount": 50}, {"amount": 90}]}, Holds.YES),
        ("max(items[*].amount) <= `100`", {"items": [{"amount": 50}, {"Amount": 900}]}, Holds.UNSURE),
        ("max(items[].amount) <= `100`", {"items": [[{"amount": 50}], {"amount": "900"}]}, Holds.UNSURE),
        ("max(items[*].amount) <= `100`", {"items": {"amount": 900}}, Holds.UNSURE),
        ("max(items.*.amount) <= `100`", {"items": {"a": {"amount": 50}}}, Holds.YES),
        ("max(items.*.amount) <= `100`", {"items": {"a": {"amount": 50}, "b": {"sum": 900}}}, Holds.UNSURE),
        ("max(items.*.amount) <= `100`", {"items": [900]}, Holds.UNSURE),
        ("contains(to, 'all')", {"to": ["ann", "bob"]}, Holds.NO),
        ("contains(to, 'all')", {"to": ["ann", "all"]}, Holds.YES),
        ("contains(to, 'all')", {"to": ["ann", ["all"]]}, Holds.UNSURE),
        ("contains(to, 'all')", {"to": "ann"}, Holds.NO),
        ("ends_with(to, '@example.org')", {"to": "a@example.org"}, Holds.YES),
        ("ends_with(to, '@example.org')", {"to": 5}, Holds.UNSURE),
        ("no_such(to)", {"to": 5}, Holds.UNSURE),
        ("!(to_number(amount) > `100`)", {"amount": "nan"}, Holds.UNSURE),
        ("to_number(amount) > `100`", {"amount": "inf"}, Holds.YES),
        ("to == 'x'", {"to": "\u0445"}, Holds.UNSURE),  # Cyrillic
        ("to == 'x'", {"to": " X"}, Holds.UNSURE),
        ("to != 'prod'", {"to": "Prod\u200b"}, Holds.UNSURE),
        ("to != 'prod'", {"to": "test"}, Holds.YES),
        ("contains(to, 'all')", {"to": "\uff21LL"}, Holds.UNSURE),
        ("contains(to, 'all')", {"to": ["ann", "A1l"]}, Holds.UNSURE),
        ("starts_with(to, 'ann')", {"to": "\u0430nn@example.org"}, Holds.UNSURE),
        ("starts_with(to, 'ann')", {"to": "bob@example.org"}, Holds.NO),
        ("ends_with(to, '@example.org')", {"to": "a@EXAMPLE.org"}, Holds.UNSURE),
        ("contains(to, ' ')", {"to": "ann"}, Holds.NO),
        ("contains(to, 'all')", {"to": ["a\0", "b"]}, Holds.NO),
        ("contains(to, 'all')", {"to": []}, Holds.NO),
        ("contains(to, 'all')", {"to": [], "\0to": 1}, Holds.UNSURE),
        ("contains(to, `5`)", {"to": [6]}, Holds.NO),
        ("amount <= `50`", {"amount": 5, "Amount": 900}, Holds.UNSURE),
        ("amount <= `50`", {"amount": 5, "more": [{"\u0430mount": 900}]}, Holds.UNSURE),
        ("amount <= `50`", {"amount": 5, "amount" + "\u200b" * 100: 900}, Holds.UNSURE),
        ("amount <= `50`", {"amount": 5, "amounts": 900, "more": {"amount": 900}}, Holds.YES),
        ("items[?price > `5`] == `[]`", {"items": [{"price": 1, "Price": 9}]}, Holds.UNSURE),
        ("flag", {"flag": True}, Holds.YES),
        ("flag", {"flag": 1}, Holds.UNSURE),
    ],
)
def test_a_condition_is_true_false_or_unsure(expression, parameters, holds):
    check_expression(expression)
    assert Condition(expression=expression).holds(parameters) is holds


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists)))
def test_no_parameters_break_a_condition(parameters):
    for expression in ("a > `1` || !(b == 'x')", "length(a[?b > `1`]) == `0`", "max(a) > `1`"):
        assert Condition(expression=expression).holds(parameters) in set(Holds)


@pytest.mark.parametrize("expression", ["", "amount >", "a ~ b", "a == 'x", "x" * (MAX_EXPRESSION + 1)])
def test_what_is_no_expression_is_refused(expression):
    with pytest.raises(ConditionError):
        check_expression(expression)


# who may decide

TEAM = """
approvals:
  delegations:
    - {from: ann, to: dan, since: 2026-06-10T08:00:00Z, until: 2026-06-11T00:00:00Z}
    - {from: cleo, to: dan, until: 2026-06-09T00:00:00Z}
"""
FINANCE = Requirement(who=frozenset({"ann", "cleo"}), quorum=2)


def asked(account, *, requirement=FINANCE, requester=None, voices=(), approving=True, now=NOW, section=TEAM):
    return entitled(
        policy(section), requirement, account, requester=requester, voices=voices, approving=approving, now=now
    )


def test_who_is_named_decides_and_nobody_else():
    assert asked(ANN) == Voice(person="ann")
    assert asked("matrix:@ann:example.org") == Voice(person="ann")
    assert asked(BOB) is Bar.STRANGER
    assert asked("telegram:999") is Bar.STRANGER
    assert asked(DAN, section="") is Bar.NOT_NAMED
    assert asked(DAN, requirement=Requirement(), section="") == Voice(person="dan")
    assert asked(ANN, requirement=Requirement(who=frozenset({"gone"}))) is Bar.NOT_NAMED


def test_a_right_is_lent_from_then_until_then():
    assert asked(DAN) == Voice(person="dan", for_whom="ann")
    assert asked(DAN, now=NOW - timedelta(hours=5)) is Bar.NOT_NAMED
    assert asked(DAN, now=NOW + timedelta(hours=12)) is Bar.NOT_NAMED


def test_one_person_has_one_voice_and_one_right_is_used_once():
    assert asked(ANN, voices=[Voice(person="ann")]) is Bar.VOTED
    assert asked(ANN, voices=[Voice(person="dan", for_whom="ann")]) is Bar.VOTED
    assert asked(DAN, voices=[Voice(person="ann")]) is Bar.VOTED
    assert asked(DAN, voices=[Voice(person="dan", for_whom="ann")]) is Bar.VOTED
    assert asked(CLEO, voices=[Voice(person="ann")]) == Voice(person="cleo")
    assert asked(ANN, voices=[Voice(person="ann")], approving=False) == Voice(person="ann")
    assert counted([]) == 0
    assert counted([Voice(person="ann"), Voice(person="ann")]) == 1
    assert counted([Voice(person="ann"), Voice(person="dan", for_whom="ann")]) == 1
    assert counted([Voice(person="dan", for_whom="ann"), Voice(person="cleo")]) == 2


def test_who_made_the_request_can_not_approve_it_also_not_by_somebody_else():
    assert asked(ANN, requester="matrix:@ann:example.org") is Bar.REQUESTER
    assert asked(DAN, requester=ANN) is Bar.REQUESTER  # in ann's name
    assert asked(ANN, requester=ANN, approving=False) == Voice(person="ann")
    assert asked(ANN, requester=BOB) == Voice(person="ann")
    assert asked(ANN, requester="telegram:999") == Voice(person="ann")
    assert asked(ANN, requester=ANN, requirement=Requirement(separate=False)) == Voice(person="ann")


def test_what_was_agreed_to_holds_as_long_as_who_did_so_could_do_it_still():
    def still(person, account, *, for_whom="", requirement=FINANCE, requester=None, section=TEAM, at=NOW, head=HEAD):
        voice = Voice(person=person, for_whom=for_whom)
        return still_entitled(policy(section, head), requirement, voice, account, requester=requester, at=at)

    assert still("ann", ANN)
    assert still("dan", DAN, for_whom="ann")
    assert not still("dan", DAN, for_whom="ann", section="")  # it was taken away
    assert not still("dan", DAN, for_whom="ann", at=NOW + timedelta(days=1))
    assert not still("dan", DAN)
    assert not still("ann", None)
    assert not still("ann", CLEO)  # the account is somebody else's by now
    assert not still("bob", BOB)
    assert not still("ann", ANN, requester=ANN)
    assert not still("dan", DAN, for_whom="ann", requester=ANN)
    assert still("ann", ANN, requester=ANN, requirement=Requirement(separate=False))
    gone = HEAD.replace("operators: [ann, ", "operators: [").replace("finance: [ann, ", "finance: [")
    assert not still("ann", ANN, section="", head=gone)
    assert not still("dan", DAN, for_whom="ann", section="", head=gone)


# where and when


def test_it_is_shown_at_channels_of_reports_or_where_the_rule_says_while_that_is_inside():
    there = policy()
    assert [str(one.destination) for one in windows(there, Requirement())] == ["telegram:7001:-200"]
    inside = Window(destination=parse_destination("telegram:7001:-300"))
    thread = Window(destination=parse_destination("telegram:7001:-200:9"))
    outside = Window(destination=parse_destination("telegram:7001:-100"))
    private = Window(destination=parse_destination("telegram:7001:501"), person=ANN)
    stranger = Window(destination=parse_destination("telegram:7001:502"), person=BOB)
    nobody = Window(destination=parse_destination("telegram:7001:599"), person="telegram:599")
    shown = (inside, thread, outside, private, stranger, nobody)
    assert windows(there, Requirement(shown=shown)) == (inside, thread, private)
    assert [is_inside(there, one) for one in shown] == [True, True, False, True, False, False]


NIGHT = QuietHours(since=time(22), until=time(7), timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("at", "quiet"),
    [
        ("2026-06-10T19:59:00+00:00", False),
        ("2026-06-10T20:00:00+00:00", True),  # 22:00 in summer
        ("2026-06-11T04:59:00+00:00", True),
        ("2026-06-11T05:00:00+00:00", False),
        ("2026-01-10T20:30:00+00:00", False),  # 21:30 in winter
        ("2026-01-10T21:00:00+00:00", True),
        ("2026-03-29T01:30:00+00:00", True),  # the clocks have just skipped an hour
        ("2026-10-25T00:30:00+00:00", True),  # 02:30 comes twice that night
        ("2026-10-25T01:30:00+00:00", True),
        ("2026-10-25T05:59:00+00:00", True),
        ("2026-10-25T06:00:00+00:00", False),
    ],
)
def test_quiet_hours_are_of_the_wall_clock(at, quiet):
    assert NIGHT.holds(datetime.fromisoformat(at)) is quiet


def test_quiet_hours_of_one_day():
    noon = QuietHours(since=time(12), until=time(14), timezone="UTC")
    assert noon.holds(NOW)
    assert not noon.holds(NOW - timedelta(minutes=1))
    assert not noon.holds(NOW + timedelta(hours=2))


def test_people_are_reminded_when_it_is_time_and_not_quiet():
    wanting, midnight = Requirement(remind=timedelta(hours=1)), NOW + timedelta(hours=10)
    assert not reminder_due(Requirement(), None, last=NOW, now=midnight)
    assert not reminder_due(wanting, None, last=NOW, now=NOW + timedelta(minutes=59))
    assert reminder_due(wanting, None, last=NOW, now=midnight)
    assert not reminder_due(wanting, NIGHT, last=NOW, now=midnight)
    assert reminder_due(wanting, NIGHT, last=NOW, now=NOW + timedelta(hours=1))
    urgent = Requirement(remind=timedelta(hours=1), urgent=True)
    assert reminder_due(urgent, NIGHT, last=NOW, now=midnight)


def test_others_are_asked_when_it_is_time_and_not_quiet():
    wanting, midnight = Requirement(escalate=Escalation(after=timedelta(hours=1))), NOW + timedelta(hours=10)
    assert not escalation_due(Requirement(), None, since=NOW, now=midnight)
    assert not escalation_due(wanting, None, since=NOW, now=NOW + timedelta(minutes=59))
    assert escalation_due(wanting, None, since=NOW, now=midnight)
    assert not escalation_due(wanting, NIGHT, since=NOW, now=midnight)
    assert escalation_due(wanting, NIGHT, since=NOW, now=NOW + timedelta(hours=1))
    urgent = Requirement(escalate=Escalation(after=timedelta(hours=1)), urgent=True)
    assert escalation_due(urgent, NIGHT, since=NOW, now=midnight)


def test_a_delegation_without_a_beginning_has_always_held():
    assert Delegation(giver="ann", taker="dan", until=NOW).holds(NOW - timedelta(days=999))
    assert not Delegation(giver="ann", taker="dan", until=NOW).holds(NOW)
