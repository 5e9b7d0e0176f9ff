"""Structured logs on stderr: JSON, or one readable line each on a terminal (OPS-4).

Everything goes through one handler of the standard library, third-party loggers included, and the last thing that
happens to a line is :func:`bot.observability.redaction.redact`.

INVARIANT: a log line holds bounded facts: no bodies, no names of people, no secrets. Third-party loggers stay at
WARNING whatever level is asked for, because at DEBUG they print statements, URLs and payloads.
"""

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from bot.observability.failures import lines_of
from bot.observability.redaction import redact

OURS: Final = ("bot", "policy", "forms")
_QUIET: Final = ("aiohttp.access",)
_FIRST: Final = ("timestamp", "level", "event", "logger")


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger whose methods take an event name and bounded facts: ``log.warning("event_set_aside", platform=...)``."""
    return cast("FilteringBoundLogger", structlog.stdlib.get_logger(name))


def configure(*, level: str = "info", stream: TextIO | None = None, json_lines: bool | None = None) -> None:
    """Send all logs of this process to one stream; may be called again.

    Args:
        level: of our own loggers: debug, info, warning or error.
        stream: stderr when None.
        json_lines: None: JSON unless the stream is a terminal.
    """
    target = sys.stderr if stream is None else stream
    as_json = not target.isatty() if json_lines is None else json_lines
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_SHARED, _hide_arguments],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _without_bodies,
            _as_json if as_json else _as_line,
        ],
        # the record's own exc_info is already in the lines that we made of it
        keep_exc_info=False,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False  # a log line that can't be made must not print its arguments
    for name in OURS:
        logging.getLogger(name).setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).disabled = True


def _failures_alone(record: logging.LogRecord) -> bool:
    """Let nothing of aiohttp's own pass; what failed on our side is told in our words, by its type and frames."""
    from aiohttp.http_exceptions import HttpProcessingError  # whoever logs here has loaded it

    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, Exception) and not isinstance(error, HttpProcessingError | ConnectionError):
        get_logger(__name__).error("http_failed", failure=lines_of(error))
    return False


HTTP: Final = logging.getLogger("bot.http")
"""For every server of aiohttp: what it says of a broken request holds the request, and with it links and keys."""
HTTP.addFilter(_failures_alone)


def watch_for_failures(loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Log what nobody caught, in the main thread, in other threads and in tasks of the loop, without its text."""
    log = get_logger("bot.failures")

    def report(event: str, error: BaseException | None, where: str) -> None:
        trace = None if error is None else (type(error), error, error.__traceback__)
        log.error(event, where=where, exc_info=trace)

    def in_main(kind: type[BaseException], error: BaseException, _: object) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            report("uncaught", error, "main")

    def in_thread(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None and not isinstance(arguments.exc_value, SystemExit):
            report("uncaught", arguments.exc_value, _name_of(arguments.thread))

    def unraisable(arguments: "sys.UnraisableHookArgs") -> None:
        report("unraisable", arguments.exc_value, "destructor")

    sys.excepthook = in_main
    threading.excepthook = in_thread
    sys.unraisablehook = unraisable
    if loop is not None:

        def in_loop(_: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
            # The message of a context is fixed text of asyncio's; its objects have telling reprs and stay out.
            task = context.get("task") or context.get("future")
            name = task.get_name() if isinstance(task, asyncio.Task) else "loop"
            log.error(
                "uncaught_in_loop",
                where=name,
                said=str(context.get("message", "")).partition("\n")[0],
                exc_info=_info(context.get("exception")),
            )

        loop.set_exception_handler(in_loop)


def _info(error: object) -> Any:
    return (type(error), error, error.__traceback__) if isinstance(error, BaseException) else None


def _name_of(thread: threading.Thread | None) -> str:
    return "thread" if thread is None else thread.name


def _hide_arguments(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """A third-party line stands as its text; multi-line ones (reprs, dumps) keep their first line."""
    event["event"] = str(event.get("event", "")).partition("\n")[0][:500]
    return event


def _without_bodies(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replace an exception by its type and frames (see :mod:`bot.observability.failures`)."""
    found = event.pop("exc_info", None)
    event.pop("stack_info", None)
    if found is True:
        found = sys.exc_info()
    error = found[1] if isinstance(found, tuple) else found
    if isinstance(error, BaseException):
        event["failure"] = lines_of(error)
    return event


def _as_json(_: WrappedLogger, __: str, event: EventDict) -> str:
    # default=type name: an object that nobody meant to log shows what it is and not what it holds
    first = {key: event.pop(key) for key in _FIRST if key in event}
    return redact(json.dumps(first | dict(event), ensure_ascii=False, default=_type_name))


def _as_line(_: WrappedLogger, __: str, event: EventDict) -> str:
    rest: MutableMapping[str, Any] = dict(event)
    at = str(rest.pop("timestamp", ""))[11:19]
    level = str(rest.pop("level", ""))
    words = str(rest.pop("event", ""))
    rest.pop("logger", None)
    failure = rest.pop("failure", [])
    facts = " ".join(f"{key}={_shown(value)}" for key, value in rest.items())
    lines = [f"{at} {level:<8}{words} {facts}".rstrip(), *(f"    {line}" for line in failure)]
    return redact("\n".join(lines))


def _shown(value: object) -> str:
    return str(value) if isinstance(value, str | int | float | bool | None) else _type_name(value)


def _type_name(value: object) -> str:
    return f"<{type(value).__name__}>"


_SHARED: Final[list[Processor]] = [
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_SHARED,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)
