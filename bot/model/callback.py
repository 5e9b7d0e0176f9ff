"""A callback: what an agent asked for over HTTP has come to its end, and an address that it named is told.

One callback tells one end. It is stored before it is sent, sent under one id until somebody takes it, and given up
after the last attempt of its scheme; whoever waits can always ask instead.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from bot.config.secret import Secret


class CallbackState(StrEnum):
    """Where a callback stands."""

    WAITING = "waiting"  # what it is to tell has not ended yet
    DUE = "due"  # it is being told
    DELIVERED = "delivered"
    FAILED = "failed"  # every attempt failed, or the address is not allowed any more
    VOID = "void"  # what it was to tell is not there any more

    @property
    def closed(self) -> bool:
        """Whether nothing more comes of it."""
        return self not in (CallbackState.WAITING, CallbackState.DUE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Callback:
    """A callback as it is stored.

    Attributes:
        id: of the message, the same at every attempt, so that a repeat is recognised.
        agent: name of the agent that asked for it.
        kind: whose end it tells, such as ``approval`` or ``question``; whoever knows them makes the body.
        subject: id of what ends.
        url: where to.
        scheme: how it is signed and repeated (see :mod:`bot.callbacks.signing`).
        secret: of the agent's own; None: that of the address in the configuration.
        state: where it stands.
        attempts: that were begun.
        next_at: when it is tried next, while it is due.
        body: what is told; None: it has not ended yet, or it is erased.
        made_at: when it was asked for.
        closed_at: when it was delivered or given up.
    """

    id: str
    agent: str
    kind: str
    subject: str
    url: str = field(repr=False)
    scheme: str
    secret: Secret | None = field(default=None, repr=False)
    state: CallbackState = CallbackState.WAITING
    attempts: int = 0
    next_at: datetime | None = None
    body: bytes | None = field(default=None, repr=False)
    made_at: datetime
    closed_at: datetime | None = None
