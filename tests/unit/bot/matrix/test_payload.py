"""The changes that a part goes through on its way."""

from bot.channels.matrix import payload, presenting
from bot.channels.matrix.payload import decode
from bot.channels.matrix.splitting import LIMIT_BYTES
from bot.model.output import Final, OutFile
from bot.model.part import Action, Part
from bot.ports.channel import Reply
from forms.card import Button, Card
from policy.boundary import Speech
from policy.destination import Destination

ROOM = Destination(platform="matrix", workspace="@relay:example.org", channel="!lab:example.org")
THREAD = Destination(platform="matrix", workspace="@relay:example.org", channel="!lab:example.org", thread="$root")
PDF = OutFile(name="a.pdf", media_type="application/pdf", content=b"pdf")


def parts_of(answer: Final, place: Destination = ROOM, speech: Speech = Speech.FINAL) -> tuple[Part, ...]:
    return presenting.present(speech, answer, to=Reply(destination=place, message="$ask"))


def test_the_same_document_has_the_same_bytes_however_it_was_made():
    assert payload.encode({"b": 1, "a": {"d": 2, "c": 3}}) == payload.encode({"a": {"c": 3, "d": 2}, "b": 1})


def test_the_first_words_become_the_final_form_of_the_message_that_has_been_growing():
    first, *rest = parts_of(Final(text="**word** " * 10_000), THREAD)
    edit, *others = payload.final_edit((first, *rest), "$growing")
    before, after = decode(first), decode(edit)
    assert edit.action is Action.EDIT
    assert after["txn"] == before["txn"]
    assert after["content"]["m.relates_to"] == {"rel_type": "m.replace", "event_id": "$growing"}
    new = after["content"]["m.new_content"]
    assert new == {key: value for key, value in before["content"].items() if key != "m.relates_to"}
    assert (after["content"]["m.mentions"], new["m.mentions"]) == ({}, {})
    assert len(edit.payload) < LIMIT_BYTES + 4_000
    assert others == rest
    assert edit.text == first.text
    assert edit.digest != first.digest


def test_an_edit_stays_a_notice_and_keeps_its_choices():
    [edit] = payload.final_edit(parts_of(Final(text="No."), speech=Speech.SAFE_ERROR), "$growing")
    assert decode(edit)["content"]["m.new_content"]["msgtype"] == "m.notice"
    card = Card(buttons=(Button(label="Go", value="go"),))
    [edit] = payload.final_edit(parts_of(Final(text="x", card=card)), "$growing")
    assert decode(edit)["seeds"] == ["1️⃣"]
    assert len(edit.buttons) == 1


def test_a_caption_becomes_the_final_form_of_the_message_and_the_file_follows_without_it():
    edit, file = payload.final_edit(parts_of(Final(text="**Look**", files=(PDF,))), "$growing")
    content = decode(edit)["content"]
    assert (edit.action, edit.files, edit.text) == (Action.EDIT, (), "Look")
    assert content["m.new_content"]["body"] == "Look"
    assert content["m.new_content"]["formatted_body"] == "<p><strong>Look</strong></p>"
    assert "file" not in decode(edit)
    assert (file.action, file.files, file.text) == (Action.FILES, (PDF,), "a.pdf")
    assert decode(file)["content"]["body"] == "a.pdf"
    assert "formatted_body" not in decode(file)["content"]
    assert decode(file)["txn"] != decode(edit)["txn"]


def test_a_file_without_words_leaves_the_message_as_it_is():
    parts = parts_of(Final(text="", files=(PDF,)))
    assert payload.final_edit(parts, "$growing") == parts
