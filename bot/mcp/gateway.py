"""The interface of a running gateway (``/v1/``), as an agent with its key calls it.

INVARIANT: no error quotes a key, an address with credentials, or what somebody wrote.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import orjson

from bot.config.errors import DiscreetError
from bot.config.secret import Secret

CALL_S: Final = 30.0
"""Seconds for one call, beside what it waits for."""
SLICE_S: Final = 20.0
"""Seconds for which one call waits at the longest; who waits longer calls again."""
PATIENCE_S: Final = 60.0
"""How long a call that came too often, or met nobody, is made again."""
_PAUSE_S: Final = 0.5


Http = aiohttp.ClientSession
"""Calls the gateway, and nobody else; made by :func:`connection`."""


def connection() -> Http:
    """What calls of a gateway go through; to be closed."""
    return aiohttp.ClientSession()


class GatewayError(DiscreetError):
    """The gateway has refused something, or can't be reached.

    Attributes:
        status: of HTTP; 0: nobody answered.
        code: bounded, such as ``no_grant``; ``unreachable`` where nobody answered.
        problems: (JSON pointer, code, detail) of each field that can't be taken.
        document: as it was answered.
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        super().__init__(str(document.get("message", "the gateway has refused this")))
        self.status = status
        self.code = str(document.get("error", "unavailable"))
        self.document = dict(document)
        problems = document.get("problems")
        self.problems: Sequence[Mapping[str, Any]] = problems if isinstance(problems, list) else ()


class Gateway:
    """Calls the interface with one key."""

    def __init__(self, http: Http, *, url: str, key: Secret) -> None:
        """Args: http: open as long as this is used. url: of the interface, without ``/v1``. key: of the agent."""
        self._http = http
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key.reveal()}"}

    async def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """Post an object; ``key`` is its ``Idempotency-Key``.

        Raises:
            GatewayError: it is refused, or nobody can be reached.
        """
        return await self._call("POST", path, body=body, key=key)

    async def get(self, path: str, *, wait_s: float = 0.0, since: int | None = None) -> dict[str, Any]:
        """Look at something; with ``wait_s`` for at most that long until it has changed.

        Raises:
            GatewayError: it is refused, or nobody can be reached.
        """
        query = [f"wait={round(wait_s * 1000)}ms"] if wait_s > 0 else []
        query += [f"since={since}"] if since is not None else []
        return await self._call("GET", f"{path}?{'&'.join(query)}" if query else path, wait_s=wait_s)

    async def delete(self, path: str) -> dict[str, Any]:
        """Take something back.

        Raises:
            GatewayError: it is refused, or nobody can be reached.
        """
        return await self._call("DELETE", path)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        wait_s: float = 0.0,
    ) -> dict[str, Any]:
        """Call; whoever comes too often waits as long as the gateway says, within bounds."""
        headers = dict(self._headers)
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None if body is None else _written(body)
        until = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            try:
                timeout = aiohttp.ClientTimeout(total=CALL_S + wait_s)
                request = self._http.request(
                    method, self._url + path, data=data, headers=headers, timeout=timeout, allow_redirects=False
                )
                async with request as answer:
                    status, after = answer.status, answer.headers.get("Retry-After")
                    content = await answer.read()
            except (aiohttp.ClientError, TimeoutError, OSError):
                raise GatewayError(
                    0, {"error": "unreachable", "message": "the gateway can't be reached; see that it runs"}
                ) from None
            document = _read(content)
            if status < 300:
                return document
            pause_s = _pause_s(after)
            in_time = asyncio.get_running_loop().time() + pause_s < until
            if status == 429 and document.get("error") == "too_fast" and in_time:
                await asyncio.sleep(pause_s)  # as long as the gateway itself has said
                continue
            raise GatewayError(status, document)


def path_of(room: str, one: str, step: str = "") -> str:
    """The address of one thing in a room; what an agent wrote is only ever one step of it."""
    return f"/v1/{room}/{quote(one, safe='')}{step}"


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError):
        raise GatewayError(
            422, {"error": "parameters", "message": "this can't be written as JSON; write long whole numbers as texts"}
        ) from None


def _read(content: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise GatewayError(
            0, {"error": "unreachable", "message": "this is not the interface of a gateway; mend the address"}
        )
    return document


def _pause_s(after: str | None) -> float:
    try:
        return min(PATIENCE_S, max(_PAUSE_S, float(after or _PAUSE_S)))
    except ValueError:
        return _PAUSE_S
