"""What was said in a conversation before: by people whom it answered, and by the gateway as it arrived there."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.model.inbound import Stored
from policy.decision import Audience
from policy.destination import Destination
from policy.event import Chat


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """One thing that was said, the platform's own event or our own words.

    Attributes:
        at: when it came in, or went out.
        sender: account of the person; None: it is ours.
        event: of a person, to be read by its channel.
        text: of ours, as it was delivered.
    """

    at: datetime
    sender: str | None = None
    event: Stored | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)


class History(Protocol):
    """Reads it."""

    async def past(
        self, destination: Destination, *, chat: Chat, audience: Audience, before: int, limit: int
    ) -> list[Past]:
        """What was asked of the gateway and answered there, oldest first.

        Only what was said at exactly this destination while it was this kind of place and, where it was written for
        trusted readers, for the same ones (OUT-5). Neither what was muted, deleted or edited away, nor what was
        withheld or did not arrive.

        Args:
            destination: complete, with its thread.
            chat: the kind of place that it is now.
            audience: who reads along now.
            before: the inbox row of the request for which it is wanted; nothing that came in later.
            limit: how many at most, the latest ones.
        """
        ...
