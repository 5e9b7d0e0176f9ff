"""How fast the bot may speak: to one chat about 1 a second, in one group 20 a minute, in all 30 a second.

Generic cell rate: a limit remembers one moment, the time at which it would be empty again. In any stretch of time at
most ``burst`` plus ``per_s`` times its seconds pass: five, and then one in four seconds, are 20 in any minute. Moments
are seconds of a monotonic clock. Waiting is cheaper than a refusal, which silences the bot for as long as the platform
likes.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """``burst`` at once, then ``per_s`` a second."""

    per_s: float
    burst: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The limits of a bot account; None switches one off."""

    chat: Rate | None = field(default_factory=lambda: Rate(per_s=1.0, burst=3))
    group: Rate | None = field(default_factory=lambda: Rate(per_s=15 / 60, burst=5))
    total: Rate | None = field(default_factory=lambda: Rate(per_s=25.0, burst=5))


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

    def take(self, now: float) -> None:
        """One more passes, now or as soon as it may."""
        self._empty_at = max(self._empty_at, now) + 1.0 / self._rate.per_s

    def idle(self, now: float) -> bool:
        """Whether nothing is remembered."""
        return self._empty_at <= now


class Pace:
    """All limits of one bot account, and the silences that the platform has asked for."""

    _SWEEP_AT = 4096

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._total = None if limits.total is None else Bucket(limits.total)
        self._chats: dict[int, Bucket] = {}
        self._groups: dict[int, Bucket] = {}
        self._silent_until: dict[int, float] = {}

    def book(self, chat: int, now: float) -> float:
        """Take a place for a message to a chat.

        Args:
            chat: numeric id; groups have negative ones.
            now: seconds, monotonic.

        Returns:
            Seconds to wait before the call.
        """
        buckets = self._buckets(chat, now)
        wait_s = max([bucket.wait_s(now) for bucket in buckets], default=0.0)
        for bucket in buckets:
            bucket.take(now)
        return max(wait_s, self.silence_s(chat, now))

    def book_passing(self, chat: int, now: float) -> float:
        """Take a place for a fragment, which the next one replaces; it leaves half of the burst to messages.

        Returns:
            0.0 when it may go now; otherwise nothing is taken, and the seconds tell when it might.
        """
        buckets = self._buckets(chat, now)
        wait_s = max([bucket.wait_s(now, spare=0.5) for bucket in buckets], default=0.0)
        wait_s = max(wait_s, self.silence_s(chat, now))
        if wait_s == 0.0:
            for bucket in buckets:
                bucket.take(now)
        return wait_s

    def silence(self, chat: int, now: float, *, seconds: float) -> None:
        """The platform asked for silence in a chat (429)."""
        self._silent_until[chat] = now + seconds

    def silence_s(self, chat: int, now: float) -> float:
        """Seconds of silence that are left."""
        until = self._silent_until.get(chat)
        if until is None:
            return 0.0
        if until <= now:
            del self._silent_until[chat]
            return 0.0
        return until - now

    def _buckets(self, chat: int, now: float) -> list[Bucket]:
        buckets = [] if self._total is None else [self._total]
        if self._limits.chat is not None:
            buckets.append(self._bucket(self._chats, chat, self._limits.chat, now))
        if self._limits.group is not None and chat < 0:
            buckets.append(self._bucket(self._groups, chat, self._limits.group, now))
        return buckets

    def _bucket(self, buckets: dict[int, Bucket], chat: int, rate: Rate, now: float) -> Bucket:
        bucket = buckets.get(chat)
        if bucket is None:
            if len(buckets) >= self._SWEEP_AT:
                for known in [known for known, one in buckets.items() if one.idle(now)]:
                    del buckets[known]
            bucket = buckets[chat] = Bucket(rate)
        return bucket
