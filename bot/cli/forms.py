"""``discreet form``: what an agent's developer looks at before a person is asked (FORM-1, FORM-8)."""

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from bot.cli import terminal
from bot.cli.failing import NOT_IN_ORDER, OK
from bot.config.errors import ConfigError
from forms.errors import SchemaError
from forms.field import Form
from forms.schema import read_form
from forms.validation import FieldError

_FILE_LIMIT: Final = 1 << 20  # bytes
_HIDDEN: Final = "••••••"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Written:
    """What a file holds: a schema alone, or a question as ``POST /v1/questions`` takes it."""

    schema: Any
    question: str = field(repr=False)
    important: bool = False


def parse_reply(schema: Path, reply: str, *, locale: str, timezone: str, today: str | None) -> int:
    """Print what a reply means, as one JSON object; returns the exit code.

    Args:
        schema: file of the schema.
        reply: file of what was typed, or - for the standard input.
        locale: language tag of the person; "": not known.
        timezone: IANA name; "": not known.
        today: the person's own day, ISO; None: now, in their zone.

    Raises:
        ConfigError: a file can't be read, the schema can't be asked, or an option can't be understood.
    """
    from forms.replies import Locale, read_reply

    zone = _zone(timezone)
    day = _day(today) if today is not None else datetime.now(zone).date()
    form = _asked_form(schema)
    text = _text(_stdin() if reply == "-" else _bytes(Path(reply)), reply)
    found = read_reply(form, text, locale=Locale(language=locale, timezone=timezone), today=day)
    if not found.errors:
        _print({"values": dict(found.values)})
        return OK
    _print({"errors": [_error(error) for error in found.errors], "values": dict(found.values)})
    return NOT_IN_ORDER


def check_forms(files: Sequence[Path]) -> int:
    """Print every problem of every schema; returns the exit code."""
    broken = False
    for path in files:
        try:
            written = _read(path)
        except _NotJsonError as error:
            broken = True
            terminal.say(f"{path}:{error.line}:{error.column}: not_json: {error}")
            continue
        try:
            form = read_form(written.schema)
        except SchemaError as error:
            broken = True
            for problem in error.problems:
                detail = f" ({problem.detail})" if problem.detail else ""
                terminal.say(f"{path}: {problem.path or '/'}: {problem.code}{detail}")
        else:
            terminal.good(f"{path}: ok (fields: {len(form.fields)})")
    return NOT_IN_ORDER if broken else OK


def preview_form(path: Path, *, port: int, locale: str, timezone: str) -> None:
    """Show a question as Telegram and Matrix would, and serve its page until Ctrl-C.

    Raises:
        ConfigError: the file can't be read, the schema can't be asked, or the port can't be had.
    """
    from bot.cli.serving import finish, refuse_taken, start_log

    _zone(timezone)
    _asked_form(path)
    written = _read(path)
    refuse_taken(port, instead=f"discreet form preview {path} --port 0")
    port = port or _free_port()
    start_log(level="warning", json_lines=None)

    from bot.model.question import Asking
    from bot.wiring.previewing import Rehearsal

    asking = Asking(text=written.question, schema=written.schema, important=written.important)

    async def rehearse() -> None:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        rehearsal = Rehearsal(asking, language=locale or "en", timezone=timezone or "UTC", heard=_tell)
        serving = asyncio.create_task(rehearsal.serving(port=port, bound=told.set_result), name="pages")
        await asyncio.wait((serving, told), return_when=asyncio.FIRST_COMPLETED)
        if told.done():
            rehearsal.reach(f"http://127.0.0.1:{told.result()}")
            for message in rehearsal.messages():
                _show(message)
            terminal.head("The page")
            print(f"\n    {rehearsal.address}\n")
            terminal.say("Ctrl-C ends it. What is sent there is shown here, but for masked values.")
            sys.stdout.flush()  # also where the output goes through a pipe
        await serving

    with contextlib.suppress(KeyboardInterrupt):  # which is how it ends
        finish(rehearse)


