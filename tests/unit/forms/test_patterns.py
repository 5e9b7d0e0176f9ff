"""Patterns: ECMA 262 in unicode mode, in linear time, or refused."""

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms.patterns import MAX_POSITIONS, PatternError, compiled, positions


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("b", "abc", True),
        ("", "", True),
        ("^a$", "a\n", False),
        ("^a$", "b\na", False),
        (r"^\d$", "7", True),
        (r"^\d$", "٣", False),
        (r"^\D\S\W$", "xé!", True),
        (r"^\w$", "é", False),
        (r"^\s$", "\u00a0", True),
        (r"^\s$", "\ufeff", True),
        (r"^\s$", "\v", True),
        (r"^\S$", "\u2029", False),
        (r"^[\s_]$", "\u3000", True),
        (r"^[^\s]$", "\u3000", False),
        (r"^[\S]$", "\u3000", False),
        (r"^[\S]$", "😀", True),
        ("^.$", "😀", True),
        ("^.$", "\u2028", False),
        ("^.$", "\r", False),
        ("^[^]$", "\n", True),
        ("[]", "x", False),
        ("^[^a]$", "\n", True),
        ("^[[:alpha:]]$", ":]", True),
        ("^[[:alpha:]]$", "b", False),
        (r"^[\w-.]+$", "a-.b", True),
        (r"^[a-\d]+$", "a-5", True),
        ("^[-a]$", "-", True),
        ("^[a-]$", "-", True),
        ("^[a-c-e]$", "-", True),
        ("^[a-c-e]$", "d", False),
        ("^[^-]$", "-", False),
        (r"^[\]\\^]+$", "]\\^", True),
        (r"^[\b]$", "\b", True),
        (r"\bfoo\b", "a foo!", True),
        (r"\Boo", "foo", True),
        (r"^\x41\u0042\u{1F600}\cJ\0\t$", "AB😀\n\0\t", True),
        (r"^[\u0400-\u04ff]+$", "жук", True),
        ("^\\ud83d\\ude00$", "😀", True),
        (r"^\p{L}\p{Lu}\p{Letter}\P{Nd}$", "éÉж!", True),
        (r"^\p{Script=Cyrillic}\p{sc=Greek}\p{gc=Lu}\p{General_Category=Decimal_Number}$", "жαA5", True),
        (r"^[\p{L}\d -]{2,}$", "Jean-Luc 2", True),
        (r"^\/\-\@\ \_?$", "/-@ ", True),
        ("^(?<year>a)(?:b)(?P<n>c)$", "abc", True),
        ("(?i)^straße$", "STRAßE", True),
        ("^(?i:a)b$", "Ab", True),
        (r"\Aab\z", "ab", True),
        ("^a{,2}$", "a{,2}", True),
        ("^a{2,3}?b+?c*?$", "aab", True),
        ("^x{$", "x{", True),
        ("^[0-9]{3},5$", "123,5", True),
        ("a|^b$", "ba", True),
        (f"^({'|'.join(f'word{n}' for n in range(200))})$", "word77", True),
    ],
)
def test_a_pattern_means_what_ecma_script_means_by_it(source, text, found):
    assert compiled(source).is_in(text) is found


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("(?=a)b", "look_around"),
        ("a(?!b)", "look_around"),
        ("(?<=a)b", "look_around"),
        ("(?<!a)b", "look_around"),
        ("^(?=.*[A-Z]).{8,}$", "look_around"),
        (r"(a)\1", "back_reference"),
        (r"(?<n>a)\k<n>", "back_reference"),
        ("(?P<n>a)(?P=n)", "back_reference"),
        ("a{1001}", "pattern_too_large"),
        ("(a{1000}){1000}", "pattern_too_large"),
        ("((a{100}){100}){100}", "pattern_too_large"),
        (".{0,1000}" * 4, "pattern_too_large"),
        ("a" * 5_000, "pattern_too_large"),
        (r"(\p{L}{1,100}|\p{N}{1,100}){1,3}", "pattern_too_large"),
        ("[", "invalid_pattern"),
        ("[a", "invalid_pattern"),
        ("(", "invalid_pattern"),
        (")", "invalid_pattern"),
        ("*", "invalid_pattern"),
        ("a**", "invalid_pattern"),
        ("x{2}{3}", "invalid_pattern"),
        ("a++", "invalid_pattern"),
        ("[b-a]", "invalid_pattern"),
        ("\\", "invalid_pattern"),
        (r"\Z", "invalid_pattern"),
        (r"\a", "invalid_pattern"),
        (r"\Qa\E", "invalid_pattern"),
        (r"\C", "invalid_pattern"),
        (r"\00", "invalid_pattern"),
        (r"\c1", "invalid_pattern"),
        (r"\x4", "invalid_pattern"),
        (r"\u12", "invalid_pattern"),
        (r"\u{110000}", "invalid_pattern"),
        (r"\ud800", "invalid_pattern"),
        (r"\ude00", "invalid_pattern"),
        (r"\u0041\ude00", "invalid_pattern"),
        (r"\p{^L}", "invalid_pattern"),
        (r"\p{Emoji_Presentation}", "invalid_pattern"),
        (r"\pL", "invalid_pattern"),
        ("(?s).", "invalid_pattern"),
        ("(?m)^a", "invalid_pattern"),
        ("(?>a)", "invalid_pattern"),
        ("(?#x)", "invalid_pattern"),
        ("(?", "invalid_pattern"),
    ],
)
def test_what_can_not_run_in_linear_time_or_is_no_pattern_is_refused(source, code):
    with pytest.raises(PatternError) as refused:
        compiled(source)
    assert refused.value.code == code
    assert code in str(refused.value)


