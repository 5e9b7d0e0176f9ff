"""What an agent may ask: which schemas become fields, and which are refused, where and why."""

import json
from decimal import Decimal

import pytest

from forms.schema import FieldKind, Option, SchemaError, SchemaProblem, read_form


def ask(part, **root):
    """The only field of a form."""
    return read_form({"type": "object", "properties": {"x": part}, **root}).fields[0]


def refusal(schema):
    with pytest.raises(SchemaError) as refused:
        read_form(schema)
    return {(problem.path, problem.code) for problem in refused.value.problems}


def refused(part, **root):
    return refusal({"type": "object", "properties": {"x": part}, **root})


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "string"}, FieldKind.TEXT),
        ({"type": "string", "format": "password"}, FieldKind.TEXT),
        ({"type": "string", "format": "date"}, FieldKind.DATE),
        ({"type": "string", "format": "time"}, FieldKind.TIME),
        ({"type": "string", "format": "date-time"}, FieldKind.DATETIME),
        ({"type": "string", "format": "email"}, FieldKind.EMAIL),
        ({"type": "string", "format": "uri"}, FieldKind.URI),
        ({"type": "integer"}, FieldKind.INTEGER),
        ({"type": "integer", "format": "int64"}, FieldKind.INTEGER),
        ({"type": "number"}, FieldKind.NUMBER),
        ({"type": ["integer", "number"]}, FieldKind.NUMBER),
        ({"type": ["string", "integer"], "pattern": "^-?(?:0|[1-9]\\d*)$"}, FieldKind.INTEGER),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, FieldKind.NUMBER),
        ({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "(?!x)"}]}, FieldKind.NUMBER),
        ({"oneOf": [{"type": "integer"}, {"type": "string", "pattern": "^\\d+$"}]}, FieldKind.INTEGER),
        ({"type": "boolean"}, FieldKind.BOOLEAN),
        ({"enum": [True, False]}, FieldKind.BOOLEAN),
        ({"type": "string", "enum": ["a", "b"]}, FieldKind.CHOICE),
        ({"enum": ["a"]}, FieldKind.CHOICE),
        ({"type": "boolean", "oneOf": [{"const": True, "title": "I agree"}]}, FieldKind.CHOICE),
        ({"type": "array", "items": {"enum": ["a"]}}, FieldKind.CHOICES),
        ({"type": "array", "items": {"anyOf": [{"const": "a"}, {"const": "b"}]}}, FieldKind.CHOICES),
        ({"items": {"enum": ["a"]}}, FieldKind.CHOICES),
        # without a type: what the other keywords say
        (True, FieldKind.TEXT),
        ({}, FieldKind.TEXT),
        ({"format": "date"}, FieldKind.DATE),
        ({"maxLength": 3}, FieldKind.TEXT),
        ({"minimum": 3}, FieldKind.NUMBER),
    ],
)
def test_what_a_person_can_answer_becomes_a_field(part, kind):
    assert ask(part).kind is kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [("date", FieldKind.DATE_RANGE), ("time", FieldKind.TIME_RANGE), ("date-time", FieldKind.DATETIME_RANGE)],
)
def test_a_list_of_exactly_two_dates_or_times_is_a_range(name, kind):
    end = {"type": "string", "format": name, "title": "End"}
    for part in (
        {"type": "array", "items": end, "minItems": 2, "maxItems": 2},
        {"type": "array", "prefixItems": [end, {"format": name}], "items": False},
        {"type": "array", "items": [end, end], "additionalItems": False, "minItems": 2, "maxItems": 2},
        {"prefixItems": [{"$ref": "#/$defs/End"}, {"$ref": "#/$defs/End"}]},
    ):
        field = ask(part, **{"$defs": {"End": end}})
        assert (field.kind, field.min_items, field.max_items) == (kind, 2, 2)


