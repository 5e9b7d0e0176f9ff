"""What a browser is told to refuse, with every answer, errors included."""

from typing import Final

from aiohttp import web

_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors {ancestors}; "
    "base-uri 'none'{script}"
)
FORM_POLICY: Final = _POLICY.format(ancestors="'none'", script="")
MINI_APP_POLICY: Final = _POLICY.format(ancestors="https://web.telegram.org", script="; script-src 'self'")
"""In a browser Telegram shows the page in a frame of its own; elsewhere it is a window."""
PASSKEY_POLICY: Final = _POLICY.format(ancestors="'none'", script="; script-src 'self'; connect-src 'self'")
"""Passkeys are had by a script alone; it is our own file, and talks to nobody else."""

HEADERS: Final = {
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow, noarchive, nosnippet, noimageindex",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
}
_FRAMES: Final = {"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"}


def headers(*, mini_app: bool) -> dict[str, str]:
    """The headers of a page."""
    if mini_app:
        return {**HEADERS, "Content-Security-Policy": MINI_APP_POLICY}
    return {**HEADERS, **_FRAMES, "Content-Security-Policy": FORM_POLICY}


def passkey_headers() -> dict[str, str]:
    """The headers of a page that talks to passkeys."""
    return {**HEADERS, **_FRAMES, "Content-Security-Policy": PASSKEY_POLICY}


async def set_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Put them on whatever leaves; an answer that has its own keeps them."""
    for name, value in headers(mini_app=False).items() if "Content-Security-Policy" not in response.headers else ():
        response.headers.setdefault(name, value)
    response.headers.pop("Server", None)
