"""Which of a list is meant, in five languages (CLAR-8)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms import ordinals
from forms.folding import fold
from forms.ordinals import LONGEST, candidates_meant, is_cancel
from forms.reading import Locale

HERE = Locale(language="en", timezone="UTC")
THREE = ("Alpha", "Beta", "Gamma ray")


def meant(names, text):
    return candidates_meant(names, text, locale=HERE)


@pytest.mark.parametrize(
    "text",
    [
        *("Beta", "beta", " BETA. ", "2", "2.", "#2", "option 2", "2nd", "second", "the second", "the second one"),
        *(
            "The second one, please",
            "“Beta”",
            "zweite",
            "die zweite",
            "der Zweite",
            "das zweite, bitte",
            "nehme den zweiten",
        ),
        *("вторая", "второй вариант", "2-я", "хочу вторую", "второе, пожалуйста"),
        *("la segunda", "el segundo", "quiero la segunda", "la segunda opción, por favor", "2ª"),
        *("втората", "вторият", "вторият вариант", "втора", "искам втората, моля"),
    ],
)
def test_one_of_three_is_named(text):
    assert meant(THREE, text) == (1,)


@pytest.mark.parametrize("text", ["last", "the last one", "der letzte", "последний", "la última", "последната"])
def test_the_last_is_the_last(text):
    assert meant(THREE, text) == (2,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "4",
        "the fourth",
        "0",
        "Bet",
        "Beta or so",
        "the",
        "one",
        "second second",
        "'2'",
        "Alpha Beta",
        "x" * 201,
    ],
)
def test_nothing_is_guessed(text):
    assert meant(THREE, text) == ()


@pytest.mark.parametrize(
    ("names", "text", "places"),
    [
        (("Second", "Beta"), "second", (0, 1)),
        (("2", "Beta"), "2", (0, 1)),
        (("Alpha", "alpha", "Beta"), "ALPHA", (0, 1)),
        (("Alpha", "alpha", "Beta"), "alpha", (1,)),
        (("Alpha", "Second"), "second", (1,)),
    ],
)
def test_what_fits_two_is_both_of_them(names, text, places):
    assert meant(names, text) == places


def test_no_word_stands_for_two_places():
    words = [word for ending in ordinals._ENDINGS for group in ending.split(";") for word in group.split()]
    assert len(words) == len(set(words))
    assert all(fold(word) == word for word in words)


@given(st.text(max_size=LONGEST + 20), st.lists(st.text(min_size=1, max_size=20), max_size=6))
def test_any_text_is_read_and_every_place_is_one_of_the_list(text, names):
    places = meant(names, text)
    assert all(0 <= place < len(names) for place in places)
    assert list(places) == sorted(set(places))


@pytest.mark.parametrize(
    "text", ["cancel", "Cancel!", "never mind.", "Отмена", "abbrechen", "cancelar", "отказ", "“stop”"]
)
def test_a_cancel_word_is_one_as_a_whole(text):
    assert is_cancel(text)


@pytest.mark.parametrize("text", ["cancel the second booking", "don't cancel", "", "no", "x" * 300])
def test_other_words_cancel_nothing(text):
    assert not is_cancel(text)
