"""Numbers as people write them.

A mark that can only be decimal is decimal ("2,5", "1.234,56", "0,125"), one that can only group groups ("1.234.567",
"1 234", "1'234"). Where one mark stands before exactly three digits, the language decides; where it is not known, both
readings are given.
"""

import re
from decimal import Decimal
from typing import Final

from forms.bounds import MAX_SAFE_INTEGER
from forms.folding import ascii_digits
from forms.reading import Locale

LONGEST: Final = 64  # characters; nobody types more digits

# The decimal mark by language (CLDR); the regions that write otherwise. Other languages are asked about.
_COMMA: Final = frozenset(
    [
        "az",
        "be",
        "bg",
        "bs",
        "ca",
        "cs",
        "da",
        "de",
        "el",
        "es",
        "et",
        "fi",
        "fr",
        "gl",
        "hr",
        "hu",
        "hy",
        "id",
        "is",
        "it",
        "ka",
        "kk",
        "lt",
        "lv",
        "mk",
        "nb",
        "nl",
        "nn",
        "no",
        "pl",
        "pt",
        "ro",
        "ru",
        "sk",
        "sl",
        "sq",
        "sr",
        "sv",
        "tr",
        "uk",
        "vi",
    ]
)
_POINT: Final = frozenset(["en", "he", "hi", "ja", "ko", "ms", "th", "tl", "zh"])
_POINT_REGIONS: Final = frozenset(
    [
        "de-CH",
        "de-LI",
        "it-CH",
        "es-DO",
        "es-GT",
        "es-HN",
        "es-MX",
        "es-NI",
        "es-PA",
        "es-PE",
        "es-PR",
        "es-SV",
        "es-US",
    ]
)
_COMMA_REGIONS: Final = frozenset(["en-AT", "en-DE", "en-DK", "en-FI", "en-NL", "en-SE", "en-SI", "en-ZA"])

_MARKS: Final = str.maketrans({"，": ",", "．": ".", "٬": "'", "’": "'", "‘": "'", "ʼ": "'", "＇": "'", "＋": "+"})
_SHAPE: Final = re.compile(r"([+-]?) ?([0-9.,٫][0-9 .,'٫]*)(?:[eE]([+-]?[0-9]{1,3}))?")
_GROUPED: Final = re.compile(r"[1-9][0-9]{0,2}(?:([ '.,])[0-9]{3})(?:\1[0-9]{3})*")
_INDIAN: Final = re.compile(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}")


def decimal_mark(locale: Locale) -> str:
    """A comma or a point; nothing where the language is not known."""
    language, region = locale.tag
    if f"{language}-{region}" in _POINT_REGIONS | _COMMA_REGIONS:
        return "." if f"{language}-{region}" in _POINT_REGIONS else ","
    return "," if language in _COMMA else "." if language in _POINT else ""


def readings(text: str, *, locale: Locale, whole: bool = False) -> tuple[Decimal, ...]:
    """Every number that the text can be, the likeliest first.

    ``whole``: an integer is asked for, which has no exponent. Where the language reads "1,000" as one, most people
    still mean a thousand: both.
    """
    plain = ascii_digits(text).translate(_MARKS).strip()
    plain = plain[:-1] if plain[-1:] in {".", ",", ";"} else plain
    shape = _SHAPE.fullmatch(plain) if len(plain) <= LONGEST else None
    if shape is None:
        return ()
    sign, body, exponent = shape.groups()
    if exponent is not None and (whole or not re.fullmatch(r"[0-9]+(?:[.,][0-9]+)?", body)):
        return ()
    tail = f"e{exponent}" if exponent is not None else ""
    return tuple(Decimal(sign + digits + tail) for digits in _digits(body, decimal_mark(locale), whole=whole))


def _digits(body: str, mark: str, *, whole: bool) -> tuple[str, ...]:
    """The readings in plain form: digits, at most one point."""
    if "٫" in body:  # the Arabic decimal mark is nothing else
        left, _, right = body.partition("٫")
        return _joined(left, right, "' ,")
    if " " in body or "'" in body:  # these only group
        left, found, right = re.split(r"([.,])", body, maxsplit=1) if re.search(r"[.,]", body) else (body, "", "")
        return _joined(left, right, "' ") if bool(found) == bool(right) else ()
    marks = [char for char in body if char in ".,"]
    if not marks:
        return (body,)
    if len(set(marks)) == 2:  # the last one is decimal, the others group
        left, _, right = body.rpartition(marks[-1])
        return _joined(left, right, marks[0]) if marks.count(marks[-1]) == 1 else ()
    grouped = body.replace(marks[0], "")
    if len(marks) > 1:
        return (grouped,) if _GROUPED.fullmatch(body) or _INDIAN.fullmatch(body) else ()
    left, _, right = body.partition(marks[0])
    decimal = f"{left or 0}.{right}"
    if not right:
        return ()
    if not _GROUPED.fullmatch(body):
        return (decimal,)
    if not mark:
        return (grouped, decimal)
    if mark != marks[0]:
        return (grouped,)
    return (grouped, decimal) if whole and right == "000" else (decimal,)


def _joined(left: str, right: str, groups: str) -> tuple[str, ...]:
    grouping = _GROUPED.fullmatch(left)
    if not (left.isdigit() or (grouping and grouping[1] in groups)) or (right and not right.isdigit()):
        return ()
    whole = re.sub(r"[ '.,]", "", left)
    return (f"{whole}.{right}" if right else whole,)


def json_number(number: Decimal) -> int | float | None:
    """The number as JSON has it; None where no JSON reader would keep it."""
    if number == number.to_integral_value() and number.adjusted() < 20:
        return int(number) if abs(number) <= MAX_SAFE_INTEGER else None
    made = float(number)
    return made if abs(made) <= MAX_SAFE_INTEGER else None
