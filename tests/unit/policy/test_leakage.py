"""Terms of other counterparties, however they are written."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.folding import _FULLEST, _alike, _Table, plain, skeleton, strokes, visible
from policy.leakage import Terms

TERMS = Terms(
    [
        ("acme", ["Blue Heron Labs", "ACME-2210", "Ada", "Вега", "Ivan Petrov", "§§"]),
        ("birds", ["Blue Heron", "Heron", "Alpha", "青鷺", "Ines", "ALI", "Νίκη", "Œuvre", "สวัสดี", "X1"]),
        ("twin", ["Blue-Heron", "Alpha"]),
    ]
)

FOUND = [
    "blue heron",
    "B l u e  H e r o n",
    "B.l.u.e.H.e.r.o.n",
    "Blue-Heron",
    "BlueHeron",
    "blue\nheron",
    "Вlue Ηeron",
    "ＢＬＵＥ heron",
    "blue\u200bhe\u00adron",
    "blue\U000e0020heron",
    "b1ue her0n",
    "BIue Heron",
    "Blüe Hérón",
    "B̶l̶u̶e̶ H̶e̶r̶o̶n̶",
    "𝓑𝓵𝓾𝓮 𝓗𝓮𝓻𝓸𝓷",
    "ⒷⓁⓊⒺ ⒽⒺⓇⓄⓃ",
    "🅱🅻🆄🅴 🅷🅴🆁🅾🅽",
    "🇧🇱🇺🇪 🇭🇪🇷🇴🇳",
    "ʙlue ɦeron".replace("ʙ", "Ь").replace("ɦ", "һ").replace("Ь", "В"),
    "xxblueheronxx",
    "theblueheronproject.pdf",
    "the Herons",
    "acme 2210",
    "ACME-22l0",
    "ACME_２２１０",
    "my Ada.",
    "Ada™",
    "A d a",
    "AdaReport.pdf",
    "ada_report",
    "ada2026",
    "вега",
    "ВЕГА",
    "Bега",
    "BЕГА",
    "вeгa",
    "lvan Petr0v",
    "Іvan Petrov",
    "ИМЯ ΝΙΚΗ",
    "νικη",
    "我们青鷺好",
    "ครับสวัสดีครับ",
    "I n e s",
    "œuvre",
    "OEUVRE",
    "x1",
]
FREE = [
    "",
    "   ",
    "Canada",
    "armada",
    "Adam",
    "an alphabet",
    "all of it",
    "in es ser",
    "bl heron2".replace("heron", "her on "),
    "blue sky, no bird",
    "heritage",
    "Ивега",
    "Our opening hours are from 10:00 to 18:00.",
    "https://example.com/menu.pdf",
    "§§ 12",
]


@pytest.mark.parametrize("text", FOUND)
def test_a_term_is_found_however_it_is_written(text):
    assert TERMS.leaks([text], None)
    assert TERMS.leaks([f"So, {text}; then."], None)


@pytest.mark.parametrize("text", FREE)
def test_other_words_are_no_terms(text):
    assert not TERMS.leaks([text], None)


def test_ones_own_terms_are_ones_own_even_where_they_hold_anothers():
    assert not TERMS.leaks(["We at Blue Heron Labs"], "acme")
    assert TERMS.leaks(["We at Blue Heron"], "acme")
    assert not TERMS.leaks(["We at Blue Heron"], "birds")
    assert TERMS.leaks(["We at Blue Heron and Ada"], "birds")


def test_a_term_of_two_counterparties_is_fine_with_both():
    assert not TERMS.leaks(["Alpha"], "birds")
    assert not TERMS.leaks(["Alpha"], "twin")
    assert TERMS.leaks(["Alpha"], "acme")


def test_a_term_that_is_cut_between_parts_is_found():
    assert TERMS.leaks(["we met Blue", "Heron today"], None)
    assert TERMS.leaks(["we met Blue He", "ron today"], None)
    assert TERMS.leaks(["say A", "da now"], None)
    assert not TERMS.leaks(["we met Can", "ada today"], "acme")


def test_without_terms_nothing_leaks():
    assert not Terms([]).leaks(["anything"], None)
    assert not Terms([("acme", ["§"])]).leaks(["§"], None)


def test_a_capital_i_of_a_word_in_capitals_is_no_l():
    assert TERMS.leaks(["ALI is here"], None)
    assert not TERMS.leaks(["all is here"], None)


@given(st.text())
@settings(max_examples=300)
def test_folding_is_idempotent(text):
    for fold in (plain, skeleton, strokes):
        once = fold(text)
        assert fold(once) == once


@given(st.text())
def test_folded_texts_hold_letters_digits_and_spaces_alone(text):
    for fold in (plain, skeleton, strokes):
        assert all(one == " " or one.isalnum() or unicodedata.category(one) == "Mc" for one in fold(text))


ALIKE = {}
for _one, _look in _alike().items():
    if len(_look) == 1 and not (_look == "l" and _one.isupper()) and _one.isalpha():
        ALIKE.setdefault(_look, []).append(_one)


@st.composite
def disguised(draw, term):
    pieces = []
    for one in term.lower():
        ways = [one, one.upper(), f"{one}\u0301", f"{one}\u200d", f"\u2060{one.upper()}"]
        ways += [chr(ord(one) + 0xFEE0)] if one.isascii() else []
        pieces.append(draw(st.sampled_from([*ways, *ALIKE.get(one, ())])))
    gap = st.sampled_from(["", " ", "-", ".", "\u200b", " \u00ad", "_", "*", "\n"])
    return "".join(piece + draw(gap) for piece in pieces)


@given(disguised("blueheron"), st.sampled_from(["", "so ", "(", "é "]), st.sampled_from(["", " then", "!", "…"]))
@settings(max_examples=400)
def test_a_term_under_any_mixture_of_disguises_is_found(term, before, after):
    assert TERMS.leaks([f"{before}{term}{after}"], None)


@given(st.text(alphabet="abcdefgh ijkl0I1|é", max_size=200))
def test_a_text_that_is_read_as_one_leaks_at_least_what_its_parts_do(text):
    half = len(text) // 2
    if TERMS.leaks([text], None) and len(text) > 1:
        assert TERMS.leaks([text[:half], text[half:]], None)


def test_what_reads_alike_is_made_plain_before_patterns_look():
    assert visible("pl\u200bain") == "plain"
    assert visible("ｆｕｌｌ") == "full"
    assert visible("naïve") == "naïve"
    assert visible("ascii") == "ascii"


def test_a_table_remembers_so_many_characters_and_folds_the_others_anew():
    table = _Table(str.lower)
    for code in range(_FULLEST + 100):
        assert table[code] == chr(code).lower()
    assert len(table) == _FULLEST
