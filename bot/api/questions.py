"""Questions over HTTP, for agents on this machine (FORM-1, FORM-2, FORM-7): asked, waited for, taken back.

    POST /v1/questions                   201 asked, 200 asked before with the same key
    GET /v1/questions                    the agent's own that still take an answer
    GET /v1/questions/{id}?wait=25s      how it stands; waits for its end
    DELETE /v1/questions/{id}            takes it back

Each agent has its key and sees its own questions alone: those of others are as unknown as any. A question goes where
the request was made on which the agent works; one that belongs to no request is for operators, and is shown to them
where approvals are (OUT-6, OUT-8).

INVARIANT: no body, key or answer is logged, and no error quotes one.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, Protocol

from aiohttp import web

from bot.api.answering import READ_WITHIN_S, RefusedError, body_of, header_key, json_answer, read_wait
from bot.api.asked import head_document, question_document, read_asked, refusal
from bot.api.callbacks import QUESTION, arm, check
from bot.api.limiting import within_request
from bot.api.listening import while_there
from bot.api.site import Callers
from bot.config.credentials import Scope
from bot.deliveries.pacing import Rate
from bot.model.errors import AskError
from bot.model.question import Asking, Conclusion, Question, QuestionState
from bot.ports.callbacks import Callbacks
from policy.destination import Destination

MAX_OPEN: Final = 100
"""Questions of one agent that wait for people."""
ASKS: Final = Rate(per_s=1.0, burst=30)

_UNKNOWN: Final = (404, "unknown", "there is no such question of yours")


class AsksFor(Protocol):
    """Asks where a request was made (see :class:`bot.runtime.worker.Worker`)."""

    async def ask_for(self, request_id: str | None, agent: str, asking: Asking) -> Question:
        """Ask for an agent that is working on a request; None: for one that works on none, and asks operators.

        Raises:
            AskError: it works on no such request, or the question can't be asked.
        """
        ...

    def place_of(self, request_id: str | None, agent: str) -> tuple[Destination, str | None] | None:
        """Where a request was made on which it works, and by whom."""
        ...


class Room(Protocol):
    """Where questions are (see :class:`bot.questions.room.QuestionRoom`)."""

    async def look_of(self, agent: str, question_id: str) -> Question | None:
        """A question of this agent as it stands."""
        ...

    async def ended(self, question_id: str) -> Question | None:
        """Return when it has ended."""
        ...

    async def wait(self, question_id: str) -> Conclusion | None:
        """Return when it has ended; masked values are forgotten then (FORM-10)."""
        ...

    def conclusion(self, question: Question) -> Conclusion:
        """How it ended."""
        ...

    async def pending(self) -> list[Question]:
        """All that still take an answer."""
        ...

    async def cancel(self, question_id: str) -> bool:
        """Take it back; whether it still took an answer."""
        ...


class QuestionsApi:
    """Routes and their answers."""

    def __init__(
        self, asks: AsksFor, room: Room, *, clock: Callable[[], datetime], callbacks: Callbacks | None = None
    ) -> None:
        """Args: asks: questions where requests were made. room: of the questions. clock: the one of the room."""
        self._callbacks = callbacks
        self._asks = asks
        self._room = room
        self._clock = clock
        self._asking: dict[str, asyncio.Lock] = {}
        self._giving: dict[str, asyncio.Lock] = {}

    def add_to(self, router: web.UrlDispatcher, callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        self._callers = callers
        self._asking = {name: asyncio.Lock() for name in callers.names}
        self._giving = {name: asyncio.Lock() for name in callers.names}
        router.add_post("/v1/questions", callers.only(self._ask, callers.paces(ASKS), scope=Scope.ASK))
        # no HEAD: it would take a masked answer and give it to nobody
        router.add_get("/v1/questions", callers.only(self._list, scope=Scope.ASK), allow_head=False)
        router.add_get("/v1/questions/{id}", callers.only(self._look, scope=Scope.ASK), allow_head=False)
        router.add_delete("/v1/questions/{id}", callers.only(self._cancel, scope=Scope.ASK))

    # asking

    async def _ask(self, request: web.Request, agent: str) -> web.StreamResponse:
        asked = read_asked(await body_of(request), header_key=header_key(request))
        within_request(request, self._asks.place_of(asked.request, agent), asked.asking.who)
        check(self._callbacks, asked.callback, agent=agent)
        async with self._asking[agent]:  # so that of two with one key the second knows that it is the second
            mine = [question.key for question in await self._room.pending() if question.agent == agent]
            if len(mine) >= MAX_OPEN and asked.asking.key not in mine:
                raise RefusedError(429, "too_many_open", f"{MAX_OPEN} questions of yours are open", after_s=60.0)
            before = self._clock()
            try:
                question = await self._asks.ask_for(asked.request, agent, asked.asking)
            except AskError as error:
                raise refusal(error) from None
        new = question.asked_at >= before
        if not new and (question.who, question.important) != (asked.asking.who, asked.asking.important):
            raise RefusedError(409, "key_used", "this key was used for another question")
        await arm(self._callbacks, asked.callback, agent=agent, kind=QUESTION, subject=question.id)
        return json_answer(head_document(question), status=201 if new else 200)

    # looking

    async def _list(self, request: web.Request, agent: str) -> web.StreamResponse:
        mine = [question for question in await self._room.pending() if question.agent == agent]
        return json_answer({"questions": [self._document(question) for question in mine]})

    async def _look(self, request: web.Request, agent: str) -> web.StreamResponse:
        wait_s = read_wait(request.query.get("wait"))
        question = await self._own(request, agent)
        if question.state.pending and wait_s > 0:
            with self._callers.counted(agent), suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await while_there(request, self._room.ended(question.id))
            question = await self._own(request, agent)
        masked = {field.name for field in question.form.fields if field.masked}
        if question.state is QuestionState.ANSWERED and masked & (question.answer or {}).keys():
            return await self._give(request, agent)
        return json_answer(self._document(question))

    async def _give(self, request: web.Request, agent: str) -> web.StreamResponse:
        """An answer with masked values: once, and forgotten only after it was sent (FORM-10)."""
        async with self._giving[agent], asyncio.timeout(READ_WITHIN_S):
            question = await self._own(request, agent)
            response = json_answer(self._document(question))
            await response.prepare(request)
            await response.write_eof()  # ConnectionError: nobody has it, so it stays
            await self._room.wait(question.id)
        return response

    async def _cancel(self, request: web.Request, agent: str) -> web.StreamResponse:
        await self._room.cancel((await self._own(request, agent)).id)
        question = await self._own(request, agent)
        if question.state is not QuestionState.CANCELLED:
            raise RefusedError(409, "ended", f"the question is {question.state.value}")
        return json_answer(head_document(question))

    async def _own(self, request: web.Request, agent: str) -> Question:
        question = await self._room.look_of(agent, request.match_info["id"][:64])
        if question is None:
            raise RefusedError(*_UNKNOWN)
        return question

    def _document(self, question: Question) -> dict[str, Any]:
        return question_document(question, self._room.conclusion(question))
