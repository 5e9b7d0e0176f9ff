"""Long texts in messages that Matrix takes, each with HTML that is valid on its own.

An event has at most 65,536 bytes, and an encrypted one a quarter less: its content is written as JSON, encrypted and
written in base64. So what counts is the length of the JSON in UTF-8. A text is cut in its source, at line ends, and
each piece is formatted by itself.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import orjson

from bot.channels.markdown import split
from bot.channels.matrix.html import Shown, block, card, fields, mended, render, verbatim
from forms.card import FieldRow

LIMIT_BYTES: Final = 40_000
"""Of the plain and the formatted text of one message together."""
_FIRST_TRY: Final = 20_000
_SMALLEST: Final = 1_000
"""Characters; at most four bytes each, which always fit."""


def weight(text: str) -> int:
    """Bytes of a text (mended) on the wire: as JSON in UTF-8, without its quotes."""
    return len(orjson.dumps(text)) - 2


def fits(shown: Shown) -> bool:
    """Whether it fits into one message."""
    size = weight(shown.body)
    return size <= LIMIT_BYTES and (not shown.formatted or size + weight(shown.html) <= LIMIT_BYTES)


def split_words(text: str) -> Iterator[Shown]:
    """Cut Markdown into messages; at least one, as they are wanted."""
    return _fitting(mended(text), _FIRST_TRY)


def _fitting(text: str, limit: int) -> Iterator[Shown]:
    for piece in split(text, limit):
        shown = render(piece)
        if fits(shown):
            yield shown
        elif limit > _SMALLEST:
            yield from _fitting(piece, limit // 2)
        else:  # hardly any words, very much formatting
            yield verbatim(piece)


def split_card(title: str, rows: Sequence[tuple[str, str]], choices: Sequence[tuple[str, str]]) -> tuple[Shown, ...]:
    """Cut a card between its rows, and where a value is very long inside it; the choices stand together at the end."""
    whole = card(title, rows, choices)
    if fits(whole):
        return (whole,)
    if rows and title:
        return (*split_card(title, (), ()), *split_card("", rows, choices))
    if rows and choices:
        return (*split_card("", rows, ()), *split_card("", (), choices))
    if len(rows) > 1:
        half = len(rows) // 2
        return (*split_card("", rows[:half], ()), *split_card("", rows[half:], ()))
    if rows:
        (name, value), *_ = rows
        first, second = _halves(value if len(value) >= len(name) else name)
        if len(value) >= len(name):
            return (*split_card("", [(name, first)], ()), *split_card("", [("…", second)], ()))
        return (*split_card("", [(first, "")], ()), *split_card("", [(second, value)], ()))
    if title:
        first, second = _halves(title)
        return (*split_card(first, (), ()), *split_card(second, (), choices))
    return (whole,)  # choices alone: a card bounds them


def split_fields(rows: Sequence[FieldRow], columns: Sequence[str] | None) -> tuple[Shown, ...]:
    """Cut a table of fields between its rows; one field that is too long for a table is shown as lines."""
    whole = fields(rows, columns)
    if fits(whole):
        return (whole,)
    if len(rows) > 1:
        half = len(rows) // 2
        return (*split_fields(rows[:half], columns), *split_fields(rows[half:], columns))
    return split_text(whole.body, verbatim)


def split_block(name: str, lines: str) -> tuple[Shown, ...]:
    """Cut lines in a block of their own, under a name."""
    whole = block(name, lines)
    if fits(whole):
        return (whole,)
    first, second = _halves(lines)
    return (*split_block(name, first), *split_block("…", second))


def split_text(text: str, shown: Callable[[str], Shown]) -> tuple[Shown, ...]:
    """Cut a text that is shown in some way."""
    whole = shown(text)
    if fits(whole):
        return (whole,)
    return tuple(piece for half in _halves(text) for piece in split_text(half, shown))


def _halves(text: str) -> tuple[str, str]:
    """Cut near the middle, after a line or a word if there is one."""
    middle = len(text) // 2
    for separator in ("\n", " "):
        at = text.rfind(separator, middle // 2, middle)
        if at > 0:
            return text[: at + 1].rstrip(), text[at + 1 :]
    return text[:middle], text[middle:]
