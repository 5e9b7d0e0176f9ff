"""What a text becomes where something reads it (AUTO-5, OUT-4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.decoding import decoded
from policy.disclosure import Disclosed
from policy.document import load
from policy.screening import Screen

POLICY = """
version: 1
counterparties:
  heron: {name: Heron, protected_terms: [Blue Heron, Заря, Ines]}
"""


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        (r"\u0417\u0430\u0440\u044f", "Заря"),
        (r"\x42lue", "Blue"),
        (r"\u{1F600}!", "\U0001f600!"),
        (r"\u{FFFFFF}", "\U0010ffff"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\ud800", "\ufffd"),
        ("Blue%20Heron", "Blue Heron"),
        ("%D0%97%FF", "З\ufffd"),
        ("B<b class='x'>l</b>ue<!-- x -->", "Blue"),
        ("<td>in</td><td>es</td>", " in  es "),
        ("Bl&#117;e&nbsp;Heron", "Blue\u00a0Heron"),
        ("\u202enoreH eulB\u202c.", "Blue Heron\u202c."),
        ("plain words", None),
        ("100% sure, 5 < 6, AT&T, C:\\work", None),
    ],
)
def test_a_text_is_read_as_what_it_stands_for(text, becomes):
    assert decoded(text) == becomes


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("Blue&nbsp;Heron", True),
        ("https://example.com/?q=Blue%20Heron", True),
        (r'{"for": "\u0417\u0430\u0440\u044f"}', True),
        ("\u202enoreH eulB", True),
        ("<td>in</td><td>es</td>", False),
        ("the w&#105;nes", False),
    ],
)
def test_a_term_is_found_in_what_a_text_becomes(text, leaks):
    screen = Screen(load(POLICY, source="policy.yaml", environment={}))
    assert screen.leaks((text,), None) is leaks
    assert screen.leaks(("and", text), None) is leaks


def test_what_a_text_becomes_gives_nothing_away_either():
    screen = Screen(load(POLICY, source="policy.yaml", environment={}))
    assert Disclosed.HOST_PATH in screen.disclosed("see &#47;home&#47;anna&#47;notes")
    assert Disclosed.REASONING in screen.disclosed("&lt;think&gt;hm")
    assert screen.disclosed("R&amp;D") == frozenset()


@given(st.text(alphabet="\\ux{}%<>/&#;abé01\u202e\u202c\n"))
def test_no_text_breaks_it(text):
    decoded(text)
