"""A narrow client of the Matrix client-server API: one call, its answer, and the ways in which it can fail.

INVARIANT: no error of this module holds a body, a token, an address or an aiohttp error, not even as its context:
errors are raised outside of ``except``. No redirect is followed, so the token goes to the homeserver and nowhere else.

CallError                the call has not succeeded
├── RefusedError         the server answered that it did not do it (or one of its front servers failed)
└── NoAnswerError        no answer could be read; ``sent`` says whether the request may have arrived

Nothing is repeated and no pause is slept here: a caller that is told to wait decides itself what waits.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
import orjson
from yarl import URL

from bot.channels.decoding import decode_json
from bot.model.errors import ChannelError, DiscreetError

NewSession = Callable[[], aiohttp.ClientSession]

_V3: Final = "/_matrix/client/v3/"
_MXC: Final = re.compile(r"mxc://(?P<server>[A-Za-z0-9.:\[\]-]{1,255})/(?P<media>[A-Za-z0-9_.~=-]{1,255})")
_ERRCODE: Final = re.compile(r"[A-Za-z0-9_.]{1,64}")
_TOKEN: Final = re.compile(r"[\x21-\x7e]{1,4096}")
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]{1,100}/[A-Za-z0-9.+_-]{1,100}")
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_DOTS: Final = (".", "..")
_ANSWER_BYTES: Final = 64 * 1024 * 1024
_SYNC_BYTES: Final = 512 * 1024 * 1024  # all members of all rooms, at the first start
_REFUSAL_BYTES: Final = 256 * 1024
_CHUNK_BYTES: Final = 64 * 1024
_PART_CHARS: Final = 1024
_NAME_CHARS: Final = 200
_CONNECT_S: Final = 10.0
_WEEK_S: Final = 7 * 86_400.0
_NEVER_MS: Final = 1e15
_REDIRECTS: Final = 5
_REDIRECTING: Final = frozenset((301, 302, 303, 307, 308))
_LOOK_UP: Final = "LOOK_UP"


class Endpoint(Enum):
    """What may be called: HTTP method and path; each ``{}`` is one part.

    Attributes:
        method: of HTTP.
        path: with a ``{}`` for each part.
    """

    WHOAMI = ("GET", _V3 + "account/whoami")
    LOGIN = ("POST", _V3 + "login")
    LOGIN_FLOWS = ("GET", _V3 + "login")
    LOGOUT = ("POST", _V3 + "logout")
    VERSIONS = ("GET", "/_matrix/client/versions")
    SYNC = ("GET", _V3 + "sync")
    MESSAGES = ("GET", _V3 + "rooms/{}/messages")
    EVENT = ("GET", _V3 + "rooms/{}/event/{}")
    STATE = ("GET", _V3 + "rooms/{}/state/{}/{}")
    FULL_STATE = ("GET", _V3 + "rooms/{}/state")
    JOINED_MEMBERS = ("GET", _V3 + "rooms/{}/joined_members")
    JOINED_ROOMS = ("GET", _V3 + "joined_rooms")
    FILTER = ("POST", _V3 + "user/{}/filter")
    KEYS_UPLOAD = ("POST", _V3 + "keys/upload")
    KEYS_QUERY = ("POST", _V3 + "keys/query")
    KEYS_CLAIM = ("POST", _V3 + "keys/claim")
    SIGNING_UPLOAD = ("POST", _V3 + "keys/device_signing/upload")
    SIGNATURES_UPLOAD = ("POST", _V3 + "keys/signatures/upload")
    TO_DEVICE = ("PUT", _V3 + "sendToDevice/{}/{}")
    DEVICES = ("GET", _V3 + "devices")
    MEDIA_CONFIG = ("GET", "/_matrix/client/v1/media/config")
    MEDIA_DOWNLOAD = ("GET", "/_matrix/client/v1/media/download/{}/{}")
    PROFILE = ("GET", _V3 + "profile/{}")
    # These reach people (OUT-1): sending.py alone may use them, with a clearance.
    SEND = ("PUT", _V3 + "rooms/{}/send/{}/{}")
    TYPING = ("PUT", _V3 + "rooms/{}/typing/{}")
    RECEIPT = ("POST", _V3 + "rooms/{}/receipt/{}/{}")
    JOIN = ("POST", _V3 + "join/{}")
    LEAVE = ("POST", _V3 + "rooms/{}/leave")
    UPLOAD = ("POST", "/_matrix/media/v3/upload")

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path


class CallError(DiscreetError):
    """A call that has not succeeded.

    Attributes:
        name: of the endpoint.
    """

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name}: {what}")
        self.name = name


class RefusedError(CallError):
    """The server's answer is no (or, from 300 on, is somewhere else).

    Attributes:
        status: of HTTP.
        errcode: such as ``M_FORBIDDEN``; empty where the answer has none.
        retry_after_s: seconds to wait, where the server says so; at most a week.
        soft_logout: the token is no longer good, the device still is.
        body: the whole answer, as hostile as any other; for the stages of a login. Never shown.
    """

    def __init__(
        self,
        name: str,
        status: int,
        errcode: str = "",
        *,
        retry_after_s: float | None = None,
        soft_logout: bool = False,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, f"refused with {status} {errcode}".rstrip())
        self.status = status
        self.errcode = errcode
        self.retry_after_s = retry_after_s
        self.soft_logout = soft_logout
        self.body: dict[str, Any] = dict(body or {})


class NoAnswerError(CallError):
    """No answer that can be read.

    Attributes:
        sent: False: no connection, the request certainly did not arrive. True: nobody knows what became of it.
        code: ``connection``, ``timeout``, ``disconnected``, ``too_large`` or ``not_understood``.
    """

    def __init__(self, name: str, code: str, *, sent: bool) -> None:
        super().__init__(name, f"no answer ({code})")
        self.code = code
        self.sent = sent


def new_session() -> aiohttp.ClientSession:
    """A session as the client wants it; needs a running loop."""
    connector = aiohttp.TCPConnector(limit=128, ttl_dns_cache=300)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True)


def homeserver_url(text: str) -> str:
    """The address of a homeserver in its one form, without a slash at the end.

    Raises:
        ChannelError: it is no such address.
    """
    url = None
    with contextlib.suppress(ValueError):
        url = URL(text.strip())
    if url is None or url.scheme not in ("http", "https") or not url.host or url.query_string or url.fragment:
        raise ChannelError("this is no address of a homeserver; write it like https://matrix.example.org")
    if url.user is not None or url.password is not None:
        raise ChannelError("the address of the homeserver holds a name or a password; leave it out")
    return str(url).rstrip("/")


class MatrixApi:
    """Calls of one account."""

    def __init__(self, *, homeserver: str, token: str | None = None, session: NewSession = new_session) -> None:
        """Make a client that connects at its first call.

        Args:
            homeserver: such as ``https://matrix.example.org``.
            token: None for the calls that need none.
            session: makes the session at the first call.

        Raises:
            ChannelError: the address or the token can't be one.
        """
        self._homeserver = homeserver_url(homeserver)
        self._new_session = session
        self._session: aiohttp.ClientSession | None = None
        self._authorization: dict[str, str] = {}
        self.use(token)

    def __repr__(self) -> str:
        return f"MatrixApi({self._homeserver})"

    @property
    def homeserver(self) -> str:
        """Its address, without a slash at the end."""
        return self._homeserver

    def use(self, token: str | None) -> None:
        """Make the next calls with another token.

        Raises:
            ChannelError: it can't be one.
        """
        if token is not None and _TOKEN.fullmatch(token) is None:
            raise ChannelError("this is no access token; copy it again, or run `discreet matrix login`")
        self._authorization = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def call(
        self,
        endpoint: Endpoint,
        *parts: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
    ) -> dict[str, Any]:
        """Make one call.

        Args:
            endpoint: which.
            parts: one for each ``{}`` of its path; quoted here. What can't be a part is refused without a call.
            body: a JSON object; None is ``{}`` where the method has a body.
            query: plain values.
            timeout_s: seconds for the whole call.

        Returns:
            The answer. Its texts may hold lone surrogates, its numbers may be of any size.

        Raises:
            RefusedError: the server says no.
            NoAnswerError: no answer.
        """
        url = self._url(endpoint, parts, query)
        data = None if endpoint.method == "GET" else _encode(body or {})
        return await self._ask(endpoint, url, data, "application/json", timeout_s)

    async def upload(self, content: bytes, *, media_type: str, name: str | None, timeout_s: float = 120.0) -> str:
        """Put a file into the server's media store, where it reaches nobody until a message names it.

        Returns:
            Its ``mxc://`` address.

        Raises:
            RefusedError: the server says no.
            NoAnswerError: no answer.
        """
        known = media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
        url = self._url(Endpoint.UPLOAD, (), None if name is None else {"filename": name[:_NAME_CHARS]})
        answer = await self._ask(Endpoint.UPLOAD, url, content, known, timeout_s)
        address = answer.get("content_uri")
        if not isinstance(address, str) or _MXC.fullmatch(address) is None:
            raise NoAnswerError(Endpoint.UPLOAD.name, "not_understood", sent=True)
        return address

    async def download(self, mxc: str, *, limit_bytes: int, timeout_s: float = 120.0) -> bytes:
        """Fetch a file.

        Raises:
            ChannelError: it can't be had or is larger than ``limit_bytes``.
        """
        found = _MXC.fullmatch(mxc)
        if found is None or {found["server"], found["media"]} & set(_DOTS):
            raise ChannelError("download: this is no address of a file")
        url = self._url(Endpoint.MEDIA_DOWNLOAD, (found["server"], found["media"]), None)
        content, problem, lost = await self._fetched(url, limit_bytes, timeout_s)
        if lost:  # once more: reading a file twice does no harm
            content, problem, _ = await self._fetched(url, limit_bytes, timeout_s)
        if content is None:
            raise ChannelError(f"download: {problem}")
        return content

    async def _fetched(self, url: URL, limit_bytes: int, timeout_s: float) -> tuple[bytes | None, str, bool]:
        """One try: the content, else what was wrong and whether it was the connection."""
        try:
            async with self._open().get(
                url, headers=self._authorization, timeout=_limits(timeout_s), allow_redirects=False
            ) as response:
                if response.status != HTTPStatus.OK:
                    return None, f"refused with {response.status}", False
                if (response.content_length or 0) > limit_bytes:
                    return None, "the file is too large", False
                return await _read(response, limit_bytes), "the file is too large", False
        except TimeoutError:
            return None, "the connection failed", False
        except (aiohttp.ClientError, OSError):
            return None, "the connection failed", True

    async def close(self) -> None:
        """Let go of connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # transports close in the next turn of the loop

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = self._new_session()
        return self._session

    def _url(self, endpoint: Endpoint, parts: tuple[str, ...], query: Mapping[str, str] | None) -> URL:
        if endpoint.path.count("{}") != len(parts):
            raise ValueError(f"{endpoint.name} has another number of parts")
        # An id out of somebody's message must not become another path, nor a request that no server reads.
        if any(part in _DOTS or len(part) > _PART_CHARS or not _writable(part) for part in parts):
            raise RefusedError(endpoint.name, HTTPStatus.BAD_REQUEST, "M_INVALID_PARAM")
        path = endpoint.path.format(*(quote(part, safe="") for part in parts))
        tail = "?" + urlencode(query, errors="replace", quote_via=quote) if query else ""
        return URL(self._homeserver + path + tail, encoded=True)

    async def _ask(
        self, endpoint: Endpoint, url: URL, data: bytes | None, media_type: str, timeout_s: float
    ) -> dict[str, Any]:
        headers = self._authorization if data is None else {**self._authorization, "Content-Type": media_type}
        answer = await _exchange(self._open(), endpoint.method, url, endpoint.name, headers, data, timeout_s)
        return _object(endpoint.name, answer)


