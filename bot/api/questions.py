"""Questions over HTTP, for agents on this machine (FORM-1, FORM-2, FORM-7): asked, waited for, taken back.

    POST /v1/questions                   201 asked, 200 asked before with the same key
    GET /v1/questions                    the agent's own that still take an answer
    GET /v1/questions/{id}?wait=25s      how it stands; waits for its end
    DELETE /v1/questions/{id}            takes it back

Each agent has its key and sees its own questions alone: those of others are as unknown as any. A question goes where
the request was made on which the agent works; without such a request it goes nowhere (OUT-6).

INVARIANT: no body, key or answer is logged, and no error quotes one.
"""

import asyncio
import hashlib
import hmac
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Final, Protocol

import orjson
from aiohttp import web

from bot.api.asked import (
    RefusedError,
    error_document,
    head_document,
    question_document,
    read_asked,
    read_wait,
    refusal,
)
from bot.config.secret import Secret
from bot.deliveries.pacing import Bucket, Rate
from bot.model.errors import AskError
from bot.model.question import Asking, Conclusion, Question, QuestionState
from bot.observability.log import HTTP, get_logger

log = get_logger(__name__)

MAX_BODY: Final = 64 << 10  # bytes
READ_WITHIN_S: Final = 10.0
MAX_OPEN: Final = 100
"""Questions of one agent that wait for people."""
MAX_WAITING: Final = 200
"""Calls of one agent that wait for an end."""
ASKS: Final = Rate(per_s=1.0, burst=30)
LOOKS: Final = Rate(per_s=20.0, burst=200)

_UNKNOWN: Final = (404, "unknown", "there is no such question of yours")
_PLAIN: Final[Mapping[int, tuple[str, str]]] = {
    404: ("unknown", "there is nothing at this address"),
    405: ("not_allowed", "this can't be done here"),
    413: ("too_large", f"a body has at most {MAX_BODY} bytes"),
}


class AsksFor(Protocol):
    """Asks where a request was made (see :class:`bot.runtime.worker.Worker`)."""

    async def ask_for(self, request_id: str, agent: str, asking: Asking) -> Question:
        """Ask for an agent that is working on a request.

        Raises:
            AskError: it works on no such request, or the question can't be asked.
        """
        ...


class Room(Protocol):
    """Where questions are (see :class:`bot.questions.room.QuestionRoom`)."""

    async def look(self, question_id: str) -> Question | None:
        """A question as it stands."""
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


Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]


