"""The section ``approvals`` of the policy file: what it comes to, and what is refused with its line and mend (APPR-1)."""

from datetime import timedelta

import pytest

from policy.approvals import ITSELF, Effect
from policy.document import DocumentError, load, schema
from tests.unit.policy.test_approvals import HEAD, policy

FULL = """
approvals:
  otherwise: forbid
  claim_within: 5m
  outcome_within: 1h
  quiet_hours: {from: "22:00", to: "07:00"}
  defaults: {remind: 15m, separate: false, who: {groups: [finance]}}
  delegations: [{from: ann, to: dan, until: 2026-12-31T00:00:00Z}]
  rules:
    - name: refunds
      tools: [refund]
      then: ask
      who: {people: [dan], groups: [finance]}
      quorum: 3
      separate: true
      shown: ["telegram:7001:-300", "telegram:7001:501", "telegram:7001:-200:9"]
      ttl: 2h
      assurance: high
      urgent: true
      escalate: {after: 1h, shown: ["telegram:7001:-200"]}
    - {name: plain, tools: [other], then: ask}
"""


def test_a_section_comes_to_values():
    section = policy(FULL).approvals
    assert (section.otherwise, section.claim_within) == (Effect.FORBID, timedelta(minutes=5))
    assert section.outcome_within == timedelta(hours=1)
    assert section.quiet is not None
    assert section.quiet.timezone == "UTC"
    first, plain = (rule.requirement for rule in section.rules)
    assert first.who == {"ann", "cleo", "dan"}
    assert (first.quorum, first.separate, first.high, first.urgent) == (3, True, True, True)
    assert [(str(one.destination), one.person) for one in first.shown or ()] == [
        ("telegram:7001:-300", None),
        ("telegram:7001:501", "telegram:501"),
        ("telegram:7001:-200:9", None),
    ]
    assert first.escalate is not None
    assert (first.escalate.who, first.remind) == (None, timedelta(minutes=15))
    assert plain.who == {"ann", "cleo"}
    assert (plain.separate, plain.shown, plain.escalate) == (False, None, None)
    assert section.default.rule == ""


def test_the_zone_of_quiet_hours_is_their_own_or_the_files():
    zone = 'approvals: {quiet_hours: {from: "22:00", to: "07:00", timezone: Europe/Sofia}}'
    quiet = policy(zone).approvals.quiet
    assert quiet is not None
    assert quiet.timezone == "Europe/Sofia"
    general = policy("defaults: {timezone: Asia/Tokyo}\napprovals: {quiet_hours: {from: '22:00', to: '07:00'}}")
    assert general.approvals.quiet is not None
    assert general.approvals.quiet.timezone == "Asia/Tokyo"


def one(rule: str) -> str:
    return f"approvals:\n  rules:\n    - {{name: a, tools: [x], then: ask, {rule}}}\n"


