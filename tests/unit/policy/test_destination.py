"""Written destinations and accounts."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.audience import audience_of
from policy.decision import Audience
from policy.destination import (
    Destination,
    MalformedAccountError,
    MalformedDestinationError,
    parse_account,
    parse_destination,
)
from policy.event import Chat
from tests.unit.policy.builders import ANN, GROUP, INTERNAL, STRANGE, STRANGER, policy

GOOD = [
    ("telegram:7001:-100123", ("telegram", "7001", "-100123", None)),
    ("telegram:7001:-100123:42", ("telegram", "7001", "-100123", "42")),
    ("matrix:@desk:example.org:!abc:example.org", ("matrix", "@desk:example.org", "!abc:example.org", None)),
    ("matrix:@desk:example.org:!v12hash", ("matrix", "@desk:example.org", "!v12hash", None)),
    (
        "matrix:@desk:example.org:!abc:example.org:$root",
        ("matrix", "@desk:example.org", "!abc:example.org", "$root"),
    ),
    ("matrix:@d:localhost:8448:!abc:localhost:8448", ("matrix", "@d:localhost:8448", "!abc:localhost:8448", None)),
    ("web:demo:customer", ("web", "demo", "customer", None)),
]


@pytest.mark.parametrize(("text", "parts"), GOOD)
def test_a_written_destination_reads_back_as_it_was_written(text, parts):
    destination = parse_destination(text)
    assert (destination.platform, destination.workspace, destination.channel, destination.thread) == parts
    assert str(destination) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "telegram",
        "telegram:7001",
        "telegram:@desk:-100",
        "telegram:7001:Lab Group",
        "telegram:7001:-100:",
        "telegram:7001:0",
        "telegram:7001:-100123\n",
        "matrix:@desk:example.org",
        "matrix:desk:!a:b",
        "web:Demo:x",
        "irc:a:b",
    ],
)
def test_a_malformed_destination_is_refused_with_the_mend(text):
    with pytest.raises(MalformedDestinationError, match=r"is no platform|destination is"):
        parse_destination(text)


@pytest.mark.parametrize("text", ["telegram:7001:-10012\u0663", "telegram:7001:-100123:4\u0662", "telegram:70\u0660:5"])
def test_digits_of_other_scripts_make_no_second_name_of_a_place(text):
    with pytest.raises(MalformedDestinationError):
        parse_destination(text)


@pytest.mark.parametrize("text", ["telegram:501", "matrix:@ann:example.org", "web:ann"])
def test_a_written_account_is_kept(text):
    assert parse_account(text) == text


@pytest.mark.parametrize("text", ["telegram:@ann", "telegram:-100", "matrix:ann", "irc:ann", "ann", "web:Ann Lee"])
def test_a_name_where_an_id_belongs_is_refused(text):
    with pytest.raises(MalformedAccountError):
        parse_account(text)


@given(st.text(max_size=60))
def test_any_text_is_a_destination_that_reads_back_or_is_refused(text):
    with contextlib.suppress(MalformedDestinationError):
        assert str(parse_destination(text)) == text


def test_a_thread_belongs_to_its_room_and_account():
    topic = parse_destination("telegram:7001:-100123:42")
    assert topic.room == GROUP
    assert GROUP.room is GROUP
    assert topic.account == "telegram:7001"


@pytest.mark.parametrize(
    ("destination", "chat", "person", "audience"),
    [
        (GROUP, Chat.GROUP, ANN, Audience.EXTERNAL),
        (INTERNAL, Chat.GROUP, STRANGER, Audience.INTERNAL),
        (STRANGE, Chat.GROUP, ANN, Audience.UNKNOWN),
        (STRANGE, Chat.DIRECT, ANN, Audience.OPERATOR),
        (INTERNAL, Chat.DIRECT, STRANGER, Audience.EXTERNAL),
        (INTERNAL, Chat.BROADCAST, ANN, Audience.UNKNOWN),
        (
            Destination(platform="telegram", workspace="7001", channel="-100777", thread="5"),
            Chat.GROUP,
            None,
            Audience.INTERNAL,
        ),
    ],
)
def test_audience_comes_from_the_policy_by_exact_destination(destination, chat, person, audience):
    assert audience_of(policy(), destination, chat=chat, person=person) is audience
