"""Why an answer was stopped, as operators read it: bounded codes made words, in a channel's language (OUT-8)."""

from collections.abc import Iterable
from typing import Final

from bot.texts.codes import Stop
from policy.boundary import Withheld
from policy.content import ContentClass, HardStop
from policy.record import ReferenceFlaw

_STOPS: Final[dict[str, Stop]] = {
    **{one.value: Stop.DRAFT for one in ContentClass},
    **{one.value: Stop.HARD_STOP for one in HardStop},
    **{one.value: Stop.REFERENCE for one in ReferenceFlaw},
    ReferenceFlaw.MISSING.value: Stop.DRAFT,
    Withheld.LEAK.value: Stop.LEAK,
    Withheld.DISCLOSURE.value: Stop.DISCLOSURE,
    Withheld.HARD_STOP.value: Stop.HARD_STOP,
    Withheld.DRAFT_ONLY.value: Stop.DRAFT,
    Withheld.NO_BASIS.value: Stop.READERS,
    Withheld.AUDIENCE.value: Stop.READERS,
    Withheld.NOT_ALLOWED_HERE.value: Stop.READERS,
    Withheld.READERS_CHANGED.value: Stop.READERS,
    "forbidden": Stop.FORBIDDEN,
    "no_drafts": Stop.DRAFT,
}


def stops_of(codes: Iterable[str]) -> list[Stop]:
    """What codes come to; the class of an answer is told only where nothing weighs more."""
    found = [_STOPS.get(code, Stop.FAULT) for code in codes] or [Stop.FAULT]
    return [stop for stop in found if stop is not Stop.DRAFT] or found
