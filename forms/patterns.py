r"""Patterns of a schema: ECMA 262 in unicode mode, as JSON Schema means them, run by RE2 in linear time (FORM-13).

RE2 has no look-around, no back-references and no repeats beyond 1,000; patterns with them are refused when the form is
made. What the two languages spell or mean differently is translated here: ``\s`` and ``.`` of ECMA know Unicode's
spaces and line ends; ``[^]``, ``\u``, ``\c`` and ``\p{Script=Greek}`` are spelt otherwise; ``[[:alpha:]]`` is no
class of POSIX.
"""

import re
from dataclasses import dataclass
from typing import Final

import re2  # type: ignore[import-untyped]

from forms.errors import FormError

MAX_POSITIONS: Final = 4_000  # of all patterns of a form; the time for a text is at most texts' length times this
_MAX_MEMORY_BYTES: Final = 4 * 2**20

_SPACES: Final = (
    *((0x9, 0xD), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
_LAST: Final = 0x10FFFF
_ANYTHING: Final = f"\\x{{0}}-\\x{{{_LAST:x}}}"
_NOT_A_LINE_END: Final = r"[^\n\r\x{2028}\x{2029}]"
_CATEGORIES: Final = {
    "Letter": "L",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Combining_Mark": "M",
    "Nonspacing_Mark": "Mn",
    "Spacing_Mark": "Mc",
    "Enclosing_Mark": "Me",
    "Number": "N",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Letter_Number": "Nl",
    "Other_Number": "No",
    "Punctuation": "P",
    "punct": "P",
    "Connector_Punctuation": "Pc",
    "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps",
    "Close_Punctuation": "Pe",
    "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf",
    "Other_Punctuation": "Po",
    "Symbol": "S",
    "Math_Symbol": "Sm",
    "Currency_Symbol": "Sc",
    "Modifier_Symbol": "Sk",
    "Other_Symbol": "So",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Line_Separator": "Zl",
    "Paragraph_Separator": "Zp",
    "Other": "C",
    "Control": "Cc",
    "cntrl": "Cc",
    "Format": "Cf",
    "Surrogate": "Cs",
    "Private_Use": "Co",
}
_CONTROLS: Final = {"t": 0x9, "n": 0xA, "v": 0xB, "f": 0xC, "r": 0xD, "0": 0x0}

_NAMED: Final = re.compile(r"\{(?:(Script|sc|General_Category|gc)=)?([A-Za-z_]+)\}")
_HEX: Final = re.compile(
    r"u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})(?:\\u([Dd][C-Fc-f][0-9A-Fa-f]{2}))?|x([0-9A-Fa-f]{2})"
)
_AHEAD: Final = re.compile(r"\(\?(?P<sign>[=!])(?P<inside>(?:[^()\[\]\\|]|\\.)*)\)")
_OPENERS: Final = re.compile(r"\(\?(?:(?P<look><?[=!])|P?(?P<name><[A-Za-z_]\w*>)|(?P<flag>i?:|i\))|(?P<back>P=))")


class PatternError(FormError):
    """The pattern is not taken. ``code`` says why: look_around, back_reference, invalid_pattern, pattern_too_large."""

    def __init__(self, code: str, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(f"{code}: {detail}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pattern:
    """A compiled pattern, in parts that are each to match or not to."""

    parts: "tuple[tuple[re2._Regexp, bool], ...]"

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches somewhere in the text (patterns are not anchored). The text has no surrogates."""
        encoded = text.encode()
        return all((regex.search(encoded) is not None) is wanted for regex, wanted in self.parts)


def compiled(source: str, *, ahead: bool = False) -> Pattern:
    """The pattern, ready to run.

    ``ahead``: it may begin with look-aheads, each run as a pattern of its own. Zod writes every e-mail field so;
    nowhere else is look-around taken.

    Raises:
        PatternError: RE2 has no way to run it in linear time, it is no pattern, or it is too large.
    """
    if positions(source, ahead=ahead) > MAX_POSITIONS:
        raise PatternError("pattern_too_large", "use maxLength for long texts")
    parts = _parts(source, ahead=ahead)
    return Pattern(parts=tuple((_compile(part.meaning), wanted) for part, wanted in parts))


def positions(source: str, *, ahead: bool = False) -> int:
    """How many places of a pattern one character of a text may be compared with, at most.

    Raises:
        PatternError: as :func:`compiled` does, but for what is too large.
    """
    return sum(_compile(part.shape).programsize for part, _ in _parts(source, ahead=ahead))


def _parts(source: str, *, ahead: bool) -> "tuple[tuple[_Translation, bool], ...]":
    """The patterns that are to be run one by one, each with whether it is to match."""
    sources = _without_look_ahead(source) if ahead else ((source, True),)
    return tuple((_Translation(part), wanted) for part, wanted in sources)


def _without_look_ahead(source: str) -> tuple[tuple[str, bool], ...]:
    """``^(?!a)(?=b)c`` as ``^(?:a)`` that must not match, ``^(?:b)`` and ``^c`` that must."""
    parts: list[tuple[str, bool]] = []
    rest = source.removeprefix("^")
    while rest != source and (match := _AHEAD.match(rest)):
        parts.append((f"^(?:{match['inside']})", match["sign"] == "="))
        rest = rest[match.end() :]
    if not parts or "|" in rest or rest.startswith(("*", "+", "?", "{")):
        return ((source, True),)
    return (*parts, (f"^{rest}", True))


def _compile(source: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY_BYTES
    try:
        return re2.compile(source.encode(), options)
    except re2.error as error:
        detail = error.args[0].decode(errors="replace")
        too_large = "too large" in detail or "repetition size" in detail
        raise PatternError("pattern_too_large" if too_large else "invalid_pattern", detail) from None
    finally:
        re2.purge()  # its cache would keep a hundred strangers' patterns, megabytes each


@dataclass(frozen=True, kw_only=True, slots=True)
class _Set:
    """A class of characters in RE2's spelling, to stand inside brackets."""

    text: str


class _Translation:
    """A pattern in RE2's spelling.

    ``shape`` is the same with one letter for every character and class: its program is as long as there are positions.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self.meaning = ""
        self.shape = ""
        while self._at < len(source):
            self._step()

    def _emit(self, meaning: str, shape: str | None = None) -> None:
        self.meaning += meaning
        self.shape += meaning if shape is None else shape

    def _step(self) -> None:
        char = self._take()
        if char == "(":
            self._open()
        elif char == "[":
            self._emit(self._brackets(), "a")
        elif char == ".":
            self._emit(_NOT_A_LINE_END, "a")
        elif char == "\\" and self._source[self._at : self._at + 1] in {*"bBAz"}:
            self._emit(char + self._take())
        elif char == "\\":
            atom = self._escape()
            self._emit(f"[{atom.text}]" if isinstance(atom, _Set) else _spelt(atom), "a")
        elif char in "^$*+?{}|)" or char.isdecimal() or char == ",":
            self._emit(char)
        else:
            self._emit(_spelt(ord(char)), "a")

    def _take(self) -> str:
        if self._at == len(self._source):
            raise PatternError("invalid_pattern", "it ends too early")
        self._at += 1
        return self._source[self._at - 1]

    def _open(self) -> None:
        start = self._at - 1
        if self._source[self._at : self._at + 1] != "?":
            self._emit("(")
            return
        match = _OPENERS.match(self._source, start)
        if match is None:
            raise PatternError("invalid_pattern", f"unknown group at {start}")
        if match["look"]:
            raise PatternError("look_around", f"at {start}")
        if match["back"]:
            raise PatternError("back_reference", f"at {start}")
        self._at = match.end()
        self._emit("(?:" if match["name"] else match[0])

    def _escape(self) -> "int | _Set":
        """What stands after a backslash: the code point of a character, or a class."""
        char = self._take()
        if char in "dDwW":
            return _Set(text="\\" + char)
        if char in "sS":
            return _Set(text=_ranges(_SPACES if char == "s" else _others(_SPACES)))
        if char in "pP":
            return self._property(char)
        if char in "123456789k":
            raise PatternError("back_reference", f"at {self._at - 2}")
        if char in _CONTROLS and not (char == "0" and self._source[self._at : self._at + 1].isdigit()):
            return _CONTROLS[char]
        if char == "c":
            letter = self._take()
            if letter.isascii() and letter.isalpha():
                return ord(letter) % 32
        elif char in "ux":
            return self._hexadecimal()
        elif not (char.isascii() and char.isalnum()):
            return ord(char)
        raise PatternError("invalid_pattern", f"unknown escape at {self._at - 2}")

    def _hexadecimal(self) -> int:
        match = _HEX.match(self._source, self._at - 1)
        if match is None:
            raise PatternError("invalid_pattern", f"unknown escape at {self._at - 2}")
        point = int(match[1] or match[2] or match[4], 16)
        self._at = match.end()
        if 0xD800 <= point <= 0xDBFF and match[3]:
            return 0x10000 + ((point - 0xD800) << 10) + int(match[3], 16) - 0xDC00
        if match[3]:
            self._at -= 6  # a letter before a lone surrogate, which the next step refuses
        if 0xD800 <= point <= 0xDFFF or point > _LAST:
            raise PatternError("invalid_pattern", "no such character")
        return point

    def _property(self, char: str) -> "_Set":
        match = _NAMED.match(self._source, self._at)
        if match is None:
            raise PatternError("invalid_pattern", f"unknown class at {self._at - 2}")
        self._at = match.end()
        of_script = match[1] in {"Script", "sc"}
        return _Set(text=f"\\{char}{{{match[2] if of_script else _CATEGORIES.get(match[2], match[2])}}}")

    def _brackets(self) -> str:
        negated = self._source.startswith("^", self._at)
        self._at += negated
        atoms: list[int | _Set | None] = []  # None: an unescaped hyphen
        while (char := self._take()) != "]":
            atoms.append(self._member(char))
        if not atoms:
            return f"[{_ANYTHING}]" if negated else f"[^{_ANYTHING}]"
        return f"[{'^' if negated else ''}{_joined(atoms)}]"

    def _member(self, char: str) -> "int | _Set | None":
        if char == "-":
            return None
        if char != "\\":
            return ord(char)
        if self._source.startswith("b", self._at):
            self._at += 1
            return 0x8
        return self._escape()


def _joined(atoms: "list[int | _Set | None]") -> str:
    """The members of a class; a hyphen is a range between two characters and itself anywhere else."""
    text = ""
    at = 0
    while at < len(atoms):
        first, hyphen, last = (*atoms[at : at + 3], 0, 0)[:3]
        if isinstance(first, _Set):
            text += first.text
        elif hyphen is None and at + 2 < len(atoms) and first is not None and isinstance(last, int):
            text += f"{_spelt(first)}-{_spelt(last)}"
            at += 2
        else:
            text += _spelt(ord("-") if first is None else first)
        at += 1
    return text


def _spelt(point: int) -> str:
    return f"\\x{{{point:x}}}"


def _ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{_spelt(first)}-{_spelt(last)}" for first, last in ranges)


def _others(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Every character that is in none of the ranges."""
    firsts = (0, *(last + 1 for _, last in ranges))
    lasts = (*(first - 1 for first, _ in ranges), _LAST)
    return tuple(zip(firsts, lasts, strict=True))
