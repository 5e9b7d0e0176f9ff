"""What the rooms of grants and of scheduled deliveries need of their store (OUT-6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.model.delivery import Delivery
from bot.ports.store import NewPart, Waiting
from policy.destination import Destination
from policy.event import Chat
from policy.grants import Grant


class GrantLooks(Protocol):
    """Grants as they stand."""

    async def get(self, grant_id: str) -> Grant | None:
        """One grant."""
        ...

    async def all(self) -> list[Grant]:
        """Every grant, the latest first; at most a thousand."""
        ...


class GrantStore(GrantLooks, Protocol):
    """Grants. What changes one is one transaction with its journal record."""

    async def add(self, grant: Grant) -> Grant:
        """Keep a grant; the one that is there under the same id stays, and is returned."""
        ...

    async def revoke(self, grant_id: str, *, by: str, now: datetime) -> bool:
        """Take one back; False: there is none, or it was taken back before. ``by``: an issuer, for the record."""
        ...

    async def use(self, grant_id: str, *, now: datetime) -> bool:
        """Take one use of a grant that is open; False: it is not. What it is used for is stored by itself."""
        ...

    async def fitting(self, agent: str, destination: Destination) -> list[Grant]:
        """Grants of an agent for exactly this place, the first to expire first; also those that are used up."""
        ...


class DeliveryLooks(Protocol):
    """Deliveries as they stand."""

    async def get(self, delivery_id: str) -> Delivery | None:
        """One delivery."""
        ...

    async def get_of(self, agent: str, delivery_id: str) -> Delivery | None:
        """One delivery of this agent; another one's is not even read, so that nobody can tell it from none."""
        ...

    async def all(self) -> list[Delivery]:
        """Every delivery, the latest first; at most a thousand."""
        ...

    async def receipts(self, delivery_id: str) -> Mapping[str, int]:
        """How many parts of it are in which state of the outbox."""
        ...


class DeliveryStore(DeliveryLooks, Protocol):
    """Deliveries. What changes one is one transaction with its journal record."""

    async def put(self, delivery: Delivery) -> Delivery:
        """Keep a delivery; one of the same agent with the same key stays, and is returned."""
        ...

    async def by_key(self, agent: str, key: str) -> Delivery | None:
        """The delivery of an agent with this key."""
        ...

    async def note_muted(self, agent: str, code: str, *, now: datetime) -> None:
        """Record that something was muted that can't be kept as a delivery: it names no complete destination."""
        ...

    async def direct_with(self, account: str) -> list[Destination]:
        """Private chats of bots with this account, by the platforms' own facts; the latest first."""
        ...

    async def open_of(self, agent: str) -> list[Delivery]:
        """Those of an agent that are not closed, in the order in which they were made."""
        ...

    async def due(self, now: datetime) -> list[Delivery]:
        """Those whose time has come, the earliest first."""
        ...

    async def fire(
        self,
        changed: Delivery,
        parts: Sequence[NewPart],
        *,
        at: datetime,
        grant_id: str,
        missed: int,
        now: datetime,
    ) -> list[Waiting] | None:
        """Hand one occurrence over: its parts, one use of the grant and the step of the delivery, one transaction.

        Args:
            changed: the delivery as it is afterwards.
            parts: that say it.
            at: the occurrence for which it was due, ``next_at`` before.
            grant_id: of the grant.
            missed: how many occurrences before it were missed.
            now: aware.

        Returns:
            None, and nothing was done: somebody has dealt with this occurrence, or the grant is not good any more.
        """
        ...

    async def step(self, changed: Delivery, *, at: datetime, missed: int = 0, now: datetime) -> bool:
        """Deal with one occurrence without saying anything; False: somebody has dealt with it already."""
        ...

    async def settle(self, *, now: datetime) -> int:
        """Close what was handed over and has come to its end, by what came of its parts; returns how many."""
        ...

    async def place(self, destination: Destination) -> tuple[Chat, str | None] | None:
        """What kind of place it was at the last event there, and the other side of a one-to-one chat; None: unseen."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How much stands open, for ``/status``.

    Attributes:
        approvals: calls that wait for people.
        drafts: drafts that wait for people.
        unreconciled: calls and drafts of which nobody knows what came of them (APPR-6).
        unknown: sends of which nobody knows whether they arrived.
        grants: that could still be used.
        deliveries: that are scheduled.
    """

    approvals: int
    drafts: int
    unreconciled: int
    unknown: int
    grants: int
    deliveries: int
