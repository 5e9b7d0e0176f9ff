"""What a text becomes where something reads it (AUTO-5, OUT-4): a browser, or the program with which a person opens it.

A name that is written ``Blue&nbsp;Heron`` in a page, ``Blue%20Heron`` in a link, by numbers of characters in a file of
JSON, or backwards behind the sign that turns the direction, is read as what it stands for. Such a text is looked at
twice: as it is, and decoded.
"""

import html
import re
from typing import Final
from urllib.parse import unquote

_ESCAPE: Final = re.compile(r"(?:\\u[0-9A-Fa-f]{4})+|\\u\{[0-9A-Fa-f]{1,6}\}|\\x[0-9A-Fa-f]{2}")
_WITHIN: Final = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u"
    r"|var|wbr)(?:[\s/][^<>]{0,1000})?>|<!--[^<>]{0,1000}-->",
    re.IGNORECASE,
)
"""Marks that part no word."""
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,1000}>")
_TURNED: Final = re.compile("\u202e([^\u202c\n]*)")
_LAST: Final = 0x10FFFF


def decoded(text: str) -> str | None:
    """What a text becomes; None: nothing else."""
    found = text
    if "\\" in found:
        found = _ESCAPE.sub(_unescaped, found)
    if "%" in found:
        found = unquote(found, errors="replace")
    if "<" in found:
        found = _TAG.sub(" ", _WITHIN.sub("", found))
    if "&" in found:
        found = html.unescape(found)
    if "\u202e" in found:
        found = _TURNED.sub(lambda turned: turned[1][::-1], found)
    return None if found == text else found


def _unescaped(escape: re.Match[str]) -> str:
    written = escape[0]
    one = written.startswith(("\\u{", "\\x"))
    codes = [written.strip("\\ux{}")] if one else written.split("\\u")[1:]
    characters = [chr(min(int(code, 16), _LAST)) for code in codes]
    return "".join(characters).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
