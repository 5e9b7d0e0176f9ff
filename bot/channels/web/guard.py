"""What every HTTP exchange has to pass: the host that was asked, where a post came from, how many there were.

Browsers are told what to refuse.
A page elsewhere can neither read this chat nor write to it, even when it runs on loopback.
"""

import ipaddress
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from bot.model.errors import ChannelError

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_FETCH_SITES: Final = frozenset({"same-origin", "none"})
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def is_loopback(host: str) -> bool:
    """Whether an address to bind is of this machine alone; a name other than localhost is not known to be."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Knows the origins under which the chat is reached."""

    def __init__(self, *, host: str, public_url: str | None, demo: bool) -> None:
        """Args: host: to bind. public_url: as browsers see it, where that is another address.

        Raises:
            ChannelError: it would be reached in a way that is not safe; the text says the mend.
        """
        local = is_loopback(host)
        if demo and (not local or public_url is not None):
            raise ChannelError("web chat: the demo lets anybody write as anybody, so it binds loopback only")
        if public_url is None and not local:
            raise ChannelError("web chat: give public_url (https://...), the address under which people reach the chat")
        self._local = "[::1]" if ":" in host else host
        self._origins: frozenset[str] = frozenset()
        self._hosts: frozenset[str] = frozenset()
        self.secure = False
        self._public = public_url
        if public_url is not None:
            self._set_public(public_url)

    def bound(self, port: int) -> str:
        """The port is known now. Returns the address of the chat."""
        if self._public is not None:
            return self._public.rstrip("/")
        names = {self._local, "127.0.0.1", "localhost"}
        self._hosts = frozenset(f"{name}:{port}" for name in names)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        return f"http://{self._local}:{port}"

    def _set_public(self, url: str) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        if not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
            raise ChannelError("web chat: public_url is scheme, host and port only, such as https://chat.example.org")
        if not secure and not (parts.scheme == "http" and is_loopback(parts.hostname)):
            raise ChannelError(
                "web chat: public_url begins with https://; plain http would show sessions to the network"
            )
        self.secure = secure
        standard = parts.port in (None, 443 if secure else 80)
        host = parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]"
        named = host if standard else f"{host}:{parts.port}"
        self._hosts = frozenset({named})
        self._origins = frozenset({f"{parts.scheme}://{named}"})

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what did not come from our own page under our own name."""
        if request.host.lower() not in self._hosts:
            return web.json_response({"error": "error.forbidden"}, status=421)  # DNS rebinding ends here
        navigates = request.method in ("GET", "HEAD") and not request.path.startswith(("/api/", "/rooms/"))
        site = request.headers.get("Sec-Fetch-Site", "none")
        if not navigates and site not in _FETCH_SITES:
            return web.json_response({"error": "error.forbidden"}, status=403)
        if request.method not in ("GET", "HEAD"):
            if request.headers.get("Origin") not in self._origins:
                return web.json_response({"error": "error.forbidden"}, status=403)
            if request.content_type != "application/json":
                return web.json_response({"error": "error.malformed"}, status=415)
        return await handler(request)


async def set_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Put the security headers on whatever leaves, errors and streams included."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.pop("Server", None)


class Budget:
    """Posts of one session: ``burst`` at once, then one every ``seconds_each``."""

    def __init__(self, clock: Callable[[], datetime], *, burst: int = 30, seconds_each: float = 0.5) -> None:
        self._clock = clock
        self._burst = burst
        self._each_s = seconds_each
        self._debts: dict[str, tuple[float, datetime]] = {}

    def spend(self, session: str) -> bool:
        """Whether one more post is within the budget."""
        now = self._clock()
        debt, since = self._debts.get(session, (0.0, now))
        passed_s = max(0.0, (now - since).total_seconds())  # a clock that is set back makes nobody's debt larger
        debt = max(0.0, debt - passed_s / self._each_s)
        if debt + 1 > self._burst:
            return False
        self._debts[session] = (debt + 1, now)
        if len(self._debts) > 10_000:
            self._forget(now)
        return True

    def _forget(self, now: datetime) -> None:
        paid_s = self._burst * self._each_s
        self._debts = {k: v for k, v in self._debts.items() if (now - v[1]).total_seconds() < paid_s}
