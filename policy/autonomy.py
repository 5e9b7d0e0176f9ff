"""What an answer is about, and whether a person has to see it first (AUTO-1 to 4, AUTO-8).

The agent declares a class; detectors raise it and never lower it. A class that nobody knows is an unverified claim.
What is declared to be a hard stop is one for any reader; what detectors find counts where outsiders read along, since
inside the same words are talk about the work and no act towards anybody.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from policy.amounts import AMOUNT
from policy.content import ContentClass, Detector, HardStop
from policy.record import Entry, ReferenceFlaw, check, supports
from policy.ruleset import ChannelPolicy
from policy.search import Search, Wanted

Topic = ContentClass | HardStop


@dataclass(frozen=True, kw_only=True, slots=True)
class Assessment:
    """What is to become of an answer.

    Attributes:
        classes: what it is about; ROUTINE alone is never beside another one.
        stops: hard stops: it is never sent, and never becomes a draft (AUTO-3).
        flaws: of its references; any but MISSING blocks it (AUTO-8).
        draft: it is filed for an operator, if nothing blocks it.
        codes: all of that for a journal and for operators, in a stable order.
    """

    classes: frozenset[ContentClass]
    stops: frozenset[HardStop] = frozenset()
    flaws: frozenset[ReferenceFlaw] = frozenset()
    draft: bool = False

    @property
    def blocked(self) -> bool:
        """Whether it can't be sent, approval or not."""
        return bool(self.stops or self.flaws - {ReferenceFlaw.MISSING})

    @property
    def codes(self) -> tuple[str, ...]:
        """Bounded words: classes other than routine, hard stops, flaws of references."""
        classes = sorted(self.classes - {ContentClass.ROUTINE})
        return (*(one.value for one in classes), *sorted(self.stops), *sorted(self.flaws))


class Detectors:
    """The detectors of a policy, ready to look."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        """Args: detectors: the patterns of which are known to compile."""
        wanted: dict[Topic, Wanted] = {}
        for one in detectors:
            patterns = (*(f"(?i:{pattern})" for pattern in one.patterns), *((AMOUNT,) if one.amounts else ()))
            known = wanted.get(one.raises, Wanted())
            wanted[one.raises] = Wanted(words=known.words + one.words, patterns=known.patterns + patterns)
        self._search: Search[Topic] = Search(wanted)

    def found(self, text: str) -> frozenset[Topic]:
        """What a text is about, by its words."""
        return self._search.found(text)


def declared_as(word: str) -> Topic:
    """What an agent's own word for its answer stands for (AUTO-4); what is not known is an unverified claim."""
    if not word:
        return ContentClass.ROUTINE
    for kind in (ContentClass, HardStop):
        try:
            return kind(word)
        except ValueError:
            continue
    return ContentClass.UNVERIFIED_CLAIM


def assess(
    texts: Sequence[str],
    *,
    declared: str,
    references: Sequence[str],
    settings: ChannelPolicy,
    detectors: Detectors,
    needs_reference: frozenset[ContentClass],
    entries: Mapping[str, Entry],
    counterparty: str | None,
    now: datetime,
) -> Assessment:
    """Look at an answer before it is presented.

    Args:
        texts: all that people would read in it: its words, names of files, buttons.
        declared: the class by the agent's own word; empty: routine.
        references: ids of the record that it rests on.
        settings: of the place where it would be said, with the audience resolved.
        detectors: of the policy in force.
        needs_reference: classes that are unverified claims without a source.
        entries: the record by id.
        counterparty: of the place.
        now: aware.
    """
    topics = {declared_as(declared)}
    if not settings.audience.trusted:
        topics |= detectors.found("\n".join(texts))
    stops = frozenset(one for one in topics if isinstance(one, HardStop))
    classes = {one for one in topics if isinstance(one, ContentClass)}
    flaws = set(check(references, entries, counterparty, now))
    routine = {ContentClass.ROUTINE}
    if any(not supports(references, entries, one) for one in (classes or routine) & needs_reference):
        flaws.add(ReferenceFlaw.MISSING)
        classes.add(ContentClass.UNVERIFIED_CLAIM)
    classes = classes - routine or routine
    return Assessment(
        classes=frozenset(classes),
        stops=stops,
        flaws=frozenset(flaws),
        draft=is_draft(classes, settings),
    )


def is_draft(classes: Iterable[ContentClass], settings: ChannelPolicy) -> bool:
    """Whether an answer of such classes is filed for an operator: any where the policy says so, others outside."""
    if not settings.autonomy.automatic or ContentClass.ROUTINE in settings.autonomy.draft_only:
        return True
    return not settings.audience.trusted and not settings.autonomy.draft_only.isdisjoint(classes)
