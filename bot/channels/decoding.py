"""JSON of platforms, which may hold what strict decoders refuse."""

import json
from typing import Any

import orjson


def decode_json(raw: bytes | str) -> Any:
    """Decode JSON fast; lone surrogates and huge numbers, which the fast way refuses, pass too.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return json.loads(raw)
