"""Approvals over HTTP, for agents on this machine (APPR-1 to 7): proposed, waited for, used once, the outcome told.

    POST /v1/approvals                            201 proposed, 200 proposed before with the same key
    GET /v1/approvals                             the agent's own that are not closed
    GET /v1/approvals/{id}?wait=25s&since=2       how it stands; waits until it is decided, or for another revision
    POST /v1/approvals/{id}/revise                another action in its place, which has to be looked at anew
    POST /v1/approvals/{id}/claim                 uses it, once; what is answered is exactly what may run
    POST /v1/approvals/{id}/outcome               what came of it
    DELETE /v1/approvals/{id}                     takes it back

An agent sees its own approvals alone: those of others are as unknown as any. It can decide nothing here.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final, Protocol

from aiohttp import web

from bot.api.answering import RefusedError, body_of, header_key, json_answer, read_wait
from bot.api.callbacks import APPROVAL, arm, check
from bot.api.limiting import within_request
from bot.api.listening import while_there
from bot.api.proposed import (
    approval_document,
    head_document,
    read_claim,
    read_outcome,
    read_proposal,
    read_revision,
    refusal,
)
from bot.api.site import Callers
from bot.config.credentials import Scope
from bot.deliveries.pacing import Rate
from bot.model.approval import Approval, Proposal, Subject
from bot.model.errors import ProposalError
from bot.ports.approvals import Approvals
from bot.ports.callbacks import Callbacks
from policy.destination import Destination

PROPOSALS: Final = Rate(per_s=1.0, burst=30)

_UNKNOWN: Final = (404, "unknown", "there is no such approval of yours")
_LONGEST_REVISION: Final = 9
"""Digits."""


class ProposesFor(Protocol):
    """Proposes where a request was made (see :class:`bot.runtime.worker.Worker`)."""

    async def propose_for(self, request_id: str, agent: str, proposal: Proposal) -> Approval:
        """Propose for an agent that is working on a request.

        Raises:
            ProposalError: it works on no such request, or it can't be proposed.
        """
        ...

    def place_of(self, request_id: str, agent: str) -> tuple[Destination, str | None] | None:
        """Where a request was made on which it works, and by whom."""
        ...


class ApprovalsApi:
    """Routes and their answers."""

    def __init__(
        self,
        proposes: ProposesFor,
        room: Approvals,
        *,
        clock: Callable[[], datetime],
        callbacks: Callbacks | None = None,
    ) -> None:
        """Args: proposes: where requests were made. room: of the approvals. clock: the one of the room."""
        self._callbacks = callbacks
        self._proposes = proposes
        self._room = room
        self._clock = clock
        self._proposing: dict[str, asyncio.Lock] = {}

    def add_to(self, router: web.UrlDispatcher, callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        self._callers = callers
        self._proposing = {name: asyncio.Lock() for name in callers.names}
        one, scope = "/v1/approvals/{id}", Scope.PROPOSE
        router.add_post("/v1/approvals", callers.only(self._propose, callers.paces(PROPOSALS), scope=scope))
        router.add_get("/v1/approvals", callers.only(self._list, scope=scope), allow_head=False)
        router.add_get(one, callers.only(self._look, scope=scope), allow_head=False)
        router.add_post(f"{one}/revise", callers.only(self._revise, callers.paces(PROPOSALS), scope=scope))
        router.add_post(f"{one}/claim", callers.only(self._claim, scope=scope))
        router.add_post(f"{one}/outcome", callers.only(self._outcome, scope=scope))
        router.add_delete(one, callers.only(self._cancel, scope=scope))

    async def _propose(self, request: web.Request, agent: str) -> web.StreamResponse:
        proposed = read_proposal(await body_of(request), header_key=header_key(request))
        if proposed.request is not None:
            within_request(request, self._proposes.place_of(proposed.request, agent))
        check(self._callbacks, proposed.callback, agent=agent)
        async with self._proposing[agent]:  # so that of two with one key the second knows that it is the second
            before = self._clock()
            try:
                if proposed.request is None:
                    approval = await self._room.propose(proposed.proposal, agent=agent, origin=None)
                else:
                    approval = await self._proposes.propose_for(proposed.request, agent, proposed.proposal)
            except ProposalError as error:
                raise refusal(error.code, str(error)) from None
        await arm(self._callbacks, proposed.callback, agent=agent, kind=APPROVAL, subject=approval.id)
        return json_answer(approval_document(approval), status=201 if approval.proposed_at >= before else 200)

    async def _list(self, request: web.Request, agent: str) -> web.StreamResponse:
        return json_answer({"approvals": [approval_document(one) for one in await self._mine(agent)]})

    async def _look(self, request: web.Request, agent: str) -> web.StreamResponse:
        wait_s, since = read_wait(request.query.get("wait")), _revision(request.query.get("since"))
        approval = await self._own(request, agent)
        if wait_s > 0:
            with self._callers.counted(agent), suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await while_there(request, self._until(approval, since))
            approval = await self._own(request, agent)
        return json_answer(approval_document(approval))

    async def _until(self, approval: Approval, since: int | None) -> None:
        """Wait for another revision; without one that is known, until people have nothing to decide any more."""
        if since is not None:
            await self._room.changed(approval.id, since=since)
            return
        known: Approval | None = approval
        while known is not None and known.state.undecided:
            known = await self._room.changed(known.id, since=known.revision)

    async def _revise(self, request: web.Request, agent: str) -> web.StreamResponse:
        revised = read_revision(await body_of(request))
        approval = await self._own_call(request, agent)
        try:
            changed = await self._room.revise(
                approval.id, revised.action_of(approval), by=None, revision=revised.revision
            )
        except ProposalError as error:
            raise refusal(error.code, str(error)) from None
        return json_answer(approval_document(changed))

    async def _claim(self, request: web.Request, agent: str) -> web.StreamResponse:
        claimed = read_claim(await body_of(request))
        approval = await self._own_call(request, agent)
        try:
            used = await self._room.claim(
                approval.id, version=claimed.version, key=claimed.key, target_present=claimed.target_present
            )
        except ProposalError as error:
            raise refusal(error.code, str(error)) from None
        return json_answer(approval_document(used))

    async def _outcome(self, request: web.Request, agent: str) -> web.StreamResponse:
        told = read_outcome(await body_of(request))
        approval = await self._own_call(request, agent)
        try:
            ended = await self._room.outcome(approval.id, executed=told.executed, note=told.note)
        except ProposalError as error:
            raise refusal(error.code, str(error)) from None
        return json_answer(approval_document(ended))

    async def _cancel(self, request: web.Request, agent: str) -> web.StreamResponse:
        approval = await self._own(request, agent)
        try:
            cancelled = await self._room.cancel(approval.id)
        except ProposalError as error:
            raise refusal(error.code, str(error)) from None
        return json_answer(head_document(cancelled))

    async def _mine(self, agent: str) -> list[Approval]:
        return [one for one in await self._room.pending() if one.agent == agent]

    async def _own(self, request: web.Request, agent: str) -> Approval:
        approval = await self._room.look_of(agent, request.match_info["id"][:64])
        if approval is None:
            raise RefusedError(*_UNKNOWN)
        return approval

    async def _own_call(self, request: web.Request, agent: str) -> Approval:
        """One that the agent carries out itself."""
        approval = await self._own(request, agent)
        if approval.subject is not Subject.CALL:
            raise RefusedError(409, "state", "a draft is sent by the gateway; file another one to change it")
        return approval


def _revision(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_REVISION):
        raise RefusedError(400, "malformed", "since is the number of a revision")
    return int(text)
