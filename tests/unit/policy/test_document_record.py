"""The authorised record in the policy file, and what of it may be used where (AUTO-8)."""

from datetime import UTC, datetime

import pytest

from policy.audience import settings_of
from policy.content import ContentClass
from policy.destination import parse_destination
from policy.document import DocumentError, load
from policy.event import Chat
from policy.record import Entry, visible

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HEAD = """version: 1
operators: [ann]
people:
  ann: {accounts: ["telegram:501"]}
  bob: {accounts: ["telegram:502"], counterparty: acme}
counterparties: {acme: {name: Acme}, zeta: {name: Zeta}}
record:
"""


def read(*lines):
    return load(HEAD + "".join(f"  {line}\n" for line in lines), source="policy.yaml", environment={})


def test_an_entry_says_what_is_so_for_whom_until_when_and_for_which_classes():
    (entry,) = read(
        'seats/2026: {text: " twelve ", counterparties: [acme], expires_at: 2027-01-01T00:00:00+01:00, classes: [prices]}'
    ).record.values()
    assert entry == Entry(
        id="seats/2026",
        text="twelve",
        counterparties=frozenset({"acme"}),
        expires_at=datetime.fromisoformat("2027-01-01T00:00:00+01:00"),
        classes=frozenset({ContentClass.PRICES}),
    )
    (plain,) = read("hours: {text: Mo to Fr}").record.values()
    assert plain == Entry(id="hours", text="Mo to Fr")
    assert "Mo to Fr" not in repr(plain)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('hours: {text: " "}', "an entry that says nothing"),
        (f"hours: {{text: {'x' * 2001}}}", "longer than 2000 characters"),
        ("hours: {text: x, counterparties: []}", "nobody may see this"),
        ("hours: {text: x, counterparties: [acne]}", "this counterparty is not listed"),
        ('"a b": {text: x}', "no id of an entry"),
        ("hours: {text: x, classes: [price]}", "this word is not known"),
        ("hours: {text: x, expires_at: tomorrow}", "no time with its offset"),
        ("hours: {counterparties: [acme]}", "text is missing"),
    ],
)
def test_what_cannot_hold_is_refused_with_its_line_and_mend(line, wrong):
    with pytest.raises(DocumentError) as caught:
        read(line)
    assert caught.value.problems[0].mark.line == 8
    assert wrong in str(caught.value)
    assert caught.value.problems[0].mend


def test_what_may_be_used_holds_and_is_for_everybody_or_for_this_counterparty():
    entries = read(
        "all: {text: x}",
        "acmes: {text: x, counterparties: [acme]}",
        "both: {text: x, counterparties: [acme, zeta]}",
        "over: {text: x, expires_at: 2026-03-01T12:00:00Z}",
        "soon: {text: x, expires_at: 2026-03-01T12:00:01Z}",
    ).record.values()
    found = {who: [entry.id for entry in visible(entries, who, NOW)] for who in ("acme", "zeta", None)}
    assert found == {"acme": ["all", "acmes", "both", "soon"], "zeta": ["all", "both", "soon"], None: ["all", "soon"]}


@pytest.mark.parametrize(("person", "counterparty"), [("telegram:501", None), ("telegram:502", "acme"), (None, None)])
def test_a_one_to_one_chat_belongs_to_the_organisation_of_its_person(person, counterparty):
    place = parse_destination("telegram:7001:502")
    settings = settings_of(read("all: {text: x}"), place, chat=Chat.DIRECT, person=person)
    assert settings.counterparty == counterparty