async def look_up(url: str, *, session: NewSession = new_session, timeout_s: float = 15.0) -> dict[str, Any]:
    """Fetch a JSON object that is open to everybody. Redirects are followed, to https alone.

    Args:
        url: where.
        session: makes a session for this one look.
        timeout_s: seconds for each step.

    Raises:
        RefusedError: there is none.
        NoAnswerError: no answer.
    """
    target = URL(url)
    async with session() as opened:
        answer = await _exchange(opened, "GET", target, _LOOK_UP, {}, None, timeout_s)
        for _ in range(_REDIRECTS):
            following = _following(target, answer)
            if following is None:
                break
            target = following
            answer = await _exchange(opened, "GET", target, _LOOK_UP, {}, None, timeout_s)
    return _object(_LOOK_UP, answer)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    """What came back: ``raw`` is None where it is larger than anything that we read."""

    status: int
    raw: bytes | None = field(repr=False)
    retry_after: str
    location: str = field(repr=False)


async def _exchange(
    session: aiohttp.ClientSession,
    method: str,
    url: URL,
    name: str,
    headers: Mapping[str, str],
    data: bytes | None,
    timeout_s: float,
) -> _Answer:
    """One request and all of its answer.

    Raises:
        NoAnswerError: there was none.
    """
    try:
        async with session.request(
            method, url, headers=headers, data=data, timeout=_limits(timeout_s), allow_redirects=False
        ) as response:
            most = _SYNC_BYTES if name == Endpoint.SYNC.name else _ANSWER_BYTES
            limit = most if response.status < HTTPStatus.MULTIPLE_CHOICES else _REFUSAL_BYTES
            return _Answer(
                status=response.status,
                raw=await _read(response, limit),
                retry_after=response.headers.get("Retry-After", ""),
                location=response.headers.get("Location", ""),
            )
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL, UnicodeError):
        failure = NoAnswerError(name, "connection", sent=False)
    except TimeoutError:
        failure = NoAnswerError(name, "timeout", sent=True)
    except (aiohttp.ClientError, OSError):
        failure = NoAnswerError(name, "disconnected", sent=True)
    raise failure


