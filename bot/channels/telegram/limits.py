"""How fast the bot may speak: to one chat about 1 a second, in one group 20 a minute, in all 30 a second.

See :mod:`bot.deliveries.pacing` for how that is counted.
"""

from dataclasses import dataclass, field

from bot.deliveries.pacing import SWEEP_AT, Bucket, Buckets, Rate, Silences, book, book_passing

__all__ = ["Bucket", "Limits", "Pace", "Rate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The limits of a bot account; None switches one off."""

    chat: Rate | None = field(default_factory=lambda: Rate(per_s=1.0, burst=3))
    group: Rate | None = field(default_factory=lambda: Rate(per_s=15 / 60, burst=5))
    total: Rate | None = field(default_factory=lambda: Rate(per_s=25.0, burst=5))


class Pace:
    """All limits of one bot account, and the silences that the platform has asked for."""

    _SWEEP_AT = SWEEP_AT

    def __init__(self, limits: Limits) -> None:
        self._total = None if limits.total is None else Bucket(limits.total)
        self._chats = None if limits.chat is None else Buckets[int](limits.chat)
        self._groups = None if limits.group is None else Buckets[int](limits.group)
        self._silences = Silences[int]()

    def book(self, chat: int, now: float) -> float:
        """Take a place for a message to a chat.

        Args:
            chat: numeric id; groups have negative ones.
            now: seconds, monotonic.

        Returns:
            Seconds to wait before the call.
        """
        return max(book(self._buckets(chat, now), now), self.silence_s(chat, now))

    def book_passing(self, chat: int, now: float) -> float:
        """Take a place for a fragment, which the next one replaces; it leaves half of the burst to messages.

        Returns:
            0.0 when it may go now; otherwise nothing is taken, and the seconds tell when it might.
        """
        return book_passing(self._buckets(chat, now), now, silence_s=self.silence_s(chat, now))

    def silence(self, chat: int, now: float, *, seconds: float) -> None:
        """The platform asked for silence in a chat (429)."""
        self._silences.keep(chat, now, seconds=seconds)

    def silence_s(self, chat: int, now: float) -> float:
        """Seconds of silence that are left."""
        return self._silences.left_s(chat, now)

    def _buckets(self, chat: int, now: float) -> list[Bucket]:
        buckets = [] if self._total is None else [self._total]
        if self._chats is not None:
            buckets.append(self._chats.of(chat, now))
        if self._groups is not None and chat < 0:
            buckets.append(self._groups.of(chat, now))
        return buckets
