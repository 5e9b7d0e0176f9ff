"""A reply in parts: which lines answer which field (FORM-8).

Only names and titles of the form start a field; "word: text" inside a free text stays text, unless the word is a
misspelt name of a field that is not answered otherwise. Everything is linear in the length of the reply.
"""

import dataclasses
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from forms import words
from forms.field import Field, FieldKind, Form
from forms.folding import fold, trim
from forms.names import AROUND, Names

MOST_STRAY: Final = 20  # unknown names and stray lines named in one answer
LONGEST_KEY: Final = 48  # characters of a name that nobody knows

_LISTED: Final = frozenset({FieldKind.CHOICES, FieldKind.DATE_RANGE, FieldKind.TIME_RANGE, FieldKind.DATETIME_RANGE})
_QUOTED: Final = re.compile(r"[ \t\ufeff]{0,8}>")
_FENCE: Final = re.compile(r"[ \t]{0,8}(`{3,}|~{3,})[ \t]*([\w+-]{0,20})[ \t]*$")
_DECOR: Final = re.compile(r"[\s\ufeff]*(?:(?:[-*+•◦▪‣·●○–—]|\(?[0-9]{1,3}[.)]|#{1,6}|\[[ xX]\])\s+)*")
_MARKS: Final = re.compile(r"[*_~`\"'“„«‘]*")
_CLOSING: Final = str.maketrans("“„«‘", "”“»’")
_COLONS: Final = r"\s*(?:=>|->|→|[:：﹕︓꞉=＝])"
_COLON: Final = re.compile(_COLONS + r"|[?？](?=\s)")
_COLON_OR_DASH: Final = re.compile(_COLONS + r"|[?？](?=\s)|\s+[-–—‒−](?=\s)")
_UNKNOWN: Final = re.compile(r"([^\W\d_](?:[\w .'’-]*[^\W_])?)[*_~`\"'”»]{0,4}\s{0,4}[:：=](?!//)")
_NEXT: Final = re.compile(r"([,;，；])(\s{0,8})([^,;，；:：﹕=＝\n]{1,200})(?:=>|[:：﹕=＝])(?!//)")
_INNER: Final = re.compile(r"[:：=]")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Some lines of a reply. ``field`` is None where they fit none; ``key`` is the name as typed, "" for none.

    ``line`` counts from 1 in the reply as it came.
    """

    field: Field | None
    text: str = dataclasses.field(repr=False)
    key: str = dataclasses.field(default="", repr=False)
    line: int = 0


Line = tuple[int, str]


def unquoted_lines(text: str) -> list[Line]:
    """The lines that the person wrote now, numbered from 1: without what a client quoted."""
    fence = ""
    kept: list[Line] = []
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if match := _FENCE.match(line):
            fence = match[1] if not fence else "" if _closes(match, fence) else fence
        if fence or not _QUOTED.match(line):
            kept.append((number, line))
    return kept


def unfenced(lines: list[Line]) -> list[Line]:
    """What is inside, where one code fence is around the whole."""
    full = [place for place, (_, line) in enumerate(lines) if trim(line)]
    if len(full) < 2:
        return lines
    first, last = full[0], full[-1]
    opening, closing = _FENCE.match(lines[first][1]), _FENCE.match(lines[last][1])
    if opening is None or closing is None or not _closes(closing, opening[1]):
        return lines
    inside = lines[first + 1 : last]
    return lines if any(_FENCE.match(line) for _, line in inside) else inside


def is_around(line: str) -> bool:
    """Whether the line is only around an answer: empty, a greeting, thanks, a fence, "Here it is:"."""
    plain = fold(line[:80]).strip(" .,!:)")
    return not plain or plain in words.GREETINGS or bool(_FENCE.match(line)) or trim(line)[-1:] in {":", "："}


def key_of(line: str, names: Names, *, dashes: bool = True) -> tuple[Field, str, str] | None:
    """The field that the line starts, its name as typed, and the rest of the line."""
    decor = _DECOR.match(line)
    for start in dict.fromkeys((decor.end() if decor else 0, 0)):
        body = line[start:]
        found: tuple[Field, str, str] | None = None
        end = 0
        for separator in islice((_COLON_OR_DASH if dashes else _COLON).finditer(body, 0, names.window), 12):
            key = body[: separator.start()].strip(AROUND)
            named = names.find(key)
            asked = separator[0] in {"?", "？"}  # "Ready to go? yes", where the title is a question
            if named is None or (asked and not named.title.rstrip().endswith(separator[0])):
                continue
            said_more = body[end : separator.start()].strip(AROUND)  # a longer title with a colon in it
            if said_more and not body.startswith("//", separator.end()):
                end = separator.end()
                found = (named, key, _unmarked(body, separator.start(), end))
        if found is not None:
            return found
    return None


def parts_of(lines: list[Line], form: Form, names: Names, *, dashes: bool = True) -> list[Part]:
    """The lines, shared out to the fields that they answer."""
    return _Sharing(lines, form, names, dashes=dashes).parts()


class _Open:
    """A part that may get more lines."""

    def __init__(self, field_: Field | None, key: str, line: int, text: str) -> None:
        self.field, self.key, self.line, self.lines = field_, key, line, [text]

    @property
    def free(self) -> bool:
        return self.field is not None and self.field.kind is FieldKind.TEXT

    @property
    def size(self) -> int:
        """How many lines of it say something, at most two."""
        return sum(1 for _ in islice((line for line in self.lines if trim(line)), 2))

    def closed(self) -> Part:
        return Part(field=self.field, text=trim("\n".join(self.lines)), key=self.key, line=self.line)


class _Sharing:
    """One pass over the lines; the state is the part that is open."""

    def __init__(self, lines: list[Line], form: Form, names: Names, *, dashes: bool) -> None:
        self._lines, self._form, self._names = lines, form, names
        self._keyed = [key_of(line, names, dashes=dashes) for _, line in lines]
        self._given = {found[0].name for found in self._keyed if found}
        self._several = sum(1 for item in form.fields if not item.fixed) > 1
        self._closings = [place for place, (_, line) in enumerate(lines) if (m := _FENCE.match(line)) and not m[2]]
        self._made: list[_Open] = []
        self._open: _Open | None = None

    def parts(self) -> list[Part]:
        """The parts, in the order of their lines."""
        fence = ""  # of a code block inside a free text: nothing in it starts a field
        for place, (number, line) in enumerate(self._lines):
            match = _FENCE.match(line)
            if fence and self._open:
                self._open.lines.append(line)
                fence = "" if match and _closes(match, fence) else fence
            elif match:
                if self._starts_code(place):
                    fence = match[1]
                    self._open_lines().append(line)
            elif found := self._keyed[place]:
                for named, key, text in _split(found, self._names):
                    self._start(named, key, number, text)
            elif trim(line):
                self._take(number, line)
            elif self._open and self._open.free:
                self._open.lines.append("")
        return [part.closed() for part in self._made]

    def _open_lines(self) -> list[str]:
        return self._open.lines if self._open else []

    def _start(self, named: Field | None, key: str, number: int, text: str) -> None:
        if named is None and sum(1 for part in self._made if part.field is None) >= MOST_STRAY:
            self._open = _Open(None, key, number, text)  # the rest is not named any more
            return
        self._open = _Open(named, key, number, text)
        self._made.append(self._open)

    def _starts_code(self, place: int) -> bool:
        """Whether a fence belongs to the free text that is open, and not to the reply around the fields."""
        if self._open is None or not self._open.free or not self._closings or self._closings[-1] <= place:
            return False
        inside = next((n for n in range(place + 1, len(self._lines)) if trim(self._lines[n][1])), place)
        return self._open.size == 0 or self._keyed[inside] is None

    def _take(self, number: int, line: str) -> None:
        """A line that starts no known field: more of the open part, an unknown name, or a stray line."""
        decor = _DECOR.match(line)
        body = line[decor.end() if decor else 0 :].lstrip(AROUND)
        match = _UNKNOWN.match(body[: LONGEST_KEY + 16])
        key = match[1] if match and len(match[1]) <= LONGEST_KEY else ""
        part = self._open
        if part is not None and part.field is not None and self._belongs(part, part.field, key, body):
            part.lines.append(line)
        elif key and not (part is None and not self._names.is_slip(key) and is_around(line)):
            self._start(None, key, number, "")
        elif part is not None and part.field is None:
            part.lines.append(line)
        elif not is_around(line):
            self._start(None, "", number, line)

    def _belongs(self, part: _Open, named: Field, key: str, body: str) -> bool:
        """Whether the line is more of the part's value."""
        if part.free:
            if not key:
                return True
            slip = self._names.is_slip(key) and self._names.nearest(key) not in self._given
            # A closed form knows no other names: right under a one-line value, a single word and a colon is one.
            foreign = self._form.strict and self._several and part.size == 1 and len(key) > 1 and " " not in key
            return not slip and not foreign
        if part.size and named.kind not in _LISTED:
            return False
        if not key:
            return True
        if named.kind is FieldKind.CHOICES:
            return any(fold(body) == fold(option.title) for option in named.options)
        return named.kind in _LISTED and fold(key) in words.RANGE_FROM | words.RANGE_TO


