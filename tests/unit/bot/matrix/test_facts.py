"""Facts out of envelopes: tables of what counts as evidence and what only looks like it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.channels.matrix import facts
from bot.channels.matrix.material import material_of
from bot.model.inbound import Migration, Reading
from policy.destination import Destination
from policy.event import Author, Chat, Command, Kind, Origin, Reply, Target

BOT = "@relay:example.org"
ANN = "@alice:example.org"
BOB = "@bob:example.org"
ROOM = "!lab:example.org"
NOW = datetime(2026, 9, 21, 14, 0, tzinfo=UTC)
STAMP = 1790000000000 - 24 * 3600 * 1000
Native = dict[str, Any]


FILE = {"url": "mxc://hs/1", "v": "v2", "iv": "x", "key": {"k": "x"}, "hashes": {"sha256": "x"}}


def native(content: Any = None, **fields: Any) -> Native:
    body = {"type": "m.room.message", "event_id": "$one", "room_id": ROOM, "sender": ANN, "origin_server_ts": STAMP}
    body |= {"content": {"msgtype": "m.text", "body": "hello"} if content is None else content, **fields}
    return {name: value for name, value in body.items() if value is not None}


def text(body: str = "hello", **fields: Any) -> Native:
    return {"msgtype": "m.text", "body": body, **fields}


def read(event: Any, *, room: Any = None, decrypt: Any = lambda _: None, known: bool = True, **more: Any) -> Reading:
    envelope = {"room": {"room_id": ROOM, "members": 4, "direct": False} if room is None else room, "event": event}
    return facts.read(
        {**envelope, **more}, key="k", received_at=NOW, user_id=BOT, identity_known=known, decrypt=decrypt
    )


def related(**relation: Any) -> Native:
    return {"m.relates_to": relation}


def test_a_plain_message_becomes_plain_facts() -> None:
    reading = read(native())
    found = reading.event
    assert found.destination == Destination(platform="matrix", workspace=BOT, channel=ROOM)
    assert (found.key, found.message, found.text) == ("k", "$one", "hello")
    assert (found.chat, found.kind, found.origin) == (Chat.GROUP, Kind.MESSAGE, Origin.HUMAN)
    assert found.sender == f"matrix:{ANN}"
    assert found.sent_at == datetime.fromtimestamp(STAMP / 1000, UTC)
    assert (found.mentions_self, found.mentions_others, found.command, found.reply) == (False, False, None, None)
    assert (found.history, found.apparent_reply, found.attachments, reading.loose) == (False, False, 0, False)


def test_the_bots_own_events_are_its_own_and_a_bridges_ghosts_are_people() -> None:
    assert read(native(sender=BOT)).event.origin is Origin.SELF
    assert read(native(sender="@Relay:example.org")).event.origin is Origin.HUMAN
    assert read(native(sender="@_irc_bob:example.org")).event.origin is Origin.HUMAN


def test_history_is_what_the_intake_says_is_history() -> None:
    assert read(native(), history=True).event.history
    assert not read(native(), history="yes").event.history
    assert read({}, history=True).event.history


@pytest.mark.parametrize("stamp", [None, True, "1", 1.5, -1, 0, 10**30, 2**63, [], STAMP * 1000])
def test_an_odd_time_or_one_that_lies_ahead_is_the_time_of_arrival(stamp: Any) -> None:
    found = read(native(origin_server_ts=stamp)).event
    assert (found.kind, found.sent_at) == (Kind.MESSAGE, NOW)


def test_a_time_behind_is_kept() -> None:
    assert read(native(origin_server_ts=1)).event.sent_at == datetime.fromtimestamp(0.001, UTC)
    ahead = int((NOW + timedelta(seconds=1)).timestamp() * 1000)
    assert read(native(origin_server_ts=ahead)).event.sent_at == NOW


# Places

PAIR = {"joined_members": [BOT, ANN], "invited_members": [], "bot_invite_is_direct": True}


@pytest.mark.parametrize(
    ("room", "chat"),
    [
        ({"members": 2, "direct": True}, Chat.DIRECT),
        ({"members": 2, "direct": False}, Chat.GROUP),
        ({"members": 3, "direct": True}, Chat.GROUP),
        ({"members": 1, "direct": True}, Chat.GROUP),
        ({"members": True, "direct": True}, Chat.GROUP),
        ({"members": 2.0, "direct": True}, Chat.GROUP),
        ({"members": 2, "direct": 1}, Chat.GROUP),
        ({"members": 2, "direct": "true"}, Chat.GROUP),
        ({"members": 2, "m_direct": True}, Chat.GROUP),
        ({"direct": True}, Chat.GROUP),
        (PAIR, Chat.DIRECT),
        ({**PAIR, "joined_members": [ANN], "invited_members": [BOT]}, Chat.DIRECT),
        ({**PAIR, "invited_members": [BOB]}, Chat.GROUP),
        ({**PAIR, "joined_members": [BOT, ANN, BOB]}, Chat.GROUP),
        ({**PAIR, "joined_members": [BOT]}, Chat.GROUP),
        ({**PAIR, "joined_members": [ANN, BOB]}, Chat.GROUP),
        ({**PAIR, "joined_members": [BOT, BOB]}, Chat.GROUP),
        ({**PAIR, "joined_members": [BOT, BOT, ANN]}, Chat.DIRECT),
        ({**PAIR, "joined_members": f"{BOT}{ANN}"}, Chat.GROUP),
        ({**PAIR, "joined_members": [BOT, {}]}, Chat.GROUP),
        ({**PAIR, "invited_members": None}, Chat.GROUP),
        ({**PAIR, "members": 3}, Chat.GROUP),
        ({**PAIR, "bot_invite_is_direct": False, "name": "Alice & Relay"}, Chat.GROUP),
        ({**PAIR, "room_id": "!other:example.org"}, Chat.GROUP),
        (None, Chat.GROUP),
        ([], Chat.GROUP),
    ],
)
def test_direct_is_what_was_made_so_and_has_two_members_still(room: Any, chat: Chat) -> None:
    found = facts.read({"room": room, "event": native()}, key="k", received_at=NOW, user_id=BOT).event
    assert (found.kind, found.chat) == (Kind.MESSAGE, chat)


@pytest.mark.parametrize("room_id", ["!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM", "!x:[::1]:8448", "!x:host:80"])
def test_a_rooms_id_is_opaque(room_id: str) -> None:
    assert read(native(room_id=room_id), room={"room_id": room_id}).event.destination.channel == room_id


def test_the_rooms_facts_name_the_room_where_the_event_does_not() -> None:
    assert read(native(room_id=None)).event.destination.channel == ROOM


@pytest.mark.parametrize(
    "room_id",
    ["", "!", "lab", "#lab:example.org", "!a b:hs", "!\n:hs", "!" + "x" * 255, 5, [], {}, True, "!a:$b", "!é:hs"],
)
def test_an_event_of_no_room_is_malformed_and_stands_nowhere(room_id: Any) -> None:
    found = read(native(room_id=room_id), room={}).event
    assert (found.kind, found.destination.channel) == (Kind.MALFORMED, facts.UNREADABLE)


# Kinds


@pytest.mark.parametrize(
    ("content", "words", "files"),
    [
        (text("hi"), "hi", 0),
        ({"msgtype": "m.emote", "body": "waves"}, "waves", 0),
        ({"msgtype": "com.example.new", "body": "fallback"}, "fallback", 0),
        ({"msgtype": "m.image", "body": "relay.png", "url": "mxc://hs/1"}, "", 1),
        ({"msgtype": "m.image", "body": "relay.png", "filename": "relay.png", "url": "mxc://hs/1"}, "", 1),
        ({"msgtype": "m.image", "body": "look", "filename": "relay.png", "url": "mxc://hs/1"}, "look", 1),
        ({"msgtype": "m.image", "body": "look", "filename": "", "url": "mxc://hs/1"}, "", 1),
        ({"msgtype": "m.image", "body": "look", "filename": 5, "url": "mxc://hs/1"}, "", 1),
        ({"msgtype": "m.file", "body": "a.pdf", "file": FILE}, "", 1),
        ({"msgtype": "m.file", "body": "a.pdf", "file": {"url": "mxc://hs/1"}}, "", 0),
        ({"msgtype": "m.audio", "body": "Voice", "org.matrix.msc3245.voice": {}, "url": "mxc://hs/1"}, "", 1),
        ({"msgtype": "m.video", "body": "v.mp4", "url": "mxc://hs/1"}, "", 1),
        ({"msgtype": "m.image", "body": "relay.png"}, "", 0),
        ({"msgtype": "m.image", "body": "relay.png", "url": "https://hs/1"}, "", 0),
        ({"msgtype": "m.image", "body": "relay.png", "url": ["mxc://hs/1"]}, "", 0),
        ({"msgtype": "m.image", "body": "a", "file": {"url": 5}, "url": "mxc://hs/1"}, "", 0),
        ({"msgtype": "m.location", "body": f"{BOT} was here", "geo_uri": "geo:1,2"}, "", 0),
        (text("half \ud83d"), "half \ud83d", 0),
    ],
)
def test_words_are_words_and_a_files_name_is_none(content: Native, words: str, files: int) -> None:
    found = read(native(content)).event
    assert (found.kind, found.text, found.attachments) == (Kind.MESSAGE, words, files)
    assert not found.mentions_self


def test_a_sticker_is_a_file() -> None:
    found = read(native({"body": "Hello!", "url": "mxc://hs/1", "info": {}}, type="m.sticker")).event
    assert (found.kind, found.text, found.attachments) == (Kind.MESSAGE, "", 1)


@pytest.mark.parametrize(
    "content",
    [
        {"msgtype": "m.notice", "body": BOT},
        {"msgtype": "m.server_notice", "body": BOT},
        text(BOT, **{"org.matrix.msc1767.automated": True}),
        text(BOT, **{"m.automated": True}),
        {"msgtype": "m.text", "body": "* a", "m.new_content": {"msgtype": "m.notice", "body": "a"}}
        | related(rel_type="m.replace", event_id="$o"),
        {"msgtype": "m.notice", "body": "* a", "m.new_content": text("a")}
        | related(rel_type="m.replace", event_id="$o"),
    ],
)
def test_what_a_program_says_is_a_notice(content: Native) -> None:
    assert read(native(content)).event.kind is Kind.NOTICE


def test_only_a_true_mark_makes_a_notice() -> None:
    assert read(native(text("a", **{"m.automated": "yes"}))).event.kind is Kind.MESSAGE


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("m.room.name", {"state_key": ""}),
        ("m.room.member", {"state_key": ANN, "content": {"membership": "invite"}}),
        ("m.room.member", {"state_key": BOT, "content": {"membership": "join"}}),
        ("m.room.message", {"state_key": "", "content": text(BOT)}),
        ("m.room.encrypted", {"state_key": ""}),
        ("m.room.redaction", {"state_key": "", "redacts": "$x"}),
        ("m.call.invite", {}),
        ("m.poll.start", {"content": {"m.mentions": {"user_ids": [BOT]}}}),
        ("org.matrix.msc3381.poll.response", {}),
        ("m.key.verification.start", {}),
        ("m.room.message", {"content": {"msgtype": "m.key.verification.request", "body": BOT, "to": BOT}}),
        ("com.example.new", {"content": text(BOT)}),
    ],
)
def test_what_nobody_says_is_a_service_event(kind: str, fields: Native) -> None:
    found = read(native(type=kind, **fields)).event
    assert (found.kind, found.text, found.mentions_self) == (Kind.SERVICE, "", False)


@pytest.mark.parametrize(
    ("new", "migration"),
    [
        ("!next:example.org", Migration(old=ROOM, new="!next:example.org")),
        ("!NextWithoutDomain", Migration(old=ROOM, new="!NextWithoutDomain")),
        (ROOM, None),
        ("next", None),
        ("", None),
        (None, None),
        (["!next:example.org"], None),
        ("!" + "x" * 300, None),
    ],
)
def test_a_tombstone_tells_where_a_room_goes_on(new: Any, migration: Migration | None) -> None:
    reading = read(native({"body": "upgraded", "replacement_room": new}, type="m.room.tombstone", state_key=""))
    assert (reading.event.kind, reading.migration) == (Kind.SERVICE, migration)


def test_only_the_state_of_the_room_itself_is_a_tombstone() -> None:
    content = {"replacement_room": "!next:example.org"}
    assert read(native(content, type="m.room.tombstone", state_key="x")).migration is None
    assert read(native(content, type="m.room.tombstone")).migration is None


@pytest.mark.parametrize(("is_direct", "chat"), [(True, Chat.DIRECT), (False, Chat.GROUP), (1, Chat.GROUP)])
@pytest.mark.parametrize("event_id", ["$inv", None])
def test_an_invitation_of_the_bot_comes_from_its_inviter(is_direct: Any, chat: Chat, event_id: str | None) -> None:
    invite = native(
        {"membership": "invite", "is_direct": is_direct},
        type="m.room.member",
        state_key=BOT,
        event_id=event_id,
        origin_server_ts=None,
    )
    found = read(invite, via="invite").event
    assert (found.kind, found.chat, found.sender, found.message) == (Kind.INVITE, chat, f"matrix:{ANN}", event_id)
    assert found.sent_at == NOW


@pytest.mark.parametrize("more", [{"via": "sync"}, {"via": "gap"}, {"room": {"room_id": ROOM, "membership": "join"}}])
def test_the_invitation_in_the_timeline_of_a_joined_room_is_past(more: Native) -> None:
    invite = native({"membership": "invite"}, type="m.room.member", state_key=BOT)
    assert read(invite, **more).event.kind is Kind.SERVICE


# Relations


def test_a_reply_names_the_message_and_its_author_only_where_the_facts_do() -> None:
    event = native(text("and?", **related(**{"m.in_reply_to": {"event_id": "$p"}})))
    assert read(event).event.reply == Reply(message="$p", author=Author.UNKNOWN)
    assert read(event, reply={"sender": BOT}).event.reply == Reply(message="$p", author=Author.SELF)
    assert read(event, reply={"sender": BOB}).event.reply == Reply(message="$p", author=Author.OTHER)
    assert read(event, reply={"sender": None}).event.reply == Reply(message="$p", author=Author.UNKNOWN)
    assert read(event, reply=BOT).event.reply == Reply(message="$p", author=Author.UNKNOWN)


@pytest.mark.parametrize(
    ("relation", "thread", "reply", "apparent"),
    [
        ({"rel_type": "m.thread", "event_id": "$root"}, "$root", None, False),
        ({"rel_type": "m.thread", "event_id": "$root", "is_falling_back": True}, "$root", None, False),
        ({"rel_type": "m.thread", "event_id": "$root", "m.in_reply_to": {"event_id": "$p"}}, "$root", "$p", False),
        (
            {"rel_type": "m.thread", "event_id": "$r", "is_falling_back": False, "m.in_reply_to": {"event_id": "$p"}},
            "$r",
            "$p",
            False,
        ),
        (
            {"rel_type": "m.thread", "event_id": "$r", "is_falling_back": True, "m.in_reply_to": {"event_id": "$p"}},
            "$r",
            None,
            True,
        ),
        (
            {"rel_type": "m.thread", "event_id": "$r", "is_falling_back": "true", "m.in_reply_to": {"event_id": "$p"}},
            "$r",
            None,
            True,
        ),
        ({"is_falling_back": True, "m.in_reply_to": {"event_id": "$p"}}, None, "$p", False),
        ({"rel_type": "m.reference", "event_id": "$x"}, None, None, False),
        ({"rel_type": ["m.thread"], "event_id": "$x"}, None, None, False),
        ({"m.in_reply_to": {"event_id": 5}}, None, None, True),
        ({"m.in_reply_to": "$p"}, None, None, True),
        ({"m.in_reply_to": {}}, None, None, True),
        ({"m.in_reply_to": {"event_id": "$" + "x" * 300}}, None, None, True),
    ],
)
def test_a_thread_is_a_place_and_its_fallback_no_reply(
    relation: Native, thread: str | None, reply: str | None, apparent: bool
) -> None:
    found = read(native(text(**{"m.relates_to": relation}))).event
    assert (found.kind, found.destination.thread, found.apparent_reply) == (Kind.MESSAGE, thread, apparent)
    assert (None if found.reply is None else found.reply.message) == reply
    assert facts.thread_of(native({"m.relates_to": relation})) == thread


@pytest.mark.parametrize("content", [None, [], {}, {"m.relates_to": 5}, related(rel_type="m.thread", event_id=5)])
def test_an_event_of_odd_shape_stands_in_no_thread(content: Any) -> None:
    assert facts.thread_of({"content": content}) is None


FALLBACK = f"> <{ANN}> {BOT} please restart\n> and again\n\n"


@pytest.mark.parametrize(
    ("body", "html", "words"),
    [
        (f"{FALLBACK}agreed", None, "agreed"),
        (f"{FALLBACK}agreed\n\n> not that", None, "agreed\n\n> not that"),
        (f"> * <{ANN}> waves\n\nagreed", None, "agreed"),
        ("> <Alice> hm\n\nagreed", None, "agreed"),
        (f"> <{ANN}> hm\r\n\r\nagreed", None, "agreed"),
        (f"> <{ANN}> hm\n>\n> more\nagreed", None, "agreed"),
        (FALLBACK, None, ""),
        ("> you said so\n\nno", None, "> you said so\n\nno"),
        ("> you said so\n\nno", "<mx-reply>x</mx-reply>no", "no"),
        ("agreed", "<mx-reply>x</mx-reply>agreed", "agreed"),
    ],
)
def test_the_fallback_of_a_reply_is_not_the_persons_words(body: str, html: str | None, words: str) -> None:
    formatted = {} if html is None else {"format": "org.matrix.custom.html", "formatted_body": html}
    found = read(native(text(body, **formatted, **related(**{"m.in_reply_to": {"event_id": "$p"}})))).event
    assert (found.text, found.mentions_self, found.mentions_others) == (words, False, False)


def test_without_a_reply_there_is_no_fallback_and_a_quote_addresses_nobody() -> None:
    found = read(native(text(f"{FALLBACK}agreed"))).event
    assert (found.text, found.mentions_self) == (f"{FALLBACK}agreed", False)


def edit(new: Any, **fields: Any) -> Native:
    return native(
        {
            "msgtype": "m.text",
            "body": "* x",
            "m.new_content": new,
            **fields,
            **related(rel_type="m.replace", event_id="$o"),
        }
    )


def test_an_edit_is_judged_as_it_stands_now() -> None:
    reading = read(edit(text("now", **{"m.mentions": {"user_ids": [BOT]}}), **{"m.mentions": {}}))
    found = reading.event
    assert (found.kind, found.message, found.text, found.mentions_self) == (Kind.EDIT, "$o", "now", True)
    assert (reading.loose, found.destination.thread, found.reply) == (True, None, None)


@pytest.mark.parametrize(
    ("new", "top", "mine"),
    [
        (text(), {"user_ids": [BOT]}, True),
        (text("x", **{"m.mentions": {}}), {"user_ids": [BOT]}, False),
        (text(f"{BOT} x"), {}, False),
        (text(f"{BOT} x"), None, True),
        (text(f"{BOT} x", **{"m.mentions": None}), None, True),
    ],
)
def test_the_mentions_of_an_edit_are_those_of_its_new_content(new: Native, top: Any, mine: bool) -> None:
    assert read(edit(new, **{"m.mentions": top})).event.mentions_self is mine


def test_the_new_content_of_an_edit_may_be_a_file_or_a_reply() -> None:
    assert read(edit({"msgtype": "m.image", "body": "a.png", "url": "mxc://hs/1"})).event.attachments == 1
    new = text(f"{FALLBACK}now", **related(**{"m.in_reply_to": {"event_id": "$p"}}))
    found = read(edit(new)).event
    assert (found.text, found.reply) == ("now", None)


@pytest.mark.parametrize("new", [None, "now", [], {}, {"msgtype": "m.text"}, {"msgtype": "m.text", "body": 5}])
def test_an_edit_without_a_new_content_is_malformed(new: Any) -> None:
    assert read(edit(new)).event.kind is Kind.MALFORMED


@pytest.mark.parametrize(
    ("version", "fields", "target"),
    [
        ("10", {"redacts": "$x"}, "$x"),
        ("10", {"redacts": "$x", "content": {"redacts": "$y"}}, "$x"),
        ("11", {"redacts": "$x", "content": {"redacts": "$y"}}, "$y"),
        ("12", {"content": {"redacts": "$y"}}, "$y"),
        ("12", {"redacts": "$x", "content": {}}, "$x"),
        (None, {"redacts": "$x", "content": {}}, "$x"),
        ([], {"content": {"redacts": "$y"}}, "$y"),
        ("10", {"redacts": "$x", "content": {}, "unsigned": {"redacted_because": {}}}, "$x"),
        ("11", {"content": {}, "unsigned": {"redacted_because": {}}}, "$one"),
    ],
)
def test_a_redaction_withdraws_what_it_names(version: Any, fields: Native, target: str) -> None:
    reading = read(native(**{"content": {}, "type": "m.room.redaction", **fields}), room={"room_version": version})
    assert (reading.event.kind, reading.event.message, reading.loose) == (Kind.REDACTION, target, True)


@pytest.mark.parametrize("kind", ["m.room.message", "m.room.encrypted", "m.sticker", "m.reaction", "m.poll.start"])
def test_what_comes_emptied_is_a_redaction_of_itself(kind: str) -> None:
    reading = read(native({}, type=kind, unsigned={"redacted_because": {"event_id": "$r"}}))
    assert (reading.event.kind, reading.event.message, reading.loose) == (Kind.REDACTION, "$one", True)
    assert material_of(reading).text == ""


def test_a_reaction_is_about_its_message_and_keeps_its_key() -> None:
    reading = read(native(related(rel_type="m.annotation", event_id="$m", key="👍"), type="m.reaction"))
    assert (reading.event.kind, reading.event.message, reading.loose) == (Kind.REACTION, "$m", True)
    assert material_of(reading).tap_token == "👍"


# Encryption


def encrypted(**fields: Any) -> Native:
    return native({"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x", **fields}, type="m.room.encrypted")


def clear(content: Any, kind: Any = "m.room.message", **more: Any) -> Callable[[Any], Native]:
    return lambda _: {"type": kind, "content": content, **more}


def test_what_cannot_be_decrypted_yet_has_its_place_and_nothing_else() -> None:
    found = read(encrypted(**related(rel_type="m.thread", event_id="$root"))).event
    assert (found.kind, found.message, found.text) == (Kind.UNDECRYPTABLE, "$one", "")
    assert (found.destination.thread, found.sender) == ("$root", f"matrix:{ANN}")
    reading = read(encrypted(**related(rel_type="m.replace", event_id="$o")))
    assert (reading.event.kind, reading.event.message, reading.loose) == (Kind.UNDECRYPTABLE, "$o", True)


def test_a_decryption_that_fails_is_one_that_is_not_possible_yet() -> None:
    def broken(_: Any) -> Native:
        raise RuntimeError

    assert read(encrypted(), decrypt=broken).event.kind is Kind.UNDECRYPTABLE


def test_of_a_decrypted_event_only_type_and_content_come_from_inside() -> None:
    opened = clear(
        text("hi", **{"m.mentions": {"user_ids": [BOT]}}),
        sender=BOB,
        room_id="!other:example.org",
        event_id="$other",
        origin_server_ts=1,
        state_key="",
        unsigned={"redacted_because": {}},
    )
    reading = read(encrypted(**{"m.mentions": {}}), decrypt=opened)
    found = reading.event
    assert (found.kind, found.text, found.mentions_self) == (Kind.MESSAGE, "hi", True)
    assert (found.sender, found.message, found.destination.channel) == (f"matrix:{ANN}", "$one", ROOM)
    assert found.sent_at == datetime.fromtimestamp(STAMP / 1000, UTC)
    assert material_of(reading).text == "hi"


def test_an_empty_relation_inside_is_none() -> None:
    outside = related(rel_type="m.thread", event_id="$root")
    assert read(encrypted(**outside), decrypt=clear(text(**related()))).event.destination.thread == "$root"


@pytest.mark.parametrize("mark", ["m.forwarded", "org.matrix.msc2723.forwarded"])
def test_a_forwarded_text_addresses_nobody_and_commands_nothing(mark: str) -> None:
    found = read(native(text(f"!stop {BOT}", **{mark: {"sender": BOB}, "m.mentions": {"user_ids": [BOT, BOB]}}))).event
    assert (found.mentions_self, found.mentions_others, found.command) == (False, False, None)


def test_the_relation_stands_outside_unless_there_is_one_inside() -> None:
    outside = related(rel_type="m.thread", event_id="$root")
    assert read(encrypted(**outside), decrypt=clear(text())).event.destination.thread == "$root"
    assert read(encrypted(), decrypt=clear(text(**outside))).event.destination.thread == "$root"
    replaced = read(
        encrypted(**related(rel_type="m.replace", event_id="$o")),
        decrypt=clear({"msgtype": "m.text", "body": "* x", "m.new_content": text("now")}),
    ).event
    assert (replaced.kind, replaced.message, replaced.text) == (Kind.EDIT, "$o", "now")


@pytest.mark.parametrize(
    ("kind", "content", "found"),
    [
        ("m.room.redaction", {"redacts": "$x"}, Kind.SERVICE),
        ("m.room.tombstone", {"replacement_room": "!next:example.org"}, Kind.SERVICE),
        ("m.room.member", {"membership": "invite"}, Kind.SERVICE),
        ("m.room.encrypted", {"ciphertext": "x"}, Kind.MALFORMED),
        ("m.room.message", {}, Kind.MALFORMED),
        ("m.room.message", "text", Kind.MALFORMED),
        (5, text(), Kind.MALFORMED),
        ("m.reaction", related(rel_type="m.annotation", event_id="$m", key="x"), Kind.REACTION),
        ("m.sticker", {"body": "x", "url": "mxc://hs/1"}, Kind.MESSAGE),
    ],
)
def test_nothing_that_the_server_must_check_counts_from_inside(kind: Any, content: Any, found: Kind) -> None:
    reading = read(encrypted(), decrypt=clear(content, kind, state_key=BOT))
    assert (reading.event.kind, reading.migration) == (found, None)


# What can't be read


@pytest.mark.parametrize(
    "event",
    [
        None,
        5,
        [],
        "text",
        {},
        native(type=None),
        native(type=5),
        native(content=5),
        native({}),
        native({"body": "x"}),
        native({"msgtype": "m.text"}),
        native({"msgtype": [], "body": "x"}),
        native({"msgtype": "m.text", "body": ["x"]}),
        native({"msgtype": "m.image", "url": "mxc://hs/1"}),
        native(event_id=None),
        native(event_id=5),
        native(event_id=""),
        native(event_id="one"),
        native(event_id="$a b"),
        native(event_id="$" + "x" * 255),
        native(sender=None),
        native(sender=5),
        native(sender="alice"),
        native(sender="@alice"),
        native(sender="@:"),
        native(sender="@alice:example.org\n"),
        native(sender="@" + "a" * 250 + ":example.org"),
        native(sender=[ANN]),
        native(text(**related(rel_type="m.thread"))),
        native(text(**related(rel_type="m.thread", event_id=["$x"]))),
        native(text(**related(rel_type="m.replace", event_id="x"))),
        native({}, type="m.reaction"),
        native(related(rel_type="m.annotation", event_id="$m", key=5), type="m.reaction"),
        native(related(rel_type="m.annotation", event_id="$m", key=""), type="m.reaction"),
        native(related(rel_type="m.annotation", event_id="$m", key="x" * 300), type="m.reaction"),
        native(related(rel_type="m.annotation", key="x"), type="m.reaction"),
        native({}, type="m.room.redaction"),
        native({"redacts": 5}, type="m.room.redaction"),
        native(5, type="m.room.encrypted"),
        native(type="m.room.name", state_key="", event_id=None),
        native({"membership": "invite"}, type="m.room.member", state_key=BOT, sender=5),
    ],
)
def test_what_has_not_the_documented_shape_is_malformed_and_raises_nothing(event: Any) -> None:
    reading = read(event)
    found = reading.event
    assert (found.kind, found.origin, found.sender, found.sent_at) == (Kind.MALFORMED, Origin.UNKNOWN, None, NOW)
    assert (found.destination.channel, found.chat) == (ROOM, Chat.GROUP)
    assert material_of(reading).text == ""


@pytest.mark.parametrize("envelope", [None, [], "x", 5, {}, {"event": None}, {"room": 5, "event": {"content": {}}}])
def test_an_envelope_of_no_shape_is_malformed_and_stands_nowhere(envelope: Any) -> None:
    reading = facts.read(envelope, key="k", received_at=NOW, user_id=BOT)
    assert (reading.event.kind, reading.event.destination.channel) == (Kind.MALFORMED, facts.UNREADABLE)
    material_of(reading)


def test_the_gate_is_told_whether_the_bots_own_id_is_known() -> None:
    assert not read(native(), known=False).event.identity_known
    assert not read(None, known=False).event.identity_known


NAMES = [
    "type", "content", "event_id", "sender", "room_id", "state_key", "origin_server_ts", "unsigned", "redacts",
    "msgtype", "body", "format", "formatted_body", "filename", "url", "file", "info", "m.mentions", "user_ids",
    "m.relates_to", "m.in_reply_to", "rel_type", "m.new_content", "is_falling_back", "key", "membership",
    "room", "event", "members", "direct", "joined_members", "invited_members", "history", "reply", "name",
]  # fmt: skip
WORDS = [
    "m.room.message", "m.room.encrypted", "m.room.redaction", "m.room.member", "m.reaction", "m.sticker", "m.text",
    "m.image", "m.replace", "m.thread", "m.annotation", "org.matrix.custom.html", "invite", BOT, ANN, ROOM, "$one",
    "mxc://hs/1", f'<a href="https://matrix.to/#/{BOT}">x</a> !stop', f"{BOT}: !stop", "<![<!", "&#" + "9" * 5000 + ";",
]  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(WORDS)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner, max_size=6),
    max_leaves=25,
)


RICH = {
    "msgtype": "m.text",
    "body": f"{FALLBACK}{BOT} !stop",
    "format": "org.matrix.custom.html",
    "formatted_body": f'<a href="https://matrix.to/#/{BOT}">x</a> !stop',
    "m.mentions": {"user_ids": [BOT]},
    "m.new_content": {"msgtype": "m.image", "body": "x", "filename": "y", "url": "mxc://hs/1", "info": {"size": 1}},
    "m.relates_to": {"rel_type": "m.thread", "event_id": "$r", "key": "x", "m.in_reply_to": {"event_id": "$p"}},
}
REPLACING = {**RICH, **related(rel_type="m.replace", event_id="$o")}
EVENTS = [
    native(RICH),
    native({name: value for name, value in RICH.items() if name != "m.mentions"}),
    native(REPLACING),
    native({"msgtype": "m.file", "body": "x", "file": FILE, "info": {"mimetype": "a/b"}}),
    native(related(rel_type="m.annotation", event_id="$m", key="x"), type="m.reaction"),
    native({"redacts": "$x"}, type="m.room.redaction", redacts="$x"),
    native({"membership": "invite", "is_direct": True}, type="m.room.member", state_key=BOT),
    native({"replacement_room": "!x"}, type="m.room.tombstone", state_key="", unsigned={"redacted_because": {}}),
    encrypted(**related(rel_type="m.replace", event_id="$o")),
]
SHAPES = [
    {
        "room": {"room_id": ROOM, "members": 2, "direct": True, "joined_members": [BOT, ANN], "room_version": "11"},
        "event": event,
        "reply": {"sender": BOT},
        "history": False,
    }
    for event in EVENTS
]


def _paths(value: Any) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return [()]
    return [(), *((name, *rest) for name, inner in value.items() for rest in _paths(inner))]


def _changed(value: Any, path: tuple[str, ...], new: Any) -> Any:
    """The value with another one at a place of it, where that is still there."""
    if not path:
        return new
    if not isinstance(value, dict):
        return value
    return {**value, path[0]: _changed(value.get(path[0]), path[1:], new)}


@st.composite
def _mutants(draw: st.DrawFn, shapes: list[Any]) -> Any:
    value = shape = draw(st.sampled_from(shapes))
    for path in draw(st.lists(st.sampled_from(_paths(shape)[1:]), max_size=3)):
        value = _changed(value, path, draw(JSON))
    return value


@given(envelope=JSON | _mutants(SHAPES) | _mutants(SHAPES), inside=JSON | _mutants(EVENTS))
@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_nothing_that_is_json_raises(envelope: Any, inside: Any) -> None:
    reading = facts.read(envelope, key="k", received_at=NOW, user_id=BOT, decrypt=lambda _: inside)
    assert isinstance(reading.event.text, str)
    assert reading.event.sent_at <= NOW
    assert reading.event.destination.workspace == BOT
    material_of(reading)


# The cases of public bug reports, as far as facts alone decide them

CASES = Path(__file__).parents[3] / "cases" / "cases.jsonl"
SHOWN: dict[str, Callable[[Any], bool]] = {
    "explicit_mention": lambda found: found.mentions_self,
    "addressed_to_other": lambda found: found.mentions_others and not found.mentions_self,
    "addressed_to_other_human": lambda found: not found.mentions_self,
    "no_address": lambda found: not found.mentions_self and found.reply is None and found.chat is Chat.GROUP,
    "room_mention_only": lambda found: not found.mentions_self and not found.mentions_others,
    "mention_only_in_quote": lambda found: not found.mentions_self and found.text == "agreed",
    "direct_reply": lambda found: found.reply is not None and found.reply.author is Author.SELF,
    "reply_target_unknown": lambda found: found.reply is not None and found.reply.author is Author.UNKNOWN,
    "thread_fallback": lambda found: found.apparent_reply and found.reply is None,
    "direct_chat": lambda found: found.chat is Chat.DIRECT,
    "notice": lambda found: found.kind is Kind.NOTICE,
    "edit": lambda found: found.kind is Kind.EDIT,
    "redacted": lambda found: found.kind is Kind.REDACTION,
    "service": lambda found: found.kind is Kind.SERVICE,
    "invite_not_authorised": lambda found: found.kind is Kind.INVITE,
    "undecryptable": lambda found: found.kind is Kind.UNDECRYPTABLE,
    "history": lambda found: found.sent_at < NOW,
    "identity_unknown": lambda found: found.origin is Origin.SELF,
}


def _cases() -> list[tuple[str, Native, Native, str]]:
    rows = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["input"].get("kind") != "matrix_events":
            continue
        known = {one["event_id"]: one for one in case["input"].get("known_events", [])}
        reasons = {one["ref"]: one["reason"] for one in case["expected"]["decisions"]}
        for event in case["input"]["events"]:
            target = event["content"].get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id")
            reply = {"reply": {"sender": known[target]["sender"]}} if target in known else {}
            rows.append(
                (
                    case["id"],
                    {"room": case["input"]["room"], "event": event, **reply},
                    case["input"]["bot"],
                    reasons[event["event_id"]],
                )
            )
    return rows


@pytest.mark.parametrize(("case", "envelope", "bot", "reason"), _cases())
def test_public_cases_show_their_reason_in_the_facts(case: str, envelope: Native, bot: Native, reason: str) -> None:
    user_id = bot["user_id"] or BOT
    found = facts.read(envelope, key="k", received_at=NOW, user_id=user_id).event
    assert SHOWN[reason](found), (case, found)


def test_a_command_of_a_direct_chat_is_for_nobody_else() -> None:
    room = {"room_id": ROOM, "members": 2, "direct": True}
    found = read(native(text("!deny", **{"m.mentions": {"user_ids": [BOB]}})), room=room).event
    assert found.command == Command(name="deny", target=Target.NOBODY)
