"""The agent's Markdown as Telegram takes it: plain text and entities, never a markup that can fail to parse.

What comes out differs from the source only where Telegram has no such thing: a heading is bold, a list has bullets, a
table is a monospace block with aligned columns, a picture is a link. What Telegram would refuse or change is not made:

* An entity of an address without a dot or with a bad port is refused together with its message, and ``mailto:`` is
  turned into a wrong web address. Such a link is written out: ``label (address)``.
* Code keeps no other entity beside it; bold text around code is made of two stretches. A quote has no quote in it.
* Any other scheme (``tg:``, ``javascript:``, a relative path) leaves only its label: such addresses act on the reader's
  client or lead nowhere.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from policy.blank import is_blank
from policy.utf16 import encode, utf16_len

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

BULLET = "• "
RULE = "———"
TAB_WIDTH = 4
"""Columns of a tab in code: Telegram itself makes one space of it, which would flatten the indentation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """A stretch of text that Telegram shows in a certain way.

    Attributes:
        type: Bot API name: ``bold``, ``italic``, ``strikethrough``, ``code``, ``pre``, ``text_link``, ``blockquote``.
        offset: start in UTF-16 code units.
        length: length in UTF-16 code units, at least 1.
        url: target of a ``text_link``.
        language: language of a ``pre``, if it has one.
    """

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    def as_json(self) -> dict[str, str | int]:
        """The Bot API's MessageEntity."""
        entity: dict[str, str | int] = {"type": self.type, "offset": self.offset, "length": self.length}
        if self.url is not None:
            entity["url"] = self.url
        if self.language is not None:
            entity["language"] = self.language
        return entity


@dataclass(frozen=True, kw_only=True, slots=True)
class FormattedText:
    """Text and its entities, in order of offset, outer before inner."""

    text: str = field(repr=False)
    entities: tuple[Entity, ...] = ()


# The fast path: most messages hold none of these. First what means something anywhere (with \r, \0 and lone surrogates,
# which are to be mended), then what means something at the start of a line only.
# An underscore between letters or digits is never emphasis (CommonMark 6.2), and names are full of them.
_INLINE_SIGN = re.compile(r"[*`~\[<\\&|\r\0\ud800-\udfff]|(?<![^\W_])_|_(?![^\W_])")
_BLOCK_START = r"[ \t]*(?:[#>+=-]|[0-9]{1,9}[.)]|(?<=    )|(?<=\t))"
_FIRST_BLOCK_SIGN = re.compile(_BLOCK_START)
_BLOCK_SIGN = re.compile(r"\n" + _BLOCK_START)


BRACKETS_MAX = 2_000
"""Each may begin a link, and looking for its end costs 0.1 ms; a text of more of them is shown as it is (AGENT-5)."""


def render(markdown: str) -> FormattedText:
    """Turn the agent's Markdown into text and entities.

    Args:
        markdown: CommonMark with strikethrough and tables. HTML in it is text.

    Returns:
        The text, of any length (see `splitting`). Text without Markdown in it comes back untouched, and so does
        Markdown of which nothing would be seen.
    """
    if not (_INLINE_SIGN.search(markdown) or _FIRST_BLOCK_SIGN.match(markdown) or _BLOCK_SIGN.search(markdown)):
        return FormattedText(text=markdown)
    if markdown.count("[") > BRACKETS_MAX:
        return FormattedText(text=encode(markdown).decode("utf-16-le", "replace"))
    # Line ends as markdown-it counts them; halves of pairs are joined, lone ones can't be sent as UTF-8.
    source = encode(markdown).decode("utf-16-le", "replace").replace("\r\n", "\n").replace("\r", "\n")
    writer = _Writer(lines=source.split("\n"))
    writer.write_blocks(_parser().parse(source))
    rendered = writer.result()
    # Definitions that nobody refers to, brackets around nothing: better the source than an answer that vanishes.
    return FormattedText(text=source) if is_blank(rendered.text) else rendered


