"""The record of what the bot called."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.servers.botapi.arguments import Arguments, Upload
from tests.servers.botapi.errors import ApiError


@dataclass(eq=False)
class Call:
    """One call of a method.

    Attributes:
        method: its name as the documentation spells it, whatever letter case the bot used.
        arguments: as they came.
        time: when it came, on the event loop's monotonic clock (s).
        result: what was answered; None while it is open, and when it was refused.
        error: the refusal, whether Telegram's or one on order.
        fate: ``open``, ``answered``, ``refused``, ``hanging``, or ``cut``.
    """

    method: str
    arguments: Arguments
    time: float
    result: Any = None
    error: ApiError | None = None
    fate: str = field(default="open")

    @cached_property
    def params(self) -> dict[str, Any]:
        """The arguments for comparing: numbers, truth values and structures decoded."""
        return self.arguments.readable()

    @property
    def files(self) -> Mapping[str, Upload]:
        """What was uploaded, by form field."""
        return self.arguments.files

    @property
    def chat_id(self) -> Any:
        """The chat that the call names, None if it names none."""
        return self.params.get("chat_id")

    @property
    def text(self) -> str:
        """The text or caption that it brings, as sent."""
        return self.arguments.text("text") or self.arguments.text("caption")

    def __repr__(self) -> str:
        return f"<{self.method} {self.params} {self.error.description if self.error else self.fate}>"


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that Telegram lets pass or ignores, but that is wrong."""

    method: str
    problem: str