def test_a_field_keeps_what_the_schema_says_of_it():
    form = read_form(
        {
            "type": "object",
            "title": "Booking",
            "properties": {
                "name": {"type": "string", "title": " Name ", "description": "Of the guest", "minLength": 2.0},
                "price": {
                    "type": "number",
                    "minimum": 0.1,
                    "maximum": 5,
                    "exclusiveMinimum": 0,
                    "exclusiveMaximum": 9,
                    "multipleOf": 0.1,
                    "examples": [1.5, "x"],
                    "example": 2,
                    "default": 1.1,
                },
                "code": {"type": "string", "pattern": "^a", "maxLength": 3, "x-order": 4, "ui:widget": "hidden"},
                "tags": {
                    "type": "array",
                    "items": {"enum": ["a", "b"]},
                    "uniqueItems": True,
                    "minItems": 1,
                    "maxItems": 2,
                    "default": ["a"],
                },
            },
            "required": ["name", "name"],
            "additionalProperties": False,
        }
    )
    name, price, code, tags = form.fields
    assert form.strict
    assert (name.title, name.description, name.required, name.min_length) == ("Name", "Of the guest", True, 2)
    assert (price.title, price.required) == ("price", False)
    assert (price.minimum, price.maximum, price.multiple_of) == (Decimal("0.1"), 5, Decimal("0.1"))
    assert (price.exclusive_minimum, price.exclusive_maximum) == (0, 9)
    assert (price.examples, price.default, price.has_default) == ((1.5, 2), 1.1, True)
    assert (code.pattern, code.max_length) == ("^a", 3)
    assert (tags.min_items, tags.max_items, tags.unique_items, tags.default) == (1, 2, True, ["a"])
    assert form.schema["properties"]["price"] == {
        "type": "number",
        "minimum": 0.1,
        "maximum": 5,
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 9,
        "multipleOf": 0.1,
    }


def test_an_object_without_fields_is_a_confirmation():
    for schema in ({"type": "object"}, {"type": ["object"], "properties": {}}, {"properties": {}}):
        form = read_form(schema)
        assert form.fields == ()
        assert not form.strict


