import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.utf16 import cuts_pair, encode, utf16_len, utf16_slice

LONE_HIGH, LONE_LOW = "\ud83d", "\ude00"
any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("", 0),
        ("abc", 3),
        ("слово", 5),
        ("😀", 2),
        ("a😀b", 4),
        ("👩‍👩‍👧", 8),
        ("e\u0301", 2),
        (LONE_HIGH, 1),
        (LONE_LOW + "a", 2),
    ],
)
def test_length_is_counted_in_utf16_units(text, units):
    assert utf16_len(text) == units


@pytest.mark.parametrize(
    ("text", "offset", "length", "found"),
    [
        ("hello", 0, 5, "hello"),
        ("hello", 1, 3, "ell"),
        ("hello", 5, 0, ""),
        ("hello", 0, 6, None),
        ("hello", 6, 0, None),
        ("hello", -1, 2, None),
        ("hello", 2, -1, None),
        ("a😀b", 1, 2, "😀"),
        ("a😀b", 3, 1, "b"),
        ("a😀b", 0, 4, "a😀b"),
        ("a😀b", 0, 5, None),
        ("a😀b", 2, 1, None),
        ("a😀b", 0, 2, None),
        ("a😀b", 2, 0, None),
        ("😀😀", 2, 2, "😀"),
        ("я" + LONE_HIGH, 1, 1, LONE_HIGH),
    ],
)
def test_a_slice_is_none_when_it_is_out_of_range_or_cuts_a_pair(text, offset, length, found):
    assert utf16_slice(text, offset, length) == found


@given(any_text)
def test_length_counts_two_for_each_character_outside_the_bmp(text):
    assert utf16_len(text) == sum(2 if char > "\uffff" else 1 for char in text)


@given(st.text(), st.text(), st.text())
def test_a_slice_gives_back_the_stretch_between_two_others(before, inside, after):
    assert utf16_slice(before + inside + after, utf16_len(before), utf16_len(inside)) == inside


@given(any_text, st.integers(-3, 30), st.integers(-3, 30))
def test_a_slice_is_never_longer_or_shorter_than_asked_for(text, offset, length):
    found = utf16_slice(text, offset, length)
    assert found is None or utf16_len(found) == length


@given(st.text(), st.integers(-2, 40))
def test_a_pair_is_cut_exactly_where_the_text_before_does_not_decode(text, at):
    units = encode(text)
    cut = False
    if 0 <= at * 2 <= len(units):
        try:
            units[: at * 2].decode("utf-16-le")
        except UnicodeDecodeError:
            cut = True
    assert cuts_pair(units, at) is cut
