"""Events as they are stored: raw, with the facts of their room beside them (DUR-1, PART-17).

The stored document is ``{"room": {room_id, name, room_version, encrypted, members, direct}, "event": as it came,
"history": bool, "via": sync | gap | invite}``.

Invites have no id. Each gets a name of ours, which has to be kept before it is handed on: the same one after a restart
is a repeat, and another one after the bot has left the room is new.
"""

import json
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import orjson

from bot.channels.matrix.identifiers import PLATFORM
from bot.channels.matrix.rooms import Rooms, Seen
from bot.channels.matrix.roomstate import Room, is_id
from bot.model.inbound import Arrival

INVITE: Final = "invite:"
"""Before a room's id: the place of an invite's name, and the beginning of its key."""
_PLATFORM: Final = "matrix"
_EVENT_BYTES: Final = 256 * 1024  # the specification allows 64 KiB


def invite_names(seen: Iterable[Seen], kept: Mapping[str, str]) -> dict[str, str | None]:
    """The names of the invites, by place; a new one where the invite is another than the one that has been kept."""
    names: dict[str, str | None] = {}
    for one in seen:
        if one.via == "invite":
            place = f"{INVITE}{one.room.id}"
            content = sha256(_encoded(one.event)).hexdigest()[:16]
            known = kept.get(place, "")
            names[place] = known if known.endswith(f".{content}") else f"{secrets.token_urlsafe(9)}.{content}"
    return names


def arrivals_of(
    seen: Iterable[Seen], names: Mapping[str, str | None], *, rooms: Rooms, user_id: str, received_at: datetime
) -> list[Arrival]:
    """The events of an answer in its order, each once.

    Args:
        seen: the events.
        names: of the invites among them.
        rooms: as they are after the answer.
        user_id: the bot's own.
        received_at: aware.
    """
    found: dict[str, Arrival] = {}
    for one in seen:
        now = rooms.get(one.room.id)
        if one.via == "invite":
            place = f"{INVITE}{one.room.id}"
            event = _invite(one, user_id, received_at)
            arrival = _arrival(one, event, f"{place}:{names[place]}", now, user_id, received_at)
        else:
            # The server says where an event stands, not the event.
            event = {**one.event, "room_id": one.room.id} if isinstance(one.event, dict) else one.event
            event_id = event.get("event_id") if isinstance(event, dict) else None
            arrival = _arrival(one, event, event_id if is_id(event_id, "$") else None, now, user_id, received_at)
        found.setdefault(arrival.key, arrival)  # the pages of a gap may overlap
    return list(found.values())


def lane_of(user_id: str, channel: str) -> str:
    """The lane of a room; its threads share it."""
    return f"{PLATFORM}:{user_id}:{channel}"


def _arrival(seen: Seen, event: Any, key: str | None, now: Room | None, user_id: str, received_at: datetime) -> Arrival:
    """One event; what can't be named gets a lane of its own, so that it blocks nothing."""
    raw = _document(seen, event, now)
    if not 0 < len(raw) <= _EVENT_BYTES:
        raw = _document(seen, None, now)
    channel = seen.room.id
    if key is None:
        key = f"nameless:{sha256(channel.encode() + _encoded(event)).hexdigest()[:32]}"
        channel = f"event:{key}"
    return Arrival(key=key, lane=lane_of(user_id, channel), raw=raw, received_at=received_at)


def _document(seen: Seen, event: Any, now: Room | None) -> bytes:
    return _encoded({"room": _facts(seen.room, now), "event": event, "history": seen.history, "via": seen.via})


def _facts(then: Room, now: Room | None) -> dict[str, Any]:
    """The room beside an event.

    A direct chat has to have been one then and now: what would have been said to one person must not be said to those
    who have come in since (PART-16).
    """
    now = then if now is None else now
    return {
        "room_id": then.id,
        "name": now.name if then.name is None else then.name,
        "room_version": now.version,  # it never changes; before the first answer it is not known
        "encrypted": then.encrypted or now.encrypted,
        "members": max(then.members, now.members),
        "direct": then.direct and (now.membership != "join" or now.is_direct),
    }


def _invite(seen: Seen, user_id: str, now: datetime) -> dict[str, Any]:
    """An invite as an event; the stripped ones that servers send have no id, and most have no time."""
    given = seen.event if isinstance(seen.event, dict) else {}
    sent_at = given.get("origin_server_ts")
    return {
        "type": "m.room.member",
        "state_key": user_id,
        "sender": given.get("sender"),
        "content": given.get("content", {"membership": "invite"}),
        "room_id": seen.room.id,
        "origin_server_ts": sent_at if type(sent_at) is int else int(now.timestamp() * 1000),
    }


def _encoded(value: Any) -> bytes:
    """JSON in one form; empty where it is nested more deeply than anything that is read here."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # lone surrogates, numbers of more than 64 bits, deep nesting
        pass
    try:
        return json.dumps(value, sort_keys=True).encode()
    except RecursionError:
        return b""