@pytest.mark.parametrize(
    ("part", "options"),
    [
        ({"enum": ["a", 1, 2.5, True]}, [("a", "a"), (1, "1"), (2.5, "2.5"), (True, "true")]),
        ({"enum": ["a", "a"]}, [("a", "a")]),
        ({"enum": [1, 1.0, "b"]}, [(1, "1"), ("b", "b")]),
        ({"enum": ["a", None]}, [("a", "a"), (None, "")]),
        ({"enum": ["", "a"]}, [("", '""'), ("a", "a")]),
        ({"enum": ["a", "b"], "enumNames": ["A", "B"]}, [("a", "A"), ("b", "B")]),
        ({"enum": ["a", "b"], "enumNames": ["A", " "]}, [("a", "A"), ("b", "b")]),
        ({"enum": ["a", "b"], "enumNames": ["A", "A"]}, [("a", "A (a)"), ("b", "A (b)")]),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, [("a", "A"), ("b", "b")]),
        ({"anyOf": [{"const": "a", "title": "A"}, {"const": "a", "title": "Again"}]}, [("a", "A")]),
        ({"oneOf": [{"enum": ["a"], "description": "x", "x-y": 1}, {"type": "null"}]}, [("a", "a"), (None, "")]),
        ({"anyOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, [("a", "a"), ("b", "b"), ("c", "c")]),
        ({"anyOf": [{"anyOf": [{"const": "a"}]}, {"type": "null"}]}, [("a", "a"), (None, "")]),
        ({"anyOf": [{"anyOf": [{"enum": ["a", None]}]}, {"type": "null"}]}, [("a", "a"), (None, "")]),
        ({"enum": ["a", "b"], "oneOf": [{"type": "null"}, {}]}, [("a", "a"), ("b", "b")]),
        ({"type": "string", "nullable": True, "enum": ["a", None]}, [("a", "a"), (None, "")]),
        ({"type": "integer", "enum": [1, 2], "minimum": 1, "format": "int32"}, [(1, "1"), (2, "2")]),
        ({"type": "string", "enum": ["ab"], "minLength": 2, "pattern": "b$"}, [("ab", "ab")]),
    ],
)
def test_options_come_with_their_titles_each_once(part, options):
    assert [(option.value, option.title) for option in ask(part).options] == options


def test_a_boolean_has_options_only_where_the_two_have_titles():
    titled = ask({"type": "boolean", "oneOf": [{"const": True, "title": "Keep"}, {"const": False, "title": "Erase"}]})
    assert titled.kind is FieldKind.BOOLEAN
    assert titled.options == (Option(value=True, title="Keep"), Option(value=False, title="Erase"))
    assert ask({"type": "boolean", "enum": [False, True]}).options == ()


def test_a_constant_is_filled_in_without_asking():
    for part, value in (
        ({"const": "v1"}, "v1"),
        ({"type": "integer", "const": 5}, 5),
        ({"type": "null"}, None),
        ({"const": 1, "enum": [1]}, 1),
    ):
        field = ask(part, required=["x"])
        assert (field.fixed, field.has_default, field.default) == (True, True, value)
    assert not ask({"enum": ["only"]}).fixed
    assert not ask({"anyOf": [{"const": "a"}, {"type": "null"}]}).fixed


@pytest.mark.parametrize(
    ("part", "nullable"),
    [
        ({"type": "string"}, False),
        ({}, False),
        ({"type": ["string", "null"]}, True),
        ({"type": "string", "nullable": True}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}]}, True),
        ({"anyOf": [{"type": ["string", "null"]}]}, True),
        ({"anyOf": [{}, {"type": "null"}]}, True),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"oneOf": [{"type": ["string", "null"]}, {"type": "null"}]}, False),  # null is of both, so of neither
        ({"oneOf": [{}, {"type": "null"}]}, False),
        ({"oneOf": [{"type": "null"}, {"type": "string"}, {"const": None}]}, False),
        ({"type": "string", "anyOf": [{"type": "null"}, {"minLength": 1}]}, False),
    ],
)
def test_null_is_an_answer_where_the_schema_takes_it(part, nullable):
    assert ask(part).nullable is nullable


def test_a_reference_within_the_schema_is_read_where_it_stands():
    status = {"type": "string", "enum": ["open", "closed"], "title": "Status"}
    for place in ("$defs", "definitions"):
        field = ask({"$ref": f"#/{place}/Status", "title": "New status"}, **{place: {"Status": status}})
        assert (field.title, [option.value for option in field.options]) == ("New status", ["open", "closed"])
    assert ask({"allOf": [{"$ref": "#/$defs/S"}], "default": "open"}, **{"$defs": {"S": status}}).default == "open"
    odd = {"$defs": {"a/b~c d": status, "list": {"anyOf": [status]}}}
    assert ask({"$ref": "#/$defs/a~1b~0c%20d"}, **odd).title == "Status"
    assert ask({"$ref": "#/$defs/list/anyOf/0"}, **odd).title == "Status"
    again = {"type": "object", "properties": {"a": status, "b": {"$ref": "#/properties/a"}}}
    assert read_form(again).fields[1].options == read_form(again).fields[0].options
    whole = {"$ref": "#/definitions/Form", "definitions": {"Form": again["properties"]["a"] | {"type": "object"}}}
    assert refusal(whole) == {("/definitions/Form/enum", "unsupported_keyword")}
    whole["definitions"]["Form"] = {"type": "object", "properties": {"a": status}}
    assert read_form(whole | {"$schema": "http://json-schema.org/draft-07/schema#"}).fields[0].title == "Status"


