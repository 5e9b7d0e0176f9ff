"""A question as people see it: open, changed by a tap, closed; in their language, as their channel can show it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Final

from bot.model.output import Final as Answer
from bot.model.part import Part
from bot.model.question import Question, QuestionState
from bot.ports.channel import Channel, Reply
from bot.questions.links import Links
from bot.questions.words import QuestionWords
from forms.card import Button, Card, Style
from forms.field import FieldKind
from forms.presentation import CONFIRM, show
from forms.wording import spelt
from policy.boundary import Speech
from policy.event import Chat

_TIMES: Final = frozenset({FieldKind.TIME, FieldKind.DATETIME, FieldKind.TIME_RANGE, FieldKind.DATETIME_RANGE})
_UNREAD: Final = frozenset({"type", "format", "pattern"})
_SIGNS: Final = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]()#+-.!|<>~"})


class Showing:
    """Makes the parts that show questions."""

    def __init__(self, links: Links) -> None:
        """Args: links: of the pages."""
        self._links = links

    def open(self, question: Question, channel: Channel, *, to: Reply, today: date) -> tuple[Part, ...]:
        """The question, asked."""
        answer = Answer(text=question.text, card=self._card(question, channel, today))
        return channel.present(_speech(question), answer, to=to)

    def again(self, question: Question, channel: Channel, *, messages: Sequence[str], today: date) -> tuple[Part, ...]:
        """The question after a change, in the last of the messages that show it: there are its buttons.

        Where the signs under a message stay as they are, what is to be confirmed is a message of its own: a sign that
        stood for an answer never confirms one (FORM-12).
        """
        words = QuestionWords(question.language)
        card = self._card(question, channel, today)
        confirming = question.state is QuestionState.CONFIRMING
        sure = f"**{plain(words.say('confirm'))}**\n{plain(words.say('confirm_reply'))}"
        if channel.keyboards:
            return _edit(question, channel, sure if confirming else "", card, messages)
        if not confirming:
            return _replaced(question, channel, Answer(text=plain(words.say("mend_all"))), messages[-1])
        to = Reply(destination=question.destination, message=messages[-1])
        return channel.present(_echo(question), Answer(text=sure, card=card), to=to)

    def closed(
        self, question: Question, channel: Channel, *, messages: Sequence[str], person: str, today: date
    ) -> tuple[Part, ...]:
        """The question after its end: what was answered, nothing to tap; masked values stay hidden (FORM-10)."""
        words = QuestionWords(question.language)
        end = f"*{plain(end_of(question, words, person))}*"
        pieces = len(messages)
        if question.important and not channel.keyboards:  # those after the question have asked to confirm it
            pieces = len(self.open(question, channel, to=Reply(destination=question.destination), today=today))
        parts = _edit(question, channel, end, result(question, words, question.answer), messages[:pieces])
        for message in messages[pieces:]:
            parts += _replaced(question, channel, Answer(text=end), message)
        return parts

    def closed_bare(
        self, question: Question, channel: Channel, *, messages: Sequence[str], person: str
    ) -> tuple[Part, ...]:
        """The question after its end, without the words that may not be shown there (any more)."""
        words = QuestionWords(question.language)
        end = f"*{plain(end_of(question, words, person))}*"
        return tuple(part for message in messages for part in _replaced(question, channel, Answer(text=end), message))

    def _card(self, question: Question, channel: Channel, today: date) -> Card:
        words = QuestionWords(question.language)
        shown = show(question.form, question.kept, question.view, today=today, words=words.form)
        taps = shown.taps if not shown.stepwise or channel.keyboards else ()
        buttons = [Button(label=tap.label, value=tap.value, style=tap.style) for row in taps for tap in row]
        widths = [len(row) for row in taps]
        link = self._link(question)
        if link is not None and question.form.fields and question.view != CONFIRM:
            buttons.append(link(words.say("fill_in")))
            widths.append(1)
        confirming = question.view == CONFIRM
        in_buttons = len(shown.rows) <= 1 and taps and not confirming and not shown.numbered and channel.keyboards
        note, example = ("", "") if confirming else _how(question, words, tapped=bool(taps))
        return Card(
            buttons=tuple(buttons),
            widths=tuple(widths),
            fields=() if in_buttons else shown.rows,
            columns=shown.columns,
            note=note,
            example=example,
            stepwise=shown.stepwise,
            form=None if confirming else question.form,
            timezone=question.timezone,
        )

    def _link(self, question: Question) -> Callable[[str], Button] | None:
        """Makes the button with the question's link; None where there is no page to open."""
        if question.destination.platform == "web" or question.inside:
            return None  # the card itself has the fields there; or it is for one person alone
        page = self._links.page(question.id)
        if page is None:
            return None
        mini = self._links.mini_app(question.id) if question.chat is Chat.DIRECT else None
        inside = mini is not None and question.destination.platform == "telegram"

        def button(label: str) -> Button:
            url = mini if inside and mini is not None else page
            return Button(label=label, url=url, web_app=inside, style=Style.PRIMARY)

        return button


