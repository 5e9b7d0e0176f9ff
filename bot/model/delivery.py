"""A delivery (OUT-6): words that an agent has go to a place at a time, or again and again, with a grant.

What becomes of it is a table. One that comes again stays scheduled whatever becomes of each time; its receipts are
counted. One that comes once ends with its receipt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from policy.destination import Destination

MAX_TEXT: Final = 20_000
"""Characters."""


class DeliveryState(StrEnum):
    """Where a delivery stands."""

    SCHEDULED = "scheduled"
    SENT = "sent"  # its parts are in the outbox, durable; nobody has told yet what came of them
    DELIVERED = "delivered"  # the platform's receipt is stored
    REJECTED = "rejected"
    UNKNOWN = "unknown"  # nobody knows whether it arrived; it is not sent again (DUR-2)
    MUTED = "muted"
    MISSED = "missed"  # the gateway was down at its time, and for too long after it
    CANCELLED = "cancelled"

    @property
    def closed(self) -> bool:
        """Whether nothing more comes of it."""
        return self not in (DeliveryState.SCHEDULED, DeliveryState.SENT)


TABLE: Final[Mapping[tuple[DeliveryState, str], DeliveryState]] = {
    (DeliveryState.SCHEDULED, "go_on"): DeliveryState.SCHEDULED,  # it comes again: sent, muted or missed this time
    (DeliveryState.SCHEDULED, "send"): DeliveryState.SENT,
    (DeliveryState.SCHEDULED, "mute"): DeliveryState.MUTED,
    (DeliveryState.SCHEDULED, "miss"): DeliveryState.MISSED,
    (DeliveryState.SCHEDULED, "cancel"): DeliveryState.CANCELLED,
    (DeliveryState.SENT, "deliver"): DeliveryState.DELIVERED,
    (DeliveryState.SENT, "reject"): DeliveryState.REJECTED,
    (DeliveryState.SENT, "lose"): DeliveryState.UNKNOWN,
    (DeliveryState.SENT, "withhold"): DeliveryState.MUTED,  # the door, at the last moment
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One delivery.

    Attributes:
        id: opaque.
        agent: whose words they are.
        key: unique within the agent; the same call made again is the same delivery.
        destination: where to.
        text: Markdown; empty where it is erased by now.
        grant: id of the grant that it names; None: any that fits.
        at: when, where it comes once.
        cron: five fields, where it comes again and again.
        timezone: IANA name of the zone in which ``cron`` is meant.
        state: where it stands.
        code: why it was muted the last time.
        next_at: when it is due next.
        fired: how often it was handed over.
        made_at: when it was asked for.
        closed_at: when it came to its end.
        declared: the class of what it says, by the agent's own word (AUTO-4).
        references: ids of the authorised record that it rests on (AUTO-8).
    """

    id: str
    agent: str
    key: str
    destination: Destination
    text: str = field(repr=False)
    grant: str | None
    at: datetime | None
    cron: str | None
    timezone: str
    state: DeliveryState
    code: str | None = None
    next_at: datetime | None
    fired: int = 0
    made_at: datetime
    closed_at: datetime | None = None
    declared: str = ""
    references: tuple[str, ...] = ()


class TransitionError(Exception):
    """A fault of ours: the verb does not lead anywhere from here."""


def after(state: DeliveryState, verb: str) -> DeliveryState:
    """The state that a verb leads to.

    Raises:
        TransitionError: it leads nowhere from there.
    """
    try:
        return TABLE[state, verb]
    except KeyError:
        raise TransitionError(f"a delivery that is {state} can't {verb}") from None
