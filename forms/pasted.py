"""A JSON object pasted as an answer.

Its structure may be repaired (curly quotes of phones, a comma too many), its texts are never rewritten. A name that
stands twice and NaN are kept visible, so that they are refused by name.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

LARGEST: Final = 131_072  # characters

# What opens a text, and what closes it.
_QUOTES: Final = dict(
    pair.split(" ")
    for pair in (
        '" "',
        '“ ”‟“"',
        '„ “”‟"',
        '” ”"',
        '‟ ”"',
        "« »",
        "» «",
        '＂ ＂"',
        "' '",
        "‘ ’‛'",
        "’ ’'",
        "‚ ‘’'",
        "‹ ›",
    )
)
_ENDS: Final = ",:}]，："


@dataclass(frozen=True, slots=True)
class Unsound:
    """NaN or an infinity: the value of a field, and no JSON."""


def pasted(text: str) -> list[tuple[str, object]] | None:
    """The names and values of the object, in order and with every repetition; None: it is not one JSON object."""
    if not text.startswith("{") or len(text) > LARGEST:
        return None
    for spelt in (lambda: text, lambda: _repaired(text)):
        read = _read(spelt)
        if read is not None:
            return read
    return None


class _Pairs(list[tuple[str, object]]):
    """An object, as the list of its pairs."""


def _read(spelt: Callable[[], str]) -> list[tuple[str, object]] | None:
    try:
        value = json.loads(
            spelt(), object_pairs_hook=_Pairs, parse_constant=lambda _: Unsound(), parse_float=_float, strict=False
        )
        return [(name, _plain(item)) for name, item in value] if isinstance(value, _Pairs) else None
    except (ValueError, RecursionError):  # an integer of thousands of digits among them
        return None


def _float(digits: str) -> float | Unsound:
    number = float(digits)
    return number if math.isfinite(number) else Unsound()


def _plain(value: object) -> object:
    """Inner objects as mappings again; a list with something unsound in it is unsound."""
    if isinstance(value, _Pairs):
        return dict(value)
    if isinstance(value, list):
        items = [_plain(item) for item in value]
        return Unsound() if any(isinstance(item, Unsound) for item in items) else items
    return value


def _repaired(text: str) -> str:
    """With straight quotes around texts, plain colons and commas between them, and no comma before an end."""
    out: list[str] = []
    place = 0
    while place < len(text):
        char = text[place]
        if char in _QUOTES:
            end = _end_of_text(text, place)
            out.append(text[place : end + 1] if char == '"' == text[end] else _requoted(text[place + 1 : end]))
            place = end + 1
            continue
        if char in "}]":
            while out and (out[-1].isspace() or out[-1] == ","):
                out.pop()
        out.append({"，": ",", "：": ":", "\u00a0": " ", "\u202f": " ", "\ufeff": ""}.get(char, char))
        place += 1
    return "".join(out)


def _end_of_text(text: str, start: int) -> int:
    """Where the closing quote stands: one after which the structure goes on.

    Raises:
        ValueError: there is no closing quote.
    """
    closing = _QUOTES[text[start]]
    place = start + 1
    while place < len(text):
        if text[place] == "\\":
            place += 2
            continue
        if text[place] in closing and (text[start] == '"' or _goes_on(text, place + 1)):
            return place
        place += 1
    raise ValueError


def _goes_on(text: str, place: int) -> bool:
    rest = text[place : place + 64].lstrip()
    return not rest or rest[0] in _ENDS


def _requoted(inside: str) -> str:
    """A text in straight quotes; what was escaped stays so."""
    out: list[str] = []
    place = 0
    while place < len(inside):
        size = 2 if inside[place] == "\\" else 1
        piece = inside[place : place + size]
        out.append({'"': '\\"', "\\'": "'"}.get(piece, piece))
        place += size
    return '"' + "".join(out) + '"'
