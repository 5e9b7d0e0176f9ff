"""Word to systemd over its notification socket (OPS-3); does nothing where there is none."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping

READY = "READY=1"
STOPPING = "STOPPING=1"
WATCHDOG = "WATCHDOG=1"


def notify(*lines: str, environment: Mapping[str, str] | None = None) -> bool:
    """Tell systemd, for example ``notify(READY, "STATUS=serving")``.

    Returns:
        Whether somebody was told. A socket that is gone is no reason to stop.
    """
    address = (os.environ if environment is None else environment).get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    name = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.connect(name)
            channel.sendall("\n".join(lines).encode())
    except OSError:
        return False
    return True


def watchdog_s(environment: Mapping[str, str] | None = None) -> float | None:
    """How often systemd wants a sign of life, halved to be safe, in seconds; None where it wants none."""
    variables = os.environ if environment is None else environment
    if variables.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    written = variables.get("WATCHDOG_USEC", "")
    return int(written) / 2_000_000 if written.isdecimal() and int(written) > 0 else None


async def feed_watchdog(alive: Callable[[], bool], *, every_s: float) -> None:
    """Give signs of life until cancelled; a daemon that is not alive gives none and is restarted."""
    while True:
        if alive():
            notify(WATCHDOG)
        await asyncio.sleep(every_s)
