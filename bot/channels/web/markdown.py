"""The agent's Markdown on the page of the built-in chat: see :mod:`bot.channels.markdown`."""

import html
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from bot.channels import markdown
from bot.channels.markdown import HarmlessRenderer, readable

__all__ = ["MAX_CHARACTERS", "cut", "readable", "render", "split", "verbatim"]

MAX_CHARACTERS: Final = 24_000
"""Of one message; longer answers are split."""


def render(text: str) -> str:
    """Markdown as safe HTML."""
    return markdown.render(_markdown, text)


def split(text: str, limit: int = MAX_CHARACTERS) -> list[str]:
    """Cut a long text at line ends; a code block that is cut is closed and opened again."""
    return markdown.split(text, limit)


def verbatim(text: str) -> str:
    """A text as it is, whatever signs are in it, as HTML."""
    return f"<p>{html.escape(text).replace(chr(10), '<br>')}</p>" if text else ""


def cut(text: str, limit: int = MAX_CHARACTERS) -> list[str]:
    """Cut a text that is no Markdown, where there is one near after a line end; the pieces joined are the text."""
    pieces = []
    while len(text) > limit:
        end = text.rfind("\n", limit // 2, limit) + 1 or limit
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]


class _Renderer(HarmlessRenderer):
    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """A link that leaves without saying where it came from."""
        title = tokens[idx].attrGet("title")
        says = f' title="{html.escape(str(title))}"' if title else ""
        url = html.escape(str(tokens[idx].attrGet("href") or ""))
        return f'<a href="{url}"{says} target="_blank" rel="noopener noreferrer nofollow">'


@cache
def _markdown() -> MarkdownIt:
    return markdown.parser(_Renderer)
