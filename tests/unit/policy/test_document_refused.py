"""What can't hold in a policy file is refused, each with its line and mend."""

import pytest

from policy.document import DocumentError, load
from policy.document_shape import Report, Shape, fit
from policy.strictyaml import survey

PEOPLE = """\
operators: [ann]
people:
  ann: {accounts: [telegram:501]}
  bob: {accounts: [telegram:502], counterparty: acme}
counterparties:
  acme: {name: Acme, tier: 1}
  bird: {name: Bird}
"""


def loaded(text: str, **environment: str):
    return load(f"version: 1\n{text}", source="policy.yaml", environment=environment)


def problems_of(text: str, **environment: str):
    with pytest.raises(DocumentError) as caught:
        loaded(text, **environment)
    return caught.value.problems


OBSERVED = "channels:\n  telegram:7001:-1: {audience: internal, observe_unmentioned_group_messages: true,\n"

REFUSED = [
    # text behind "version: 1", line, words of the message, words of the mend
    # one value
    ("chanels: {}\n", 2, "chanels is not known", "did you mean channels?"),
    ("allow_users: [-1001900000001]\n", 2, "allow_users is not known", "under people"),
    ("allow_chats: [510000001]\n", 2, "allow_chats is not known", "under channels"),
    ("admins: [510000001]\n", 2, "admins is not known", "under operators"),
    ("zzz: {}\n", 2, "zzz is not known", "known are: approvals, approvers, autonomy"),
    ("defaults: {langage: en}\n", 2, "langage is not known", "did you mean language?"),
    ("people:\n  ann:\n    acounts: [telegram:1]\n    accounts: []\n", 4, "acounts is not known", "accounts?"),
    ("channels:\n  telegram:7001:-1:\n    audience: external\n    requires_mention: true\n", 5, "not known", "require_mention?"),
    ("bot_requests:\n  - boot: telegram:7002\n", 3, "boot is not known", "bot?"),
    ("approvers: {groups: {}, goups: {}}\n", 2, "goups is not known", "groups?"),
    ("direct: {audience: internal}\n", 2, "audience is not known", "IDENT-3"),
    ("direct: {access: allow}\n", 2, "access is not known", "strangers"),
    ("direct: {burst: {quit: 1s}}\n", 2, "quit is not known", "quiet?"),
    ("channels:\n  telegram:7001:-1: {audience: internal, autonomy: {hard_stops: []}}\n", 3, "not known", "AUTO-3"),
    ("channels:\n  telegram:7001:-1: {audience: internal, autonomy: {defalt: auto}}\n", 3, "not known", "default?"),
    ("autonomy: {hard_stops: []}\n", 2, "hard_stops is not known", "fixed (AUTO-3)"),
    ("people: {ann: {accounts: [], operator: true}}\n", 2, "operator is not known", "under operators"),
    ("people: []\n", 2, "section is expected", "colon"),
    ("direct: []\n", 2, "section is expected", "colon"),
    ("operators: ann\n", 2, "list is expected", "[one, two]"),
    ("operators: '[\"ann\", \"bob\"]'\n", 2, "list is expected", "[one, two]"),
    ('operators: "ann, bob,"\n', 2, "list is expected", "dash"),
    ("operators: ${OPERATORS}\n", 2, "OPERATORS is not set", "set OPERATORS"),
    ("operators: [501]\n", 2, "text is expected", "quotes"),
    ("operators: [{a: b}]\n", 2, "text is expected", "one word"),
    ("operators: ['@ann']\n", 2, "no id of the file's own", "under people"),
    ("operators: [telegram:501]\n", 2, "no id of the file's own", "under people"),
    ("people: {Ann: {accounts: []}}\n", 2, "no id of the file's own", "small letters"),
    ("people: {ann: {}}\n", 2, "accounts is missing", "add accounts:"),
    ("people: {ann: {accounts: ['@ann']}}\n", 2, "no account", "known are telegram"),
    ("people: {ann: {accounts: ['telegram:@ann']}}\n", 2, "no account", "never the @name"),
    ("people: {ann: {accounts: [telegram:-1001900000001]}}\n", 2, "is a chat", "under channels"),
    ("people: {ann: {accounts: ['-1001900000001']}}\n", 2, "is a chat", "under channels"),
    ("people: {ann: {accounts: ['510000001']}}\n", 2, "bare number", "telegram:510000001"),
    ("people: {ann: {accounts: [510000001]}}\n", 2, "text is expected", "quotes"),
    ("people: {ann: {accounts: [], language: no}}\n", 2, "truth value", "quotes"),
    ("people: {ann: {accounts: [], language: nope}}\n", 2, "not known here", "write one of en, ru"),
    ("people: {ann: {accounts: [], access: alow}}\n", 2, "not known here", "write allow"),
    ("people: {ann: {accounts: [], access: [x]}}\n", 2, "not known here", "allow, deny, unknown"),
    ("people: {ann: {accounts: [], names: ['  ']}}\n", 2, "empty text", "leave the key out"),
    ("people: {ann: {accounts: [], names: [" + "x" * 300 + "]}}\n", 2, "256", "shorter"),
    ("counterparties: {acme: {name: Acme, tier: 4}}\n", 2, "less than or equal to 3", "bounds"),
    ("counterparties: {acme: {name: Acme, tier: '1'}}\n", 2, "whole number", "without quotes"),
    ("detectors: {prices: {words: ['---']}}\n", 2, "without letters", "what is to be found"),
    ("detectors: {prices: {words: ['re*bate']}}\n", 2, "at the end only", "take patterns"),
    ("detectors: {prices: {words: ['*']}}\n", 2, "without letters", "what is to be found"),
    ("detectors: {prices: {patterns: [12]}}\n", 2, "a pattern is expected", "single quotes"),
    ("detectors: {prices: {patterns: ['']}}\n", 2, "a pattern is expected", "single quotes"),
    ("detectors: {prices: {patterns: ['a(?=b)']}}\n", 2, "RE2 does not take", "look-around"),
    ("detectors: {prices: {patterns: ['a*']}}\n", 2, "finds everything", "has to be there"),
    ("detectors: {prices: {patterns: [" + "x" * 1001 + "]}}\n", 2, "1000 characters", "several patterns"),
    ("detectors: {prices: {amounts: 'yes'}}\n", 2, "true or false", "without quotes"),
    ("detectors: {routine: {words: [x1]}}\n", 2, "not known here", "write one of prices"),
    ("detectors: {price: {words: [x1]}}\n", 2, "not known here", "write one of prices"),
    ("detectors: {prices: {word: [x1]}}\n", 2, "key word is not known", "words"),
    ("disclosure: {hosts: ['http://build01']}\n", 2, "no name of a host", "build01"),
    ("disclosure: {hosts: ['*.']}\n", 2, "no name of a host", "build01"),
    ("disclosure: {words: ['!']}\n", 2, "without letters", "what is to be found"),
    ("autonomy: {needs_reference: [price]}\n", 2, "not known here", "write prices"),
    ("autonomy: {detectors: {}}\n", 2, "key detectors is not known", "stand at the top"),
    ("counterparties: {acme: {name: Acme, protected_terms: ['--x--']}}\n", 2, "single letter", "signs alone"),
    ("counterparties: {acme: {name: Acme, protected_terms: [x]}}\n", 2, "single letter", "whole term"),
    ("channels:\n  telegram:7001:510000001: {audience: external}\n", 3, "positive number is a person", "under people"),
    ("channels:\n  510000001: {audience: external}\n", 3, "positive number is a person", "telegram:510000001"),
    ("channels:\n  -1001900000001: {audience: external}\n", 3, "bare number", "telegram:BOT_ID:-1001900000001"),
    ("channels:\n  '@group': {audience: external}\n", 3, "no complete destination", "@name or a title"),
    ("channels:\n  telegram:@bot:-100: {audience: external}\n", 3, "no complete destination", "numbers only"),
    ("channels:\n  Team room: {audience: external}\n", 3, "no complete destination", "known are telegram, matrix"),
    ("channels:\n  slack:T1:C1: {audience: external}\n", 3, "no complete destination", "slack"),
    ("channels:\n  telegram:7001:-1: {audience: operator}\n", 3, "operator can't be written", "external, or internal"),
    ("channels:\n  telegram:7001:-1: {audience: unknown}\n", 3, "unknown can't be written", "external, or internal"),
    ("channels:\n  telegram:7001:-1: {audience: public}\n", 3, "external or internal", "outsiders"),
    ("channels:\n  telegram:7001:-1: {audience: [a]}\n", 3, "external or internal", "outsiders"),
    ("channels:\n  telegram:7001:-1: {audience: internal, progress: 'yes'}\n", 3, "true or false", "without quotes"),
    ("channels:\n  telegram:7001:-1: {audience: internal, streaming: 'off'}\n", 3, "off means false", "write none"),
    ("channels:\n  telegram:7001:-1: {audience: internal, streaming: false}\n", 3, "off means false", "write none"),
    ("channels:\n  telegram:7001:-1: {audience: internal, streaming: live}\n", 3, "none, draft or edit", "none"),
    (OBSERVED + "    observation: {readers: [main]}}\n", 4, "retention is missing", "add retention:"),
    (OBSERVED + "    observation: {retention: 1h}}\n", 4, "readers is missing", "add readers:"),
    (OBSERVED + "    observation: {retention: 1h, readers: []}}\n", 4, "nobody may read", "name the agents"),
    (OBSERVED + "    observation: {retention: 0s, readers: [main]}}\n", 4, "no time", "such as 1h"),
    ("defaults: {backlog: 60}\n", 2, "no duration", "90s"),
    ("defaults: {backlog: 1 hour}\n", 2, "no duration", "1h"),
    ("defaults: {timezone: Europe/Berln}\n", 2, "IANA", "Europe/Berlin"),
    ("defaults: {timezone: '+02:00'}\n", 2, "IANA", "never an offset"),
    ("defaults: {timezone: Europe}\n", 2, "IANA", "mean"),
    ("defaults: {language: fr}\n", 2, "not known here", "en, ru, es, bg, de"),
    ("defaults: {require_mention: false}\n", 2, "PART-6", "each internal channel"),
    ("defaults: {rate: {person: 0}}\n", 2, "greater than or equal to 1", "bounds"),
    ("defaults: {rate: {person: 1.5}}\n", 2, "whole number", "plain digits"),
    ("defaults: {unclear_sends: drop}\n", 2, "not known here", "park, resend"),
    ("commands: [/status]\n", 2, "without its slash", "write status"),
    ("commands: [Status]\n", 2, "no name of a command", "small letters"),
    ("unknown_channels: {explicit_requests: answers}\n", 2, "not known here", "write answer"),
    ("autonomy: {draft_only: [price]}\n", 2, "not known here", "prices"),
    ("autonomy: {tiers: {4: [routine]}}\n", 2, "not known here", "write one of 1, 2, 3"),
    ("bot_requests: [{bot: telegram:7002, channel: [a], requested_by: ann, until: '2027-01-01T00:00:00Z'}]\n", 2,
     "no complete destination", "known are"),
    ("bot_requests: [{bot: telegram:7002, channel: telegram:7001:-1, requested_by: ann, until: 2027-01-01}]\n", 2,
     "offset", "+02:00"),
    ("bot_requests: [{bot: telegram:7002, channel: telegram:7001:-1, requested_by: ann, until: tomorrow}]\n", 2,
     "offset", "+02:00"),
    ("bot_requests: [{bot: telegram:7002, channel: telegram:7001:-1, requested_by: ann, until: 5}]\n", 2,
     "offset", "+02:00"),
    # what must hold together; PEOPLE are eight lines, so the first line here is the tenth
    (PEOPLE + "approvers: {groups: {finance: [ann, bob]}}\n", 9, "an approver is an operator", "ann"),
    ("invites: {by: [bub]}\n", 2, "not listed under people", "none is listed"),
    (PEOPLE + "invites: {by: [bub]}\n", 9, "not listed under people", "did you mean bob?"),
    (PEOPLE + "invites: {from: [bob]}\n", 9, "from is not known", "write by"),
    (PEOPLE + "bots: [telegram:502]\n", 9, "this account is bob's", "one place"),
    ("bots: [robot]\n", 2, "this is no account", "matrix"),
    ("approvers: {groups: {finance: [bob]}}\n", 2, "an approver is an operator", "under operators first"),
    ("operators: [an]\npeople: {ann: {accounts: [telegram:501]}}\n", 2, "not listed under people", "ann?"),
    ("operators: [ann]\n", 2, "not listed under people", "none is listed"),
    ("operators: [ann, ann]\npeople: {ann: {accounts: [telegram:501]}}\n", 2, "twice", "remove one"),
    ("operators: [ann]\npeople:\n  ann: {accounts: [telegram:501], access: deny}\n", 4, "can't be denied", "operators"),
    ("operators: [ann]\npeople:\n  ann: {accounts: [], counterparty: acme}\ncounterparties: {acme: {name: A}}\n", 4, "belongs to no counterparty", "operators"),
    ("people:\n  ann: {accounts: [telegram:501]}\n  bob: {accounts: [web:bob, telegram:501]}\n", 4,
     "already listed in line 3", "one person"),
    ("people:\n  ann: {accounts: [telegram:501, telegram:501]}\n", 3, "already listed in line 3", "one person"),
    ("people:\n  ann: {accounts: [web:ann], principals: [did:a:1]}\n  bob: {accounts: [web:bob], principals: [did:a:1]}\n", 4,
     "names somebody already", "one person, once"),
    ("people:\n  ann: {accounts: [web:ann], principals: [did:a:1, did:a:1]}\n", 3, "names somebody already", "once"),
    ("people:\n  ann: {accounts: [web:ann], principals: [bob]}\n  bob: {accounts: [web:bob]}\n", 3,
     "names somebody already", "another one"),
    ("people:\n  ann: {accounts: [], counterparty: acne}\ncounterparties: {acme: {name: Acme}}\n", 3,
     "counterparty is not listed", "acme?"),
    (PEOPLE + "channels:\n  telegram:7001:-1: {audience: external, counterparty: acne}\n", 10,
     "counterparty is not listed", "acme?"),
    (PEOPLE + "channels:\n  telegram:7001:-1: {audience: internal, counterparty: acme}\n", 10,
     "not internal", "audience: external"),
    ("channels:\n  telegram:7001:-1: {require_mention: true}\n", 3, "audience is missing", "external"),
    ("channels:\n  telegram:7001:-1: {audience: external, require_mention: false}\n", 3, "PART-6", "internal"),
    ("channels:\n  telegram:7001:-1: {audience: external, answer_operators: true}\n", 3, "PART-7", "internal"),
    ("channels:\n  telegram:7001:-1: {audience: external, never_silent_ack: true}\n", 3, "PART-10", "internal"),
    ("channels:\n  telegram:7001:-1: {audience: external, progress: true}\n", 3, "OUT-3", "internal"),
    ("channels:\n  telegram:7001:-1: {audience: external, reports: true}\n", 3, "OUT-8", "internal"),
    ("channels:\n  telegram:7001:-1: {audience: external, streaming: draft}\n", 3, "one-to-one", "edit or none"),
    ("channels:\n  telegram:7001:-1:\n    audience: internal\n    observe_unmentioned_group_messages: true\n", 5,
     "PART-9", "observation: {retention"),
    ("channels:\n  telegram:7001:-1:\n    audience: internal\n    observation: {retention: 1h, readers: [main]}\n", 5,
     "no effect by itself", "observe_unmentioned_group_messages: true"),
    ("channels:\n  telegram:7001:-1: {audience: internal}\n  telegram:7001:-1:7: {audience: external}\n", 4,
     "line 3, has another audience", "remove it here"),
    (PEOPLE + "channels:\n  telegram:7001:-1: {audience: external, counterparty: bird}\n"
     "  telegram:7001:-1:7: {counterparty: acme}\n", 11, "line 10, has another counterparty", "remove it here"),
    ("channels:\n  telegram:7001:-1: {audience: external}\n  telegram:7001:-1:7: {progress: true}\n", 4, "OUT-3", "remove"),
    ("defaults:\n  burst: {quiet: 1m}\n", 3, "shorter than quiet", "longer one"),
    ("defaults:\n  burst: {longest: 5s}\ndirect:\n  burst: {quiet: 6s}\n", 5, "shorter than quiet", "longer one"),
    ("channels:\n  telegram:7001:-1:\n    audience: external\n    burst: {longest: 1s}\n", 5, "shorter", "longer"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message", "mend"), REFUSED, ids=lambda value: repr(value)[:50])
def test_what_can_not_hold_is_refused_with_its_line_and_mend(text, line, message, mend):
    (problem,) = [problem for problem in problems_of(text) if problem.mark.line == line and message in problem.message]

    assert mend in problem.mend


REQUEST = "{{bot: {bot}, channel: {channel}, requested_by: {by}, until: 2027-01-01T00:00:00Z}}"


@pytest.mark.parametrize(
    ("bot", "channel", "by", "message", "mend"),
    [
        ("telegram:7002", "telegram:7001:-1", "bob", "only an operator", "name one of ann"),
        ("telegram:7002", "telegram:7001:-2", "ann", "not listed", "under channels first"),
        ("telegram:7001", "telegram:7001:-1", "ann", "own bot", "remove the request"),
        ("matrix:@x:example.org", "telegram:7001:-1", "ann", "different platforms", "account there"),
    ],
)
def test_a_request_for_a_bot_names_an_operator_a_listed_channel_and_another_bot_there(bot, channel, by, message, mend):
    channels = "channels:\n  telegram:7001:-1: {audience: external}\n"
    request = REQUEST.format(bot=bot, channel=channel, by=by)

    (problem,) = problems_of(f"{PEOPLE}{channels}bot_requests: [{request}]\n")

    assert message in problem.message
    assert mend in problem.mend


def test_a_version_that_is_not_known_is_refused():
    for text, line in (("version: 2\n", 1), ("{}\n", 1), ("defaults: {}\n", 1)):
        with pytest.raises(DocumentError, match="version") as caught:
            load(text, source="policy.yaml", environment={})
        assert caught.value.problems[0].mark.line == line


def test_problems_of_yaml_and_of_the_policy_are_reported_together():
    text = "operators: no\nchanels: {}\ndefaults: {language: fr, backlog: 60}\n"

    assert [problem.mark.line for problem in problems_of(text)] == [2, 3, 4, 4]


def test_a_half_saved_file_is_refused_and_nothing_else_is_said_of_it():
    (problem,) = problems_of("channels: [\n")

    assert problem.mark.line == 3


@pytest.mark.parametrize("text", ["", "gateway: disabled\n", "telegram:\nmatrix: {}\n", "--- {a: 1}\n--- {b: 2}\n"])
def test_what_is_no_policy_at_all_is_refused(text):
    with pytest.raises(DocumentError):
        load(text, source="policy.yaml", environment={})


def test_all_that_is_wrong_together_is_reported_together():
    text = "operators: [ann]\nchannels:\n  telegram:7001:-1: {progress: true}\n  telegram:7001:-2: {audience: external, reports: true}\n"

    assert [problem.mark.line for problem in problems_of(text)] == [2, 4, 5]


def test_one_destination_in_two_writings_is_a_duplicate():
    text = "channels:\n  telegram:7001:-1: {audience: external}\n  'telegram:7001:-1': {audience: internal}\n"

    (problem,) = problems_of(text)

    assert "line 3 and in line 4" in problem.message


class Pair(Shape):
    """Two things that are always written."""

    left: float
    right: str


def test_each_thing_that_is_missing_in_one_section_is_named():
    model, report = fit(Pair, "{}\n", source="pair.yaml", environment={})

    assert model is None
    assert [problem.path for problem in report.problems] == ["left", "right"]


def test_a_number_may_be_whole_where_a_decimal_is_meant_and_is_no_text():
    model, _ = fit(Pair, "left: 1\nright: a\n", source="pair.yaml", environment={})
    _, report = fit(Pair, "left: a\nright: 1.5\n", source="pair.yaml", environment={})

    assert model is not None
    assert [problem.message.split(",")[0] for problem in report.problems] == [
        "a number is expected here",
        "a text is expected here",
    ]


def test_a_path_has_one_problem_and_a_broken_place_keeps_its_own():
    root, problems = survey("a: no\nb: x\n", source="x.yaml", environment={})
    report = Report("x.yaml", root, problems)

    report(("a",), "something else", "mend it")
    report(("b",), "first", "mend it")
    report(("b",), "second", "mend it")

    assert [problem.message.split()[0] for problem in report.problems] == ["this", "first"]
