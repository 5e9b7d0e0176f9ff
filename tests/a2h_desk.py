"""A whole gateway with its face of A2H, people on the emulated Telegram, and a client that knows the protocol alone.

The client is written from the wire format of A2H 1.0 and from nothing of the gateway's.
"""

import asyncio
import base64
import json
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import rfc8785
from joserfc import jws
from joserfc.jwk import KeySet

from bot.api.site import Callers, application, serve
from bot.approvals.addresses import PageAddresses, relying_party
from bot.config.credentials import OF_AGENTS, Credentials, KeyRing
from bot.config.settings import Api, CallbackAddress
from bot.wiring.a2h import a2h
from bot.wiring.questions import Rooms, Service, parts_for_agents
from tests.acceptance.test_approvals_telegram import CARD, OPEN
from tests.acceptance.test_questions_api import Working
from tests.harness import ANN, BOB, BOT_ID, GROUP, INTERNAL, Clock, Running, running
from tests.servers.botapi import BotApi

ORIGIN = "https://desk.example.org"
ALICE = "did:example:alice"
OWN_ID = "did:web:agent.example.org"
POLICY = f"""
version: 1
operators: [ann, cleo]
people:
  ann: {{accounts: ["telegram:{ANN}"], names: [Ann], principals: ["{ALICE}"]}}
  cleo: {{accounts: ["telegram:503"], names: [Cleo]}}
  bob: {{accounts: ["telegram:{BOB}"], names: [Bob], access: allow}}
  mallory: {{accounts: ["telegram:599"], access: deny}}
direct: {{strangers: allow}}
channels:
  "telegram:{BOT_ID}:{GROUP}": {{audience: external}}
  "telegram:{BOT_ID}:{INTERNAL}": {{audience: internal, reports: true}}
"""


class A2hClient:
    """An agent's side of A2H 1.0."""

    def __init__(self, base: str, key: str, http: aiohttp.ClientSession, *, agent_id: str = OWN_ID) -> None:
        self.base, self.key, self.http, self.agent_id = base, key, http, agent_id

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        headers = {"X-A2H-API-Key": self.key, **more.pop("headers", {})}
        async with self.http.request(method, self.base + path, json=body, headers=headers, **more) as answer:
            return answer.status, await answer.json()

    def message(self, kind: str, body: str, **more: Any) -> dict[str, Any]:
        return {
            "a2h_version": "1.0",
            "type": kind,
            "message_id": f"msg-{uuid.uuid4()}",
            "agent_id": self.agent_id,
            "principal_id": ALICE,
            "created_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "render": {"body": body},
            "ttl_sec": 300,
            **more,
        }

    async def send(self, kind: str, body: str, **more: Any) -> tuple[int, Any]:
        return await self.call("POST", "/v1/intent", self.message(kind, body, **more))

    async def status(self, interaction_id: str) -> Any:
        status, document = await self.call("GET", f"/v1/status/{interaction_id}")
        assert status == 200, document
        return document

    async def poll(self, interaction_id: str, *states: str) -> Any:
        """Ask until the state is one of these."""
        async with asyncio.timeout(20):
            while (document := await self.status(interaction_id))["state"] not in states:
                await asyncio.sleep(0.05)  # a client polls; bounded above
        return document

    async def verified(self, message: dict[str, Any]) -> bool:
        """The detached JWS over the JCS form, with a key of the JWKS that discovery names."""
        _, discovery = await self.call("GET", "/.well-known/a2h")
        path = discovery["jwks_uri"].removeprefix(self.base)
        _, keys = await self.call("GET", path)
        head, middle, signature = message["signature"].split(".")
        assert middle == ""
        plain = rfc8785.dumps({name: value for name, value in message.items() if name != "signature"})
        payload = base64.urlsafe_b64encode(plain).rstrip(b"=").decode()
        try:
            jws.deserialize_compact(f"{head}.{payload}.{signature}", KeySet.import_key_set(keys), algorithms=["ES256"])
        except Exception:
            return False
        return True


