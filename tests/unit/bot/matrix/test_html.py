"""The agent's Markdown as HTML that Matrix allows, and as plain words."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.channels.matrix import html
from bot.channels.matrix.html import card, mended, render

TAG = re.compile(r"<[^>]*>")
ALLOWED = re.compile(
    r"</?(?:p|strong|em|del|code|pre|ul|ol|li|blockquote|h[1-6]|table|thead|tbody|tr|th|td)>|<(?:br|hr) />"
    r'|<ol start="\d{1,9}">|<code class="language-[A-Za-z0-9_+#.-]+">'
    r'|<a href="(?:https?://|mailto:)[^"<>]*">|</a>'
)
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<a href="https://matrix.to/#/@boss:example.org">Boss</a>',
    "<mx-reply>fake</mx-reply>",
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](//evil.example)",
    "[x](mxc://evil.example/abc)",
    "![x](mxc://evil.example/abc)",
    "![x](https://evil.example/track.png)",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    '```"><script>alert(1)</script>\n<b>\n```',
    '```py" onclick="x\n1\n```',
    "~~~ language-x y z\ncode\n~~~",
    "| a |\n|:-:|\n| <svg onload=alert(1)> |",
    '<span data-mx-spoiler="x">y</span>',
    "999999999. far",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_allowed_tags_only(text):
    for tag in TAG.findall(render(text).html):
        assert ALLOWED.fullmatch(tag), tag


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab<>&\"'`*_~[]()!#-+|\\:/.1@ \n\t\u202e\u200b", max_size=120))
def test_whatever_is_written_becomes_allowed_tags_that_are_closed(text):
    opened: list[str] = []
    for tag in TAG.findall(render(text).html):
        assert ALLOWED.fullmatch(tag), tag
        name = tag.strip("</> ").split(" ")[0]
        if tag.startswith("</"):
            assert opened.pop() == name
        elif not tag.endswith("/>"):
            opened.append(name)
    assert not opened


TABLE = [
    # Markdown, plain words, HTML
    ("**Ac**me", "Acme", "<p><strong>Ac</strong>me</p>"),
    ("one\ntwo", "one\ntwo", "<p>one<br />two</p>"),
    ("one\n\ntwo", "one\n\ntwo", "<p>one</p><p>two</p>"),
    ("# Head\ntext", "Head\n\ntext", "<h1>Head</h1><p>text</p>"),
    ("~~no~~ *yes* `c < d`", "no yes c < d", "<p><del>no</del> <em>yes</em> <code>c &lt; d</code></p>"),
    ("- a\n- b\n  - c", "• a\n• b\n  • c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
    ("3. a\n   more\n4. b", "3. a\n   more\n4. b", '<ol start="3"><li>a<br />more</li><li>b</li></ol>'),
    ("> q\n> r\n\na", "> q\n> r\n\na", "<blockquote><p>q<br />r</p></blockquote><p>a</p>"),
    ("```py x\na\n\n b>\n```", "```\na\n\n b>\n```", '<pre><code class="language-py">a\n\n b&gt;\n</code></pre>'),
    ("    a\n    b", "```\na\nb\n```", "<pre><code>a\nb\n</code></pre>"),
    ("a\n\n---\n\nb", "a\n\n———\n\nb", "<p>a</p><hr /><p>b</p>"),
    (
        "| a | b |\n|:-:|---|\n| 1 | **2** |",
        "a | b\n1 | 2",
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table>",
    ),
    ('[x](https://a.b/c "t")', "x (https://a.b/c)", '<p><a href="https://a.b/c">x</a></p>'),
    ("<mailto:a@b.c>", "mailto:a@b.c", '<p><a href="mailto:a@b.c">mailto:a@b.c</a></p>'),
    ("<a@b.c>", "a@b.c", '<p><a href="mailto:a@b.c">a@b.c</a></p>'),
    ("![pic](https://e.x/y)", "pic (https://e.x/y)", "<p>pic (https://e.x/y)</p>"),
    ("<b>x</b> & y", "<b>x</b> & y", "<p>&lt;b&gt;x&lt;/b&gt; &amp; y</p>"),
]


@pytest.mark.parametrize(("text", "body", "markup"), TABLE)
def test_words_read_well_with_and_without_html(text, body, markup):
    shown = render(text)
    assert shown.body == body
    assert shown.html == markup


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("plain\nwords\n\nand more & <more>", False),
        ("see https://a.b/c_d. And <https://e.f>", False),
        ("**bold**", True),
        ("[here](https://a.b)", True),
        ("- a", True),
    ],
)
def test_html_is_sent_only_where_it_adds_something(text, formatted):
    assert render(text).formatted is formatted


def test_a_link_to_a_persons_page_stays_a_link_and_says_where_it_leads():
    shown = render("[Boss](https://matrix.to/#/@boss:example.org)")
    assert shown.html == '<p><a href="https://matrix.to/#/@boss:example.org">Boss</a></p>'
    assert shown.body == "Boss (https://matrix.to/#/@boss:example.org)"


def test_everything_that_a_person_could_read_is_in_the_text():
    text = render("**Ac**me [here](https://x.example/q) \n\n```acme-lang\ncode\n```\n\n|Ac|me|\n|-|-|\n|1|2|").text
    for seen in ("Acme", "https://x.example/q", "acme-lang", "code", "Ac me", "Ac | me"):
        assert seen in text


def test_the_text_of_words_that_are_the_same_in_both_forms_is_said_once():
    assert render("- **one**\n- two\n\n> three").text == "• one\n• two\n\n> three"


def test_what_has_no_bytes_on_the_wire_and_what_controls_a_terminal_is_mended():
    assert mended("a\ud800b\x00c\x1b[0m\x9b\r\nd\re\tf") == "a?bc[0m\nd\ne\tf"


def test_a_text_that_the_renderer_can_not_take_is_shown_as_it_is(monkeypatch):
    def fail():
        raise RuntimeError

    monkeypatch.setattr(html, "_markdown", fail)
    shown = render("<b>\n**x**")
    assert shown.body == "<b>\n**x**"
    assert not shown.formatted


def test_a_card_is_a_table_that_can_be_read_without_one_and_its_words_are_no_markup():
    shown = card("Refund *now*?", [("Amount", "12 <€>"), ("To", "a\nb")], [("1️⃣", "Yes"), ("2️⃣", "No")])
    assert shown.body == "Refund *now*?\nAmount: 12 <€>\nTo: a\nb\n\n1️⃣ Yes\n2️⃣ No"
    assert shown.html == (
        "<p><strong>Refund *now*?</strong></p><table><tbody><tr><td><strong>Amount</strong></td><td>12 &lt;€&gt;</td></tr>"
        "<tr><td><strong>To</strong></td><td>a<br />b</td></tr></tbody></table><p>1️⃣ Yes<br />2️⃣ No</p>"
    )


@pytest.mark.parametrize("text", ["*" * 20000, "[" * 20000, "> " * 10000, "- " * 10000, "`" * 20000, "|a" * 10000])
def test_hostile_markdown_is_rendered_in_reasonable_time(text):
    began = time.perf_counter()
    assert isinstance(render(text).text, str)
    assert time.perf_counter() - began < 5
