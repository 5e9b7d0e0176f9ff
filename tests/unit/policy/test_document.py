"""The policy file: what it says becomes the policy, and what can't hold is refused with its line and mend."""

import hashlib
import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import policy
from policy.content import Detector, Disclosure, HardStop
from policy.decision import Audience, Outcome
from policy.destination import parse_destination
from policy.detectors import PACKAGE
from policy.document import DocumentError, load, schema
from policy.document_content import Topic
from policy.document_model import Document
from policy.participation import admit
from policy.ruleset import (
    DRAFT_ONLY,
    Access,
    Autonomy,
    Burst,
    ContentClass,
    Invites,
    Observation,
    Rate,
    Resend,
    Streaming,
)
from tests.unit.policy.builders import MEMORY, NOW, direct, event

EXAMPLE = Path(policy.__file__).parent / "example.yaml"
ROOM = parse_destination("telegram:7001:-100123")
TOPIC = parse_destination("telegram:7001:-100123:42")

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


REQUEST = "{{bot: {bot}, channel: {channel}, requested_by: {by}, until: 2027-01-01T00:00:00Z}}"


@pytest.mark.parametrize("written", ["telegram:7001:-100123", "'telegram:7001:-100123'", '"telegram:7001:-100123"'])
def test_quotes_around_a_destination_change_nothing(written):
    assert loaded(f"channels:\n  {written}: {{audience: external}}\n").channels[ROOM].audience is Audience.EXTERNAL


def test_the_smallest_policy_answers_nobody():
    found = loaded("")

    assert admit(found, event("@agent hello", mentions_self=True), MEMORY, now=NOW).outcome is Outcome.MUTE
    assert admit(found, direct(), MEMORY, now=NOW).outcome is Outcome.MUTE
    assert found.channel(ROOM).audience is Audience.UNKNOWN
    assert found.channel(ROOM).access is Access.UNKNOWN
    assert not found.answer_unknown
    assert found.direct.audience is Audience.EXTERNAL


def test_empty_lists_are_nobody():
    found = loaded(
        "operators: []\npeople: {}\ncommands: []\napprovers: {groups: {finance: []}}\n"
        "channels:\n  telegram:7001:-100123: {audience: internal, people: listed, require_mention: false}\n"
    )

    assert found.operators == ()
    assert found.approvers == {"finance": frozenset()}
    assert admit(found, event(), MEMORY, now=NOW).outcome is Outcome.MUTE
    assert admit(found, event("/x", mentions_self=True), MEMORY, now=NOW).outcome is Outcome.MUTE


def test_people_are_found_by_each_of_their_accounts():
    found = loaded(
        "operators: [ann]\npeople:\n"
        '  ann: {accounts: [telegram:501, "matrix:@ann:example.org", web:ann], language: de}\n'
        "  bob: {accounts: [telegram:502], counterparty: acme, access: allow}\n"
        "  eve: {accounts: [telegram:503], access: deny}\n"
        "counterparties: {acme: {name: Acme}}\n"
    )

    assert {found.people[account].id for account in ("telegram:501", "matrix:@ann:example.org", "web:ann")} == {"ann"}
    assert found.people["web:ann"].operator
    assert found.people["web:ann"].language == "de"
    assert found.people["web:ann"].access is Access.UNKNOWN
    assert found.people["telegram:502"].counterparty == "acme"
    assert not found.people["telegram:502"].operator
    assert found.people["telegram:503"].access is Access.DENY
    assert found.person("telegram:504") is None
    assert found.operators == ("ann",)


def test_people_are_shown_by_the_first_of_their_names_as_it_is_written():
    found = loaded("people:\n  ann: {accounts: [web:ann], names: [Ann Éxample, Annie]}\n  bob: {accounts: [web:bob]}\n")

    assert [found.people[account].display for account in ("web:ann", "web:bob")] == ["Ann Éxample", ""]


def test_people_are_called_by_their_names_and_first_names():
    found = loaded("people:\n  ann: {accounts: [], names: [Ann Éxample, Annie]}\n  bob: {accounts: [], names: [ANN]}\n")

    assert found.called == {
        "ann": frozenset({"ann", "bob"}),
        "ann éxample": frozenset({"ann"}),
        "annie": frozenset({"ann"}),
    }


