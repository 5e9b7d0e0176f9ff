"""Nonces that the gateway gives out (AGENT-1): known again by their seal, good for some minutes, not after a restart.

That any nonce, also one that an agent has made itself, is used once, the store of interactions sees to.
"""

import hmac
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from bot.api.a2h.refusing import REPLAY, A2hError

LASTS: Final = timedelta(minutes=5)
_MARK: Final = "n1"


class Nonces:
    """Gives them out and knows them again."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        """Args: clock: gives aware times."""
        self._clock = clock
        self._key = secrets.token_bytes(32)

    def new(self) -> tuple[str, datetime]:
        """A nonce that nobody has had before, and until when it is good."""
        until = self._clock() + LASTS
        head = f"{_MARK}.{int(until.timestamp())}.{secrets.token_urlsafe(16)}"
        return f"{head}.{self._seal(head)}", until

    def check(self, nonce: str | None) -> None:
        """See that one that looks like ours is ours, and fresh.

        Raises:
            A2hError: it is not.
        """
        if nonce is None or not nonce.startswith(f"{_MARK}."):
            return
        head, _, seal = nonce.rpartition(".")
        if not hmac.compare_digest(self._seal(head).encode(), seal.encode()):
            raise A2hError(422, REPLAY, "this nonce was not given out here")
        if int(head.split(".")[1]) < self._clock().timestamp():
            raise A2hError(422, REPLAY, "this nonce is over; ask for another one")

    def _seal(self, head: str) -> str:
        return hmac.digest(self._key, head.encode(), "sha256").hex()[:32]
