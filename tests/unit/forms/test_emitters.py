"""Schemas as the tools of agents write them: taken as they are, where a person can answer them."""

import json
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import AnyUrl, BaseModel, Field, HttpUrl, SecretStr, TypeAdapter, ValidationError

from forms.schema import FieldKind, SchemaError, read_form
from forms.validation import Judge


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Trip(BaseModel):
    """A trip."""

    color: Color
    maybe_color: Color | None = None
    color_or_none: Color | None
    preset_color: Color = Color.RED
    level: Level
    plan: Literal["a", "b"]
    only: Literal["x"]
    mixed: Literal["a", 1]
    agree: bool = False
    maybe_agree: bool | None = None
    day: date
    at: time
    moment: datetime
    price: Decimal
    money: Decimal = Field(gt=0, max_digits=6, decimal_places=2)
    count: int = Field(ge=0, le=5, examples=[3])
    share: float = Field(gt=0, lt=1)
    either: int | float
    site: HttpUrl
    link: AnyUrl | None = None


class Details(BaseModel):
    secret: SecretStr
    code: str = Field(pattern="^[a-z]+$", min_length=1, max_length=9, title="Code", description="As printed")
    colors: list[Color]
    some_colors: set[Literal["a", "b"]] = Field(min_length=1)
    maybe_colors: list[Color] | None = None
    stay: tuple[date, date]
    stays: list[date] = Field(min_length=2, max_length=2)
    maybe_stay: tuple[datetime, datetime] | None = None
    anything: Any
    note: str | None = None
    word: str = "x"
    mail: Annotated[str, Field(json_schema_extra={"format": "email"})]
    nothing: None = None


def test_pydantic_models_are_taken_whole():
    trip, details = read_form(Trip.model_json_schema()), read_form(Details.model_json_schema())
    assert [(field.name, field.kind.value) for field in (*trip.fields, *details.fields)] == [
        *(("color", "choice"), ("maybe_color", "choice"), ("color_or_none", "choice"), ("preset_color", "choice")),
        *(("level", "choice"), ("plan", "choice"), ("only", "choice"), ("mixed", "choice"), ("agree", "boolean")),
        *(("maybe_agree", "boolean"), ("day", "date"), ("at", "time"), ("moment", "datetime"), ("price", "number")),
        *(("money", "number"), ("count", "integer"), ("share", "number"), ("either", "number"), ("site", "uri")),
        *(("link", "uri"), ("secret", "text"), ("code", "text"), ("colors", "choices"), ("some_colors", "choices")),
        *(("maybe_colors", "choices"), ("stay", "date_range"), ("stays", "date_range")),
        *(("maybe_stay", "datetime_range"), ("anything", "text"), ("note", "text"), ("word", "text")),
        *(("mail", "email"), ("nothing", "choice")),
    ]
    fields = {field.name: field for field in (*trip.fields, *details.fields)}
    assert [option.value for option in fields["maybe_color"].options] == ["red", "blue", None]
    assert (fields["preset_color"].default, fields["maybe_color"].default, fields["only"].fixed) == ("red", None, True)
    assert [name for name, field in fields.items() if field.nullable] == [
        *("maybe_agree", "link", "maybe_colors", "maybe_stay", "note"),
    ]
    assert fields["secret"].masked


def test_what_the_judge_takes_pydantic_takes_too():
    answer = {
        "color": "red",
        "color_or_none": None,
        "level": 2,
        "plan": "a",
        "only": "x",
        "mixed": 1,
        "day": "2026-03-01",
        "at": "10:00:00+01:00",
        "moment": "2026-03-01T10:00:00+01:00",
        "price": 5,
        "money": 19.99,
        "count": 5.0,
        "share": 0.5,
        "either": 5,
        "site": "https://example.org/a",
        "link": None,
    }
    assert Judge(read_form(Trip.model_json_schema())).errors(answer) == ()
    assert Trip.model_validate_json(json.dumps(answer)).money == Decimal("19.99")


@pytest.mark.parametrize(
    ("annotation", "code"),
    [
        (Trip, "nested_object"),
        (dict[str, int], "nested_object"),
        (list[str], "unsupported_list"),
        (list[date], "unsupported_list"),
        (tuple[int, int], "unsupported_list"),
        (str | int, "ambiguous_type"),
        (bytes, "unsupported_format"),
    ],
)
def test_what_pydantic_writes_and_no_field_can_ask_is_refused(annotation, code):
    part = TypeAdapter(annotation).json_schema()
    defs = part.pop("$defs", {})
    with pytest.raises(SchemaError) as refused:
        read_form({"type": "object", "properties": {"x": part}, "$defs": defs})
    assert refused.value.problems[0].code == code


def test_elicitation_of_mcp_is_taken_in_all_its_forms():
    form = read_form(
        {
            "type": "object",
            "properties": {
                "plain": {"type": "string", "title": "Plain", "minLength": 1, "maxLength": 50, "default": "x"},
                "email": {"type": "string", "format": "email"},
                "uri": {"type": "string", "format": "uri"},
                "date": {"type": "string", "format": "date"},
                "moment": {"type": "string", "format": "date-time"},
                "number": {"type": "number", "minimum": 0, "maximum": 100, "default": 50},
                "integer": {"type": "integer", "minimum": 0},
                "boolean": {"type": "boolean", "default": True},
                "untitled": {"type": "string", "enum": ["o1", "o2"], "default": "o1"},
                "titled": {"type": "string", "oneOf": [{"const": "#F00", "title": "Red"}, {"const": "#0F0", "title": "Green"}]},
                "legacy": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
                "several": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["a", "b"]}},
                "several_titled": {
                    "type": "array", "title": "Several", "default": ["a"],
                    "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
                },
            },
            "required": ["plain"],
        }
    )  # fmt: skip
    assert [field.kind.value for field in form.fields] == [
        *("text", "email", "uri", "date", "datetime", "number", "integer", "boolean"),
        *("choice", "choice", "choice", "choices", "choices"),
    ]
    assert [option.title for option in form.fields[10].options] == ["A", "B"]


