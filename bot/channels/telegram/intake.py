"""Taking updates in: raw, durable before acknowledged, each by itself (DUR-1, PART-17).

A higher offset is the acknowledgement, so it is sent only after ``accept`` has returned. Offsets are not kept: after a
restart the platform repeats what was not acknowledged and the store recognises what it has. The store does so by set,
because after a quiet week the numbers start again anywhere.
"""

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import orjson

from bot.channels.telegram.client import BotApi, CallError, RefusedError
from bot.channels.telegram.facts import PLATFORM, chat_id_of
from bot.model.errors import ChannelError
from bot.model.inbound import Arrival
from bot.observability.log import get_logger
from bot.ports.channel import Accept

log = get_logger(__name__)

ALLOWED_UPDATES: Final = (
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "business_message",
    "edited_business_message",
    "callback_query",
    "my_chat_member",
)
"""What is judged; all of it, also what is always muted, so that the record tells that it was seen (PART-13)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Polling:
    """How updates are fetched.

    Attributes:
        wait_s: seconds that the platform may hold a call open, at most 50.
        delete_webhook: take a webhook away if one is set, instead of refusing to start.
        conflict_s: seconds of nothing but "somebody else polls" after which there is no point in going on.
        back_off_first_s: the first pause after a fault.
        back_off_longest_s: the longest one.
    """

    wait_s: int = 50
    delete_webhook: bool = False
    conflict_s: float = 180.0
    back_off_first_s: float = 0.5
    back_off_longest_s: float = 30.0


def arrival_of(update: Any, *, bot_id: int, received_at: datetime) -> Arrival:
    """One update as an arrival; what can't be read gets a lane of its own, so that it blocks nothing (PART-17)."""
    raw = _raw(update)
    number = update.get("update_id") if isinstance(update, dict) else None
    key = str(number) if type(number) is int else f"unnumbered:{sha256(raw).hexdigest()[:32]}"
    chat_id = chat_id_of(update)
    lane = lane_of(bot_id, f"update:{key}" if chat_id is None else str(chat_id))
    return Arrival(key=key, lane=lane, raw=raw, received_at=received_at)


def lane_of(bot_id: int, channel: str) -> str:
    """The lane of a chat; its topics share it."""
    return f"{PLATFORM}:{bot_id}:{channel}"


def _raw(update: Any) -> bytes:
    try:
        return orjson.dumps(update)
    except TypeError:  # lone surrogates, numbers of more than 64 bits
        return json.dumps(update).encode()


class Intake:
    """Fetches the updates of one bot until cancelled.

    Attributes:
        state: ``starting``, ``ok``, ``unreachable``, ``conflict`` or ``store``; for health checks.
    """

    def __init__(self, api: BotApi, polling: Polling, *, account: str, clock: Callable[[], datetime]) -> None:
        self._api = api
        self._polling = polling
        self._account = account
        self._clock = clock
        self._offset: int | None = None
        self._pause_s = polling.back_off_first_s
        self._conflict_since: float | None = None
        self.state = "starting"

    async def run(self, accept: Accept) -> None:
        """Fetch, make durable, acknowledge, again.

        Raises:
            ChannelError: it can't go on; the text says the mend.
        """
        while True:
            try:
                updates = await self._fetch()
            except CallError as error:
                await self._rest(await self._fault(error))
                continue
            self._conflict_since = None
            self._pause_s = self._polling.back_off_first_s
            if updates and not await self._take(updates, accept):
                await self._rest(None)
                continue
            self._well()

    async def _fetch(self) -> Sequence[Any]:
        wait_s = self._polling.wait_s if self.state == "ok" else 0  # a short call tells soon whether all is well
        params: dict[str, Any] = {"timeout": wait_s, "allowed_updates": ALLOWED_UPDATES}
        if self._offset is not None:
            params["offset"] = self._offset
        updates = await self._api.call("getUpdates", params, timeout_s=wait_s + 15.0)
        return updates if isinstance(updates, list) else ()

    async def _take(self, updates: Sequence[Any], accept: Accept) -> bool:
        """Make updates durable; only then the next call acknowledges them."""
        now = self._clock()
        arrivals = [arrival_of(update, bot_id=self._api.bot_id, received_at=now) for update in updates]
        try:
            await accept(self._account, arrivals)
        except Exception as error:  # noqa: BLE001 - whatever the store stumbles over: nothing is acknowledged, all comes again
            self.state = "store"
            log.error("intake_not_stored", error=type(error).__name__)
            return False
        numbered = [update for update in updates if isinstance(update, dict)]
        numbers = [number for update in numbered if type(number := update.get("update_id")) is int]
        if numbers:
            self._offset = max(numbers) + 1  # lower than before, where the numbers have started again
        return True

    async def _fault(self, error: CallError) -> float | None:
        """What a failed call means. Returns the pause in seconds that the platform asks for, if it does."""
        if not isinstance(error, RefusedError):
            self._seen("unreachable", error, None)
            return None
        if error.code in (401, 404):
            raise _wrong_token(error)
        if error.code != 409:
            self._seen("unreachable", error, error.code)
            return error.retry_after_s
        if "webhook" in error.description.lower():
            if not self._polling.delete_webhook:
                raise ChannelError(
                    "a webhook is set for this Telegram bot, so it can't be polled; configure the webhook here, "
                    "or allow its removal (delete_webhook: true)",
                )
            await self._delete_webhook()
            return 0.0
        now = asyncio.get_running_loop().time()
        if self._conflict_since is None:
            self._conflict_since = now
        if now - self._conflict_since >= self._polling.conflict_s:
            raise ChannelError(
                "another process polls with this Telegram token; stop it, or revoke the token at @BotFather "
                "and use a new one",
            )
        self._seen("conflict", error, error.code)
        return None

    async def _delete_webhook(self) -> None:
        try:
            await self._api.call("deleteWebhook", {"drop_pending_updates": False})
        except CallError as error:
            log.warning("webhook_not_deleted", error=type(error).__name__)
        else:
            log.warning("webhook_deleted")

    def _well(self) -> None:
        if self.state != "ok":
            event = {"starting": "connected", "store": "stored_again"}.get(self.state, "reachable_again")
            log.info(event, platform="telegram")
        self.state = "ok"

    def _seen(self, state: str, error: CallError, code: int | None) -> None:
        if self.state != state:
            detail = "another process polls with this token" if state == "conflict" else "no updates can be fetched"
            log.warning("intake_interrupted", state=state, detail=detail, error=type(error).__name__, code=code)
        self.state = state

    async def _rest(self, asked_s: float | None) -> None:
        """Pause before the next call; each pause in a row is longer, with jitter."""
        pause_s = self._pause_s
        self._pause_s = min(pause_s * 2, self._polling.back_off_longest_s)
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.0) if asked_s is None else asked_s)


def _wrong_token(error: RefusedError) -> ChannelError:
    if error.code == 401:
        return ChannelError("Telegram does not accept the token (401); get the current one from @BotFather")
    return ChannelError("Telegram does not know this bot (404); check the token and the API address")
