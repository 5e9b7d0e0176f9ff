"""Batches: albums, several files in a row, a paste that the client split (PART-8).

Parts are deferred one by one. When no further part has come for ``quiet`` (or ``longest`` is over) the batch is judged
once, whole: if any part has consent, all of it is one request; otherwise all of it is muted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from policy.decision import Decision, Outcome
from policy.event import Event, Kind, Memory
from policy.participation import admit
from policy.reasons import Reason
from policy.ruleset import Burst, Policy

_WAITING = frozenset({Reason.ALBUM_PART, Reason.BURST_PART, Reason.FRAGMENT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """An open batch.

    Attributes:
        key: where, who and which album; only the same key can join.
        opened_at: arrival of the first part.
        last_at: arrival of the latest part.
        album: the platform's own id; other messages don't join an album.
        fragment: the latest part was text as long as clients make them when they split a paste.
    """

    key: str
    opened_at: datetime
    last_at: datetime
    album: str | None
    fragment: bool

    def due_at(self, burst: Burst) -> datetime:
        """When the batch is whole."""
        return min(self.last_at + burst.quiet, self.opened_at + burst.longest)


def waits(decision: Decision) -> bool:
    """Whether a decision opens or feeds a batch."""
    return decision.outcome is Outcome.DEFER and decision.reason in _WAITING


def batch_key(event: Event) -> str:
    """Key of the batch that an event opens."""
    return f"{event.destination}|{event.sender}|{event.batch or ''}"


def open_batch(event: Event, *, now: datetime) -> Batch:
    """The batch that a first part opens."""
    return Batch(key=batch_key(event), opened_at=now, last_at=now, album=event.batch, fragment=event.truncated)


def joins(batch: Batch, event: Event) -> bool:
    """Whether an event is a further part: same place, person and album, and a part by its form.

    A message of its own (text that follows no fragment, another command, an edit) is never swallowed by a batch.
    """
    if event.kind is not Kind.MESSAGE or batch.key != batch_key(event):
        return False
    if batch.album is not None:
        return event.batch == batch.album
    if event.command is not None or event.mentions_others or event.sender is None:
        return False  # without an account nobody can tell that it is the same person (PART-16)
    return event.attachments > 0 or batch.fragment


def extend(batch: Batch, event: Event, *, now: datetime) -> Batch:
    """The batch with one more part."""
    return replace(batch, last_at=now, fragment=event.truncated)


def settle(policy: Policy, parts: Sequence[tuple[Event, Memory]], *, now: datetime) -> Decision:
    """Judge a batch that is quiet.

    Args:
        policy: in force.
        parts: its events in message order, each with what is known of the past.
        now: aware.

    Returns:
        The decision for all parts: the first grant found, else the first veto. Never a defer.
    """
    verdicts = [admit(policy, event, memory, now=now, whole=True) for event, memory in parts]
    for verdict in verdicts:
        if verdict.outcome is Outcome.RESPOND:
            return verdict
    return verdicts[0]
