"""How often somebody may come: buckets that fill by themselves, by address and by link."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from aiohttp import web

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK: Final = ("127.0.0.0/8", "::1/128")
"""A proxy on the same machine is what most have."""
_KEYS: Final = 10_000
_NEIGHBOURS: Final = 64  # bits of an IPv6 address that one household or host has for itself


class Pace:
    """``burst`` at once, then one every ``each_s`` seconds, for each key. The oldest keys are forgotten first."""

    def __init__(self, *, burst: float, each_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._burst = burst
        self._each_s = each_s
        self._now = now
        self._debts: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, key: str, cost: float = 1.0) -> float:
        """Seconds until this one may come; 0: now, and it is counted."""
        now = self._now()
        debt, since = self._debts.get(key, (0.0, now))
        debt = max(0.0, debt - (now - since) / self._each_s)
        if debt + cost > self._burst:
            return (debt + cost - self._burst) * self._each_s
        self._debts[key] = (debt + cost, now)
        self._debts.move_to_end(key)
        if len(self._debts) > _KEYS:
            self._debts.popitem(last=False)
        return 0.0


class Addresses:
    """Where a request comes from, behind proxies that are known."""

    def __init__(self, proxies: Sequence[str] = LOOPBACK) -> None:
        """Args: proxies: networks whose ``X-Forwarded-For`` is believed."""
        self._proxies: tuple[Network, ...] = tuple(ipaddress.ip_network(proxy, strict=False) for proxy in proxies)

    def of(self, request: web.Request) -> str:
        """The nearest address that is not a known proxy; of IPv6 its network."""
        hops = [hop.strip() for line in request.headers.getall("X-Forwarded-For", []) for hop in line.split(",")]
        found = _address(request.remote or "")
        while hops and found is not None and any(found in network for network in self._proxies):
            nearer = _address(hops.pop())
            if nearer is None:
                break
            found = nearer
        if isinstance(found, ipaddress.IPv6Address):
            return str(ipaddress.ip_network((found, _NEIGHBOURS), strict=False))
        return str(found)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
