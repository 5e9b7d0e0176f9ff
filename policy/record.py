"""The authorised record: facts that answers may rest on, and whether what an answer names is good for it (AUTO-8).

An entry is known by its id. It says who may see it and until when it holds; what it says is the agent's business. Where
entries come from (the policy file, a file, an HTTP source) does not matter here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from policy.content import ContentClass


class ReferenceFlaw(StrEnum):
    """What is wrong with what an answer names as its source."""

    UNKNOWN = "reference_unknown"
    EXPIRED = "reference_expired"
    FOREIGN = "reference_foreign"  # not for this counterparty
    MISSING = "reference_missing"  # none of those that are named is for this class (an unverified claim, no block)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One fact on record.

    Attributes:
        id: known to the agent.
        counterparties: ids of those that may see it; None: everybody may.
        expires_at: it holds until then, not after; None: until it is removed.
        classes: of what it can be the source; empty: of anything.
        text: what it says, for the agent and for operators; nothing is judged by it.
    """

    id: str
    counterparties: frozenset[str] | None = None
    expires_at: datetime | None = None
    classes: frozenset[ContentClass] = frozenset()
    text: str = field(default="", repr=False)


def check(
    references: Iterable[str], entries: Mapping[str, Entry], counterparty: str | None, now: datetime
) -> frozenset[ReferenceFlaw]:
    """Look whether an answer may rest on what it names (AUTO-8); any flaw blocks it.

    Args:
        references: ids that the agent has attached.
        entries: the record by id, as it stands now.
        counterparty: of the destination; None: it belongs to none, and sees what everybody may see.
        now: aware.
    """
    flaws: set[ReferenceFlaw] = set()
    for reference in references:
        entry = entries.get(reference)
        if entry is None:
            flaws.add(ReferenceFlaw.UNKNOWN)
            continue
        if entry.expires_at is not None and entry.expires_at <= now:
            flaws.add(ReferenceFlaw.EXPIRED)
        if entry.counterparties is not None and counterparty not in entry.counterparties:
            flaws.add(ReferenceFlaw.FOREIGN)
    return frozenset(flaws)


def supports(references: Iterable[str], entries: Mapping[str, Entry], wanted: ContentClass) -> bool:
    """Whether one of the references is a source for a class."""
    known = (entries[reference] for reference in references if reference in entries)
    return any(not entry.classes or wanted in entry.classes for entry in known)


def visible(entries: Iterable[Entry], counterparty: str | None, now: datetime) -> tuple[Entry, ...]:
    """What may be used for a destination: entries that hold, and that its counterparty may see (PROMPT-3).

    Args:
        entries: of the record.
        counterparty: of the destination; None: it belongs to none.
        now: aware.
    """
    return tuple(entry for entry in entries if not check((entry.id,), {entry.id: entry}, counterparty, now))
