"""Native events of the chat, and what can be read out of them (IDENT-1, PART-14).

The server writes them itself when a browser has posted something: who it was comes from the session, the room from the
path, the mentions have been checked, and who wrote a replied-to message is known from the timeline.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from bot.channels.web.mentions import command_of
from bot.channels.web.people import Member, Register, Room
from bot.model.inbound import Material, Reading, Stored
from bot.model.request import Attachment
from policy.destination import Destination, parse_destination
from policy.errors import PolicyError
from policy.event import Author, Chat, Event, Kind, Origin, Reply

MAX_QUOTE: Final = 2_000
_KINDS: Final = {
    "message": Kind.MESSAGE,
    "edit": Kind.EDIT,
    "redaction": Kind.REDACTION,
    "tap": Kind.TAP,
}


def native(
    register: Register,
    *,
    kind: str,
    key: str,
    message: str,
    room: Room,
    sender: Member,
    at: datetime,
    spoken: Mapping[str, Any] | None = None,
    tap: str | None = None,
) -> bytes:
    """Write a native event.

    Args:
        register: of the desk.
        kind: message | edit | redaction | tap.
        key: unique within the desk; the same when a browser repeats its post.
        message: id of the message that it is or is about.
        room: where.
        sender: who, by the session.
        at: aware.
        spoken: text, mentions, reply and files of a message or an edit.
        tap: token of the pressed button.
    """
    event = {
        "v": 1,
        "kind": kind,
        "key": key,
        "desk": register.desk,
        "bot": register.bot,
        "room": {"id": room.id, "title": room.title, "direct": room.direct},
        "sender": {"id": sender.id, "name": sender.name, "language": sender.language},
        "at": at.astimezone(UTC).isoformat(),
        "message": message,
        **(spoken or {}),
        **({} if tap is None else {"tap": tap}),
    }
    return orjson.dumps(event)


def read(stored: Stored) -> Reading:
    """Read the facts; whatever can't be read is MALFORMED (PART-17)."""
    try:
        raw = orjson.loads(stored.arrival.raw)
        return Reading(event=_event(stored, raw), native=raw)
    except (PolicyError, KeyError, TypeError, ValueError, AttributeError):
        return Reading(event=_malformed(stored), native={})


def material(reading: Reading) -> Material:
    """What a request is made of; all of it untrusted (PROMPT-2)."""
    raw = reading.native
    tap = raw.get("tap")
    reply = raw.get("reply") or {}
    return Material(
        text=raw.get("text", ""),
        attachments=tuple(
            Attachment(handle=file["handle"], name=file["name"], media_type=file["media_type"], size=file["size"])
            for file in raw.get("files", ())
        ),
        sender_name=raw["sender"]["name"],
        channel_title=raw["room"]["title"],
        quoted=reply.get("text", ""),
        language=raw["sender"]["language"],
        tap_token=tap,
        tap_id=None if tap is None else f"{raw['sender']['id']}.{raw['key']}",
    )


def tapper(tap_id: str) -> str:
    """The person of a tap id."""
    return tap_id.partition(".")[0]


def _event(stored: Stored, raw: Mapping[str, Any]) -> Event:
    if raw["v"] != 1 or f"web:{raw['desk']}" != stored.account:
        raise ValueError("an event of another desk or another version")
    bot, sender, text = raw["bot"], raw["sender"]["id"], raw.get("text", "")
    mentions: Sequence[str] = raw.get("mentions", ())
    kind = _KINDS[raw["kind"]]
    return Event(
        key=raw["key"],
        destination=parse_destination(f"{stored.account}:{raw['room']['id']}"),
        chat=Chat.DIRECT if raw["room"]["direct"] is True else Chat.GROUP,
        kind=kind,
        origin=Origin.SELF if sender == bot else Origin.HUMAN,
        sender=f"web:{sender}",
        sent_at=_time(raw["at"]),
        message=raw["message"],
        text=text,
        attachments=len(raw.get("files", ())),
        mentions_self=bot in mentions,
        mentions_others=any(id_ not in (bot, sender) for id_ in mentions),
        command=command_of(text, bot),
        reply=_reply(raw.get("reply"), bot),
    )


def _reply(raw: Mapping[str, Any] | None, bot: str) -> Reply | None:
    if raw is None:
        return None
    author = raw["author"]
    known = Author.SELF if author == bot else Author.OTHER
    return Reply(message=raw["id"], author=Author.UNKNOWN if author is None else known)


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at


def _malformed(stored: Stored) -> Event:
    platform, _, desk = stored.account.partition(":")
    return Event(
        key=stored.arrival.key,
        destination=Destination(platform=platform, workspace=desk, channel=stored.arrival.lane.rpartition(":")[2]),
        chat=Chat.GROUP,
        kind=Kind.MALFORMED,
        origin=Origin.UNKNOWN,
        sender=None,
        sent_at=stored.arrival.received_at,
    )
