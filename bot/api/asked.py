"""What an agent posts to ask a question, read strictly; and questions as agents see them. JSON in, JSON out; no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bot.api.answering import MAX_KEY, Reading, RefusedError, pointer, read_callback, read_object
from bot.model.errors import AskError
from bot.model.question import Answerer, Asking, Conclusion, Question, QuestionState, Who

MAX_PEOPLE: Final = 50

_FIELDS: Final = frozenset({"question", "schema", "request", "who", "ttl_s", "important", "key", "callback"})
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question, the request to which it belongs, and the address that is told how it ended, if any."""

    request: str = field(repr=False)
    asking: Asking
    callback: str | None = field(default=None, repr=False)


def read_asked(body: bytes, *, header_key: str | None) -> Asked:
    """Read a posted question.

    Args:
        body: JSON.
        header_key: of ``Idempotency-Key``.

    Raises:
        RefusedError: it can't be taken; every field that is wrong is named.
    """
    reading = Reading(read_object(body), _FIELDS)
    reading.required("question", "schema", "request")
    asked = Asked(
        request=reading.text("request", longest=MAX_KEY),
        asking=Asking(
            text=reading.text("question"),
            schema=reading.object("schema", "a JSON Schema, which is an object"),
            who=_who(reading),
            ttl_s=reading.whole("ttl_s", 3600),
            important=reading.flag("important", otherwise=False),
            key=reading.key(header_key),
        ),
        callback=read_callback(reading),
    )
    reading.done()
    return asked


def refusal(error: AskError) -> RefusedError:
    """How an agent hears that its question can't be asked."""
    if error.code == "no_request":
        return RefusedError(
            403, "no_grant", "you are not working on this request, and a delivery that nobody asked for needs a grant"
        )
    return RefusedError(_STATUS.get(error.code, 422), error.code, str(error), problems=error.problems)


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


def _who(reading: Reading) -> Who:
    written = reading.document.get("who")
    if written is None:
        return Who()
    if not isinstance(written, dict):
        reading.wrong("/who", "wrong_type", "an object such as {kind: operators}")
        return Who()
    for name in written.keys() - {"kind", "people"}:
        reading.wrong(f"/who{pointer(name)}", "unknown_field", "")
    kind = written.get("kind")
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        reading.wrong("/who/kind", "not_known", f"one of {', '.join(_KINDS)}")
    people = written.get("people", [])
    if not (
        isinstance(people, list) and len(people) <= MAX_PEOPLE and all(isinstance(one, str) and one for one in people)
    ):
        reading.wrong("/who/people", "wrong_type", f"a list of ids of people in the policy, at most {MAX_PEOPLE}")
        people = []
    elif found is not None and (found is Answerer.PEOPLE) is not bool(people):
        reading.wrong("/who/people", "who", "people are named with kind people, and with it alone")
    return Who(kind=found or Answerer.ASKER, people=frozenset(people))
