"""An interaction of A2H: which message of an agent has become which question, approval or delivery (AGENT-1).

How it stands is never kept here: it is what the question, approval or delivery says. Kept is the one thing that must
not change once it was told, the signed answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from policy.destination import Destination


class IntentType(StrEnum):
    """What an agent can want."""

    INFORM = "INFORM"
    COLLECT = "COLLECT"
    AUTHORIZE = "AUTHORIZE"
    ESCALATE = "ESCALATE"
    RESULT = "RESULT"

    @property
    def answered(self) -> bool:
        """Whether a person answers it."""
        return self in (IntentType.COLLECT, IntentType.AUTHORIZE, IntentType.ESCALATE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """An interaction as it is stored.

    Attributes:
        id: opaque, hexadecimal; of an approval also the approval's id, so that a passkey's challenge derives from it.
        agent: name of the agent.
        message: its message_id; the same again is the same interaction.
        nonce: its nonce, used once; None: it sent none.
        type: what it wants.
        principal: id of the person in the policy.
        subject: id of the question, approval or delivery; None: it is being made.
        attempt: how many ways to the person have failed.
        ttl_s: seconds for the person to answer.
        made_at: when it was asked for.
        closed_at: when it had come to its end.
        sent: what was asked for, as it was sent.
        routes: private chats with the person, in the order in which they are tried.
        answer: the signed answer or error, once it was told.
    """

    id: str
    agent: str
    message: str
    nonce: str | None
    type: IntentType
    principal: str
    subject: str | None = None
    attempt: int = 0
    ttl_s: int
    made_at: datetime
    closed_at: datetime | None = None
    sent: Mapping[str, Any] = field(default_factory=dict, repr=False)
    routes: tuple[Destination, ...] = ()
    answer: Mapping[str, Any] | None = field(default=None, repr=False)