@cache
def _parser() -> "MarkdownIt":
    """The parser, made at first use: its import costs 0.1 s."""
    from markdown_it import MarkdownIt

    class Parser(MarkdownIt):
        def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
            """Take every address for a link, so that a bad one leaves its label and not its brackets."""
            return True

    # What is nested deeper than maxNesting is dropped by the parser; the preset's 20 can be met in earnest.
    parser = Parser("commonmark", {"html": False, "maxNesting": 100}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "bare_address", _bare_address)
    return parser


_ADDRESS_TAIL = re.compile(r"://[^\s<>\[\]`|\"\\*~]+")


def _bare_address(state: "StateInline", silent: bool) -> bool:
    """A rule for markdown-it: an underscore or ampersand in a bare web address is no markup."""
    at = state.pos
    if state.src[at] != ":" or not state.src.endswith(("http", "https"), 0, at):
        return False
    found = _ADDRESS_TAIL.match(state.src, at)
    tail = found[0].rstrip("_.,;:!?)'") if found else ""
    if len(tail) <= len("://"):
        return False
    if not silent:
        state.pending += tail
    state.pos += len(tail)
    return True


# Addresses that Telegram takes as they are; it refuses a host without a dot and a port that can't be.
_WEB_ADDRESS = re.compile(
    r"https?://(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)+|\[[0-9a-f:.]+\])(?::(?P<port>[1-9][0-9]{0,4}))?(?:[/?#]\S*)?",
    re.IGNORECASE,
)
_WRITTEN_ADDRESS = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,32}", re.ASCII)
_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
# Order of entities that begin and end together: the outer one first.
_ORDER = ("blockquote", "pre", "text_link", "bold", "italic", "strikethrough", "code")


def is_web_address(url: str) -> bool:
    """Whether Telegram takes an address as the target of a link."""
    found = _WEB_ADDRESS.fullmatch(url)
    return found is not None and int(found["port"] or 1) <= 65535


def _written(label: str, url: str) -> str:
    """What is to be written behind a label whose address can't be a link: nothing, or the address."""
    if is_web_address(url) or not _WRITTEN_ADDRESS.match(url):
        return ""
    address = url[len("mailto:") :] if url.lower().startswith("mailto:") else url
    return "" if address in label else f" ({address})"


@dataclass(kw_only=True, slots=True)
class _Link:
    """An open link."""

    url: str
    offset: int
    chunk: int


