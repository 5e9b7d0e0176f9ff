"""What an agent posts to ask a question, read strictly; and questions as agents see them. JSON in, JSON out; no I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from bot.model.errors import AskError
from bot.model.question import Answerer, Asking, Conclusion, Question, QuestionState, Who

MAX_DEPTH: Final = 64
"""Of nested objects and lists in a body; the schema has a narrower limit of its own."""
MAX_KEY: Final = 200
MAX_PEOPLE: Final = 50
LONGEST_WAIT_S: Final = 60.0

_WAIT: Final = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>ms|s|m)?")
_UNITS: Final[Mapping[str | None, float]] = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_FIELDS: Final = frozenset({"question", "schema", "request", "who", "ttl_s", "important", "key"})
_REQUIRED: Final = ("question", "schema", "request")
_KINDS: Final = {one.value: one for one in Answerer}
_STATUS: Final[Mapping[str, int]] = {
    "schema": 422,
    "text": 422,
    "ttl": 422,
    "who": 422,
    "key_used": 409,
    "withheld": 403,
    "no_questions": 403,
}


class RefusedError(Exception):
    """The answer is an error: HTTP status, a code, a sentence, and problems as (JSON pointer, code, detail)."""

    def __init__(
        self, status: int, code: str, text: str, *, problems: Sequence[tuple[str, str, str]] = (), after_s: float = 0.0
    ) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.text = text
        self.problems = tuple(problems)
        self.after_s = after_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question, and the request to which it belongs."""

    request: str = field(repr=False)
    asking: Asking


def read_asked(body: bytes, *, header_key: str | None) -> Asked:
    """Read a posted question.

    Args:
        body: JSON.
        header_key: of ``Idempotency-Key``.

    Raises:
        RefusedError: it can't be taken; every field that is wrong is named.
    """
    try:
        document = orjson.loads(body)
    except (orjson.JSONDecodeError, RecursionError):
        raise RefusedError(400, "malformed", "the body is not JSON") from None
    if not isinstance(document, dict):
        raise RefusedError(400, "malformed", "the body is not a JSON object")
    if _too_deep(document):
        raise RefusedError(400, "malformed", f"the body is nested deeper than {MAX_DEPTH} levels")
    reading = _Reading(document)
    asked = reading.asked(header_key)
    if reading.problems:
        raise RefusedError(422, "invalid", "some fields can't be taken", problems=reading.problems)
    return asked


def refusal(error: AskError) -> RefusedError:
    """How an agent hears that its question can't be asked."""
    if error.code == "no_request":
        return RefusedError(
            403, "no_grant", "you are not working on this request, and a delivery that nobody asked for needs a grant"
        )
    return RefusedError(_STATUS.get(error.code, 422), error.code, str(error), problems=error.problems)


def read_wait(text: str | None) -> float:
    """Seconds to wait, such as ``25s``; at most :data:`LONGEST_WAIT_S`.

    Raises:
        RefusedError: it is no duration.
    """
    if text is None:
        return 0.0
    found = _WAIT.fullmatch(text)
    if found is None:
        raise RefusedError(400, "malformed", "wait is a number of seconds, such as 25s")
    return min(LONGEST_WAIT_S, int(found["number"]) * _UNITS[found["unit"]])


def error_document(refused: RefusedError) -> dict[str, Any]:
    """An error as it is sent."""
    document: dict[str, Any] = {"error": refused.code, "message": refused.text}
    if refused.problems:
        document["problems"] = [
            {"path": path, "code": code, "detail": detail} for path, code, detail in refused.problems
        ]
    return document


def head_document(question: Question) -> dict[str, Any]:
    """A question without its answer."""
    return {
        "id": question.id,
        "state": question.state.value,
        "asked_at": question.asked_at.isoformat(),
        "expires_at": question.expires_at.isoformat(),
    }


