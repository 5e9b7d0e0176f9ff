"""What the gateway needs of a platform's adapter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.model.clearance import Clearance
from bot.model.inbound import Arrival, Material, Reading, Stored
from bot.model.output import Final
from bot.model.part import Part, Receipt
from bot.model.request import Attachment, ContextItem
from policy.boundary import Speech
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import Streaming


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """Where exactly an answer goes: the destination, and the message that it answers."""

    destination: Destination
    message: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A message that the platform was asked for by its id: who wrote it, and in which thread (PART-1)."""

    sender: str
    thread: str | None


class Accept(Protocol):
    """Takes arrivals; they are durable when it returns, and only then may the platform be told so (DUR-1)."""

    async def __call__(self, account: str, arrivals: Sequence[Arrival]) -> None:
        """Store them, recognise repeats, and wake their lanes."""
        ...


class Channel(Protocol):
    """One bot account on one platform."""

    @property
    def account(self) -> str:
        """``platform:workspace``; known from the configuration before the platform has been asked."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether the same part sent twice is one message here: then an unclear send is sent again (DUR-2)."""
        ...

    @property
    def keyboards(self) -> bool:
        """Whether the buttons under a message can change after it was sent."""
        ...

    @property
    def state(self) -> str:
        """How taking events in goes, for health checks: ``starting``, ``ok``, or what stands in the way.

        That is ``unreachable``, ``store``, ``conflict`` or ``logged_out``; the channel goes on trying by itself.
        """
        ...

    async def run(self, accept: Accept) -> None:
        """Take events in until cancelled; reconnects by itself.

        Raises:
            ChannelError: it can't go on (a wrong token); the text says the mend.
        """
        ...

    def read(self, stored: Stored) -> Reading:
        """Read the facts out of a stored event; pure and fast. Whatever can't be read is ``Kind.MALFORMED``."""
        ...

    def material(self, reading: Reading) -> Material:
        """What a request is made of; called after consent."""
        ...

    def chat(self, destination: Destination, was: Chat) -> Chat:
        """The kind of place that it is now: others may have joined a direct chat since (PART-16).

        Args:
            destination: where.
            was: what it was when the event came.
        """
        ...

    async def find(self, destination: Destination, message: str) -> Found | None:
        """Ask the platform who wrote a message and where; nothing else of it is read (PART-1). Within a few seconds.

        Returns:
            None where the platform doesn't tell, or can't be reached.
        """
        ...

    async def quoted(self, reading: Reading) -> ContextItem | None:
        """The words that are replied to, where the event itself doesn't carry them; called after consent only."""
        ...

    def lane(self, destination: Destination) -> str:
        """The lane in which this destination's events and sends keep their order."""
        ...

    def present(self, speech: Speech, answer: Final, *, to: Reply) -> tuple[Part, ...]:
        """Bring words, files and a card into their final form: formatted, split, each part ready to be sent."""
        ...

    def present_fragment(
        self, text: str, *, to: Reply, streaming: Streaming, stream: str, message: str | None
    ) -> Part | None:
        """An answer that grows; None where the channel can't show it.

        Args:
            text: all of it so far.
            to: where.
            streaming: how the policy wants it.
            stream: opaque, the same for all fragments of one answer.
            message: the message that is being edited; None for the first fragment.
        """
        ...

    def present_rest(self, parts: tuple[Part, ...], *, message: str) -> tuple[Part, ...]:
        """Turn the first of final parts into an edit of the message that has been growing."""
        ...

    def typing(self, *, to: Reply, on: bool) -> Part | None:
        """The sign that work is under way, and its end; None where there is no such sign."""
        ...

    def read_mark(self, *, to: Reply) -> Part | None:
        """The mark that a request was read; None where the platform has none."""
        ...

    def answer_invite(self, *, to: Reply, accept: bool) -> Part | None:
        """Follow an invite into a channel, or decline it; None where the platform knows no invites."""
        ...

    def answer_tap(self, tap_id: str, text: str, *, to: Reply) -> Part | None:
        """The end of a button's spinner, with a short private text or none."""
        ...

    def unformatted(self, part: Part) -> Part | None:
        """The same words without formatting, for one more try after ``Rejected("formatting")``; None: there is none."""
        ...

    def retarget(self, part: Part, channel: str) -> Part:
        """The same part for the channel's new id."""
        ...

    def turn_s(self, part: Part) -> float:
        """Book the part's turn within the platform's limits; seconds to wait before :meth:`deliver`.

        Called before the call begins, so that a crash during the wait leaves the part certainly unsent.
        """
        ...

    async def deliver(self, part: Part, clearance: Clearance) -> Receipt:
        """Make the one call that the clearance allows. Never raises for what a platform does.

        Raises:
            ClearanceError: the clearance does not fit.
        """
        ...

    async def fetch(self, attachment: Attachment, *, limit_bytes: int) -> bytes:
        """Fetch a file; called after consent only.

        Raises:
            ChannelError: it can't be had.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
