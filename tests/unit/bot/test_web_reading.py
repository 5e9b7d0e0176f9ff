from datetime import UTC, datetime

import orjson
import pytest

from bot.channels.web.people import Register
from bot.channels.web.reading import material, native, read, tapper
from bot.model.inbound import Arrival, Stored
from policy.event import Author, Chat, Kind, Origin
from tests.browser.brain import MEMBERS, ROOMS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DESK = Register(desk="demo", bot_name="desk", rooms=ROOMS, members=MEMBERS)


def stored(raw, account="web:demo"):
    return Stored(
        id=1, account=account, arrival=Arrival(key="k1", lane=f"{account}:customers", raw=raw, received_at=NOW)
    )


def written(kind="message", room="customers", sender="mara", **spoken):
    said = {"text": "", "mentions": [], "reply": None, "files": [], **spoken} if kind in ("message", "edit") else None
    return native(
        DESK,
        kind=kind,
        key="k1",
        message="m1",
        room=DESK.rooms[room],
        sender=DESK.members[sender],
        at=NOW,
        spoken=said,
        tap="token" if kind == "tap" else None,
    )


def event(**settings):
    return read(stored(written(**settings))).event


def test_who_and_where_come_from_ids():
    found = event(text="hello")
    assert (found.sender, str(found.destination), found.key, found.message) == (
        "web:mara",
        "web:demo:customers",
        "k1",
        "m1",
    )
    assert (found.kind, found.origin, found.chat, found.sent_at) == (Kind.MESSAGE, Origin.HUMAN, Chat.GROUP, NOW)


def test_a_private_room_is_one_to_one():
    assert event(room="private").chat is Chat.DIRECT


@pytest.mark.parametrize(
    ("mentions", "ours", "others"),
    [
        ([], False, False),
        (["desk"], True, False),
        (["jordan"], False, True),
        (["desk", "jordan"], True, True),
        (["mara"], False, False),
    ],
)
def test_mentions_are_told_apart(mentions, ours, others):
    found = event(mentions=mentions)
    assert (found.mentions_self, found.mentions_others) == (ours, others)


@pytest.mark.parametrize(("author", "known"), [("desk", Author.SELF), ("jordan", Author.OTHER), (None, Author.UNKNOWN)])
def test_the_author_of_a_replied_to_message_is_the_timelines_word(author, known):
    found = event(reply={"id": "m0", "author": author, "text": "before"})
    assert found.reply is not None
    assert (found.reply.message, found.reply.author) == ("m0", known)


@pytest.mark.parametrize("kind", ["edit", "redaction", "tap"])
def test_kinds_are_told_apart(kind):
    assert event(kind=kind).kind is Kind(kind)


def test_material_is_what_was_said_and_by_whom():
    file = {"handle": "customers.m1.0", "name": "a.txt", "media_type": "text/plain", "size": 3}
    found = material(read(stored(written(text="hi", files=[file], reply={"id": "m0", "author": None, "text": "q"}))))
    assert (found.text, found.quoted, found.sender_name, found.channel_title, found.language) == (
        "hi",
        "q",
        "Mara Lindqvist",
        "Lindqvist Foods",
        "en",
    )
    assert found.attachments[0].handle == "customers.m1.0"


def test_a_tap_names_its_person():
    found = material(read(stored(written(kind="tap"))))
    assert found.tap_token == "token"
    assert tapper(found.tap_id or "") == "mara"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"\xff",
        written().replace(b'"v":1', b'"v":2'),
        written().replace(b'"kind":"message"', b'"kind":"other"'),
        written().replace(b'"desk":"demo"', b'"desk":"else"'),
        written().replace(b"+00:00", b""),
        written().replace(b'"id":"customers"', b'"id":"Cus tomers"'),
        orjson.dumps({**orjson.loads(written()), "sender": None}),
        orjson.dumps({**orjson.loads(written()), "files": 3}),
        orjson.dumps({**orjson.loads(written()), "text": 3}),
    ],
)
def test_what_can_not_be_read_is_malformed_and_stops_nothing(raw):
    found = read(stored(raw)).event
    assert (found.kind, found.sender, str(found.destination)) == (Kind.MALFORMED, None, "web:demo:customers")
