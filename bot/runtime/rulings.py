"""Decisions as they fall, handed to those who listen (see :mod:`bot.ports.decisions`)."""

from collections.abc import Callable

from bot.observability.log import get_logger
from bot.ports.decisions import Listener, Ruling

log = get_logger(__name__)


class Rulings:
    """A feed that people of the daemon publish to and channels subscribe to."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear every ruling from now on; returns the function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, ruling: Ruling) -> None:
        """Tell everybody; a listener that fails concerns nobody else."""
        for listener in self._listeners:
            try:
                listener(ruling)
            except Exception as error:  # noqa: BLE001 - it only looks on
                log.error("listener_failed", error=type(error).__name__)