REFUSED = [
    (one("who: {people: [bob]}"), "an approver is an operator", "name one of ann, cleo, dan"),
    (one("who: {people: [-100123]}"), "a chat or an account decides nothing", "name an operator"),
    (one('who: {people: ["telegram:501"]}'), "a chat or an account decides nothing", "name an operator"),
    (one('who: {people: ["Ann!"]}'), "an approver is an operator", "write the id"),
    (one("who: {people: [true]}"), "a chat or an account decides nothing", "name an operator"),
    (one("who: {people: [1.5]}"), "an approver is an operator", "write the id"),
    (one("who: {groups: [finanze]}"), "this group is not listed", "did you mean finance?"),
    (one("who: {}"), "nobody could decide", "name people or groups"),
    (one("escalate: {after: 1h, who: {people: [bob]}}"), "an approver is an operator", "name one of"),
    (one("escalate: {after: 1d}"), "it has expired by then", "shorter than ttl"),
    (one("escalate: {after: 0s}"), "this is no time at all", "with its unit"),
    (one("quorum: 4"), "4 must agree, and 3 may decide", "a smaller quorum"),
    (one("quorum: 0"), "greater than or equal to 1", "within these bounds"),
    (one("who: {people: [ann]}, quorum: 2"), "2 must agree, and 1 may decide", "name more people"),
    (
        "approvals:\n  defaults: {quorum: 2}\n  rules: [{name: a, then: ask, who: {people: [ann]}}]\n",
        "2 must agree",
        "more",
    ),
    (one('shown: ["telegram:7001:-100"]'), "approvals are shown inside only", "audience: internal"),
    (one('shown: ["telegram:7001:-999"]'), "approvals are shown inside only", "audience: internal"),
    (one('shown: ["telegram:7001:502"]'), "approvals are shown inside only", "operator's private chat"),
    (one('shown: ["matrix:@d:x:!r:x"]'), "approvals are shown inside only", "audience: internal"),
    (one('shown: ["@ops"]'), "this is no complete destination", "an @name"),
    (one("shown: [5]"), "this is no complete destination", "an @name"),
    (one('escalate: {after: 1h, shown: ["telegram:7001:-100"]}'), "approvals are shown inside only", "internal"),
    (one("shown: []"), "nobody would see it", "name a channel"),
    (one("ttl: 10s"), "an approval waits from 1m to 30d", "within these bounds"),
    (one('when: ["amount >"]'), "this is no JMESPath expression", "numbers in backticks"),
    (one('when: ["a ~ b"]'), "it can't be read from character 2", "numbers in backticks"),
    (one('systems: [" x"]'), "this is no name", "as the agent sends it"),
    ("approvals: {rules: [{name: a, then: allow}]}", "this would allow every call", "name the tools"),
    (f"approvals: {{rules: [{{name: a, systems: [{ITSELF}], then: allow}}]}}", "always needs somebody", "then: ask"),
    ("approvals: {rules: [{name: a, tools: [x], then: allow, quorum: 2}]}", "asks nobody", "write then: ask"),
    ("approvals: {rules: [{name: a, tools: [x], then: forbid, ttl: 1h}]}", "asks nobody", "write then: ask"),
    ("approvals: {rules: [{name: a, then: ask}, {name: a, then: ask}]}", "has this name already", "another one"),
    ("approvals: {rules: [{name: a, then: maybe}]}", "this word is not known", "allow, ask, forbid"),
    ("approvals: {otherwise: allow}", "this word is not known", "ask, forbid"),
    ('approvals: {quiet_hours: {from: "22:00", to: "22:00"}}', "end when they begin", "another time"),
    ('approvals: {quiet_hours: {from: "25:00", to: "07:00"}}', "no time of day", "22:00"),
    ("approvals: {quiet_hours: {from: 5, to: '07:00'}}", "no time of day", "22:00"),
    ('approvals: {quiet_hours: {from: "22:00", to: "07:00", timezone: "+02:00"}}', "no zone", "never an offset"),
    ('approvals: {quiet_hours: {form: "22:00", to: "07:00"}}', "form is not known", "did you mean from?"),
    ("approvals: {delegations: [{from: bob, to: ann, until: 2026-12-31T00:00:00Z}]}", "is an operator", "name one"),
    ("approvals: {delegations: [{from: ann, to: ann, until: 2026-12-31T00:00:00Z}]}", "somebody else", "another"),
    (
        "approvals: {delegations: [{from: ann, to: dan, since: 2027-01-01T00:00:00Z, until: 2026-12-31T00:00:00Z}]}",
        "over before it begins",
        "a later time",
    ),
    ("approvals: {claim_within: 0s}", "this is no time at all", "with its unit"),
]


@pytest.mark.rule("APPR-1")
@pytest.mark.parametrize(("section", "message", "mend"), REFUSED)
def test_what_can_not_hold_is_refused_with_its_line_and_mend(section, message, mend):  # D-004
    with pytest.raises(DocumentError) as refused:
        policy(section)
    found = [problem for problem in refused.value.problems if message in problem.message]
    assert found, refused.value.problems
    assert mend in found[0].mend
    assert found[0].mark.line > len(HEAD.splitlines())


def test_an_approver_in_a_group_is_an_operator():
    with pytest.raises(DocumentError, match="a chat or an account decides nothing"):
        load(HEAD.replace("finance: [ann, cleo]", "finance: [-100123]"), source="p", environment={})


def test_the_schema_knows_the_section_by_the_names_of_the_file():
    quiet = schema()["$defs"]["QuietHours"]
    assert set(quiet["properties"]) == {"from", "to", "timezone"}
