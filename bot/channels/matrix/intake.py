"""Taking events in: raw, durable before the token moves on, each by itself (DUR-1, PART-17).

The token of an answer to ``sync`` is the acknowledgement: it is kept after ``accept`` has returned, so whatever happens
in between comes again, and the store recognises what it has by event id. A timeline that is cut short is filled from
its back before it is taken in; a gap that can't be filled now keeps the token where it is.

What cannot be repaired does not stand still for ever: a room whose gap the server refuses again and again, and a token
that the server has lost, are given up with an error in the log.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Protocol

import orjson

from bot.channels.matrix.arrivals import INVITE, arrivals_of, invite_names
from bot.channels.matrix.backfill import Backfill
from bot.channels.matrix.client import CallError, Endpoint, MatrixApi, RefusedError
from bot.channels.matrix.login import SoftLogoutError, verdict
from bot.channels.matrix.rooms import Rooms
from bot.channels.matrix.roomstate import STATE_TYPES, is_id
from bot.model.errors import ChannelError, StoreError
from bot.observability.log import get_logger
from bot.ports.channel import Accept
from bot.ports.store import State

log = get_logger(__name__)

_TOKEN: Final = "sync_token"  # noqa: S105 - a place in a stream, no secret
_NOTHING: Final = {"not_types": ["*"]}
_FILTER: Final = orjson.dumps(
    {
        "presence": _NOTHING,
        "account_data": _NOTHING,
        "room": {
            "account_data": _NOTHING,
            "ephemeral": _NOTHING,
            "state": {"types": STATE_TYPES, "lazy_load_members": False},
            "timeline": {"limit": 100, "lazy_load_members": False},
        },
    },
).decode()
"""All members are wanted: who is in a room decides whether it is a direct chat, and who gets its keys."""
_TRIES: Final = 3
_ANSWER_S: Final = 30.0
_WHOLE_ANSWER_S: Final = 300.0  # all rooms with all their state
_TOKEN_CHARS: Final = 8192


class Keys(Protocol):
    """What the intake needs of the encryption."""

    def take(self, sync: Mapping[str, Any]) -> None:
        """Take in what an answer to ``sync`` brings for this device."""
        ...

    async def upkeep(self, api: MatrixApi) -> None:
        """Upload, ask and claim what is due.

        Raises:
            CallError: it did not succeed; it is due again.
        """
        ...


class Intake:
    """Fetches the events of one account until cancelled.

    Attributes:
        state: ``starting``, ``ok``, ``unreachable``, ``store`` or ``logged_out``; for health checks.
    """

    def __init__(
        self,
        api: MatrixApi,
        encryption: Keys,
        rooms: Rooms,
        state: State,
        *,
        account: str,
        user_id: str,
        clock: Callable[[], datetime],
        wait_s: int = 30,
        back_off_first_s: float = 0.5,
        back_off_longest_s: float = 30.0,
    ) -> None:
        """Make an intake; nothing is fetched before :meth:`run`.

        Args:
            api: of the account.
            encryption: of its device.
            rooms: kept up to date from here.
            state: where the token is kept.
            account: ``matrix:`` and the user id.
            user_id: the bot's own.
            clock: the time now, aware.
            wait_s: seconds that the server may hold a call open.
            back_off_first_s: the first pause after a fault.
            back_off_longest_s: the longest one.
        """
        self._api = api
        self._encryption = encryption
        self._rooms = rooms
        self._state = state
        self._account = account
        self._user_id = user_id
        self._clock = clock
        self._wait_s = wait_s
        self._first_s = back_off_first_s
        self._longest_s = back_off_longest_s
        self._pause_s = back_off_first_s
        self._kept: dict[str, str] | None = None  # what the store holds for this account
        self._whole = True  # the next answer has to tell the state of all rooms
        self._in_haste = True  # a call that is not held open tells soon whether all is well
        self._lost = False  # the server does not know our token
        self._doubts = 0  # refusals in a row that may mean the same
        self._backfill = Backfill(api)
        self.state = "starting"

    async def run(self, accept: Accept) -> None:
        """Fetch, make durable, keep the token, again.

        Raises:
            SoftLogoutError: the token has ended, the device has not.
            ChannelError: it can't go on; the text says the mend.
        """
        while True:
            try:
                answer = await self._fetch()
            except CallError as error:
                await self._rest(self._fault(error))
                continue
            except _StoreFaultError:
                await self._rest(None)
                continue
            before = self._rooms.snapshot()
            durable = False
            try:
                await self._take(answer, accept)
                durable = True
            except CallError as error:
                await self._rest(self._fault(error))
                continue
            except _StoreFaultError:
                await self._rest(None)
                continue
            finally:
                if not durable:
                    self._rooms.restore(before)
            self._well()
            try:
                await self._encryption.upkeep(self._api)
            except CallError as error:
                self._in_haste = True
                await self._rest(self._neglected(error))
                continue
            except StoreError as error:
                self._not_stored(error)
                await self._rest(None)
                continue
            self._in_haste = False
            self._pause_s = self._first_s

    async def _fetch(self) -> dict[str, Any]:
        kept = await self._recall()
        whole = self._whole
        wait_s = 0 if whole or self._in_haste else self._wait_s
        query = {"timeout": str(wait_s * 1000), "filter": _FILTER, "set_presence": "offline"}
        if _TOKEN in kept and not self._lost:
            query["since"] = kept[_TOKEN]
        if whole:
            query["full_state"] = "true"
        answer = await self._api.call(
            Endpoint.SYNC, query=query, timeout_s=wait_s + (_WHOLE_ANSWER_S if whole else _ANSWER_S)
        )
        self._doubts = 0
        return answer

    async def _recall(self) -> dict[str, str]:
        """What the store holds for this account; read once."""
        if self._kept is None:
            try:
                kept = await self._state.read(self._account)
            except Exception as error:  # noqa: BLE001 - whatever the store stumbles over: it is asked again
                raise self._not_stored(error) from None
            if not self._rooms.known:
                self._rooms.recall(kept)
            self._kept = kept
        return self._kept

    async def _take(self, answer: Mapping[str, Any], accept: Accept) -> None:
        """Make an answer durable.

        Raises:
            CallError: a gap can't be filled now, or the answer has no token.
            _StoreFaultError: the store can't take it.
        """
        kept = await self._recall()
        token = answer.get("next_batch")
        if not isinstance(token, str) or not 0 < len(token) <= _TOKEN_CHARS or not token.isprintable():
            raise RefusedError(Endpoint.SYNC.name, 502)  # whoever speaks here, it is no homeserver
        first = _TOKEN not in kept or self._lost
        gaps = (
            {}
            if first
            else {gap.room: await self._backfill.fill(gap, to=kept[_TOKEN]) for gap in self._rooms.gaps(answer)}
        )
        seen = self._rooms.take(answer, gaps=gaps, first=first)
        self._open(answer)
        now = self._clock()
        names = invite_names(seen, kept)
        await self._keep(names)
        arrivals = arrivals_of(seen, names, rooms=self._rooms, user_id=self._user_id, received_at=now)
        if arrivals:
            try:
                await accept(self._account, arrivals)
            except Exception as error:  # noqa: BLE001 - as above: the token stays, all comes again
                raise self._not_stored(error) from None
        changes: dict[str, str | None] = {_TOKEN: token}
        for section in ("join", "leave", "invite"):
            for room_id in _keys(answer, section):
                changes |= self._rooms.kept(room_id)
                if section != "invite":
                    changes[f"{INVITE}{room_id}"] = None
        await self._keep(changes)
        self._whole = self._lost = False
        self._backfill.done()

    def _open(self, answer: Mapping[str, Any]) -> None:
        """Give the encryption its part; that one is hostile input too, and no reason to take nothing in."""
        try:
            self._encryption.take(answer)
        except StoreError as error:  # keys come once: the token must not move on
            raise self._not_stored(error) from None
        except Exception as error:  # noqa: BLE001 - see above
            log.error("keys_not_taken", error=type(error).__name__)

    async def _keep(self, changes: Mapping[str, str | None]) -> None:
        """Bring the store up to date; what it holds already is not written."""
        kept = await self._recall()
        new = {name: value for name, value in changes.items() if kept.get(name) != value}
        if not new:
            return
        try:
            await self._state.write(self._account, new)
        except Exception as error:  # noqa: BLE001 - as above
            raise self._not_stored(error) from None
        for name, value in new.items():
            if value is None:
                kept.pop(name, None)
            else:
                kept[name] = value

    def _not_stored(self, error: Exception) -> "_StoreFaultError":
        if self.state != "store":
            log.error("intake_not_stored", error=type(error).__name__)
        self.state = "store"
        self._in_haste = True
        return _StoreFaultError()

    def _fault(self, error: CallError) -> float | None:
        """What a failed call means. Returns the pause in seconds that the server asks for, if it does.

        Raises:
            SoftLogoutError, ChannelError: it can't go on.
        """
        self._in_haste = True
        self._stop_if_logged_out(error)
        if isinstance(error, RefusedError):
            if error.name == Endpoint.SYNC.name and error.status == 400:
                self._doubt(error)
            self._seen("unreachable", error, error.status)
            return error.retry_after_s
        self._seen("unreachable", error, None)
        return None

    def _stop_if_logged_out(self, error: CallError) -> None:
        found = verdict(error) if isinstance(error, RefusedError) else None
        if found is None and isinstance(error, RefusedError) and error.status == 401:
            found = ChannelError("the homeserver does not accept the access token (401). Run `discreet matrix login`")
        if found is not None:
            self.state = "logged_out"
            log.warning("intake_stopped", soft=isinstance(found, SoftLogoutError))
            raise found

    def _doubt(self, error: RefusedError) -> None:
        """A server that has forgotten our place in the stream says so, each in its own way."""
        if self._lost or _TOKEN not in (self._kept or {}):
            self._lost = False  # it was not the token: it is tried again
            return
        self._doubts += 1
        if error.errcode == "M_UNKNOWN_POS" or self._doubts >= _TRIES:
            self._doubts = 0
            self._lost = self._whole = True
            log.error("token_unknown", detail="the server has lost our place; what came since is taken as history")

    def _neglected(self, error: CallError) -> float | None:
        """The upkeep of keys has failed; events are taken in all the same."""
        self._stop_if_logged_out(error)
        log.warning("keys_not_kept_up", error=type(error).__name__)
        return error.retry_after_s if isinstance(error, RefusedError) else None

    def _well(self) -> None:
        if self.state != "ok":
            event = {"starting": "connected", "unreachable": "reachable_again"}.get(self.state, "stored_again")
            log.info(event, platform="matrix")
        self.state = "ok"

    def _seen(self, state: str, error: CallError, code: int | None) -> None:
        if self.state != state:
            detail = "no events can be fetched"
            log.warning("intake_interrupted", state=state, detail=detail, error=type(error).__name__, code=code)
        self.state = state

    async def _rest(self, asked_s: float | None) -> None:
        """Pause before the next call; each pause in a row is longer, with jitter."""
        pause_s = self._pause_s
        self._pause_s = min(pause_s * 2, self._longest_s)
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.0) if asked_s is None else asked_s)


class _StoreFaultError(Exception):
    """The store could not be read or written; already logged."""


def _keys(answer: Mapping[str, Any], section: str) -> list[str]:
    rooms = answer.get("rooms")
    blocks = rooms.get(section) if isinstance(rooms, dict) else None
    return [key for key in blocks if is_id(key, "!")] if isinstance(blocks, dict) else []