def test_a_strict_schema_of_openai_is_taken():
    form = read_form(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City"},
                "unit": {"type": ["string", "null"], "enum": ["c", "f", None], "description": "Unit"},
                "days": {"type": ["integer", "null"]},
            },
            "required": ["city", "unit", "days"],
            "additionalProperties": False,
        }
    )
    assert form.strict
    assert all(field.required for field in form.fields)
    assert form.fields[2].nullable
    assert Judge(form).errors({"city": "Bonn", "unit": None, "days": None}) == ()


ZOD_EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
ZOD_DATE = r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))"  # fmt: skip
ZOD_MOMENT = rf"^{ZOD_DATE}T(?:(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z))$"


def test_schemas_of_zod_4_are_taken():
    form = read_form(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "mail": {"type": "string", "format": "email", "pattern": ZOD_EMAIL},
                "day": {"type": "string", "format": "date", "pattern": f"^{ZOD_DATE}$"},
                "moment": {"type": "string", "format": "date-time", "pattern": ZOD_MOMENT},
                "site": {"type": "string", "format": "uri"},
                "count": {"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
                "positive": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
                "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "literals": {"anyOf": [{"type": "string", "const": "a"}, {"type": "number", "const": 5}]},
                "only": {"type": "string", "const": "tuna"},
                "stay": {
                    "type": "array",
                    "prefixItems": [{"type": "string", "format": "date"}, {"type": "string", "format": "date"}],
                },
                "any": {},
                "preset": {"default": "x", "type": "string"},
            },
            "required": ["mail", "day"],
            "additionalProperties": False,
        }
    )
    assert [field.kind.value for field in form.fields] == [
        *("email", "date", "datetime", "uri", "integer", "integer", "text", "choice", "choice", "choice"),
        *("date_range", "text", "text"),
    ]
    assert form.fields[2].in_utc
    judge = Judge(form)
    assert judge.errors({"mail": "ann@example.org", "day": "2024-02-29", "moment": "2026-03-01T10:00:00Z"}) == ()
    assert [error.code for error in judge.errors({"mail": "a..b@example.org", "day": "2023-02-29"})] == [
        *("invalid_email", "invalid_date"),
    ]


def test_schemas_of_zod_to_json_schema_are_taken():
    ask = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "enum": ["x", "y"], "description": "A"},
            "b": {"$ref": "#/definitions/Ask/properties/a"},
            "c": {"type": ["string", "null"]},
            "d": {"type": "string", "nullable": True},
            "e": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
            "f": {"type": "array", "minItems": 2, "maxItems": 2, "items": [{"type": "string", "format": "date"}] * 2},
            "g": {"not": {}},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    schema = {
        "$ref": "#/definitions/Ask",
        "definitions": {"Ask": ask},
        "$schema": "http://json-schema.org/draft-07/schema#",
    }
    with pytest.raises(SchemaError) as refused:
        read_form(schema)
    assert [(problem.path, problem.code) for problem in refused.value.problems] == [
        ("/definitions/Ask/properties/g/not", "unsupported_keyword")
    ]
    del ask["properties"]["g"]
    form = read_form(schema)
    assert [field.kind.value for field in form.fields] == ["choice", "choice", "text", "text", "number", "date_range"]
    assert form.fields[1].options == form.fields[0].options
    assert [field.nullable for field in form.fields] == [False, False, True, True, False, False]


def test_schemas_of_dotnet_and_of_rust_are_taken():
    form = read_form(
        {
            "type": "object",
            "properties": {
                "age": {"type": ["string", "integer"], "pattern": "^-?(?:0|[1-9]\\d*)$"},
                "price": {
                    "type": ["string", "number", "null"],
                    "pattern": "^-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?$",
                },
                "size": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
                "ratio": {"type": "number", "format": "double"},
                "mode": {
                    "oneOf": [
                        {"description": "Quick", "type": "string", "const": "Quick"},
                        {"description": "Slow", "type": "string", "enum": ["Slow"]},
                    ]
                },
            },
        }
    )
    assert [field.kind for field in form.fields] == [
        *(FieldKind.INTEGER, FieldKind.NUMBER, FieldKind.INTEGER, FieldKind.NUMBER, FieldKind.CHOICE),
    ]
    assert form.fields[1].nullable


def test_a_refused_answer_of_pydantic_is_refused_by_the_judge_too():
    judge = Judge(read_form(Trip.model_json_schema()))
    for name, value in (("level", 3), ("plan", "c"), ("day", "1.3.2026"), ("count", 6), ("share", 1), ("agree", "x")):
        with pytest.raises(ValidationError):
            Trip.model_validate({name: value})
        assert name in {error.field for error in judge.errors({name: value})}
