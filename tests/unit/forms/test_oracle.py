"""The judge beside another validator: what it takes is valid under the very schema that the agent sent."""

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from forms.schema import SchemaError, read_form
from forms.validation import Judge

TEXTS = st.sampled_from(["", "a", "ab", "abc", "😀", "😀😀", "a\n", "5", "2026-03-01", "2026-02-30", "10:00:00Z", "10:00", "2026-03-01T10:00:00Z", "ann@example.org", "https://example.org", "é"])  # fmt: skip
NUMBERS = st.sampled_from([0, 1, -1, 2, 3, 5, 0.1, 0.3, 1.5, 2.0, 19.99, 1e10, 9007199254740991])
SCALARS = TEXTS | NUMBERS | st.booleans() | st.none()
ANSWERS = SCALARS | st.lists(SCALARS, max_size=3)


def keywords(**optional):
    return st.fixed_dictionaries({}, optional=optional)


def merged(*parts):
    return st.tuples(*parts).map(lambda found: {name: value for part in found for name, value in part.items()})


SIZES = st.integers(0, 3)
STEPS = st.sampled_from([0.01, 0.1, 0.5, 1, 2, 3])
CONSTS = st.fixed_dictionaries({"const": SCALARS}, optional={"title": st.sampled_from(["A", "B"])})
STRINGS = merged(
    st.just({"type": "string"}) | st.just({}) | st.just({"type": ["string", "null"]}),
    keywords(
        minLength=SIZES,
        maxLength=SIZES,
        pattern=st.sampled_from(["^a", "b$", r"^\w+$", "^.$", r"\d", "^[^a]*$", "^(a|b)+$"]),
        format=st.sampled_from(["date", "time", "date-time", "email", "uri", "password"]),
    ),
)
NUMERIC = merged(
    st.sampled_from([{"type": "integer"}, {"type": "number"}, {"type": ["integer", "null"]}]),
    keywords(minimum=NUMBERS, maximum=NUMBERS, exclusiveMinimum=NUMBERS, exclusiveMaximum=NUMBERS, multipleOf=STEPS),
)
CHOICES = (
    st.fixed_dictionaries({"enum": st.lists(SCALARS, min_size=1, max_size=4)}, optional={"type": st.sampled_from(["string", "integer"])})
    | CONSTS
    | st.fixed_dictionaries({"oneOf": st.lists(CONSTS, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"anyOf": st.lists(CONSTS, min_size=1, max_size=3)})
)  # fmt: skip
PLAIN = STRINGS | NUMERIC | CHOICES | st.just({"type": "boolean"}) | st.just({"type": "null"})
LISTS = merged(
    st.fixed_dictionaries({"type": st.just("array"), "items": CHOICES | st.just({"type": "string", "format": "date"})}),
    keywords(minItems=SIZES, maxItems=SIZES, uniqueItems=st.booleans()),
)
UNIONS = st.builds(
    lambda name, parts, more: {name: parts, **more},
    st.sampled_from(["anyOf", "oneOf", "allOf"]),
    st.lists(PLAIN | st.just({"type": "null"}), min_size=1, max_size=3),
    st.sampled_from([{}, {"type": "string"}, {"type": ["string", "null"]}, {"title": "T"}]),
)
REFERENCES = st.sampled_from([{"$ref": "#/$defs/A"}, {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}])
PARTS = PLAIN | LISTS | UNIONS | REFERENCES


@given(PARTS, PLAIN, st.lists(ANSWERS, max_size=8), st.booleans(), st.booleans())
def test_an_answer_that_the_judge_takes_is_valid_under_the_schema_as_it_was_sent(part, other, values, required, closed):
    schema = {"type": "object", "properties": {"x": part}, "$defs": {"A": other}}
    schema |= {"required": ["x"]} if required else {}
    schema |= {"additionalProperties": False} if closed else {}
    try:
        form = read_form(schema)
    except SchemaError:
        assume(False)
    oracle = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    judge = Judge(form)
    field = form.fields[0]
    offered = [option.value for option in field.options] if field.kind.value != "choices" else []
    shown = [*offered, *([field.default] if field.has_default else []), *field.examples]
    for answer in ({}, {"x": 1, "y": 2}, *({"x": value} for value in (*values, *shown))):
        if not judge.errors(answer):
            assert oracle.is_valid(answer)
    for value in shown:
        assert not judge.errors({"x": value})  # nothing is offered that would not be taken
    Draft202012Validator.check_schema(form.schema)


@given(STRINGS | NUMERIC | CHOICES, st.lists(ANSWERS, max_size=8))
def test_a_plain_schema_takes_and_refuses_exactly_what_another_validator_does(part, values):
    assume("type" in part or "enum" in part or "const" in part)
    schema = {"type": "object", "properties": {"x": part}, "required": ["x"]}
    try:
        judge = Judge(read_form(schema))
    except SchemaError:
        assume(False)
    oracle = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    for value in values:
        assert (not judge.errors({"x": value})) == oracle.is_valid({"x": value})


FACTS = {
    "multipleOf": [(0.01, 0.0075, 0), (0.01, 19.99, 1), (0.0001, 0.0075, 1), (0.0001, 0.00751, 0), (2, 10, 1), (2, 7, 0), (1.5, 4.5, 1), (1.5, 35, 0), (1e-8, 12391239123, 1)],
    "minimum": [(1.1, 2.6, 1), (1.1, 1.1, 1), (1.1, 0.6, 0), (-2, -2.0001, 0)],
    "maximum": [(3.0, 2.6, 1), (3.0, 3.0, 1), (3.0, 3.5, 0)],
    "exclusiveMinimum": [(1.1, 1.2, 1), (1.1, 1.1, 0)],
    "exclusiveMaximum": [(3.0, 2.2, 1), (3.0, 3.0, 0)],
    "minLength": [(2, "foo", 1), (2, "f", 0), (2, "💩", 0), (2.0, "fo", 1)],
    "maxLength": [(2, "f", 1), (2, "foo", 0), (2, "💩💩", 1)],
    "pattern": [("^a*$", "aaa", 1), ("^a*$", "abc", 0), ("a+", "xxaayy", 1), ("^\\S(|(.|\\n)*\\S)\\Z", "a", None), (r"\p{Letter}cole", "Les hivers de mon enfance: école", 1), ("^\\W$", "é", 1), ("^\\d+$", "42", 1), ("^\\d+$", "-%#", 0), ("^\\d+$", "४२", 0), ("^\\p{digit}+$", "४२", 1), ("[a-z]cole", "école", 0), ("^[\\s]$", "\u2029", 1), ("^abc$", "abc\n", 0), ("^\\cC$", "\u0003", 1), ("^\\cC$", "\\cC", 0), ("^🐲*$", "🐲🐲", 1), ("^🐲*$", "🐉", 0)],
    "format": [("date", "1963-06-19", 1), ("date", "2020-02-30", 0), ("date", "1963-06-1৪", 0), ("time", "08:30:06Z", 1), ("time", "12:00:00", 0), ("date-time", "1963-06-19T08:30:06.283185Z", 1), ("date-time", "1998-12-31T23:59:60Z", 1), ("date-time", "1998-12-31T23:58:60Z", 0), ("date-time", "06/19/1963 08:30:06 PST", 0), ("date-time", "2013-350T01:01:01", 0), ("email", "te.s.t@example.com", 1), ("email", ".test@example.com", 0), ("email", "te..st@example.com", 0), ("email", "2962", 0), ("uri", "http://foo.bar/?baz=qux#quux", 1), ("uri", "//foo.bar/?baz=qux", 0), ("uri", "http:// shouldfail.com", 0), ("uri", "\\\\WINDOWS\\fileshare", 0)],
    "enum": [([1, 2, 3], 1, 1), ([1, 2, 3], 4, 0), ([False, "a"], False, 1), ([False, "a"], 0, 0), ([1, "a"], True, 0), ([0, "a"], 0.0, 1), (["hello\u0000there", "b"], "hellothere", 0)],
    "const": [(2, 2.0, 1), (True, 1, 0), (0, False, 0), (None, 0, 0), ("a", "a", 1)],
    "type": [("integer", 1.0, 1), ("integer", 1.1, 0), ("integer", "1", 0), ("number", 1, 1), ("number", "1", 0), ("string", 1, 0), ("boolean", 0, 0), ("boolean", "", 0), ("boolean", True, 1), ("null", 0, 0), ("null", None, 1)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("keyword", "limit", "value", "valid"),
    [(keyword, *fact) for keyword, facts in FACTS.items() for fact in facts],
)
def test_facts_that_every_validator_must_know_hold(keyword, limit, value, valid):
    kind = {"type": "string"} if isinstance(value, str) else {"type": "number"}
    part = {keyword: limit} | (kind if keyword not in {"enum", "const", "type"} else {})
    schema = {"type": "object", "properties": {"x": part}}
    if valid is None:
        with pytest.raises(SchemaError):
            read_form(schema)
        return
    assert (not Judge(read_form(schema)).errors({"x": value})) == bool(valid)


@pytest.mark.parametrize(
    ("answer", "valid"),
    [(["a", "b"], 1), (["a", "a"], 0), ([1, 1.0], 0), ([1, True], 1), ([0, False], 1), ([], 1), (["a", "c"], 0)],
)
def test_facts_about_lists_of_choices_hold(answer, valid):
    part = {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "b", 1, 0, True, False]}}
    judge = Judge(read_form({"type": "object", "properties": {"x": part}}))
    assert (not judge.errors({"x": answer})) == bool(valid)
