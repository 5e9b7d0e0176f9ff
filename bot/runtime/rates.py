"""Answered requests in the last minute, by channel and by person, and control commands (the rate gate)."""

from collections import deque
from datetime import datetime, timedelta

_MINUTE = timedelta(minutes=1)
_MOST_KEYS = 10_000


class Rates:
    """Sliding windows in memory; a restart forgives."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str | None], deque[datetime]] = {}

    def count(self, channel: str, person: str | None, *, now: datetime) -> int:
        """Requests of the last minute; ``person`` None counts the whole channel."""
        times = self._times.get((channel, person))
        if times is None:
            return 0
        while times and now - times[0] > _MINUTE:
            times.popleft()
        while times and times[-1] > now:  # the clock was set back: what has not been yet counts for nothing
            times.pop()
        return len(times)

    def note(self, channel: str, person: str | None, *, now: datetime) -> None:
        """One more answered request."""
        if len(self._times) > _MOST_KEYS:
            self._times = {key: times for key, times in self._times.items() if times and now - times[-1] <= _MINUTE}
        for key in {(channel, None), (channel, person)}:
            self._times.setdefault(key, deque(maxlen=1000)).append(now)
