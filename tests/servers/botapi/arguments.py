"""The arguments of a call, whichever way they came: query, form, multipart or JSON.

The Bot API takes everything as text and reads structures from JSON text; a JSON body may hold them directly.
"""

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson
from aiohttp import BodyPartReader, MultipartReader
from aiohttp.web import BaseRequest

from tests.servers.botapi.errors import ApiError, bad_request

_STRUCTURES: Final = frozenset(
    {
        "allowed_updates",
        "caption_entities",
        "commands",
        "ephemeral_message_parameters",
        "entities",
        "link_preview_options",
        "media",
        "message_ids",
        "reaction",
        "reply_markup",
        "reply_parameters",
        "scope",
    },
)
_TRUE: Final = frozenset({"true", "yes", "1", "True"})
_WORDS: Final = {"true": True, "True": True, "false": False, "False": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    content: bytes
    mime: str = "application/octet-stream"


@dataclass(kw_only=True, slots=True)
class Arguments:
    """The arguments of one call.

    Attributes:
        values: as they came; text unless the body was JSON.
        files: uploads by the name of their form field.
    """

    values: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Upload] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        """A text, empty when it is missing."""
        value = self.values.get(name)
        if value is None:
            return ""
        return value if isinstance(value, str) else orjson.dumps(value).decode()

    def integer(self, name: str, default: int = 0) -> int:
        """A whole number; what is none counts as missing, as the server does it."""
        value = self.values.get(name)
        try:
            return default if value is None else int(value)
        except (TypeError, ValueError):
            return default

    def flag(self, name: str) -> bool:
        """A truth value, false when it is missing."""
        value = self.values.get(name)
        return value is True or str(value) in _TRUE

    def structure(self, name: str) -> Any:
        """A list or an object, None when it is missing.

        Raises:
            ApiError: it is no JSON.
        """
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            raise bad_request(f"can't parse {name.replace('_', ' ')} JSON object") from None

    def readable(self) -> dict[str, Any]:
        """The values as a test wants to compare them: numbers, truth values and structures decoded."""
        return {name: _readable(name, value) for name, value in self.values.items()}


def _readable(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in _STRUCTURES:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    if name.endswith("_id") or name in {"offset", "limit", "timeout"}:
        return int(value) if value.removeprefix("-").isdecimal() else value
    return _WORDS.get(value, value)


async def read_arguments(request: BaseRequest) -> Arguments:
    """Read the arguments of a request.

    Raises:
        ApiError: the body can't be read.
    """
    values: dict[str, Any] = dict(request.query) if request.query_string else {}
    if not request.body_exists:
        return Arguments(values=values)
    match request.content_type:
        case "application/json":
            try:
                body = orjson.loads(await request.read())
            except orjson.JSONDecodeError:
                raise bad_request("can't parse JSON object") from None
            if not isinstance(body, dict):
                raise bad_request("request must be a JSON object")
            return Arguments(values=values | {name: value for name, value in body.items() if value is not None})
        case "multipart/form-data":
            return await _read_multipart(await request.multipart(), values)
        case "application/x-www-form-urlencoded":
            raw = (await request.read()).decode("utf-8", "replace")
            return Arguments(values=values | dict(parse_qsl(raw, keep_blank_values=True)))
        case _:
            return Arguments(values=values)


async def _read_multipart(reader: MultipartReader, values: dict[str, Any]) -> Arguments:
    files: dict[str, Upload] = {}
    async for part in reader:
        if not isinstance(part, BodyPartReader) or part.name is None:
            raise ApiError(400, "Bad Request: can't parse multipart form data")
        content = bytes(await part.read(decode=True))
        if part.filename is None:
            values[part.name] = content.decode("utf-8", "replace")
        else:
            mime = part.headers.get("Content-Type", "application/octet-stream")
            files[part.name] = Upload(name=part.filename, content=content, mime=mime)
    return Arguments(values=values, files=files)
