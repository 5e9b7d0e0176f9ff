"""From the fields of a card to the room of questions, and back to the person (FORM-2, FORM-3).

The page knows a message and nothing of what lies behind it: the link of a question is the access to it and stays out of
a room where others read along. Who answers is the session's person (FORM-9). What was typed is read, handed on, and
forgotten here: it is no message, and stands in no timeline, log or answer (FORM-10).
"""

import contextlib
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final, Protocol, assert_never
from zoneinfo import ZoneInfo

from bot.channels.web.fields import doubts_of, errors_of, rows_of
from bot.channels.web.intake import RefusedError
from bot.channels.web.people import Member, Register, Room
from bot.channels.web.posts import AnswerPost
from bot.channels.web.words import WordsFor
from bot.model.question import Answerer, Question, QuestionState, Way
from bot.ports.questions import Confirm, Gone, Lost, NotYours, Outcome, Refused, Taken
from bot.ports.timeline import Timeline
from forms.page import read_page
from forms.reading import Locale
from forms.validation import FieldError
from policy.destination import Destination

_REMEMBERED: Final = 1_000
_CONFIRMING: Final = QuestionState.CONFIRMING
_NO_VALUE: Final[Mapping[str, object]] = {}
"""Stands for a text that is no value at all: the judge takes an object for no field, so the answer is refused."""


class ShownQuestions(Protocol):
    """The room of questions, as far as the chat needs it: questions by the message that shows them.

    Raises:
        StoreError: from every method, when the store can't be read or written.
    """

    async def shown_by(self, destination: Destination, message: str) -> Question | None:
        """The question that a message of ours shows, whether it still takes an answer or not."""
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
        """See :meth:`bot.ports.questions.Questions.submit_shown`."""
        ...


class Answering:
    """Takes answers of people whose rights to the room have been checked."""

    def __init__(
        self,
        *,
        register: Register,
        timeline: Timeline,
        questions: ShownQuestions | None,
        words: WordsFor,
        clock: Callable[[], datetime],
    ) -> None:
        self._register = register
        self._timeline = timeline
        self._questions = questions
        self._words = words
        self._clock = clock
        self._taken: dict[tuple[str, str, str], None] = {}

    def take(self, questions: ShownQuestions) -> None:
        """The room of questions, which is made after its channels."""
        self._questions = questions

    async def answer(self, room: Room, sender: Member, message: str, post: AnswerPost) -> Mapping[str, Any]:
        """What became of an answer: codes for the page, and of what was typed only what is to be confirmed.

        Raises:
            RefusedError: there is no such message of ours, or nobody asks anything here.
        """
        entry = await self._timeline.get(room.id, message)
        if entry is None or entry.document is None or entry.document["author"] != self._register.bot:
            raise RefusedError("error.gone", 404)
        if self._questions is None:
            raise RefusedError("error.unavailable", 503)
        once = (message, sender.id, post.nonce)
        if once in self._taken:
            return {"outcome": "taken"}  # posted again, after a lost answer
        said = await self._said(self._questions, self._register.destination(room.id), sender, message, post)
        if said["outcome"] == "taken":
            self._taken[once] = None
            while len(self._taken) > _REMEMBERED:
                del self._taken[next(iter(self._taken))]
        return said

    async def _said(
        self, questions: ShownQuestions, destination: Destination, sender: Member, message: str, post: AnswerPost
    ) -> Mapping[str, Any]:
        question = await questions.shown_by(destination, message)
        if question is None:
            return {"outcome": Gone.UNKNOWN.value}
        account = f"web:{sender.id}"
        locale = Locale(language=sender.language, timezone=question.timezone)
        today = self._today(question.timezone)
        unread: tuple[FieldError, ...] = ()
        values: Mapping[str, object]
        if post.confirmed:
            # INVARIANT: what is confirmed is what this person has read, not what came in between (FORM-12).
            if question.state.pending and (question.state, question.version) != (_CONFIRMING, post.version):
                return {"outcome": "changed"}
            values = question.kept
        else:
            read, unread = read_page(question.form, post.fields, locale=locale, today=today)
            values = {**read, **{error.field: _NO_VALUE for error in unread}}
        outcome = await questions.submit_shown(
            destination, message, values, by=account, way=Way.CARD, confirmed=post.confirmed
        )
        match outcome:
            case Taken():
                return {"outcome": "taken"}
            case Refused(errors=errors):
                known = {error.field for error in unread}
                named = [*unread, *(error for error in errors if error.field not in known)]
                return {
                    "outcome": "refused",
                    "errors": errors_of(question.form, named),
                    "doubts": doubts_of(question.form, post.fields, locale, today=today),
                }
            case Confirm():
                return await self._asked_to_confirm(questions, destination, sender, message)
            case Lost():
                return {"outcome": "lost"}
            case NotYours():
                return {"outcome": "not_yours", "person": self._meant(question)}
            case Gone():
                return {"outcome": outcome.value}
            case _:
                assert_never(outcome)

    async def _asked_to_confirm(
        self, questions: ShownQuestions, destination: Destination, sender: Member, message: str
    ) -> Mapping[str, Any]:
        """The answer as it stands now, with the version that a confirmation has to name."""
        question = await questions.shown_by(destination, message)
        if question is None or question.state is not _CONFIRMING:
            return {"outcome": "changed"}
        words = self._words(sender.language)
        said = {"yes": words["answer.yes"], "no": words["answer.no"], "none": words["answer.null"]}
        rows = rows_of(question.form, question.kept, said)
        return {"outcome": "confirm", "version": question.version, "rows": [list(row) for row in rows]}

    def _today(self, timezone: str) -> date:
        """The day there; where the zone is not known, no time can be read anyway."""
        with contextlib.suppress(LookupError, ValueError, OSError):
            return self._clock().astimezone(ZoneInfo(timezone)).date()
        return self._clock().date()

    def _meant(self, question: Question) -> str | None:
        """Whom it is for, where that is one person of the chat."""
        if question.who.kind is not Answerer.ASKER or question.asker is None:
            return None
        member = self._register.members.get(question.asker.removeprefix("web:"))
        return None if member is None else member.name
