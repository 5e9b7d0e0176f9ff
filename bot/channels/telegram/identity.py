"""Who the bot itself is (PART-14): its id is in its token, its name only the platform knows, and it may change.

The name is asked for at start, beside the intake and never before it, and again on a timer. A mention of somebody else
might be one of the bot under a new name, so the name is asked for then too, at most once a minute.
"""

import asyncio
import random
from dataclasses import dataclass

from bot.channels.telegram.client import BotApi, CallError, RefusedError
from bot.observability.log import get_logger

log = get_logger(__name__)

_RETRY_FIRST_S = 1.0
_RETRY_LONGEST_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The bot's own account.

    Attributes:
        id: numeric id.
        handle: ``@username`` in lower case, as a mention of the bot reads.
        suffix: username in lower case, as a command names the bot.
    """

    id: int
    handle: str
    suffix: str


def identity_of(bot_id: int, username: str) -> Identity:
    """The identity behind an id and a username."""
    suffix = username.lower()
    return Identity(id=bot_id, handle=f"@{suffix}", suffix=suffix)


class IdentityWatch:
    """Keeps the bot's identity fresh.

    Attributes:
        current: None until the platform has told it.
    """

    def __init__(self, api: BotApi, *, refresh_s: float = 600.0, on_miss_s: float = 60.0) -> None:
        """Args: refresh_s: seconds between two looks. on_miss_s: the same after a mention of an unknown name."""
        self._api = api
        self._refresh_s = refresh_s
        self._on_miss_s = on_miss_s
        self._missed = asyncio.Event()
        self._known = asyncio.Event()
        self.current: Identity | None = None

    def miss(self) -> None:
        """Somebody is mentioned who is not the bot, as far as it knows."""
        self._missed.set()

    async def known(self) -> None:
        """Return when the platform has told it."""
        await self._known.wait()

    async def run(self) -> None:
        """Look again and again until cancelled; never raises for what the platform does."""
        retry_s = _RETRY_FIRST_S
        while True:
            if await self.look():
                retry_s = _RETRY_FIRST_S
                await self._pause()
            else:
                await asyncio.sleep(retry_s * random.uniform(0.5, 1.0))
                retry_s = min(retry_s * 2, _RETRY_LONGEST_S)

    async def look(self) -> bool:
        """Ask the platform now; whether it told."""
        try:
            me = await self._api.call("getMe", {})
        except CallError as error:
            code = error.code if isinstance(error, RefusedError) else None
            log.warning("identity_unknown" if self.current is None else "identity_not_refreshed", code=code)
            return False
        if not isinstance(me, dict) or me.get("id") != self._api.bot_id or not isinstance(me.get("username"), str):
            log.warning("identity_not_understood")
            return False
        self.current = identity_of(self._api.bot_id, me["username"])
        self._known.set()
        return True

    async def _pause(self) -> None:
        """Wait for the timer; a miss shortens the wait, but two looks are never closer than ``on_miss_s``."""
        self._missed.clear()
        soonest_s = min(self._on_miss_s, self._refresh_s)
        await asyncio.sleep(soonest_s)
        try:
            async with asyncio.timeout(self._refresh_s - soonest_s):
                await self._missed.wait()
        except TimeoutError:
            pass
