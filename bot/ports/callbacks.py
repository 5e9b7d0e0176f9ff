"""What faces for agents ask of the room of callbacks, and what it asks of its store."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from bot.config.secret import Secret
from bot.model.callback import Callback, CallbackState


class GoneError(Exception):
    """What was to be told is not there any more."""


Teller = Callable[[Callback], Awaitable[bytes | None]]
"""Makes the body of a callback; None: what it tells has not ended yet. It may raise :class:`GoneError`.

The body is stored: it holds nothing that may be given once only (FORM-10).
"""


class Callbacks(Protocol):
    """The room of callbacks."""

    def check(self, url: str, *, agent: str, secret: Secret | None = None, scheme: str = "standard") -> None:
        """See that an address may be called, before anything is asked of people.

        Raises:
            CallbackError: it may not, or nothing could be signed.
        """
        ...

    async def arm(
        self,
        *,
        agent: str,
        kind: str,
        subject: str,
        url: str,
        secret: Secret | None = None,
        scheme: str = "standard",
    ) -> Callback:
        """Tell an address when something has ended; durable when it returns.

        The same asked again is the same. Another address for the same subject takes the place of the one before, and
        is told although that one was told already.

        Raises:
            CallbackError: the address may not be called, or too many wait.
        """
        ...

    async def of(self, kind: str, subject: str) -> Callback | None:
        """The callback of a subject as it stands."""
        ...

    async def ask(
        self, url: str, body: bytes, *, message: str, agent: str, secret: Secret | None = None, scheme: str = "standard"
    ) -> bytes | None:
        """Post once, signed, and give what is answered with status 200; None: nothing of the kind came.

        Raises:
            CallbackError: the address may not be called.
        """
        ...


class CallbackStore(Protocol):
    """Where callbacks are kept; every write is durable when it returns."""

    async def put(self, callback: Callback) -> Callback:
        """Store one; what there is of the same kind and subject stays if its address is the same, else it is replaced.

        Returns:
            The one that stands now.
        """
        ...

    async def of(self, kind: str, subject: str) -> Callback | None:
        """The one of a subject."""
        ...

    async def open(self, agent: str) -> int:
        """How many of an agent are not closed."""
        ...

    async def waiting(self) -> list[Callback]:
        """Those whose subject has not ended, as far as is known."""
        ...

    async def due(self, *, now: datetime, each: int) -> list[Callback]:
        """Those whose time has come: of each agent the first ones, so that nobody is held up by others."""
        ...

    async def ended(self, callback: Callback, body: bytes, *, now: datetime) -> bool:
        """Its subject has ended: it is due with this body; False: somebody was faster."""
        ...

    async def begin(self, callback: Callback, *, until: datetime) -> bool:
        """Begin an attempt, which is over at ``until`` at the latest; False: somebody else has begun it."""
        ...

    async def again(self, callback: Callback, *, at: datetime) -> None:
        """The attempt has failed; the next one is at a time."""
        ...

    async def close(self, callback: Callback, state: CallbackState, *, now: datetime) -> None:
        """It is over; body and secret are erased."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Forget those that were closed long enough ago; returns how many."""
        ...