@pytest.mark.parametrize(
    "source", ["^((a+)+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*x", "^([a-zA-Z]+)*$", "(a?){50}a{50}b"]
)
def test_a_pattern_that_ruins_other_engines_has_few_positions_and_one_pass(source):
    """RE2 compares each character with each position at most once: the product bounds the work, whatever the text."""
    assert positions(source) < 400
    assert not compiled(source).is_in("a" * 16_000 + "!")


def test_positions_count_characters_and_classes_alike_and_repeats_as_often_as_they_may_come():
    assert positions("a") == positions(r"\p{L}") == positions("[ab]")
    assert 100 <= positions(r"\p{L}{1,100}") - positions("a") <= 200
    assert positions("[ab]{900}") < MAX_POSITIONS


def test_an_email_pattern_may_begin_with_look_aheads():
    source = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
    pattern = compiled(source, ahead=True)
    assert [pattern.is_in(f"{local}@example.org") for local in ("ann", ".ann", "a..b", "a.b")] == [1, 0, 0, 1]
    assert compiled("^(?=.*x)a", ahead=True).is_in("abx")
    assert not compiled("^(?=.*x)a", ahead=True).is_in("ab")
    assert compiled("a", ahead=True).is_in("ba")
    for other in (source.replace("$", "|x$"), "^(?=a)*b", "a(?=b)", "(?=a)b", "^(?=(a))b", "^(?=a|b)c"):
        with pytest.raises(PatternError):
            compiled(other, ahead=True)


PIECES = st.sampled_from(
    [
        *("a", "b", "é", "ж", "😀", ".", "^", "$", "|", "(", ")", "(?:", "*", "+", "?", "{2}", "{1,3}", "-"),
        *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "[a-c]", "[^a]", r"[\d\s]", r"[^\w-]", r"\p{L}", r"\.", r"\u00e9"),
    ]
)
TEXTS = st.text(alphabet="ab1 é\n\r\u2028\u00a0ж😀._-", max_size=8)


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(TEXTS, max_size=5))
def test_patterns_find_what_another_engine_finds(source, texts):
    try:
        pattern = compiled(source)
        oracle = jsonschema_rs.validator_for({"pattern": source})
    except (PatternError, jsonschema_rs.ValidationError):
        return
    assert [pattern.is_in(text) for text in texts] == [oracle.is_valid(text) for text in texts]


@given(
    st.text(max_size=30)
    | st.lists(PIECES, max_size=30).map("".join)
    | st.text(alphabet="\\()[]{}?*+|^$-,pPuxcki<>=!:09aZ")
)
def test_any_text_is_a_pattern_or_refused(source):
    try:
        compiled(source).is_in("a")
        assert positions(source) <= MAX_POSITIONS
        compiled(source, ahead=True).is_in("aZ09\n")
    except PatternError as refused:
        code = refused.code
    else:
        return
    assert code in {"look_around", "back_reference", "invalid_pattern", "pattern_too_large"}