@dataclass(kw_only=True, slots=True)
class _Writer:
    """Walks markdown-it's tokens and writes text and entities.

    Attributes:
        lines: the source, to keep blank lines between blocks where the author put them.
        position: length of what is written, in UTF-16 code units.
        indent: what a new line begins with inside a list.
        fresh: only a list marker is written on this line.
        styles: open inline styles: how often opened, and where the stretch began.
        quotes: how deep in quotes we are; only the outermost is an entity, which begins with its first text.
    """

    lines: Sequence[str]
    chunks: list[str] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    position: int = 0
    indent: str = ""
    indents: list[str] = field(default_factory=list)
    numbers: list[int | None] = field(default_factory=list)
    fresh: bool = False
    styles: dict[str, tuple[int, int]] = field(default_factory=dict)
    links: list[_Link] = field(default_factory=list)
    quotes: int = 0
    quote_offset: int | None = None

    def result(self) -> FormattedText:
        """All that is written."""
        order = sorted(self.entities, key=lambda entity: (entity.offset, -entity.length, _ORDER.index(entity.type)))
        return FormattedText(text="".join(self.chunks), entities=tuple(order))

    def write_blocks(self, tokens: Sequence["Token"]) -> None:
        """Write block tokens."""
        index = 0
        while index < len(tokens):
            token = tokens[index]
            match token.type:
                case "paragraph_open":
                    self._begin(token)
                case "heading_open":
                    self._begin(token)
                    self._open("bold")
                case "heading_close":
                    self._close("bold")
                case "inline":
                    self._inline(token.children or ())
                case "fence" | "code_block":
                    self._pre(token, token.content, language=_LANGUAGE.match(token.info.strip()))
                case "hr":
                    self._begin(token)
                    self._write(RULE)
                case "bullet_list_open":
                    self.numbers.append(None)
                case "ordered_list_open":
                    self.numbers.append(int(token.attrs.get("start", 1)))
                case "bullet_list_close" | "ordered_list_close":
                    self.numbers.pop()
                case "list_item_open":
                    self._item(token)
                case "list_item_close":
                    self.indent = self.indents.pop()
                    self.fresh = False
                case "blockquote_open":
                    self.quotes += 1
                    self.indents.append(self.indent)
                    self.indent = ""
                case "blockquote_close":
                    self._end_quote()
                case "table_open":
                    end = next(at for at in range(index, len(tokens)) if tokens[at].type == "table_close")
                    self._pre(token, _table(tokens[index:end]), language=None)
                    index = end
                case _:  # paragraph_close: the next block begins its own line
                    pass
            index += 1

    def _begin(self, token: "Token", *, at_margin: bool = False) -> None:
        """Begin a block on a line of its own.

        ``at_margin``: what Telegram draws as a block has no marker and no indentation before it.
        """
        at_margin = at_margin or (self.quotes > 0 and self.quote_offset is None)
        if self.fresh and at_margin:
            marker = self.chunks[-1]
            self.chunks[-1] = marker.rstrip(" ")
            self.position -= len(marker) - len(self.chunks[-1])
        if self.position and not (self.fresh and not at_margin):
            first = token.map[0] if token.map else 0
            apart = not self.fresh and first > 0 and not self.lines[first - 1].strip(" \t>")
            self._write("\n\n" if apart else "\n")
            if not at_margin:
                self._write(self.indent)
        self.fresh = False
        if self.quotes and self.quote_offset is None:
            self.quote_offset = self.position

    def _item(self, token: "Token") -> None:
        """Write the marker of a list item and indent what follows."""
        self._begin(token)
        number = self.numbers[-1]
        marker = BULLET if number is None else f"{number}{token.markup} "
        if number is not None:
            self.numbers[-1] = number + 1
        self._write(marker)
        self.indents.append(self.indent)
        self.indent += " " * len(marker)
        self.fresh = True

    def _end_quote(self) -> None:
        """Leave a quote; the outermost becomes an entity."""
        self.indent = self.indents.pop()
        self.quotes -= 1
        if not self.quotes and self.quote_offset is not None:
            self._mark("blockquote", self.quote_offset)
            self.quote_offset = None

    def _pre(self, token: "Token", content: str, *, language: re.Match[str] | None) -> None:
        """Write a monospace block; an empty one would be an entity without text."""
        content = content.rstrip("\n").expandtabs(TAB_WIDTH)
        if content.strip():
            self._begin(token, at_margin=True)
            offset = self.position
            self._write(content)
            self._mark("pre", offset, language=language[0] if language else None)

    def _inline(self, tokens: Sequence["Token"]) -> None:
        """Write the inside of a paragraph or heading."""
        for token in tokens:
            match token.type:
                case "text":
                    self._write(token.content)
                case "softbreak" | "hardbreak":
                    self._write("\n" + self.indent)
                case "code_inline":
                    self._code(token.content)
                case "strong_open" | "em_open" | "s_open":
                    self._open(_STYLES[token.tag])
                case "strong_close" | "em_close" | "s_close":
                    self._close(_STYLES[token.tag])
                case "link_open":
                    self.links.append(_Link(url=str(token.attrs["href"]), offset=self.position, chunk=len(self.chunks)))
                case "link_close":
                    self._end_link(self.links.pop())
                case _:  # image: markdown-it makes nothing else without HTML
                    self.links.append(_Link(url=str(token.attrs["src"]), offset=self.position, chunk=len(self.chunks)))
                    self._write(_plain(token.children or ()))
                    self._end_link(self.links.pop())

    def _code(self, content: str) -> None:
        """Write inline code. Nothing can lie over it: open styles pause; in the label of a link it is text."""
        if self.links or not content.strip():
            self._write(content)
            return
        for style, (_, offset) in self.styles.items():
            self._mark(style, offset)
        offset = self.position
        self._write(content)
        self._mark("code", offset)
        self.styles = {style: (depth, self.position) for style, (depth, _) in self.styles.items()}

    def _open(self, style: str) -> None:
        depth, offset = self.styles.get(style, (0, self.position))
        self.styles[style] = (depth + 1, offset)

    def _close(self, style: str) -> None:
        depth, offset = self.styles.pop(style)
        if depth > 1:
            self.styles[style] = (depth - 1, offset)
        else:
            self._mark(style, offset)

    def _end_link(self, link: _Link) -> None:
        """Finish a link or picture; a picture inside a link is part of its label."""
        label = "".join(self.chunks[link.chunk :])
        if is_blank(label) and not self.links and _WRITTEN_ADDRESS.match(link.url):
            self._write(link.url)
        elif not self.links:
            self._write(_written(label, link.url))
        if not self.links and is_web_address(link.url):
            self._mark("text_link", link.offset, url=link.url)

    def _mark(self, kind: str, offset: int, *, url: str | None = None, language: str | None = None) -> None:
        """Note an entity from an offset up to here, if there is text under it."""
        if self.position > offset:
            length = self.position - offset
            self.entities.append(Entity(type=kind, offset=offset, length=length, url=url, language=language))

    def _write(self, text: str) -> None:
        self.chunks.append(text)
        self.position += utf16_len(text)


