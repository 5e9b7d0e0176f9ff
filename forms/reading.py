"""What becomes of one field's text: a value, an error, or a doubt that is asked back. Nothing is ever guessed."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Locale:
    """Where a person writes from.

    ``language`` is a tag such as "de", "en-GB" or "es_MX"; "" is not known: what it would decide is asked.
    ``timezone`` is an IANA name; "" is not known: a time without an offset is refused.
    """

    language: str = ""
    timezone: str = ""

    @property
    def tag(self) -> tuple[str, str]:
        """Language in lower case and region in upper case, "" for none."""
        language, *rest = self.language.replace("_", "-").split("-")
        region = next((part for part in rest if len(part) in {2, 3} and part.isalnum()), "")
        return language.lower(), region.upper()


@dataclass(frozen=True, slots=True)
class Value:
    """The JSON value that was meant."""

    value: object = field(repr=False)


@dataclass(frozen=True, slots=True)
class Wrong:
    """The text can't be a value of the field. ``limit`` is the schema's or the product's, never what was typed."""

    code: str
    limit: object | None = None


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The text can be more than one value; ``readings`` are the JSON values it could be, likeliest first."""

    code: str
    readings: tuple[object, ...] = field(repr=False)


Reading = Value | Wrong | Ambiguous


def settle(readings: Iterable[object], *, none: str, many: str) -> Reading:
    """One reading is the value; no reading is the error ``none``; several are the doubt ``many``."""
    distinct: list[object] = []
    for reading in readings:
        if reading not in distinct:
            distinct.append(reading)
    match distinct:
        case []:
            return Wrong(none)
        case [only]:
            return Value(only)
        case _:
            return Ambiguous(many, tuple(distinct))
