"""What a clearance allows, done on the homeserver, and what its answer means (OUT-1, DUR-2).

INVARIANT: nothing is called before the clearance is spent. One clearance makes one event; what belongs to that event
(its file, the keys for its readers, the reactions to tap under it) goes with it.

A message carries the transaction id that is stored with it, so sending it again is safe: whatever is unclear is simply
later. As long as the server is not well, waiting spends no attempt. Whether a part is tried again is the dispatcher's
matter.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from bot.channels.matrix.client import CallError, Endpoint, MatrixApi, NoAnswerError, RefusedError
from bot.channels.matrix.keys.attachments import encrypt_file
from bot.channels.matrix.keys.encryption import Encryption, EncryptionError
from bot.channels.matrix.limits import Limits, Pace
from bot.channels.matrix.payload import Content, Document, decode
from bot.deliveries.pacing import Recovery
from bot.model.clearance import Clearance
from bot.model.errors import StoreError
from bot.model.part import Action, Delivered, Part, Receipt, Rejected, TryLater, Unclear
from bot.observability.log import get_logger
from policy.boundary import Speech

log = get_logger(__name__)

CALL_S: Final = 30.0
FILES_S: Final = 180.0
JOIN_S: Final = 120.0
"""Into a room of another server, which may be slow."""
SEEDS_S: Final = 20.0
"""Seconds in all that the reactions under a message may wait for a server that is busy."""
_LONGEST_PAUSE_S: Final = 900.0
_FAR_S: Final = 60.0
_MEMBERSHIP: Final = frozenset({Action.JOIN, Action.LEAVE})
_UNPACED: Final = frozenset({Action.TYPING, Action.READ}) | _MEMBERSHIP
_LASTING: Final = frozenset({Action.SEND, Action.EDIT, Action.FILES})
_UNKNOWN_SIZE: Final = -1
_KEPT_UPLOADS: Final = 64


Readers = tuple[frozenset[str], frozenset[str]]
"""Of a room: ids of the joined, and of the invited."""
NOBODY: Final[Readers] = (frozenset(), frozenset())


def _member(_room: str) -> bool | None:
    return True


def _nobody(_room: str) -> Readers:
    return NOBODY


class Sender:
    """Makes the calls of one bot account."""

    def __init__(
        self,
        api: MatrixApi,
        encryption: Encryption,
        limits: Limits,
        *,
        member: Callable[[str], bool | None] = _member,
        readers: Callable[[str], Readers] = _nobody,
        call_s: float = CALL_S,
        files_s: float = FILES_S,
        recovery: Recovery | None = None,
    ) -> None:
        """Make the sender; nothing is called.

        Args:
            api: of the account.
            encryption: of its device.
            limits: how fast it may speak.
            member: whether the bot is in a room; None where that is not known.
            readers: who is in a room.
            call_s: seconds that a call may take.
            files_s: the same for an upload.
            recovery: how long it rests when the server does not answer.
        """
        self._api = api
        self._encryption = encryption
        self._pace = Pace(limits)
        self._member = member
        self._readers = readers
        self._call_s = call_s
        self._files_s = files_s
        self._recovery = recovery if recovery is not None else Recovery()
        self._unready: dict[str, int] = {}
        self._uploaded: dict[tuple[str, bool], Content] = {}
        self._upload_max: int | None = None
        self._seeding: set[asyncio.Task[None]] = set()

    async def deliver(self, part: Part, clearance: Clearance) -> Receipt:
        """See :meth:`bot.ports.channel.Channel.deliver`."""
        clearance.spend(part)
        early = self._early(part)
        if early is not None:
            return early
        document = decode(part)
        try:
            if document["do"] == "send":
                return await self._send(part, document)
            await self._sign(part, document)
        except CallError as error:
            return self._failed(part, error)
        self._recovery.over()
        return Delivered()

    async def idle(self) -> None:
        """Return when the signs of every message stand under it."""
        while self._seeding:
            await asyncio.wait(self._seeding)

    async def close(self) -> None:
        """Put no more signs; the messages are there without them."""
        for task in self._seeding:
            task.cancel()
        await asyncio.gather(*self._seeding, return_exceptions=True)

    def turn_s(self, part: Part) -> float:
        """Book the part's turn; see :meth:`bot.ports.channel.Channel.turn_s`."""
        if part.action in _UNPACED or part.speech is Speech.FRAGMENT:
            return 0.0
        places = 1 + len(decode(part).get("seeds", ()))
        return self._pace.book(part.destination.channel, _now(), places=places)

    def _early(self, part: Part) -> TryLater | None:
        """While the server is not well or wants silence nothing is called; what only passes waits for no turn."""
        now = _now()
        wait_s = self._recovery.left_s(now)
        if not wait_s and part.action not in _MEMBERSHIP:
            wait_s = self._pace.silence_s(now)
        if not wait_s and part.speech is Speech.FRAGMENT:
            wait_s = self._pace.book_passing(part.destination.channel, now)
        return TryLater(after_s=wait_s, flood=True) if wait_s else None

    async def _sign(self, part: Part, document: Document) -> None:
        room = document["room"]
        match document["do"]:
            case "typing":
                sign = {"typing": True, "timeout": document["timeout_ms"]} if document["on"] else {"typing": False}
                await self._call(Endpoint.TYPING, room, part.destination.workspace, body=sign)
            case "read":
                await self._call(Endpoint.RECEIPT, room, "m.read", document["event"], body={})
            case "join":
                await self._api.call(Endpoint.JOIN, room, body={}, timeout_s=JOIN_S)
            case _:
                await self._call(Endpoint.LEAVE, room, body={})

    async def _send(self, part: Part, document: Document) -> Receipt:
        room, content = document["room"], document["content"]
        cleared_for = self._readers(room)
        if "file" in document:
            encrypted = self._encryption.encrypted(room)
            filled = await self._with_file(part, content, encrypted=encrypted)
            if not isinstance(filled, dict):
                return filled
            if self._encryption.encrypted(room) is not encrypted:
                return TryLater(after_s=0.1, flood=True)  # encryption was switched on meanwhile: that copy is not used
            content = filled
        event_type = document["type"]
        if self._encryption.encrypted(room):
            sealed = await self._sealed(room, event_type, content)
            if isinstance(sealed, TryLater):
                return sealed
            event_type, content = sealed
        elif not self._member(room) and await self._is_encrypted(room):
            return TryLater(after_s=1.0, flood=True)
        if _came(cleared_for, self._readers(room)):
            return TryLater(after_s=0.1, flood=True)  # it was not cleared for them
        answer = await self._call(Endpoint.SEND, room, event_type, document["txn"], body=content)
        self._recovery.over()
        self._forget(part)
        event_id = answer.get("event_id")
        if not isinstance(event_id, str) or not event_id:
            return Unclear(code="not_understood")
        # what people and we ourselves speak of after an edit is the message that it edits
        relation = document["content"].get("m.relates_to", {})
        message = relation["event_id"] if relation.get("rel_type") == "m.replace" else event_id
        seeds = document.get("seeds", ())
        if seeds:  # beside: what is tapped or said meanwhile has to meet the receipt
            task = asyncio.create_task(self._seed(room, message, seeds, document["txn"]), name="seeds")
            self._seeding.add(task)
            task.add_done_callback(self._seeding.discard)
        return Delivered(messages=(message,))

    async def _call(self, endpoint: Endpoint, *parts: str, body: Content) -> dict[str, Any]:
        return await self._api.call(endpoint, *parts, body=body, timeout_s=self._call_s)

    # encryption

    async def _is_encrypted(self, room: str) -> bool:
        """Ask the server about a room of which no sync has told: one that was joined just now, say."""
        try:
            await self._call(Endpoint.STATE, room, "m.room.encryption", "", body={})
        except RefusedError as error:
            if error.status != 404 or error.errcode != "M_NOT_FOUND":
                raise
            return self._encryption.encrypted(room)  # a sync may have come meanwhile
        return True

    async def _sealed(self, room: str, event_type: str, content: Content) -> tuple[str, Content] | TryLater:
        """Encrypted for everybody in the room; where the keys for that can't be had now, later."""
        try:
            sealed = await self._encryption.encrypt(self._api, room, event_type, content)
        except NoAnswerError:
            raise
        except RefusedError as error:
            if _is_busy(error) or not 400 <= error.status < 500 or error.status == 401:
                raise
            failure: Exception = error  # a question about keys was refused, not the message
        except (EncryptionError, StoreError) as error:
            failure = error
        else:
            self._unready.pop(room, None)
            return sealed
        log.warning("not_encrypted", error=type(failure).__name__)
        tries = self._unready[room] = self._unready.get(room, 0) + 1
        return TryLater(after_s=min(60.0, 2.0 ** min(tries, 6)), flood=isinstance(failure, StoreError))

    # files

    async def _with_file(self, part: Part, content: Content, *, encrypted: bool) -> Content | Receipt:
        """The content with the place of its file, which is uploaded once however often the message is tried."""
        key = (part.digest, encrypted)
        known = self._uploaded.get(key)
        if known is not None:
            return {**content, **known}
        file = part.files[0]
        if 0 <= await self._largest_upload() < len(file.content):
            return Rejected(code="too_long")  # the server would break off the connection, which looks like a fault
        try:
            if encrypted:
                sealed, described = await asyncio.to_thread(encrypt_file, file.content)
                place = await self._api.upload(
                    sealed, media_type="application/octet-stream", name=None, timeout_s=self._files_s
                )
                known = {"file": {**described, "url": place}}
            else:
                place = await self._api.upload(
                    file.content, media_type=file.media_type, name=file.name, timeout_s=self._files_s
                )
                known = {"url": place}
        except NoAnswerError as error:
            if not error.sent:
                raise
            # it may be this very file that the way to the server does not bear: that must end some time
            return TryLater(after_s=self._recovery.fault(_now()))
        while len(self._uploaded) >= _KEPT_UPLOADS:
            del self._uploaded[next(iter(self._uploaded))]
        self._uploaded[key] = known
        return {**content, **known}

    async def _largest_upload(self) -> int:
        """Bytes that the server takes; below zero where it does not say."""
        if self._upload_max is None:
            try:
                answer = await self._api.call(Endpoint.MEDIA_CONFIG, timeout_s=self._call_s)
            except RefusedError as error:
                if _is_busy(error) or error.status >= 500 or error.status == 401:
                    raise
                answer = {}
            size = answer.get("m.upload.size")
            self._upload_max = size if type(size) is int and size >= 0 else _UNKNOWN_SIZE
        return self._upload_max

    def _forget(self, part: Part) -> None:
        if part.files:
            for encrypted in (True, False):
                self._uploaded.pop((part.digest, encrypted), None)

    # reactions to tap

    async def _seed(self, room: str, message: str, seeds: list[str], txn: str) -> None:
        """Put the signs of the choices under the message: in the clear, as reactions always are.

        The message is there already and can be read without them: a failure is noted and ends it.
        """
        patience_s = SEEDS_S
        for number, key in enumerate(seeds, start=1):
            relation = {"rel_type": "m.annotation", "event_id": message, "key": key}
            while True:
                try:
                    await self._call(
                        Endpoint.SEND, room, "m.reaction", f"{txn}-{number}", body={"m.relates_to": relation}
                    )
                except RefusedError as error:
                    if error.errcode == "M_DUPLICATE_ANNOTATION":
                        break
                    pause_s = _pause_s(error)
                    if _is_busy(error) and pause_s <= patience_s:
                        patience_s -= max(pause_s, 0.1)
                        await asyncio.sleep(pause_s)
                        continue
                    log.warning("seeds_missing", error=type(error).__name__, status=error.status)
                    return
                except CallError as error:
                    log.warning("seeds_missing", error=type(error).__name__)
                    return
                break

    # what went wrong

    def _failed(self, part: Part, error: CallError) -> Receipt:
        now = _now()
        match error:
            case NoAnswerError(sent=True) if part.action in _MEMBERSHIP:
                return TryLater(after_s=_FAR_S)  # it is the other server that is slow or away, not ours
            case RefusedError(status=status) if status >= 500 and part.action in _MEMBERSHIP:
                return TryLater(after_s=_FAR_S)
            case NoAnswerError(code=code) if code in ("too_large", "not_understood"):
                return TryLater(after_s=self._recovery.fault(now))  # it answers, but like no homeserver
            case NoAnswerError():
                return TryLater(after_s=self._recovery.fault(now), flood=True)
            case RefusedError() if _is_busy(error):
                pause_s = _pause_s(error)
                if part.action in _LASTING:  # joins and signs have limits of their own
                    self._pace.silence(now, seconds=pause_s)
                return TryLater(after_s=pause_s, flood=True)
            case RefusedError(status=500):
                # A server that is ill refuses everything; one that is well and can't do this one thing never will.
                flood = not self._recovery.well
                return TryLater(after_s=self._recovery.fault(now), flood=flood)
            case RefusedError(status=status) if status >= 500 or status < 400 or status in (401, 408):
                # a front server, or a token that has run out: the intake sees to that
                return TryLater(after_s=self._recovery.fault(now), flood=True)
            case RefusedError():
                self._recovery.over()
                self._forget(part)
                return self._refused(part, error)
            case _:
                return TryLater(after_s=self._recovery.fault(now), flood=True)

    def _refused(self, part: Part, error: RefusedError) -> Rejected:
        if error.status == 413 or error.errcode == "M_TOO_LARGE":
            return Rejected(code="too_long")
        if error.status == 403:
            return Rejected(code="forbidden", channel_gone=part.action in _LASTING and self._is_out(part, error))
        if error.status == 404 or error.errcode == "M_NOT_FOUND":
            return Rejected(code="not_found")
        return Rejected(code="rejected")

    def _is_out(self, part: Part, error: RefusedError) -> bool:
        """Whether the bot is not in the room any more, as far as the rooms or the server tell."""
        member = self._member(part.destination.channel)
        if member is not None and not member:
            return True
        said = error.body.get("error")
        return isinstance(said, str) and "not in room" in said.lower()


def _came(before: Readers, now: Readers) -> bool:
    """Whether somebody has come in."""
    if before[0] is now[0] and before[1] is now[1]:
        return False
    return not (now[0] | now[1]) <= (before[0] | before[1])


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_busy(error: RefusedError) -> bool:
    return error.status == 429 or error.errcode == "M_LIMIT_EXCEEDED"


def _pause_s(error: RefusedError) -> float:
    """The silence that the server asks for, within reason."""
    asked = error.retry_after_s
    return 5.0 if asked is None else min(max(asked, 0.1), _LONGEST_PAUSE_S)
