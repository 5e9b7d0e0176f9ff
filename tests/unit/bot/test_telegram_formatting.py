import json
import subprocess
import sys

import pytest
import tdjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.channels.telegram.formatting import Entity, FormattedText, render
from bot.channels.telegram.splitting import split, split_caption
from policy.blank import is_blank
from policy.utf16 import utf16_len, utf16_slice

WIRE_TYPES = {
    "bold": "Bold",
    "italic": "Italic",
    "strikethrough": "Strikethrough",
    "code": "Code",
    "pre": "Pre",
    "text_link": "TextUrl",
    "blockquote": "BlockQuote",
}


def shown(text: FormattedText) -> list[tuple[str, ...]]:
    """Each entity as (type, text under it, url or language if it has one)."""
    return [
        (
            entity.type,
            utf16_slice(text.text, entity.offset, entity.length),
            *filter(None, (entity.url, entity.language)),
        )
        for entity in text.entities
    ]


def assert_valid(text: FormattedText) -> None:
    for entity in text.entities:
        assert entity.length > 0
        assert utf16_slice(text.text, entity.offset, entity.length) is not None, entity
        assert (entity.url is not None) == (entity.type == "text_link")
    assert [entity.offset for entity in text.entities] == sorted(entity.offset for entity in text.entities)


def ask_telegram(request: dict) -> dict:
    return json.loads(tdjson.td_execute(json.dumps(request).encode()))


def cover(entities, length: int) -> list[set]:
    """For every unit of a text, what lies over it."""
    units = [set() for _ in range(length)]
    for kind, offset, size, extra in entities:
        for unit in units[offset : offset + size]:
            unit.add((kind, extra))
    return units


def canonical(url: str | None) -> str | None:
    """Telegram puts a slash behind a bare host."""
    return url and url.rstrip("/")


def assert_telegram_keeps(text: FormattedText) -> None:
    """Telegram's own library takes the entities and leaves every one over the text that it lies over.

    ``parseMarkdown`` is the offline request that checks and normalizes entities as sending does (it may cut one in two
    where another begins). Its own signs are replaced, so that it finds no Markdown of its own, and so are
    tabs, which Telegram turns into spaces.
    """
    if is_blank(text.text):
        return  # not sent
    neutral = text.text.translate(dict.fromkeys(map(ord, "*_~|`[]"), "x") | {ord("\t"): " "})
    wire, expected = [], []
    for entity in text.entities:
        kind = {"@type": "textEntityType" + WIRE_TYPES[entity.type]}
        if entity.language:
            kind |= {"@type": "textEntityTypePreCode", "language": entity.language}
        if entity.url:
            kind["url"] = entity.url
        wire.append({"@type": "textEntity", "offset": entity.offset, "length": entity.length, "type": kind})
        expected.append((kind["@type"], entity.offset, entity.length, entity.language or canonical(entity.url)))
    answer = ask_telegram(
        {"@type": "parseMarkdown", "text": {"@type": "formattedText", "text": neutral, "entities": wire}}
    )
    assert answer["@type"] == "formattedText", answer
    assert answer["text"] == neutral
    got = [
        (
            found["type"]["@type"],
            found["offset"],
            found["length"],
            found["type"].get("language") or canonical(found["type"].get("url")),
        )
        for found in answer["entities"]
    ]
    length = utf16_len(neutral)
    assert cover(got, length) == cover(expected, length)


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    ask_telegram({"@type": "setLogVerbosityLevel", "new_verbosity_level": 0})


# --- rendering --------------------------------------------------------------------------------------------------------

