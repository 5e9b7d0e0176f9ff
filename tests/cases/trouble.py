"""What the gateway logged as an error while a case ran."""

import logging
from typing import Any, Final, Self

_CRASHES: Final = frozenset(
    {
        "agent_crashed",
        "answer_not_shown",
        "item_failed",
        "lane_stopped",
        "listener_failed",
        "sweep_failed",
        "task_died",
    },
)


class Trouble(logging.Handler):
    """Collects errors of our own loggers.

    Attributes:
        failures: what was logged, by name alone.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.failures: list[str] = []

    @property
    def crashes(self) -> list[str]:
        """Those of them that only a fault of ours can cause."""
        return [name for name in self.failures if name in _CRASHES or name.startswith("uncaught")]

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the name of what happened."""
        message: Any = record.msg
        self.failures.append(str(message.get("event")) if isinstance(message, dict) else record.name)

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