def test_a_property_may_have_any_name_also_that_of_a_keyword():
    names = ["$ref", "$id", "required", "properties", "enum", "a/b~c", "Größe"]
    form = read_form({"type": "object", "properties": {name: {"type": "string"} for name in names}})
    assert [field.name for field in form.fields] == names


@pytest.mark.parametrize(
    ("part", "path", "code"),
    [
        ({"$ref": "http://169.254.169.254/latest/meta-data/"}, "/$ref", "reference_not_local"),
        ({"$ref": "file:///etc/passwd"}, "/$ref", "reference_not_local"),
        ({"$ref": "//host/x"}, "/$ref", "reference_not_local"),
        ({"$ref": "other.json#/$defs/A"}, "/$ref", "reference_not_local"),
        ({"$ref": "#anchor"}, "/$ref", "reference_not_local"),
        ({"$ref": ""}, "/$ref", "reference_not_local"),
        ({"$ref": 5}, "/$ref", "reference_not_local"),
        ({"anyOf": [{"type": "null"}, {"$ref": "urn:x"}]}, "/anyOf/1/$ref", "reference_not_local"),
        ({"$ref": "#"}, "/$ref", "reference_in_a_circle"),
        ({"$ref": "#/properties/x"}, "/$ref", "reference_in_a_circle"),
        ({"$ref": "#/$defs/Missing"}, "/$ref", "reference_to_nothing"),
        ({"$ref": "#/properties/x/anyOf/9", "anyOf": [{}]}, "/$ref", "reference_to_nothing"),
        ({"anyOf": [{"$ref": "#/properties/x"}, {"type": "null"}]}, "/anyOf/0/$ref", "too_many_references"),
        ({"$ref": "#/properties/x/x-data", "x-data": {"$ref": "http://host/"}}, "/x-data/$ref", "reference_not_local"),
        ({"$id": "https://example.org/x"}, "/$id", "identity"),
        ({"$anchor": "a"}, "/$anchor", "identity"),
        ({"$dynamicRef": "#a"}, "/$dynamicRef", "identity"),
        ({"$recursiveRef": "#"}, "/$recursiveRef", "identity"),
        ({"items": {"not": [{"$id": "y"}]}}, "/items/not/0/$id", "identity"),
        ({"$schema": "https://attacker.example/meta.json"}, "/$schema", "unknown_dialect"),
        ({"$schema": ["x"]}, "/$schema", "unknown_dialect"),
    ],
)
def test_a_reference_that_leads_out_of_the_schema_or_in_circles_is_refused(part, path, code):
    assert refused(part) == {("/properties/x" + path, code)}