RENDERED = [
    ("**b** *i* _j_ ~~s~~ `c`", "b i j s c", [("bold", "b"), ("italic", "i"), ("italic", "j"), ("strikethrough", "s"), ("code", "c")]),
    ("***x***", "x", [("bold", "x"), ("italic", "x")]),
    ("😀 **б😀**", "😀 б😀", [("bold", "б😀")]),
    ("**a `c` b**", "a c b", [("bold", "a "), ("code", "c"), ("bold", " b")]),
    ("# Title `c` **b**", "Title c b", [("bold", "Title "), ("code", "c"), ("bold", " b")]),
    ("# Title\ntext", "Title\ntext", [("bold", "Title")]),
    ("Title\n===\n\ntext", "Title\n\ntext", [("bold", "Title")]),
    ("a\n\n\n\nb *c*", "a\n\nb c", [("italic", "c")]),
    ("soft\nhard  \nback\\\n*end*", "soft\nhard\nback\nend", [("italic", "end")]),
    ("```python\nx = 1\n\n  y\n```", "x = 1\n\n  y", [("pre", "x = 1\n\n  y", "python")]),
    ("```c++ title=x\n1\n```", "1", [("pre", "1", "c++")]),
    ("~~~\n*a*\n~~~\nb", "*a*\nb", [("pre", "*a*")]),
    ("```\nif:\n\tx\n```", "if:\n    x", [("pre", "if:\n    x")]),
    ("    x = 1\n\nb", "x = 1\n\nb", [("pre", "x = 1")]),
    ("```\nnever closed", "never closed", [("pre", "never closed")]),
    ("a\n\n```\n\n```\n\nb", "a\n\nb", []),
    ("> a **b**\n>\n> c", "a b\n\nc", [("blockquote", "a b\n\nc"), ("bold", "b")]),
    ("> a\n> > b\n\nc", "a\nb\n\nc", [("blockquote", "a\nb")]),
    ("> a\n> ```py\n> b\n> ```", "a\nb", [("blockquote", "a\nb"), ("pre", "b", "py")]),
    (">\n\na", "a", []),
    ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
    ("Do:\n- a\n- b", "Do:\n• a\n• b", []),
    ("- a\n\n- b", "• a\n\n• b", []),
    ("- a\n  more\n  - b\n    1. c\n- d", "• a\n  more\n  • b\n    1. c\n• d", []),
    ("3. a\n4. b\n\n   para\n", "3. a\n4. b\n\n   para", []),
    ("1) a\n2) b", "1) a\n2) b", []),
    ("- - a", "• • a", []),
    ("- ```py\n  x\n  ```\n- b", "•\nx\n• b", [("pre", "x", "py")]),
    ("- a\n\n  ```\n  x\n  ```\n\n  b", "• a\n\nx\n\n  b", [("pre", "x")]),
    ("- > q\n- b", "•\nq\n• b", [("blockquote", "q")]),
    ("-\n- b", "• \n• b", []),
    ("[docs](https://a.cc/x_y)", "docs", [("text_link", "docs", "https://a.cc/x_y")]),
    ("[docs]\n\n[docs]: http://a.cc", "docs", [("text_link", "docs", "http://a.cc")]),
    ("[**b** `c`](https://a.cc)", "b c", [("text_link", "b c", "https://a.cc"), ("bold", "b")]),
    ("[](https://a.cc/)", "https://a.cc/", [("text_link", "https://a.cc/", "https://a.cc/")]),
    ("<https://a.cc/>", "https://a.cc/", [("text_link", "https://a.cc/", "https://a.cc/")]),
    ("![a *cat*](https://a.cc/cat.png)", "a cat", [("text_link", "a cat", "https://a.cc/cat.png")]),
    ("[![ci](https://b.cc/i.svg)](https://a.cc)", "ci", [("text_link", "ci", "https://a.cc")]),
    ("[x](javascript:alert) [y](tg://user?id=1) [z](docs/a.md)", "x y z", []),
    ("[nas](http://localhost:8080/) [in](http://intranet)", "nas (http://localhost:8080/) in (http://intranet)", []),
    ("[p](https://a.cc:99999/) [q](https://u@a.cc/)", "p (https://a.cc:99999/) q (https://u@a.cc/)", []),
    ("[ip](http://127.0.0.1:80/) [six](http://[::1]/)", "ip six", [("text_link", "ip", "http://127.0.0.1:80/"), ("text_link", "six", "http://[::1]/")]),
    ("[write](mailto:a@b.cc) <c@d.cc>", "write (a@b.cc) c@d.cc", []),
    ("light.bedroom_lamp changed, see snake_case_name", "light.bedroom_lamp changed, see snake_case_name", []),
    ("_see_ https://a.cc/_next_/a*", "see https://a.cc/_next_/a*", [("italic", "see")]),
    ("**https://a.cc/_x_**", "https://a.cc/_x_", [("bold", "https://a.cc/_x_")]),
    ("[https://a.cc/_x_](https://a.cc)", "https://a.cc/_x_", [("text_link", "https://a.cc/_x_", "https://a.cc")]),
    ("*http://* x", "http:// x", [("italic", "http://")]),
    ("a <b>x</b> <br> & &amp; 1 < 2", "a <b>x</b> <br> & & 1 < 2", []),
    ("<div>\n*a*\n</div>", "<div>\na\n</div>", [("italic", "a")]),
    ("2 * 3 * 4 \\*x\\*", "2 * 3 * 4 *x*", []),
    ("a\r\nb", "a\nb", []),
    ("\ud83d\ude00 \ud83d *a*", "😀 � a", [("italic", "a")]),
]  # fmt: skip


