"""One GET to a source of the record that may be slow, absent, wrong or somebody else's.

TLS is verified, no redirect is followed, cookies and proxies of the environment are not used, compressed answers are
not accepted, time and size are bounded. A source on this machine or in a private network is asked only where the admin
says so: an address of the configuration must not become a way into the network behind it.

INVARIANT: what goes wrong is told without address, header or body.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from typing import Final, Protocol

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from bot.model.errors import ConfigError

SIZE_LIMIT: Final = 1 << 20
"""Bytes of one answer."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_JSON: Final = ("application/json", "text/json")


class AwayError(Exception):
    """The source can't be had now; the text says why, in a few plain words."""


class Fetches(Protocol):
    """Gets the body of a source."""

    async def fetch(self) -> bytes:
        """The body.

        Raises:
            AwayError: it can't be had.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Fetcher:
    """Asks one address.

    Args:
        url: http(s).
        headers: sent with each request; credentials belong here.
        timeout_s: for the whole answer.
        allow_private: it may be on this machine or in a private network.
        allow_plain_http: it may be http, also to another machine.

    Raises:
        ConfigError: requests may not go there.
    """

    def __init__(
        self,
        *,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
        allow_private: bool = False,
        allow_plain_http: bool = False,
    ) -> None:
        self._url = checked(url, allow_private=allow_private, allow_plain_http=allow_plain_http)
        self._headers = {**(headers or {}), "Accept": "application/json", "Accept-Encoding": "identity"}
        self._timeout_s = timeout_s
        self._allow_private = allow_private
        self._session: aiohttp.ClientSession | None = None

    async def fetch(self) -> bytes:
        """See :meth:`Fetches.fetch`."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._get()
        except AwayError:
            raise
        except TimeoutError:
            why = "it took too long"
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError):
            why = "its TLS certificate is not valid"
        except (aiohttp.ClientError, OSError, ValueError):
            why = "it can't be reached"
        raise AwayError(why)  # outside of the handler, so that what aiohttp said does not travel along

    async def _get(self) -> bytes:
        if self._session is None or self._session.closed:
            resolver = ThreadedResolver()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    force_close=True,
                    resolver=resolver if self._allow_private else PublicOnly(resolver),
                    use_dns_cache=False,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                trust_env=False,
            )
        async with self._session.get(self._url, headers=self._headers, allow_redirects=False) as response:
            if 300 <= response.status < 400:
                raise AwayError("it answered with a redirect, which is not followed")
            if response.status != 200:
                raise AwayError(f"it answered with status {response.status}")
            if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
                raise AwayError("it compressed its answer, which was not asked for")
            if response.content_type not in _JSON and not response.content_type.endswith("+json"):
                raise AwayError("its answer is not JSON")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > SIZE_LIMIT:
                    raise AwayError("its answer is too large")
            return bytes(body)

    async def close(self) -> None:
        """See :meth:`Fetches.close`."""
        if self._session is not None:
            await self._session.close()


class PublicOnly(AbstractResolver):
    """Finds addresses on the open internet alone; a name that leads elsewhere as well leads nowhere."""

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """See aiohttp.

        Raises:
            AwayError: one of its addresses is private.
        """
        found = await self._resolver.resolve(host, port, family)
        if not all(is_public(one["host"]) for one in found):
            raise AwayError("its name leads to a private address, and allow_private is not set")
        return found

    async def close(self) -> None:
        """See aiohttp."""
        await self._resolver.close()


def is_public(host: str) -> bool:
    """Whether an IP address belongs to the open internet."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0].strip("[]"))
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner is not None and not inner.is_global:
            return False
        if address in ipaddress.ip_network("64:ff9b::/96"):  # IPv4 behind a translator
            return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    return address.is_global and not address.is_multicast


def checked(url: str, *, allow_private: bool, allow_plain_http: bool) -> URL:
    """The address, if requests may go there.

    Raises:
        ConfigError: they may not. The text does not repeat it.
    """
    try:
        found = URL(url)
        fits = found.scheme in ("http", "https") and bool(found.host)
    except ValueError:
        fits, found = False, URL()
    if not fits:
        raise ConfigError("a source of the record must be like https://facts.example.org/record.json")
    if found.user is not None or found.password is not None:
        raise ConfigError("a source of the record must not hold a user or password; put credentials into headers")
    host = found.host or ""
    literal = host.replace(".", "").isdecimal() or ":" in host
    private = host == "localhost" or host.endswith(".localhost") or (literal and not is_public(host))
    if private and not allow_private:
        raise ConfigError(
            "a source of the record is on this machine or in a private network. "
            "Write allow_private: true if it is meant"
        )
    if found.scheme == "http" and not (allow_plain_http or host in _LOOPBACK):
        raise ConfigError("a source of the record must be https. Write allow_plain_http: true if http is meant")
    return found
