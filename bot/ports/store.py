"""What the gateway needs of its store. Every write is durable when it returns; related writes are one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from bot.model.inbound import Arrival, Stored
from bot.model.part import Part
from policy.boundary import Basis
from policy.decision import Audience, Decision
from policy.destination import Destination
from policy.event import Original
from policy.quick import quick


class InboxState(StrEnum):
    """States of an inbox row; the table of transitions stands in storage.states."""

    NEW = "new"  # durable, undecided
    DEFERRED = "deferred"  # part of a batch, or waiting for a key or the bot's identity
    DECIDED = "decided"  # RESPOND is recorded, the work is not finished
    DONE = "done"  # finished: muted, answered, or silent by the agent's choice
    SET_ASIDE = "set_aside"  # can't be understood (PART-17)


class OutboxState(StrEnum):
    """States of an outbox part; the table of transitions stands in storage.states."""

    READY = "ready"
    SENDING = "sending"  # the call has begun; after a crash this becomes UNKNOWN
    DELIVERED = "delivered"  # the platform's receipt is stored
    REJECTED = "rejected"
    UNKNOWN = "unknown"  # DUR-2
    SKIPPED = "skipped"  # nothing to show, or withheld at the door just before sending
    RETRACTED = "retracted"  # its request was stopped before it was sent


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What the store keeps of an event to find it again: ids only."""

    destination: Destination
    message: str | None
    sender: str | None
    sent_at: datetime
    chat: str
    kind: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfinished:
    """An inbox row that a restart takes up again; ``members`` are the other parts of its settled batch, in order."""

    stored: Stored
    state: InboxState
    decision: Decision | None
    batch: str | None
    attempts: int
    members: tuple[Stored, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """One kept message of a channel (PART-9), untrusted."""

    sender: str | None
    text: str = field(repr=False)
    at: datetime


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class NewPart:
    """A part on its way into the outbox.

    Attributes:
        lane: parts of one lane leave in their order.
        part: final bytes.
        audience: at the time of the check; resolved again before sending.
        basis: why it may be said.
        person: in a one-to-one chat the account of the other side, for the audience.
        chat: kind of place.
        event_id: the inbox row that it answers, if any.
        unclear: what the policy wants for an unclear send (``park`` or ``resend``).
    """

    lane: str
    part: Part
    audience: Audience
    basis: Basis
    person: str | None
    chat: str
    event_id: int | None
    unclear: str = "park"


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A part in the outbox."""

    id: int
    new: NewPart
    attempts: int = 0
    not_before: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tapped:
    """What a button's token stands for."""

    value: str = field(repr=False)
    label: str = field(repr=False)
    destination: Destination
    event_id: int | None
    part_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """Where a message stands and who wrote it; ``sender`` is None where there is no person behind it."""

    sender: str | None
    thread: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """The end of a piece of work, where it is written with something else.

    Attributes:
        event_id: the inbox row that carries it.
        parts: its last ones.
        outcome: as :meth:`Inbox.finish` takes it.
    """

    event_id: int
    parts: tuple[NewPart, ...]
    outcome: str


class Inbox(Protocol):
    """Arrivals, decisions, observations."""

    async def started(self, account: str, *, now: datetime) -> datetime:
        """When the account was first started here; ``now`` the first time (PART-12)."""
        ...

    async def put(self, account: str, arrivals: Sequence[Arrival]) -> list[Stored]:
        """Store arrivals; returns those that are new, in order. A repeated key is recognised (DUR-1)."""
        ...

    async def unfinished(self, account: str) -> list[Unfinished]:
        """Rows that are not finished, in the order of arrival; their raw events with them."""
        ...

    async def decide(
        self,
        stored: Stored,
        subject: Subject,
        decision: Decision,
        *,
        now: datetime,
        batch: str | None = None,
        observe: tuple[str, datetime] | None = None,
        set_aside: bool = False,
    ) -> None:
        """Record the decision before anything else is done (PART-13), one transaction, with its journal record.

        MUTE finishes the row and erases its words (PART-9): raw becomes NULL; key, digest and decision stay.
        ``observe`` is (text, keep until) of a muted message that the channel's policy keeps.
        DEFER keeps the row as DEFERRED with ``batch``. RESPOND makes it DECIDED.
        """
        ...

    async def settle(self, ids: Sequence[int], decision: Decision, *, now: datetime) -> None:
        """Record the final decision of deferred rows.

        MUTE erases and finishes all. RESPOND: the first stays DECIDED and carries the work, the others are DONE with
        the same decision; their raw stays until the work is finished.
        """
        ...

    async def attempt(self, event_id: int) -> int:
        """Count one more attempt at the work; returns the number of this one, from 1."""
        ...

    async def finish(
        self,
        event_id: int,
        parts: Sequence[NewPart],
        *,
        outcome: str,
        now: datetime,
    ) -> list[Waiting]:
        """End the work: its final parts enter the outbox and the row is DONE, one transaction, with a journal record.

        ``outcome`` is bounded: answered, drafted, silent, safe_error, withheld, acknowledged, stopped, withdrawn or
        control.
        """
        ...

    async def original(self, destination: Destination, message: str, *, before: int | None = None) -> Original:
        """What became of a message (PART-11).

        ``before``: the row of an edit of it, which does not speak for itself.
        """
        ...

    async def located(self, destination: Destination, message: str) -> Located | None:
        """Who wrote a message and in which thread, as far as it came in here."""
        ...

    async def withdraw(self, destination: Destination, message: str, *, now: datetime) -> list[int]:
        """Erase what is kept of a message that was deleted (PART-9) and mark its rows withdrawn.

        Returns the rows whose work is not finished (PART-18).
        """
        ...

    async def observed(self, destination: Destination, *, limit: int, now: datetime) -> list[Observed]:
        """The latest kept messages of this destination, oldest first; nothing that is past its time."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Delete observations whose time is over and contents older than the retention; returns how many."""
        ...


class Outbox(Protocol):
    """Parts on their way out."""

    async def put(self, parts: Sequence[NewPart], *, now: datetime) -> list[Waiting]:
        """Store parts, in order."""
        ...

    async def interrupted(self, account: str, *, now: datetime) -> list[int]:
        """Settle what was SENDING when an earlier process died; called at start, before :meth:`pending`.

        It becomes UNKNOWN, or READY where its ``unclear`` says resend; journaled. Returns the parts that are UNKNOWN
        by that, for the operators.
        """
        ...

    async def pending(self, account: str, *, now: datetime) -> list[Waiting]:
        """What is READY at start, in order."""
        ...

    async def begin(self, part_id: int) -> None:
        """The call is about to be made: READY -> SENDING, attempts + 1."""
        ...

    async def end(
        self,
        part_id: int,
        state: OutboxState,
        *,
        code: str,
        messages: Sequence[str],
        now: datetime,
    ) -> None:
        """What came of it, with a journal record; DELIVERED stores the receipt (ids of our messages)."""
        ...

    async def postpone(self, part_id: int, *, until: datetime, flood: bool) -> None:
        """SENDING -> READY, not before ``until``; a flood wait takes the attempt back."""
        ...

    async def replace(self, part_id: int, part: Part) -> None:
        """The part with other bytes (unformatted, re-targeted): SENDING or READY -> READY."""
        ...

    async def moved(self, account: str, old: str, new: str, *, now: datetime) -> bool:
        """Record that a channel goes on under a new id, once; True the first time. Journaled without the ids."""
        ...

    async def wrote(self, destination: Destination, message: str) -> bool:
        """Whether a message is ours, by our own receipts (PART-1)."""
        ...

    async def tapped(self, account: str, token: str) -> Tapped | None:
        """What a button's token stands for."""
        ...

    async def pressed(self, destination: Destination, message: str, key: str) -> Tapped | None:
        """What a sign under a message of ours stands for, where a platform has no buttons."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenChannel:
    """A channel that the bot has seen: for ``discreet channels``.

    Attributes:
        destination: where.
        chat: what kind of place it was at the last event.
        decisions: how many messages, edits and taps of others had which outcome.
        last_at: when the last event was decided, of whatever kind.
        person: in a one-to-one chat the account of the other side, where it is known.
    """

    destination: Destination
    chat: str
    decisions: dict[str, int]
    last_at: datetime
    person: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """How much there is, for the metrics (OPS-4).

    Attributes:
        inbox: events that are not finished.
        outbox: parts that are not sent.
        unknown: parts of which nobody knows whether they arrived.
        journal: records in the journal.
    """

    inbox: int
    outbox: int
    unknown: int
    journal: int


class Overview(Protocol):
    """What operators look at."""

    async def load(self) -> Load:
        """How much there is; cheap however full the store is."""
        ...

    async def channels(self) -> list[SeenChannel]:
        """Every channel seen, with counts of decisions by outcome."""
        ...

    async def unclear(self) -> list[Waiting]:
        """Parts whose sending is UNKNOWN."""
        ...


class State(Protocol):
    """Small things that an adapter must know again after a restart: a cursor, how a channel began."""

    async def read(self, account: str) -> dict[str, str]:
        """All that is kept for an account."""
        ...

    async def write(self, account: str, changes: Mapping[str, str | None]) -> None:
        """Keep values by name, one transaction; None forgets one."""
        ...


class Journal(Protocol):
    """The append-only, hash-chained record (DUR-4, DUR-5)."""

    async def note(self, kind: str, facts: dict[str, str | int | None], *, now: datetime) -> None:
        """Append one record of bounded facts (never bodies, names, channel ids or secrets)."""
        ...
