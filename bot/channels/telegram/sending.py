"""The one call that a clearance allows, and what its answer means (OUT-1, DUR-2).

INVARIANT: nothing is called before the clearance is spent, and one clearance makes at most one call. Whether a part is
tried again is the dispatcher's matter; this module only tells what is certain and what is not.
"""

import asyncio
import random
from typing import Any, Final

from bot.channels.telegram.client import BotApi, CallError, NoAnswerError, NotSentError, RefusedError
from bot.channels.telegram.limits import Limits, Pace
from bot.channels.telegram.payload import Params, decode
from bot.model.clearance import Clearance
from bot.model.part import Action, Delivered, Moved, Part, Receipt, Rejected, TryLater, Unclear
from bot.observability.log import get_logger
from policy.boundary import Speech

log = get_logger(__name__)

CALL_S: Final = 30.0
FILES_S: Final = 180.0
_BACK_OFF_LONGEST_S: Final = 60.0
_UNPACED: Final = frozenset({Action.TYPING, Action.DRAFT, Action.TAP_ANSWER})
_LASTING: Final = frozenset({Action.SEND, Action.EDIT, Action.FILES})

_GONE: Final = (
    "chat not found",
    "group chat was deactivated",
    "group chat was deleted",
    "peer_id_invalid",
    "channel_private",
    "channel_invalid",
    "user not found",
)
_CLOSED: Final = (
    "have no rights to send a message",
    "not enough rights to send text messages",
    "chat_write_forbidden",
    "bot is not a member",
)
_RIGHTS: Final = ("not enough rights", "have no rights", "need administrator rights", "forbidden", "topic_closed")
_TOO_LONG: Final = ("too long", "too_long", "too large", "too big")


class Sender:
    """Makes the calls of one bot account."""

    def __init__(self, api: BotApi, limits: Limits, *, call_s: float = CALL_S, files_s: float = FILES_S) -> None:
        """Args: call_s: seconds that a call may take. files_s: the same with files."""
        self._api = api
        self._pace = Pace(limits)
        self._call_s = call_s
        self._files_s = files_s
        self._faults = 0

    async def deliver(self, part: Part, clearance: Clearance) -> Receipt:
        """See :meth:`bot.ports.channel.Channel.deliver`."""
        clearance.spend(part)
        method, params = decode(part)
        chat = int(part.destination.channel)
        early = self._early(part, chat)
        if early is not None:
            return early
        try:
            result = await self._api.call(
                method,
                params,
                files=part.files,
                timeout_s=self._files_s if part.files else self._call_s,
            )
        except CallError as error:
            return self._failed(part, error, chat)
        self._faults = 0
        return _delivered(params, result)

    def turn_s(self, part: Part) -> float:
        """Book the part's turn; see :meth:`bot.ports.channel.Channel.turn_s`."""
        if part.action in _UNPACED or part.speech is Speech.FRAGMENT:
            return 0.0
        return self._pace.book(int(part.destination.channel), asyncio.get_running_loop().time())

    def _early(self, part: Part, chat: int) -> TryLater | None:
        """What is only passing does not wait for its turn: it goes now or not at all."""
        now = asyncio.get_running_loop().time()
        if part.action in _UNPACED:
            wait_s = 0.0 if part.action is Action.TAP_ANSWER else self._pace.silence_s(chat, now)
        elif part.speech is Speech.FRAGMENT:
            wait_s = self._pace.book_passing(chat, now)
        else:
            return None
        return TryLater(after_s=wait_s, flood=True) if wait_s else None

    def _failed(self, part: Part, error: CallError, chat: int) -> Receipt:
        match error:
            case NotSentError():
                return TryLater(after_s=self._back_off_s(), flood=True)  # no fault of the part: it costs no attempt
            case NoAnswerError(code=code):
                return Unclear(code=code)
            case RefusedError() if error.code == 429:
                wait_s = error.retry_after_s if error.retry_after_s is not None else self._back_off_s()
                self._pace.silence(chat, asyncio.get_running_loop().time(), seconds=wait_s)
                return TryLater(after_s=wait_s, flood=True)
            case RefusedError() if error.code == 504:
                return Unclear(code="timeout")  # a front server gave up waiting for the one that does it
            case RefusedError() if error.code >= 500:
                return TryLater(after_s=self._back_off_s())
            case RefusedError() if error.code in (401, 404):
                return TryLater(after_s=30.0, flood=error.code == 401)  # the token; the intake tells it and stops
            case RefusedError() if error.migrate_to is not None:
                return Moved(channel=str(error.migrate_to))
            case RefusedError():
                return _refused(part, error)
            case _:
                return Unclear(code="unknown")

    def _back_off_s(self) -> float:
        self._faults += 1
        longest: float = min(_BACK_OFF_LONGEST_S, 2.0 ** min(self._faults, 10))
        return longest * random.uniform(0.5, 1.0)


def _refused(part: Part, error: RefusedError) -> Receipt:
    """A 400 or 403. The sentence is matched, never shown: it may repeat pieces of the message."""
    said = error.description.lower()
    if "message is not modified" in said:
        return Delivered()
    lasting = part.action in _LASTING
    if error.code == 403:
        return Rejected(code="forbidden", channel_gone=lasting and "not enough rights" not in said)
    if any(sign in said for sign in _GONE):
        return Rejected(code="not_found", channel_gone=lasting)
    if "thread not found" in said or "topic_deleted" in said or "topic_id_invalid" in said:
        return Rejected(code="thread_not_found")
    if any(sign in said for sign in _TOO_LONG):
        return Rejected(code="too_long")
    if "entit" in said:
        return Rejected(code="formatting")
    if any(sign in said for sign in _CLOSED):
        return Rejected(code="forbidden", channel_gone=lasting)
    if any(sign in said for sign in _RIGHTS):
        return Rejected(code="forbidden")
    if "not found" in said:
        return Rejected(code="not_found")
    return Rejected(code="rejected")


def _delivered(params: Params, result: Any) -> Delivered:
    messages = result if isinstance(result, list) else [result]
    made = [message for message in messages if isinstance(message, dict) and "message_id" in message]
    asked = params.get("message_thread_id")
    if asked is not None and any(message.get("message_thread_id") != asked for message in made):
        log.warning("thread_ignored")  # a deleted topic of a private chat: the platform puts it into the chat itself
    return Delivered(messages=tuple(str(message["message_id"]) for message in made))
