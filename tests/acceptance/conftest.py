"""An emulated Telegram and a whole gateway for each test; a real Matrix homeserver for those that want one."""

import pytest

from tests.harness import BOT_ID, GROUP, INTERNAL, running
from tests.servers.botapi import BotApi
from tests.servers.synapse import synapse, way_to

__all__ = ["synapse"]


@pytest.fixture
async def api():
    async with BotApi(token=f"{BOT_ID}:{'A' * 35}", username="desk_bot") as emulator:
        emulator.chat(GROUP, type="supergroup", title="Customer")
        emulator.chat(INTERNAL, type="supergroup", title="Operators")
        yield emulator


@pytest.fixture
async def gateway(api, tmp_path):
    async with running(tmp_path, api=api) as gateway:
        yield gateway


@pytest.fixture
async def desk(synapse, tmp_path):
    """A bot's account on a real homeserver, with an operator and a listed person; nothing runs yet."""
    from tests.acceptance.matrix import Desk
    from tests.servers.matrix_person import people_on

    async with people_on(synapse, tmp_path) as people:
        bot, password = await synapse.register(synapse.fresh("desk"))
        folder = tmp_path / "bot"
        folder.mkdir()
        yield Desk(
            synapse=synapse,
            folder=folder,
            people=people,
            bot=bot,
            password=password,
            ann=await people("ann"),
            bob=await people("bob"),
        )


@pytest.fixture
async def way(synapse):
    """A way to the homeserver that can be shut."""
    async with way_to(synapse) as way:
        yield way