def test_a_channel_says_what_holds_there():
    found = loaded(
        "channels:\n  telegram:7001:-100123:\n"
        "    audience: internal\n    require_mention: false\n    people: listed\n    answer_operators: true\n"
        "    observe_unmentioned_group_messages: true\n    observation: {retention: 6h, readers: [main]}\n"
        "    never_silent_ack: true\n    streaming: edit\n    progress: true\n    unclear_sends: resend\n    agent: helper\n"
        "    language: de\n    reports: true\n    backlog: 0s\n    burst: {quiet: 2s}\n    rate: {person: 3}\n"
    )

    there = found.channels[ROOM]
    assert there.audience is Audience.INTERNAL
    assert there.access is Access.ALLOW
    assert not there.require_mention
    assert there.listed_people_only
    assert there.answer_operators
    assert there.observation == Observation(retention=timedelta(hours=6), readers=frozenset({"main"}))
    assert there.never_silent_ack
    assert there.streaming is Streaming.EDIT
    assert there.progress
    assert there.unclear_sends is Resend.RESEND
    assert there.agent == "helper"
    assert there.language == "de"
    assert there.reports
    assert there.backlog == timedelta()
    assert there.burst == Burst(quiet=timedelta(seconds=2))
    assert there.rate == Rate(person=3)


def test_a_channel_that_says_little_is_careful():
    there = loaded("channels:\n  telegram:7001:-100123: {audience: external}\n").channels[ROOM]

    assert there.require_mention
    assert there.observation is None
    assert not any((there.answer_operators, there.never_silent_ack, there.progress, there.reports))
    assert there.streaming is Streaming.OFF
    assert there.unclear_sends is Resend.PARK


def test_a_denied_channel_needs_no_audience():
    there = loaded("channels:\n  telegram:7001:-100123: {access: deny}\n").channels[ROOM]

    assert (there.access, there.audience) == (Access.DENY, Audience.EXTERNAL)


def test_observation_that_is_switched_off_keeps_nothing():
    there = loaded(
        "channels:\n  telegram:7001:-100123: {audience: internal, observe_unmentioned_group_messages: false,\n"
        "    observation: {retention: 1h, readers: [main]}}\n"
    ).channels[ROOM]

    assert there.observation is None


def test_defaults_reach_where_nothing_closer_says_otherwise():
    found = loaded(
        "defaults: {language: ru, timezone: Europe/Sofia, require_mention: true, backlog: 2h, agent: main, streaming: edit,\n"
        "  burst: {quiet: 2s, longest: 1m}, rate: {person: 5, channel: 6}, unclear_sends: resend, never_silent_ack: true}\n"
        "direct: {language: es, strangers: allow, burst: {quiet: 3s}, rate: {channel: 9}}\n"
        "channels:\n  telegram:7001:-100123: {audience: external, backlog: 0s}\n"
        "  telegram:7001:-2: {audience: internal}\n  telegram:7001:-3: {audience: internal, never_silent_ack: false}\n"
    )

    outside, inside, quiet = found.channels.values()
    assert (found.language, found.timezone, found.agent) == ("ru", "Europe/Sofia", "main")
    assert (outside.language, outside.backlog, outside.agent, outside.streaming) == (
        "ru",
        timedelta(),
        "main",
        Streaming.EDIT,
    )
    assert [there.never_silent_ack for there in (outside, inside, quiet)] == [False, True, False]
    assert outside.unclear_sends is Resend.RESEND
    assert outside.burst == Burst(quiet=timedelta(seconds=2), longest=timedelta(minutes=1))
    assert (found.direct.language, found.direct.burst.quiet, found.direct.rate) == (
        "es",
        timedelta(seconds=3),
        Rate(person=5, channel=9),
    )
    assert found.strangers is Access.ALLOW
    assert found.unknown.backlog == timedelta(hours=2)
    assert found.unknown.streaming is Streaming.OFF


def test_drafts_by_default_reach_one_to_one_chats_only():
    found = loaded("defaults: {streaming: draft}\nchannels:\n  telegram:7001:-100123: {audience: external}\n")

    assert found.direct.streaming is Streaming.DRAFT
    assert found.channels[ROOM].streaming is Streaming.OFF


def test_a_topic_takes_from_its_channel_what_it_does_not_say():
    found = loaded(
        f"{PEOPLE}channels:\n"
        "  telegram:7001:-100123: {audience: external, counterparty: acme, people: listed, language: de}\n"
        "  telegram:7001:-100123:42: {language: ru}\n"
        "  telegram:7001:-5: {audience: internal, reports: true, answer_operators: true}\n"
        "  telegram:7001:-5:6: {require_mention: false}\n"
        "  telegram:7001:-9:6: {audience: external}\n"
    )

    topic = found.channels[TOPIC]
    assert topic == replace(found.channels[ROOM], language="ru")
    assert (topic.audience, topic.counterparty, topic.listed_people_only) == (Audience.EXTERNAL, "acme", True)
    inner = found.channels[parse_destination("telegram:7001:-5:6")]
    assert (inner.answer_operators, inner.require_mention, inner.reports) == (True, False, False)
    assert found.channels[parse_destination("telegram:7001:-9:6")].audience is Audience.EXTERNAL


