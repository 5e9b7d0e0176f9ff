"""The room of callbacks: asked for, waited for, told until somebody takes it.

    arm -> waiting --its subject has ended--> due --2xx--> delivered
                                              |__ again after 5 s, 1 min, ... ; in the end failed: polling remains

INVARIANT: what is to be told is stored before it is sent, under one id. Whatever a crash cuts off is sent again under
that id; a receiver that takes it twice can know. An address is looked at again before each attempt: one that the admin
has taken out of the configuration is not called any more.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from yarl import URL

from bot.callbacks.addresses import allowed
from bot.callbacks.signing import SCHEMES, Scheme, SecretError, sign_standard
from bot.config.secret import Secret
from bot.config.settings import CallbackAddress
from bot.model.callback import Callback, CallbackState
from bot.model.errors import CallbackError, ConfigError, StoreError
from bot.observability.log import get_logger
from bot.ports.callbacks import CallbackStore, GoneError, Teller

log = get_logger(__name__)

LOOK_EVERY_S: Final = 1.0
AT_ONCE: Final = 4
"""Attempts of one agent that are under way: a receiver that hangs holds up its own agent alone."""
MAX_OPEN: Final = 500
"""Callbacks of one agent that wait or are being told."""
_MARGIN: Final = timedelta(seconds=5)
"""After the time of an attempt: when it is taken for lost."""
_GONE: Final = 410


class Posts(Protocol):
    """Posts (see :class:`bot.callbacks.posting.Poster`)."""

    async def post(
        self, url: URL, body: bytes, headers: Mapping[str, str], *, timeout_s: float, allow_private: bool
    ) -> tuple[int, bytes] | None:
        """Status and the beginning of the answer; None: there was no answer."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class CallbackRoom:
    """See :class:`bot.ports.callbacks.Callbacks`."""

    def __init__(
        self,
        *,
        store: CallbackStore,
        addresses: Sequence[CallbackAddress],
        poster: Posts,
        clock: Callable[[], datetime],
        schemes: Mapping[str, Scheme] = SCHEMES,
    ) -> None:
        """Make the room; nothing is read before a call.

        Args:
            store: where callbacks are kept.
            addresses: that may be called.
            poster: calls them.
            clock: gives aware times.
            schemes: by name.

        Raises:
            ConfigError: a secret of the configuration can't sign.
        """
        try:
            for entry in addresses:
                sign_standard("check", 0, b"", entry.secrets)
        except SecretError as error:
            raise ConfigError(f"api.callbacks: {error}") from None
        self._store = store
        self._addresses = tuple(addresses)
        self._poster = poster
        self._clock = clock
        self._schemes = schemes
        self._tellers: dict[str, Teller] = {}
        self._under_way: Counter[str] = Counter()
        self._sending: set[asyncio.Task[None]] = set()
        self._broken: set[str] = set()
        self._woken = asyncio.Event()

    def take(self, kind: str, teller: Teller) -> None:
        """What ends under this name is told by this teller; it is taken before the room runs."""
        self._tellers[kind] = teller

    # asking for one

    def check(self, url: str, *, agent: str, secret: Secret | None = None, scheme: str = "standard") -> None:
        """See :meth:`bot.ports.callbacks.Callbacks.check`."""
        self._signed(url, "check", b"", agent=agent, secret=secret, scheme=self._schemes[scheme])

    async def arm(
        self,
        *,
        agent: str,
        kind: str,
        subject: str,
        url: str,
        secret: Secret | None = None,
        scheme: str = "standard",
    ) -> Callback:
        """See :meth:`bot.ports.callbacks.Callbacks.arm`."""
        self.check(url, agent=agent, secret=secret, scheme=scheme)
        if await self._store.of(kind, subject) is None and await self._store.open(agent) >= MAX_OPEN:
            raise CallbackError("too_many_open", f"{MAX_OPEN} callbacks of yours are open")
        callback = await self._store.put(
            Callback(
                id=uuid.uuid4().hex,
                agent=agent,
                kind=kind,
                subject=subject,
                url=url,
                scheme=scheme,
                secret=secret,
                made_at=self._clock(),
            )
        )
        self._woken.set()
        return callback

    async def of(self, kind: str, subject: str) -> Callback | None:
        """See :meth:`bot.ports.callbacks.Callbacks.of`."""
        return await self._store.of(kind, subject)

    async def ask(
        self, url: str, body: bytes, *, message: str, agent: str, secret: Secret | None = None, scheme: str = "standard"
    ) -> bytes | None:
        """See :meth:`bot.ports.callbacks.Callbacks.ask`."""
        way = self._schemes[scheme]
        target, entry, headers = self._signed(url, message, body, agent=agent, secret=secret, scheme=way)
        answer = await self._poster.post(
            target, body, headers, timeout_s=way.timeout_s, allow_private=entry.allow_private
        )
        return answer[1] if answer is not None and answer[0] == 200 else None

    # telling

    async def run(self) -> None:
        """Tell what has ended, until cancelled; a store that fails for a while is asked again."""
        failing = False
        try:
            while True:
                self._woken.clear()
                try:
                    await self.look()
                    failing = False
                except StoreError as error:
                    if not failing:
                        log.error("callbacks_not_looked_at", error=type(error).__name__)
                    failing = True
                try:
                    async with asyncio.timeout(LOOK_EVERY_S):
                        await self._woken.wait()
                except TimeoutError:
                    continue
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)
            await self._poster.close()

    async def look(self) -> None:
        """Once: see what has ended, and begin the attempts whose time has come."""
        for callback in await self._store.waiting():
            await self._see(callback)
        now = self._clock()
        for callback in await self._store.due(now=now, each=AT_ONCE):
            scheme = self._schemes.get(callback.scheme)
            if scheme is None:
                await self._close(callback, CallbackState.FAILED)
                continue
            if self._under_way[callback.agent] >= AT_ONCE:
                continue
            if await self._store.begin(callback, until=now + timedelta(seconds=scheme.timeout_s) + _MARGIN):
                self._under_way[callback.agent] += 1
                task = asyncio.create_task(self._attempt(callback, scheme), name="callback")
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def idle(self) -> None:
        """Return when no attempt is under way."""
        while self._sending:
            await asyncio.wait(set(self._sending))

    async def _see(self, callback: Callback) -> None:
        """A fault with one of them is not to hold up the others."""
        teller = self._tellers.get(callback.kind)
        if teller is None:
            return
        try:
            body = await teller(callback)
        except GoneError:
            await self._close(callback, CallbackState.VOID)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - told once
            if callback.id not in self._broken:
                self._broken.add(callback.id)
                log.error("callback_not_made", kind=callback.kind, error=type(error).__name__)
        else:
            if body is not None:
                await self._store.ended(callback, body, now=self._clock())

    async def _attempt(self, callback: Callback, scheme: Scheme) -> None:
        try:
            status = await self._post(callback, scheme)
            if status is not None and 200 <= status < 300:
                await self._close(callback, CallbackState.DELIVERED)
            elif status in (0, _GONE) or callback.attempts >= len(scheme.again_after_s):
                log.warning("callback_failed", kind=callback.kind, status=status, attempts=callback.attempts + 1)
                await self._close(callback, CallbackState.FAILED)
            else:
                after = timedelta(seconds=scheme.again_after_s[callback.attempts])
                await self._store.again(callback, at=self._clock() + after)
        except StoreError as error:
            log.error("callback_not_noted", error=type(error).__name__)  # it is sent again when its time is over
        finally:
            self._under_way[callback.agent] -= 1
            self._woken.set()

    async def _post(self, callback: Callback, scheme: Scheme) -> int | None:
        """The status; None: no answer; 0: it may not be called any more."""
        body = callback.body or b""
        try:
            url, entry, headers = self._signed(
                callback.url, callback.id, body, agent=callback.agent, secret=callback.secret, scheme=scheme
            )
        except CallbackError:
            return 0
        answer = await self._poster.post(
            url, body, headers, timeout_s=scheme.timeout_s, allow_private=entry.allow_private
        )
        return None if answer is None else answer[0]

    async def _close(self, callback: Callback, state: CallbackState) -> None:
        await self._store.close(callback, state, now=self._clock())

    def _signed(
        self, url: str, message: str, body: bytes, *, agent: str, secret: Secret | None, scheme: Scheme
    ) -> tuple[URL, CallbackAddress, Mapping[str, str]]:
        target, entry = allowed(url, self._addresses, agent=agent)
        secrets = entry.secrets if secret is None else (secret,)
        if not secrets:
            raise CallbackError(
                "callback", "there is no secret to sign with: the address has none in the configuration"
            )
        try:
            headers = scheme.sign(message, int(self._clock().timestamp()), body, secrets)
        except SecretError as error:
            raise CallbackError("callback", str(error)) from None
        return target, entry, headers
