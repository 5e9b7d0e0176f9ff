"""What people say to something of ours that waits for them: a question, an approval (FORM-14, PART-8).

Each kind has its own hearer; they are asked in turn, and the first whose matter it is hears it. None of them calls an
agent's model, and what is an answer is told by structure alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.model.output import Final
from policy.event import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """It was heard, whatever came of it.

    Attributes:
        says: what is said in the conversation; None: nothing.
        toast: what the person who tapped is told, in private where the platform can; empty: what they see says it.
        inside: what is said is for trusted readers alone; it does not leave where others read along by then.
    """

    says: Final | None = None
    toast: str = ""
    inside: bool = False


class Hearer(Protocol):
    """Hears what is its matter."""

    async def shows(self, part_id: int) -> bool:
        """Whether a part of the outbox shows something of its matter, so that a tap under it is an answer."""
        ...

    async def awaits(self, event: Event) -> bool:
        """Whether a message is an answer by its structure: a reply to what it has shown, or in the thread of that."""
        ...

    async def tapped(self, part_id: int, value: str, event: Event, *, language: str) -> Heard | None:
        """A button under a part; None: not its matter."""
        ...

    async def replied(self, event: Event, text: str, *, language: str) -> Heard | None:
        """A message for which :meth:`awaits` was true; None: not its matter."""
        ...

    async def commanded(self, event: Event, text: str, *, language: str) -> Heard | None:
        """A control command, with all of its words; None: not its matter, or not here."""
        ...

    async def told(self, event: Event, parts: Sequence[int]) -> None:
        """The parts of the outbox that said what :meth:`replied` returned."""
        ...
