"""Decisions as they fall: beside each message an operator sees the decision and its reason."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from policy.decision import Decision
from policy.destination import Destination


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """One decision, or what came of it later.

    Attributes:
        destination: where the event happened.
        message: the platform's id of the message that the event is or is about.
        decision: the decision in force for it.
        result: what came of it, bounded (``answered``, ``silent``, ``withheld`` ...); None: not known yet.
        notes: further bounded codes, such as why a part was withheld. Never words of people or agents.
    """

    destination: Destination
    message: str
    decision: Decision
    result: str | None = None
    notes: tuple[str, ...] = ()


Listener = Callable[[Ruling], None]
"""Is told at once and must not block."""


class DecisionFeed(Protocol):
    """Where rulings can be heard."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear every ruling from now on; returns the function that ends it."""
        ...
