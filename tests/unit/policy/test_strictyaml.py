"""YAML without surprises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.strictyaml import NESTING_LIMIT, SIZE_LIMIT, DocumentError, parse, survey
from policy.tree import Items, Mark, Scalar, Section, content, find


def problems_of(text: str, **environment: str):
    with pytest.raises(DocumentError) as caught:
        parse(text, source="file.yaml", environment=environment)
    return caught.value.problems


def value_of(text: str, **environment: str):
    return content(parse(text, source="file.yaml", environment=environment))


REFUSED = [
    # text, line, column, words of the message, words of the mend
    ("a: no\n", 1, 4, "truth value", "true or false"),
    ("a: 1\nlanguage: NO\n", 2, 11, "truth value", "quotes"),
    ("a: [Yes, x]\n", 1, 5, "truth value", "quotes"),
    ("a: on\n", 1, 4, "truth value", "quotes"),
    ("a: Off\n", 1, 4, "truth value", "quotes"),
    ("a: y\n", 1, 4, "truth value", "quotes"),
    ("a: N\n", 1, 4, "truth value", "quotes"),
    ("on: 1\n", 1, 1, "truth value", "quotes"),
    ("true: 1\n", 1, 1, "truth value as a key", "quotes"),
    ("a: True\n", 1, 4, "written small", "true or false"),
    ("a: FALSE\n", 1, 4, "written small", "true or false"),
    ("a: null\n", 1, 4, "says nothing", "leave the key out"),
    ("a: ~\n", 1, 4, "says nothing", "leave the key out"),
    ("pin: 0123\n", 1, 6, "octal", "quotes"),
    ("pin: 0o17\n", 1, 6, "another base", "plain digits"),
    ("pin: 0x1F\n", 1, 6, "another base", "plain digits"),
    ("at: 22:30\n", 1, 5, "base 60", "quotes"),
    ("at: 07:00\n", 1, 5, "base 60", "quotes"),
    ("at: 1:30:00.5\n", 1, 5, "base 60", "quotes"),
    ("k: 1_000\n", 1, 4, "with _", "plain digits"),
    ("k: 1e3\n", 1, 4, "exponent", "plain digits"),
    ("k: .5E-3\n", 1, 4, "exponent", "plain digits"),
    ("k: .inf\n", 1, 4, "counted with", "plain digits"),
    ("k: -.NaN\n", 1, 4, "counted with", "plain digits"),
    ("version: 1.10\n", 1, 10, "digits as they are written", "quotes"),
    ("version: .5\n", 1, 10, "digits as they are written", "quotes"),
    ("k: +5\n", 1, 4, "no plain whole number", "plain digits"),
    ("k: " + "9" * 40 + "\n", 1, 4, "no plain whole number", "quotes"),
    ("a: 1\nb: 2\na: 3\n", 3, 1, "line 1 and in line 3", "join"),
    ('-100: 1\n"-100": 2\n', 2, 1, "line 1 and in line 2", "join"),
    ("a: {b: 1, b: 2}\n", 1, 11, "twice", "join"),
    ("a: &x 1\n", 1, 4, "an anchor", "quotes"),
    ("a: &x {b: 1}\n", 1, 4, "an anchor", "quotes"),
    ("a: &x [1]\n", 1, 4, "an anchor", "quotes"),
    ("a: *x\n", 1, 4, "an alias", "quotes"),
    ("&x a: 1\n", 1, 1, "an anchor or a tag at a key", "quotes"),
    ("a: {b: 1}\n<<: {c: 1}\n", 2, 1, "merge key", "write the keys out"),
    ("a: !!python/object:os.system x\n", 1, 4, "a tag", "quotes"),
    ("a: !room:example.org\n", 1, 4, "a tag", "quotes"),
    ("--- {a: 1}\n--- {b: 2}\n", 2, 1, "second document", "one document"),
    ("a:\n\t- b\n", 2, 1, "a tab", "spaces"),
    ("a:\tb\n", 1, 3, "'\\t'", "spaces"),
    ("telegram:\nmatrix: {}\n", 1, 1, "nothing stands here", "leave the key out"),
    ("a: {b: , c: 1}\n", 1, 5, "nothing stands here", "write a value"),
    ("a:\n  -\n  - 1\n", 2, 4, "nothing stands here", "write a value"),
    ("gateway\n", 1, 1, "section is expected", "colon"),
    ("- a\n", 1, 1, "section is expected", "colon"),
    ("---\n", 1, 1, "nothing stands here", "write a value"),
    ("", 1, 1, "empty", "example"),
    ("\ufeff# only a comment\r\n", 1, 1, "empty", "example"),
    ("? [a, b]\n: 1\n", 1, 3, "no word", "words or ids"),
    ('"": 1\n', 1, 1, "empty key", "before the colon"),
    ("${A}: 1\n", 1, 1, "variable in a key", "values only"),
    ('"a\\0": 1\n', 1, 1, "no text may hold", "escape"),
    ('a: "\\ud800"\n', 1, 4, "no text may hold", "remove"),
    ('a: "\\UFFFFFFFF"\n', 1, 1, "out of bounds", "before"),
    ("a: 1\nb: '\x01'\n", 2, 5, "does not allow", "remove"),
    ("chats: [\n", 2, 1, "<stream end>", "close"),
    ("a: 'x\n", 2, 1, "end of stream", "before"),
    ("a: b: c\n", 1, 5, "not allowed here", "indentation"),
    ("a:\n  b: 1\n c: 2\n", 3, 2, "block end", "same column"),
    ("a: [@ann]\n", 1, 5, "cannot start", "quotes"),
    ("a: [${B}]\n", 1, 6, "expected ','", "in quotes"),
    ("a: 1\ntelegram: ${RELAY_USERS}\n", 2, 11, "RELAY_USERS is not set", "environment"),
    ("a: ${1X}\n", 1, 4, "without a name", "$${"),
    ("a: ${B\n", 1, 4, "without a name", "${NAME}"),
    ("a: " + "[" * 40 + "\n", 1, NESTING_LIMIT + 4, "levels", "nest less"),
    ("#" * (SIZE_LIMIT + 1), 1, 1, "1 MiB", "smaller"),
    ("#" + "é" * (SIZE_LIMIT // 2), 1, 1, "1 MiB", "smaller"),
]


@pytest.mark.parametrize(("text", "line", "column", "message", "mend"), REFUSED, ids=lambda value: repr(value)[:40])
def test_what_readers_of_yaml_disagree_about_is_refused_with_its_place_and_mend(text, line, column, message, mend):
    (problem,) = problems_of(text)

    assert (problem.mark.line, problem.mark.column) == (line, column)
    assert message in problem.message
    assert mend in problem.mend


TAKEN = [
    ("a: true\nb: false\n", {"a": True, "b": False}),
    ("a: 0\nb: -1001900000001\nc: 1.5\nd: -0.25\n", {"a": 0, "b": -1001900000001, "c": 1.5, "d": -0.25}),
    ("a: \"no\"\nb: '22:30'\nc: '0123'\n", {"a": "no", "b": "22:30", "c": "0123"}),
    ("a: 2026-12-31T18:00:00+01:00\nb: 127.0.0.1:80\nc: 1.2.3\n", {
        "a": "2026-12-31T18:00:00+01:00", "b": "127.0.0.1:80", "c": "1.2.3"}),
    ("telegram:7001:-100: {a: [telegram:5, x]}\n", {"telegram:7001:-100": {"a": ["telegram:5", "x"]}}),
    ("matrix:@desk:example.org:!abc:example.org: {}\n", {"matrix:@desk:example.org:!abc:example.org": {}}),
    ("\ufefftelegram: {}\r\nmatrix: {}\r\n", {"telegram": {}, "matrix": {}}),
    ("--- {a: []}\n...\n", {"a": []}),
    ("-100: x\n1.5: z\n", {"-100": "x", "1.5": "z"}),
    ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
    ("a: ''\n", {"a": ""}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), TAKEN, ids=lambda value: repr(value)[:40])
def test_what_everybody_reads_alike_is_taken(text, value):
    found = value_of(text)

    assert found == value
    assert repr(found) == repr(value)  # True is not 1


def test_a_variable_is_filled_in_and_stays_a_text():
    environment = {"NUMBER": "0123", "YAML": "{a: no}\n- b: *x", "EMPTY": "", "WORD": "yes"}

    found = value_of('a: ${NUMBER}\nb: "x-${WORD}-${WORD}"\nc: ${YAML}\nd: ${EMPTY}\ne: ["${NUMBER}"]\n', **environment)

    assert found == {"a": "0123", "b": "x-yes-yes", "c": "{a: no}\n- b: *x", "d": "", "e": ["0123"]}


def test_a_default_stands_for_a_variable_that_is_unset_or_empty():
    found = value_of("a: ${A:-one}\nb: ${B:-two}\nc: ${C:-three}\nd: ${D:-}\n", A="own", B="")

    assert found == {"a": "own", "b": "two", "c": "three", "d": ""}


def test_a_doubled_dollar_is_the_characters_themselves():
    assert value_of("a: $${HOME} $5 $$x\n") == {"a": "${HOME} $5 $$x"}


def test_a_variable_with_a_character_that_no_text_may_hold_is_refused():
    (problem,) = problems_of("a: ${A}\n", A="x\udcffy")

    assert "no text may hold" in problem.message


def test_all_problems_are_reported_together_in_the_order_of_the_file():
    text = "language: no\nbuttons: [Yes, No]\npin: 0123\nlanguage: en\nempty:\nuser: ${NOBODY}\n"

    assert [problem.mark.line for problem in problems_of(text)] == [1, 2, 2, 3, 4, 5, 6]


def test_what_was_found_before_the_text_stops_being_yaml_is_reported_too():
    assert [problem.mark.line for problem in problems_of("language: no\nchats: [\n")] == [1, 3]


def test_every_line_with_a_tab_is_named():
    assert [problem.mark.line for problem in problems_of("a:\n\tb: 1\n  \tc: 2\n")] == [2, 3]


def test_the_text_of_the_error_has_place_path_and_mend():
    with pytest.raises(PolicyError) as caught:
        parse("a:\n  b: [x, no]\n", source="file.yaml", environment={})

    assert str(caught.value).startswith("file.yaml:2:10: a.b.1: this word is a truth value")
    assert str(caught.value).endswith("Write true or false, or put the word in quotes if it is a text.")


def test_places_can_be_logged_without_what_the_file_says():
    with pytest.raises(DocumentError) as caught:
        parse("secret: no\nother: 0123\n", source="file.yaml", environment={})

    assert caught.value.places == "file.yaml:1:9, file.yaml:2:8"


@pytest.mark.parametrize(
    "text", ["token: 0981", "token: 12:34", "token: 1_2", "token: &x 98", "token: ${98", "token: *s98"]
)
def test_a_problem_never_quotes_the_value(text):
    (problem,) = problems_of(text)

    assert not any(digits in str(problem) for digits in ("98", "12:34", "1_2"))


def test_the_tree_keeps_line_and_column_of_every_key_and_value():
    root = parse("a: 1\nb:\n  c: [x, {d: e}]\n", source="file.yaml", environment={})

    assert find(root, ()) == (Mark(line=1, column=1), root)
    assert find(root, ("b", "c"))[0] == Mark(line=3, column=6)
    assert find(root, ("b", "c"), key=True)[0] == Mark(line=3, column=3)
    mark, node = find(root, ("b", "c", 1, "d"))
    assert mark == Mark(line=3, column=14)
    assert isinstance(node, Scalar)
    assert node.written == "e"


@pytest.mark.parametrize("path", [("x",), (0,), ("a", "b")])
def test_a_path_that_leads_nowhere_ends_at_the_last_place_that_exists(path):
    root = parse("a: 1\n", source="file.yaml", environment={})

    assert find(root, path)[0].line == 1


def test_an_index_behind_the_end_ends_at_the_list():
    root = parse("a: [1]\n", source="file.yaml", environment={})

    assert isinstance(find(root, ("a", 7))[1], Items)


def test_a_survey_gives_what_can_be_read_in_spite_of_problems():
    root, problems = survey("a: no\nb: {c: 1}\na: 2\n", source="file.yaml", environment={})

    assert content(root) == {"a": "no", "b": {"c": 1}}
    assert len(problems) == 2


def test_values_of_a_tree_are_not_shown_by_accident():
    assert "sesame" not in repr(parse("token: ${T}\n", source="file.yaml", environment={"T": "sesame"}))


PIECES = st.sampled_from([
    "a", "b: ", ": ", "- ", "\n", "  ", "\t", "[", "]", "{", "}", ",", "'", '"', "\\", "\\x0", "\\U0011", "#", "&a ", "*a", "!", "!!x ",
    "!<%", "|", ">", "%YAML 1.1\n", "%TAG ! x\n", "---", "...", "? ", "<<: ", "${A}", "${", "${B:-", "no", "0123", "1_0", "1:2", "\r\n",
    "\ufeff", "\x00", "\ud800", "\u2028", "é", "~", "=", "@", "`", "-1", "1.5",
])  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_any_text_is_a_section_or_a_document_error(text):
    root, problems = survey(text, source="file.yaml", environment={"A": "x"})

    assert isinstance(root, Section)
    assert all(problem.mark.line >= 1 and problem.mark.column >= 1 and problem.mend for problem in problems)
    assert str(DocumentError(problems)).count("\n") >= len(problems) - 1


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8), min_size=1))
def test_quoted_texts_are_read_as_written(values):
    def quoted(text):
        return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'

    text = "".join(f"{quoted(key)}: {quoted(value)}\n" for key, value in values.items())
    spoilt = any(character in part for pair in values.items() for part in pair for character in ("\0", "${"))

    root, problems = survey(text, source="file.yaml", environment={})

    assert bool(problems) == spoilt
    assert spoilt or content(root) == values
