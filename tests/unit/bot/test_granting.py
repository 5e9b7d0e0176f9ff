"""How the commands of operators are read, whatever platform they come from."""

from datetime import timedelta

import pytest

from bot.deliveries.grants import grant_id, read_duration
from bot.runtime.granting import _arguments


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("/grant main telegram:7001:-1 3 8h x", "grant", "main telegram:7001:-1 3 8h x"),
        ("/grant@desk_bot main\ttelegram:7001:-1", "grant", "main\ttelegram:7001:-1"),
        ("/GRANT main", "grant", "main"),
        ("@desk:example.org: !grant main matrix:@desk:example.org:!abc:example.org 1 1h x", "grant", None),
        ("!revoke abc", "revoke", "abc"),
        ("/status", "status", ""),
        ("/granted main", "grant", ""),
        ("no command at all", "grant", ""),
    ],
)
def test_what_follows_a_command_is_found_on_every_platform(text, name, arguments):
    wanted = text.partition("!grant ")[2] if arguments is None else arguments
    assert _arguments(text, name) == wanted


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("30m", timedelta(minutes=30)),
        ("8h", timedelta(hours=8)),
        ("7d", timedelta(days=7)),
        ("8", None),
        ("8H", None),
        ("h", None),
        ("-8h", None),
        ("٨h", None),
        ("9999999d", None),
        ("", None),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text, time):
    assert read_duration(text) == time


def test_the_same_cause_makes_the_same_grant_and_no_cause_a_new_one():
    assert grant_id("telegram:7001", "12") == grant_id("telegram:7001", "12") != grant_id("telegram:7001", "13")
    assert grant_id() != grant_id()
