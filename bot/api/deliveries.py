"""Scheduled deliveries over HTTP, for agents on this machine (OUT-6): asked for, looked at, taken back.

    POST /v1/deliveries                  201 scheduled, 200 asked for before with the same key; 403 muted, and recorded
    GET /v1/deliveries                   the agent's own that are not closed
    GET /v1/deliveries/{id}              how it stands, with what came of its parts
    DELETE /v1/deliveries/{id}           takes it back

It says where, and a grant says that it may: there is no other way to a place where nobody has asked. Each agent sees
its own alone.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from aiohttp import web

from bot.api.answering import RefusedError, body_of, header_key, json_answer
from bot.api.limiting import within_place
from bot.api.site import Callers
from bot.api.unasked import delivery_document, delivery_refusal, muted_document, read_order
from bot.config.credentials import Scope
from bot.deliveries.pacing import Rate
from bot.deliveries.schedule import Order
from bot.model.delivery import Delivery, DeliveryState
from bot.model.errors import DeliveryError
from policy.destination import Destination

POSTS: Final = Rate(per_s=1.0, burst=30)
_UNKNOWN: Final = (404, "unknown", "there is no such delivery of yours")


class Room(Protocol):
    """Where deliveries are (see :class:`bot.deliveries.schedule.Schedule`)."""

    async def post(self, order: Order, *, agent: str, key: str) -> Delivery:
        """Schedule one, or find it.

        Raises:
            DeliveryError: it can't be.
        """
        ...

    async def known(self, agent: str, key: str) -> bool:
        """Whether one was asked for with this key before."""
        ...

    async def look_of(self, agent: str, delivery_id: str) -> Delivery | None:
        """One of this agent as it stands."""
        ...

    async def other_side(self, destination: Destination) -> str | None:
        """In a one-to-one chat the account of the other side."""
        ...

    async def receipts(self, delivery_id: str) -> Mapping[str, int]:
        """What came of its parts."""
        ...

    async def open_of(self, agent: str) -> list[Delivery]:
        """Those that are not closed."""
        ...

    async def cancel(self, delivery_id: str) -> bool:
        """Take one back."""
        ...


class DeliveriesApi:
    """Routes and their answers."""

    def __init__(self, room: Room, *, people: Callable[[str], str | None] = lambda _: None) -> None:
        """Args: room: of the deliveries. people: ids in the policy, by account; for keys that are limited to some."""
        self._room = room
        self._people = people
        self._posting: dict[str, asyncio.Lock] = {}

    def add_to(self, router: web.UrlDispatcher, callers: Callers) -> None:
        """See :class:`bot.api.site.ApiPart`."""
        scope = Scope.DELIVER
        router.add_post("/v1/deliveries", callers.only(self._post, callers.paces(POSTS), scope=scope))
        router.add_get("/v1/deliveries", callers.only(self._list, scope=scope), allow_head=False)
        router.add_get("/v1/deliveries/{id}", callers.only(self._look, scope=scope), allow_head=False)
        router.add_delete("/v1/deliveries/{id}", callers.only(self._cancel, scope=scope))

    async def _post(self, request: web.Request, agent: str) -> web.StreamResponse:
        order, key = read_order(await body_of(request), header_key=header_key(request))
        await within_place(request, order.destination, self._room.other_side, self._people)
        async with self._posting.setdefault(agent, asyncio.Lock()):  # of two with one key the second is the second
            before = await self._room.known(agent, key)
            try:
                delivery = await self._room.post(order, agent=agent, key=key)
            except DeliveryError as error:
                raise delivery_refusal(error) from None
        if delivery.state is DeliveryState.MUTED and not delivery.fired:
            return json_answer(muted_document(delivery), status=403)
        return json_answer(await self._document(delivery), status=200 if before else 201)

    async def _list(self, _request: web.Request, agent: str) -> web.StreamResponse:
        mine = await self._room.open_of(agent)
        return json_answer({"deliveries": [await self._document(one) for one in mine]})

    async def _look(self, request: web.Request, agent: str) -> web.StreamResponse:
        return json_answer(await self._document(await self._own(request, agent)))

    async def _cancel(self, request: web.Request, agent: str) -> web.StreamResponse:
        await self._room.cancel((await self._own(request, agent)).id)
        delivery = await self._own(request, agent)
        if delivery.state is not DeliveryState.CANCELLED:
            raise RefusedError(409, "ended", f"the delivery is {delivery.state.value}")
        return json_answer(await self._document(delivery))

    async def _own(self, request: web.Request, agent: str) -> Delivery:
        delivery = await self._room.look_of(agent, request.match_info["id"][:64])
        if delivery is None:
            raise RefusedError(*_UNKNOWN)
        return delivery

    async def _document(self, delivery: Delivery) -> dict[str, Any]:
        return delivery_document(delivery, await self._room.receipts(delivery.id))
