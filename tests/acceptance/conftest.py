"""An emulated Telegram and a whole gateway for each test."""

import pytest

from tests.harness import BOT_ID, GROUP, INTERNAL, running
from tests.servers.botapi import BotApi


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
