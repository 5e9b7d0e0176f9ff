"""One piece of work: a request that has passed every gate and waits for its agent."""

from dataclasses import dataclass

from bot.deliveries.door import Place
from bot.model.inbound import Reading, Stored
from bot.model.interaction import CONTINUES
from bot.ports.channel import Reply
from bot.ports.store import Outbox, Tapped
from policy.decision import Decision
from policy.event import Kind
from policy.quick import quick

STOPPING = frozenset({"stop", "cancel"})
"""The control commands that stop what runs and what waits."""


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Attributes: parts: its events in message order, the first carries the row; usually one."""

    decision: Decision
    parts: tuple[tuple[Stored, Reading], ...]

    @property
    def event_id(self) -> int:
        """The inbox row that carries the work."""
        return self.parts[0][0].id

    @property
    def reading(self) -> Reading:
        """The reading of the row that carries the work."""
        return self.parts[0][1]

    @property
    def continues(self) -> bool:
        """Whether it carries an interaction on (CLAR-7): then the event of its request is not the matter any more."""
        return self.parts[0][0].arrival.key.startswith(CONTINUES)

    @property
    def place(self) -> Place:
        """Where it was asked."""
        return place_of(self.reading)


_UNANSWERABLE = frozenset({Kind.TAP, Kind.INVITE})
"""What is no message that could be replied to."""


def reply_to(work: Work) -> Reply:
    """Where exactly the answer to a piece of work goes."""
    event = work.reading.event
    return Reply(destination=event.destination, message=None if event.kind in _UNANSWERABLE else event.message)


def place_of(reading: Reading) -> Place:
    """Where an event happened."""
    event = reading.event
    return Place(destination=event.destination, chat=event.chat, person=event.sender)


async def tapped_button(outbox: Outbox, reading: Reading, token: str | None) -> Tapped | None:
    """The button of ours that a tap is on; None: none that we have made.

    Args:
        outbox: knows what we have sent.
        reading: of the tap; a loose one says by a message and a sign what was meant.
        token: what the platform said of the button.
    """
    if token is None:
        return None
    event = reading.event
    if reading.loose and event.message is not None:
        return await outbox.pressed(event.destination, event.message, token)
    return await outbox.tapped(event.destination.account, token)
