"""What a page sends, read within bounds: the text fields of a form, or the JSON of our own script."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web

Sent = dict[str, list[str]]

MAX_BYTES: Final = 1024 * 1024
MAX_FIELDS: Final = 5_000
"""A schema of 8 KiB may have some thousand options, and each can be ticked."""
MAX_JSON_BYTES: Final = 64 * 1024
READ_WITHIN_S: Final = 30.0
_URLENCODED: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"


class BodyError(Exception):
    """It can't be taken. ``status`` is the answer of HTTP."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(str(status))


async def read_post(request: web.Request, *, within_s: float = READ_WITHIN_S) -> Sent:
    """The fields of a post by name.

    Raises:
        BodyError: too large, too slow, not a form, or not text.
    """
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise BodyError(415)  # what unpacks to more than it weighs
    if (request.content_length or 0) > MAX_BYTES:
        raise BodyError(413)
    try:
        async with asyncio.timeout(within_s):
            if request.content_type == _URLENCODED:
                pairs = parse_qsl(
                    (await request.read()).decode(),
                    keep_blank_values=True,
                    max_num_fields=MAX_FIELDS,
                    errors="strict",
                )
            elif request.content_type == _MULTIPART:
                pairs = await _parts(request)
            else:
                raise BodyError(415)
    except web.HTTPRequestEntityTooLarge:
        raise BodyError(413) from None
    except TimeoutError:
        raise BodyError(408) from None
    except (ValueError, AssertionError, web.HTTPException, web.RequestPayloadError):
        raise BodyError(400) from None
    sent: Sent = {}
    for name, value in pairs:
        sent.setdefault(name, []).append(value)
    return sent


async def read_json(request: web.Request, *, within_s: float = READ_WITHIN_S) -> Mapping[str, Any]:
    """The JSON object of a post.

    Raises:
        BodyError: too large, too slow, or no JSON object.
    """
    if request.content_type != "application/json" or request.headers.get("Content-Encoding", "identity") != "identity":
        raise BodyError(415)  # a form of another site can't send this without asking first
    if (request.content_length or 0) > MAX_JSON_BYTES:
        raise BodyError(413)
    read = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.content.iter_chunked(MAX_JSON_BYTES):
                read += chunk
                if len(read) > MAX_JSON_BYTES:
                    raise BodyError(413)
            sent = json.loads(read)
    except TimeoutError:
        raise BodyError(408) from None
    except (ValueError, RecursionError, web.RequestPayloadError):
        raise BodyError(400) from None
    if not isinstance(sent, dict):
        raise BodyError(400)
    return sent


async def _parts(request: web.Request) -> list[tuple[str, str]]:
    reader = await request.multipart()
    pairs: list[tuple[str, str]] = []
    left = MAX_BYTES
    while (part := await reader.next()) is not None:
        if (
            not isinstance(part, BodyPartReader)
            or part.filename is not None
            or not part.name
            or len(pairs) >= MAX_FIELDS
        ):
            raise BodyError(400)
        value = bytearray()
        while chunk := await part.read_chunk():
            value += chunk
            left -= len(chunk)
            if left < 0:
                raise BodyError(413)
        pairs.append((part.name, value.decode()))
    return pairs
