"""What people have answered, put into the words of a script as plain words: no answer ever formats anything."""

import json
from collections.abc import Mapping
from typing import Any, Final

from bot.agents.script import ANSWERS, SLOTS
from bot.questions.showing import plain
from bot.questions.words import QuestionWords
from forms.field import Field, Form
from forms.wording import DOTS, spelt

_NOTHING: Final = "–"


class Answers:
    """The answers of one run; of a field that was asked twice, the later one. Masked ones are not shown (FORM-10)."""

    def __init__(self, language: str | None) -> None:
        """Args: language: in which truth values and the like are said."""
        self._language = language
        self._fields: dict[str, Field] = {}
        self._values: dict[str, Any] = {}
        self._latest: dict[str, Any] | None = None
        self._slots: dict[str, str] = {}

    def fill(self, slot: str, value: str) -> None:
        """A slot of the plan is filled."""
        self._slots[slot] = value

    def take(self, form: Form, answer: Mapping[str, object]) -> None:
        """One more question is answered."""
        self._fields |= {field.name: field for field in form.fields}
        self._values |= answer
        masked = {field.name for field in form.fields if field.masked}
        self._latest = {name: DOTS if name in masked else value for name, value in answer.items()}

    def put_into(self, text: str) -> str:
        """A text with ``{answer.field}`` and ``{slot.name}`` in plain words; ``{answer}`` is the latest whole."""
        text = SLOTS.sub(lambda found: _plain(self._slots.get(found["name"], _NOTHING)), text)
        if self._latest is None:
            return text
        return ANSWERS.sub(lambda found: self._words(found["name"], found[0]), text)

    def _words(self, name: str | None, written: str) -> str:
        if name is None:
            return _plain(json.dumps(self._latest, ensure_ascii=False))
        field = self._fields.get(name)
        if field is None:
            return written
        if name not in self._values:
            return _NOTHING
        return _plain(spelt(field, self._values[name], QuestionWords(self._language).form))


def _plain(text: str) -> str:
    """On one line, with every sign of Markdown as itself."""
    return plain(" ".join(text.split())).replace("&", "\\&")
