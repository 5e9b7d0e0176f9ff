"""Errors as a log may show them: what failed and where, never what it was about.

The text of an exception may quote a message, a database row or a URL. Errors that the gateway raises on purpose are
written for admins, so their text is shown; of all others only the type and the lines of code are.
"""

import traceback
from collections.abc import Iterator
from types import TracebackType

FRAMES = 20
"""How many innermost frames of a traceback are kept."""
CHAIN = 6
"""How many causes of an error are followed."""

_plain: set[type[BaseException]] = set()


def show_text_of(*errors: type[BaseException]) -> None:
    """Declare error types (and their heirs) whose text is written for admins and holds no bodies."""
    _plain.update(errors)


def describe(error: BaseException) -> str:
    """One line: the type, and the text where it may be shown."""
    name = type(error).__name__
    if isinstance(error, tuple(_plain)):
        return f"{name}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"
    return name


def lines_of(error: BaseException) -> list[str]:
    """The error and its causes, each with the frames in which it was raised, outermost first."""
    lines: list[str] = []
    for cause in _chain(error):
        lines.append(describe(cause))
        lines.extend(_frames(cause.__traceback__))
        if isinstance(cause, BaseExceptionGroup):
            for member in cause.exceptions[:CHAIN]:
                lines.append(f"  member: {describe(member)}")
                lines.extend(f"  {line}" for line in _frames(member.__traceback__))
    return lines


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen and len(seen) < CHAIN:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _frames(trace: TracebackType | None) -> list[str]:
    # Only names and numbers: the text of a source line could hold a literal that looks like somebody's words.
    summary = traceback.StackSummary.extract(traceback.walk_tb(trace), lookup_lines=False)
    return [f"  {_module(frame.filename)}:{frame.lineno} {frame.name}" for frame in list(summary)[-FRAMES:]]


def _module(path: str) -> str:
    """The end of a file's path: enough to find it, without the host's folders."""
    return "/".join(path.replace("\\", "/").split("/")[-3:])
