"""A whole gateway with its interface for agents on loopback, and operators who tap on the emulated Telegram."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from bot.api.aap.provider import AapProvider
from bot.api.site import serve
from bot.callbacks.room import CallbackRoom
from bot.config.secret import Secret
from bot.config.settings import Api, CallbackAddress
from bot.questions.links import Links
from bot.wiring.questions import Rooms, Service, parts_for_agents
from tests.acceptance.test_approvals_telegram import OPEN, POLICY, Deciding
from tests.acceptance.test_questions_api import Working
from tests.harness import ANN, GROUP, INTERNAL, Clock, Running, running
from tests.servers.botapi import BotApi

KEY = "SYNTHETIC-key-of-the-main-agent"
OTHER_KEY = "SYNTHETIC-key-of-another-agent"
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
RULES = """
approvals:
  rules:
    - {name: small, tools: [refund], when: ["amount <= `50`"], then: allow}
    - {name: never, tools: ["wipe*"], then: forbid}
"""


class AgentsDesk(Deciding):
    """A gateway that runs; what agents call, and what people do with the cards."""

    def __init__(self, api: BotApi, gateway: Running, url: str, http: aiohttp.ClientSession, agent: Working) -> None:
        super().__init__(api, gateway)
        self.url, self.http, self.agent = url, http, agent
        self.callbacks: CallbackRoom | None = None
        self.aap: AapProvider | None = None

    @property
    def cards(self) -> list[Any]:
        """One of each approval: what answers a card is none, and neither is what was replaced by another version."""
        return [
            one for one in super().cards if "reply_to_message" not in one and "replaced by a newer" not in one["text"]
        ]

    async def call(
        self, method: str, path: str, body: Any = None, *, key: str | None = KEY, **headers: str
    ) -> tuple[int, Any]:
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        async with self.http.request(method, self.url + path, json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def card_of(self, number: int, *, within_s: float = 20) -> Any:
        """The card of that number, as soon as it is there."""
        async with asyncio.timeout(within_s):
            while len(self.cards) <= number:
                await asyncio.sleep(0.01)  # bounded above
        return self.cards[number]

    async def press_on(self, number: int, label: str, *, sender: int = ANN) -> None:
        """A person waits for a card and taps."""
        card = await self.card_of(number)
        self.press(label, card=card, sender=sender)

    def reply(self, card: Any, text: str, *, sender: int = ANN) -> dict[str, Any]:
        """What is said as a reply to a card."""
        return {"chat": INTERNAL, "sender": sender, "text": text, "reply_to": card["message_id"]}

    async def deny_with(self, number: int, words: str, *, sender: int = ANN) -> None:
        """A person replies to a card, as soon as it is there."""
        card = await self.card_of(number)
        self.api.say(**self.reply(card, f"deny: {words}", sender=sender))

    async def change(self, number: int, values: dict[str, Any], *, sender: int = ANN) -> None:
        """A person taps on "Change…" and answers the form: what they write is approved."""
        card = await self.card_of(number)
        self.press("Change…", card=card, sender=sender)
        async with asyncio.timeout(20):
            while not (forms := [one for one in self.api.sent(INTERNAL) if _replies_to(one, card)]):
                await asyncio.sleep(0.01)  # bounded above
        text = "\n".join(f"{name}: {value}" for name, value in values.items())
        self.api.say(**self.reply(forms[-1], text, sender=sender))

    async def question_of(self, number: int) -> Any:
        """The question of that number, as soon as it is there."""
        async with asyncio.timeout(20):
            while len(found := [one for one in self.api.sent(GROUP) if "?" in one.get("text", "")]) <= number:
                await asyncio.sleep(0.01)  # bounded above
        return found[number]


def _replies_to(message: Any, card: Any) -> bool:
    return bool(message.get("reply_to_message", {}).get("message_id") == card["message_id"])


@asynccontextmanager
async def agents_desk(
    folder: Path,
    api: BotApi,
    *,
    policy: str = POLICY + RULES,
    clock: Clock | None = None,
    callbacks: Sequence[CallbackAddress] = (),
    links: Links | None = None,
) -> AsyncIterator[AgentsDesk]:
    """Run it on a store in ``folder``; an earlier store there is taken up."""
    agent, other = Working(), Working(name="idle")
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    kept: list[Any] = []
    settings = Api(enabled=True, keys={"main": Secret(KEY), "idle": Secret(OTHER_KEY)}, callbacks=tuple(callbacks))

    def serving(rooms: Rooms) -> Service:
        parts = parts_for_agents(rooms, settings)
        kept.extend([rooms.callbacks, next(one for one in parts if isinstance(one, AapProvider))])
        return lambda: serve(parts, host="127.0.0.1", port=0, keys=settings.keys, bound=port.set_result)

    async with running(
        folder,
        api=api,
        agent=agent,
        further=[other],
        limits=OPEN,
        policy=policy,
        clock=clock,
        asking=[serving],
        links=links,
        callbacks=callbacks,
    ) as gateway:
        try:
            async with asyncio.timeout(20):
                address = f"http://127.0.0.1:{await port}"
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
                desk = AgentsDesk(api, gateway, address, http, agent)
                desk.callbacks, desk.aap = kept
                yield desk
        finally:
            if agent.gate is not None:
                agent.gate.set()


@dataclass
class Receiving:
    """A receiver of callbacks on loopback.

    Attributes:
        answers: statuses in order; the last one stays.
        came: (path with query, headers, body) of each.
        behind: answers instead, with the statuses that are noted.
    """

    url: str = ""
    answers: list[int] = field(default_factory=lambda: [200])
    came: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    reply: Callable[[web.Request, bytes], web.StreamResponse] | None = None
    hang: asyncio.Event | None = None
    behind: Callable[[dict[str, str], bytes], Awaitable[tuple[int, bytes]]] | None = None
    statuses: list[int] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.came.append((request.path_qs, dict(request.headers), body))
        if self.hang is not None:
            await self.hang.wait()
        if self.behind is not None:
            status, answer = await self.behind(dict(request.headers), body)
            self.statuses.append(status)
            return web.Response(status=status, body=answer)
        if self.reply is not None:
            return self.reply(request, body)
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        headers = {"Location": f"{self.url}/elsewhere"} if 300 <= status < 400 else {}
        return web.Response(status=status, headers=headers)

    async def wait(self, count: int = 1, *, within_s: float = 20) -> None:
        async with asyncio.timeout(within_s):
            while len(self.came) < count:
                await asyncio.sleep(0.01)  # bounded above


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiving]:
    """Receive on a free port."""
    receiver = Receiving()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield receiver
    finally:
        await runner.cleanup()