def test_a_bot_may_speak_where_an_operator_asked_for_it():
    channels = "channels:\n  telegram:7001:-100123: {audience: external}\n"
    request = REQUEST.format(bot="telegram:7002", channel="telegram:7001:-100123:42", by="ann")

    (found,) = loaded(f"{PEOPLE}{channels}bot_requests: [{request}]\n").bot_requests

    assert (found.bot, found.channel, found.requested_by) == ("telegram:7002", TOPIC, "ann")
    assert found.until.isoformat() == "2027-01-01T00:00:00+00:00"


def test_a_time_keeps_its_offset():
    channels = "channels:\n  telegram:7001:-100123: {audience: external}\n"
    text = f"{PEOPLE}{channels}bot_requests:\n- bot: telegram:7002\n  channel: telegram:7001:-100123\n  requested_by: ann\n"

    (found,) = loaded(f"{text}  until: 2027-01-01T00:00:00+02:00\n").bot_requests

    assert found.until == datetime(2027, 1, 1, tzinfo=timezone(timedelta(hours=2)))


def test_requests_in_unknown_channels_are_answered_where_the_policy_says_so():
    assert loaded("unknown_channels: {explicit_requests: answer}\n").answer_unknown
    assert not loaded("unknown_channels: {explicit_requests: mute}\n").answer_unknown


def test_autonomy_can_make_more_draft_only_and_never_less():
    found = loaded(
        f"{PEOPLE}"
        "autonomy: {default: auto, auto_after: true, draft_only: [prices], tiers: {1: [routine]}}\n"
        "channels:\n"
        "  telegram:7001:-1: {audience: external, counterparty: acme}\n"
        "  telegram:7001:-2: {audience: external, counterparty: bird}\n"
        "  telegram:7001:-3: {audience: internal, autonomy: {default: draft, auto_after: false, draft_only: [routine]}}\n"
        "  telegram:7001:-4: {audience: internal, autonomy: {}}\n"
    )

    everything = DRAFT_ONLY | {ContentClass.ROUTINE}
    tiered, plain, own, empty = (there.autonomy for there in found.channels.values())
    assert tiered == Autonomy(automatic=True, draft_only=everything, auto_after=True)
    assert plain == Autonomy(automatic=True, draft_only=DRAFT_ONLY, auto_after=True)
    assert own == Autonomy(automatic=False, draft_only=everything, auto_after=False)
    assert empty == plain == found.direct.autonomy
    assert found.tiers == {1: frozenset({ContentClass.ROUTINE})}


def test_words_that_hold_a_place_are_said_where_the_closest_place_says_so():
    found = loaded(
        "autonomy: {holding_words: true}\n"
        "channels:\n"
        "  telegram:7001:-1: {audience: external, autonomy: {holding_words: false}}\n"
        "  telegram:7001:-2: {audience: external, autonomy: {default: draft}}\n"
    )

    assert [there.autonomy.holding_words for there in found.channels.values()] == [False, True]
    assert not Autonomy().holding_words


def test_a_tier_without_classes_adds_nothing():
    found = loaded(f"{PEOPLE}channels:\n  telegram:7001:-1: {{audience: external, counterparty: acme}}\n")

    assert [there.autonomy for there in found.channels.values()] == [Autonomy()]


def test_a_channel_may_be_automatic_where_drafts_are_the_rule():
    found = loaded(
        "autonomy: {default: draft}\nchannels:\n  telegram:7001:-1: {audience: internal, autonomy: {default: auto}}\n"
    )

    assert not found.direct.autonomy.automatic
    assert [there.autonomy.automatic for there in found.channels.values()] == [True]


def test_counterparties_keep_their_terms_and_do_not_show_them():
    found = loaded("counterparties: {acme: {name: Acme, tier: 2, protected_terms: [' Blue Heron ', ACME-2210]}}\n")

    acme = found.counterparties["acme"]
    assert (acme.name, acme.tier, acme.protected_terms) == ("Acme", 2, ("Blue Heron", "ACME-2210"))
    assert "Heron" not in repr(found)


