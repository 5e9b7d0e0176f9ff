"""What other rooms ask of the room of questions: the page behind a link, the built-in chat, the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from bot.model.question import Question, Way
from bot.ports.store import NewPart, Waiting
from forms.validation import FieldError
from policy.destination import Destination


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """It takes an answer now; in the state CONFIRMING ``question.kept`` is the answer that is to be confirmed."""

    question: Question


class Gone(StrEnum):
    """It takes none."""

    ANSWERED = "answered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """The answer does not hold; what was right in it is kept (FORM-2, FORM-8)."""

    errors: tuple[FieldError, ...]
    kept: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirm:
    """It holds and wants a second, separate confirmation by the same mechanics (FORM-12)."""

    question: Question


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """It is the answer; the same answer sent once more is taken as well, and does nothing."""

    question: Question


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """Another answer was first (FORM-7)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotYours:
    """Somebody else is asked (FORM-9)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A tap was noted, and more is wanted (toggles, a page of the calendar)."""


Outcome = Taken | Refused | Confirm | Lost | NotYours | Gone


class Questions(Protocol):
    """Questions behind one-time links (FORM-6)."""

    async def open(self, token: str) -> Opened | Gone:
        """Look at a question by the token of its link; uses nothing up, however often and by whom it is called."""
        ...

    async def closed(self, token: str) -> Question | None:
        """The question behind a link that takes no answer any more, as it ended; None: there is none, or it takes one.

        For whoever has to read an answer that was sent once more: what was answered is for nobody else.
        """
        ...

    async def submit(
        self, token: str, values: Mapping[str, object], *, by: str | None, way: Way, confirmed: bool = False
    ) -> Outcome:
        """Answer by the token of its link.

        Args:
            token: of the link; it is the access, to exactly this question.
            values: typed values as :mod:`forms.page` reads them; they are judged here (FORM-2).
            by: account of the person, where the way tells it (Mini App, built-in chat).
            way: how.
            confirmed: the second confirmation of an important question.
        """
        ...

    async def submit_shown(
        self,
        destination: Destination,
        message: str,
        values: Mapping[str, object],
        *,
        by: str,
        way: Way,
        confirmed: bool = False,
    ) -> Outcome:
        """Answer the question that a message shows, as a person whom the channel has authenticated (FORM-9).

        Args:
            destination: of the message.
            message: its id.
            values: typed values; they are judged here (FORM-2).
            by: account of the person.
            way: how.
            confirmed: the second confirmation of an important question.
        """
        ...

    async def refuse(self, token: str, errors: Sequence[FieldError]) -> None:
        """Note an attempt that could not even be read, for the agent: fields and codes, no values (FORM-2)."""
        ...


class QuestionStore(Protocol):
    """Where questions are kept; every write is durable when it returns, with its journal record (FORM-11)."""

    async def put(
        self, question: Question, parts: Sequence[NewPart], *, token: str, now: datetime
    ) -> tuple[Question, list[Waiting]]:
        """Store a question and what shows it, one transaction.

        Args:
            question: new.
            parts: that show it.
            token: digest of the token in its link.
            now: aware.

        Returns:
            The question and its parts on their way; where the agent has asked with this key before, that question as
            it stands, and no parts.
        """
        ...

    async def get(self, question_id: str) -> Question | None:
        """One question."""
        ...

    async def get_of(self, agent: str, question_id: str) -> Question | None:
        """One question of this agent; another one's is not even read, so that nobody can tell it from none."""
        ...

    async def by_key(self, agent: str, key: str) -> Question | None:
        """By the agent's own key, whatever its state."""
        ...

    async def receipts(self, question_id: str) -> Mapping[str, int]:
        """How many parts that show it are in which state of the outbox."""
        ...

    async def by_token(self, token: str) -> Question | None:
        """The question behind a link, by the digest of its token."""
        ...

    async def at(self, destination: Destination, message: str) -> Question | None:
        """The question that a message of ours shows."""
        ...

    async def of_part(self, part_id: int) -> Question | None:
        """The question that a part of the outbox shows."""
        ...

    async def pending(self) -> list[Question]:
        """All that still take an answer, the next to expire first."""
        ...

    async def answered(self, agent: str, *, since: datetime) -> list[Question]:
        """Those of an agent that were answered since a moment, the oldest first."""
        ...

    async def change(
        self, question: Question, *, now: datetime, parts: Sequence[NewPart] = (), note: str | None = None
    ) -> list[Waiting] | None:
        """Write a change of a pending question, if nobody has changed it since.

        Args:
            question: as it is to be; ``version`` is the one that was read.
            now: aware.
            parts: that show the change.
            note: what a refused attempt was refused for, for the journal (codes, no values).

        Returns:
            The parts on their way; None: another change was first (FORM-7).
        """
        ...

    async def show(self, question: Question, parts: Sequence[NewPart], *, now: datetime) -> list[Waiting]:
        """Store further parts that show a question, whatever its state."""
        ...

    async def late(self, part_id: int) -> Question | None:
        """The question that a part has shown only after its end: what closed its cards did not know of that one."""
        ...

    async def seen(self, part_id: int, message: str, *, now: datetime) -> None:
        """Somebody has pressed a button of this part under a message, so it arrived as that one (DUR-2)."""
        ...

    async def messages(self, question_id: str) -> list[str]:
        """Our messages that show it, in order."""
        ...

    async def attach(self, question_id: str, parts: Sequence[int]) -> None:
        """Parts of the outbox speak of a question: a reply to them is one to it. They show it not, and are no card."""
        ...

    async def consume(self, question: Question) -> None:
        """The agent has its answer: masked values in it are erased (FORM-10)."""
        ...

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """Erase the words of questions that ended long enough ago; returns of how many."""
        ...
