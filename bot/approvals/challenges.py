"""Challenges that are out: each is asked for once, taken once, and good for some minutes only (APPR-9).

They live in this process; after a restart a person is asked for their passkey again.
"""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

CHALLENGE_LASTS: Final = timedelta(minutes=5)
_MOST_WAITING: Final = 1_000
Item = TypeVar("Item")


class Challenges(Generic[Item]):
    """What was asked for and has not come back. INVARIANT: each is taken once."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        """Args: clock: gives aware times."""
        self._clock = clock
        self._waiting: OrderedDict[bytes, tuple[datetime, Item]] = OrderedDict()

    def put(self, challenge: bytes, item: Item) -> None:
        """Remember what a challenge was made for; the oldest are forgotten first."""
        now = self._clock()
        while self._waiting and (
            len(self._waiting) >= _MOST_WAITING or next(iter(self._waiting.values()))[0] + CHALLENGE_LASTS <= now
        ):
            self._waiting.popitem(last=False)
        self._waiting[challenge] = (now, item)

    def take(self, challenge: bytes | None) -> Item | None:
        """What it was made for, once; None: it is not known, any more."""
        since, item = (None, None) if challenge is None else self._waiting.pop(challenge, (None, None))
        return item if since is not None and self._clock() < since + CHALLENGE_LASTS else None