@pytest.mark.parametrize(("markdown", "text", "entities"), RENDERED)
def test_markdown_becomes_text_and_entities(markdown, text, entities):
    rendered = render(markdown)
    assert rendered.text == text
    assert shown(rendered) == entities


@pytest.mark.parametrize("markdown", [row[0] for row in RENDERED])
def test_telegram_keeps_every_entity_of_the_table(markdown):
    assert_telegram_keeps(render(markdown))


def test_a_table_becomes_a_monospace_block_with_aligned_columns():
    rendered = render("Rates:\n\n| Term | Total |\n|---|---:|\n| 30 y | 910 |\n| 100 y | 3940 |\n\nend")
    assert rendered.text == "Rates:\n\nTerm   Total\n─────  ─────\n30 y     910\n100 y   3940\n\nend"
    assert [entity.type for entity in rendered.entities] == ["pre"]
    assert "|" not in rendered.text


def test_a_column_is_as_wide_as_it_is_on_the_screen():
    rendered = render("| 名前 | n |\n|:-:|--|\n| e\u0301 | ❤️ |\n| 👩‍👩‍👧 | 👍🏽 |\n| 🇩🇪 |\n")
    assert rendered.text.split("\n") == ["名前  n", "────  ──", " e\u0301    ❤️", " 👩‍👩‍👧   👍🏽", " 🇩🇪"]


def test_a_table_cell_keeps_its_words_and_the_addresses_of_its_links():
    rendered = render("|a|\n|-|\n|**x** [y](https://a.cc) `c\\|d` ![i](https://b.cc) <https://c.cc> [n](x.md)|")
    assert rendered.text.split("\n")[2] == "x y (https://a.cc) c|d i https://c.cc n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "An ordinary answer: it's well-known, isn't it? 3.5 % (of 10).",
        "two\n\n\n\nparagraphs  with   spaces ",
        "Привет 😀\n— пункт",
        "-5°\n+1",
        "a = b - c > d",
    ],
)
def test_text_without_markdown_comes_back_untouched(text):
    assert render(text) == FormattedText(text=text)


@pytest.mark.parametrize("source", ["[a]: https://a.cc", "```\n```", "[](x)", "> > >"])
def test_markdown_of_which_nothing_would_be_seen_is_shown_as_it_is(source):
    assert render(source).text == source


def test_what_is_deeply_nested_is_not_lost():
    assert render(">" * 60 + " a").text == "a"


