"""A2H with people in the built-in chat: what is asked goes to their own room with the bot (AGENT-1)."""

import asyncio
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest

from bot.api.site import serve
from bot.config.credentials import OF_AGENTS, Credentials, KeyRing
from bot.config.settings import Api
from bot.wiring.a2h import a2h
from bot.wiring.deliveries import CONSOLE
from bot.wiring.questions import parts_for_agents
from tests.a2h_desk import A2hClient
from tests.approvals_desk import approvals_desk

rule = pytest.mark.rule
PLACE = "web:desk:own"


@rule("AGENT-1")
async def test_what_an_agent_wants_reaches_a_person_in_their_own_room_of_the_chat(tmp_path):
    bound, kept = asyncio.get_running_loop().create_future(), []
    keys = Credentials(tmp_path / "keys.json")
    ring = KeyRing(agents={}, dispatchers={}, known=["main"], credentials=keys)

    def serving(rooms):
        site, desk = a2h(rooms, Api(enabled=True), data_dir=tmp_path, platforms={"web"}, passkeys=False)
        kept.append(rooms)
        parts = (*parts_for_agents(rooms, Api(enabled=True), ring), site)

        async def service():
            async with asyncio.TaskGroup() as group:
                group.create_task(desk.run())
                await serve(parts, host="127.0.0.1", port=0, keys=ring, bound=bound.set_result)

        return service

    async with approvals_desk(tmp_path, own_room="ann", asking=[serving]) as desk:
        await desk.visitor.say("own", "hello", who="ann")
        await desk.idle()
        await kept[0].grants.issue(
            issuer=CONSOLE, agent="main", destination=PLACE, uses=5, lasts=timedelta(hours=1), purpose="tests"
        )
        _, key = keys.add("main", scopes=OF_AGENTS, principals=None, destinations=None, now=datetime.now(UTC))
        async with aiohttp.ClientSession() as http:
            client = A2hClient(f"http://127.0.0.1:{await bound}", key.reveal(), http, agent_id="main")
            _, found = await client.call("GET", "/.well-known/a2h")
            assert found["channels"] == ["web"]
            _, note = await client.send("INFORM", "The figures are there.", principal_id="ann")
            assert note["channel_id"] == "web"
            await client.poll(note["interaction_id"], "SENT")
            _, asked = await client.send("AUTHORIZE", "Pay?", principal_id="ann")
            await client.poll(asked["interaction_id"], "WAITING_INPUT")
            await desk.idle()
            (card,) = await desk.cards("own")
            await desk.tap("Approve", card, room="own")
            done = await client.poll(asked["interaction_id"], "ANSWERED")
            assert (done["decision"], done["evidence"]["factor"]) == ("APPROVE", "chat.web.v1")
            assert "The figures are there." in str(await desk.visitor.messages("own"))
