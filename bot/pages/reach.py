"""Whether the public address leads here: asked once at the start, of something that this process alone can answer.

A link that works for the operator and nobody else is found by nobody but the people who are asked. What is sent is a
nonce; the answer is its digest under a key that never leaves the process.
"""

import asyncio
import hashlib
import hmac
import re
import secrets
from typing import Final
from urllib.parse import urljoin, urlsplit

from bot.observability.log import get_logger

log = get_logger(__name__)

WITHIN_S: Final = 5.0
_HOPS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NONCE: Final = re.compile(r"[A-Za-z0-9_-]{16,64}")


class Reach:
    """Asks, and answers itself."""

    def __init__(self, public_url: str) -> None:
        """Args: public_url: under which people reach the pages."""
        self._url = public_url.rstrip("/")
        self._key = secrets.token_bytes(32)

    def answer(self, nonce: str) -> str | None:
        """What this process says to a nonce; None: that is none."""
        if not _NONCE.fullmatch(nonce):
            return None
        return hmac.new(self._key, nonce.encode(), hashlib.sha256).hexdigest()

    async def check(self) -> None:
        """Tell in the log if people would not get here. Raises nothing."""
        host = urlsplit(self._url).hostname
        try:
            async with asyncio.timeout(WITHIN_S):
                cause = await self._asked()
        except Exception as error:  # noqa: BLE001 - an address can be wrong in any way; the pages go on
            cause = type(error).__name__
        if cause:
            log.warning("pages_public_url_unreached", host=host, cause=cause)
        else:
            log.info("pages_public_url_reached", host=host)

    async def _asked(self) -> str:
        """What came in the way; empty: nothing."""
        from aiohttp import ClientSession, DummyCookieJar

        nonce = secrets.token_urlsafe(24)
        expected = self.answer(nonce) or ""
        url, host = f"{self._url}/self/{nonce}", urlsplit(self._url).hostname
        async with ClientSession(cookie_jar=DummyCookieJar()) as http:
            for _ in range(_HOPS):
                async with http.get(url, allow_redirects=False) as response:
                    if response.status in _REDIRECTS:
                        url = urljoin(url, response.headers.get("Location", ""))
                        if urlsplit(url).hostname != host:
                            return "redirect"
                        continue
                    if response.status != 200:
                        return f"status {response.status}"
                    said = await response.content.readexactly(len(expected))
                    return "" if hmac.compare_digest(said, expected.encode()) else "another answer"
        return "redirect"
