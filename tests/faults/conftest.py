"""An emulated Telegram and a real Matrix homeserver that outlive the daemon."""

import pytest

from tests.faults.process import GROUP, REPORTS, TOKEN
from tests.servers.botapi import BotApi
from tests.servers.synapse import synapse

__all__ = ["synapse"]


@pytest.fixture
async def api():
    async with BotApi(token=TOKEN, username="desk_bot") as emulator:
        emulator.chat(GROUP, type="supergroup", title="Customer")
        emulator.chat(REPORTS, type="supergroup", title="Operators")
        yield emulator
