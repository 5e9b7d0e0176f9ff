"""A narrow client of the Bot API: one call, its answer, and the three ways in which it can fail.

The token is a part of every address, and aiohttp puts addresses into its errors. INVARIANT: no error and no log line of
this module holds an address or an aiohttp error, not even as its context: errors are raised outside of ``except``.

CallError                the call has not succeeded
├── RefusedError         the platform answered that it did not do it (or one of its front servers failed)
├── NotSentError         no connection could be made: it certainly did not happen
└── NoAnswerError        the request was written and no answer could be read: nobody knows
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from bot.channels.decoding import decode_json
from bot.model.errors import ChannelError, ConfigError
from bot.model.output import OutFile

Params = Mapping[str, Any]

_TOKEN: Final = re.compile(r"(?P<bot_id>[1-9]\d{0,18}):[A-Za-z0-9_-]{1,128}")
_JSON: Final = {"Content-Type": "application/json"}
_CHUNK_BYTES: Final = 64 * 1024
_CONNECT_S: Final = 10.0
_WEEK_S: Final = 7 * 86_400.0
_NEVER_S: Final = 1e12


class CallError(ChannelError):
    """A call that has not succeeded.

    Attributes:
        method: of the Bot API.
    """

    def __init__(self, method: str, what: str) -> None:
        super().__init__(f"{method}: {what}")
        self.method = method


class RefusedError(CallError):
    """The platform's answer is no.

    Attributes:
        code: ``error_code``, else the HTTP status.
        description: the platform's sentence, for matching alone; it may repeat pieces of a message and is never shown.
        retry_after_s: seconds to wait, where the platform says so.
        migrate_to: id of the supergroup that a group has become, where the platform says so.
    """

    def __init__(
        self,
        method: str,
        code: int,
        description: str = "",
        *,
        retry_after_s: float | None = None,
        migrate_to: int | None = None,
    ) -> None:
        super().__init__(method, f"refused with {code}")
        self.code = code
        self.description = description
        self.retry_after_s = retry_after_s
        self.migrate_to = migrate_to


class NotSentError(CallError):
    """No connection: the call certainly did not happen."""


class NoAnswerError(CallError):
    """The request was written; whether it was carried out is unknown.

    Attributes:
        code: ``timeout`` or ``disconnected``.
    """

    def __init__(self, method: str, code: str) -> None:
        super().__init__(method, f"no answer ({code})")
        self.code = code


def bot_id_of(token: str) -> int:
    """The bot's own id, which is the part of its token that is no secret.

    Raises:
        ConfigError: the text is no token.
    """
    found = _TOKEN.fullmatch(token)
    if found is None:
        raise ConfigError("the Telegram token is not of the form 123456:ABC-...; copy it again from @BotFather")
    return int(found["bot_id"])


def new_session() -> aiohttp.ClientSession:
    """A session as the client wants it; needs a running loop."""
    connector = aiohttp.TCPConnector(limit=128, ttl_dns_cache=300)
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True)


class BotApi:
    """Calls of one bot."""

    def __init__(
        self,
        *,
        token: str,
        api_url: str,
        session: Callable[[], aiohttp.ClientSession] = new_session,
    ) -> None:
        """Args: api_url: such as ``https://api.telegram.org``. session: makes the session at the first call."""
        self.bot_id = bot_id_of(token)
        base = api_url.rstrip("/")
        self._methods = f"{base}/bot{token}/"
        self._files = f"{base}/file/bot{token}/"
        self._urls: dict[str, URL] = {}
        self._new_session = session
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"BotApi(bot_id={self.bot_id})"

    async def call(
        self,
        method: str,
        params: Params,
        *,
        files: Sequence[OutFile] = (),
        timeout_s: float = 30.0,
    ) -> Any:
        """Make one call.

        Args:
            method: of the Bot API.
            params: plain values; structures are passed as they are.
            files: contents; the params name them ``attach://0``, ``attach://1``, ...
            timeout_s: seconds for the whole call.

        Returns:
            ``result`` of the answer.

        Raises:
            RefusedError: the platform says no.
            NotSentError: no connection.
            NoAnswerError: no answer.
        """
        body = _multipart(params, files) if files else orjson.dumps(params)
        limits = aiohttp.ClientTimeout(total=timeout_s, connect=min(_CONNECT_S, timeout_s))
        failure: CallError
        try:
            async with self._open().post(
                self._url(method),
                data=body,
                headers=None if files else _JSON,
                timeout=limits,
                allow_redirects=False,
            ) as response:
                raw = await response.read()
                status = response.status
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            failure = NotSentError(method, "no connection")
        except TimeoutError:
            failure = NoAnswerError(method, "timeout")
        except (aiohttp.ClientError, OSError):
            failure = NoAnswerError(method, "disconnected")
        else:
            return _result(method, status, raw)
        raise failure

    async def download(self, path: str, *, limit_bytes: int, timeout_s: float = 120.0) -> bytes:
        """Fetch a file by the path that getFile gave.

        Raises:
            ChannelError: it can't be had or is larger than ``limit_bytes``.
        """
        if path.startswith("/") or ".." in path.split("/"):
            raise ChannelError("download: the server gives a path that is none of ours")
        content = bytearray()
        problem: str | None = None
        try:
            async with self._open().get(
                URL(self._files) / path,
                timeout=aiohttp.ClientTimeout(total=timeout_s, connect=_CONNECT_S),
                allow_redirects=False,
            ) as response:
                if response.status != HTTPStatus.OK:
                    problem = f"download: refused with {response.status}"
                else:
                    async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                        content += chunk
                        if len(content) > limit_bytes:
                            problem = "download: the file is too large"
                            break
        except (TimeoutError, aiohttp.ClientError, OSError):
            problem = "download: the connection failed"
        if problem is not None:
            raise ChannelError(problem)
        return bytes(content)

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

    def _url(self, method: str) -> URL:
        url = self._urls.get(method)
        if url is None:
            url = self._urls[method] = URL(self._methods + method)
        return url


