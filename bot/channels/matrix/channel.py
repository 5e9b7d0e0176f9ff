"""One Matrix account as a channel of the gateway."""

import asyncio
import json
import random
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import aiohttp

from bot.channels.decoding import decode_json
from bot.channels.matrix import facts, payload, presenting
from bot.channels.matrix.client import CallError, Endpoint, MatrixApi, RefusedError, new_session
from bot.channels.matrix.credentials import Credentials, read_credentials
from bot.channels.matrix.entering import log_in_and_keep, refuse_lost, sign_device
from bot.channels.matrix.intake import Intake
from bot.channels.matrix.keys.attachments import decrypt_file
from bot.channels.matrix.keys.encryption import Encryption
from bot.channels.matrix.limits import Limits
from bot.channels.matrix.login import SoftLogoutError, UnreachableError, check, refuse_open_way
from bot.channels.matrix.material import material_of
from bot.channels.matrix.rooms import Rooms
from bot.channels.matrix.sending import NOBODY, Readers, Sender
from bot.model.clearance import Clearance
from bot.model.errors import ChannelError
from bot.model.inbound import Material, Reading, Stored
from bot.model.output import Final as Answer
from bot.model.part import Part, Receipt, TryLater
from bot.model.request import Attachment, ContextItem
from bot.observability.log import get_logger
from bot.ports.channel import Accept, Found, Reply
from bot.ports.store import State
from policy.boundary import Speech
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import Streaming

log = get_logger(__name__)

FIND_S: Final = 5.0
"""A decision waits no longer for the author of another message."""
_FIND_PAUSE_S: Final = 0.5
_SILENT_S: Final = 10.0
_ABSENT_S: Final = 1.0
_REMEMBERED: Final = 512
_RETRY_FIRST_S: Final = 1.0
_RETRY_LONGEST_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Connection:
    """What there is while the account is logged in."""

    api: MatrixApi
    encryption: Encryption
    intake: Intake
    sender: Sender


class _Absent:
    """Takes the place of the sender until the account is logged in and knows its rooms: nothing leaves."""

    async def deliver(self, part: Part, clearance: Clearance) -> Receipt:
        """Later; the outbox keeps it."""
        clearance.spend(part)
        return TryLater(after_s=_ABSENT_S, flood=True)


