"""An emulator and a bare client for it."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.servers.botapi import BotApi


class Client:
    """Calls methods as plain JSON over HTTP, without a library's opinions."""

    def __init__(self, session: aiohttp.ClientSession, api: BotApi) -> None:
        self.session = session
        self.api = api

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer."""
        async with self.session.post(f"{self.api.url}/bot{self.api.token}/{method}", json=params) as response:
            answer: dict[str, Any] = await response.json()
            assert response.status == answer.get("error_code", 200)
            return answer

    async def ok(self, method: str, **params: Any) -> Any:
        """The result of a call that works."""
        answer = await self.call(method, **params)
        assert answer["ok"], answer
        return answer["result"]

    async def refused(self, method: str, **params: Any) -> tuple[int, str]:
        """Code and description of a call that is refused."""
        answer = await self.call(method, **params)
        assert not answer["ok"], answer
        return answer["error_code"], answer["description"]

    async def updates(self, offset: int = 0, **params: Any) -> list[int]:
        """The ids that a getUpdates brings."""
        return [update["update_id"] for update in await self.ok("getUpdates", offset=offset, **params)]


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as emulator:
        yield emulator


@pytest.fixture
async def client(api: BotApi) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        yield Client(session, api)
