"""A provider of the Agent Approval Protocol, over the room of approvals.

    POST /aap/v1/requests                201 asked for, 200 asked before with the same Idempotency-Key
    GET /aap/v1/requests/{id}?wait=25s   how it stands; waits for the decision
    DELETE /aap/v1/requests/{id}         takes it back while it is pending
    POST .../{id}/consume                uses it, once
    POST .../{id}/outcome                tells what came of it
    POST /aap/v1/instances               a credential of its own for a receiver that is told of decisions

Nothing here has a state or a rule of its own: requests are approvals, consuming is claiming. Instances are in
:mod:`bot.api.aap.instances`. INVARIANT: no body, key or credential is logged, and no error quotes one.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from aiohttp import web

from bot.api.aap.instances import Instance, Instances
from bot.api.aap.wire import (
    APPROVED,
    PENDING,
    error_of,
    invalid,
    message,
    read_id,
    read_key,
    read_outcome,
    read_provisioning,
    read_submission,
    request_document,
    stamp,
    status_of,
)
from bot.api.answering import RefusedError, body_of, json_answer, read_wait
from bot.api.approvals import PROPOSALS
from bot.api.listening import while_there
from bot.api.site import CREDENTIAL, Answering, Callers, Handler
from bot.approvals.proposing import MAX_NOTE
from bot.config.credentials import Credential, Scope
from bot.config.secret import Secret
from bot.deliveries.pacing import Bucket, Rate
from bot.model.approval import Approval, Subject
from bot.model.callback import Callback
from bot.model.errors import CallbackError, ProposalError
from bot.observability.log import get_logger
from bot.ports.approvals import Approvals
from bot.ports.callbacks import Callbacks, GoneError
from bot.ports.store import State

log = get_logger(__name__)

KIND: Final = "aap"
"""Of callbacks."""
PROVISIONS: Final = Rate(per_s=0.1, burst=10)
_UNKNOWN: Final = (404, "not_found", "there is no such request of yours")


class AapProvider:
    """Routes and their answers."""

    def __init__(
        self,
        room: Approvals,
        callbacks: Callbacks,
        state: State,
        *,
        clock: Callable[[], datetime],
        claim_within: Callable[[], timedelta],
    ) -> None:
        """Make it.

        Args:
            room: of the approvals.
            callbacks: tell receivers.
            state: keeps instances.
            clock: the one of the room.
            claim_within: how long one that is approved can be used, by the policy in force.
        """
        self._room = room
        self._callbacks = callbacks
        self._instances = Instances(state, callbacks, clock=clock)
        self._clock = clock
        self._claim_within = claim_within
        self._proposing: dict[str, asyncio.Lock] = {}

    def add_to(self, router: web.UrlDispatcher, callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        self._callers = callers
        self._proposing = {name: asyncio.Lock() for name in callers.names}
        one = "/aap/v1/requests/{id}"
        router.add_post("/aap/v1/requests", self._only(self._create, callers.paces(PROPOSALS)))
        router.add_get(one, self._only(self._look), allow_head=False)
        router.add_delete(one, self._only(self._cancel))
        router.add_post(f"{one}/consume", self._only(self._consume))
        router.add_post(f"{one}/outcome", self._only(self._outcome))
        provision = callers.only(self._provision, callers.paces(PROVISIONS), scope=Scope.PROPOSE)
        router.add_post("/aap/v1/instances", _in_its_words(provision))

    def _only(self, handler: Handler, paces: Mapping[str, Bucket] | None = None) -> Answering:
        """For agents' own keys, and the credentials of their instances."""

        def key_of(token: str) -> Credential | None:
            found = self._instances.of_token(self._callers, token)
            return None if found is None else found[1]

        answering = self._callers.only(handler, paces, scope=Scope.PROPOSE, known=key_of)

        async def handle(request: web.Request) -> web.StreamResponse:
            await self._instances.load()
            return await answering(request)

        return _in_its_words(handle)

    # requests

    async def _create(self, request: web.Request, agent: str) -> web.StreamResponse:
        key = read_key(request.headers.getall("Idempotency-Key", []))
        named = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        proposal = read_submission(await body_of(request), key=f"aap:{named}")
        async with self._proposing[agent]:  # so that of two with one key the second knows that it is the second
            before = self._clock()
            try:
                approval = await self._room.propose(proposal, agent=agent, origin=None)
            except ProposalError as error:
                raise _refusal(error) from None
        found = self._instances.of_token(self._callers, _token(request))
        await self._arm(None if found is None else found[0], approval)
        return self._answer(approval, status=201 if approval.proposed_at >= before else 200)

    async def _arm(self, instance: Instance | None, approval: Approval) -> None:
        """A receiver that can't be called does not keep anybody from asking: its client can look."""
        if instance is None or instance.delivery is None:
            return
        delivery = instance.delivery
        try:
            await self._callbacks.arm(
                agent=instance.agent,
                kind=KIND,
                subject=f"{instance.id}/{approval.id}",
                url=delivery.url,
                secret=Secret(delivery.secret),
            )
        except CallbackError as error:
            log.warning("aap_receiver_not_called", code=error.code)

    async def _look(self, request: web.Request, agent: str) -> web.StreamResponse:
        try:
            wait_s = read_wait(request.query.get("wait"))
        except RefusedError as refused:
            raise invalid(refused.text) from None
        approval = await self._own(request, agent)
        if wait_s > 0:
            with self._callers.counted(agent), suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await while_there(request, self._decided(approval))
            approval = await self._own(request, agent)
        return self._answer(approval)

    async def _decided(self, approval: Approval) -> None:
        known: Approval | None = approval
        while known is not None and known.state.undecided:
            known = await self._room.changed(known.id, since=known.revision)

    async def _cancel(self, request: web.Request, agent: str) -> web.StreamResponse:
        approval = await self._own(request, agent)
        if status_of(approval) == PENDING:
            with suppress(ProposalError):  # decided meanwhile
                await self._room.cancel(approval.id)
            approval = await self._own(request, agent)
        if status_of(approval) != "cancelled":
            raise RefusedError(409, "already_terminal", f"it is {status_of(approval)}")
        return self._answer(approval)

    async def _consume(self, request: web.Request, agent: str) -> web.StreamResponse:
        key = read_key(request.headers.getall("Idempotency-Key", []))
        approval = await self._own(request, agent)
        if status_of(approval) != APPROVED or approval.replaced:
            raise RefusedError(409, "not_approved", f"it is {status_of(approval)}")
        try:
            used = await self._room.claim(approval.id, version=approval.version, key=f"aap:{key}", target_present=None)
        except ProposalError as error:
            code = {"claimed": "already_consumed", "expired": "approval_expired"}.get(error.code, "not_approved")
            raise RefusedError(409, code, str(error)) from None
        return self._answer(used)

    async def _outcome(self, request: web.Request, agent: str) -> web.StreamResponse:
        succeeded, note = read_outcome(await body_of(request))
        approval = await self._own(request, agent)
        if approval.claimed_at is None:
            raise RefusedError(409, "not_consumed", "it was not consumed")
        try:
            told = await self._room.outcome(approval.id, executed=succeeded, note=note)
        except ProposalError as error:
            raise RefusedError(409, "outcome_conflict", str(error)) from None
        if told.note != note[:MAX_NOTE]:
            raise RefusedError(409, "outcome_conflict", "another outcome was told before")
        return self._answer(told)

    async def _own(self, request: web.Request, agent: str) -> Approval:
        """One that was asked for through this protocol, and whose words are not erased."""
        approval = await self._room.look_of(agent, read_id(request.match_info["id"]))
        if approval is None or approval.subject is not Subject.CALL or "aap" not in (approval.proposal.context or {}):
            raise RefusedError(*_UNKNOWN)
        return approval

    def _answer(self, approval: Approval, *, status: int = 200) -> web.Response:
        return json_answer(request_document(approval, claim_within=self._claim_within()), status=status)

    # instances

    async def _provision(self, request: web.Request, agent: str) -> web.StreamResponse:
        key = read_key(request.headers.getall("Idempotency-Key", []))
        asked = read_provisioning(await body_of(request))
        instance, new = await self._instances.provision(self._callers, agent, key, asked)
        document: dict[str, Any] = {
            "instance": {"id": instance.id, "name": instance.name},
            "credential": {"token": self._instances.token(request[CREDENTIAL], instance)},
        }
        return json_answer(document, status=201 if new else 200)

    async def tell(self, callback: Callback) -> bytes | None:
        """The teller of callbacks to receivers: that something is decided, and not what."""
        instance, _, approval_id = callback.subject.partition("/")
        approval = await self._room.look(approval_id)
        if approval is None or instance not in await self._instances.load():
            raise GoneError
        if approval.state.undecided:
            return None
        return message(
            {
                "id": callback.id,
                "type": "request.resolved",
                "instance_id": instance,
                "request_id": str(uuid.UUID(approval.id)),
                "created_at": stamp(self._clock()),
            }
        )


def _in_its_words(answering: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Answering:
    """Errors as AAP has them."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await answering(request)
        except RefusedError as refused:
            response = json_answer(error_of(refused), status=refused.status)
            if refused.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            if refused.after_s > 0:
                response.headers["Retry-After"] = str(max(1, round(refused.after_s)))
            return response

    return handle


def _refusal(error: ProposalError) -> RefusedError:
    match error.code:
        case "key_used":
            return RefusedError(409, "idempotency_conflict", str(error))
        case "too_many_open":
            return RefusedError(429, "too_many_open", str(error), after_s=60.0)
        case "unreconciled":
            return RefusedError(409, "unreconciled", str(error))
        case _:
            return invalid(str(error))


def _token(request: web.Request) -> str:
    return request.headers.get("Authorization", "").partition(" ")[2].strip()
