"""Texts made comparable, however somebody has written them (AUTO-5).

A folded text holds letters, digits and single spaces for everything between them. Three forms, since no single one
serves all scripts:

- *plain*: NFKD, case folded, without marks and invisible characters. Right for words in their own script.
- *skeleton*: look-alikes too stand for the Latin letter or digit that they look like, by Unicode's confusables data, so
  that letters of several scripts mixed in one word are seen through. A letter looks like at most one: where its
  capital looks like another letter than its small form (Greek nu: N, v), each goes its own way.
- *strokes*: in addition what looks like a bar is an l (I, 1, |) and what looks like a ring is an o (0).

Names of tools, and values that a rule compares, keep their signs: :func:`readings` gives what one could be read as.

Each character folds by itself, so a text is folded by one ``str.translate``, in linear time; tables fill as characters
are met.
"""

import json
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Final

_IGNORABLE: Final = frozenset(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)]
)
"""Default_Ignorable_Code_Point beside the format characters and marks; they leave no ink and part no word."""
_DROPPED: Final = frozenset({"Mn", "Me", "Cf"})
_NAMED: Final = ("LATIN CAPITAL LETTER ", "REGIONAL INDICATOR SYMBOL LETTER ")
"""Letters in black circles and squares have no decomposition, only a name."""
_FULLEST: Final = 65_536
"""Characters that a table remembers."""


def plain(text: str) -> str:
    """The plain form."""
    return text.translate(_plain)


def skeleton(text: str) -> str:
    """The skeleton form."""
    return text.translate(_skeleton)


def strokes(text: str) -> str:
    """The form with bars and rings."""
    return text.translate(_strokes)


def visible(text: str) -> str:
    """A text as it reads: without invisible characters, compatibility forms made plain; case and signs stay."""
    if text.isascii():
        return text
    if not _invisible().isdisjoint(text):
        text = text.translate(_visible)
    return text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)


def readings(name: str) -> tuple[str, ...]:
    """What a name, or a value, could be read as, in each form: without case, width, accents, blanks and disguise.

    Signs stay as they are, all dashes being one; what is put together of several names (``*``) stays so.
    """
    return tuple(name.translate(table) for table in (_plain_name, _skeleton_name, _strokes_name))


def has_strokes(text: str) -> bool:
    """Whether the form with bars and rings says anything that the skeleton does not."""
    return not _strokes_in().isdisjoint(text)


class _Table(dict[int, str]):
    """Folds single characters, once each as long as there is room."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        super().__init__()
        self._fold = fold

    def __missing__(self, code: int) -> str:
        folded = self._fold(chr(code))
        if len(self) < _FULLEST:
            self[code] = folded
        return folded


def _fold_plain(character: str) -> str:
    if _is_ignorable(character):
        return ""
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    letters = "".join(one for one in apart if unicodedata.category(one) not in _DROPPED)
    letters = "".join(_digit(one) if _is_letter(one) else " " for one in letters)
    if not letters.strip():
        name = unicodedata.name(character, "")
        found = next((name.rpartition(named)[2] for named in _NAMED if named in name), "")
        letters = found.casefold() if len(found) == 1 else letters[:1]
    return letters if _is_letter(character) or letters == " " else f" {letters} " if letters else ""


def _fold_to_skeleton(character: str) -> str:
    if _is_letter(character):
        alike = _alike().get(character)
        if alike is not None:
            return "i" if character.isupper() and character in _bars() else alike
    return "".join(_alike().get(one, one) for one in _plain[ord(character)])


def _fold_to_strokes(character: str) -> str:
    if character in _bars():
        return "l"
    return _skeleton[ord(character)].replace("0", "o").replace("1", "l")


_plain = _Table(_fold_plain)
_skeleton = _Table(_fold_to_skeleton)
_strokes = _Table(_fold_to_strokes)
_plain_name = _Table(lambda character: _fold_name(_plain, character))
_skeleton_name = _Table(lambda character: _fold_name(_skeleton, character))
_strokes_name = _Table(lambda character: _fold_name(_strokes, character))
_visible = _Table(lambda character: "" if _is_ignorable(character) else character)


def _fold_name(table: "_Table", character: str) -> str:
    letters = table[ord(character)].replace(" ", "")
    category = unicodedata.category(character)
    if letters or character.isspace() or category in _DROPPED or _is_ignorable(character):
        return letters
    if category in ("Pd", "Pc"):
        return "-" if category == "Pd" else "_"
    return unicodedata.normalize("NFKC", character)


def _is_ignorable(character: str) -> bool:
    category = unicodedata.category(character)
    return category in ("Cf", "Cs") or ord(character) in _IGNORABLE or 0xFE00 <= ord(character) <= 0xFE0F


def _is_letter(character: str) -> bool:
    """What words are made of: letters, digits, and the marks that take room of their own (as in Devanagari)."""
    return character.isalnum() or unicodedata.category(character) == "Mc"


def _digit(character: str) -> str:
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)


@cache
def _looks() -> dict[str, str]:
    """What single characters look like by the data, as it is written there but for marks."""
    data = json.loads(files("confusable_homoglyphs").joinpath("confusables.json").read_text(encoding="utf-8"))
    looks: dict[str, str] = {}
    for character, targets in data.items():
        if len(character) == 1 and not character.isascii() and len(targets) == 1:
            apart = unicodedata.normalize("NFKD", targets[0]["c"])
            looks[character] = "".join(one for one in apart if unicodedata.category(one) not in _DROPPED)
    return looks


@cache
def _bars() -> frozenset[str]:
    return frozenset("I1|").union(one for one, look in _looks().items() if look == "l")


@cache
def _invisible() -> frozenset[str]:
    return frozenset(chr(code) for code in (*range(0x20000), *range(0xE0000, 0xE1000)) if _is_ignorable(chr(code)))


@cache
def _strokes_in() -> frozenset[str]:
    digits = (chr(code) for code in range(0x20000) if unicodedata.decimal(chr(code), -1) in (0, 1))
    return _bars().union(digits)


@cache
def _alike() -> dict[str, str]:
    """What single characters look like: a character to an ASCII letter or digit, small.

    Classes grow by three kinds of links, in this order: what a character looks like by the data, its other case, and
    what it shares its look with. A link that would put two ASCII characters into one class is left out.
    """
    looks = _looks()
    alike = {one: look.casefold() for one, look in looks.items() if look.isascii() and look.isalnum()}
    letters = [one for one in looks if _is_letter(one)]
    for one in [*letters, *map(str.swapcase, letters)]:
        other = one.swapcase()
        if not one.isascii() and one not in alike and other in alike and len(one) == 1:
            alike[one] = alike[other]
    for one, look in looks.items():
        if one not in alike and look in alike:
            alike[one] = alike[look]
        elif look not in alike and len(look) == 1 and not look.isascii() and one in alike:
            alike[look] = alike[one]
    return {one: look for one, look in alike.items() if unicodedata.decimal(one, None) is None}