def test_outside_references_are_refused_at_the_root_and_in_what_nothing_uses():
    assert refusal({"$schema": "https://attacker.example/meta.json", "type": "object"}) == {
        ("/$schema", "unknown_dialect")
    }
    assert refusal({"$id": "x", "type": "object"}) == {("/$id", "identity")}
    assert refusal({"type": "object", "$defs": {"A": {"$ref": "http://host/"}, "B": {"$id": "x"}}}) == {
        ("/$defs/A/$ref", "reference_not_local"),
        ("/$defs/B/$id", "identity"),
    }
    assert read_form({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"})


@pytest.mark.parametrize(
    ("part", "path", "code"),
    [
        (False, "", "never_valid"),
        ("string", "", "not_a_schema"),
        ([], "", "not_a_schema"),
        ({"enum": []}, "/enum", "never_valid"),
        ({"enum": "a"}, "/enum", "wrong_type"),
        ({"enum": ["a"], "enumNames": ["A", "B"]}, "/enumNames", "wrong_type"),
        ({"enum": ["a"], "enumNames": [1]}, "/enumNames", "wrong_type"),
        ({"type": "string", "enumNames": ["A"]}, "/enumNames", "keyword_not_for_type"),
        ({"enum": [{"a": 1}]}, "/enum/0", "unsupported_option"),
        ({"const": []}, "/const", "unsupported_option"),
        ({"enum": [1, 9007199254740992]}, "/enum/1", "number_too_large"),
        ({"enum": ["1", 1]}, "/enum/1", "indistinguishable_options"),
        ({"type": "string", "enum": ["a", 1]}, "/enum/1", "option_never_valid"),
        ({"type": "string", "enum": ["a", None]}, "/enum/1", "option_never_valid"),
        ({"type": "string", "const": 1}, "/const", "option_never_valid"),
        ({"enum": ["a", "ab"], "minLength": 2}, "/enum/0", "option_never_valid"),
        ({"enum": ["a"], "format": "date"}, "/enum/0", "option_never_valid"),
        ({"enum": ["a"], "format": "uuid"}, "/format", "unsupported_format"),
        ({"enum": ["a"], "items": {}}, "/items", "keyword_not_for_type"),
        ({"oneOf": [{"const": "a"}, {"const": "a"}]}, "/oneOf/1/const", "duplicate_option"),
        ({"oneOf": [{"const": "a", "minLength": 1}]}, "/oneOf/0/minLength", "unsupported_keyword"),
        ({"oneOf": [{"const": "a", "type": "number"}]}, "/oneOf/0/const", "option_never_valid"),
        ({"type": "integer", "anyOf": [{"const": "a"}]}, "/anyOf/0/const", "option_never_valid"),
        ({"enum": ["a"], "anyOf": [{"const": "a"}]}, "/anyOf", "contradiction"),
        ({"oneOf": [{"const": "a"}], "anyOf": [{"const": "a"}]}, "/anyOf", "contradiction"),
        ({"enum": ["a", "b"], "const": "c"}, "/const", "option_never_valid"),
        ({"anyOf": [{"type": "string"}, {"type": "null", "not": {}}]}, "/anyOf", "ambiguous_type"),
        ({"oneOf": [{"type": "null"}, {"oneOf": [{"const": None}]}]}, "/oneOf/1/oneOf/0/const", "option_never_valid"),
        ({"enum": ["a", None], "oneOf": [{"type": "null"}, {}]}, "/enum/1", "option_never_valid"),
        ({"const": "a", "title": 5}, "/title", "wrong_type"),
        ({"type": "boolean", "oneOf": [{"title": "Yes"}, {"title": "No"}]}, "/oneOf", "ambiguous_type"),
        ({"anyOf": []}, "/anyOf", "wrong_type"),
        ({"anyOf": {}}, "/anyOf", "wrong_type"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "/anyOf", "ambiguous_type"),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "/oneOf", "ambiguous_type"),
        ({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, "/anyOf", "ambiguous_type"),
        ({"anyOf": [{"type": "string"}, {"type": "string", "format": "date"}]}, "/anyOf", "ambiguous_type"),
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string"}]}, "/anyOf", "ambiguous_type"),
        ({"type": "string", "anyOf": [{"type": "integer"}]}, "/type", "contradiction"),
        ({"allOf": [{"minLength": 1}, {"minLength": 2}]}, "/allOf/0/minLength", "contradiction"),
        ({"allOf": [{"minLength": 1}, False]}, "/allOf/1", "never_valid"),
        ({"type": ["string", "integer"]}, "", "ambiguous_type"),
        ({"type": []}, "/type", "never_valid"),
        ({"type": "str"}, "/type", "unknown_type"),
        ({"type": [["string"]]}, "/type", "unknown_type"),
        ({"type": None}, "/type", "unknown_type"),
        ({"minLength": 1, "minimum": 1}, "", "ambiguous_type"),
        ({"type": "object"}, "", "nested_object"),
        ({"properties": {}}, "", "nested_object"),
        ({"type": "string", "minimum": 1}, "/minimum", "keyword_not_for_type"),
        ({"type": "boolean", "maxLength": 1}, "/maxLength", "keyword_not_for_type"),
        ({"type": "string", "not": {}}, "/not", "unsupported_keyword"),
        ({"type": "string", "if": {}}, "/if", "unsupported_keyword"),
        ({"type": "string", "contentEncoding": "base64"}, "/contentEncoding", "unsupported_keyword"),
        ({"type": "string", "maxLenght": 5}, "/maxLenght", "unsupported_keyword"),
        ({"type": "integer", "required": True}, "/required", "required_not_a_list"),
        ({"type": "integer", "required": False}, "/required", "required_not_a_list"),
        ({"type": "string", "readOnly": True}, "/readOnly", "read_only"),
        ({"type": "string", "writeOnly": "yes"}, "/writeOnly", "wrong_type"),
        ({"type": "string", "title": "x" * 257}, "/title", "too_long"),
        ({"type": "string", "description": 5}, "/description", "wrong_type"),
        ({"type": "string", "format": "uuid"}, "/format", "unsupported_format"),
        ({"type": "string", "format": ["date"]}, "/format", "unsupported_format"),
        ({"type": "string", "format": "int32"}, "/format", "unsupported_format"),
        ({"type": "integer", "format": ["int32"]}, "/format", "unsupported_format"),
        ({"type": "integer", "format": "date"}, "/format", "unsupported_format"),
        ({"type": "string", "pattern": 5}, "/pattern", "wrong_type"),
        ({"type": "string", "pattern": "["}, "/pattern", "invalid_pattern"),
        ({"type": "string", "pattern": "(?=a)b"}, "/pattern", "look_around"),
        ({"type": "string", "pattern": "(a)\\1"}, "/pattern", "back_reference"),
        ({"type": "string", "pattern": "(a{1000}){1000}"}, "/pattern", "pattern_too_large"),
        ({"type": "string", "format": "time", "pattern": "^\\d\\d:\\d\\d$"}, "/pattern", "never_valid"),
        ({"type": "string", "minLength": -1}, "/minLength", "wrong_type"),
        ({"type": "string", "minLength": 1.5}, "/minLength", "wrong_type"),
        ({"type": "string", "minLength": True}, "/minLength", "wrong_type"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "", "never_valid"),
        ({"type": "string", "minLength": 100_000}, "", "never_valid"),
        ({"type": "string", "maxLength": 0}, "", "never_valid"),
        ({"type": "number", "minimum": "1"}, "/minimum", "wrong_type"),
        ({"type": "number", "multipleOf": 0}, "/multipleOf", "wrong_type"),
        ({"type": "number", "minimum": 2, "maximum": 1}, "", "never_valid"),
        ({"type": "number", "exclusiveMinimum": True}, "/exclusiveMinimum", "wrong_type"),
        ({"type": "string", "default": 5}, "/default", "invalid_default"),
        ({"enum": ["a"], "default": "b"}, "/default", "invalid_default"),
        ({"type": "string", "examples": "a"}, "/examples", "wrong_type"),
        ({"type": "array"}, "", "unsupported_list"),
        ({"type": "array", "items": {"type": "string"}}, "/items", "unsupported_list"),
        ({"type": "array", "items": {"type": "string", "format": "date"}}, "", "unsupported_list"),
        ({"type": "array", "items": {"type": "number", "format": "date"}}, "/items", "unsupported_list"),
        ({"type": "array", "items": {"format": "date", "minLength": 1}}, "/items", "unsupported_list"),
        (
            {"type": "array", "items": {"enum": ["a"]}, "additionalItems": True},
            "/additionalItems",
            "unsupported_keyword",
        ),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 2}, "", "never_valid"),
        ({"type": "array", "items": {"enum": ["a"]}, "uniqueItems": "yes"}, "/uniqueItems", "wrong_type"),
        ({"type": "array", "prefixItems": [{"format": "date"}]}, "/prefixItems", "unsupported_list"),
        ({"prefixItems": [{"format": "date"}, {"format": "time"}]}, "/prefixItems", "unsupported_list"),
        ({"prefixItems": [{"format": "date"}] * 2, "items": {}}, "/items", "unsupported_list"),
        ({"prefixItems": [{"format": "date"}] * 2, "minItems": 3}, "/prefixItems", "never_valid"),
    ],
)
def test_what_nobody_could_answer_is_refused_with_its_place_and_reason(part, path, code):
    assert refused(part) == {("/properties/x" + path, code)}