class MatrixChannel:
    """See :class:`bot.ports.channel.Channel`."""

    def __init__(
        self,
        *,
        user_id: str,
        folder: Path,
        state: State,
        clock: Callable[[], datetime],
        homeserver: str | None = None,
        password: str | None = None,
        token: str | None = None,
        allow_plain_http: bool = False,
        limits: Limits | None = None,
        session: Callable[[], aiohttp.ClientSession] = new_session,
        wait_s: int = 30,
        retry_first_s: float = _RETRY_FIRST_S,
        max_file_bytes: int = 20 << 20,
    ) -> None:
        """Make the channel; nothing is connected before :meth:`run`.

        Args:
            user_id: of the account.
            folder: where its login and its keys are kept; made for this user alone.
            state: where the place in the stream of events is kept.
            clock: the time now, aware.
            homeserver: its address; None: the server of the user id tells it.
            password: with it the channel logs in by itself, again where the server has logged it out.
            token: the same, for servers without passwords.
            allow_plain_http: also to another machine than this one.
            limits: how fast the bot may speak.
            session: makes the HTTP session.
            wait_s: seconds that the server may hold a sync open.
            retry_first_s: the first pause after a fault; each one in a row is longer.
            max_file_bytes: larger files are not fetched.
        """
        self._user_id = user_id
        self._folder = folder
        self._state = state
        self._clock = clock
        self._homeserver = homeserver
        self._password = password
        self._token = token
        self._allow_plain_http = allow_plain_http
        self._limits = limits if limits is not None else Limits()
        self._session = session
        self._wait_s = wait_s
        self._retry_first_s = retry_first_s
        self._max_file_bytes = max_file_bytes
        self._rooms = Rooms(user_id)
        self._connection: _Connection | None = None
        self._entered = asyncio.Event()
        self._token_over = False
        self._apart = "starting"
        self._found: OrderedDict[tuple[str, str], Found] = OrderedDict()
        self._silent_until = 0.0

    def __repr__(self) -> str:
        return f"MatrixChannel({self.account})"

    @property
    def account(self) -> str:
        """``matrix:`` and the bot's user id."""
        return f"{facts.PLATFORM}:{self._user_id}"

    @property
    def repeatable(self) -> bool:
        """Always: a transaction id makes the same part one message, as long as the device is the same (DUR-2)."""
        return True

    @property
    def state(self) -> str:
        """For health checks: ``starting``, ``ok``, ``unreachable``, ``store`` or ``logged_out``."""
        return self._apart if self._connection is None else self._connection.intake.state

    async def identified(self) -> None:
        """Return when the server has said who the bot is (PART-14)."""
        await self._entered.wait()

    # taking in

    async def run(self, accept: Accept) -> None:
        """Log in, then take events in until cancelled; an unreachable server is waited for.

        Raises:
            ChannelError: it can't go on; the text says the mend.
        """
        while True:
            connection = await self._connect()
            self._connection = connection
            self._entered.set()
            try:
                await connection.intake.run(accept)
            except SoftLogoutError:
                self._apart = "logged_out"
                if not self._may_log_in:
                    raise
                log.warning("logged_out", platform=facts.PLATFORM)
                self._token_over = True
            finally:
                self._entered.clear()
                await self.close()

    async def _connect(self) -> _Connection:
        """Be who the account is, by the server's own word; tried until the server can be reached.

        INVARIANT: nothing is read or sent before the server has confirmed the bot's own id.
        """
        pause_s = self._retry_first_s
        while True:
            try:
                return await self._enter()
            except SoftLogoutError:
                self._apart = "logged_out"
                if not self._may_log_in:
                    raise
                log.warning("logged_out", platform=facts.PLATFORM)
                self._token_over = True
                continue
            except (CallError, UnreachableError) as error:
                self._apart = "unreachable"
                # Neither holds a token or an id of a person: see their modules.
                log.warning("identity_unknown", platform=facts.PLATFORM, error=type(error).__name__, cause=str(error))
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(pause_s * 2, _RETRY_LONGEST_S)

    @property
    def _may_log_in(self) -> bool:
        return self._password is not None or self._token is not None

    async def _enter(self) -> _Connection:
        """One try.

        Raises:
            CallError, UnreachableError: the same may succeed later.
            SoftLogoutError: the token is over, the device is not.
            ChannelError: it can't be done; the text says the mend.
        """
        credentials = await asyncio.to_thread(read_credentials, self._folder)
        new = credentials is None or self._token_over
        if credentials is not None:
            refuse_open_way(credentials.homeserver, allow_plain_http=self._allow_plain_http)
        if credentials is None or new:
            if not self._may_log_in:
                raise ChannelError(f"{self._user_id} is not logged in. Log it in with: discreet matrix login")
            credentials = await log_in_and_keep(
                self._folder,
                user_id=self._user_id,
                homeserver=self._homeserver or (None if credentials is None else credentials.homeserver),
                password=self._password,
                token=self._token,
                device_id=None if credentials is None else credentials.device_id,
                allow_plain_http=self._allow_plain_http,
                session=self._session,
            )
            log.info("logged_in_again" if self._token_over else "logged_in", platform=facts.PLATFORM)
            self._token_over = False
        token = credentials.access_token.reveal()
        api = MatrixApi(homeserver=credentials.homeserver, token=token, session=self._session)
        encryption = None
        try:
            await check(api, credentials)
            encryption = await asyncio.to_thread(self._open_keys, credentials)
            if new:
                await sign_device(api, encryption, self._folder, password=self._password)
            else:
                await asyncio.to_thread(refuse_lost, self._folder, encryption)
        except BaseException:
            if encryption is not None:
                encryption.close()
            await api.close()
            raise
        intake = Intake(
            api,
            encryption,
            self._rooms,
            self._state,
            account=self.account,
            user_id=self._user_id,
            clock=self._clock,
            wait_s=self._wait_s,
        )
        sender = Sender(api, encryption, self._limits, member=self._member, readers=self._readers)
        return _Connection(api=api, encryption=encryption, intake=intake, sender=sender)

    def _member(self, room_id: str) -> bool | None:
        room = self._rooms.get(room_id)
        return None if room is None else room.membership == "join"

    def _readers(self, room_id: str) -> Readers:
        room = self._rooms.get(room_id)
        return NOBODY if room is None else (room.joined, room.invited)

    def _open_keys(self, credentials: Credentials) -> Encryption:
        return Encryption.open(user_id=self._user_id, device_id=credentials.device_id, folder=self._folder)

    def read(self, stored: Stored) -> Reading:
        """Read the facts; see :mod:`bot.channels.matrix.facts`. What came encrypted is opened with the keys of now."""
        connection = self._connection
        return facts.read(
            decode_json(stored.arrival.raw),
            key=stored.arrival.key,
            received_at=stored.arrival.received_at,
            user_id=self._user_id,
            identity_known=connection is not None,
            decrypt=_closed if connection is None else connection.encryption.decrypt,
        )

    def material(self, reading: Reading) -> Material:
        """What a request is made of."""
        return material_of(reading)

    @property
    def keyboards(self) -> bool:
        """There are no buttons: signs under a message stay as they are."""
        return False

    def chat(self, destination: Destination, was: Chat) -> Chat:
        """PART-16: a direct chat was made as one and has exactly two members, now as then."""
        if was is not Chat.DIRECT or not self._ready:  # until rooms are known nothing leaves: see _Absent
            return was
        room = self._rooms.get(destination.channel)
        if room is None or room.membership == "leave" or not room.between_two:
            return Chat.GROUP
        return Chat.DIRECT

    async def find(self, destination: Destination, message: str) -> Found | None:
        """Ask for one event; its sender and its thread are read, nothing else (PART-1)."""
        place = (destination.channel, message)
        known = self._found.get(place)
        if known is not None:
            return known
        event = await self._event(*place)
        sender = None if event is None else event.get("sender")
        if event is None or not facts.is_user_id(sender) or facts.is_edit(event):  # nobody changes or answers an edit
            return None
        self._found[place] = found = Found(sender=str(sender), thread=facts.thread_of(event))
        while len(self._found) > _REMEMBERED:
            self._found.popitem(last=False)
        return found

    async def quoted(self, reading: Reading) -> ContextItem | None:
        """The words that are replied to, as they stand now; they come from the room of the reply (PROMPT-3)."""
        reply, place, connection = reading.event.reply, reading.event.destination, self._connection
        if reply is None or connection is None:
            return None
        event = await self._event(place.channel, reply.message)
        if event is None:
            return None
        said = facts.read(
            {"room": {"room_id": place.channel}, "event": event},
            key=reply.message,
            received_at=self._clock(),
            user_id=self._user_id,
            decrypt=connection.encryption.decrypt,
        ).event
        if not said.text:
            return None
        return ContextItem(kind="quoted", text=said.text, sender=said.sender, at=said.sent_at)

    async def _event(self, room: str, event_id: str) -> Mapping[str, Any] | None:
        """One event of a room. None where it can't be had within a few seconds; then nothing is asked for a while."""
        now = asyncio.get_running_loop().time
        if now() < self._silent_until:
            return None
        try:
            async with asyncio.timeout(FIND_S):
                event = await self._ask_for(room, event_id)
        except TimeoutError:
            self._silent_until = now() + _SILENT_S
            return None
        if event is None or event.get("event_id") != event_id or event.get("room_id", room) != room:
            return None
        return {**event, "room_id": room}

    async def _ask_for(self, room: str, event_id: str) -> Mapping[str, Any] | None:
        while True:
            connection = self._connection
            if connection is not None:
                try:
                    return await connection.api.call(Endpoint.EVENT, room, event_id, timeout_s=FIND_S)
                except RefusedError as error:
                    if error.status < 500 and error.status != 429:
                        return None  # it is not there, or not for us
                except CallError:
                    pass
            await asyncio.sleep(_FIND_PAUSE_S)

    # sending

    def lane(self, destination: Destination) -> str:
        """One lane a room."""
        return f"{self.account}:{destination.channel}"

    def present(self, speech: Speech, answer: Answer, *, to: Reply) -> tuple[Part, ...]:
        """Bring an answer into its final form."""
        return presenting.present(speech, answer, to=to)

    def present_fragment(
        self, text: str, *, to: Reply, streaming: Streaming, stream: str, message: str | None
    ) -> Part | None:
        """A growing answer, as an edit."""
        return presenting.present_fragment(text, to=to, streaming=streaming, stream=stream, message=message)

    def present_rest(self, parts: tuple[Part, ...], *, message: str) -> tuple[Part, ...]:
        """The first text of the final parts becomes the final form of the message that has been growing."""
        return payload.final_edit(parts, message)

    def typing(self, *, to: Reply, on: bool) -> Part | None:
        """The typing sign; a room has one, whatever the thread."""
        return presenting.typing(to, on=on)

    def read_mark(self, *, to: Reply) -> Part | None:
        """The read receipt."""
        return presenting.read_receipt(to)

    def answer_invite(self, *, to: Reply, accept: bool) -> Part | None:
        """Join, or leave the room that one is invited to."""
        return presenting.answer_invite(to, accept=accept)

    def answer_tap(self, tap_id: str, text: str, *, to: Reply) -> Part | None:
        """None: a reaction has no spinner, and nobody can be told anything in private."""
        return None

    def unformatted(self, part: Part) -> Part | None:
        """None: no server refuses a message for its form."""
        return None

    def retarget(self, part: Part, channel: str) -> Part:
        """The same part: a room never moves by itself. A tombstone redirects nothing (IDENT-4)."""
        return part

    def turn_s(self, part: Part) -> float:
        """Book the part's turn within the limits of the account."""
        connection = self._connection
        return 0.0 if connection is None else connection.sender.turn_s(part)

    async def deliver(self, part: Part, clearance: Clearance) -> Receipt:
        """Make the one call that the clearance allows (see :class:`bot.channels.matrix.sending.Sender`)."""
        return await self._sender.deliver(part, clearance)

    @property
    def _sender(self) -> "Sender | _Absent":
        connection = self._connection
        return _ABSENT if connection is None or not self._ready else connection.sender

    @property
    def _ready(self) -> bool:
        """Whether the rooms and their members are known as they are now.

        Who reads a room, and whether it is encrypted, may have changed while the account was logged out or its server
        away; so nothing leaves before an answer to sync has been taken in again.
        """
        return self._connection is not None and self._connection.intake.state == "ok"

    async def fetch(self, attachment: Attachment, *, limit_bytes: int) -> bytes:
        """Fetch a file, and decrypt it where it came encrypted.

        Raises:
            ChannelError: it can't be had.
        """
        connection = self._connection
        if connection is None:
            raise ChannelError("the homeserver can't be reached")
        try:
            handle = json.loads(attachment.handle)
        except ValueError:
            raise ChannelError("the file has no address") from None
        mxc = handle.get("mxc", handle.get("url")) if isinstance(handle, dict) else None
        if not isinstance(mxc, str):
            raise ChannelError("the file has no address")
        content = await connection.api.download(mxc, limit_bytes=min(limit_bytes, self._max_file_bytes))
        return content if "mxc" in handle else await asyncio.to_thread(decrypt_file, content, handle)

    async def idle(self) -> None:
        """Return when nothing of what was sent is left to do (signs under messages)."""
        if self._connection is not None:
            await self._connection.sender.idle()

    async def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.sender.close()
            await connection.api.close()
            connection.encryption.close()


_ABSENT: Final = _Absent()


def _closed(_event: Mapping[str, Any]) -> None:
    """Nothing can be opened before the keys are there."""
