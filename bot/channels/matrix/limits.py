"""How fast the bot may speak on its homeserver: each server has its own limits, ours are those of a calm person.

A server counts by account, so the silence that it asks for (429) holds in all rooms. See :mod:`bot.deliveries.pacing`
for how the rest is counted.
"""

from dataclasses import dataclass, field

from bot.deliveries.pacing import Bucket, Buckets, Rate, book, book_passing

__all__ = ["Limits", "Pace", "Rate"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The limits of a bot account; None switches one off."""

    room: Rate | None = field(default_factory=lambda: Rate(per_s=1.0, burst=5))
    total: Rate | None = field(default_factory=lambda: Rate(per_s=5.0, burst=10))


class Pace:
    """All limits of one bot account, and the silence that its server has asked for."""

    def __init__(self, limits: Limits) -> None:
        self._total = None if limits.total is None else Bucket(limits.total)
        self._rooms = None if limits.room is None else Buckets[str](limits.room)
        self._silent_until = 0.0

    def book(self, room: str, now: float, *, places: int = 1) -> float:
        """Take places for a message to a room and the reactions put under it.

        Args:
            room: its id.
            now: seconds, monotonic.
            places: events that follow each other at once.

        Returns:
            Seconds to wait before the first call.
        """
        return max(book(self._buckets(room, now), now, places=places), self.silence_s(now))

    def book_passing(self, room: str, now: float) -> float:
        """Take a place for a fragment; see :func:`bot.deliveries.pacing.book_passing`."""
        return book_passing(self._buckets(room, now), now, silence_s=self.silence_s(now))

    def silence(self, now: float, *, seconds: float) -> None:
        """The server asked for silence."""
        self._silent_until = now + seconds

    def silence_s(self, now: float) -> float:
        """Seconds of silence that are left."""
        return max(0.0, self._silent_until - now)

    def _buckets(self, room: str, now: float) -> list[Bucket]:
        buckets = [] if self._total is None else [self._total]
        if self._rooms is not None:
            buckets.append(self._rooms.of(room, now))
        return buckets
