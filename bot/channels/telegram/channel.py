"""One Telegram bot account as a channel of the gateway."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import aiohttp

from bot.channels.decoding import decode_json
from bot.channels.telegram import facts, payload, presenting
from bot.channels.telegram.client import BotApi, CallError, RefusedError, new_session
from bot.channels.telegram.identity import IdentityWatch
from bot.channels.telegram.intake import Intake, Polling, lane_of
from bot.channels.telegram.limits import Limits
from bot.channels.telegram.material import material_of
from bot.channels.telegram.sending import CALL_S, Sender
from bot.channels.telegram.webhook import Webhook, WebhookIntake
from bot.model.clearance import Clearance
from bot.model.errors import ChannelError
from bot.model.inbound import Material, Reading, Stored
from bot.model.output import Final
from bot.model.part import Part, Receipt
from bot.model.request import Attachment, ContextItem
from bot.ports.channel import Accept, Found, Reply
from policy.boundary import Speech
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import Streaming


class TelegramChannel:
    """See :class:`bot.ports.channel.Channel`."""

    def __init__(
        self,
        *,
        token: str,
        clock: Callable[[], datetime],
        api_url: str = "https://api.telegram.org",
        mode: Polling | Webhook | None = None,
        limits: Limits | None = None,
        session: Callable[[], aiohttp.ClientSession] = new_session,
        call_s: float = CALL_S,
        identity_refresh_s: float = 600.0,
        max_file_bytes: int = 20 << 20,
    ) -> None:
        """Make the channel; nothing is connected before :meth:`run` or the first call.

        Args:
            token: the bot's secret.
            clock: the time now, aware.
            api_url: of the Bot API server.
            mode: how updates come in; polling where nothing is said.
            limits: how fast the bot may speak.
            session: makes the HTTP session.
            call_s: seconds that a call without files may take.
            identity_refresh_s: seconds between two looks at the bot's own name.
            max_file_bytes: larger files are not fetched.

        Raises:
            ConfigError: the token has not the form of one.
        """
        self._api = BotApi(token=token, api_url=api_url, session=session)
        self._bot_id = self._api.bot_id
        self._max_file_bytes = max_file_bytes
        self._watch = IdentityWatch(self._api, refresh_s=identity_refresh_s)
        self._sender = Sender(self._api, limits if limits is not None else Limits(), call_s=call_s)
        self._intake: Intake | WebhookIntake
        if isinstance(mode, Webhook):
            self._intake = WebhookIntake(self._api, mode, account=self.account, clock=clock)
        else:
            self._intake = Intake(self._api, mode if mode is not None else Polling(), account=self.account, clock=clock)

    def __repr__(self) -> str:
        return f"TelegramChannel({self.account})"

    @property
    def account(self) -> str:
        """``telegram:`` and the bot's id, which its token tells."""
        return f"{facts.PLATFORM}:{self._bot_id}"

    @property
    def repeatable(self) -> bool:
        """Never: what is sent carries no idempotency key."""
        return False

    @property
    def state(self) -> str:
        """State of the intake, for health checks: ``starting``, ``ok``, ``unreachable``, ``conflict`` or ``store``."""
        return self._intake.state

    async def refresh(self) -> None:
        """Ask for the bot's own name now."""
        await self._watch.look()

    async def identified(self) -> None:
        """Return when the bot knows its own name (PART-14)."""
        await self._watch.known()

    async def run(self, accept: Accept) -> None:
        """Take events in; the bot's own name is asked for meanwhile, never before."""
        tasks = {
            asyncio.create_task(self._intake.run(accept), name="telegram intake"),
            asyncio.create_task(self._watch.run(), name="telegram identity"),
        }
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def read(self, stored: Stored) -> Reading:
        """Read the facts; see :mod:`bot.channels.telegram.facts`."""
        arrival = stored.arrival
        identity = self._watch.current
        try:
            update = decode_json(arrival.raw)
        except (ValueError, RecursionError):
            update = None
        if not isinstance(update, dict):
            return facts.malformed(
                {}, key=arrival.key, received_at=arrival.received_at, bot_id=self._bot_id, identity=identity
            )
        reading = facts.read(
            update,
            key=arrival.key,
            received_at=arrival.received_at,
            bot_id=self._bot_id,
            identity=identity,
        )
        if reading.event.mentions_others:
            self._watch.miss()
        return reading

    def material(self, reading: Reading) -> Material:
        """What a request is made of."""
        return material_of(reading)

    @property
    def keyboards(self) -> bool:
        """Buttons under a message can change."""
        return True

    def chat(self, destination: Destination, was: Chat) -> Chat:
        """What it was: nobody can join a private chat here."""
        return was

    async def find(self, destination: Destination, message: str) -> Found | None:
        """Not asked: events tell who wrote what they reply to."""
        return None

    async def quoted(self, reading: Reading) -> ContextItem | None:
        """Nothing beyond what the event carries."""
        return None

    def lane(self, destination: Destination) -> str:
        """One lane a chat."""
        return lane_of(self._bot_id, destination.channel)

    def present(self, speech: Speech, answer: Final, *, to: Reply) -> tuple[Part, ...]:
        """Bring an answer into its final form."""
        return presenting.present(speech, answer, to=to)

    def present_fragment(
        self, text: str, *, to: Reply, streaming: Streaming, stream: str, message: str | None
    ) -> Part | None:
        """A growing answer, as a draft or as an edit."""
        return presenting.present_fragment(text, to=to, streaming=streaming, stream=stream, message=message)

    def present_rest(self, parts: tuple[Part, ...], *, message: str) -> tuple[Part, ...]:
        """The first text of the final parts becomes the final form of the message that has been growing."""
        return payload.final_edit(parts, message)

    def typing(self, *, to: Reply, on: bool) -> Part | None:
        """The typing sign; it ends by itself."""
        return presenting.typing(to) if on else None

    def read_mark(self, *, to: Reply) -> Part | None:
        """Bots have none."""
        return None

    def answer_invite(self, *, to: Reply, accept: bool) -> Part | None:
        """Bots are added, not invited."""
        return None

    def answer_tap(self, tap_id: str, text: str, *, to: Reply) -> Part | None:
        """The end of a button's spinner."""
        return presenting.answer_tap(tap_id, text, to=to)

    def unformatted(self, part: Part) -> Part | None:
        """The same words without entities."""
        return payload.unformatted(part)

    def retarget(self, part: Part, channel: str) -> Part:
        """The same words for the channel's new id."""
        return payload.retargeted(part, channel)

    def turn_s(self, part: Part) -> float:
        """Book the part's turn within the limits of the account."""
        return self._sender.turn_s(part)

    async def deliver(self, part: Part, clearance: Clearance) -> Receipt:
        """Make the one call that the clearance allows."""
        return await self._sender.deliver(part, clearance)

    async def fetch(self, attachment: Attachment, *, limit_bytes: int) -> bytes:
        """Fetch a file; see :meth:`bot.ports.channel.Channel.fetch`."""
        problem: str | None = None
        file: object = None
        limit_bytes = min(limit_bytes, self._max_file_bytes)
        try:
            file = await self._api.call("getFile", {"file_id": attachment.handle})
        except RefusedError as error:
            too_big = "too big" in error.description.lower()
            problem = "the file is larger than Telegram gives to bots" if too_big else "the file can't be had any more"
        except CallError:
            problem = "Telegram can't be reached for the file"
        if problem is not None:
            raise ChannelError(problem)
        path = file.get("file_path") if isinstance(file, dict) else None
        size = file.get("file_size") if isinstance(file, dict) else None
        if not isinstance(path, str):
            raise ChannelError("Telegram gives no path for the file")
        if isinstance(size, int) and size > limit_bytes:
            raise ChannelError("the file is too large")
        return await self._api.download(path, limit_bytes=limit_bytes)

    async def close(self) -> None:
        """Let go of connections."""
        await self._api.close()
