"""What the tests of replies share: forms of few words, and a person somewhere."""

from datetime import date
from typing import Any

from forms.replies import Reply, read_reply
from forms.schema import Form, read_form
from forms.values import Locale

TODAY = date(2026, 2, 16)  # a Monday
TEXT: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}


def formatted(name: str) -> dict[str, Any]:
    return {"type": "string", "format": name}


def ranged(name: str) -> dict[str, Any]:
    return {"type": "array", "items": formatted(name), "minItems": 2, "maxItems": 2}


def several(*values: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"enum": [*values]}}


def form(*required: str, strict: bool = False, **properties: Any) -> Form:
    schema = {"type": "object", "properties": properties, "required": [*required]}
    return read_form(schema | ({"additionalProperties": False} if strict else {}))


def berlin(language: str = "en") -> Locale:
    return Locale(language=language, timezone="Europe/Berlin")


def read(asked: Form, text: str, language: str = "en", **more: Any) -> Reply:
    return read_reply(asked, text, locale=berlin(language), today=TODAY, **more)


def outcome(asked: Form, text: str, language: str = "en", **more: Any) -> Any:
    """The whole answer; or the codes, each with its field where it has one."""
    got = read(asked, text, language, **more)
    return [f"{e.code}:{e.field}" if e.field else e.code for e in got.errors] or dict(got.values)