@pytest.mark.parametrize(
    ("schema", "path", "code"),
    [
        (True, "", "not_an_object"),
        (None, "", "not_an_object"),
        ([], "", "not_an_object"),
        ({}, "", "not_an_object"),
        ({"type": "string"}, "/type", "not_an_object"),
        ({"type": ["object", "null"]}, "/type", "not_an_object"),
        ({"type": "object", "properties": []}, "/properties", "wrong_type"),
        ({"type": "object", "properties": {}, "required": None}, "/required", "required_not_a_list"),
        ({"type": "object", "properties": {}, "required": True}, "/required", "required_not_a_list"),
        ({"type": "object", "properties": {}, "required": [1]}, "/required", "required_not_a_list"),
        ({"type": "object", "properties": {}, "required": ["x"]}, "/required/0", "required_unknown"),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            "/additionalProperties",
            "unsupported_keyword",
        ),
        ({"type": "object", "additionalProperties": 0}, "/additionalProperties", "unsupported_keyword"),
        ({"type": "object", "patternProperties": {"^((a+)+)+$": {}}}, "/patternProperties", "unsupported_keyword"),
        ({"type": "object", "dependentRequired": {}}, "/dependentRequired", "unsupported_keyword"),
        ({"type": "object", "anyOf": [{}]}, "/anyOf", "unsupported_keyword"),
        ({"type": "object", "allOf": [{"if": {}}]}, "/allOf/0/if", "unsupported_keyword"),
        ({"type": "object", "properties": {"": {}}}, "/properties/", "invalid_name"),
        ({"type": "object", "properties": {"n" * 129: {}}}, "/properties/" + "n" * 129, "invalid_name"),
        ({"type": "object", "properties": {"a/b": False}}, "/properties/a~1b", "never_valid"),
    ],
)
def test_a_whole_that_is_no_form_is_refused_with_its_place_and_reason(schema, path, code):
    assert refusal(schema) == {(path, code)}


