"""A file's name and media type, which are words of a stranger or an agent, as people and programs may read them."""

import re
from typing import Final

MAX_NAME: Final = 120
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SEPARATORS: Final = re.compile(r"[\\/]+")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")


def visible_name(name: str, fallback: str = "file") -> str:
    """A file's name that can't deceive: no path, no invisible or direction-changing characters, bounded."""
    clean = _UNSEEN.sub("", _SEPARATORS.sub("_", name)).strip(" .")
    return clean[-MAX_NAME:] or fallback


def media_type(claimed: str) -> str:
    """A media type as it is written in a header; what is none becomes plain bytes."""
    lower = claimed.partition(";")[0].strip().lower()
    return lower if _MEDIA_TYPE.fullmatch(lower) else "application/octet-stream"
