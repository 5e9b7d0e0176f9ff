"""How agents are answered over HTTP: JSON always, errors with a code and a sentence, bodies read strictly and bounded.

INVARIANT: no body, key or answer is logged, and no error quotes one.
"""

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from aiohttp import web

from bot.observability.log import get_logger

log = get_logger(__name__)

MAX_BODY: Final = 64 << 10  # bytes
MAX_DEPTH: Final = 64
"""Of nested objects and lists in a body; what it carries may have narrower limits of its own."""
MAX_KEY: Final = 200
MAX_URL: Final = 2_000
READ_WITHIN_S: Final = 10.0
LONGEST_WAIT_S: Final = 60.0

_WAIT: Final = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>ms|s|m)?")
_UNITS: Final[Mapping[str | None, float]] = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_STRANGER: Final = 401
_PLAIN: Final[Mapping[int, tuple[str, str]]] = {
    404: ("unknown", "there is nothing at this address"),
    405: ("not_allowed", "this can't be done here"),
    413: ("too_large", f"a body has at most {MAX_BODY} bytes"),
}


class RefusedError(Exception):
    """The answer is an error: HTTP status, a code, a sentence, and problems as (JSON pointer, code, detail)."""

    def __init__(
        self, status: int, code: str, text: str, *, problems: Sequence[tuple[str, str, str]] = (), after_s: float = 0.0
    ) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.text = text
        self.problems = tuple(problems)
        self.after_s = after_s


class Reading:
    """Takes the fields of a posted object one by one, and notes what is wrong with each."""

    def __init__(self, document: Mapping[str, Any], known: frozenset[str]) -> None:
        """Args: known: names of fields; another one is wrong."""
        self.document = document
        self.problems: list[tuple[str, str, str]] = []
        for name in sorted(document.keys() - known):
            self.wrong(pointer(name), "unknown_field", "")

    def done(self) -> None:
        """Nothing more is read.

        Raises:
            RefusedError: something is wrong; every field that is, is named.
        """
        if self.problems:
            raise RefusedError(422, "invalid", "some fields can't be taken", problems=self.problems)

    def wrong(self, path: str, code: str, detail: str) -> None:
        """Note what is wrong at a JSON pointer."""
        self.problems.append((path, code, detail))

    def required(self, *names: str) -> None:
        """Fields that have to be there."""
        for name in names:
            if name not in self.document:
                self.wrong(f"/{name}", "missing", "")

    def text(self, name: str, *, longest: int | None = None, blank: bool = False) -> str:
        """A text; empty where the field is not there.

        Args:
            name: of the field.
            longest: characters at most.
            blank: it may be empty.
        """
        value = self.document.get(name, "")
        if not isinstance(value, str):
            self.wrong(f"/{name}", "wrong_type", "a text")
            return ""
        too_long = longest is not None and len(value) > longest
        if name in self.document and (too_long or not (value or blank)):
            least = 0 if blank else 1
            self.wrong(f"/{name}", "wrong_length", "" if longest is None else f"from {least} to {longest} characters")
        return value

    def whole(self, name: str, otherwise: int) -> int:
        """A whole number."""
        value = self.document.get(name, otherwise)
        if type(value) is not int:
            self.wrong(f"/{name}", "wrong_type", "a whole number")
            return otherwise
        return value

    def flag(self, name: str, *, otherwise: bool) -> bool:
        """True or false."""
        value = self.document.get(name, otherwise)
        if type(value) is not bool:
            self.wrong(f"/{name}", "wrong_type", "true or false")
            return otherwise
        return value

    def maybe(self, name: str) -> bool | None:
        """True, false or null."""
        value = self.document.get(name)
        if value is not None and type(value) is not bool:
            self.wrong(f"/{name}", "wrong_type", "true, false or null")
            return None
        return value

    def object(self, name: str, what: str = "an object") -> dict[str, Any]:
        """An object."""
        value = self.document.get(name, {})
        if not isinstance(value, dict):
            self.wrong(f"/{name}", "wrong_type", what)
            return {}
        return value

    def key(self, header_key: str | None) -> str | None:
        """The key under which the same call made again is the same: of the header or of the body, not two of them."""
        given = self.text("key", longest=MAX_KEY) if self.document.get("key") is not None else None
        if header_key is not None and not (0 < len(header_key) <= MAX_KEY and header_key.isprintable()):
            self.wrong("/key", "wrong_length", f"Idempotency-Key has from 1 to {MAX_KEY} characters")
        elif given is not None and header_key is not None and given != header_key:
            self.wrong("/key", "differs", "Idempotency-Key says another key")
        return header_key if given is None else given


