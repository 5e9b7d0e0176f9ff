"""Long texts in messages that Matrix takes."""

import pytest

from bot.channels.markdown import split
from bot.channels.matrix.html import render
from bot.channels.matrix.splitting import LIMIT_BYTES, fits, split_card, split_words, weight


def total(shown) -> int:
    return weight(shown.body) + (weight(shown.html) if shown.formatted else 0)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 30_000,
        "слово **важно** " * 5_000,
        "😀" * 50_000,
        '"' * 100_000,
        "| a " * 20_000,
        "- \n" * 20_000,
        "> " * 20_000,
        "&" * 60_000,
        "```py\n" + "x = 'é'\n" * 10_000 + "```",
        "**" * 30_000,
    ],
)
def test_every_piece_fits_into_one_event(text):
    pieces = list(split_words(text))
    assert all(total(piece) <= LIMIT_BYTES for piece in pieces)
    assert len(pieces) < 200


def test_a_short_text_is_one_piece_and_a_long_one_loses_no_word():
    assert [piece.body for piece in split_words("hello")] == ["hello"]
    words = [f"w{number}" for number in range(20_000)]
    text = "\n".join(" ".join(words[start : start + 10]) for start in range(0, len(words), 10))
    pieces = list(split_words(text))
    assert len(pieces) > 1
    assert " ".join(piece.body for piece in pieces).split() == words


def test_a_code_block_that_is_cut_is_closed_and_opened_again_in_its_language():
    pieces = list(split_words("```py\n" + "x = 1\n" * 8_000 + "```\n\nend"))
    assert len(pieces) > 1
    assert all(piece.html.startswith('<pre><code class="language-py">') for piece in pieces)
    assert sum(piece.body.count("x = 1") for piece in pieces) == 8_000


@pytest.mark.parametrize("opening", ["`" * 9_000, "```" + "x" * 9_000])
def test_an_opening_of_code_that_fills_a_piece_is_not_repeated_in_each(opening):
    pieces = split(opening + "\n" + "a\n" * 20_000, 20_000)
    assert sum(len(piece) for piece in pieces) < 3 * (len(opening) + 40_000)


def test_a_card_that_fits_is_one_piece():
    [shown] = split_card("T", [("a", "b")], [("1️⃣", "Yes")])
    assert fits(shown)


@pytest.mark.parametrize(
    ("title", "rows"),
    [
        ("T", [("name", "value " * 2_000)] * 20),
        ("T", [("Full text", "wörd " * 30_000)]),
        ("T", [("n" * 60_000, "v")]),
        ("t" * 90_000, []),
    ],
)
def test_a_long_card_is_cut_and_nothing_of_it_is_lost(title, rows):
    pieces = split_card(title, rows, [("1️⃣", "Yes"), ("2️⃣", "No")])
    assert len(pieces) > 1
    assert all(total(piece) <= LIMIT_BYTES for piece in pieces)
    assert pieces[-1].body.endswith("1️⃣ Yes\n2️⃣ No")
    assert not any("1️⃣" in piece.body for piece in pieces[:-1])
    whole = "".join("".join(piece.body for piece in pieces).split()).replace("…", "").replace(":", "")
    for words in (title, *(word for row in rows for word in row)):
        assert "".join(words.split()) in whole


def test_html_is_weighed_only_where_it_is_sent():
    assert fits(render("a" * 39_000))
    assert not fits(render("**b**" + "a" * 39_000))
