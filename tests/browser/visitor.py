"""Somebody at a desk over HTTP, as a browser would do it, without one."""

import asyncio
import base64
import io
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.browser.brain import Desk


class Visitor:
    """A cookie jar and the habits of the page."""

    def __init__(self, desk: Desk, http: aiohttp.ClientSession) -> None:
        self.desk = desk
        self.http = http

    async def post(
        self, path: str, body: dict[str, Any], *, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        sent = {"Origin": self.desk.url, "Content-Type": "application/json", **(headers or {})}
        body = {"nonce": secrets.token_hex(16), **body} if path.startswith("/api/rooms") else body
        async with self.http.post(
            self.desk.url + path, data=io.BytesIO(json.dumps(body).encode()), headers=sent
        ) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.http.get(self.desk.url + path, headers=headers) as answer:
            if answer.content_type == "application/json":
                return answer.status, await answer.json()
            return answer.status, await answer.read()

    async def say(self, room: str, text: str, *, who: str | None = None, **more: Any) -> dict[str, Any]:
        """Post a message with the mentions that the page would mark; returns it."""
        named = {} if who is None else {"as": who}
        mentions = [id_ for id_ in ("desk", "mara", "jordan", "olga") if f"@{id_}" in text]
        status, answer = await self.post(
            f"/api/rooms/{room}/messages", {"text": text, "mentions": mentions, **named, **more}
        )
        assert status == 200, answer
        message: dict[str, Any] = answer["message"]
        return message

    async def state(self) -> Any:
        status, state = await self.get("/api/state")
        assert status == 200
        return state

    async def messages(self, room: str) -> list[dict[str, Any]]:
        await self.desk.brain.idle()
        messages: list[dict[str, Any]] = (await self.state())["messages"][room]
        return messages

    @asynccontextmanager
    async def stream(self, after: int = 0, **headers: str) -> AsyncIterator["Stream"]:
        url = f"{self.desk.url}/api/stream?after={after}"
        async with self.http.get(url, headers=headers) as answer:
            yield Stream(answer)


class Stream:
    """Server-sent events, read one by one."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        self.status = answer.status

    async def next(self) -> tuple[str, int | None, Any]:
        """Name, id and data of the next event."""
        async with asyncio.timeout(10):
            while True:
                fields = await self._block()
                if "data" in fields:
                    number = int(fields["id"]) if "id" in fields else None
                    return fields["event"], number, json.loads(fields["data"])

    async def until(self, name: str, **facts: Any) -> Any:
        """The data of the next event of this name that holds these facts."""
        while True:
            found, _, data = await self.next()
            if found == name and all(data.get(key) == value for key, value in facts.items()):
                return data

    async def _block(self) -> dict[str, str]:
        fields: dict[str, str] = {}
        while line := (await self.answer.content.readline()).decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value
        if self.answer.content.at_eof():
            raise EOFError
        return fields


def upload(name: str, content: bytes, media_type: str = "text/plain") -> dict[str, str]:
    return {"name": name, "media_type": media_type, "content": base64.b64encode(content).decode()}


@asynccontextmanager
async def visit(desk: Desk, *, enters_as: str | None = None) -> AsyncIterator[Visitor]:
    """A visitor; ``enters_as`` redeems an invite first."""
    jar = aiohttp.CookieJar(unsafe=True)
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(cookie_jar=jar, timeout=timeout) as http:
        visitor = Visitor(desk, http)
        if enters_as is not None:
            link = await desk.chat.invite(enters_as)
            status, _ = await visitor.post(link.removeprefix(desk.url), {})
            assert status == 200
        yield visitor
