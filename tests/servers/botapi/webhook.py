"""Delivery of updates to an address that the bot set.

Updates of one chat go one after the other, those of different chats side by side; taps on buttons have lanes of their
own and can overtake messages. What is not answered with 2xx is sent again, with growing pauses.
"""

import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import orjson

from tests.servers.botapi.errors import bad_request
from tests.servers.botapi.updates import Entry, UpdateQueue

SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]*")
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_ANSWER_S: Final = 60.0
_LONGEST_PAUSE_S: Final = 60.0

Reply = Callable[[str, dict[str, Any]], Awaitable[None]]
"""Runs a method that the address answered with, given its name and arguments."""


class Webhook:
    """Where updates are pushed to.

    Attributes:
        url: the address, empty while updates are polled.
        first_pause_s: the pause after a first failure; it doubles with each further one.
        errors: what went wrong, oldest first.
        attempts: how many requests were made.
    """

    def __init__(self, updates: UpdateQueue, now: Callable[[], float], reply: Reply) -> None:
        self._updates = updates
        self._now = now
        self._reply = reply
        self._lanes: defaultdict[object, deque[Entry]] = defaultdict(deque)
        self._tasks: dict[object, asyncio.Task[None]] = {}
        self._client: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(40)
        self._last_error_at = 0.0
        self.url = ""
        self.secret = ""
        self.max_connections = 40
        self.first_pause_s = 1.0
        self.errors: list[str] = []
        self.attempts = 0

    async def set(self, url: str, secret: str, max_connections: int) -> None:
        """Push to ``url`` from now on, beginning with what waits already; an empty one goes back to polling.

        Raises:
            ApiError: the address or the secret is not valid.
        """
        if len(secret) > 256:
            raise bad_request("secret token is too long")
        if not _SECRET.fullmatch(secret):
            raise bad_request("secret token contains unallowed characters")
        if url:
            parts = urlsplit(url)
            if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
                raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
        await self.close()
        self.url, self.secret, self.max_connections = url, secret, min(max(max_connections, 1), 100)
        if not url:
            self._updates.on_new = None
            return
        self._slots = asyncio.Semaphore(self.max_connections)
        self._client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_ANSWER_S))
        self._updates.on_new = self._queue
        for entry in list(self._updates.entries):
            self._queue(entry)

    async def close(self) -> None:
        """Stop pushing; what was not taken stays in the queue."""
        self._updates.on_new = None
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        self._lanes.clear()
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def lanes(self) -> list[asyncio.Task[None]]:
        """The deliveries under way; each task ends when its lane is empty."""
        return list(self._tasks.values())

    @property
    def info(self) -> dict[str, Any]:
        """What getWebhookInfo answers."""
        info: dict[str, Any] = {
            "url": self.url,
            "has_custom_certificate": False,
            "pending_update_count": len(self._updates.entries),
        }
        if self.url:
            info["max_connections"] = self.max_connections
        if self._updates.allowed is not None:
            info["allowed_updates"] = sorted(self._updates.allowed)
        if self.url and self.errors:
            info |= {"last_error_date": int(self._last_error_at), "last_error_message": self.errors[-1]}
        return info

    def _queue(self, entry: Entry) -> None:
        lane = _lane(entry)
        self._lanes[lane].append(entry)
        if lane not in self._tasks:
            self._tasks[lane] = asyncio.create_task(self._work(lane), name=f"webhook {lane}")

    async def _work(self, lane: object) -> None:
        waiting = self._lanes[lane]
        while waiting:
            pause_s = self.first_pause_s
            while not await self._push(waiting[0]):
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            self._updates.remove(waiting.popleft())
        del self._tasks[lane], self._lanes[lane]

    async def _push(self, entry: Entry) -> bool:
        assert self._client is not None
        headers = {"Content-Type": "application/json"}
        if self.secret:
            headers[SECRET_HEADER] = self.secret
        self.attempts += 1
        try:
            async with self._slots, self._client.post(self.url, data=entry.raw, headers=headers) as response:
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            return self._failed(f"Connection failed: {type(error).__name__}")
        if not 200 <= response.status < 300:
            return self._failed(f"Wrong response from the webhook: {response.status} {response.reason}")
        await self._run_reply(body)
        return True

    def _failed(self, sentence: str) -> bool:
        self.errors.append(sentence)
        self._last_error_at = self._now()
        return False

    async def _run_reply(self, body: bytes) -> None:
        """An address may answer with a method, as JSON; its result goes nowhere."""
        try:
            call = orjson.loads(body)
        except orjson.JSONDecodeError:
            return
        if isinstance(call, dict) and isinstance(call.get("method"), str):
            await self._reply(call["method"], {key: value for key, value in call.items() if key != "method"})


def _lane(entry: Entry) -> object:
    content = entry.update.get(entry.kind) or {}
    if entry.kind == "callback_query":
        return ("callback", content.get("from", {}).get("id"))
    chat = content.get("chat") or content.get("message", {}).get("chat") or {}
    return chat.get("id") or ("user", content.get("from", {}).get("id"))
