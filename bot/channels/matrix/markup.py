"""Reading what somebody else calls HTML: links and shown text, apart from code, quotes and spoilers (PART-14).

The scan is our own because the standard library's parser takes more than 20 s for 64 kB of ``<a <a <a`` and raises on
``<![<!``. This one goes over the text once. It need not understand everything: what is broken ends up as not said.
"""

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from bot.channels.matrix.identifiers import is_user_id

MAX_HTML: Final = 65_536
"""Characters; no event can be larger."""
HOLE: Final = "\ufffc"
"""Stands for what is shown and not said."""

_ASIDE: Final = frozenset({
    "code", "pre", "blockquote", "q", "tt", "kbd", "samp", "mx-reply",
    "script", "style", "template", "title", "textarea", "noscript", "iframe", "svg", "math",
})  # fmt: skip
_VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_BREAKS: Final = frozenset({
    "br", "hr", "p", "div", "blockquote", "pre", "ul", "ol", "li", "table", "tr", "td", "th", "details", "summary",
    "h1", "h2", "h3", "h4", "h5", "h6", "mx-reply",
})  # fmt: skip
_SPOILER: Final = "data-mx-spoiler"
_FALLBACK: Final = "mx-reply"

_NAME: Final = re.compile(r"[a-zA-Z][^\s/>]*")
_GAP: Final = re.compile(r"[\s/]*")
_ATTRIBUTE: Final = re.compile(r"[^\s/>][^\s/>=]*")
_EQUALS: Final = re.compile(r"\s*=\s*")
_BARE: Final = re.compile(r"[^\s>]*")
_LINK: Final = re.compile(
    r"(?:https?://(?:www\.)?matrix\.to/#/(?P<to>[^?#]+)|matrix:u/(?P<uri>[^?#]+))(?:[?#].*)?", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Markup:
    """What a formatted body says.

    Attributes:
        pills: user ids that are linked to, in order.
        text: shown text without links and asides, which leave a :data:`HOLE`.
        shown: shown text with the labels of links, without the reply fallback; an aside leaves a :data:`HOLE`.
        lead: the user id that the very first thing links to.
        label: of that link.
        after: what is shown after it.
    """

    pills: tuple[str, ...] = ()
    text: str = field(default="", repr=False)
    shown: str = field(default="", repr=False)
    lead: str | None = None
    label: str = field(default="", repr=False)
    after: str = field(default="", repr=False)


@dataclass(slots=True)
class _Tag:
    name: str
    closes: bool
    attributes: dict[str, str]


def read_markup(source: str) -> Markup:
    """Read a formatted body; one that is too large says nothing."""
    if len(source) > MAX_HTML:
        return Markup(text=HOLE, shown=HOLE)
    scene = _Scene()
    for token in _tokens(source):
        if isinstance(token, str):
            scene.say(_unescaped(token))
        elif token.closes:
            scene.close(token.name)
        else:
            scene.open(token)
    return scene.markup()


def pill_of(href: str) -> str | None:
    """The user id that a link leads to, percent-encoded or not (the label is never looked at)."""
    found = _LINK.fullmatch(href.strip())
    if found is None:
        return None
    target = unquote(found["to"]) if found["to"] else f"@{unquote(found['uri'])}"
    return target if is_user_id(target) else None


class _Scene:
    """What is open and what has been said so far.

    A closing tag closes the last open one of its own name only: an aside that is never closed stays one.
    """

    def __init__(self) -> None:
        self._open: defaultdict[str, list[bool]] = defaultdict(list)
        self._asides = 0
        self._linked = False
        self._leading = False
        self._begun = False
        self._pills: list[str] = []
        self._text: list[str] = []
        self._shown: list[str] = []
        self._lead: str | None = None
        self._label: tuple[int, int] = (0, 0)

    def say(self, text: str) -> None:
        """Take text in."""
        if self._open[_FALLBACK]:
            return
        blank = not text.strip()
        if self._asides:
            if not blank:
                self._text.append(HOLE)
                self._shown.append(HOLE)
        else:
            self._text.append(HOLE if self._linked and not blank else text)
            self._shown.append(text)
        self._begun = self._begun or not blank

    def open(self, tag: _Tag) -> None:
        """Take an opening tag in."""
        self._break(tag.name)
        if tag.name in _VOID:
            return
        aside = tag.name in _ASIDE or _SPOILER in tag.attributes
        self._open[tag.name].append(aside)
        self._asides += aside
        if tag.name == "a" and "href" in tag.attributes:
            self._unlink()
            self._linked = True
            pill = pill_of(tag.attributes["href"])
            if pill is not None and not self._asides:
                self._pills.append(pill)
                self._text.append(HOLE)
                if not self._begun:
                    self._lead, self._leading = pill, True
                    self._label = (len(self._shown), len(self._shown))
                self._begun = True

    def close(self, name: str) -> None:
        """Take a closing tag in."""
        if name == "a":
            self._unlink()
        if self._open[name]:
            self._asides -= self._open[name].pop()
        self._break(name)

    def markup(self) -> Markup:
        """All of it."""
        self._unlink()
        start, end = self._label
        return Markup(
            pills=tuple(self._pills),
            text="".join(self._text),
            shown="".join(self._shown),
            lead=self._lead,
            label="".join(self._shown[start:end]).strip(),
            after="" if self._lead is None else "".join(self._shown[end:]),
        )

    def _unlink(self) -> None:
        self._linked = False
        if self._leading:
            self._leading = False
            self._label = (self._label[0], len(self._shown))

    def _break(self, name: str) -> None:
        if name in _BREAKS:
            self._text.append("\n")
            self._shown.append("\n")


def _tokens(source: str) -> Iterator[str | _Tag]:
    """Text and tags in their order. What is never finished is left out, with all that follows."""
    at = 0
    while True:
        start = source.find("<", at)
        if start < 0:
            yield source[at:]
            return
        if start > at:
            yield source[at:start]
        following = source[start + 1 : start + 2]
        closes = following == "/"
        name = _NAME.match(source, start + 1 + closes)
        if name is not None:
            attributes, end = _attributes(source, name.end())
            if end < 0:
                return
            yield _Tag(name=name[0].lower(), closes=closes, attributes=attributes)
        elif following and following in "!?/":
            ending = "-->" if source.startswith("<!--", start) else ">"
            end = source.find(ending, start + 2)
            if end < 0:
                return
            end += len(ending) - 1
        else:
            yield "<"
            end = start
        at = end + 1


def _attributes(source: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag, the first of each name, and where its ``>`` stands; -1: nowhere."""
    found: dict[str, str] = {}
    while True:
        at = _end(_GAP, source, at)
        if at >= len(source):
            return found, -1
        if source[at] == ">":
            return found, at
        name_end = _end(_ATTRIBUTE, source, at)
        name = source[at:name_end].lower()
        at = name_end
        value = ""
        equals = _EQUALS.match(source, at)
        if equals is not None:
            at = equals.end()
            quote = source[at : at + 1]
            if quote and quote in "\"'":
                end = source.find(quote, at + 1)
                if end < 0:
                    return found, -1
                value = source[at + 1 : end]
                at = end + 1
            else:
                end = _end(_BARE, source, at)
                value = source[at:end]
                at = end
        if name not in found:
            found[name] = _unescaped(value) if name == "href" else ""


def _end(pattern: re.Pattern[str], source: str, at: int) -> int:
    found = pattern.match(source, at)
    return at if found is None else found.end()


def _unescaped(text: str) -> str:
    """Text with its character references resolved; a number that is too long for Python says nothing."""
    if "&" not in text:
        return text
    try:
        return html.unescape(text)
    except ValueError:
        return HOLE
