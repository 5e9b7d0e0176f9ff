"""A whole gateway on an emulated Telegram with its interface and ``/mcp``, and clients of the official SDK."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from bot.api.approvals import ApprovalsApi
from bot.api.commands import CommandsApi
from bot.api.deliveries import DeliveriesApi
from bot.api.questions import QuestionsApi
from bot.api.site import ApiPart, serve
from bot.config.secret import Secret
from bot.mcp.site import McpSite
from tests.acceptance.test_approvals_telegram import CLEO, OPEN, Deciding
from tests.acceptance.test_questions_api import Working
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, Clock, running

KEY = "SYNTHETIC-key-of-the-main-agent"
OTHER_KEY = "SYNTHETIC-key-of-another-agent"
ROOT = Path(__file__).parents[1]
DAY = datetime(2026, 6, 10, 12, 0, tzinfo=UTC)
POLICY = f"""
version: 1
operators: [ann, cleo]
people:
  ann: {{accounts: ["telegram:{ANN}"], names: [Ann]}}
  cleo: {{accounts: ["telegram:{CLEO}"], names: [Cleo]}}
  bob: {{accounts: ["telegram:{BOB}"], names: [Bob]}}
direct: {{strangers: allow}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{INTERNAL}": {{audience: internal, reports: true}}
approvals:
  rules:
    - {{name: reading, tools: ["read_*"], then: allow}}
    - {{name: never, tools: ["wipe*"], then: forbid}}
"""


class McpDesk(Deciding):
    """A gateway that runs, what people do there, and what its agents are."""

    def __init__(self, api: Any, gateway: Any, url: str, agent: Working, clock: Clock) -> None:
        super().__init__(api, gateway)
        self.url, self.agent, self.clock = url, agent, clock

    async def approval(self) -> Any:
        """The latest approval that waits for people, once its card is shown."""
        async with asyncio.timeout(15):
            while not (found := [one for one in await self.room.pending() if one.state.undecided]):
                await asyncio.sleep(0.01)  # bounded above
            while not any(found[-1].code in one["text"] for one in self.cards):
                await asyncio.sleep(0.01)  # bounded above
        await self.sent()
        return found[-1]

    async def sent(self) -> None:
        """Every part is sent; an agent may still be working."""
        async with asyncio.timeout(15):
            await self.gateway.daemon.crew.gateway.idle()
            await self.gateway.daemon.crew.dispatcher.idle()

    async def message(self, text: str, *, chat: int = INTERNAL) -> Any:
        """The message of the bot that holds these words."""
        async with asyncio.timeout(15):
            while not (found := [one for one in self.api.sent(chat) if text in one.get("text", "")]):
                await asyncio.sleep(0.01)  # bounded above
        await self.sent()
        return found[-1]

    async def answer(self, message: Any, label: str, *, sender: int = ANN, chat: int = INTERNAL) -> None:
        """Tap a button of a question."""
        keys = [key for row in message["reply_markup"]["inline_keyboard"] for key in row]
        data = next(key["callback_data"] for key in keys if key["text"] == label)
        self.api.press(chat=chat, sender=sender, message_id=message["message_id"], data=data)
        async with asyncio.timeout(15):
            await self.api.wait_drained(timeout=15)


@asynccontextmanager
async def mcp_desk(tmp_path: Path, api: Any, *, policy: str = POLICY, commands: Any = None) -> AsyncIterator[McpDesk]:
    """Run it; with commands there is an interface for them as well."""
    agent, other = Working(), Working(name="idle")
    clock, port = Clock(DAY), asyncio.get_running_loop().create_future()
    site = McpSite(version="1")
    async with running(
        tmp_path, api=api, agent=agent, further=[other], limits=OPEN, policy=policy, clock=clock, commands=commands
    ) as gateway:
        crew = gateway.daemon.crew
        parts: list[ApiPart] = [
            QuestionsApi(crew.worker, crew.questions, clock=clock),
            ApprovalsApi(crew.worker, crew.approvals, clock=clock),
            DeliveriesApi(crew.schedule),
            site,
            *([] if commands is None else [CommandsApi(crew.worker)]),
        ]
        keys = {"main": Secret(KEY), "idle": Secret(OTHER_KEY)}
        service = asyncio.create_task(serve(parts, host="127.0.0.1", port=0, keys=keys, bound=port.set_result))
        try:
            yield McpDesk(api, gateway, f"http://127.0.0.1:{await port}", agent, clock)
        finally:
            agent.gate.set()
            service.cancel()
            await asyncio.gather(service, return_exceptions=True)
            await site.close()


@asynccontextmanager
async def http_client(desk: McpDesk, *, key: str = KEY, **more: Any) -> AsyncIterator[Client]:
    """A client of streamable HTTP."""
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http:
        transport = streamable_http_client(f"{desk.url}/mcp", http_client=http)
        async with Client(transport, **more) as client:
            yield client


@asynccontextmanager
async def stdio_client(
    desk: McpDesk, *command: str, key: str = KEY, env: dict[str, str] | None = None, **more: Any
) -> AsyncIterator[Client]:
    """A client that starts ``discreet mcp``, or another command of ours."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bot", *(command or ("mcp",))],
        env={"DISCREET_KEY": key, "DISCREET_URL": desk.url, "PYTHONPATH": str(ROOT), **(env or {})},
    )
    async with Client(server, **more) as client:
        yield client


def said(result: Any) -> dict[str, Any]:
    """What a tool has answered."""
    document: dict[str, Any] = result.structured_content
    assert json.loads(result.content[0].text) == document
    return document
