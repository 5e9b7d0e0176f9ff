"""Facts out of updates: tables of what counts as evidence and what only looks like it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from bot.channels.telegram import facts
from bot.channels.telegram.channel import TelegramChannel
from bot.channels.telegram.identity import identity_of
from bot.channels.telegram.intake import arrival_of
from bot.model.inbound import Migration, Reading, Stored
from policy.destination import Destination
from policy.event import Author, Chat, Command, Kind, Origin, Reply, Target

BOT = 7001
NOW = datetime(2026, 9, 21, 14, 0, tzinfo=UTC)
ANN = {"id": 501, "is_bot": False, "first_name": "Ann", "username": "ann_t", "language_code": "bg"}
BOB = {"id": 502, "is_bot": False, "first_name": "Bob"}
SELF = {"id": BOT, "is_bot": True, "first_name": "Desk", "username": "desk_bot"}
OTHER_BOT = {"id": 7002, "is_bot": True, "first_name": "Other", "username": "other_bot"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Room"}
FORUM = {"id": -1002, "type": "supergroup", "title": "Forum", "is_forum": True}
CHANNEL = {"id": -1009, "type": "channel", "title": "News"}
PRIVATE = {"id": 501, "type": "private", "first_name": "Ann"}
ME = identity_of(BOT, "Desk_Bot")


def message(text: str | None = "hello", **fields: Any) -> dict[str, Any]:
    body = {"message_id": 10, "from": ANN, "chat": GROUP, "date": 1790000000, **fields}
    if text is not None:
        body["text"] = text
    return {key: value for key, value in body.items() if value is not None}


def read(update: dict[str, Any], *, known: bool = True) -> Reading:
    return facts.read(update, key="1", received_at=NOW, bot_id=BOT, identity=ME if known else None)


def event(text: str | None = "hello", **fields: Any) -> Any:
    return read({"update_id": 1, "message": message(text, **fields)}).event


def mention(offset: int, length: int, kind: str = "mention", **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


def test_a_plain_message_becomes_plain_facts() -> None:
    found = event()
    assert found.destination == Destination(platform="telegram", workspace="7001", channel="-1001")
    assert (found.chat, found.kind, found.origin) == (Chat.GROUP, Kind.MESSAGE, Origin.HUMAN)
    assert (found.sender, found.message, found.text) == ("telegram:501", "10", "hello")
    assert found.sent_at == datetime.fromtimestamp(1790000000, UTC)
    assert not (found.mentions_self)
    assert not (found.mentions_others)
    assert not (found.apparent_reply)
    assert not (found.truncated)
    assert found.command is None
    assert found.reply is None


@pytest.mark.parametrize(
    ("text", "entity", "mine", "others"),
    [
        ("@desk_bot hi", mention(0, 9), True, False),
        ("@DESK_BOT hi", mention(0, 9), True, False),
        ("😀😀 @desk_bot", mention(5, 9), True, False),
        ("@desk_bot2 hi", mention(0, 10), False, True),
        ("@desk_bo hi", mention(0, 8), False, True),
        ("Desk hi", mention(0, 4, "text_mention", user=SELF), True, False),
        ("Bob hi", mention(0, 3, "text_mention", user=BOB), False, True),
        ("a@desk_bot.example", mention(0, 18, "email"), False, False),
        ("@desk_bot", mention(0, 9, "text_link", url="https://t.me/desk_bot"), False, False),
        ("@desk_bot", mention(0, 9, "code"), False, False),
        ("hi", mention(0, 100), False, False),
        ("hi", mention(-3, 2), False, False),
        ("hi", mention(0, 0), False, False),
        ("😀@desk_bot", mention(1, 9), False, False),  # through a surrogate pair
        ("hi", mention(True, 2), False, False),
    ],
)
def test_only_an_entity_that_covers_exactly_the_name_is_a_mention(
    text: str,
    entity: dict[str, Any],
    mine: bool,
    others: bool,
) -> None:
    found = event(text, entities=[entity])
    assert (found.kind, found.mentions_self, found.mentions_others) == (Kind.MESSAGE, mine, others)


@pytest.mark.parametrize("aside", ["code", "pre", "blockquote", "expandable_blockquote"])
def test_a_mention_inside_code_or_a_quote_neither_grants_nor_vetoes(aside: str) -> None:
    text = "@desk_bot @ann_t said"
    found = event(text, entities=[mention(0, 16, aside), mention(0, 9), mention(10, 6)])
    assert not found.mentions_self
    assert not found.mentions_others


def test_a_mention_beside_a_quote_counts() -> None:
    found = event("quoted\n@desk_bot", entities=[mention(0, 6, "blockquote"), mention(7, 9)])
    assert found.mentions_self


def test_a_caption_is_read_like_a_text() -> None:
    found = event(None, photo=[{"file_id": "a"}], caption="@desk_bot look", caption_entities=[mention(0, 9)])
    assert (found.mentions_self, found.attachments, found.text) == (True, 1, "@desk_bot look")


@pytest.mark.parametrize("origin", [{"forward_origin": {"type": "user"}}, {"forward_date": 1}])
def test_a_forwarded_text_addresses_nobody_and_commands_nothing(origin: dict[str, Any]) -> None:
    entities = [mention(0, 5, "bot_command"), mention(6, 9), mention(16, 6)]
    found = event("/stop @desk_bot @ann_t", entities=entities, **origin)
    assert not found.mentions_self
    assert not found.mentions_others
    assert found.command is None


@pytest.mark.parametrize(
    ("text", "offset", "command"),
    [
        ("/status@desk_bot", 0, Command(name="status", target=Target.SELF)),
        ("/STATUS@Desk_Bot", 0, Command(name="status", target=Target.SELF)),
        ("/status@other_bot", 0, Command(name="status", target=Target.OTHER)),
        ("/status", 0, Command(name="status", target=Target.NOBODY)),
        ("x /status", 2, None),
        ("/@desk_bot", 0, None),
    ],
)
def test_a_command_stands_at_the_very_start_and_names_whom_it_names(
    text: str, offset: int, command: Command | None
) -> None:
    found = event(text, entities=[mention(offset, len(text) - offset, "bot_command")])
    assert found.command == command


def test_without_its_own_name_no_command_is_the_bots_and_the_gate_is_told() -> None:
    update = {"update_id": 1, "message": message("/a@desk_bot", entities=[mention(0, 11, "bot_command")])}
    found = read(update, known=False).event
    assert not found.identity_known
    assert found.command == Command(name="a", target=Target.OTHER)


def original(**fields: Any) -> dict[str, Any]:
    return message("earlier", **{"message_id": 5, "from": SELF, **fields})


TOPIC = {"chat": FORUM, "message_thread_id": 77, "is_topic_message": True}


@pytest.mark.parametrize(
    ("fields", "author"),
    [
        ({"reply_to_message": original()}, Author.SELF),
        ({"reply_to_message": original(**{"from": BOB})}, Author.OTHER),
        ({"reply_to_message": original(**{"from": OTHER_BOT})}, Author.OTHER),
        ({"reply_to_message": original(via_bot=SELF, **{"from": BOB})}, Author.OTHER),
        ({"reply_to_message": original(via_bot=SELF)}, Author.OTHER),
        ({"reply_to_message": original(sender_chat=GROUP, **{"from": None})}, Author.OTHER),
        ({"reply_to_message": original(**{"from": None})}, Author.UNKNOWN),
        ({"reply_to_message": {"message_id": 5, "chat": GROUP, "date": 0}}, Author.UNKNOWN),
        ({**TOPIC, "reply_to_message": original(chat=FORUM)}, Author.SELF),
        ({"chat": FORUM, "message_thread_id": 5, "reply_to_message": original(chat=FORUM)}, Author.SELF),
    ],
)
def test_a_true_reply_carries_the_real_author(fields: dict[str, Any], author: Author) -> None:
    found = event(**fields)
    assert found.reply == Reply(message="5", author=author)
    assert not found.apparent_reply


@pytest.mark.parametrize(
    "fields",
    [
        {**TOPIC, "reply_to_message": original(message_id=77, chat=FORUM)},
        {"chat": FORUM, "reply_to_message": original(chat=FORUM, forum_topic_created={"name": "x"})},
        {"external_reply": {"origin": {"type": "user", "sender_user": SELF, "date": 1}, "message_id": 88}},
        {"reply_to_message": original(is_automatic_forward=True)},
        {"reply_to_message": original(chat=FORUM)},
        {"reply_to_message": original(), "via_bot": OTHER_BOT},
        {"reply_to_story": {"chat": PRIVATE, "id": 3}},
    ],
)
def test_what_only_looks_like_a_reply_is_none(fields: dict[str, Any]) -> None:
    found = event(**fields)
    assert found.reply is None
    assert found.apparent_reply


def test_what_was_sent_through_an_inline_bot_commands_nothing() -> None:
    said = {"text": "/stop", "entities": [{"type": "bot_command", "offset": 0, "length": 5}]}
    assert event(**said).command is not None
    assert event(**said, via_bot=OTHER_BOT).command is None


@pytest.mark.parametrize(
    ("fields", "thread"),
    [
        (TOPIC, "77"),
        ({"chat": FORUM, "message_thread_id": 300}, None),
        ({"chat": FORUM, "message_thread_id": 1, "is_topic_message": True}, None),
        ({"chat": PRIVATE, "message_thread_id": 9, "is_topic_message": True}, "9"),
    ],
)
def test_only_a_topic_is_a_thread(fields: dict[str, Any], thread: str | None) -> None:
    assert event(**fields).destination.thread == thread


ANONYMOUS = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
CHANNEL_BOT = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}


@pytest.mark.parametrize(
    ("fields", "origin", "sender"),
    [
        ({"from": OTHER_BOT}, Origin.BOT, "telegram:7002"),
        ({"from": SELF}, Origin.SELF, "telegram:7001"),
        ({"from": ANONYMOUS, "sender_chat": GROUP}, Origin.ANONYMOUS, None),
        ({"from": ANONYMOUS}, Origin.ANONYMOUS, None),
        ({"from": CHANNEL_BOT, "sender_chat": CHANNEL}, Origin.ANONYMOUS, None),
        ({"from": {"id": 777000, "is_bot": False}}, Origin.SYNTHETIC, None),
        ({"from": None}, Origin.UNKNOWN, None),
        ({"from": {"id": 7, "is_bot": 1}}, Origin.BOT, "telegram:7"),
    ],
)
def test_a_stand_in_is_never_a_person(fields: dict[str, Any], origin: Origin, sender: str | None) -> None:
    found = event(**fields)
    assert (found.origin, found.sender) == (origin, sender)


def test_a_post_of_a_linked_channel_is_an_automatic_forward() -> None:
    service = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
    fields = {"from": service, "sender_chat": CHANNEL, "is_automatic_forward": True, "forward_origin": {}}
    found = event("@desk_bot", entities=[mention(0, 9)], **fields)
    assert (found.kind, found.sender, found.mentions_self) == (Kind.AUTOMATIC_FORWARD, None, False)


@pytest.mark.parametrize(
    ("field", "fields", "chat", "kind"),
    [
        ("message", {"chat": PRIVATE}, Chat.DIRECT, Kind.MESSAGE),
        ("edited_message", {"edit_date": 1790000100}, Chat.GROUP, Kind.EDIT),
        ("business_message", {"chat": PRIVATE, "business_connection_id": "b"}, Chat.DELEGATED, Kind.MESSAGE),
        ("edited_business_message", {"chat": PRIVATE, "business_connection_id": "b"}, Chat.DELEGATED, Kind.EDIT),
        ("channel_post", {"chat": CHANNEL, "from": None}, Chat.BROADCAST, Kind.MESSAGE),
        ("edited_channel_post", {"chat": CHANNEL, "from": None}, Chat.BROADCAST, Kind.EDIT),
    ],
)
def test_each_kind_of_message_is_told_apart(field: str, fields: dict[str, Any], chat: Chat, kind: Kind) -> None:
    found = read({"update_id": 1, field: message(**fields)}).event
    assert (found.chat, found.kind) == (chat, kind)


def test_an_edit_happened_when_it_was_made() -> None:
    found = read({"update_id": 1, "edited_message": message(edit_date=1790000100)}).event
    assert found.sent_at == datetime.fromtimestamp(1790000100, UTC)


@pytest.mark.parametrize(
    "fields",
    [{"new_chat_members": [SELF]}, {"pinned_message": {}}, {"forum_topic_created": {}}, {"something_new": {}}, {}],
)
def test_a_message_without_content_is_a_service_message(fields: dict[str, Any]) -> None:
    assert event(None, **fields).kind is Kind.SERVICE


@pytest.mark.parametrize(
    ("field", "count"),
    [
        ("document", 1),
        ("voice", 1),
        ("audio", 1),
        ("video", 1),
        ("video_note", 1),
        ("sticker", 1),
        ("poll", 0),
        ("location", 0),
        ("contact", 0),
    ],
)
def test_files_are_counted_and_other_content_is_still_a_message(field: str, count: int) -> None:
    found = event(None, **{field: {"file_id": "x"}})
    assert (found.kind, found.attachments) == (Kind.MESSAGE, count)


def test_an_animation_is_one_file_although_two_fields_show_it() -> None:
    assert event(None, animation={"file_id": "x"}, document={"file_id": "x"}).attachments == 1


def test_a_migration_is_told_by_both_of_its_messages() -> None:
    old = {"id": -41, "type": "group", "title": "Small"}
    new = {"id": -10077, "type": "supergroup", "title": "Small"}
    first = read({"update_id": 1, "message": message(None, chat=old, migrate_to_chat_id=-10077)})
    second = read({"update_id": 2, "message": message(None, chat=new, migrate_from_chat_id=-41)})
    assert first.migration == second.migration == Migration(old="-41", new="-10077")
    assert first.event.kind is second.event.kind is Kind.SERVICE


@pytest.mark.parametrize(
    ("text", "truncated"),
    [("a" * 4096, True), ("a" * 3900, True), ("a" * 3000, False), ("😀" * 2048, True), ("😀" * 1800, False)],
)
def test_a_text_as_long_as_clients_make_parts_is_marked(text: str, truncated: bool) -> None:
    assert event(text).truncated is truncated


@pytest.mark.parametrize(
    "tapped",
    [message(**{"from": SELF}), {"message_id": 10, "chat": GROUP, "date": 0}],
    ids=["accessible", "inaccessible"],
)
def test_a_tap_happens_where_its_button_stands_and_when_it_arrives(tapped: dict[str, Any]) -> None:
    query = {"id": "9", "from": ANN, "message": tapped, "chat_instance": "1", "data": "token"}
    found = read({"update_id": 1, "callback_query": query}).event
    assert (found.kind, found.origin, found.sender) == (Kind.TAP, Origin.HUMAN, "telegram:501")
    assert (found.destination.channel, found.message, found.sent_at) == ("-1001", "10", NOW)


def test_a_tap_in_a_topic_keeps_the_topic() -> None:
    query = {"id": "9", "from": ANN, "message": message(**TOPIC), "data": "token"}
    assert read({"update_id": 1, "callback_query": query}).event.destination.thread == "77"


def test_a_membership_is_a_service_event_and_a_reaction_a_reaction() -> None:
    change = {"chat": GROUP, "from": ANN, "date": 1790000000}
    assert read({"update_id": 1, "my_chat_member": change}).event.kind is Kind.SERVICE
    reaction = {"chat": GROUP, "user": ANN, "date": 1790000000, "message_id": 4}
    found = read({"update_id": 1, "message_reaction": reaction}).event
    assert (found.kind, found.message) == (Kind.REACTION, "4")


def test_an_unknown_kind_with_a_chat_is_a_service_event() -> None:
    assert read({"update_id": 1, "brand_new_thing": {"chat": GROUP}}).event.kind is Kind.SERVICE


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"update_id": 1},
        {"update_id": 1, "message": None},
        {"update_id": 1, "message": 5},
        {"update_id": 1, "message": []},
        {"update_id": 1, "message": message(chat={"id": -1001})},
        {"update_id": 1, "message": message(chat={"id": -1001, "type": "new_type"})},
        {"update_id": 1, "message": message(chat={"id": "-1001", "type": "group"})},
        {"update_id": 1, "message": message(chat={"id": True, "type": "group"})},
        {"update_id": 1, "message": message(date=None)},
        {"update_id": 1, "message": message(date="today")},
        {"update_id": 1, "message": message(date=10**30)},
        {"update_id": 1, "message": message(message_id="x")},
        {"update_id": 1, "message": message(text=5)},
        {"update_id": 1, "message": message(text=["a"])},
        {"update_id": 1, "message": message(entities=5)},
        {"update_id": 1, "message": message(entities=[5])},
        {"update_id": 1, "message": message(entities=[{"type": "mention"}])},
        {"update_id": 1, "message": message(entities=[{"type": []}])},
        {"update_id": 1, "message": message(**{"from": {"id": 5}})},
        {"update_id": 1, "message": message(**{"from": "ann"})},
        {"update_id": 1, "message": message(reply_to_message=7)},
        {"update_id": 1, "message": message(None, photo=[], media_group_id=5)},
        {"update_id": 1, "message": message(None, migrate_to_chat_id="x")},
        {"update_id": 1, "callback_query": {"id": "9", "from": ANN, "inline_message_id": "i", "data": "x"}},
        {"update_id": 1, "callback_query": {"id": "9", "message": message()}},
        {"update_id": 1, "inline_query": {"id": "9", "from": ANN, "query": ""}},
        {"update_id": 1, "brand_new_thing": "x"},
    ],
)
def test_what_has_not_the_documented_shape_is_malformed_and_raises_nothing(update: dict[str, Any]) -> None:
    found = read(update).event
    assert (found.kind, found.origin, found.sender, found.sent_at) == (Kind.MALFORMED, Origin.UNKNOWN, None, NOW)


def test_a_malformed_event_still_belongs_to_its_chat_if_that_can_be_read() -> None:
    assert read({"update_id": 1, "message": message(date="today")}).event.destination.channel == "-1001"
    assert read({"update_id": 1, "message": 5}).event.destination.channel == facts.UNREADABLE


def channel() -> TelegramChannel:
    return TelegramChannel(token=f"{BOT}:secret", clock=lambda: NOW)


def stored(raw: bytes) -> Stored:
    arrival = arrival_of({"update_id": 1}, bot_id=BOT, received_at=NOW)
    return Stored(id=1, account="telegram:7001", arrival=type(arrival)(key="1", lane="x", raw=raw, received_at=NOW))


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"[1]", b'"text"', b"\xff\xfe", b"[" * 100_000])
def test_bytes_that_are_no_update_are_malformed(raw: bytes) -> None:
    assert channel().read(stored(raw)).event.kind is Kind.MALFORMED


def test_a_lone_surrogate_in_a_text_is_read() -> None:
    raw = json.dumps({"update_id": 1, "message": message("half \ud83d")}).encode()
    assert channel().read(stored(raw)).event.text == "half \ud83d"


@pytest.mark.parametrize("text", ["half \ud83d", 10**40, {"deep": [None, 1.5, True]}])
def test_an_arrival_keeps_the_update_as_it_came(text: Any) -> None:
    update = {"update_id": 5, "message": {"chat": {"id": -1001}, "text": text}}
    arrival = arrival_of(update, bot_id=BOT, received_at=NOW)
    assert (arrival.key, arrival.lane) == ("5", "telegram:7001:-1001")
    assert json.loads(arrival.raw) == update


@pytest.mark.parametrize("update", [{}, {"update_id": "5"}, {"update_id": True}, "text", None, [1]])
def test_an_update_without_a_number_has_a_key_and_a_lane_of_its_own(update: Any) -> None:
    first, again = (arrival_of(update, bot_id=BOT, received_at=NOW) for _ in range(2))
    assert first.key == again.key
    assert first.key.startswith("unnumbered:")
    assert first.key in first.lane


def test_the_gate_is_shut_until_the_platform_has_told_the_bots_name() -> None:
    raw = orjson.dumps({"update_id": 1, "message": message()})
    assert not channel().read(stored(raw)).event.identity_known


CASES = Path(__file__).parents[2] / "cases" / "cases.jsonl"
SHOWN = {
    "explicit_mention": lambda found: found.mentions_self,
    "addressed_to_other": lambda found: found.mentions_others or found.command.target is Target.OTHER,
    "addressed_to_other_human": lambda found: found.mentions_others,
    "directed_command": lambda found: found.command.target is Target.SELF,
    "unrecognised_command": lambda found: found.command.target is Target.SELF,
    "direct_reply": lambda found: found.reply.author is Author.SELF,
    "reply_to_other": lambda found: found.reply.author is Author.OTHER,
    "reply_to_other_human": lambda found: found.reply.author is Author.OTHER,
    "mention_only_in_quote": lambda found: not found.mentions_self and not found.mentions_others,
    "topic_root_is_not_a_reply": lambda found: found.apparent_reply,
    "external_reply_is_not_direct": lambda found: found.apparent_reply,
    "album_part": lambda found: found.batch is not None and found.attachments == 1,
    "direct_chat": lambda found: found.chat is Chat.DIRECT and found.origin is Origin.HUMAN,
    "automatic_forward": lambda found: found.kind is Kind.AUTOMATIC_FORWARD,
    "bot_origin": lambda found: found.origin is Origin.BOT,
    "business_not_enabled": lambda found: found.chat is Chat.DELEGATED,
    "service": lambda found: found.kind is Kind.SERVICE,
    "edit_of_seen_message": lambda found: found.kind is Kind.EDIT,
    "possible_fragment": lambda found: found.truncated and found.mentions_self,
    "fragment": lambda found: not found.truncated,
    "no_address": lambda found: not (found.mentions_self or found.mentions_others or found.command or found.reply),
    "identity_unknown": lambda found: not found.identity_known,
    None: lambda found: found.kind is not Kind.MALFORMED and not found.mentions_self,
}
"""What must be seen in the facts for a case's reason to be possible."""


def addressing_cases() -> list[Any]:
    lines = CASES.read_text(encoding="utf-8").splitlines() if CASES.exists() else []
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines) if case["group"] == "A"]


@pytest.mark.parametrize("case", addressing_cases())
def test_the_facts_of_a_reported_case_carry_its_reason(case: dict[str, Any]) -> None:
    told = case["input"].get("get_me", [case["input"]["bot"]])[-1]  # what the platform says of the bot at last
    me = identity_of(case["input"]["bot"]["id"], told["username"]) if "username" in told else None
    updates = {update["update_id"]: update for update in case["input"]["updates"]}
    for expected in case["expected"]["decisions"]:
        found = facts.read(
            updates[expected["ref"]],
            key=str(expected["ref"]),
            received_at=NOW,
            bot_id=case["input"]["bot"]["id"],
            identity=me,
        ).event
        assert SHOWN[expected.get("reason")](found), expected