def test_every_refused_field_is_named_at_once():
    schema = {"type": "object", "properties": {"a": False, "b": {}, "c": {"enum": []}}}
    assert refusal(schema) == {("/properties/a", "never_valid"), ("/properties/c/enum", "never_valid")}
    with pytest.raises(SchemaError) as refused:
        read_form(schema)
    assert str(refused.value) == (
        "/properties/a: never_valid (false takes no answer); /properties/c/enum: never_valid (an empty list takes no answer)"
    )
    assert str(SchemaError((SchemaProblem(path="", code="x"),))) == "/: x"


def test_a_form_has_at_most_twenty_fields_and_8192_bytes():
    twenty = {str(n): {} for n in range(20)}
    assert len(read_form({"type": "object", "properties": twenty}).fields) == 20
    assert refusal({"type": "object", "properties": twenty | {"20": {}}}) == {("/properties", "too_many_fields")}
    schema = {"type": "object", "description": ""}
    schema["description"] = "é" * ((8_192 - len(json.dumps(schema, separators=(",", ":")))) // 2)
    assert read_form(schema)
    schema["description"] += "é"
    assert refusal(schema) == {("", "too_large")}


def test_a_form_as_large_as_it_may_be_in_patterns_is_bounded_as_a_whole():
    part = {"type": "string", "pattern": "^[ab]{900}$"}
    assert read_form({"type": "object", "properties": {"a": part, "b": part}})
    five = {"type": "object", "properties": dict.fromkeys("abcde", part)}
    assert refusal(five) == {("/properties", "patterns_too_large")}


@pytest.mark.parametrize(
    ("part", "answerable"),
    [
        ({"type": "integer", "minimum": 0.2, "maximum": 0.8}, False),
        ({"type": "integer", "minimum": 0.2, "maximum": 1}, True),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, False),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 1}, True),
        ({"type": "integer", "minimum": 2**53}, False),
        ({"type": "integer", "maximum": -(2**53)}, False),
        ({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 10}, False),
        ({"type": "integer", "minimum": 1, "maximum": 10, "multipleOf": 2.5}, True),
        ({"type": "integer", "minimum": 1, "maximum": 4, "multipleOf": 2.5}, False),
        ({"type": "integer", "multipleOf": 0.5}, True),
        ({"type": "number", "minimum": 1, "maximum": 1}, True),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, False),
        ({"type": "number", "minimum": 1, "exclusiveMaximum": 1}, False),
        ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1.1}, True),
        ({"type": "number", "minimum": 0.1, "maximum": 0.2, "multipleOf": 0.3}, False),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.2, "multipleOf": 0.1}, True),
        ({"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.2, "multipleOf": 0.1}, False),
        ({"type": "number", "minimum": 1e308}, True),
    ],
)
def test_bounds_that_no_number_meets_are_refused(part, answerable):
    if answerable:
        assert ask(part)
    else:
        assert refused(part) == {("/properties/x", "never_valid")}