def _closes(match: re.Match[str], fence: str) -> bool:
    return match[1].startswith(fence) and not match[2]


def _unmarked(body: str, start: int, end: int) -> str:
    """The value after the separator, without the other half of emphasis or quotes that began before the name."""
    marks = _MARKS.match(body)
    opening = marks[0] if marks else ""
    closing = opening.translate(_CLOSING)[::-1]
    value = body[end:]
    if not opening or body[:start].rstrip().endswith(closing):
        return value
    if value.lstrip().startswith(closing):
        return value.lstrip().removeprefix(closing)
    return value.rstrip().removesuffix(closing)


def _split(found: tuple[Field, str, str], names: Names) -> Iterator[tuple[Field, str, str]]:
    """Several fields on one line: parted where a comma or semicolon stands before a known name and its colon."""
    named, key, text = found
    start = 0
    for joint in _NEXT.finditer(text, _after_quotes(text)):
        mark, gap, inner = joint.groups()
        other = names.find(inner.strip(AROUND))
        if other is None or (not gap and mark == "," and "://" in text[start : joint.start()].rpartition(" ")[2]):
            continue
        yield from _split_spaced((named, key, text[start : joint.start()]), names)
        named, key, start = other, inner.strip(AROUND), joint.end()
    yield from _split_spaced((named, key, text[start:]), names)


def _split_spaced(found: tuple[Field, str, str], names: Names) -> Iterator[tuple[Field, str, str]]:
    """After a value that is no free text a known name and its colon start the next field: "age: 31 name: Ann"."""
    named, key, text = found
    if named.kind is not FieldKind.TEXT and len(text) <= 300:
        for colon in islice(_INNER.finditer(text), 8):
            before = text[: colon.start()].split()
            for size in range(min(len(before) - 1, 6), 0, -1):
                other = names.find(" ".join(before[-size:]).strip(AROUND))
                if other is not None:
                    yield named, key, " ".join(before[:-size])
                    yield from _split_spaced((other, " ".join(before[-size:]), text[colon.end() :]), names)
                    return
    yield named, key, text


def _after_quotes(text: str) -> int:
    """Where a quoted value ends, if the text starts with one that ends; else 0."""
    value = text.lstrip()
    closing = {'"': '"', "“": "”", "„": "“", "«": "»"}.get(value[:1])
    return text.find(closing, len(text) - len(value) + 1) + 1 if closing else 0
