"""Words on a terminal: plain lines, coloured only where a person looks at them."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from bot.observability.redaction import redact

if TYPE_CHECKING:
    from policy.tree import Problem

_RED, _GREEN, _YELLOW, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"


def say(text: str = "") -> None:
    """A line of the result."""
    print(redact(text))


def good(text: str) -> None:
    """A line that says that something is in order."""
    print(_dyed(redact(text), _GREEN, sys.stdout))


def head(text: str) -> None:
    """A headline."""
    print(_dyed(redact(text), _BOLD, sys.stdout))


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Lines in columns, below a headline."""
    lines = [names, *([clean(word) for word in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    for number, line in enumerate(lines):
        text = "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        (say if number else head)(text)


def note(text: str) -> None:
    """A line beside the result, on stderr."""
    print(redact(text), file=sys.stderr)


def warn(text: str) -> None:
    """What works and should be mended all the same."""
    print(f"{_dyed('warning:', _YELLOW, sys.stderr)} {redact(text)}", file=sys.stderr)


def warn_of(text: str | None) -> None:
    """The same, where there is something."""
    if text is not None:
        warn(text)


def complain(text: str) -> None:
    """What is wrong."""
    print(f"{_dyed('error:', _RED, sys.stderr)} {redact(text)}", file=sys.stderr)


def mend(text: str) -> None:
    """What to do about it."""
    print(f"{_dyed('mend:', _YELLOW, sys.stderr)} {redact(text)}", file=sys.stderr)


def problem(found: "Problem", *, to_stderr: bool = False) -> None:
    """One problem of a file: ``file:line:column: error: what``, and the mend below it."""
    out = sys.stderr if to_stderr else sys.stdout
    path = f"{found.path}: " if found.path else ""
    print(f"{found.place}: {_dyed('error:', _RED, out)} {redact(path + found.message)}", file=out)
    print(f"    {_dyed('mend:', _YELLOW, out)} {redact(found.mend)}", file=out)


def _dyed(text: str, colour: str, out: TextIO) -> str:
    if not out.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"{colour}{text}{_PLAIN}"


def clean(text: str) -> str:
    """A text on one line, without what steers a terminal: names and titles are whatever a stranger wrote."""
    return "".join(character if character.isprintable() else "�" for character in text)