def question_document(question: Question, conclusion: Conclusion) -> dict[str, Any]:
    """A question as its agent sees it: refused attempts as fields and codes, never what was typed (FORM-2, FORM-10)."""
    ended = not question.state.pending
    attempts = () if question.state is QuestionState.ANSWERED else question.refused
    return {
        **head_document(question),
        "answer": None if conclusion.answer is None or not ended else dict(conclusion.answer),
        "answered_by": conclusion.answered_by if ended else None,
        "way": None if conclusion.way is None else conclusion.way.value,
        "at": None if conclusion.at is None else conclusion.at.isoformat(),
        "errors": [{"field": name, "code": code} for name, code in attempts],
    }


class _Reading:
    """Takes the fields of a body one by one, and notes what is wrong."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self.problems: list[tuple[str, str, str]] = []

    def asked(self, header_key: str | None) -> Asked:
        """What was asked; worth something only where there are no problems."""
        for name in self._document.keys() - _FIELDS:
            self._wrong(_pointer(name), "unknown_field", "")
        for name in _REQUIRED:
            if name not in self._document:
                self._wrong(f"/{name}", "missing", "")
        ttl_s = self._document.get("ttl_s", 3600)
        if type(ttl_s) is not int:
            self._wrong("/ttl_s", "wrong_type", "a whole number of seconds")
        important = self._document.get("important", False)
        if type(important) is not bool:
            self._wrong("/important", "wrong_type", "true or false")
        schema = self._document.get("schema", {})
        if not isinstance(schema, dict):
            self._wrong("/schema", "wrong_type", "a JSON Schema, which is an object")
        return Asked(
            request=self._text("request", longest=MAX_KEY),
            asking=Asking(
                text=self._text("question"),
                schema=schema if isinstance(schema, dict) else {},
                who=self._who(self._document.get("who")),
                ttl_s=ttl_s if type(ttl_s) is int else 0,
                important=important is True,
                key=self._key(header_key),
            ),
        )

    def _text(self, name: str, *, longest: int | None = None) -> str:
        value = self._document.get(name, "")
        if not isinstance(value, str):
            self._wrong(f"/{name}", "wrong_type", "a text")
            return ""
        if name in self._document and (not value or (longest is not None and len(value) > longest)):
            self._wrong(f"/{name}", "wrong_length", "" if longest is None else f"from 1 to {longest} characters")
        return value

    def _key(self, header_key: str | None) -> str | None:
        given = self._text("key", longest=MAX_KEY) if self._document.get("key") is not None else None
        if header_key is not None and not (0 < len(header_key) <= MAX_KEY and header_key.isprintable()):
            self._wrong("/key", "wrong_length", f"Idempotency-Key has from 1 to {MAX_KEY} characters")
        elif given is not None and header_key is not None and given != header_key:
            self._wrong("/key", "differs", "Idempotency-Key says another key")
        return header_key if given is None else given

    def _who(self, written: Any) -> Who:
        if written is None:
            return Who()
        if not isinstance(written, dict):
            self._wrong("/who", "wrong_type", "an object such as {kind: operators}")
            return Who()
        for name in written.keys() - {"kind", "people"}:
            self._wrong(f"/who{_pointer(name)}", "unknown_field", "")
        kind = written.get("kind")
        found = _KINDS.get(kind) if isinstance(kind, str) else None
        if found is None:
            self._wrong("/who/kind", "not_known", f"one of {', '.join(_KINDS)}")
        people = written.get("people", [])
        if not (
            isinstance(people, list)
            and len(people) <= MAX_PEOPLE
            and all(isinstance(one, str) and one for one in people)
        ):
            self._wrong("/who/people", "wrong_type", f"a list of ids of people in the policy, at most {MAX_PEOPLE}")
            people = []
        elif found is not None and (found is Answerer.PEOPLE) is not bool(people):
            self._wrong("/who/people", "who", "people are named with kind people, and with it alone")
        return Who(kind=found or Answerer.ASKER, people=frozenset(people))

    def _wrong(self, path: str, code: str, detail: str) -> None:
        self.problems.append((path, code, detail))


def _pointer(name: str) -> str:
    """A name of somebody else's as a step of a JSON pointer, not too long."""
    return f"/{name[:60].replace('~', '~0').replace('/', '~1')}"


def _too_deep(document: object) -> bool:
    level: list[object] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