def _result(method: str, status: int, raw: bytes) -> Any:
    answer = None
    with contextlib.suppress(ValueError, RecursionError):
        answer = decode_json(raw)
    if isinstance(answer, dict):
        if answer.get("ok") is True and "result" in answer:
            return answer["result"]
        if answer.get("ok") is False:
            code, description, hints = answer.get("error_code"), answer.get("description"), answer.get("parameters")
            hints = hints if isinstance(hints, dict) else {}
            retry_after, migrate_to = hints.get("retry_after"), hints.get("migrate_to_chat_id")
            raise RefusedError(
                method,
                code if isinstance(code, int) else status,
                description if isinstance(description, str) else "",
                retry_after_s=_seconds(retry_after),
                migrate_to=migrate_to if isinstance(migrate_to, int) else None,
            )
    if status >= HTTPStatus.BAD_REQUEST:
        raise RefusedError(method, status)  # a front server speaks, without JSON
    raise NoAnswerError(method, "disconnected")  # "all is well", cut short or by somebody else


def _seconds(value: Any) -> float | None:
    """A pause that the platform asks for, at most a week; what can't be one counts as none."""
    if type(value) not in (int, float) or not 0 <= value < _NEVER_S:
        return None
    return min(float(value), _WEEK_S)


def _multipart(params: Params, files: Sequence[OutFile]) -> aiohttp.FormData:
    form = aiohttp.FormData(quote_fields=False)
    for name, value in params.items():
        form.add_field(name, value if isinstance(value, str) else orjson.dumps(value).decode())
    for index, file in enumerate(files):
        kind = _media_type(file.media_type)
        form.add_field(str(index), file.content, filename=_file_name(file.name), content_type=kind)
    return form


def _file_name(name: str) -> str:
    """A name that can stand in a header: no quotes, no line ends, no paths."""
    clean = re.sub(r'[\x00-\x1f\x7f"\\/]', "_", name.encode("utf-8", "replace").decode()).strip()
    return clean[:200] or "file"


def _media_type(media_type: str) -> str:
    return media_type if re.fullmatch(r"[\w.+-]+/[\w.+-]+", media_type) else "application/octet-stream"
