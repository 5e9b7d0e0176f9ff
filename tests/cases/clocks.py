"""Time that can be let pass: what waits for half a minute is not waited for."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from tests.harness import Clock, Running


class Jumping(Clock):
    """A clock that can be put forward; it remembers when it was."""

    def __init__(self, at: datetime | None = None) -> None:
        super().__init__(at)
        self._jumps: list[tuple[float, float]] = []

    def jump(self, gateway: Running, seconds: float) -> None:
        """Let time pass, also for the silences that the platform has asked for."""
        self._jumps.append((asyncio.get_running_loop().time(), seconds))
        self.offset += timedelta(seconds=seconds)
        silences = gateway.channel._sender._pace._silences._until
        for chat in silences:
            silences[chat] -= seconds

    def moment(self, loop_time: float) -> float:
        """When a moment of the event loop was by this clock, in seconds of an own count."""
        return loop_time + sum(seconds for at, seconds in self._jumps if at <= loop_time)


class Heard(logging.Handler):
    """What the gateway logs while a case runs: level and event, without its facts."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        event = record.msg.get("event", "") if isinstance(record.msg, dict) else record.getMessage()
        self.lines.append((record.levelno, str(event)))

    @property
    def errors(self) -> list[str]:
        return [event for level, event in self.lines if level >= logging.ERROR]


@contextmanager
def listening() -> Iterator[Heard]:
    """Hear the log instead of printing it."""
    heard = Heard()
    root = logging.getLogger()
    root.addHandler(heard)
    try:
        yield heard
    finally:
        root.removeHandler(heard)
