"""What an answer may be about, and what gives it away: the words of AUTO-1 to 4 and OUT-4 as values."""

from dataclasses import dataclass, field
from enum import StrEnum


class ContentClass(StrEnum):
    """What an answer is about (AUTO-1, AUTO-2)."""

    ROUTINE = "routine"
    PRICES = "prices"
    CONTRACT = "contract"
    LEGAL = "legal"
    PUBLIC_POST = "public_post"
    UNVERIFIED_CLAIM = "unverified_claim"
    TECHNICAL_FIGURE = "technical_figure"


DRAFT_ONLY = frozenset(ContentClass) - {ContentClass.ROUTINE}
"""Always filed for an operator; a policy can add to it and never take away (AUTO-2)."""


class HardStop(StrEnum):
    """What is never sent, approval or not; no policy can change it (AUTO-3)."""

    SIGNING = "signing"
    MOVING_MONEY = "moving_money"
    ENTERING_CREDENTIALS = "entering_credentials"
    PUBLISHING_PACKAGES = "publishing_packages"
    PASSING_ON_INFORMATION = "passing_on_information"


@dataclass(frozen=True, kw_only=True, slots=True)
class Detector:
    """What raises a text to a class or a hard stop, whatever its agent declares (AUTO-4).

    Attributes:
        raises: to what.
        words: words and phrases, found whole and in any case; a ``*`` at the end stands for any ending.
        patterns: regular expressions of RE2, found in any case.
        amounts: sums of money with a currency are found.
    """

    raises: ContentClass | HardStop
    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    amounts: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Disclosure:
    """What the operator of the gateway adds to what never goes outside (OUT-4).

    Attributes:
        hosts: names of hosts of one's own; ``.example.net`` and ``*.example.net`` stand for all names below it.
        words: as in a :class:`Detector`.
        patterns: as in a :class:`Detector`.
    """

    hosts: tuple[str, ...] = field(default=(), repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)
    patterns: tuple[str, ...] = field(default=(), repr=False)
