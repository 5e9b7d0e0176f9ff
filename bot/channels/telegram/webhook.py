"""Taking updates in by webhook: the platform calls us, and hears 200 only when the update is durable (DUR-1).

Whatever goes wrong before that is a 500, and the platform comes again. Who calls proves itself by the secret that was
agreed upon when the webhook was set; it is compared in constant time, whatever bytes came.
"""

import asyncio
import contextlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from bot.channels.decoding import decode_json
from bot.channels.telegram.client import BotApi, CallError, RefusedError
from bot.channels.telegram.intake import ALLOWED_UPDATES, arrival_of
from bot.model.errors import ChannelError, ConfigError
from bot.model.inbound import Arrival
from bot.observability.log import HTTP, get_logger
from bot.ports.channel import Accept

if TYPE_CHECKING:
    from aiohttp import web

log = get_logger(__name__)

SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the name of a header
_BODY_MAX_BYTES: Final = 1024 * 1024
_RETRY_FIRST_S: Final = 1.0
_RETRY_LONGEST_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """How the platform reaches us.

    Attributes:
        url: public HTTPS address, whose path ends in ``path``.
        secret: 16 to 256 letters, digits, ``_`` and ``-``.
        host: address to listen at, behind a reverse proxy that speaks TLS.
        port: to listen at; 0 lets the system choose.
        path: where updates are posted.
    """

    url: str
    secret: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = 8443
    path: str = "/telegram"

    def __post_init__(self) -> None:
        allowed = self.secret.isascii() and self.secret.replace("_", "").replace("-", "").isalnum()
        if not (allowed and 16 <= len(self.secret) <= 256):
            raise ConfigError("the secret of the Telegram webhook needs 16 to 256 letters, digits, _ or -")


class WebhookIntake:
    """Listens for the updates of one bot until cancelled.

    Attributes:
        state: ``starting``, ``ok`` or ``unreachable`` (the webhook could not be set yet); for health checks.
        port: where it listens; None before that.
    """

    def __init__(self, api: BotApi, webhook: Webhook, *, account: str, clock: Callable[[], datetime]) -> None:
        self._api = api
        self._webhook = webhook
        self._account = account
        self._clock = clock
        self.state = "starting"
        self.port: int | None = None

    async def run(self, accept: Accept) -> None:
        """Listen, then tell the platform where.

        Raises:
            ChannelError: it can't go on; the text says the mend.
        """
        from aiohttp import web

        server = web.Server(self.handler(accept), access_log=None, logger=HTTP)
        runner = web.ServerRunner(server)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._webhook.host, self._webhook.port)
            await self._listen(site)
            self.port = runner.addresses[0][1]
            await self._announce()
            self.state = "ok"
            await asyncio.get_running_loop().create_future()  # until cancelled
        finally:
            await runner.cleanup()

    def handler(self, accept: Accept) -> Callable[["web.BaseRequest"], Awaitable["web.Response"]]:
        """The handler of calls by the platform."""
        from aiohttp import web

        secret = self._webhook.secret.encode()

        async def take(request: web.BaseRequest) -> web.Response:
            if request.path != self._webhook.path:
                return web.Response(status=404)
            if request.method != "POST":
                return web.Response(status=405)
            claimed = request.headers.get(SECRET_HEADER, "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(claimed, secret):
                log.warning("webhook_wrong_secret")
                return web.Response(status=401)
            body = await _body(request)
            if body is None:
                return web.Response(status=413)
            arrival = self._arrival(body)
            try:
                await accept(self._account, [arrival])
            except Exception as error:  # noqa: BLE001 - whatever the store stumbles over, the platform is to come again
                log.error("intake_not_stored", error=type(error).__name__)
                return web.Response(status=500)
            return web.Response(status=200)

        return take

    def _arrival(self, body: bytes) -> Arrival:
        """A body as an arrival; one that is no JSON is set aside, else the platform would send it again (PART-17)."""
        update: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            update = decode_json(body)
        if not isinstance(update, dict):
            update = body.decode("utf-8", "replace")
        return arrival_of(update, bot_id=self._api.bot_id, received_at=self._clock())

    async def _listen(self, site: "web.TCPSite") -> None:
        problem: str | None = None
        try:
            await site.start()
        except OSError as error:
            problem = error.strerror or type(error).__name__
        if problem is not None:
            raise ChannelError(
                f"can't listen at {self._webhook.host}:{self._webhook.port} for the Telegram webhook: {problem}; "
                "choose another port or stop what uses it",
            )

    async def _announce(self) -> None:
        """Set the webhook; network faults are waited out, a refusal is told."""
        params = {
            "url": self._webhook.url,
            "secret_token": self._webhook.secret,
            "allowed_updates": ALLOWED_UPDATES,
            "drop_pending_updates": False,
        }
        pause_s = _RETRY_FIRST_S
        while True:
            try:
                await self._api.call("setWebhook", params)
            except CallError as error:
                asked_s = _asked_s(error)
                self.state = "unreachable"
                log.warning("webhook_not_set", error=type(error).__name__)
                await asyncio.sleep(pause_s if asked_s is None else asked_s)
                pause_s = min(pause_s * 2, _RETRY_LONGEST_S)
            else:
                return


def _asked_s(error: CallError) -> float | None:
    """Seconds that the platform wants us to wait, if it says so.

    Raises:
        ChannelError: waiting does not help.
    """
    if not isinstance(error, RefusedError) or error.code >= 500:
        return None
    if error.code == 429:
        return error.retry_after_s
    if error.code == 400:
        raise ChannelError(
            "Telegram refuses the address of the webhook; it must be public, https, on port 443, 80, 88 or 8443",
        )
    raise ChannelError(
        f"Telegram does not accept the token ({error.code}); get the current one from @BotFather"
    ) from None


async def _body(request: "web.BaseRequest") -> bytes | None:
    """The body, None if it is larger than any update."""
    body = bytearray()
    async for chunk in request.content.iter_chunked(64 * 1024):
        body += chunk
        if len(body) > _BODY_MAX_BYTES:
            return None
    return bytes(body)
