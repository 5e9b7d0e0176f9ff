"""The pure decisions around commands (CMD-1 to 4)."""

from dataclasses import replace

import pytest

from bot.commands.deciding import OnBehalfOf, allowed, belongs, check_input, in_language, judged, offered, readable
from bot.commands.refusals import TEXTS, refusal
from bot.config.commands import (
    Command,
    CommandRule,
    HandoverAction,
    KeepAction,
    ObjectTable,
    Readers,
    SummaryAction,
    TableObject,
)
from bot.model.command import Call, Thing
from bot.model.errors import CommandError
from policy.decision import Audience
from policy.destination import parse_destination
from policy.document import load
from policy.event import Chat
from policy.ruleset import Access, Person
from tests.harness import POLICY

BASE = load(POLICY, source="policy.yaml", environment={})
RULED = replace(BASE, approvers={"billing": frozenset({"bob"})})
BOB = Person(id="bob", accounts=frozenset(), counterparty="acme")
ANN = Person(id="ann", accounts=frozenset(), operator=True)
COMMAND = Command(
    name="close",
    description="Closes.",
    title={"en": "Close"},
    audiences=frozenset({Audience.EXTERNAL}),
    action=KeepAction(),
)
TABLE = ObjectTable(
    objects={
        "a": TableObject(display="A", readers=Readers(people=frozenset({"bob"})), fields={"state": "open"}),
        "b": TableObject(display="B", readers=Readers(groups=frozenset({"operators"}))),
        "c": TableObject(display="C", readers=Readers(counterparties=frozenset({"acme"}))),
        "d": TableObject(display="D", readers=Readers(groups=frozenset({"billing", "nobody"}))),
        "e": TableObject(display="E", readers=Readers()),
    }
)


def whom(person=BOB, audience=Audience.EXTERNAL):
    return OnBehalfOf(person=person, audience=audience, policy=RULED)


def call(**changes):
    given = {
        "name": "close",
        "key": "k",
        "agent": "main",
        "request_id": "r",
        "event_id": 1,
        "root_id": 1,
        "destination": parse_destination("telegram:7001:-100"),
        "chat": Chat.GROUP,
        "account": "telegram:1",
        "message": "1",
        "audience": Audience.EXTERNAL,
        "language": "en",
    }
    return Call(**{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "asked", "may"),
    [
        ({}, whom(), True),
        ({}, whom(person=None), True),
        ({}, whom(audience=Audience.UNKNOWN), True),
        ({}, whom(audience=Audience.INTERNAL), False),
        ({}, whom(audience=Audience.OPERATOR), False),
        ({}, whom(person=replace(BOB, access=Access.DENY)), False),
        ({"audiences": frozenset({Audience.INTERNAL})}, whom(audience=Audience.UNKNOWN), False),
        ({"people": frozenset({"bob"})}, whom(), True),
        ({"people": frozenset({"ann"})}, whom(), False),
        ({"people": frozenset()}, whom(), False),
        ({"people": frozenset({""})}, whom(person=None), False),
        ({"groups": frozenset({"operators"})}, whom(person=ANN), True),
        ({"groups": frozenset({"operators"})}, whom(), False),
        ({"groups": frozenset({"billing"})}, whom(), True),
        ({"people": frozenset({"ann"}), "groups": frozenset({"billing"})}, whom(), True),
    ],
)
def test_a_command_is_allowed_by_audience_and_person(changes, asked, may):
    command = replace(COMMAND, **changes)
    assert allowed(command, asked) is may
    assert bool(offered({"close": command}, asked)) is may


def test_a_stranger_belongs_nowhere():
    everything = frozenset({"", "None", "operators"})
    assert not belongs(whom(person=None), people=everything, groups=everything, counterparties=everything)


@pytest.mark.parametrize(
    ("person", "ids"),
    [(BOB, {"a", "c", "d"}), (ANN, {"b"}), (None, set()), (Person(id="e", accounts=frozenset()), set())],
)
def test_a_table_shows_what_the_person_may_read_and_nothing_else(person, ids):
    assert {one for one in (*TABLE.objects, "missing") if readable(TABLE, one, whom(person=person)) is not None} == ids


def test_a_readable_object_has_its_name_and_fields():
    assert readable(TABLE, "a", whom()) == Thing(id="a", display="A", fields={"state": "open"})


TAKING = replace(COMMAND, input_description="one")


@pytest.mark.parametrize(
    ("command", "given", "code"),
    [
        (COMMAND, {}, None),
        (COMMAND, {"object_id": ""}, "no_input_expected"),
        (TAKING, {}, "object_missing"),
        (TAKING, {"object_id": "a"}, None),
        (TAKING, {"object_id": "a", "words": "w"}, "no_text_expected"),
        (replace(COMMAND, action=SummaryAction()), {}, "text_missing"),
        (replace(COMMAND, action=SummaryAction()), {"words": " "}, "text_missing"),
        (replace(COMMAND, action=SummaryAction()), {"words": "w"}, None),
        (replace(COMMAND, action=HandoverAction()), {}, None),
        (replace(COMMAND, action=HandoverAction()), {"words": "w" * 4000}, None),
        (replace(COMMAND, action=HandoverAction()), {"words": "w" * 4001}, "text_too_long"),
    ],
)
def test_input_is_taken_where_it_is_expected(command, given, code):
    if code is None:
        check_input(command, call(**given))
        return
    with pytest.raises(CommandError) as refused:
        check_input(command, call(**given))
    assert refused.value.code == code


RULE = CommandRule(code="closed", when={"state": frozenset({"closed", "gone"})}, reason={"en": "Closed."})
BOTH = CommandRule(code="both", when={"state": frozenset({"open"}), "size": frozenset({"big"})}, reason={"en": "Both."})


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        (None, []),
        ({"state": "open", "size": "small"}, []),
        ({"state": "gone", "size": "big"}, ["closed"]),
        ({"state": "open", "size": "big"}, ["both"]),
        ({"state": "open"}, ["both"]),
        ({}, ["closed", "both"]),
    ],
)
def test_rules_refuse_what_fits_and_what_nobody_can_tell(fields, codes):
    thing = None if fields is None else Thing(id="a", display="A", fields=fields)
    assert [one.code for one in judged((RULE, BOTH), thing)] == codes


@pytest.mark.parametrize(
    ("language", "text"),
    [("de", "d"), ("de-AT", "d"), ("DE_at", "d"), ("pt-BR", "b"), ("pt", "e"), ("ru", "e"), ("", "e")],
)
def test_a_text_is_found_in_the_language_its_main_form_or_english(language, text):
    assert in_language({"en": "e", "de": "d", "pt-BR": "b"}, language) == text


def test_without_english_any_text_is_better_than_none():
    assert in_language({"de": "d"}, "ru") == "d"
    assert in_language({}, "ru") == ""


def test_the_refusals_of_the_tool_are_constants_in_english():
    for code, text in TEXTS.items():
        assert (refusal(code).code, str(refusal(code))) == (code, text)
        assert text.isascii()
        assert "{" not in text
