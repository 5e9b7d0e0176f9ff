"""What is read at start only: when it changes afterwards, the log says that a restart is needed."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from bot.observability.log import get_logger

log = get_logger(__name__)


async def watch(needs: Mapping[str, Callable[[], object]], *, every_s: float = 2.0) -> None:
    """Say it once for each change, until cancelled.

    Args:
        needs: by name, what is read at start; compared by equality.
        every_s: how often it is looked at.
    """
    before = {name: read() for name, read in needs.items()}
    while True:
        await asyncio.sleep(every_s)
        for name, read in needs.items():
            now = read()
            if now != before[name]:
                before[name] = now
                log.warning("restart_needed", what=name)


def fingerprint(path: Path) -> str:
    """Digest of a file; empty where it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
