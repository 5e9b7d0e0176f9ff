"""The agent's Markdown as HTML that can do nothing, for every channel that shows HTML.

No raw HTML, no images, links to http, https and mailto only. What a channel does otherwise (attributes of links, the
language of a code block) is in its own renderer, which begins with :class:`HarmlessRenderer`.
"""

import html
import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

_SAFE: Final = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_BARE: Final = re.compile(r"https?://[^\s<>\"'`{}|\\^\[\]]+[^\s<>\"'`{}|\\^\[\].,;:!?()]")
_TAG: Final = re.compile(r"<(/?)([a-z0-9]+)([^>]*)>")
_TARGET: Final = re.compile(r'(?:(?:href|title)="|class="language-)([^"]*)"')
_BLOCKS: Final = frozenset(
    {"p", "br", "li", "ul", "ol", "tr", "pre", "hr", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def render(markdown: Callable[[], MarkdownIt], text: str) -> str:
    """Markdown as safe HTML. Whatever the renderer stumbles over is shown as plain text."""
    try:
        return str(markdown().render(text))
    except Exception:  # noqa: BLE001 - an agent's text is hostile input; people get the words all the same
        return f"<pre><code>{html.escape(text)}</code></pre>\n"


def readable(markup: str) -> str:
    """Everything that a person could read in rendered HTML: the words, where links lead, what code says it is."""
    targets: list[str] = []

    def replace(tag: re.Match[str]) -> str:
        targets.extend(html.unescape(target) for target in _TARGET.findall(tag[3]))
        if tag[2] in ("td", "th"):
            return " " if tag[1] else ""
        return "\n" if tag[2] in _BLOCKS else ""

    words = html.unescape(_TAG.sub(replace, markup))
    lines = [line.rstrip() for line in words.split("\n")]
    body = re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip("\n")
    unseen = [target for target in dict.fromkeys(targets) if target not in body]
    return "\n".join([body, *unseen]) if unseen else body


def split(text: str, limit: int) -> list[str]:
    """Cut a long text at line ends; a code block that is cut is closed and opened again.

    Args:
        text: Markdown.
        limit: characters that a piece may have.
    """
    longest = limit // 8  # what is repeated in each piece of a code block must not fill it
    pieces: list[str] = []
    lines: list[str] = []
    room = limit
    fence = opening = ""
    for line in _bounded_lines(text, limit // 2):
        if lines and len(line) + 1 > room - len(fence) - 1:
            pieces.append("\n".join([*lines, fence] if fence else lines))
            lines = [opening] if fence else []
            room = limit - sum(len(kept) + 1 for kept in lines)
        lines.append(line)
        room -= len(line) + 1
        mark = _FENCE.fullmatch(line)
        if mark is None or len(mark[1]) > longest:
            continue
        if not fence:
            fence, opening = mark[1], line if len(line) <= longest else mark[1]
        elif mark[1].startswith(fence) and not mark[2].strip():
            fence = opening = ""
    pieces.append("\n".join(lines))
    return pieces


def _bounded_lines(text: str, limit: int) -> list[str]:
    return [piece for line in text.split("\n") for piece in _bounded(line, limit)]


def _bounded(line: str, limit: int) -> list[str]:
    """A line that is too long is cut after a word, if one ends in the second half of what fits."""
    pieces: list[str] = []
    start = 0
    while len(line) - start > limit:
        end = line.rfind(" ", start + limit // 2, start + limit) + 1 or start + limit
        slashes = len(line[start:end]) - len(line[start:end].rstrip("\\"))
        if slashes % 2 and end - start > 1:
            end -= 1  # an escape stays whole
        pieces.append(line[start:end])
        start = end
    return [*pieces, line[start:]]


class HarmlessRenderer(RendererHTML):
    """The library's renderer, with less power. Its methods are named after the tokens that they write."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """A picture from elsewhere would tell elsewhere who reads: it becomes its words and its address."""
        return html.escape(image_words(tokens[idx]))

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """A code block; the language after the fence is not shown."""
        return f"<pre><code>{html.escape(tokens[idx].content)}</code></pre>\n"

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """An indented code block."""
        return self.fence(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """Alignment would be an inline style, which no channel takes."""
        return "<td>"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """As for a cell."""
        return "<th>"


def image_words(token: Token) -> str:
    """What stands where a picture would: its words and its address."""
    url = str(token.attrGet("src") or "")
    return f"{token.content} ({url})" if token.content else url


def parser(renderer: type[HarmlessRenderer]) -> MarkdownIt:
    """A parser of what agents write, with a channel's renderer. Making one is slow; it can be used for ever."""
    options = {"html": False, "breaks": True, "maxNesting": 20}
    markdown = MarkdownIt("commonmark", options, renderer_cls=renderer)
    markdown.enable(["table", "strikethrough"])
    markdown.validateLink = _is_safe  # type: ignore[method-assign] # the library's own way to say which links are links
    markdown.core.ruler.push("bare_links", _bare_links)
    return markdown


def _is_safe(url: str) -> bool:
    return _SAFE.match(url) is not None


def _bare_links(state: StateCore) -> None:
    """An address that stands by itself in the text is a link."""
    for block in state.tokens:
        if block.type != "inline" or not block.children:
            continue
        children: list[Token] = []
        depth = 0
        for token in block.children:
            depth += (token.type == "link_open") - (token.type == "link_close")
            children.extend(_linked(token) if token.type == "text" and depth == 0 else [token])
        block.children = children


def _linked(token: Token) -> list[Token]:
    pieces: list[Token] = []
    end = 0
    for found in _BARE.finditer(token.content):
        pieces.append(_text(token.content[end : found.start()], token.level))
        opening = Token("link_open", "a", 1, level=token.level)
        opening.attrSet("href", found[0])
        pieces += [opening, _text(found[0], token.level + 1), Token("link_close", "a", -1, level=token.level)]
        end = found.end()
    if not pieces:
        return [token]
    return [*pieces, _text(token.content[end:], token.level)]


def _text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)
