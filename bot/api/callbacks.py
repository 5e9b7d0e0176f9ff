"""Callbacks of approvals and questions: the address that an agent names, and what it is told (Standard Webhooks).

    {"type": "approval.decided" | "question.ended", "timestamp": ..., "data": the approval or question, as GET gives it}

An approval is told when people have nothing to decide any more; also where the policy needs nobody, or forbids it.
Masked values of an answer are not in it: they are given once, to whoever fetches them (FORM-10).
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final, Protocol

import orjson

from bot.api.answering import RefusedError
from bot.api.asked import question_document
from bot.api.proposed import approval_document
from bot.model.approval import Approval
from bot.model.callback import Callback
from bot.model.errors import CallbackError
from bot.model.question import Conclusion, Question
from bot.ports.callbacks import Callbacks, GoneError, Teller

APPROVAL: Final = "approval"
QUESTION: Final = "question"


class Questions(Protocol):
    """Where questions are (see :class:`bot.questions.room.QuestionRoom`)."""

    async def look(self, question_id: str) -> Question | None:
        """A question as it stands."""
        ...

    def conclusion(self, question: Question) -> Conclusion:
        """How it ended."""
        ...


def check(callbacks: Callbacks | None, url: str | None, *, agent: str) -> None:
    """See that it may be called, before anything is asked of people.

    Raises:
        RefusedError: it may not.
    """
    if url is None:
        return
    if callbacks is None:
        raise RefusedError(422, "callback", "nobody is called back from here")
    try:
        callbacks.check(url, agent=agent)
    except CallbackError as error:
        raise RefusedError(422, error.code, str(error)) from None


async def arm(callbacks: Callbacks | None, url: str | None, *, agent: str, kind: str, subject: str) -> None:
    """Tell the address when it has ended.

    Raises:
        RefusedError: too many wait.
    """
    if url is None or callbacks is None:
        return
    try:
        await callbacks.arm(agent=agent, kind=kind, subject=subject, url=url)
    except CallbackError as error:
        raise RefusedError(429, error.code, str(error), after_s=60.0) from None


def approval_teller(look: Callable[[str], Awaitable[Approval | None]], clock: Callable[[], datetime]) -> Teller:
    """Tells what was decided about an approval."""

    async def tell(callback: Callback) -> bytes | None:
        approval = await look(callback.subject)
        if approval is None:
            raise GoneError
        return None if approval.state.undecided else message("approval.decided", approval_document(approval), clock())

    return tell


def question_teller(room: Questions, clock: Callable[[], datetime]) -> Teller:
    """Tells how a question ended."""

    async def tell(callback: Callback) -> bytes | None:
        question = await room.look(callback.subject)
        if question is None:
            raise GoneError
        if question.state.pending:
            return None
        document = question_document(question, room.conclusion(question))
        masked = {field.name for field in question.form.fields if field.masked}
        if document["answer"] is not None:
            document["answer"] = {name: None if name in masked else value for name, value in document["answer"].items()}
        return message("question.ended", document, clock())

    return tell


def message(kind: str, document: dict[str, Any], at: datetime) -> bytes:
    """What is posted."""
    return orjson.dumps({"type": kind, "timestamp": at.isoformat(), "data": document})