def test_the_fast_path_does_not_import_the_parser():
    program = (
        "import sys; from bot.channels.telegram.formatting import render; render('plain - text');"
        "assert not {'markdown_it', 'aiogram'} & set(sys.modules); render('*x*'); assert 'markdown_it' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_entity_as_json_has_only_what_it_needs():
    assert Entity(type="bold", offset=1, length=2).as_json() == {"type": "bold", "offset": 1, "length": 2}
    assert Entity(type="pre", offset=0, length=1, language="py").as_json()["language"] == "py"
    assert Entity(type="text_link", offset=0, length=1, url="https://a.cc").as_json()["url"] == "https://a.cc"


PIECES = [
    "**", "*", "_", "__", "~~", "`", "```", "```py\n", "\n", "\n\n", "- ", "1. ", "> ", "# ", " ", "  ", "    ", "\t",
    "\n| a | b |\n|---|:-:|\n| c | d |\n", "[a](https://a.cc/x)", "[b", "](https://b.cc/y)", "![c](https://c.cc/z)",
    "[l](http://localhost)", "---\n", "\\", "|", "<b>", "&amp;", "https://x.yy/_a_", "word", "snake_case", "😀",
    "👩‍👩‍👧", "e\u0301", "Привет. ", "\r\n",
]  # fmt: skip
markdowns = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(markdowns)
@settings(max_examples=400, deadline=None)
def test_telegram_keeps_every_entity_of_any_markdown(markdown):
    rendered = render(markdown)
    assert_valid(rendered)
    assert_telegram_keeps(rendered)


@given(st.text())
@settings(deadline=None)
def test_any_text_renders_and_can_be_sent(text):
    rendered = render(text)
    assert_valid(rendered)
    rendered.text.encode()


@given(st.text(st.sampled_from("abc .,:;!?()-–'\"äя😀"), max_size=200))
def test_the_slow_path_agrees_with_the_fast_one_about_plain_words(text):
    words = "x" + " ".join(text.split())
    assert render(words).text == render(words + " *a*").text.removesuffix(" a") == words


# --- blank ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", " \n\t\r", "\u200b\u2063\ufeff  ", "\u00ad", "\u00a0\u3000", "\u3164\u115f\u1160\uffa0", "\u2800", "\ufe0f\U000e0100", "\u202e\u2066\u2069\u061c", "\u034f\u180e", "\x00\x1b", "\u2028\u2029", "\U000e0041"],
)  # fmt: skip
def test_text_in_which_nothing_can_be_seen_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", " . ", "\u200b😀", "\u2063я", "———", "\u0301", "한", "\ufffd", "❤️"])
def test_text_with_one_visible_character_is_not_blank(text):
    assert not is_blank(text)


# --- splitting --------------------------------------------------------------------------------------------------------


def joined(parts) -> str:
    return "".join(part.text for part in parts)


def test_a_text_that_fits_is_its_own_only_part():
    text = render("**a** " + "b" * 4094)
    assert split(text) == (text,)


def test_emoji_are_counted_in_utf16_units_and_never_cut():
    text = FormattedText(text="😀" * 2100)
    parts = split(text)
    assert [utf16_len(part.text) for part in parts] == [4096, 104]
    assert joined(parts) == text.text


def test_code_is_cut_between_lines_and_goes_on_in_its_language():
    lines = [f"x{number} = {number}" for number in range(520)]
    text = render("Intro\n\n```python\n" + "\n".join(lines) + "\n```\n\nDone.")
    parts = split(text)
    assert len(parts) == 2
    assert joined(parts) == text.text
    code = [found for part in parts for found in shown(part)]
    assert [found[0::2] for found in code] == [("pre", "python")] * 2
    assert [line for found in code for line in found[1].split("\n")] == lines
    for part in parts:
        assert_telegram_keeps(part)


