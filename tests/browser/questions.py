"""Questions as the room of questions would ask them, in memory: the real forms and the real judge, nothing stored."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.model.inbound import Material
from bot.model.output import Final
from bot.model.part import ButtonToken
from bot.model.question import Answerer, Question, QuestionState, Way, Who
from bot.ports.questions import Confirm, Gone, Lost, NotYours, Outcome, Refused, Taken
from forms.card import Button, Card
from forms.presentation import Changed, Complete, show, tapped
from forms.reading import Locale
from forms.replies import read_reply
from forms.schema import read_form
from forms.validation import Judge
from forms.wording import WORDS, spelt
from policy.destination import Destination
from policy.event import Chat, Event

ZONE = "Europe/Berlin"
DELIVERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Who takes it in", "maxLength": 40},
        "boxes": {"type": "integer", "title": "Boxes", "minimum": 1, "maximum": 20},
        "price": {"type": "number", "title": "Highest price", "description": "In euros.", "exclusiveMinimum": 0},
        "fragile": {"type": "boolean", "title": "Fragile"},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "hours": {
            "type": "array",
            "items": {"type": "string", "format": "time"},
            "minItems": 2,
            "maxItems": 2,
            "title": "Between",
        },
        "call": {"type": "string", "format": "date-time", "title": "Call me at"},
        "speed": {"title": "Speed", "oneOf": [{"const": 1, "title": "Slow"}, {"const": 2, "title": "Fast"}]},
        "extras": {"type": "array", "title": "Extras", "items": {"enum": ["Ice", "Straw", "Card"]}, "maxItems": 2},
        "country": {"title": "Country", "enum": ["AT", "BE", "BG", "CH", "DE", "ES", "FR", "IT"]},
        "mail": {"type": "string", "format": "email", "title": "E-mail"},
        "site": {"type": "string", "format": "uri", "title": "Website"},
        "notes": {"type": "string", "title": "Notes", "examples": ["Ring twice"]},
        "terms": {"const": "2026-01", "title": "Terms"},
    },
    "required": ["name", "boxes", "day", "mail"],
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "delivery": DELIVERY,
    "colour": {
        "type": "object",
        "properties": {"colour": {"title": "Colour", "enum": ["Red", "Green", "Blue"]}},
        "required": ["colour"],
    },
    "secret": {
        "type": "object",
        "properties": {
            "user": {"type": "string", "title": "User name", "minLength": 3, "maxLength": 40},
            "pin": {"type": "string", "title": "PIN", "writeOnly": True, "pattern": "^[0-9]{4}$", "default": "0000"},
        },
        "required": ["user", "pin"],
    },
    "transfer": {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "title": "Amount", "default": 12.5},
            "pin": {"type": "string", "title": "PIN", "format": "password"},
        },
        "required": ["amount", "pin"],
    },
    "call": {
        "type": "object",
        "properties": {"at": {"type": "string", "format": "date-time", "title": "Call me at"}},
        "required": ["at"],
    },
    "ticks": {
        "type": "object",
        "properties": {"sizes": {"type": "array", "title": "Sizes", "items": {"enum": ["S", "M", "L"]}}},
        "required": ["sizes"],
    },
    "go": {"type": "object", "properties": {}},
}


class Asked:
    """The room of questions, as the chat and the brain see it."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.shows: Callable[[Question, str, Final], Awaitable[None]] | None = None
        self.questions: dict[str, Question] = {}  # by message
        self.attempts: list[list[str]] = []
        self._clock = clock
        self._tokens: dict[str, tuple[str, str]] = {}

    def new(self, name: str, room: Destination, *, asker: str | None) -> Question:
        """A question that is not shown yet."""
        now = self._clock()
        return Question(
            id=name,
            agent="brain",
            key=name,
            destination=room,
            chat=Chat.DIRECT if room.channel == "private" else Chat.GROUP,
            person=asker if room.channel == "private" else None,
            asker=asker,
            event_id=None,
            schema=SCHEMAS[name],
            form=read_form(SCHEMAS[name]),
            text=f"What about the **{name}**?",
            who=Who(kind=Answerer.ASKER if asker else Answerer.ANYONE),
            important=name == "transfer",
            timezone=ZONE,
            asked_at=now,
            expires_at=now + timedelta(hours=1),
        )

    def open(self, question: Question) -> Final:
        """The question, asked; or its answer, to be confirmed."""
        confirming = question.state is QuestionState.CONFIRMING
        shown = show(question.form, question.kept, question.view, today=self._clock().date(), words=WORDS)
        card = Card(
            buttons=tuple(
                Button(label=tap.label, value=tap.value, style=tap.style) for row in shown.taps for tap in row
            ),
            widths=tuple(len(row) for row in shown.taps),
            fields=shown.rows,
            columns=shown.columns,
            note="" if confirming else f"Or answer with a reply.\nTimes are in {ZONE}.",
            stepwise=shown.stepwise,
            form=None if confirming else question.form,
        )
        return Final(text=question.text, card=card)

    def shown(self, question: Question, message: str, buttons: Sequence[ButtonToken]) -> None:
        """It stands in the conversation."""
        self.questions[message] = question
        self._tokens |= {button.token: (message, button.value) for button in buttons}

    async def end(self, message: str, state: QuestionState = QuestionState.EXPIRED) -> None:
        """Close it without an answer."""
        await self._change(message, replace(self.questions[message], state=state))

    async def shown_by(self, destination: Destination, message: str) -> Question | None:
        question = self.questions.get(message)
        return question if question is not None and question.destination == destination else None

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
        question = self.questions[message]
        assert question.destination == destination
        if question.who.kind is Answerer.ASKER and by != question.asker:
            return NotYours()
        if not question.state.pending:
            if question.state is not QuestionState.ANSWERED:
                return Gone(question.state.value)
            return Taken(question=question) if question.answer == values else Lost()
        errors = Judge(question.form).errors(dict(values))
        if errors:
            self.attempts.append([f"{error.field}: {error.code}" for error in errors])
            return Refused(errors=errors, kept={})
        version = question.version + 1
        if question.important and not (confirmed and values == question.kept):
            state, kept = QuestionState.CONFIRMING, dict(values)
            asked = replace(question, state=state, kept=kept, view="confirm", version=version)
            await self._change(message, asked)
            return Confirm(question=question)
        state = QuestionState.ANSWERED
        answered = replace(
            question, state=state, answer=dict(values), answered_by=by, way=way, kept={}, version=version
        )
        await self._change(message, answered)
        return Taken(question=answered)

    async def hear(self, event: Event, material: Material) -> bool:
        """A tap or a reply; whether it was for a question."""
        if material.tap_token is not None:
            message, value = self._tokens.get(material.tap_token, ("", ""))
            if message:
                await self._tap(message, value, event.sender or "")
            return bool(message)
        message = "" if event.reply is None else event.reply.message
        if message not in self.questions:
            return False
        locale = Locale(language="en", timezone=ZONE)
        form = self.questions[message].form
        reply = read_reply(form, material.text, locale=locale, today=self._clock().date())
        assert not reply.errors
        await self.submit_shown(event.destination, message, reply.values, by=event.sender or "", way=Way.REPLY)
        return True

    async def _tap(self, message: str, value: str, by: str) -> None:
        question = self.questions[message]
        step = tapped(question.form, question.kept, question.view, value)
        match step:
            case Complete(values=values):
                sure = question.state is QuestionState.CONFIRMING
                await self.submit_shown(question.destination, message, values, by=by, way=Way.TAP, confirmed=sure)
            case Changed(kept=kept, view=view):
                state, version = QuestionState.OPEN, question.version + 1
                await self._change(message, replace(question, state=state, kept=kept, view=view, version=version))
            case _:
                raise AssertionError(step)

    async def _change(self, message: str, question: Question) -> None:
        self.questions[message] = question
        assert self.shows is not None
        await self.shows(question, message, self.open(question) if question.state.pending else _closed(question))


def _closed(question: Question) -> Final:
    answer = question.answer or {}
    known = [field for field in question.form.fields if field.name in answer]
    rows = tuple((field.title, spelt(field, answer[field.name], WORDS)) for field in known)
    return Final(text=f"{question.text}\n\n*It is {question.state}.*", card=Card(rows=rows) if rows else None)
