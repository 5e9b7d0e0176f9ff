"""What a message's content holds: the person's words and the file, apart from what a client has put around them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.channels.matrix.identifiers import ShapeError
from bot.channels.matrix.relations import Relation

Native = Mapping[str, Any]

HTML: Final = "org.matrix.custom.html"
FILES: Final = ("m.image", "m.file", "m.audio", "m.video")
STICKER: Final = "m.sticker"
_WORDLESS: Final = ("m.location",)
"""Their body is a description that the client makes."""
_NOTICES: Final = ("m.notice", "m.server_notice")
_AUTOMATED: Final = ("org.matrix.msc1767.automated", "m.automated")
_FORWARDED: Final = ("m.forwarded", "org.matrix.msc2723.forwarded")

_FALLBACK: Final = re.compile(r"> (?:\* )?<[^>\n]{1,300}>")
"""How the first line of a reply fallback begins: whose words they are."""
_MXC: Final = re.compile(r"mxc://[A-Za-z0-9.:\[\]-]{1,255}/[A-Za-z0-9_~.-]{1,255}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """What a person has said.

    Attributes:
        text: their words, without formatting and without the copy of the words that they reply to.
        html: the same with formatting, as it came; None: there is none.
        file: content that carries a file; None: there is none.
    """

    text: str = field(repr=False)
    html: str | None = field(repr=False)
    file: Native | None = field(repr=False)


def current(content: Native, relation: Relation) -> Native:
    """The content as it stands now (PART-11).

    Raises:
        ShapeError: an edit without the new content.
    """
    if relation.replaces is None:
        return content
    new = content.get("m.new_content")
    if not isinstance(new, Mapping):
        raise ShapeError
    return new


def is_notice(content: Native) -> bool:
    """Whether a program says it, by its own account."""
    return content.get("msgtype") in _NOTICES or any(content.get(mark) is True for mark in _AUTOMATED)


def spoken(kind: str, content: Native, relation: Relation) -> Spoken:
    """Read a content as it stands now.

    Args:
        kind: the event's type.
        content: of :func:`current`.
        relation: of the event.

    Raises:
        ShapeError: there is no body, or no kind of message.
    """
    sort = kind if kind == STICKER else content.get("msgtype")
    body = content.get("body")
    if not isinstance(sort, str) or not isinstance(body, str):
        raise ShapeError
    file = content if (sort in FILES or sort == STICKER) and mxc_of(content) is not None else None
    if sort == STICKER or sort in _WORDLESS or (sort in FILES and not is_caption(content)):
        return Spoken(text="", html=None, file=file)
    html = content.get("formatted_body")
    if content.get("format") != HTML or not isinstance(html, str) or not html.strip():
        html = None
    text = body
    if relation.quotes or _replied(content):
        text = without_fallback(body, marked=html is not None and html.lstrip()[:10].lower().startswith("<mx-reply"))
    return Spoken(text=text, html=html, file=file)


def is_caption(content: Native) -> bool:
    """Whether the body of a file's content is a caption; else it is the file's name."""
    name = content.get("filename")
    return isinstance(name, str) and bool(name) and name != content.get("body")


def is_forwarded(content: Native) -> bool:
    """Whether somebody else has said it: what it says addresses nobody here (PART-14)."""
    return any(isinstance(content.get(mark), Mapping) for mark in _FORWARDED)


def mxc_of(content: Native) -> str | None:
    """Address of the file; None where there is none, or not all that it takes to decrypt it."""
    file = content.get("file")
    url = content.get("url")
    if isinstance(file, Mapping):
        key, hashes = file.get("key"), file.get("hashes")
        if not isinstance(key, Mapping) or not isinstance(hashes, Mapping):
            return None
        if not all(isinstance(one, str) and one for one in (key.get("k"), file.get("iv"), hashes.get("sha256"))):
            return None
        url = file.get("url")
    return url if isinstance(url, str) and _MXC.fullmatch(url) is not None else None


def without_fallback(body: str, *, marked: bool) -> str:
    """A reply's words without the copy of the other's, which old clients put before them.

    Args:
        body: of a reply.
        marked: the formatted body says that there is a copy. Else only lines that name their author are one: what a
            person quotes by hand is theirs.
    """
    if not body.startswith(">") or not (marked or _FALLBACK.match(body)):
        return body
    lines = body.split("\n")
    first = next((number for number, line in enumerate(lines) if not line.startswith(">")), len(lines))
    if first < len(lines) and not lines[first].strip():
        first += 1
    return "\n".join(lines[first:])


def _replied(content: Native) -> bool:
    """The new content of an edited reply may still say that it is one; it counts for nothing else."""
    relates = content.get("m.relates_to")
    return isinstance(relates, Mapping) and "m.in_reply_to" in relates
