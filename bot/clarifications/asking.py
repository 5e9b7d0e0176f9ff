"""What an agent may ask in a clarification, checked, and the question that shows it (CLAR-2)."""

from collections.abc import Sequence
from typing import Any, Final

from bot.model.errors import InteractionError
from bot.model.interaction import (
    MAX_CANDIDATES,
    MAX_DISPLAY,
    MAX_IDENTITY,
    Candidate,
    Clarification,
)
from bot.model.output import Clarify
from bot.model.plan import MAX_VALUE, is_name, is_unicode
from bot.model.question import TTL_LEAST_S, TTL_LONGEST_S, Asking
from forms.errors import SchemaError
from forms.schema import read_form
from policy.blank import is_blank

MAX_TEXT: Final = 3_500
"""Characters; a sentence before it says why it is asked once more."""
CHOICE: Final = "choice"
ANSWER: Final = "answer"


def check(clarify: Clarify) -> None:
    """Let a clarification pass that can be asked.

    Raises:
        InteractionError: it can't; ``problems`` say where (JSON pointers).
    """
    problems: list[tuple[str, str, str]] = []
    if is_blank(clarify.text) or len(clarify.text) > MAX_TEXT or not is_unicode(clarify.text):
        problems.append(("/question", "wrong_length", f"from 1 to {MAX_TEXT} characters of Unicode"))
    problems += [
        (f"/{name}", "wrong_name", "letters, digits, . _ -, at most 64")
        for name, value in (("task", clarify.task), ("slot", clarify.slot))
        if not is_name(value)
    ]
    if not TTL_LEAST_S <= clarify.ttl_s <= TTL_LONGEST_S:
        problems.append(("/ttl_s", "out_of_range", f"from {TTL_LEAST_S} to {TTL_LONGEST_S} seconds"))
    problems += _candidates(clarify.candidates)
    if not problems:
        try:
            read_form(_schema(clarify.slot, clarify.candidates))
        except SchemaError as error:
            code = error.problems[0].code if error.problems else "schema"
            problems.append(("/candidates", code, "together they can't be shown: fewer, or with other names"))
    if problems:
        first = problems[0]
        raise InteractionError("clarification", f"{first[0]}: {first[1]}", problems=tuple(problems))


def asking_of(clarification: Clarification) -> Asking:
    """The question: one choice of the frozen list, or one text."""
    return Asking(
        text=f"{clarification.why}\n\n{clarification.text}".strip(),
        schema=_schema(clarification.slot, clarification.candidates),
        ttl_s=clarification.ttl_s,
        key=f"clarification:{clarification.id}",
    )


def values_of(clarification: Clarification, value: str) -> dict[str, object]:
    """A value as the answer to its question."""
    return {CHOICE if clarification.candidates else ANSWER: value}


def value_in(answer: object) -> str | None:
    """What the answer to its question says."""
    if not isinstance(answer, dict):
        return None
    value = answer.get(CHOICE, answer.get(ANSWER))
    return value if isinstance(value, str) else None


def _schema(slot: str, candidates: Sequence[Candidate]) -> dict[str, Any]:
    title = slot.replace("_", " ")
    if not candidates:
        text = {"type": "string", "title": title, "minLength": 1, "maxLength": MAX_VALUE}
        return {"type": "object", "properties": {ANSWER: text}, "required": [ANSWER]}
    options = [{"const": one.id, "title": one.display_name} for one in candidates]
    choice = {"type": "string", "title": title, "oneOf": options}
    return {"type": "object", "properties": {CHOICE: choice}, "required": [CHOICE]}


def _candidates(candidates: Sequence[Candidate]) -> list[tuple[str, str, str]]:
    if len(candidates) > MAX_CANDIDATES:
        return [("/candidates", "wrong_length", f"at most {MAX_CANDIDATES}")]
    problems: list[tuple[str, str, str]] = []
    seen: set[str] = set()
    for place, one in enumerate(candidates):
        path = f"/candidates/{place}"
        if not is_name(one.id):
            problems.append((f"{path}/candidateId", "wrong_name", "letters, digits, . _ -, at most 64"))
        if one.id in seen:
            problems.append((f"{path}/candidateId", "duplicate", ""))
        seen.add(one.id)
        if len(one.identity) > MAX_IDENTITY or not is_unicode(one.identity):
            problems.append((f"{path}/identity", "wrong_length", f"at most {MAX_IDENTITY} characters"))
        name = one.display_name
        if is_blank(name) or len(name) > MAX_DISPLAY or not name.isprintable() or not is_unicode(name):
            problems.append((f"{path}/displayName", "wrong_length", f"a line of 1 to {MAX_DISPLAY} characters"))
    return problems
