"""How fast an account may speak, and how long it rests when the other side is not well. What all platforms share.

Generic cell rate: a limit remembers one moment, the time at which it would be empty again. In any stretch of time at
most ``burst`` plus ``per_s`` times its seconds pass: five, and then one in four seconds, are 20 in any minute. Moments
are seconds of a monotonic clock. Waiting is cheaper than a refusal, which silences the bot for as long as the platform
likes.
"""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

SWEEP_AT: Final = 4096
"""Chats that are remembered before those without a memory are forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """``burst`` at once, then ``per_s`` a second."""

    per_s: float
    burst: int


class Bucket:
    """One limit in use."""

    __slots__ = ("_empty_at", "_rate")

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._empty_at = 0.0

    def wait_s(self, now: float, *, spare: float = 0.0) -> float:
        """Seconds until one more may pass. ``spare``: share of the burst that is left to others."""
        tolerance = (self._rate.burst * (1.0 - spare) - 1) / self._rate.per_s
        return max(0.0, self._empty_at - tolerance - now)

    def take(self, now: float, *, places: int = 1) -> None:
        """So many more pass, now or as soon as they may."""
        self._empty_at = max(self._empty_at, now) + places / self._rate.per_s

    def idle(self, now: float) -> bool:
        """Whether nothing is remembered."""
        return self._empty_at <= now


class Buckets(Generic[Key]):
    """The same limit for each of many chats; those that are empty again are forgotten."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._known: dict[Key, Bucket] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, chat: Key, now: float) -> Bucket:
        """The bucket of one chat."""
        bucket = self._known.get(chat)
        if bucket is None:
            if len(self._known) >= SWEEP_AT:
                self._known = {known: one for known, one in self._known.items() if not one.idle(now)}
            bucket = self._known[chat] = Bucket(self._rate)
        return bucket


def book(buckets: Sequence[Bucket], now: float, *, places: int = 1) -> float:
    """Take places in all of some limits.

    Args:
        buckets: the limits that hold.
        now: seconds, monotonic.
        places: calls that follow each other at once; the wait is that of the first.

    Returns:
        Seconds to wait before the call.
    """
    wait_s = max([bucket.wait_s(now) for bucket in buckets], default=0.0)
    for bucket in buckets:
        bucket.take(now, places=places)
    return wait_s


def book_passing(buckets: Sequence[Bucket], now: float, *, silence_s: float = 0.0) -> float:
    """Take a place for a fragment, which the next one replaces; it leaves half of the burst to messages.

    Args:
        buckets: the limits that hold.
        now: seconds, monotonic.
        silence_s: seconds of silence that are left.

    Returns:
        0.0 when it may go now; otherwise nothing is taken, and the seconds tell when it might.
    """
    wait_s = max([silence_s, *(bucket.wait_s(now, spare=0.5) for bucket in buckets)])
    if wait_s == 0.0:
        for bucket in buckets:
            bucket.take(now)
    return wait_s


class Silences(Generic[Key]):
    """The silences that a platform has asked for (429)."""

    def __init__(self) -> None:
        self._until: dict[Key, float] = {}

    def keep(self, what: Key, now: float, *, seconds: float) -> None:
        """Say nothing there for so many seconds."""
        self._until[what] = now + seconds

    def left_s(self, what: Key, now: float) -> float:
        """Seconds of silence that are left."""
        until = self._until.get(what)
        if until is None:
            return 0.0
        if until <= now:
            del self._until[what]
            return 0.0
        return until - now


class Recovery:
    """The rests of an account whose server does not answer: each longer than the one before, the same for all lanes.

    Failures of calls that were under way together are one failure, and while the account rests nothing is tried: so a
    server that was away for minutes meets no storm when it is back.
    """

    def __init__(
        self, *, first_s: float = 1.0, longest_s: float = 60.0, jitter: Callable[[], float] = random.random
    ) -> None:
        """Args: first_s, longest_s: seconds. jitter: from 0 to 1; up to half of a rest is left to chance."""
        self._first_s = first_s
        self._longest_s = longest_s
        self._jitter = jitter
        self._faults = 0
        self._until = 0.0

    @property
    def well(self) -> bool:
        """Whether the last call that we know of went through."""
        return self._faults == 0

    def fault(self, now: float) -> float:
        """A call failed; seconds to wait before the next."""
        if self._until <= now:
            self._faults += 1
            rest_s = min(self._longest_s, self._first_s * 2.0 ** min(self._faults - 1, 16))
            self._until = now + rest_s * (1.0 - self._jitter() / 2)
        return self._until - now

    def left_s(self, now: float) -> float:
        """Seconds of rest that are left."""
        return max(0.0, self._until - now)

    def over(self) -> None:
        """A call went through."""
        self._faults = 0
        self._until = 0.0
