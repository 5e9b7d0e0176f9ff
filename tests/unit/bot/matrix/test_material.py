"""What a request is made of, out of envelopes."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.channels.matrix import facts
from bot.channels.matrix.material import material_of
from bot.model.inbound import Material
from bot.model.request import Attachment

BOT = "@relay:example.org"
ANN = "@alice:example.org"
NOW = datetime(2026, 9, 21, 14, 0, tzinfo=UTC)
ROOM = {"room_id": "!lab:example.org", "name": "Lab \u202e Room"}
FILE = {
    "url": "mxc://example.org/SYN1",
    "v": "v2",
    "iv": "aXY",
    "key": {"alg": "A256CTR", "kty": "oct", "k": "a2V5", "ext": True, "key_ops": ["decrypt"]},
    "hashes": {"sha256": "aGFzaA", "sha512": "x"},
    "odd": ["x"],
}


def material(content: Any, *, kind: str = "m.room.message", **envelope: Any) -> Material:
    event = {"type": kind, "event_id": "$one", "room_id": ROOM["room_id"], "sender": ANN, "content": content}
    return material_of(facts.read({"room": ROOM, "event": event, **envelope}, key="k", received_at=NOW, user_id=BOT))


def attachment(**content: Any) -> Attachment | None:
    found = material({"msgtype": "m.image", "body": "chart.png", "url": FILE["url"], **content}).attachments
    return found[0] if found else None


def test_a_text_comes_with_its_labels_apart_and_as_they_are() -> None:
    content = {"msgtype": "m.text", "body": "**hello**"}
    assert material(content) == Material(text="**hello**", channel_title="Lab \u202e Room")
    assert material(content, sender_name="Ann\u202e").sender_name == "Ann\u202e"
    assert material(content, sender_name=["Ann"]).sender_name == ""
    named = {**ROOM, "member_names": {ANN: "Ann", BOT: "Relay"}}
    assert material(content, room=named).sender_name == "Ann"
    assert material(content, room={**ROOM, "name": None}).channel_title == ""


def test_the_words_are_without_the_fallback_of_a_reply() -> None:
    content = {
        "msgtype": "m.text",
        "body": f"> <{BOT}> did you check?\n\nyes, all clean",
        "m.relates_to": {"m.in_reply_to": {"event_id": "$p"}},
    }
    assert (material(content).text, material(content).quoted) == ("yes, all clean", "")


def test_a_file_can_be_fetched_by_its_handle() -> None:
    found = attachment(info={"mimetype": "image/png", "size": 5})
    assert found == Attachment(
        handle='{"mxc":"mxc://example.org/SYN1"}', name="chart.png", media_type="image/png", size=5
    )


def test_an_encrypted_file_brings_what_decrypts_it_and_nothing_else() -> None:
    found = attachment(url=None, file=FILE)
    assert found is not None
    assert json.loads(found.handle) == {
        "url": FILE["url"],
        "v": "v2",
        "iv": "aXY",
        "key": {"alg": "A256CTR", "kty": "oct", "k": "a2V5"},
        "hashes": {"sha256": "aGFzaA"},
    }


@pytest.mark.parametrize(
    "content",
    [
        {"url": None},
        {"url": 5},
        {"url": "https://example.org/x"},
        {"url": "mxc://example.org"},
        {"url": "mxc://example.org/../x"},
        {"url": "mxc://exa mple/x"},
        {"url": "mxc://example.org/" + "x" * 300},
        {"file": {}},
        {"file": {**FILE, "url": "x"}},
        {"file": {**FILE, "key": None}},
        {"file": {**FILE, "key": {"k": 5}}},
        {"file": {**FILE, "iv": None}},
        {"file": {**FILE, "hashes": []}},
    ],
)
def test_a_file_that_cannot_be_fetched_is_left_out(content: dict[str, Any]) -> None:
    assert attachment(**content) is None


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ({}, "chart.png"),
        ({"filename": "real.png"}, "real.png"),
        ({"filename": "real.png", "body": "look"}, "real.png"),
        ({"filename": 5}, "chart.png"),
        ({"body": ""}, "image"),
        ({"body": " "}, "image"),
        ({"body": "", "msgtype": "m.file"}, "file"),
        ({"body": "\u202egnp.exe"}, "\u202egnp.exe"),
        ({"body": "x" * 1000}, "x" * 255),
    ],
)
def test_a_file_has_the_name_that_it_was_given(content: dict[str, Any], name: str) -> None:
    found = attachment(**content)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("info", "media_type", "size"),
    [
        (None, "application/octet-stream", None),
        ([], "application/octet-stream", None),
        ({"mimetype": 5, "size": "5"}, "application/octet-stream", None),
        ({"mimetype": "image/png\r\nX: y", "size": True}, "application/octet-stream", None),
        ({"mimetype": "image", "size": -1}, "application/octet-stream", None),
        ({"mimetype": "Audio/OGG; codecs=opus", "size": 0}, "audio/ogg", 0),
        (
            {"mimetype": "application/vnd.oasis.opendocument.text", "size": 10**30},
            "application/vnd.oasis.opendocument.text",
            None,
        ),
        ({"size": 1.5}, "application/octet-stream", None),
    ],
)
def test_what_is_said_of_a_file_is_taken_where_it_can_be(info: Any, media_type: str, size: int | None) -> None:
    found = attachment(info=info)
    assert found is not None
    assert (found.media_type, found.size) == (media_type, size)


def test_a_sticker_is_a_file() -> None:
    found = material({"body": "Hi!", "url": "mxc://hs/1", "info": {"mimetype": "image/webp"}}, kind="m.sticker")
    assert found.text == ""
    assert found.attachments == (Attachment(handle='{"mxc":"mxc://hs/1"}', name="Hi!", media_type="image/webp"),)


def test_an_edit_brings_words_and_files_as_they_stand_now() -> None:
    relation = {"m.relates_to": {"rel_type": "m.replace", "event_id": "$o"}}
    now = {"msgtype": "m.image", "body": "look", "filename": "b.png", "url": "mxc://hs/2"}
    content = {"msgtype": "m.image", "body": "* a.png", "url": "mxc://hs/1", "m.new_content": now, **relation}
    found = material(content)
    assert found.text == "look"
    assert [(one.handle, one.name) for one in found.attachments] == [('{"mxc":"mxc://hs/2"}', "b.png")]


def test_a_decrypted_event_brings_its_clear_content() -> None:
    event = {"type": "m.room.encrypted", "event_id": "$one", "sender": ANN, "content": {"ciphertext": "x"}}
    clear = {"type": "m.room.message", "content": {"msgtype": "m.file", "body": "a.pdf", "file": FILE}}
    reading = facts.read({"room": ROOM, "event": event}, key="k", received_at=NOW, user_id=BOT, decrypt=lambda _: clear)
    assert [one.name for one in material_of(reading).attachments] == ["a.pdf"]


def test_a_reaction_brings_its_key() -> None:
    content = {"m.relates_to": {"rel_type": "m.annotation", "event_id": "$m", "key": "1️⃣"}}
    assert material(content, kind="m.reaction") == Material(tap_token="1️⃣", channel_title="Lab \u202e Room")


@pytest.mark.parametrize("kind", ["m.room.encrypted", "m.room.name", "m.call.invite"])
def test_what_says_nothing_has_no_material(kind: str) -> None:
    assert material({"body": "x"}, kind=kind) == Material()
    assert material(5, kind=kind) == Material()
