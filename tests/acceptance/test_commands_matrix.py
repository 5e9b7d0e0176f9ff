"""Commands that an agent runs on Matrix: on behalf of whoever asks, in their language, in an encrypted room (CMD)."""

import pytest

from bot.model.command import RunState
from tests.acceptance.test_clarifications_matrix import shown
from tests.commanding import Commander, Orders, http, loaded, taking
from tests.servers.agents import serving

rule = pytest.mark.rule


@rule("CMD-1", "CMD-2", "CMD-3", "CMD-4")
async def test_a_command_is_run_with_the_rights_of_whoever_asks_in_an_encrypted_room(desk):
    orders, agent = Orders(), Commander()
    room = await desk.room(desk.ann, desk.bob, encrypted=True)
    async with serving(orders) as url:
        inside = {"description": "Calls.", "audiences": ["internal"], "action": http(url)}
        settings = loaded(desk.folder / "config", {"close_order": taking(action=http(url)), "inside": inside})
        async with desk.running(agent=agent, commands=settings) as gateway:
            await desk.ready(room, desk.ann, desk.bob)

            async def asks(user, *runs):
                agent.runs, agent.ran, agent.errors = list(runs), [], []
                await user.say(room, "desk, please", mentions=[desk.bot])
                await gateway.until(lambda: len(agent.ran) + len(agent.errors) == len(runs))
                await gateway.settled()

            await asks(desk.bob, ("close_order", "o-17"))
            assert [one.state for one in agent.ran] == [RunState.DONE]
            await asks(desk.bob, ("close_order", "o-99"), ("close_order", "o-404"), ("inside", None), ("rm", None))
            codes = ["unknown_object", "unknown_object", "not_allowed", "unknown_command"]
            assert [one.code for one in agent.errors] == codes
            await asks(desk.ann, ("close_order", "o-99"))
            assert [one.state for one in agent.ran] == [RunState.DONE]
            await asks(desk.bob, ("close_order", "o-18"))
            assert [one.state for one in agent.ran] == [RunState.REFUSED]
            await shown(desk, room, "“Close the order” can't be done for Order 18. It is closed already.")
    assert [(call["object"]["id"], call["person"]) for call in orders.calls] == [("o-17", "bob"), ("o-99", "ann")]
