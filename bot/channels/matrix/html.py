"""The agent's Markdown as the HTML that Matrix allows, and as plain words that read well without it.

Tags and attributes are those of the specification (m.room.message, "formatted_body") and no others: links have a
``href`` alone, code a ``class`` of ``language-*``, numbered lists a ``start``. A link to a person's page stays a link:
whom a message mentions is said by ``m.mentions`` alone, and ours mention nobody.
"""

import html
import re
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from markdown_it.utils import OptionsDict

from bot.channels import markdown
from bot.channels.markdown import HarmlessRenderer, image_words, readable
from forms.card import FieldRow

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")
_BLOCK_OF_CODE: Final = re.compile(r"(<pre>.*?</pre>)", re.DOTALL)
_LINE_END: Final = re.compile(r"(?<=>)\n|^\n|\n(?=<)")
_PLAIN_TAG: Final = re.compile(r'</?p>|<br />|<a href="([^"<>]*)">\1</a>')
_SPACE: Final = re.compile(r"\s+")
_RULE: Final = "———"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What people see of a message.

    Attributes:
        body: for clients without HTML.
        html: the same, formatted.
    """

    body: str = field(repr=False)
    html: str = field(repr=False)

    @property
    def formatted(self) -> bool:
        """Whether the HTML shows anything that the plain words don't."""
        return "<" in _PLAIN_TAG.sub("", self.html)

    @property
    def text(self) -> str:
        """Everything that a person could read, in whichever form it is shown (OUT-2)."""
        if not self.formatted:
            return self.body
        seen = _folded(self.body)
        unseen = [line for line in readable(self.html).split("\n") if _folded(line) not in seen]
        return "\n".join([self.body, *unseen])


def mended(text: str) -> str:
    """Without lone surrogates, which have no bytes on the wire, and without control characters."""
    written = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub("", written)


def render(text: str) -> Shown:
    """Markdown (mended) as a message shows it. Whatever the parser stumbles over is shown as it is."""
    try:
        parser = _markdown()
        tokens = parser.parse(text)
        markup = str(parser.renderer.render(tokens, parser.options, {}))
        words = "\n".join(_lines(SyntaxTreeNode(tokens)))
    except Exception:  # noqa: BLE001 - an agent's text is hostile input; people get the words all the same
        return verbatim(text)
    return Shown(body=words, html=_compact(markup))


def verbatim(text: str) -> Shown:
    """A text as it is, whatever signs are in it."""
    return Shown(body=text, html=f"<p>{_escaped(text)}</p>")


def card(title: str, rows: Iterable[tuple[str, str]], choices: Iterable[tuple[str, str]]) -> Shown:
    """A card. Its words are no markup.

    Args:
        title: may be empty.
        rows: names and values.
        choices: each a sign and its label.
    """
    named, offered = list(rows), list(choices)
    body = "\n".join(([title] if title else []) + [f"{name}: {value}" for name, value in named])
    listed = "\n".join(f"{sign} {label}" for sign, label in offered)
    markup = f"<p><strong>{_escaped(title)}</strong></p>" if title else ""
    if named:
        cells = (
            f"<tr><td><strong>{_escaped(name)}</strong></td><td>{_escaped(value)}</td></tr>" for name, value in named
        )
        markup += f"<table><tbody>{''.join(cells)}</tbody></table>"
    if listed:
        markup += f"<p>{_escaped(listed)}</p>"
    return Shown(body="\n\n".join(piece for piece in (body, listed) if piece), html=markup)


def fields(rows: Iterable[FieldRow], columns: Iterable[str] | None) -> Shown:
    """What is asked, as a table of field, format, required and answer; a column in which nothing stands is left out.

    Args:
        rows: whose words are no markup.
        columns: the heads of the table; None: it has none.
    """
    listed = list(rows)
    cells = [(row.title, row.hint, row.required, row.value) for row in listed]
    used = [index for index in range(4) if index == 0 or any(row[index].strip() for row in cells)]
    heads = [] if columns is None else [tuple(columns)]
    lines = [
        "".join(_cell(row[index], strong=number < len(heads) or index == 0) for index in used)
        for number, row in enumerate([*heads, *cells])
    ]
    markup = "".join(f"<tr>{line}</tr>" for line in lines)
    return Shown(body="\n".join(map(_field_words, listed)), html=f"<table><tbody>{markup}</tbody></table>")


def _cell(words: str, *, strong: bool) -> str:
    written = _escaped(words)
    return f"<td><strong>{written}</strong></td>" if strong else f"<td>{written}</td>"