def _table(tokens: Sequence["Token"]) -> str:
    """A table as lines of monospace text, its columns aligned by what they take on the screen."""
    rows: list[list[str]] = []
    aligns: list[str] = []
    for index, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in {"th_open", "td_open"}:
            rows[-1].append(_cell(tokens[index + 1].children or ()))
            if token.type == "th_open":
                aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
    widths = [max(_width(row[column]) for row in rows) for column in range(len(aligns))]
    lines = [
        "  ".join(_pad(cell, width, align) for cell, width, align in zip(row, widths, aligns, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(lines)


def _cell(tokens: Sequence["Token"]) -> str:
    """A cell as plain text: no entity can lie in a monospace block, so an address is written out."""
    text = ""
    starts: list[tuple[int, str]] = []
    for token in tokens:
        if token.type == "link_open":
            starts.append((len(text), str(token.attrs["href"])))
        elif token.type == "link_close":
            start, url = starts.pop()
            if _WRITTEN_ADDRESS.match(url) and url.removeprefix("mailto:") not in text[start:]:
                text += f" ({url.removeprefix('mailto:')})"
        else:
            text += _plain((token,))
    return text.replace("\t", " ").strip()


def _plain(tokens: Sequence["Token"]) -> str:
    """Inline tokens as text without entities."""
    return "".join(_plain(token.children) if token.children else token.content for token in tokens)


def _pad(cell: str, width: int, align: str) -> str:
    """A cell with spaces around it, ``width`` columns wide."""
    missing = width - _width(cell)
    left = {"right": missing, "center": missing // 2}.get(align, 0)
    return " " * left + cell + " " * (missing - left)


def _width(text: str) -> int:
    """Columns that a text takes in a monospace font: wide characters and emoji take two, marks none."""
    if text.isascii():
        return len(text)
    columns, previous, joined = 0, 0, False
    for char in text:
        if char == "\ufe0f" and previous == 1:  # a sign that is shown as an emoji
            width = 1
        elif joined or "\U0001f3fb" <= char <= "\U0001f3ff" or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
            width = 0
        else:
            width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        columns += width
        joined = char == "\u200d"
        previous = width or previous
    return columns