async def _read(response: aiohttp.ClientResponse, limit_bytes: int) -> bytes | None:
    """All of the body, or None as soon as it is larger than the limit."""
    content = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
        content += chunk
        if len(content) > limit_bytes:
            return None
    return bytes(content)


def _object(name: str, answer: _Answer) -> dict[str, Any]:
    body: Any = None
    if answer.raw is not None:
        with contextlib.suppress(ValueError, RecursionError):
            body = decode_json(answer.raw)
    if answer.status < HTTPStatus.MULTIPLE_CHOICES:
        if isinstance(body, dict):
            return body
        raise NoAnswerError(name, "too_large" if answer.raw is None else "not_understood", sent=True)
    body = body if isinstance(body, dict) else {}  # a front server speaks, without JSON
    errcode = body.get("errcode")
    raise RefusedError(
        name,
        answer.status,
        errcode if isinstance(errcode, str) and _ERRCODE.fullmatch(errcode) else "",
        retry_after_s=_pause_s(body.get("retry_after_ms"), answer.retry_after),
        soft_logout=body.get("soft_logout") is True,
        body=body,
    )


def _following(target: URL, answer: _Answer) -> URL | None:
    if answer.status not in _REDIRECTING or not answer.location:
        return None
    with contextlib.suppress(ValueError):
        url = target.join(URL(answer.location))
        if url.scheme == "https" and url.host:
            return url
    return None


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # a lone surrogate, a huge number: the server shall judge it
        return json.dumps(body).encode()


def _pause_s(retry_after_ms: Any, retry_after: str) -> float | None:
    """A pause that the server asks for, at most a week; what can't be one counts as none."""
    if type(retry_after_ms) in (int, float) and 0 <= retry_after_ms < _NEVER_MS:
        return min(float(retry_after_ms) / 1000, _WEEK_S)
    return min(float(retry_after), _WEEK_S) if _SECONDS.fullmatch(retry_after) else None


def _limits(timeout_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=timeout_s, connect=min(_CONNECT_S, timeout_s))


def _writable(part: str) -> bool:
    try:
        part.encode()
    except UnicodeEncodeError:
        return False
    return True