def _field_words(row: FieldRow) -> str:
    """One field without a table: name and mark, what it takes, what is filled in."""
    name = f"{row.title} ({row.required})" if row.required else row.title
    if not row.hint:
        return f"{name}: {row.value}" if row.value else name
    hint = f"\n{row.hint}" if "\n" in row.hint else f" {row.hint}"
    return f"{name}:{hint}\n→ {row.value}" if row.value else f"{name}:{hint}"


def block(name: str, lines: str) -> Shown:
    """Lines as they are, in a block of their own, under a name. None of it is markup."""
    markup = f"<p><strong>{_escaped(name)}</strong></p><pre><code>{html.escape(lines)}</code></pre>"
    return Shown(body=f"{name}\n{lines}", html=markup)


def code(text: str) -> Shown:
    """Lines to copy, as they are."""
    return Shown(body=f"```\n{text}\n```", html=f"<pre><code>{html.escape(text)}</code></pre>")


def link(label: str, url: str) -> Shown:
    """A link, which says where it leads where it can't be one."""
    return Shown(body=f"{label}: {url}", html=f'<p><a href="{html.escape(url)}">{_escaped(label)}</a></p>')


def joined(above: Shown, under: Shown) -> Shown:
    """Two in one message."""
    return Shown(body=f"{above.body}\n\n{under.body}", html=above.html + under.html)


def _escaped(text: str) -> str:
    return html.escape(text).replace("\n", "<br />")


def _folded(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _compact(markup: str) -> str:
    """Without the line ends between tags: some clients show them. In text a ``>`` is always written as an entity."""
    pieces = _BLOCK_OF_CODE.split(markup)
    return "".join(piece if index % 2 else _LINE_END.sub("", piece) for index, piece in enumerate(pieces)).strip("\n")


class _Renderer(HarmlessRenderer):
    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """A link: its target and nothing else."""
        return f'<a href="{html.escape(str(tokens[idx].attrGet("href") or ""))}">'

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """A code block, with its language if that is a name."""
        language = _LANGUAGE.fullmatch(tokens[idx].info.strip().partition(" ")[0])
        says = f' class="language-{language[0]}"' if language else ""
        return f"<pre><code{says}>{html.escape(tokens[idx].content)}</code></pre>\n"

    def s_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """Struck out: the older of the two tags, which all clients know."""
        return "<del>"

    def s_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        """As above."""
        return "</del>"


@cache
def _markdown() -> MarkdownIt:
    return markdown.parser(_Renderer)


# plain words


def _lines(node: SyntaxTreeNode) -> list[str]:
    """A block as plain lines."""
    match node.type:
        case "inline":
            return _words(node).split("\n")
        case "fence" | "code_block":
            return ["```", *node.content.removesuffix("\n").split("\n"), "```"]
        case "hr":
            return [_RULE]
        case "bullet_list":
            return [line for item in node.children for line in _item("• ", item)]
        case "ordered_list":
            start = int(node.attrs.get("start", 1))
            return [line for place, item in enumerate(node.children, start) for line in _item(f"{place}. ", item)]
        case "blockquote":
            return [f"> {line}".rstrip() for line in _blocks(node)]
        case "table":
            return [_row(row) for section in node.children for row in section.children]
        case "list_item":
            return [line for child in node.children for line in _lines(child)]
        case _:
            return _blocks(node)


def _blocks(node: SyntaxTreeNode) -> list[str]:
    lines: list[str] = []
    for child in node.children:
        lines += ["", *_lines(child)] if lines else _lines(child)
    return lines


def _item(mark: str, node: SyntaxTreeNode) -> list[str]:
    first, *rest = _lines(node) or [""]
    indent = " " * len(mark)
    return [f"{mark}{first}", *(f"{indent}{line}" for line in rest)]


def _row(node: SyntaxTreeNode) -> str:
    return " | ".join(" ".join(_lines(cell)) for cell in node.children)


def _words(node: SyntaxTreeNode) -> str:
    """Inline content as plain words; a link says where it leads."""
    match node.type:
        case "softbreak" | "hardbreak":
            return "\n"
        case "image":
            return image_words(_token(node))
        case "link":
            words, target = "".join(_words(child) for child in node.children), str(node.attrs.get("href", ""))
            return words if target in (words, f"mailto:{words}") else f"{words} ({target})" if words else target
        case "text" | "code_inline":
            return node.content
        case _:
            return "".join(_words(child) for child in node.children)


def _token(node: SyntaxTreeNode) -> Token:
    if node.token is None:
        raise ValueError("a picture without a token")
    return node.token