def test_exclusive_bounds_of_older_dialects_are_understood():
    part = {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    field = ask(part)
    assert (field.minimum, field.exclusive_minimum) == (None, 0)
    assert (field.maximum, field.exclusive_maximum) == (9, None)


def test_what_is_masked_shows_neither_default_nor_examples():
    for part in ({"type": "string", "format": "password"}, {"type": "integer", "writeOnly": True}):
        field = ask({**part, "default": "s3cret", "examples": ["s3cret"]})
        assert (field.masked, field.has_default, field.default, field.examples) == (True, False, None, ())


@pytest.mark.parametrize(
    ("part", "has_default", "default"),
    [
        ({"type": "string", "default": None}, False, None),
        ({"type": "string", "format": "email", "default": ""}, False, None),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 1, "default": []}, False, None),
        ({"type": ["string", "null"], "default": None}, True, None),
        ({"type": "string", "default": ""}, True, ""),
        ({"type": "boolean", "default": False}, True, False),
        ({"type": "integer", "default": 0}, True, 0),
    ],
)
def test_an_empty_default_that_is_no_answer_says_only_that_nothing_is_filled_in(part, has_default, default):
    field = ask(part)
    assert (field.has_default, field.default) == (has_default, default)


def test_fields_that_share_a_title_are_told_apart():
    named = {"a": {"title": "Date"}, "b": {"title": "date"}, "c": {"title": "a"}, "d": {"title": "d"}}
    titles = [field.title for field in read_form({"type": "object", "properties": named}).fields]
    assert titles == ["Date (a)", "date (b)", "a (c)", "d"]


def test_a_pattern_that_takes_utc_alone_is_known():
    def pattern_of(offset):
        return ask({"type": "string", "format": "date-time", "pattern": f"^[0-9:T-]+{offset}$"}).in_utc

    assert pattern_of("Z")
    assert not pattern_of("(?:Z|[+-][0-9:]+)")
    assert not ask({"type": "string", "format": "date", "pattern": "^2"}).in_utc


def test_a_null_among_options_that_what_stands_around_forbids_is_refused_at_its_place():
    asked = {"enum": ["a", None], "oneOf": [{"type": ["string", "null"]}, {"type": "null"}]}
    with pytest.raises(SchemaError) as caught:
        read_form({"type": "object", "properties": {"x": asked}})
    assert [(one.path, one.code) for one in caught.value.problems] == [("/properties/x/enum/1", "option_never_valid")]
