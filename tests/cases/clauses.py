"""The words of the end of a case that has several schemas: which of them a clause is about, and the values in it."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from forms.bounds import same
from tests.cases.result import NotRun

NOTHING: Final = object()
"""Where no value is written."""


def clauses(words: str, number: int, schema: Any, count: int) -> Iterator[str]:
    """What is said of one schema."""
    parts = [part.strip() for part in split(words, ";")]
    numbered = [re.fullmatch(r"(\d+(?:\s*(?:,|and|-)\s*\d+)*)\s*[:.)]\s*(.+)", part, re.DOTALL) for part in parts]
    if parts and all(numbered):
        for match in numbered:
            if match and number + 1 in _numbers(match[1]):
                yield match[2]
        return
    pointed = [re.split(r"\s*(?:->|→|=>)\s*", part, maxsplit=1) for part in parts]
    if all(len(part) == 2 for part in pointed):
        found: list[tuple[int, str]] = []
        for subject, clause in pointed:
            names = [name for name in re.split(r"\s*(?:/|,|\band\b|\bor\b)\s*", subject) if name]
            named = {name: _means(name, schema) for name in names}
            if None in named.values() and count > 1:
                raise NotRun(f"{subject!r} names no schema that is understood")
            found += [(len(name), clause) for name, meant in named.items() if meant or count == 1]
        yield from (clause for length, clause in found if length == max(found)[0])  # "empty enum" is no "enum"
        return
    yield from parts


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:\s*-\s*(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _means(name: str, schema: Any) -> bool | None:
    """Whether a few words mean this schema: a literal is the whole schema or one of its properties."""
    plain = name.strip("'\"` ").lower()
    written = re.search(r"\{.*\}|\[.*\]|\btrue\b|\bfalse\b|\bnull\b", plain)
    properties = schema.get("properties", {}).values() if isinstance(schema, dict) else ()
    if written and re.fullmatch(
        r"(an?|the|bare|root|schema|property|sub-?schema|as|whole|\W)*", plain.replace(written[0], "")
    ):
        value = literal(written[0])
        return same(schema, value) if "root" in plain else any(same(part, value) for part in properties)
    keyword = re.fullmatch(
        r"(?:an? |the )?(empty )?(\$?[a-z]+)(?:-only)?(?: with (null))?(?: fields?| property)?", plain
    )
    if keyword is None:
        return None
    for part in properties:
        if isinstance(part, dict) and (
            keyword[2] in map(str.lower, part) or keyword[2] in (part.get("type"), part.get("format"))
        ):
            value = part.get(keyword[2])
            return (not keyword[1] or not value) and (not keyword[3] or None in value)
    return False


def literal(text: str) -> Any:
    """A value as JSON or as Python writes it."""
    for read in (json.loads, ast.literal_eval, yaml.safe_load):
        try:
            return read(text.strip(" .`"))
        except (ValueError, SyntaxError, yaml.YAMLError):
            continue
    return NOTHING


def split(text: str, sign: str) -> list[str]:
    """Parted by a sign that stands in no quotes and no brackets."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        quote = (
            ""
            if letter == quote
            else letter
            if not quote and letter in "'\"" and not parts[-1][-1:].isalnum()
            else quote
        )
        depth += 0 if quote else (letter in "[{(") - (letter in "]})")
        if letter == sign and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def listed(value: Any) -> list[Any]:
    """One, several or none."""
    return value if isinstance(value, list) else [] if value is None else [value]


def there(schema: Any, path: str) -> bool:
    """Whether a JSON pointer leads somewhere in the schema."""
    place = schema
    for step in [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]:
        try:
            place = place[int(step)] if isinstance(place, list) else place[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return False
    return True
