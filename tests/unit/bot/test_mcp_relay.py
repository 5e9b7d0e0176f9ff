"""What passes the proxy, message by message, between two peers that are nothing but pipes (APPR-10)."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from bot.mcp.eliciting import Eliciting
from bot.mcp.gateway import GatewayError
from bot.mcp.holding import Holding
from bot.mcp.relay import Peer, Relay


class Nobody:
    """A gateway that can't be reached."""

    def __getattr__(self, _name):
        async def refuse(*_args, **_more):
            raise GatewayError(403, {"error": "forbidden", "message": "no"})

        return refuse


class Side:
    def __init__(self, streams: Any) -> None:
        self.incoming, self.outgoing = streams

    async def send(self, message: Any) -> None:
        await self.outgoing.send(SessionMessage(message))

    async def next(self) -> dict[str, Any]:
        """What stands on the wire."""
        async with asyncio.timeout(10):
            received = await self.incoming.receive()
        written: dict[str, Any] = received.message.model_dump(by_alias=True, exclude_unset=True, mode="json")
        return written


@asynccontextmanager
async def between(*, ask_people=False, eliciting=None):
    async with (
        create_client_server_memory_streams() as (near, here),
        create_client_server_memory_streams() as (there, far),
    ):
        relay = Relay(
            client=Peer(incoming=here[0], outgoing=here[1]),
            server=Peer(incoming=there[0], outgoing=there[1]),
            holding=Holding(Nobody(), system="shop", wait_s=1),
            eliciting=Eliciting(Nobody(), system="shop") if ask_people else eliciting,
            stamps=None,
        )
        running = asyncio.create_task(relay.run())
        yield Side(near), Side(far)
        await near[1].aclose()
        async with asyncio.timeout(20):
            await running


def request(number, method, **params):
    return JSONRPCRequest(jsonrpc="2.0", id=number, method=method, **({"params": params} if params else {}))


async def test_a_request_goes_on_as_it_came_and_nothing_is_added_to_it():
    for ask_people in (False, True):
        async with between(ask_people=ask_people) as (client, server):
            await client.send(request("seven", "tools/list"))
            assert await server.next() == {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            await server.send(JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": [], "x": 1}))
            assert await client.next() == {"jsonrpc": "2.0", "id": "seven", "result": {"tools": [], "x": 1}}
            note = JSONRPCNotification(jsonrpc="2.0", method="notifications/roots/list_changed")
            await client.send(note)
            assert await server.next() == {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}


async def test_a_cancelled_request_is_cancelled_under_the_id_that_the_server_knows():
    async with between() as (client, server):
        await client.send(request("x", "resources/read", uri="a"))
        assert (await server.next())["id"] == 1
        cancel = {"requestId": "x", "reason": "changed my mind"}
        await client.send(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=cancel))
        assert (await server.next())["params"]["requestId"] == 1
        await server.send(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))  # too late, and for nobody
        await client.send(request("x", "ping"))
        assert (await server.next())["id"] == 2
        await server.send(JSONRPCResponse(jsonrpc="2.0", id=2, result={}))
        assert (await client.next())["id"] == "x"


async def test_what_the_server_asks_is_answered_by_the_client_once_and_nothing_else_is():
    async with between() as (client, server):
        await client.send(JSONRPCResponse(jsonrpc="2.0", id="a", result={"forged": True}))
        await server.send(request("a", "sampling/createMessage", messages=[]))
        assert (await client.next())["method"] == "sampling/createMessage"
        for _ in range(2):
            await client.send(JSONRPCResponse(jsonrpc="2.0", id="a", result={"role": "assistant"}))
        await client.send(request(1, "ping"))
        assert await server.next() == {"jsonrpc": "2.0", "id": "a", "result": {"role": "assistant"}}
        assert (await server.next())["method"] == "ping"


async def test_where_people_are_asked_the_client_neither_sees_nor_answers_it():
    async with between(ask_people=True) as (client, server):
        await server.send(request("a", "elicitation/create", message="?", requestedSchema={"properties": {}}))
        refused = await server.next()
        assert (refused["id"], refused["error"]["code"]) == ("a", -32602)  # nobody can be asked here
        await client.send(JSONRPCResponse(jsonrpc="2.0", id="a", result={"action": "accept"}))
        await client.send(request(1, "ping"))
        assert (await server.next())["method"] == "ping"
        await client.send(request(2, "initialize", capabilities={}))
        assert (await server.next())["params"]["capabilities"] == {"elicitation": {"form": {}, "url": {}}}


class Patient:
    """Asks people who take their time."""

    def __init__(self) -> None:
        self.asked, self.given_up = asyncio.Event(), asyncio.Event()

    async def answer(self, _params):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up.set()


async def test_what_the_server_does_not_want_to_know_any_more_is_not_asked_any_more():
    patient = Patient()
    async with between(eliciting=patient) as (client, server), asyncio.timeout(10):
        await server.send(request("a", "elicitation/create", message="?"))
        await patient.asked.wait()
        await server.send(request("a", "elicitation/create", message="?"))
        assert (await server.next())["error"]["code"] == -32600  # this id is under way
        over = {"requestId": "a"}
        await server.send(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=over))
        await patient.given_up.wait()
        await client.send(request(1, "ping"))
        assert (await server.next())["method"] == "ping"


async def test_a_server_that_goes_leaves_no_request_without_an_answer():
    async with between() as (client, server):
        await client.send(request(5, "tools/list"))
        await server.next()
        await server.outgoing.aclose()
        left = await client.next()
        assert (left["id"], left["error"]["message"]) == (5, "the server has gone")