class A2hDesk:
    """What a test holds."""

    def __init__(self, api: BotApi, gateway: Running, url: str, http: aiohttp.ClientSession, keys: Credentials) -> None:
        self.api, self.gateway, self.url, self.http, self.keys = api, gateway, url, http, keys
        self.client = self.agent()
        self.desk: Any = None
        self.rooms: Any = None
        self.application: Any = None

    def agent(self, name: str = "main", *, agent_id: str | None = None, **limits: Any) -> A2hClient:
        """A client with a new key."""
        limits = {"scopes": OF_AGENTS, "principals": None, "destinations": None, **limits}
        _, key = self.keys.add(name, now=datetime.now(UTC), **limits)
        return A2hClient(self.url, key.reveal(), self.http, agent_id=agent_id or (OWN_ID if name == "main" else name))

    async def settled(self) -> None:
        await self.gateway.settled()

    async def meet(self, person: int = ANN) -> str:
        """A person writes to the bot in private, so that there is a way to them; its destination."""
        self.api.say(chat=person, sender=person, text="hello")
        await self.settled()
        return f"telegram:{BOT_ID}:{person}"

    async def grant(self, place: str, *, agent: str = "main", uses: int = 20) -> None:
        from datetime import timedelta

        from bot.wiring.deliveries import CONSOLE

        await self.rooms.grants.issue(
            issuer=CONSOLE, agent=agent, destination=place, uses=uses, lasts=timedelta(hours=1), purpose="tests"
        )

    async def reads(self, text: str, *, chat: int = ANN) -> None:
        """Return when a person has got these words."""
        async with asyncio.timeout(20):
            while text not in self.api.texts(chat):
                await asyncio.sleep(0.02)  # bounded above

    def cards(self, chat: int = ANN) -> list[dict[str, Any]]:
        return [one for one in self.api.sent(chat) if CARD.match(one.get("text", ""))]

    async def tap(self, label: str, *, chat: int = ANN, sender: int = ANN) -> None:
        """Tap a button of the latest message that has one."""
        async with asyncio.timeout(20):
            while (found := self._button(chat, label)) is None:
                await asyncio.sleep(0.02)  # bounded above
        message, data = found
        self.api.press(chat=chat, sender=sender, message_id=message, data=data, force=True)
        await self.settled()

    def _button(self, chat: int, label: str) -> tuple[int, str] | None:
        for one in reversed(self.api.sent(chat)):
            for row in one.get("reply_markup", {}).get("inline_keyboard", []):
                for key in row:
                    if key["text"] == label and "callback_data" in key:
                        return one["message_id"], key["callback_data"]
        return None


@asynccontextmanager
async def a2h_desk(
    folder: Path,
    api: BotApi,
    *,
    policy: str = POLICY,
    clock: Clock | None = None,
    callbacks: Sequence[CallbackAddress] = (),
    passkeys: bool = False,
    profiles: Sequence[str] = ("x-openclaw:exec.v1",),
    keyless_agent: str | None = None,
    published_keys: Sequence[str] = (),
    chat_for: Sequence[str] = (),
    may_lack: Sequence[str] = (),
) -> AsyncIterator[A2hDesk]:
    """Run it on a store in ``folder``; an earlier store there is taken up."""
    agent, other = Working(), Working(name="idle")
    assert agent.gate is not None
    assert other.gate is not None
    agent.gate.set()
    other.gate.set()
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    keys = Credentials(folder / "keys.json")
    ring = KeyRing(agents={}, dispatchers={}, known=["main", "idle"], credentials=keys)
    settings = Api(
        enabled=True,
        callbacks=tuple(callbacks),
        agent_ids={"main": frozenset({OWN_ID, "did:web:openclaw.local"})},
        profiles=frozenset(profiles),
        keyless_agent=keyless_agent,
        published_keys=frozenset(published_keys),
        chat_for=frozenset(chat_for),
        may_lack=frozenset(may_lack),
    )
    kept: list[Any] = []

    def serving(rooms: Rooms) -> Service:
        site, desk = a2h(rooms, settings, data_dir=folder, platforms={"telegram"}, passkeys=passkeys)
        parts = (*parts_for_agents(rooms, settings, ring), site)
        kept.extend((rooms, desk, application(parts, Callers(ring))))

        async def service() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(desk.run())
                await serve(parts, host="127.0.0.1", port=0, keys=ring, bound=port.set_result)

        return service

    async with running(
        folder,
        api=api,
        agent=agent,
        further=[other],
        limits=OPEN,
        policy=policy,
        clock=clock,
        asking=[serving],
        callbacks=callbacks,
        dispatchers=ring.dispatchers,
        addresses=PageAddresses(b"k" * 32, relying_party(ORIGIN)) if passkeys else None,
    ) as gateway:
        async with asyncio.timeout(20):
            url = f"http://127.0.0.1:{await port}"
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http:
            desk = A2hDesk(api, gateway, url, http, keys)
            desk.rooms, desk.desk, desk.application = kept
            yield desk


def webhook_secret() -> str:
    return secrets.token_urlsafe(24)


def webhook_holds(headers: dict[str, str], body: bytes, secret: str) -> bool:
    """``X-A2H-Signature: t=<unix>,v1=<hex hmac-sha256(secret, t + "." + body)>``."""
    import hashlib
    import hmac

    parts = dict(part.split("=", 1) for part in headers["X-A2H-Signature"].split(","))
    fresh = abs(time.time() - int(parts["t"])) < 300
    expected = hmac.new(secret.encode(), f"{parts['t']}.".encode() + body, hashlib.sha256).hexdigest()
    return fresh and hmac.compare_digest(expected, parts["v1"]) and bool(json.loads(body))