def read_object(body: bytes) -> dict[str, Any]:
    """A posted JSON object.

    Raises:
        RefusedError: it is none, or nested too deep.
    """
    try:
        document = orjson.loads(body)
    except (orjson.JSONDecodeError, RecursionError):
        raise RefusedError(400, "malformed", "the body is not JSON") from None
    if not isinstance(document, dict):
        raise RefusedError(400, "malformed", "the body is not a JSON object")
    if _too_deep(document):
        raise RefusedError(400, "malformed", f"the body is nested deeper than {MAX_DEPTH} levels")
    json.loads(body, object_pairs_hook=_once)  # of two values under one name parsers take the first or the last
    return document


def read_callback(reading: Reading) -> str | None:
    """The address of ``callback: {url}``, if there is one."""
    written = reading.document.get("callback")
    if written is None:
        return None
    if not isinstance(written, dict):
        reading.wrong("/callback", "wrong_type", "an object such as {url: ...}")
        return None
    for name in sorted(written.keys() - {"url"}):
        reading.wrong(f"/callback{pointer(name)}", "unknown_field", "")
    url = written.get("url")
    if not (isinstance(url, str) and 0 < len(url) <= MAX_URL):
        reading.wrong("/callback/url", "wrong_type", f"an address of at most {MAX_URL} characters")
        return None
    return url


def read_wait(text: str | None) -> float:
    """Seconds to wait, such as ``25s``; at most :data:`LONGEST_WAIT_S`.

    Raises:
        RefusedError: it is no duration.
    """
    if text is None:
        return 0.0
    found = _WAIT.fullmatch(text)
    if found is None:
        raise RefusedError(400, "malformed", "wait is a number of seconds, such as 25s")
    return min(LONGEST_WAIT_S, int(found["number"]) * _UNITS[found["unit"]])


def header_key(request: web.Request) -> str | None:
    """What ``Idempotency-Key`` says.

    Raises:
        RefusedError: it is there twice.
    """
    keys = request.headers.getall("Idempotency-Key", [])
    if len(keys) > 1:
        raise RefusedError(400, "malformed", "Idempotency-Key comes twice")
    return keys[0] if keys else None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RefusedError(400, "malformed", "a name stands twice in an object")
    return found


async def body_of(request: web.Request) -> bytes:
    """A body, as it is.

    Raises:
        RefusedError: it is compressed, too large, or does not come.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise RefusedError(400, "malformed", "send the body as it is, not compressed")
    if (request.content_length or 0) > MAX_BODY:
        raise RefusedError(413, *_PLAIN[413])
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            return await request.read()
    except TimeoutError:
        raise RefusedError(400, "malformed", "the body did not come") from None
    except web.HTTPRequestEntityTooLarge:
        raise RefusedError(413, *_PLAIN[413]) from None
    except (ValueError, web.RequestPayloadError):
        raise RefusedError(400, "malformed", "the body broke off") from None


@web.middleware
async def answered(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Whatever happens, agents get JSON, and logs get neither key nor body."""
    try:
        return await handler(request)
    except RefusedError as refused:
        response = _refused(refused)
        if refused.status == _STRANGER:
            response.force_close()  # nobody holds a connection open without a key
        return response
    except web.HTTPException as error:
        code, text = _PLAIN.get(error.status, ("malformed", "this can't be understood"))
        response = _refused(RefusedError(error.status, code, text))
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    except ConnectionError:
        raise
    except Exception as error:  # noqa: BLE001 - a traceback could hold what somebody wrote
        log.error("api_call_failed", method=request.method, error=type(error).__name__)
        return _refused(RefusedError(503, "unavailable", "try again in a moment", after_s=1.0))


async def set_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """What every answer says of itself."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.pop("Server", None)


def json_answer(document: object, *, status: int = 200) -> web.Response:
    """A document as an answer."""
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")


def error_document(refused: RefusedError) -> dict[str, Any]:
    """An error as it is sent."""
    document: dict[str, Any] = {"error": refused.code, "message": refused.text}
    if refused.problems:
        document["problems"] = [
            {"path": path, "code": code, "detail": detail} for path, code, detail in refused.problems
        ]
    return document


def pointer(name: str) -> str:
    """A name of somebody else's as a step of a JSON pointer, not too long."""
    return f"/{name[:60].replace('~', '~0').replace('/', '~1')}"


def _refused(refused: RefusedError) -> web.Response:
    response = json_answer(error_document(refused), status=refused.status)
    if refused.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if refused.after_s > 0:
        response.headers["Retry-After"] = str(math.ceil(refused.after_s))
    return response


def _too_deep(document: object) -> bool:
    level: list[object] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