@pytest.mark.parametrize(
    ("markdown", "limit", "parts"),
    [
        ("aaaa aaaa aa\n\nbb. bb\nb bbb", 20, ["aaaa aaaa aa\n\n", "bb. bb\nb bbb"]),
        ("aaaa aaaa aa\nb. bb bb bbb", 20, ["aaaa aaaa aa\n", "b. bb bb bbb"]),
        ("aaaa aaaa aaa. bbbb bbbb", 20, ["aaaa aaaa aaa. ", "bbbb bbbb"]),
        ("aaaa aaaa aaa 3.5 bbb bbb", 20, ["aaaa aaaa aaa 3.5 ", "bbb bbb"]),
        ("aaaa `aaaa aa. b bb cc dd`", 20, ["aaaa ", "aaaa aa. b bb cc dd"]),
        ("aaaa aaaa\n\u0301bbb bbbbbb", 12, ["aaaa aaaa\n", "\u0301bbb bbbbbb"]),
        ("早安。今天天氣很好", 4, ["早安。", "今天天氣", "很好"]),
        ("a\n" + "b" * 12, 10, ["a\n", "b" * 10, "bb"]),
        ("a " + "b" * 12, 10, ["a ", "b" * 10, "bb"]),
        ("x" * 10 + "\n" + "y" * 5, 10, ["x" * 10, "\n" + "y" * 5]),
        ("x" * 10 + " y", 10, ["x" * 10, " y"]),
        ("a" * 5 + "\u00a0" + "b" * 6, 10, ["aaaaa\u00a0bbbb", "bb"]),
    ],
)
def test_a_part_ends_at_the_best_place_that_leaves_it_half_full(markdown, limit, parts):
    assert [part.text for part in split(render(markdown), limit=limit)] == parts


def test_an_entity_is_closed_at_a_cut_and_opened_again_after_it():
    parts = split(render("**aaaa [bbbb cccc](https://a.cc) dddd**"), limit=12)
    assert [shown(part) for part in parts] == [
        [("bold", "aaaa bbbb"), ("text_link", "bbbb", "https://a.cc")],
        [("bold", "cccc dddd"), ("text_link", "cccc", "https://a.cc")],
    ]


def test_a_block_of_code_that_fits_a_part_is_not_cut():
    parts = split(render("Words before it.\n\n```\naaaa\nbbbb\ncccc\n```\nend"), limit=24)
    assert [part.text for part in parts] == ["Words before it.\n\n", "aaaa\nbbbb\ncccc\nend"]


def test_a_long_first_line_of_code_moves_to_the_next_part():
    parts = split(render("Some\n```\n" + "a" * 19 + "\nb\n```"), limit=20)
    assert [shown(part) for part in parts] == [[], [("pre", "a" * 19)], [("pre", "b")]]


def test_a_line_of_code_longer_than_a_part_is_cut_where_the_part_is_full():
    parts = split(render("```\n" + "ab cd" * 10 + "\n```"), limit=20)
    assert [len(part.text) for part in parts] == [20, 20, 10]
    assert joined(parts) == "ab cd" * 10


def test_the_indentation_of_code_after_a_cut_stays_under_its_entity():
    parts = split(render("```\naaaaaa\n\n    bbbb\n```"), limit=12)
    assert [part.text for part in parts] == ["aaaaaa\n\n", "    bbbb"]
    assert [shown(part) for part in parts] == [[("pre", "aaaaaa")], [("pre", "    bbbb")]]


CLUSTERS = ["👩‍👩‍👧", "🇩🇪", "👍🏽", "❤️", "1️⃣", "e\u0301\u0323", "한", "한", "क्ष", "กำ", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "\r\n", "நி"]


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("shift", range(3))
def test_what_readers_see_as_one_character_is_never_cut(cluster, shift):
    text = "x" * shift + cluster * 40
    for limit in (16, 17, 19):
        parts = split(FormattedText(text=text), limit=limit)
        if cluster != "\r\n":  # parts of white space alone are left out
            assert joined(parts) == text
        for part in parts:
            assert utf16_len(part.text) <= limit
            assert part.text.removeprefix("x" * shift).replace(cluster, "") == ""


