"""The queue of updates: offsets, long polling, conflicts, expiry.

The rules follow the public Bot API server. An update stays until a getUpdates with a higher offset forgets it, or
until its time is over. There is one consumer: a second getUpdates ends the first.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

import orjson

from tests.servers.botapi.errors import conflict

LONG_POLL_MAX_S: Final = 50
KEPT_S: Final = 24 * 3600.0
CALLBACK_KEPT_S: Final = 150.0
OFF_BY_DEFAULT: Final = frozenset({"chat_member", "message_reaction", "message_reaction_count"})

_SAME_OFFSET_S: Final = 3
_SAME_OFFSET_SOON_S: Final = 0.5


@dataclass(eq=False, slots=True)
class Entry:
    """An update that waits. ``again``: it is delivered once more even below the offset (a repeated delivery)."""

    update_id: int
    kind: str
    update: dict[str, Any]
    raw: bytes
    expires: float
    again: bool = False


class UpdateQueue:
    """The updates of one bot.

    Attributes:
        allowed: the kinds that the bot asked for, None for the default.
        entries: what waits, oldest first.
        polls: how many getUpdates calls there were.
    """

    def __init__(self, now: Callable[[], float], first_id: int) -> None:
        self._now = now
        self._next_id = first_id
        self._poller: asyncio.Future[None] | None = None
        self._previous_offset: int | None = None
        self._previous_start = 0.0
        self.entries: deque[Entry] = deque()
        self.allowed: frozenset[str] | None = None
        self.polls = 0
        self.on_new: Callable[[Entry], None] | None = None
        self.on_poll: Callable[[], None] | None = None

    @property
    def next_id(self) -> int:
        """The id that the next update without one gets."""
        return self._next_id

    def restart_ids(self, at: int) -> None:
        """Go on numbering from ``at``, as Telegram does after a quiet week; offsets from before forget nothing."""
        self._next_id = at

    def allow(self, kinds: Collection[str] | None) -> None:
        """Set what the bot wants; an empty list is the default, None leaves it as it was."""
        if kinds is not None:
            self.allowed = frozenset(kinds) or None

    def wants(self, kind: str) -> bool:
        """Whether the bot asked for this kind of update."""
        return kind not in OFF_BY_DEFAULT if self.allowed is None else kind in self.allowed

    def put(self, update: dict[str, Any], *, again: bool = False) -> int | None:
        """Queue an update.

        Args:
            update: it keeps its ``update_id``, if it has one.
            again: deliver it whatever the offset says.

        Returns: its id, or None when the bot did not ask for its kind.
        """
        kind = next((key for key in update if key != "update_id"), "")
        if not self.wants(kind):
            return None
        update_id = update.get("update_id")
        if update_id is None:
            update_id = self._next_id
            update = {"update_id": update_id, **update}
        if not again:
            self._next_id = update_id + 1
        kept_s = CALLBACK_KEPT_S if kind == "callback_query" else KEPT_S
        entry = Entry(update_id, kind, update, orjson.dumps(update), self._now() + kept_s, again)
        self.entries.append(entry)
        if self._poller is not None and not self._poller.done():
            self._poller.set_result(None)
        if self.on_new is not None:
            self.on_new(entry)
        return update_id

    def remove(self, entry: Entry) -> None:
        """Forget an update that a webhook has taken."""
        if entry in self.entries:
            self.entries.remove(entry)

    def clear(self) -> None:
        """Forget all."""
        self.entries.clear()

    async def poll(self, *, offset: int, limit: int, timeout_s: int) -> bytes:
        """Answer a getUpdates: the JSON text of the list.

        Raises:
            ApiError: 409, another poller came.
        """
        self.polls += 1
        limit = min(max(limit, 1), 100)
        timeout_s = min(max(timeout_s, 0), LONG_POLL_MAX_S)
        start = time.monotonic()
        if offset == self._previous_offset:
            if start < self._previous_start + _SAME_OFFSET_S:
                timeout_s = max(timeout_s, _SAME_OFFSET_S)
            if start < self._previous_start + _SAME_OFFSET_SOON_S:
                limit = 1
        self._previous_offset, self._previous_start = offset, start
        self.end_poll(
            conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
        )
        self._forget(offset)
        if self.on_poll is not None:
            self.on_poll()
        if not self.entries and timeout_s:
            await self._wait(timeout_s)
        return self._take(limit)

    def end_poll(self, error: BaseException) -> None:
        """End the long poll that waits, if there is one."""
        if self._poller is not None and not self._poller.done():
            self._poller.set_exception(error)
        self._poller = None

    async def _wait(self, timeout_s: float) -> None:
        poller = self._poller = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout_s):
                await poller
        except TimeoutError:
            pass
        finally:
            if self._poller is poller:
                self._poller = None

    def _forget(self, offset: int) -> None:
        now = self._now()
        while self.entries and self.entries[0].expires <= now:
            self.entries.popleft()
        if any(entry.kind == "callback_query" and entry.expires <= now for entry in self.entries):
            self.entries = deque(entry for entry in self.entries if entry.expires > now)
        if offset < 0:
            while len(self.entries) > -offset:
                self.entries.popleft()
        elif offset <= self._next_id:
            while self.entries and self.entries[0].update_id < offset and not self.entries[0].again:
                self.entries.popleft()

    def _take(self, limit: int) -> bytes:
        taken = [entry for entry, _ in zip(self.entries, range(limit), strict=False)]
        for entry in taken:
            entry.again = False
        return b"[" + b",".join([entry.raw for entry in taken]) + b"]"