def test_the_digest_is_that_of_the_text():
    text = "version: 1\n"

    assert load(text, source="x", environment={}).digest == hashlib.sha256(text.encode()).hexdigest()


def test_the_example_loads():
    found = load(EXAMPLE.read_text(encoding="utf-8"), source=EXAMPLE.name, environment={})

    assert found.operators == ("ann",)
    assert {there.audience for there in found.channels.values()} == {Audience.EXTERNAL, Audience.INTERNAL}


def test_the_schema_describes_every_key_and_knows_no_null():
    found = schema()

    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["required"] == ["version"]
    assert "null" not in json.dumps(found)
    for section in (found, *found["$defs"].values()):
        assert section["description"]
        assert section["additionalProperties"] is False
        assert all("description" in key or "$ref" in key for key in section["properties"].values())
    assert found["properties"]["channels"]["additionalProperties"] is False
    assert found["$defs"]["Channel"]["properties"]["audience"]["enum"] == ["external", "internal"]
    assert "defaults" in Document.model_fields


WORDS = st.sampled_from(
    ["version", "1", "channels", "telegram:7001:-1", "-1", "audience", "external", "people", "ann", "no", "x", "1h"]
)
TREES = st.recursive(
    st.one_of(WORDS, st.integers(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(WORDS, st.sampled_from(list(Document.model_fields))), inner, max_size=4)),
    max_leaves=20,
)  # fmt: skip


@given(st.one_of(st.text(), TREES.map(json.dumps)))
def test_any_text_is_a_policy_or_a_document_error(text):
    try:
        found = load(text, source="policy.yaml", environment={})
    except DocumentError:
        return
    assert found.digest


def test_bots_and_invites_are_what_the_file_says():
    people = "operators: [ann]\npeople: {ann: {accounts: [web:ann]}, bob: {accounts: [web:bob]}}\n"
    said = people + 'bots: ["matrix:@ci:example.org"]\ninvites: {by: [bob], rooms: none, otherwise: decline}\n'
    loaded_policy = load("version: 1\n" + said, source="policy.yaml", environment={})
    assert loaded_policy.bots == {"matrix:@ci:example.org"}
    assert loaded_policy.invites == Invites(inviters=frozenset({"bob"}), listed_rooms=False, decline=True)
    assert load("version: 1\n", source="policy.yaml", environment={}).invites == Invites()


def test_the_detectors_of_the_package_are_in_force_until_the_file_switches_them_off_by_class():
    assert load("version: 1\n", source="p", environment={}).detectors == PACKAGE
    text = """\
version: 1
detectors:
  prices: {words: [Sondertarif], patterns: ['offer [0-9]+'], amounts: true}
  technical_figure: {package: false}
  signing: {package: false, words: [signed by us*]}
  legal: {package: true}
"""
    loaded = load(text, source="p", environment={})
    off = {ContentClass.TECHNICAL_FIGURE, HardStop.SIGNING}
    assert loaded.detectors == (
        *(one for one in PACKAGE if one.raises not in off),
        Detector(raises=ContentClass.PRICES, words=("Sondertarif",), patterns=("offer [0-9]+",), amounts=True),
        Detector(raises=HardStop.SIGNING, words=("signed by us*",)),
    )


def test_the_file_adds_what_is_never_disclosed_and_what_needs_a_source():
    text = """\
version: 1
disclosure: {hosts: [build01, "*.example.net", .example.org], words: [sprint board], patterns: ['desk-[0-9]+']}
autonomy: {needs_reference: [routine, prices]}
"""
    loaded = load(text, source="p", environment={})
    assert loaded.disclosure == Disclosure(
        hosts=("build01", "*.example.net", ".example.org"), words=("sprint board",), patterns=("desk-[0-9]+",)
    )
    assert loaded.needs_reference == {ContentClass.ROUTINE, ContentClass.PRICES}
    assert load("version: 1\n", source="p", environment={}).disclosure == Disclosure()


def test_every_class_but_routine_and_every_hard_stop_can_have_detectors():
    assert set(get_args(Topic)) == {one.value for one in (*DRAFT_ONLY, *HardStop)}


def test_agents_name_a_person_by_their_id_or_by_further_ones():
    found = loaded("people:\n  ann: {accounts: [telegram:501, web:ann], principals: ['did:example:alice']}\n")

    for name in ("ann", "did:example:alice"):
        person = found.named(name)
        assert person is not None
        assert person.id == "ann"
    assert [found.named(name) for name in ("Ann", "telegram:501", "did:example:bob", "")] == [None] * 4
