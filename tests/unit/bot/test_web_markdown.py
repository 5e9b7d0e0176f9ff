import re
import time

import pytest

from bot.channels.web.markdown import MAX_CHARACTERS, readable, render, split

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](//evil.example)",
    "[x](/enter/abc)",
    "<javascript:alert(1)>",
    "![x](https://evil.example/track.png)",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    '```"><script>alert(1)</script>\n<b>\n```',
    "&lt;script&gt;",
    "| a |\n|:-:|\n| <svg onload=alert(1)> |",
]
TAG = re.compile(r"<[^>]*>")
ALLOWED = re.compile(
    r"</?(?:p|strong|em|s|code|pre|ul|ol|li|blockquote|h[1-6]|table|thead|tbody|tr|th|td|a)>|<(?:br|hr) />"
    r'|<ol start="\d+">'
    r'|<a href="(?:https?://|mailto:)[^"]*"(?: title="[^"]*")? target="_blank" rel="noopener noreferrer nofollow">'
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_harmless_elements_only(text):
    for tag in TAG.findall(render(text)):
        assert ALLOWED.fullmatch(tag), tag


def test_links_lead_out_without_saying_from_where():
    assert render("[a](https://x.example/?a=1&b=2)") == (
        '<p><a href="https://x.example/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer nofollow">a</a></p>\n'
    )


def test_an_address_by_itself_is_a_link_without_the_full_stop():
    markup = render("see https://x.example/a_b. [https://y.example](https://z.example)")
    assert '<a href="https://x.example/a_b"' in markup
    assert markup.count("<a ") == 2


def test_the_readable_text_joins_what_formatting_takes_apart():
    assert readable(render("**Ac**me &#65;cme")) == "Acme Acme"


def test_the_readable_text_holds_where_links_lead_and_what_their_titles_say():
    assert readable(render('[here](https://acme.example/x "Acme")')) == "here\nhttps://acme.example/x\nAcme"


def test_the_readable_text_of_plain_words_is_the_words():
    assert readable(render("one < two & three")) == "one < two & three"


def test_a_text_that_the_renderer_can_not_take_is_shown_plain(monkeypatch):
    def fail():
        raise RuntimeError

    monkeypatch.setattr("bot.channels.web.markdown._markdown", fail)
    assert render("<b>") == "<pre><code>&lt;b&gt;</code></pre>\n"


def test_a_long_answer_is_cut_at_line_ends_and_loses_nothing():
    text = "\n".join(f"line {number}" for number in range(9000))
    pieces = split(text)
    assert len(pieces) > 1
    assert all(len(piece) <= MAX_CHARACTERS for piece in pieces)
    assert "\n".join(pieces) == text


def test_a_line_without_an_end_is_cut_too():
    assert all(len(piece) <= 100 for piece in split("x" * 1000, 100))


def test_a_code_block_that_is_cut_is_closed_and_opened_again():
    pieces = split("```py\n" + "x = 1\n" * 10 + "```\nend", 40)
    assert len(pieces) > 1
    assert all(piece.count("```") == 2 for piece in pieces)
    assert sum(piece.count("x = 1") for piece in pieces) == 10


@pytest.mark.parametrize("text", ["*" * 20000, "[" * 20000, "> " * 10000, "- " * 10000, "`" * 20000, "|a" * 10000])
def test_hostile_markdown_is_rendered_in_reasonable_time(text):
    began = time.perf_counter()
    render(text)
    assert time.perf_counter() - began < 5


def test_a_long_line_is_never_cut_inside_an_escape():
    for pad in range(8):
        pieces = [line for piece in split("a" * pad + "\\*" * 40, 20) for line in piece.split("\n")]
        assert "".join(pieces) == "a" * pad + "\\*" * 40
        assert all((len(piece) - len(piece.rstrip("\\"))) % 2 == 0 for piece in pieces)
