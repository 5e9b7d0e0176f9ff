"""What people have answered, put into the words of a script as plain words: no answer ever formats anything."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from bot.agents.script import ANSWERS, COMMANDS, SLOTS
from bot.questions.showing import plain
from bot.questions.words import QuestionWords
from forms.field import Field, Form
from forms.wording import DOTS, spelt

_NOTHING: Final = "–"
_MARK: Final = re.compile(r"\{[^{}\s]+\}")


class Answers:
    """The answers of one run; of a field that was asked twice, the later one. Masked ones are not shown (FORM-10)."""

    def __init__(self, language: str | None) -> None:
        """Args: language: in which truth values and the like are said."""
        self._language = language
        self._fields: dict[str, Field] = {}
        self._values: dict[str, Any] = {}
        self._latest: dict[str, Any] | None = None
        self._slots: dict[str, str] = {}
        self._exact: dict[str, str] = {}
        self._command = {"outcome": _NOTHING, "text": _NOTHING}

    def fill(self, slot: str, value: str, shown: str) -> None:
        """A slot of the plan is filled; ``shown`` is how people read it."""
        self._exact[slot], self._slots[slot] = value, shown

    def exact(self, text: str) -> str:
        """A text with ``{slot.name}`` as it stands in the slot, for an id: of a candidate that is its id."""
        return SLOTS.sub(lambda found: self._exact.get(found["name"], ""), text)

    def ran(self, outcome: str, text: str) -> None:
        """A command was run. Its text is the gateway's, and plain by then."""
        self._command = {"outcome": outcome, "text": text}

    def filled_in(self, answer: Mapping[str, object]) -> None:
        """A form that a command has opened is answered; its fields are the configuration's, so only the whole is."""
        self._latest = dict(answer)

    def take(self, form: Form, answer: Mapping[str, object]) -> None:
        """One more question is answered."""
        self._fields |= {field.name: field for field in form.fields}
        self._values |= answer
        masked = {field.name for field in form.fields if field.masked}
        self._latest = {name: DOTS if name in masked else value for name, value in answer.items()}

    def put_into(self, text: str) -> str:
        """A text with ``{answer.field}`` and ``{slot.name}`` in plain words; ``{answer}`` is the latest whole."""
        return _MARK.sub(self._filled, text)  # one pass: what is put in is never looked at again

    def _filled(self, found: re.Match[str]) -> str:
        mark = found[0]
        if (command := COMMANDS.fullmatch(mark)) is not None:
            return self._command[command["name"]]
        if (slot := SLOTS.fullmatch(mark)) is not None:
            return _plain(self._slots.get(slot["name"], _NOTHING))
        answer = ANSWERS.fullmatch(mark)
        return mark if answer is None or self._latest is None else self._words(answer["name"], mark)

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