async def serve(
    asks: AsksFor,
    room: Room,
    *,
    host: str,
    port: int,
    keys: Mapping[str, Secret],
    clock: Callable[[], datetime],
    bound: Callable[[int], None] = lambda _: None,
) -> None:
    """Serve until cancelled. A port that is taken is told and costs nothing but the interface.

    Args:
        asks: questions where requests were made.
        room: of the questions.
        host: to bind.
        port: to bind; 0 for a free one.
        keys: by name of the agent.
        clock: the one of the room.
        bound: is told the port.
    """
    site = QuestionsApi(asks, room, keys=keys, clock=clock)
    runner = web.AppRunner(site.application(), access_log=None, logger=HTTP, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            log.error("api_failed", port=port, cause=error.strerror)
            return
        bound(runner.addresses[0][1])
        log.info("api", host=host, port=runner.addresses[0][1])
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


class QuestionsApi:
    """Routes and their answers."""

    def __init__(self, asks: AsksFor, room: Room, *, keys: Mapping[str, Secret], clock: Callable[[], datetime]) -> None:
        """See :func:`serve`."""
        self._asks = asks
        self._room = room
        self._clock = clock
        self._digests = {name: _digest(key.reveal().encode()) for name, key in keys.items()}
        self._asking = {name: asyncio.Lock() for name in keys}
        self._pace_asks = {name: Bucket(ASKS) for name in keys}
        self._pace_looks = {name: Bucket(LOOKS) for name in keys}
        self._waiting: Counter[str] = Counter()
        self._giving = {name: asyncio.Lock() for name in keys}

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[_answered], client_max_size=MAX_BODY)
        app.on_response_prepare.append(_set_headers)
        app.router.add_post("/v1/questions", self._for_agents(self._ask, self._pace_asks))
        # no HEAD: it would take a masked answer and give it to nobody
        app.router.add_get("/v1/questions", self._for_agents(self._list, self._pace_looks), allow_head=False)
        app.router.add_get("/v1/questions/{id}", self._for_agents(self._look, self._pace_looks), allow_head=False)
        app.router.add_delete("/v1/questions/{id}", self._for_agents(self._cancel, self._pace_looks))
        return app

    def _for_agents(
        self, handler: Handler, paces: Mapping[str, Bucket]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Who asks is known by the key, and none may come too often."""

        async def handle(request: web.Request) -> web.StreamResponse:
            agent = self._agent(request.headers.getall("Authorization", []))
            if agent is None:
                raise RefusedError(401, "unauthorized", "send your key: Authorization: Bearer KEY")
            now = asyncio.get_running_loop().time()
            wait_s = paces[agent].wait_s(now)
            if wait_s > 0:
                raise RefusedError(429, "too_fast", "you come too often", after_s=wait_s)
            paces[agent].take(now)
            return await handler(request, agent)

        return handle

    def _agent(self, headers: list[str]) -> str | None:
        """Whose key it is. Every key is compared, in constant time, whichever fits."""
        scheme, _, key = (headers[0] if len(headers) == 1 else "").partition(" ")
        given = _digest(key.strip().encode(errors="surrogateescape"))
        found = None
        for name, digest in self._digests.items():
            if hmac.compare_digest(digest, given):
                found = name
        return found if scheme.lower() == "bearer" else None

    # asking

    async def _ask(self, request: web.Request, agent: str) -> web.StreamResponse:
        keys = request.headers.getall("Idempotency-Key", [])
        if len(keys) > 1:
            raise RefusedError(400, "malformed", "Idempotency-Key comes twice")
        asked = read_asked(await _body(request), header_key=keys[0] if keys else None)
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
        return _json(head_document(question), status=201 if new else 200)

    # looking

    async def _list(self, request: web.Request, agent: str) -> web.StreamResponse:
        mine = [question for question in await self._room.pending() if question.agent == agent]
        return _json({"questions": [self._document(question) for question in mine]})

    async def _look(self, request: web.Request, agent: str) -> web.StreamResponse:
        wait_s = read_wait(request.query.get("wait"))
        question = await self._own(request, agent)
        if question.state.pending and wait_s > 0:
            with self._counted(agent), suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._room.ended(question.id)
            question = await self._own(request, agent)
        masked = {field.name for field in question.form.fields if field.masked}
        if question.state is QuestionState.ANSWERED and masked & (question.answer or {}).keys():
            return await self._give(request, agent)
        return _json(self._document(question))

    async def _give(self, request: web.Request, agent: str) -> web.StreamResponse:
        """An answer with masked values: once, and forgotten only after it was sent (FORM-10)."""
        async with self._giving[agent], asyncio.timeout(READ_WITHIN_S):
            question = await self._own(request, agent)
            response = _json(self._document(question))
            await response.prepare(request)
            await response.write_eof()  # ConnectionError: nobody has it, so it stays
            await self._room.wait(question.id)
        return response

    async def _cancel(self, request: web.Request, agent: str) -> web.StreamResponse:
        await self._room.cancel((await self._own(request, agent)).id)
        question = await self._own(request, agent)
        if question.state is not QuestionState.CANCELLED:
            raise RefusedError(409, "ended", f"the question is {question.state.value}")
        return _json(head_document(question))

    async def _own(self, request: web.Request, agent: str) -> Question:
        question = await self._room.look(request.match_info["id"][:64])
        if question is None or question.agent != agent:
            raise RefusedError(*_UNKNOWN)
        return question

    def _document(self, question: Question) -> dict[str, Any]:
        return question_document(question, self._room.conclusion(question))

    @contextmanager
    def _counted(self, agent: str) -> Iterator[None]:
        if self._waiting[agent] >= MAX_WAITING:
            raise RefusedError(429, "too_many_waiting", f"{MAX_WAITING} calls of yours are waiting", after_s=1.0)
        self._waiting[agent] += 1
        try:
            yield
        finally:
            self._waiting[agent] -= 1


async def _body(request: web.Request) -> bytes:
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise RefusedError(400, "malformed", "send the body as it is, not compressed")
    if (request.content_length or 0) > MAX_BODY:
        raise RefusedError(413, *_PLAIN[413])
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            return await request.read()
    except TimeoutError:
        raise RefusedError(400, "malformed", "the body did not come") from None
    except (ValueError, web.RequestPayloadError):
        raise RefusedError(400, "malformed", "the body broke off") from None


@web.middleware
async def _answered(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Whatever happens, agents get JSON, and logs get neither key nor body."""
    try:
        return await handler(request)
    except RefusedError as refused:
        return _refused(refused)
    except web.HTTPException as error:
        code, text = _PLAIN.get(error.status, ("malformed", "this can't be understood"))
        response = _refused(RefusedError(error.status, code, text))
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    except ConnectionError:
        raise
    except Exception as error:  # noqa: BLE001 - a traceback could hold what somebody wrote
        log.error("api_call_failed", method=request.method, error=type(error).__name__)
        return _refused(RefusedError(503, "unavailable", "try again in a moment", after_s=1.0))


def _refused(refused: RefusedError) -> web.Response:
    response = _json(error_document(refused), status=refused.status)
    if refused.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if refused.after_s > 0:
        response.headers["Retry-After"] = str(math.ceil(refused.after_s))
    return response


def _json(document: object, *, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")


async def _set_headers(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.pop("Server", None)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
