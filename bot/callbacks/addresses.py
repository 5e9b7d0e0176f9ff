"""Which addresses agents may have called: what the configuration lists, and nothing else.

An address fits an entry with the same scheme, host and port whose path it continues. Names that lead to this machine
or into a private network are called only where the entry says so, whatever the name looks like; that is looked at again
when the connection is made, for names can change where they lead.

INVARIANT: no error repeats an address: it may hold what only its receiver should know.
"""

from collections.abc import Sequence
from typing import Final

from yarl import URL

from bot.config.settings import CallbackAddress
from bot.model.errors import CallbackError
from bot.record.fetching import is_public

MAX_URL: Final = 2_000
_AROUND: Final = ("%2e", "%2f", "%5c", "\\", "/../", "/./", "//")
"""What servers read in different ways, so that a path leads elsewhere than it seems to."""


def allowed(url: str, addresses: Sequence[CallbackAddress], *, agent: str) -> tuple[URL, CallbackAddress]:
    """The address, and the entry that allows this agent to have it called.

    Raises:
        CallbackError: none does.
    """
    found = _read(url)
    for entry in addresses:
        if (not entry.agents or agent in entry.agents) and _continues(found, URL(entry.to)):
            host = found.host or ""
            if is_literal(host) and not is_public(host) and not entry.allow_private:
                break
            return found, entry
    raise CallbackError("callback", "this address is none of those that the configuration allows (api.callbacks)")


def is_literal(host: str) -> bool:
    """Whether a host is an address of the Internet Protocol, which nobody looks up."""
    return host.replace(".", "").isdecimal() or ":" in host


def _read(url: str) -> URL:
    """An address as it is written, if there is one way to read it.

    Raises:
        CallbackError: there is none, or there are several.
    """
    path = url.partition("?")[0].partition("://")[2].lower()
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_URL
    try:
        found = URL(url, encoded=True)
        fits = found.scheme in ("http", "https") and bool(found.host) and found.port is not None
    except ValueError:
        fits, found = False, URL()
    if not (plain and fits) or found.user is not None or found.password is not None or found.fragment:
        raise CallbackError("callback", "a callback is an address such as https://flows.example.org/resume/17")
    path += "" if path.endswith("/") else "/"
    if any(sign in path for sign in _AROUND):
        raise CallbackError("callback", "the path of a callback is plain: without dots, backslashes and empty pieces")
    return found


def _continues(found: URL, entry: URL) -> bool:
    if (found.scheme, found.host, found.port) != (entry.scheme, entry.host, entry.port):
        return False
    beginning = entry.raw_path.rstrip("/")
    return not beginning or found.raw_path == beginning or found.raw_path.startswith(f"{beginning}/")
