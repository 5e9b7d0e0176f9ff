"""The typed form: what is asked, in fields that a person can fill in. Made from a JSON Schema by :mod:`forms.schema`.

Values of options, defaults and examples are JSON values as the agent wrote them (lists stay lists); none is changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any


class FieldKind(StrEnum):
    """How a field is asked and which JSON value answers it."""

    TEXT = "text"  # a string
    INTEGER = "integer"  # 5 and 5.0 are integers in JSON Schema
    NUMBER = "number"
    BOOLEAN = "boolean"  # two options where the schema gives the two values titles, else none
    CHOICE = "choice"  # one of the options' values
    CHOICES = "choices"  # a list of the options' values
    DATE = "date"  # "2026-03-01"
    TIME = "time"  # "10:00:00+01:00": the offset is part of the value (RFC 3339)
    DATETIME = "datetime"  # "2026-03-01T10:00:00+01:00", offset likewise
    DATE_RANGE = "date_range"  # a list of exactly two, the first not after the second
    TIME_RANGE = "time_range"  # a list of exactly two; the second may be earlier: over midnight
    DATETIME_RANGE = "datetime_range"  # a list of exactly two, the first not after the second
    EMAIL = "email"
    URI = "uri"  # http, https or mailto


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One value that can be chosen.

    The title is empty for a null without one: "none" is said in the person's language.
    """

    value: str | int | float | bool | None
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One field of a form.

    ``nullable``: null is an answer too. A required nullable field that is left empty is answered with null; one that is
    not required is left out. A CHOICE has null among its options instead.
    ``fixed``: ``default`` is the only value there is; it is filled in without asking.
    ``in_utc``: the pattern beside the format takes no other offset: a time is spelt with Z.
    Lengths are counted in code points, as JSON Schema does.
    """

    name: str
    title: str
    kind: FieldKind
    required: bool = False
    nullable: bool = False
    description: str = ""
    has_default: bool = False
    default: object | None = None
    examples: tuple[object, ...] = ()
    options: tuple[Option, ...] = ()
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    exclusive_minimum: Decimal | None = None
    exclusive_maximum: Decimal | None = None
    multiple_of: Decimal | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    in_utc: bool = False
    masked: bool = False
    fixed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """A question's fields, in the order of the schema. No fields: the question is a confirmation, its answer is ``{}``.

    ``schema`` is the checked JSON Schema that judges answers: a copy with every reference inlined.
    ``strict``: names that the form does not know are refused.
    """

    fields: tuple[Field, ...]
    schema: Mapping[str, Any] = field(repr=False)
    strict: bool = False