def result(question: Question, words: QuestionWords, values: Mapping[str, object] | None) -> Card | None:
    """Values as a table of names and what people read; None: there are none."""
    if not values:
        return None
    return Card(
        rows=tuple(
            (" ".join(field.title.split()), spelt(field, values[field.name], words.form))
            for field in question.form.fields
            if field.name in values
        ),
    )


def end_of(question: Question, words: QuestionWords, person: str) -> str:
    """How it ended, in a sentence."""
    match question.state:
        case QuestionState.ANSWERED:
            if person:
                return words.say("answered", person=person)
            return words.say("answered_by_link" if question.answered_by is None else "answered_by_somebody")
        case QuestionState.EXPIRED:
            return words.say("expired")
        case _:
            return words.say("cancelled")


def plain(text: str) -> str:
    """Words that format nothing, in the Markdown of an answer."""
    return text.translate(_SIGNS)


def _speech(question: Question) -> Speech:
    """What the gateway itself asks stays on the inside (OUT-8)."""
    return Speech.REPORT if question.inside else Speech.FINAL


def _echo(question: Question) -> Speech:
    """A card after its question: the words were cleared when it was asked, what is new is what people have typed."""
    return Speech.REPORT if question.inside else Speech.ECHO


def words_of(question: Question) -> str:
    """Everything of a question that a page shows, so that it shows nothing that a message could not (OUT-4)."""
    return "\n".join([question.text, *_strings(question.schema)])


def _strings(part: object) -> Iterator[str]:
    """All words of a schema: names, titles, descriptions, choices, defaults, examples; not what it is made of."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            if key not in _UNREAD:
                yield from _strings(value)
            if key == "properties" and isinstance(value, Mapping):
                yield from map(str, value)
    elif isinstance(part, Sequence):
        for value in part:
            yield from _strings(value)


def masked(question: Question) -> bool:
    """Whether something is asked that does not belong into a chat (FORM-10)."""
    return any(field.masked for field in question.form.fields)


def _how(question: Question, words: QuestionWords, *, tapped: bool) -> tuple[str, str]:
    """How to answer in words, and lines to copy."""
    asked = [field for field in question.form.fields if not field.fixed]
    notes: list[str] = []
    example = ""
    if masked(question):
        notes.append(words.say("in_form"))
    elif asked and not tapped:
        notes.append(words.say("reply_one" if len(asked) == 1 else "reply"))
        if len(asked) > 1:
            example = "\n".join(f"{' '.join(field.title.split())}: …" for field in asked)
    if any(field.kind in _TIMES for field in asked):
        notes.append(words.say("zone", zone=question.timezone))
    return "\n".join(notes), example


def _edit(
    question: Question, channel: Channel, added: str, card: Card | None, messages: Sequence[str]
) -> tuple[Part, ...]:
    """The question with what is added, in its last message; where that does not fit as before, without its words."""
    whole = Answer(text=f"{question.text}\n\n{added}".strip(), card=card)
    parts = channel.present(_echo(question), whole, to=Reply(destination=question.destination))
    if len(messages) == 1:
        return channel.present_rest(parts, message=messages[0])
    if len(parts) == len(messages):
        return channel.present_rest(parts[-1:], message=messages[-1])
    return _replaced(question, channel, Answer(text=added, card=card), messages[-1])


def _replaced(question: Question, channel: Channel, answer: Answer, message: str) -> tuple[Part, ...]:
    """Something else in the place of a message."""
    parts = channel.present(_echo(question), answer, to=Reply(destination=question.destination))
    return channel.present_rest(parts, message=message)