def _free_port() -> int:
    """A port on loopback that is free now; links hold it, so it has to be known before anything is served."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _show(message: Any) -> None:
    """One message: its words, its buttons, its HTML."""
    terminal.head(message.platform.capitalize())
    print()
    for line in message.text.splitlines():
        print(f"    {terminal.clean(line)}".rstrip())
    print()
    for row in message.keyboard:
        print("    " + "  ".join(f"[ {terminal.clean(label)} ]" for label in row))
    if message.keyboard:
        print()
    if message.html:
        terminal.say("    as HTML:")
        print(f"    {terminal.clean(message.html)}\n")


def _tell(heard: Any) -> None:
    """What came of an attempt on the page."""
    from bot.ports.questions import Confirm, Refused, Taken

    match heard:
        case Taken(question=question):
            masked = {one.name for one in question.form.fields if one.masked}
            answer = {name: _HIDDEN if name in masked else value for name, value in (question.answer or {}).items()}
            _print({"answer": answer})
        case Confirm():
            _print({"waits": "for its confirmation"})
        case Refused(errors=errors) | (*errors,):
            _print({"errors": [_error(error) for error in errors]})
    sys.stdout.flush()


# reading


class _NotJsonError(Exception):
    def __init__(self, text: str, *, line: int = 1, column: int = 1) -> None:
        super().__init__(text)
        self.line = line
        self.column = column


def _asked_form(path: Path) -> Form:
    """The form of a file.

    Raises:
        ConfigError: it can't be read or asked.
    """
    try:
        return read_form(_read(path).schema)
    except _NotJsonError as error:
        raise ConfigError(f"{path}:{error.line}:{error.column}: this is no JSON. Write one JSON Schema") from None
    except SchemaError as error:
        first = error.problems[0]
        raise ConfigError(
            f"{path}: this can't be asked: {first.path or '/'}: {first.code}. See all with: discreet form check {path}"
        ) from None


def _read(path: Path) -> _Written:
    text = _text(_bytes(path), str(path))
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise _NotJsonError(error.msg, line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError):
        raise _NotJsonError("too large or nested too deep") from None
    if isinstance(document, dict) and "schema" in document and not document.keys() & {"type", "properties"}:
        question, important = document.get("question"), document.get("important") is True
        return _Written(schema=document["schema"], question=_words(question, "A question"), important=important)
    title = _words(document.get("title"), "A question") if isinstance(document, dict) else "A question"
    more = _words(document.get("description"), "") if isinstance(document, dict) else ""
    return _Written(schema=document, question=f"**{title}**\n\n{more}".strip())


def _words(value: object, otherwise: str) -> str:
    return value if isinstance(value, str) and value.strip() else otherwise


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            content = stream.read(_FILE_LIMIT + 1)
    except FileNotFoundError:
        raise ConfigError(f"there is no {path}. Name a file") from None
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}. Mend its owner or its mode") from None
    return content


def _stdin() -> bytes:
    return sys.stdin.buffer.read(_FILE_LIMIT + 1)


def _text(content: bytes, name: str) -> str:
    if len(content) > _FILE_LIMIT:
        raise ConfigError(f"{name} is too large. Take at most {_FILE_LIMIT} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}, byte {error.start}: this is no UTF-8. Save it as UTF-8") from None


def _zone(name: str) -> ZoneInfo | Any:
    try:
        return ZoneInfo(name) if name else UTC
    except (LookupError, ValueError, OSError):
        raise ConfigError(f"--timezone {name}: there is no such zone. Write a name such as Europe/Berlin") from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--today {text}: this is no day. Write it such as 2026-03-01") from None


# printing


def _error(error: FieldError) -> dict[str, Any]:
    """An error with what it has: field and code always, the rest where there is any."""
    found: dict[str, Any] = {"field": error.field, "code": error.code}
    if error.limit is not None:
        found["limit"] = error.limit
    for name in ("nearest", "line", "readings"):
        if value := getattr(error, name, None):
            found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _print(document: dict[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False, default=_plain)
    print(text.encode("utf-8", "replace").decode())


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)
