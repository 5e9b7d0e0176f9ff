"""One POST to a receiver that may be slow, absent, wrong or hostile.

TLS is verified, no redirect is followed, cookies and proxies of the environment are not used, time and size are
bounded, and a name that leads into a private network is called only where the entry of the configuration says so.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import aiohttp
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from bot.record.fetching import AwayError, PublicOnly

MAX_ANSWER: Final = 64 << 10
"""Bytes of an answer that somebody wants to read."""


class Poster:
    """Posts; connections are made anew for each."""

    def __init__(self) -> None:
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def post(
        self, url: URL, body: bytes, headers: Mapping[str, str], *, timeout_s: float, allow_private: bool
    ) -> tuple[int, bytes] | None:
        """Status and the beginning of the answer; None: there was no answer."""
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session(allow_private=allow_private).post(
                    url,
                    data=body,
                    headers={**headers, "Content-Type": "application/json", "Accept-Encoding": "identity"},
                    allow_redirects=False,
                ) as response,
            ):
                return response.status, await response.content.read(MAX_ANSWER)
        except (TimeoutError, AwayError, aiohttp.ClientError, OSError, ValueError):
            return None

    async def close(self) -> None:
        """Let go of connections."""
        for session in self._sessions.values():
            await session.close()

    def _session(self, *, allow_private: bool) -> aiohttp.ClientSession:
        if allow_private not in self._sessions:
            resolver = ThreadedResolver()
            self._sessions[allow_private] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    force_close=True,
                    resolver=resolver if allow_private else PublicOnly(resolver),
                    use_dns_cache=False,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                trust_env=False,
                requote_redirect_url=False,
                headers={"User-Agent": "discreet/1"},
            )
        return self._sessions[allow_private]