def test_a_cluster_longer_than_a_part_is_cut_but_no_surrogate_pair():
    text = "👩" + "\u200d👩" * 20
    parts = split(FormattedText(text=text), limit=10)
    assert joined(parts) == text
    assert all(utf16_len(part.text) <= 10 for part in parts)


def test_parts_in_which_nothing_can_be_seen_are_left_out():
    parts = split(FormattedText(text="a" + "\n" * 50 + "b"), limit=10)
    assert [part.text.strip() for part in parts] == ["a", "b"]
    assert split(FormattedText(text=" " * 50), limit=10) == ()


def test_a_caption_is_cut_at_a_boundary_and_the_rest_follows():
    text = FormattedText(text="слово " * 300)
    caption, rest = split_caption(text)
    assert utf16_len(caption.text) <= 1024
    assert caption.text.endswith("слово ")
    assert caption.text + joined(rest) == text.text
    assert len(rest) == 1


def test_the_rest_of_a_caption_comes_in_whole_messages():
    caption, rest = split_caption(FormattedText(text="x" * 6000))
    assert [len(caption.text), *(len(part.text) for part in rest)] == [1024, 4096, 880]


def test_a_caption_that_fits_has_no_rest():
    text = render("*x*")
    assert split_caption(text) == (text, ())


def test_a_caption_in_which_nothing_can_be_seen_is_empty():
    caption, rest = split_caption(FormattedText(text=" " * 20 + "a"), limit=10)
    assert caption == FormattedText(text="")
    assert joined(rest).strip() == "a"


texts = st.text(
    st.one_of(st.sampled_from("ab .\n\u0301\u200d\ufe0f👩😀🇩🇪🏽한ㅏ"), st.characters(exclude_categories=("Cs",)))
)


@given(texts, st.integers(2, 40))
@example("\n" * 30, 4)
def test_parts_fit_and_join_to_the_original(text, limit):
    parts = split(FormattedText(text=text), limit=limit)
    assert all(utf16_len(part.text) <= limit for part in parts)
    rest = text
    for part in parts:
        at = rest.index(part.text)
        assert is_blank(rest[:at])
        rest = rest[at + len(part.text) :]
    assert is_blank(rest)


@example("aaaaaa😀 ", 8)
@given(st.text(st.sampled_from("ab .,-😀я"), min_size=1).filter(lambda text: "    " not in text), st.integers(8, 40))
def test_parts_of_ordinary_text_join_to_exactly_the_original(text, limit):
    text = "a".join(text.split("  ")) + "."  # a part of blanks alone, which is dropped, can't come to be
    assert joined(split(FormattedText(text=text), limit=limit)) == text


@given(markdowns, st.integers(6, 60))
@settings(max_examples=400, deadline=None)
def test_every_part_of_any_markdown_is_valid_on_its_own(markdown, limit):
    text = render(markdown)
    for part in split(text, limit=limit):
        assert utf16_len(part.text) <= limit
        assert not is_blank(part.text) or part == text
        assert_valid(part)
        assert_telegram_keeps(part)
    caption, rest = split_caption(text, limit=limit)
    for part in (caption, *rest):
        assert_valid(part)


@given(markdowns, st.integers(6, 60))
@settings(deadline=None)
def test_no_word_loses_its_entities_to_a_cut(markdown, limit):
    def words(parts):
        found = []
        for part in parts:
            units = cover([(e.type, e.offset, e.length, e.url) for e in part.entities], utf16_len(part.text))
            at = 0
            for char in part.text:
                if not is_blank(char):
                    found.append((char, units[at]))
                at += utf16_len(char)
        return found

    text = render(markdown)
    assert words(split(text, limit=limit)) == words([text])
