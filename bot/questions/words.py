"""What people read around a question: English by key; the catalogues have the other languages (OPS-5).

``form.*`` are the words of :mod:`forms.wording`, ``problem.*`` say what is wrong with one field, by the code of
:class:`forms.validation.FieldError`; ``{title}`` is the field's, ``{limit}`` the schema's bound. No sentence repeats
what was typed.
"""

from collections.abc import Mapping
from typing import Final

from bot.texts.words import page_words
from forms.field import Form
from forms.replies import ReplyError
from forms.validation import FieldError
from forms.wording import WORDS, spelt

_FORM: Final = "form."
_PROBLEM: Final = "problem."

PROBLEMS: Final[Mapping[str, str]] = {
    "missing_required": "{title} is missing.",
    "unknown_field": "“{title}” is not a field of this form.",
    "nearest": "Did you mean {nearest}?",
    "duplicate_field": "{title} is there twice.",
    "unparseable": "I could not find an answer in this. Write a line for each field, such as “{example}: …”.",
    "undecided": "I could not tell whether this is a yes or a no. Please write yes or no.",
    "wrong_type": "{title} can't be read.",
    "not_text": "{title} has to be text.",
    "not_an_integer": "{title} has to be a whole number.",
    "not_a_number": "{title} has to be a number.",
    "not_a_boolean": "{title} has to be yes or no.",
    "not_a_choice": "{title} has to be one of the choices.",
    "below_minimum": "{title} has to be at least {limit}.",
    "above_maximum": "{title} has to be at most {limit}.",
    "not_above_minimum": "{title} has to be more than {limit}.",
    "not_below_maximum": "{title} has to be less than {limit}.",
    "not_a_multiple": "{title} has to be a multiple of {limit}.",
    "too_short": "{title} needs at least {limit} characters.",
    "too_long": "{title} takes at most {limit} characters.",
    "pattern_mismatch": "{title} does not have the form that is wanted.",
    "too_few": "{title} needs at least {limit} choices.",
    "too_many": "{title} takes at most {limit} choices.",
    "duplicate_item": "{title} lists the same choice twice.",
    "wrong_order": "{title} ends before it begins.",
    "incomplete_range": "{title} needs a beginning and an end.",
    "invalid_date": "{title} has to be a date, such as 2026-03-01.",
    "invalid_time": "{title} has to be a time, such as 10:30.",
    "invalid_datetime": "{title} has to be a date with a time, such as 2026-03-01 10:30.",
    "invalid_email": "{title} has to be an e-mail address.",
    "invalid_uri": "{title} has to be a web address, such as https://example.org.",
    "nonexistent_local_time": "{title}: the clocks skip that time on that day.",
    "ambiguous_local_time": "{title}: that time comes twice on that day. Which one do you mean: {readings}?",
    "ambiguous_number": "{title}: do you mean {readings}?",
    "ambiguous_date": "{title}: do you mean {readings}?",
    "ambiguous_choice": "{title}: do you mean {readings}?",
    "ambiguous_time": "{title}: do you mean {readings}?",
    "ambiguous_datetime": "{title}: do you mean {readings}?",
    "ambiguous_field": "{title} stands inside another text. Please write it on a line of its own.",
    "ambiguous": "{title}: do you mean {readings}?",
    "unknown_timezone": "{title}: I don't know which time zone you mean.",
    "other": "{title} can't be taken like this.",
}
OWN: Final[Mapping[str, str]] = {
    "question.fill_in": "Fill in the form",
    "question.reply": "You can answer by replying to this message, a line for each field.",
    "question.reply_one": "You can answer by replying to this message.",
    "question.in_form": "Please answer in the form.",
    "question.zone": "Times are in {zone}.",
    "question.confirm": "Please confirm your answer.",
    "question.answered": "Answered by {person}.",
    "question.answered_by_somebody": "This has been answered.",
    "question.answered_by_link": "Answered through the link.",
    "question.expired": "Nobody has answered in time.",
    "question.cancelled": "This question was taken back.",
    "question.noted": "Thank you, noted.",
    "question.mend": "Please answer once more what is wrong; the rest is noted.",
    "question.mend_all": "Please answer once more.",
    "question.lost": "Somebody else has answered first.",
    "question.not_yours": "This question is for somebody else.",
    "question.too_late": "This question is no longer open.",
    "question.use_form": "A secret does not belong in the chat. Please use the form, and delete your message.",
    "question.confirm_reply": "Reply yes to confirm, or no to change it.",
}
ENGLISH: Final[Mapping[str, str]] = {
    **{f"{_FORM}{code}": sentence for code, sentence in WORDS.items()},
    **{f"{_PROBLEM}{code}": sentence for code, sentence in PROBLEMS.items()},
    **OWN,
}


class QuestionWords:
    """The words in one language."""

    def __init__(self, language: str | None) -> None:
        """Args: language: BCP 47 tag; the nearest catalogue is taken."""
        self._words = page_words(language, ENGLISH)
        self.form: Mapping[str, str] = {
            key.removeprefix(_FORM): sentence for key, sentence in self._words.items() if key.startswith(_FORM)
        }

    def say(self, key: str, **values: object) -> str:
        """One of :data:`OWN`, without its prefix."""
        return self._words[f"question.{key}"].format(**values)

    def problem(self, form: Form, error: FieldError) -> str:
        """What is wrong with one field, in a sentence; never with what was typed in it."""
        fields = {field.name: field for field in form.fields}
        field = fields.get(error.field)
        asked = [one for one in form.fields if not one.fixed]
        code = error.code if f"{_PROBLEM}{error.code}" in self._words else "other"
        if code == "unparseable" and not asked:  # there are no lines to write
            code = "undecided"
        readings = ""
        if isinstance(error, ReplyError) and field is not None:
            readings = " / ".join(spelt(field, reading, self.form) for reading in error.readings)
        sentence = self._words[f"{_PROBLEM}{code}"].format(
            title=_short(error.field if field is None else field.title) or self.form["column_field"],
            limit="" if error.limit is None else error.limit,
            readings=readings,
            example=_short(asked[0].title) if asked else "",
        )
        if isinstance(error, ReplyError) and error.nearest in fields:
            nearest = self._words[f"{_PROBLEM}nearest"].format(nearest=_short(fields[error.nearest].title))
            sentence = f"{sentence} {nearest}"
        return sentence


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
