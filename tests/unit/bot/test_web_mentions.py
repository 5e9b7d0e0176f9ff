import pytest

from bot.channels.web.mentions import addressed, command_of
from policy.event import Command, Target
from tests.browser.mentions import KNOWN, MENTIONS


@pytest.mark.parametrize(("text", "expected"), MENTIONS)
def test_a_mention_is_a_token_of_its_own_outside_code_and_quotes(text, expected):
    assert addressed(text, frozenset(KNOWN)) == expected


def test_a_hostile_text_is_searched_in_reasonable_time():
    import time

    began = time.perf_counter()
    for text in ("`" * 8000, "` `` " * 1600, "@desk`" * 1300, "@" * 8000, "`a" * 4000):
        addressed(text, frozenset(KNOWN))
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/status", Command(name="status", target=Target.NOBODY)),
        ("/Status now", Command(name="status", target=Target.NOBODY)),
        ("/status@desk", Command(name="status", target=Target.SELF)),
        ("/status@mara x", Command(name="status", target=Target.OTHER)),
        (" /status", None),
        ("/status.", None),
        ("/path/to", None),
        ("say /status", None),
    ],
)
def test_a_command_stands_at_the_very_start(text, expected):
    assert command_of(text, "desk") == expected
