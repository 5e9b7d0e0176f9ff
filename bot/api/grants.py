"""Grants over HTTP, with a dispatcher's key alone (OUT-6): made, looked at, taken back.

    POST /v1/grants                      201 made, 200 made before with the same key
    GET /v1/grants                       the dispatcher's own, the latest first
    GET /v1/grants/{id}                  one of them
    DELETE /v1/grants/{id}               takes it back

An agent's key is refused: whoever writes can't be whoever lets write. A dispatcher can't deliver either.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from aiohttp import web

from bot.api.answering import RefusedError, body_of, header_key, json_answer
from bot.api.limiting import within_destination
from bot.api.site import Callers
from bot.api.unasked import grant_document, grant_refusal, read_wish
from bot.deliveries.grants import GrantRoom, grant_id
from bot.deliveries.pacing import Rate
from bot.model.errors import GrantError
from policy.grants import Grant, Issuer, IssuerKind

POSTS: Final = Rate(per_s=1.0, burst=30)
_UNKNOWN: Final = (404, "unknown", "there is no such grant of yours")


class GrantsApi:
    """Routes and their answers."""

    def __init__(self, room: GrantRoom, dispatchers: Callers, *, clock: Callable[[], datetime]) -> None:
        """Args: room: of the grants. dispatchers: who may make them. clock: the one of the room."""
        self._room = room
        self._dispatchers = dispatchers
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher, _callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`; agents are no callers here."""
        callers = self._dispatchers
        router.add_post("/v1/grants", callers.only(self._issue, callers.paces(POSTS)))
        router.add_get("/v1/grants", callers.only(self._list), allow_head=False)
        router.add_get("/v1/grants/{id}", callers.only(self._look), allow_head=False)
        router.add_delete("/v1/grants/{id}", callers.only(self._revoke))

    async def _issue(self, request: web.Request, dispatcher: str) -> web.StreamResponse:
        wish = read_wish(await body_of(request), header_key=header_key(request))
        within_destination(request, wish.destination)
        issuer = _issuer(dispatcher)
        new_id = None if wish.key is None else grant_id(str(issuer), wish.key)
        before = new_id is not None and await self._room.look(new_id) is not None
        try:
            grant = await self._room.issue(
                issuer=issuer,
                agent=wish.agent,
                destination=wish.destination,
                uses=wish.uses,
                lasts=wish.lasts,
                purpose=wish.purpose,
                new_id=new_id,
            )
        except GrantError as error:
            raise grant_refusal(error) from None
        return json_answer(grant_document(grant, self._clock()), status=200 if before else 201)

    async def _list(self, _request: web.Request, dispatcher: str) -> web.StreamResponse:
        mine = [grant for grant in await self._room.all() if grant.issuer == _issuer(dispatcher)]
        return json_answer({"grants": [grant_document(grant, self._clock()) for grant in mine]})

    async def _look(self, request: web.Request, dispatcher: str) -> web.StreamResponse:
        return json_answer(grant_document(await self._own(request, dispatcher), self._clock()))

    async def _revoke(self, request: web.Request, dispatcher: str) -> web.StreamResponse:
        grant = await self._own(request, dispatcher)
        await self._room.revoke(grant.id, by=_issuer(dispatcher))
        return json_answer(grant_document(await self._own(request, dispatcher), self._clock()))

    async def _own(self, request: web.Request, dispatcher: str) -> Grant:
        grant = await self._room.look(request.match_info["id"][:64])
        if grant is None or grant.issuer != _issuer(dispatcher):
            raise RefusedError(*_UNKNOWN)
        return grant


def _issuer(dispatcher: str) -> Issuer:
    return Issuer(kind=IssuerKind.DISPATCHER, id=dispatcher)
