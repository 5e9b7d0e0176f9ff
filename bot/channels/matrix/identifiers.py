"""Ids as Matrix writes them: opaque, compared exactly, and refused where they can't be one (IDENT-1)."""

import re
from functools import lru_cache
from typing import Any, Final

from policy.destination import Destination, destination_of, parse_account, parse_destination
from policy.errors import PolicyError

PLATFORM: Final = "matrix"
UNREADABLE: Final = "unreadable"
"""Channel of an event that names no room; no policy can list it."""
MAX_ID: Final = 255
"""Bytes, by the specification."""

_EVENT_ID: Final = re.compile(r"\$[!-~]{1,254}")


class ShapeError(Exception):
    """The event has not the documented shape."""


def event_id(value: Any) -> str:
    """Check an event id.

    Raises:
        ShapeError: it can't be one.
    """
    if not is_event_id(value):
        raise ShapeError
    return str(value)


def is_event_id(value: Any) -> bool:
    """Whether it can be an event id."""
    return isinstance(value, str) and _EVENT_ID.fullmatch(value) is not None


def account(user_id: Any) -> str:
    """The account of a person, such as ``matrix:@ann:example.org``.

    Raises:
        ShapeError: it is no user id.
    """
    if not is_user_id(user_id):
        raise ShapeError
    return f"{PLATFORM}:{user_id}"


def is_user_id(value: Any) -> bool:
    """Whether it can be a user id."""
    return isinstance(value, str) and len(value) <= MAX_ID and _account(value)


def place(user_id: str, room_id: Any, thread: str | None) -> Destination:
    """The destination of a room or of a thread in it.

    Args:
        user_id: the bot's own.
        room_id: as the platform said.
        thread: id of the thread's root event.

    Raises:
        ShapeError: the room or the thread can't be one.
    """
    if not isinstance(room_id, str) or not 1 < len(room_id) <= MAX_ID:
        raise ShapeError
    found = _place(user_id, room_id, thread)
    if found is None:
        raise ShapeError
    return found


def nowhere(user_id: str, room_id: Any) -> Destination:
    """Where an event that can't be read is put: its room, if that can be read."""
    try:
        return place(user_id, room_id, None)
    except ShapeError:
        return destination_of(PLATFORM, user_id, UNREADABLE, None)


@lru_cache(maxsize=8192)
def _account(user_id: str) -> bool:
    try:
        parse_account(f"{PLATFORM}:{user_id}")
    except PolicyError:
        return False
    return True


@lru_cache(maxsize=8192)
def _place(user_id: str, room_id: str, thread: str | None) -> Destination | None:
    """None where the policy could not write it so that it is read back as the same place."""
    tail = "" if thread is None else f":{thread}"
    try:
        found = parse_destination(f"{PLATFORM}:{user_id}:{room_id}{tail}")
    except PolicyError:
        return None
    return found if (found.workspace, found.channel, found.thread) == (user_id, room_id, thread) else None
