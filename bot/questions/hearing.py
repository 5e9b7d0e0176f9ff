"""What people say to a question, and what they are told about it (FORM-8, FORM-9, FORM-12)."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from bot.model.output import Final as Answer
from bot.model.question import Question, QuestionState, Way
from bot.ports.hearing import Heard
from bot.ports.questions import Confirm, Gone, Kept, Lost, NotYours, Outcome, Refused, Taken
from bot.questions.room import QuestionRoom
from bot.questions.showing import masked, plain, result
from bot.questions.words import QuestionWords
from forms.field import FieldKind
from forms.presentation import filled
from forms.reading import Locale
from forms.replies import read_reply
from forms.selection import decision, is_weak
from policy.event import Event

_ANY_NAME: Final = r"@[^\s:,]+"


class Hearing:
    """Reads typed answers and taps."""

    def __init__(self, room: QuestionRoom, *, clock: Callable[[], datetime]) -> None:
        """Args: room: of the questions. clock: gives aware times."""
        self._room = room
        self._clock = clock

    async def shows(self, part_id: int) -> bool:
        """Whether a part of the outbox shows a question."""
        return await self._room.is_shown_in(part_id)

    async def awaits(self, event: Event) -> bool:
        """FORM-14: a reply to what shows a question that still takes an answer, or a message in its thread."""
        for message in _about(event):
            question = await self._room.shown_by(event.destination, message)
            if question is not None and question.state.pending:
                return True
        return False

    async def commanded(self, event: Event, text: str, *, language: str) -> Heard | None:
        """No command is about a question."""
        return None

    async def tapped(self, part_id: int, value: str, event: Event, *, language: str) -> Heard | None:
        """A button under a message; None: it is under no question."""
        outcome = await self._room.tap(part_id, value, by=event.sender, message=event.message)
        return None if outcome is None else Heard(toast=_toast(outcome, QuestionWords(language)))

    async def replied(self, event: Event, text: str, *, language: str) -> Heard | None:
        """A reply to a question, or what was said in its thread; None: to no question."""
        if await self._asked(event) is None:
            return None
        return Heard(says=await self._reply(event, text, language=language))

    async def _reply(self, event: Event, text: str, *, language: str) -> Answer | None:
        """A reply to a question, or what was said in its thread.

        Returns:
            What the person is told; None: nothing, for it is nobody's business but theirs whom the question is for.
        """
        question = await self._asked(event)
        if question is None:
            return None
        words = QuestionWords(language)
        if not question.state.pending:
            return Answer(text=plain(words.say("too_late")))
        if not self._room.may(question, event.sender):
            return None
        if masked(question):
            return Answer(text=plain(words.say("use_form")))
        text = without_address(event, text) if event.mentions_self else text
        confirming = question.state is QuestionState.CONFIRMING
        if is_weak(text) and (confirming or not _takes_text(question)) and not await self._is_reply(event):
            return None  # said to somebody else in the thread
        if confirming:
            sure = decision(text)
            if sure is True:
                outcome = await self._room.answer(
                    question, question.kept, by=event.sender, way=Way.REPLY, confirmed=True
                )
                return self._told(outcome, words)
            if sure is False:
                await self._room.reopen(question)
                return Answer(text=plain(words.say("mend_all")))
        today = self._clock().astimezone(ZoneInfo(question.timezone)).date()
        read = read_reply(
            question.form,
            text,
            locale=Locale(language=language, timezone=question.timezone),
            today=today,
            kept=question.kept,
        )
        if any(error.code == "declined" for error in read.errors):
            ended = await self._room.decline(question, by=event.sender)
            return Answer(text=plain(words.say("noted" if ended else "too_late")))
        if read.errors:
            await self._room.keep(question, read.values, read.errors)
            problems = [f"- {plain(words.problem(question.form, error))}" for error in read.errors]
            mend = words.say("mend" if read.values else "mend_all")
            return Answer(text="\n".join([*problems, "", plain(mend)]))
        values = filled(question.form, read.values)
        return self._told(await self._room.answer(question, values, by=event.sender, way=Way.REPLY), words)

    async def told(self, event: Event, parts: Sequence[int]) -> None:
        """The parts that told a person what :meth:`replied` returned: who replies to them answers the question."""
        question = await self._asked(event)
        if question is not None and question.state.pending:
            await self._room.told(question, parts)

    async def _is_reply(self, event: Event) -> bool:
        """A reply to what shows a question, not merely a word in its thread."""
        message = None if event.reply is None else event.reply.message
        return message is not None and await self._room.shown_by(event.destination, message) is not None

    async def _asked(self, event: Event) -> Question | None:
        for message in _about(event):
            question = await self._room.shown_by(event.destination, message)
            if question is not None:
                return question
        return None

    def _told(self, outcome: Outcome, words: QuestionWords) -> Answer | None:
        match outcome:
            case Taken(question=question):
                return Answer(text=plain(words.say("noted")), card=result(question, words, question.answer))
            case Confirm(question=question):
                shown = result(question, words, question.kept)
                return Answer(text=f"{plain(words.say('confirm'))}\n{plain(words.say('confirm_reply'))}", card=shown)
            case Refused():  # read and judged already: the schema has changed its mind
                return Answer(text=plain(words.say("mend_all")))
            case Lost():
                return Answer(text=plain(words.say("lost")))
            case Gone():
                return Answer(text=plain(words.say("too_late")))
            case NotYours():
                return None


def _toast(outcome: Outcome | Kept, words: QuestionWords) -> str:
    """What the person who tapped is told; empty where the card says it."""
    match outcome:
        case Taken():
            return words.say("noted")
        case Lost():
            return words.say("lost")
        case NotYours():
            return words.say("not_yours")
        case Gone():
            return words.say("too_late")
        case Confirm():
            return words.say("confirm")
        case _:
            return ""


def _about(event: Event) -> list[str]:
    """The messages that an event can be an answer to: the one that it replies to, and the root of its thread."""
    found = (None if event.reply is None else event.reply.message, event.destination.thread)
    return [message for message in found if message is not None]


def _takes_text(question: Question) -> bool:
    """Whether any word could be an answer."""
    return any(field.kind is FieldKind.TEXT and not field.fixed for field in question.form.fields)


def without_address(event: Event, text: str) -> str:
    """What was typed without the bot's address before it, which belongs to no field; every other word was meant.

    Where accounts are @names the bot is called by this one. There a reply mentions it without any words.
    """
    own = event.destination.account.partition(":")[2]
    found = re.match(rf"\s*{re.escape(own) if own.startswith('@') else _ANY_NAME}[:,]?(?:\s+|$)", text)
    return text if found is None else text[found.end() :]
