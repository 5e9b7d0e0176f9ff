"""Trouble on order: refusals, hanging requests, cut connections, flood limits."""

import asyncio
import math
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.errors import ApiError, too_many

Kind = Literal["fail", "hang", "drop"]


class CutError(Exception):
    """The connection is reset instead of answered."""


@dataclass(kw_only=True, eq=False)
class Fault:
    """A rule that spoils calls.

    Attributes:
        method: whose calls, in any letter case; ``*`` for all but getUpdates.
        kind: an answer that refuses, no answer until it is released, or a reset.
        error: the answer, for ``fail``.
        raw: a body that is no JSON, such as a proxy's, instead of the answer.
        deliver: the call has its effect although the bot doesn't learn of it.
        times: how many calls it spoils, None for all.
        chat_id: only calls to this chat.
        match_text: only calls whose text or caption holds this.
        hits: how many it has spoiled.
    """

    method: str
    kind: Kind
    error: ApiError | None = None
    raw: str | None = None
    deliver: bool = False
    times: int | None = 1
    chat_id: int | None = None
    match_text: str | None = None
    hits: int = 0
    _reached: asyncio.Event = field(default_factory=asyncio.Event)
    _open: asyncio.Event = field(default_factory=asyncio.Event)
    _cut: bool = False

    def applies(self, method: str, arguments: Arguments) -> bool:
        """Whether this call is to be spoiled."""
        if self.times is not None and self.hits >= self.times:
            return False
        if self.method == "*":
            if method == "getupdates":
                return False
        elif self.method.lower() != method:
            return False
        if self.chat_id is not None and arguments.text("chat_id") != str(self.chat_id):
            return False
        return self.match_text is None or any(
            self.match_text in arguments.text(name) for name in ("text", "caption", "media")
        )

    def hit(self) -> None:
        """Count a call."""
        self.hits += 1
        self._reached.set()

    async def reached(self, timeout_s: float = 10.0) -> None:
        """Wait until a call has come and its effect, if any, has been applied."""
        async with asyncio.timeout(timeout_s):
            await self._reached.wait()

    def release(self) -> None:
        """Let the calls that hang be answered, and later ones pass."""
        self.times = self.hits
        self._open.set()

    def cut(self) -> None:
        """Reset the connections of the calls that hang; later ones pass."""
        self._cut = True
        self.release()

    def cancel(self) -> None:
        """Spoil no further call."""
        self.times = self.hits

    async def hold(self) -> None:
        """Hang until somebody releases or cuts.

        Raises:
            CutError: it was cut.
        """
        await self._open.wait()
        if self._cut:
            raise CutError


@dataclass(frozen=True, kw_only=True, slots=True)
class FloodLimits:
    """How much a bot may send; a limit that is None is off. The defaults are what Telegram's documents tell."""

    per_chat_per_s: float | None = 1.0
    per_group_per_min: float | None = 20.0
    total_per_s: float | None = 30.0


class FloodControl:
    """Counts messages in sliding windows; one that is over has to wait out the whole ``retry_after``."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._sent: defaultdict[Any, deque[float]] = defaultdict(deque)
        self._until: dict[Any, float] = {}

    def admit(self, limits: FloodLimits, chat_id: int, messages: int = 1) -> None:
        """Count ``messages`` to a chat.

        Raises:
            ApiError: 429, too many.
        """
        now = self._now()
        windows: list[tuple[Any, float | None, float]] = [
            (chat_id, limits.per_chat_per_s, 1.0),
            ("all", limits.total_per_s, 1.0),
        ]
        if chat_id < 0:
            windows.append((("group", chat_id), limits.per_group_per_min, 60.0))
        active = [(key, limit, window_s) for key, limit, window_s in windows if limit is not None]
        wait_s = 0.0
        for key, limit, window_s in active:
            if (until := self._until.get(key, 0.0)) > now:
                wait_s = max(wait_s, until - now)
                continue
            times = self._sent[key]
            while times and times[0] <= now - window_s:
                times.popleft()
            if times and len(times) + messages > max(limit, 1):
                until = now + math.ceil(times[0] + window_s - now)
                self._until[key] = until
                wait_s = max(wait_s, until - now)
        if wait_s > 0:
            raise too_many(math.ceil(wait_s - 1e-6) or 1)
        for key, _, _ in active:
            self._sent[key].extend([now] * messages)
