"""HTTP to an agent that may be slow, absent, wrong or hostile (AGENT-5).

Redirects are not followed, TLS is verified, cookies and proxies of the environment are not used, compressed answers
are not accepted, and every wait and every size is bounded.

INVARIANT: an error never carries an address, a header or a body; what aiohttp raises is translated and dropped.

AgentError
├── SlowAgentError     its time is over; also a TimeoutError
├── BrokenAgentError   its answer broke off
└── AbsentAgentError   it can't be reached, or hung up before it said a word
"""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol, TypeVar

import aiohttp
from yarl import URL

from bot.model.errors import AgentError, ConfigError

T = TypeVar("T")

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class SlowAgentError(AgentError, TimeoutError):
    """The agent's time is over."""


class BrokenAgentError(AgentError):
    """The agent's answer broke off."""


class AbsentAgentError(AgentError):
    """The agent can't be reached, or hung up before it said a word."""


class Rests(Protocol):
    """Whose clock stands still while a person is asked (see :class:`bot.ports.agent.Desk`)."""

    @property
    def rested_s(self) -> float:
        """Seconds for which it has stood so far."""
        ...

    def timed(self, limit: asyncio.Timeout) -> AbstractContextManager[None]:
        """A limit that stands with it."""
        ...


class Restless:
    """Nobody is asked: the clock never stands still."""

    rested_s = 0.0

    def timed(self, limit: asyncio.Timeout) -> AbstractContextManager[None]:
        """The limit as it is."""
        return nullcontext()


class Patience:
    """How long one run may wait for its agent; the time in which others use what it said is not counted.

    Args:
        total_s: seconds of waiting in all.
        wait_s: seconds of each single wait.
        desk: of the run; while a person is asked, nobody loses patience.
    """

    def __init__(self, *, total_s: float, wait_s: float, desk: Rests) -> None:
        self.left_s = total_s
        self._wait_s = wait_s
        self._desk = desk

    async def bound(self, work: Awaitable[T]) -> T:
        """Wait for something, as long as there is patience.

        Raises:
            SlowAgentError: it took too long.
            AbsentAgentError: there is nobody.
            AgentError: the answer broke off, or breaks the protocol.
        """
        clock = asyncio.get_running_loop().time
        began, rested_s = clock(), self._desk.rested_s
        fault: AgentError
        try:
            async with asyncio.timeout(min(self._wait_s, max(self.left_s, 0.0))) as limit:
                with self._desk.timed(limit):
                    return await work
        except TimeoutError:
            fault = SlowAgentError("the agent took too long")
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError):
            fault = AgentError("the agent's TLS certificate is not valid")
        except (aiohttp.ClientConnectionError, ConnectionError):
            fault = AbsentAgentError("the agent can't be reached")
        except aiohttp.ClientPayloadError:
            fault = BrokenAgentError("the agent's answer broke off")
        except (aiohttp.ClientError, OSError, ValueError):
            fault = AgentError("the agent does not speak proper HTTP")
        finally:
            self.left_s -= clock() - began - (self._desk.rested_s - rested_s)
        raise fault  # outside of the handler, so that what aiohttp said does not travel along


class Answer:
    """One HTTP answer, read in bounded steps. Whoever got it closes it."""

    def __init__(self, response: aiohttp.ClientResponse, patience: Patience, *, limit: int) -> None:
        self._response = response
        self._patience = patience
        self._left = limit
        self.status: Final = response.status
        self.media_type: Final = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        self.retry_after: Final = response.headers.get("Retry-After", "")

    @property
    def compressed(self) -> bool:
        """Whether it uses an encoding that was not asked for."""
        return self._response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity")

    async def read(self) -> bytes:
        """The next bytes, none at the end.

        Raises:
            AgentError: too slow, too much, broken off.
        """
        chunk = await self._patience.bound(self._response.content.readany())
        self._left -= len(chunk)
        if self._left < 0:
            raise AgentError("the agent's answer is too large")
        return chunk

    async def read_whole(self, *, limit: int) -> bytes:
        """All of it.

        Args:
            limit: bytes.

        Raises:
            AgentError: too slow, too much, broken off.
        """
        whole = bytearray()
        while chunk := await self.read():
            whole += chunk
            if len(whole) > limit:
                raise AgentError("the agent's answer is too large")
        return bytes(whole)

    def close(self) -> None:
        """Drop the connection; what the other side still sends goes nowhere."""
        self._response.close()


class Connection:
    """The way to one agent.

    Args:
        url: http(s); plain http only to this machine, unless ``allow_plain_http``.
        headers: sent with each request; credentials belong here.
        stream_limit: bytes that one answer may have, however it comes.

    Raises:
        ConfigError: the address is none, or names a user, or is plain http to another machine.
    """

    def __init__(
        self,
        *,
        url: str,
        headers: Mapping[str, str] | None = None,
        stream_limit: int,
        allow_plain_http: bool = False,
    ) -> None:
        self._url = checked_url(url, allow_plain_http=allow_plain_http)
        self._headers = {**(headers or {}), "Accept-Encoding": "identity", "Content-Type": "application/json"}
        self._stream_limit = stream_limit
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes, patience: Patience, *, headers: Mapping[str, str] | None = None) -> Answer:
        """Post JSON and wait for the head of the answer.

        Raises:
            AgentError: too slow, not there, a redirect, a compressed answer.
        """
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(force_close=True),  # one kept alive may be dead: a repeat nobody needs
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                trust_env=False,
            )
        response = await patience.bound(
            self._session.post(
                self._url,
                data=body,
                headers={**self._headers, **(headers or {})},
                allow_redirects=False,
            )
        )
        answer = Answer(response, patience, limit=self._stream_limit)
        if 300 <= answer.status < 400:
            answer.close()
            raise AgentError("the agent answered with a redirect, which is not followed")
        if answer.compressed:
            answer.close()
            raise AgentError("the agent compressed its answer, which was not asked for")
        return answer

    async def close(self) -> None:
        """Let go of connections."""
        if self._session is not None:
            await self._session.close()


def checked_url(url: str, *, allow_plain_http: bool) -> URL:
    """The address, if requests may go there.

    Raises:
        ConfigError: it is none, names a user, or is plain http to another machine. The text does not repeat it.
    """
    try:
        found = URL(url)
        fits = found.scheme in ("http", "https") and bool(found.host)
    except ValueError:
        fits, found = False, URL()
    if not fits:
        raise ConfigError("an agent's url must be like https://agent.example.org/answer")
    if found.user is not None or found.password is not None:
        raise ConfigError("an agent's url must not hold a user or password; put credentials where secrets are kept")
    if found.scheme == "http" and found.host not in _LOOPBACK and not allow_plain_http:
        raise ConfigError("an agent's url must be https, unless it is on this machine or plain http is allowed for it")
    return found
