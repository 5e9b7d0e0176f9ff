"""What the face of A2H asks of its store."""

from datetime import datetime
from typing import Protocol

from bot.model.intent import Intent


class IntentStore(Protocol):
    """Where interactions are kept; every write is durable when it returns."""

    async def put(self, interaction: Intent) -> Intent | None:
        """Keep one; the one of the same agent with the same message stays and is returned; None: its nonce was used."""
        ...

    async def get_of(self, agent: str, interaction_id: str) -> Intent | None:
        """One of this agent."""
        ...

    async def get(self, interaction_id: str) -> Intent | None:
        """One of any agent."""
        ...

    async def by_message(self, agent: str, message: str) -> Intent | None:
        """By the agent's message_id."""
        ...

    async def aim(self, interaction: Intent) -> None:
        """Write ``subject`` and ``attempt``."""
        ...

    async def answer(self, interaction: Intent) -> Intent:
        """Write ``answer`` and ``closed_at``, once; returns what stands: the first answer is the answer."""
        ...

    async def forget(self, interaction_id: str) -> None:
        """It came to nothing; the agent may send the same message again."""
        ...

    async def open(self) -> list[Intent]:
        """Those that are not closed, the oldest first."""
        ...

    async def count(self, agent: str) -> int:
        """How many of an agent are not closed."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Forget those that were closed long enough ago; returns how many."""
        ...
