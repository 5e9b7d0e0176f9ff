"""Interactions over HTTP, for agents on this machine (CLAR): begun, asked about, patched, ended, looked at.

    POST /v1/interactions                          201 begun, 200 begun before with the same key
    GET /v1/interactions                           the agent's own that go on
    GET /v1/interactions/{id}                      how it stands, with what was asked
    POST /v1/interactions/{id}/clarifications      asks for one empty slot; a person's answer begins a run
    POST /v1/interactions/{id}/patches             changes a slot, or answers a clarification;
                                                   409 version_conflict names the current version
    POST /v1/interactions/{id}/complete            the goal is reached
    DELETE /v1/interactions/{id}                   gives it up

An agent sees its own interactions alone. One begins, and asks, where the request was made on which the agent works;
without such a request nobody is asked anything (OUT-6).
"""

from typing import Any, Final, Protocol

from aiohttp import web

from bot.api.answering import RefusedError, body_of, header_key, json_answer
from bot.api.limiting import within_request
from bot.api.looped import (
    clarification_of,
    interaction_of,
    read_beginning,
    read_clarification,
    read_patch,
    refusal,
)
from bot.api.site import Callers
from bot.clarifications.room import ClarificationRoom, Origin
from bot.config.credentials import Scope
from bot.deliveries.pacing import Rate
from bot.model.errors import AskError, InteractionError
from bot.model.interaction import Interaction, InteractionState
from policy.destination import Destination

CHANGES: Final = Rate(per_s=2.0, burst=30)
_UNKNOWN: Final = (404, "unknown", "there is no such interaction of yours")


class OriginsFor(Protocol):
    """Knows the runs of agents (see :class:`bot.runtime.worker.Worker`)."""

    def origin_for(self, request_id: str, agent: str) -> Origin:
        """The run of an agent that works on a request.

        Raises:
            AskError: it works on no such request.
        """
        ...

    def place_of(self, request_id: str, agent: str) -> tuple[Destination, str | None] | None:
        """Where a request was made on which an agent works, and by whom; None: there is none."""
        ...


class InteractionsApi:
    """Routes and their answers."""

    def __init__(self, runs: OriginsFor, room: ClarificationRoom) -> None:
        """Args: runs: on which agents work. room: of the interactions."""
        self._runs = runs
        self._room = room

    def add_to(self, router: web.UrlDispatcher, callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        paces = callers.paces(CHANGES)
        one, scope = "/v1/interactions/{id}", Scope.ASK
        router.add_post("/v1/interactions", callers.only(self._start, paces, scope=scope))
        router.add_get("/v1/interactions", callers.only(self._list, scope=scope), allow_head=False)
        router.add_get(one, callers.only(self._look, scope=scope), allow_head=False)
        router.add_post(f"{one}/clarifications", callers.only(self._ask, paces, scope=scope))
        router.add_post(f"{one}/patches", callers.only(self._patch, paces, scope=scope))
        router.add_post(f"{one}/complete", callers.only(self._complete, paces, scope=scope))
        router.add_delete(one, callers.only(self._cancel, paces, scope=scope))

    async def _start(self, request: web.Request, agent: str) -> web.StreamResponse:
        begun = read_beginning(await body_of(request), header_key=header_key(request))
        within_request(request, self._runs.place_of(begun.request, agent))
        try:
            origin = self._runs.origin_for(begun.request, agent)
            key = f"api:{begun.key}" if begun.key else f"run:{origin.event_id}"
            known = await self._room.known(agent, key)
            interaction = await self._room.start(origin, plan=begun.plan, key=key, workspace=begun.workspace)
        except (AskError, InteractionError) as error:
            raise refusal(error) from None
        return json_answer(await self._document(interaction), status=201 if known is None else 200)

    async def _list(self, request: web.Request, agent: str) -> web.StreamResponse:
        mine = [one for one in await self._room.store.actives() if one.agent == agent]
        return json_answer({"interactions": [interaction_of(one, []) for one in mine]})

    async def _look(self, request: web.Request, agent: str) -> web.StreamResponse:
        return json_answer(await self._document(await self._own(request, agent)))

    async def _ask(self, request: web.Request, agent: str) -> web.StreamResponse:
        asked = read_clarification(await body_of(request), header_key=header_key(request))
        interaction = await self._own(request, agent)
        try:
            origin = self._runs.origin_for(asked.request, agent)
            key = asked.key or f"{asked.clarify.task}:{asked.clarify.slot}:{interaction.plan_version}"
            clarification = await self._room.ask(interaction.id, asked.clarify, key=key, origin=origin)
        except (AskError, InteractionError) as error:
            raise refusal(error) from None
        return json_answer(clarification_of(clarification), status=201)

    async def _patch(self, request: web.Request, agent: str) -> web.StreamResponse:
        body = await body_of(request)
        interaction = await self._own(request, agent)
        try:
            change = read_patch(body, interaction.id)
            changed = await self._room.patch(change)
        except InteractionError as error:
            raise refusal(error) from None
        return json_answer(await self._document(changed))

    async def _complete(self, request: web.Request, agent: str) -> web.StreamResponse:
        return await self._end(request, agent, "complete", InteractionState.COMPLETED)

    async def _cancel(self, request: web.Request, agent: str) -> web.StreamResponse:
        return await self._end(request, agent, "cancel", InteractionState.CANCELLED)

    async def _end(self, request: web.Request, agent: str, verb: str, state: InteractionState) -> web.StreamResponse:
        interaction = await self._own(request, agent)
        await self._room.end(interaction.id, verb)
        ended = await self._own(request, agent)
        if ended.state is not state:
            raise RefusedError(409, "ended", f"the interaction is {ended.state.value}")
        return json_answer(await self._document(ended))

    async def _own(self, request: web.Request, agent: str) -> Interaction:
        interaction = await self._room.store.get_of(agent, request.match_info["id"][:64])
        if interaction is None:
            raise RefusedError(*_UNKNOWN)
        return interaction

    async def _document(self, interaction: Interaction) -> dict[str, Any]:
        return interaction_of(interaction, await self._room.store.clarifications(interaction.id))
