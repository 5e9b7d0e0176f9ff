"""What an admin sees when a command fails: the cause and the mend, never a traceback, never a secret.

Exit codes: 0 in order; 1 what was checked is not in order; 2 usage, configuration or surroundings; 70 a fault of ours;
130 interrupted.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Final

from bot.cli import terminal

OK: Final = 0
NOT_IN_ORDER: Final = 1
USAGE: Final = 2
INTERNAL: Final = 70
INTERRUPTED: Final = 130

_debug = False


def show_faults() -> None:
    """Show the traceback of an internal error (``--debug``)."""
    global _debug  # noqa: PLW0603 - one process runs one command, and the guard stands outside of it
    _debug = True


def guarded(command: Callable[[], object]) -> int:
    """Run a command.

    Returns:
        Its exit code.
    """
    try:
        command()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else (OK if leaving.code is None else NOT_IN_ORDER)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where anything can be said
        return _tell(error)
    return OK


def _tell(error: Exception) -> int:
    leaves = list(_leaves(error))
    if all(_is_told(leaf) for leaf in leaves):
        for leaf in leaves:
            _explain(leaf)
        return USAGE
    terminal.complain(f"something went wrong inside of discreet ({', '.join(type(leaf).__name__ for leaf in leaves)})")
    if _debug:
        import traceback

        from bot.observability.redaction import redact

        sys.stderr.write(redact("".join(traceback.format_exception(error))))
    else:
        terminal.mend("run the command again as `discreet --debug ...` to see where, and report that")
    return INTERNAL


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _leaves(member)
    else:
        yield error


def _is_told(error: BaseException) -> bool:
    """Whether an error was raised on purpose, with words for an admin."""
    from bot.model.errors import ClearanceError, DiscreetError
    from policy.errors import PolicyError

    if isinstance(error, ClearanceError):
        return False
    if isinstance(error, OSError):
        return bool(error.strerror)
    return isinstance(error, DiscreetError | PolicyError)


def _explain(error: BaseException) -> None:
    problems = getattr(error, "problems", ())
    for problem in problems:
        terminal.problem(problem, to_stderr=True)
    if problems:
        return
    if isinstance(error, OSError):
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        terminal.complain(f"{where}{error.strerror}")
        return
    cause, mend = _halves(str(error))
    terminal.complain(cause)
    if mend:
        terminal.mend(mend)


def _halves(text: str) -> tuple[str, str]:
    """What is wrong and what to do, out of the text of an error: two sentences, or one with a semicolon."""
    for sign in (". ", "; "):
        cause, found, mend = text.partition(sign)
        if found:
            return cause, mend.rstrip(".")
    return text.rstrip("."), ""
