"""Components of A2H become fields that can be asked (FORM-1)."""

import pytest

from forms.components import LONG, ComponentError, schema_of
from forms.errors import SchemaError
from forms.schema import read_form

OPTIONS = [{"value": "a", "label": "A"}, {"value": "b", "label": ""}]
CHOICES = [{"const": "a", "title": "A"}, {"const": "b", "title": "b"}]
SEVERAL = {"type": "array", "uniqueItems": True, "items": {"type": "string", "oneOf": CHOICES}}


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        ({"type": "TEXT"}, {"type": "string"}),
        ({"type": "text", "validation": "none"}, {"type": "string"}),
        (
            {"type": "TEXT", "validation": {"pattern": "^[A-Z]+$", "minLength": 1, "maxLength": 9, "min": 3}},
            {"type": "string", "pattern": "^[A-Z]+$", "minLength": 1, "maxLength": 9},
        ),
        ({"type": "TEXTAREA"}, {"type": "string", "maxLength": LONG}),
        ({"type": "TEXTAREA", "validation": {"maxLength": 50}}, {"type": "string", "maxLength": 50}),
        ({"type": "NUMBER", "validation": {"min": 1, "max": 2.5}}, {"type": "number", "minimum": 1, "maximum": 2.5}),
        ({"type": "DATE"}, {"type": "string", "format": "date"}),
        ({"type": "TIME"}, {"type": "string", "format": "time"}),
        ({"type": "DATETIME"}, {"type": "string", "format": "date-time"}),
        ({"type": "CHECKBOX"}, {"type": "boolean"}),
        ({"type": "CHECKBOX", "options": OPTIONS}, SEVERAL),
        ({"type": "MULTISELECT", "options": OPTIONS}, SEVERAL),
        ({"type": "SELECT", "options": OPTIONS}, {"type": "string", "oneOf": CHOICES}),
        ({"type": "RADIO", "options": OPTIONS}, {"type": "string", "oneOf": CHOICES}),
    ],
)
def test_each_component_becomes_a_field_that_can_be_asked(component, expected):
    schema = schema_of([{**component, "name": "x", "label": "A label", "required": True}])
    assert schema["properties"]["x"] == {"title": "A label", **expected}
    assert schema["required"] == ["x"]
    assert [one.name for one in read_form(schema).fields] == ["x"]


def test_what_is_not_required_and_has_no_label_is_neither():
    schema = schema_of([{"name": "x", "type": "TEXT", "label": ""}, {"name": "y", "type": "DATE", "label": 5}])
    assert (schema["required"], schema["additionalProperties"]) == ([], False)
    assert not any("title" in one for one in schema["properties"].values())


@pytest.mark.parametrize(
    "components",
    [
        [],
        [{"name": "a", "type": "TEXT"}] * 2,
        [{"type": "TEXT"}],
        [{"name": "a"}],
        ["TEXT"],
        [{"name": "a", "type": "HOLOGRAM"}],
        [{"name": "a", "type": "SELECT"}],
        [{"name": "a", "type": "SELECT", "options": [1]}],
        [{"name": "a", "type": "SELECT", "options": [{"value": 1}]}],
    ],
)
def test_other_components_are_refused(components):
    with pytest.raises(ComponentError):
        schema_of(components)


def test_what_a_form_can_not_hold_is_refused_where_forms_are_read():
    with pytest.raises(SchemaError):
        read_form(schema_of([{"name": f"n{number}", "type": "TEXT"} for number in range(21)]))
