"""Answers in their final form. Nothing is sent here."""

import itertools
from typing import Any

import pytest

from bot.channels.matrix import presenting
from bot.channels.matrix.payload import decode, edited
from bot.channels.matrix.presenting import KEYCAPS
from bot.channels.matrix.splitting import LIMIT_BYTES
from bot.model.output import Final, OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.channel import Reply
from forms.card import Button, Card, FieldRow
from policy.boundary import Basis, Speech, Withheld, release
from policy.decision import Audience
from policy.destination import Destination
from policy.ruleset import Access, ChannelPolicy, Streaming
from policy.screening import Screen
from tests.unit.policy.builders import policy

ROOM = Destination(platform="matrix", workspace="@relay:example.org", channel="!lab:example.org")
THREAD = Destination(platform="matrix", workspace="@relay:example.org", channel="!lab:example.org", thread="$root")
MARKS = {"m.mentions": {}, "org.matrix.msc1767.automated": True}
PNG = OutFile(
    name="a.png",
    media_type="image/png",
    content=b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big"),
)
PDF = OutFile(name="a.pdf", media_type="application/pdf", content=b"pdf")
CARD = Card(
    title="Refund?",
    rows=(("Amount", "12 €"),),
    buttons=(Button(label="Yes", value="approve:1"), Button(label="No\nway", value="deny:1")),
)


def parts_of(
    answer: Final, *, place: Destination = ROOM, message: str | None = "$ask", speech: Speech = Speech.FINAL
) -> tuple[Part, ...]:
    counter = itertools.count(1)
    to = Reply(destination=place, message=message)
    return presenting.present(speech, answer, to=to, tokens=lambda: f"t{next(counter)}")


def contents(answer: Final, **more: Any) -> list[dict[str, Any]]:
    return [decode(part)["content"] for part in parts_of(answer, **more)]


def test_an_answer_replies_to_its_message_and_mentions_nobody():
    [part] = parts_of(Final(text="hello *there* @room"))
    document = decode(part)
    assert document.pop("txn")
    assert document == {
        "do": "send",
        "room": "!lab:example.org",
        "type": "m.room.message",
        "content": {
            "msgtype": "m.text",
            "body": "hello there @room",
            "format": "org.matrix.custom.html",
            "formatted_body": "<p>hello <em>there</em> @room</p>",
            "m.relates_to": {"m.in_reply_to": {"event_id": "$ask"}},
            **MARKS,
        },
    }
    assert part.action is Action.SEND
    assert part.text == "hello there @room"


def test_plain_words_carry_no_html():
    assert contents(Final(text="hello"), message=None) == [{"msgtype": "m.text", "body": "hello", **MARKS}]


def test_each_message_has_its_own_transaction_id():
    ids = {decode(part)["txn"] for _ in range(50) for part in parts_of(Final(text="x", files=(PDF,)))}
    assert len(ids) == 50


@pytest.mark.parametrize(
    ("speech", "kind"),
    [
        (Speech.FINAL, "m.text"),
        (Speech.REPORT, "m.text"),
        (Speech.PROGRESS, "m.notice"),
        (Speech.OPERATIONAL, "m.notice"),
        (Speech.SAFE_ERROR, "m.notice"),
        (Speech.ACKNOWLEDGEMENT, "m.notice"),
    ],
)
def test_what_is_not_an_answer_is_a_notice(speech, kind):
    assert [content["msgtype"] for content in contents(Final(text="x"), speech=speech)] == [kind]


def test_in_a_thread_the_first_part_is_a_reply_and_the_others_fall_back_to_it():
    first, *rest = contents(Final(text="word " * 20_000), place=THREAD)
    relation = {"rel_type": "m.thread", "event_id": "$root", "m.in_reply_to": {"event_id": "$ask"}}
    assert first["m.relates_to"] == {**relation, "is_falling_back": False}
    assert rest
    assert all(content["m.relates_to"] == {**relation, "is_falling_back": True} for content in rest)


def test_in_a_thread_without_a_request_the_root_is_fallen_back_to():
    [content] = contents(Final(text="x"), place=THREAD, message=None)
    assert content["m.relates_to"] == {
        "rel_type": "m.thread",
        "event_id": "$root",
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$root"},
    }


def test_of_a_long_answer_only_the_first_part_is_the_reply():
    relations = ["m.relates_to" in content for content in contents(Final(text="word " * 20_000))]
    assert relations[0]
    assert len(relations) > 1
    assert not any(relations[1:])


def test_a_quote_at_the_start_of_a_reply_is_not_taken_for_a_copy_of_what_it_answers():
    [content] = contents(Final(text="> said\n\nyes"))
    assert content["body"] == "\n> said\n\nyes"
    [content] = contents(Final(text="> said\n\nyes"), message=None)
    assert content["body"] == "> said\n\nyes"


@pytest.mark.parametrize("text", ["", "  ", "\u200b\u2063\ufeff", "\x00\x07", "\u200b" * 50_000])
def test_an_invisible_answer_is_one_part_that_the_boundary_withholds_as_empty(text):
    [part] = parts_of(Final(text=text))
    settings = ChannelPolicy(audience=Audience.EXTERNAL, access=Access.ALLOW)
    verdict = release(part.utterance, settings=settings, basis=Basis.REQUEST, screen=Screen(policy()))
    assert verdict is Withheld.EMPTY


def test_a_stretch_without_words_makes_no_message_of_its_own():
    assert [content["body"] for content in contents(Final(text="a" + "\n" * 60_000 + "b"))] == ["a", "b"]


@pytest.mark.parametrize("text", ["lone \ud800 surrogate", "\x00\x1b[31m **x**", "a\udfffb" * 100])
def test_what_can_not_be_written_is_mended(text):
    for part in parts_of(Final(text=text, files=(OutFile(name=text, media_type=text, content=b"x"),))):
        assert decode(part)["content"]["body"]
        assert part.text.encode()


# files


def test_words_that_fit_stand_under_the_first_file():
    first, second = parts_of(Final(text="**Look**", files=(PNG, PDF)))
    content = decode(first)["content"]
    assert content == {
        "msgtype": "m.image",
        "body": "Look",
        "format": "org.matrix.custom.html",
        "formatted_body": "<p><strong>Look</strong></p>",
        "filename": "a.png",
        "info": {"mimetype": "image/png", "size": len(PNG.content), "w": 640, "h": 480},
        "m.relates_to": {"m.in_reply_to": {"event_id": "$ask"}},
        **MARKS,
    }
    assert decode(first)["file"] == 0
    assert first.files == (PNG,)
    assert first.action is Action.FILES
    assert first.text == "Look\na.png"
    assert decode(second)["content"] == {
        "msgtype": "m.file",
        "body": "a.pdf",
        "filename": "a.pdf",
        "info": {"mimetype": "application/pdf", "size": 3},
        **MARKS,
    }


def test_words_that_do_not_fit_follow_the_files():
    parts = parts_of(Final(text="word " * 20_000, files=(PDF,)))
    assert [part.action for part in parts[:2]] == [Action.FILES, Action.SEND]
    assert decode(parts[0])["content"]["body"] == "a.pdf"


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("image/jpeg", "m.image"),
        ("image/svg+xml", "m.file"),
        ("video/mp4", "m.video"),
        ("audio/ogg; codecs=opus", "m.audio"),
        ("text/html", "m.file"),
        ("no type", "m.file"),
    ],
)
def test_a_file_is_shown_as_what_it_is(media_type, kind):
    [content] = contents(Final(text="", files=(OutFile(name="x", media_type=media_type, content=b"x"),)))
    assert content["msgtype"] == kind


def test_a_file_name_can_not_deceive():
    [part] = parts_of(Final(text="", files=(OutFile(name="../\u202etxt.exe\n", media_type="x", content=b""),)))
    assert part.files[0].name == decode(part)["content"]["filename"] == "_txt.exe"


# cards


def test_a_card_is_a_table_with_choices_to_tap():
    [part] = parts_of(Final(text="See:", card=CARD))
    document = decode(part)
    assert document["content"]["body"] == "See:\n\nRefund?\nAmount: 12 €\n\n1️⃣ Yes\n2️⃣ No way"
    assert document["content"]["formatted_body"] == (
        "<p>See:</p><p><strong>Refund?</strong></p>"
        "<table><tbody><tr><td><strong>Amount</strong></td><td>12 €</td></tr></tbody></table><p>1️⃣ Yes<br />2️⃣ No way</p>"
    )
    assert document["seeds"] == ["1️⃣", "2️⃣"]
    assert part.buttons == (
        ButtonToken(token="t1", label="Yes", value="approve:1", key="1️⃣"),
        ButtonToken(token="t2", label="No\nway", value="deny:1", key="2️⃣"),
    )
    assert b"approve" not in part.payload
    assert "1️⃣ Yes" in part.text
    assert "12 €" in part.text


def test_a_card_is_no_notice_and_stands_after_the_files_with_its_words():
    first, second = parts_of(Final(text="See:", files=(PDF,), card=CARD), speech=Speech.PROGRESS)
    assert decode(first)["content"]["body"] == "a.pdf"
    assert decode(second)["content"]["msgtype"] == "m.text"
    assert decode(second)["content"]["body"].startswith("See:\n\nRefund?")
    assert (first.buttons, len(second.buttons)) == ((), 2)


@pytest.mark.parametrize(("count", "seeds"), [(1, 1), (10, 10), (11, 0), (12, 0)])
def test_up_to_ten_choices_are_put_under_the_message(count, seeds):
    card = Card(buttons=tuple(Button(label=f"L{number}", value=str(number)) for number in range(count)))
    [part] = parts_of(Final(text="", card=card))
    assert decode(part).get("seeds", []) == list(KEYCAPS[:seeds])
    assert len({button.key for button in part.buttons}) == count
    assert all(f"{button.key} {button.label}" in part.text.split("\n") for button in part.buttons)


def test_a_card_of_buttons_alone_carries_no_html():
    [part] = parts_of(Final(text="", card=Card(buttons=(Button(label="Go", value="go"),))))
    assert decode(part)["content"]["body"] == "1️⃣ Go"
    assert "formatted_body" not in decode(part)["content"]


def test_an_empty_card_adds_nothing():
    [part] = parts_of(Final(text="hello", card=Card()))
    assert decode(part)["content"]["body"] == "hello"


def test_a_card_under_long_words_stands_in_the_last_message():
    parts = parts_of(Final(text="слово **x** " * 8_000, card=CARD))
    assert len(parts) > 1
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert ["seeds" in decode(part) for part in parts] == [False] * (len(parts) - 1) + [True]


# questions


LINK = "https://forms.example.org/q/opaque?a=1&b=2"
GUESTS = FieldRow(title="Guests <all>", hint="whole number, 1 to 20", required="required", value="4")
WISH = FieldRow(title="Wish", hint="Anything?\ntext")
HEADS = ("Field", "Format", "Required", "Answer")
FILL_IN = Button(label="Fill in\nthe form", url=LINK, web_app=True)


def test_what_is_asked_is_a_table_that_can_be_read_without_one():
    card = Card(
        fields=(GUESTS, WISH),
        columns=HEADS,
        example="Guests: …\nWish: <…>",
        note="Times are in UTC.",
        buttons=(FILL_IN,),
    )
    [part] = parts_of(Final(text="A table?", card=card))
    content = decode(part)["content"]
    assert content["body"] == (
        "A table?\n\n"
        "Guests <all> (required): whole number, 1 to 20\n→ 4\nWish:\nAnything?\ntext\n\n"
        "```\nGuests: …\nWish: <…>\n```\n\n"
        "Times are in UTC.\n\n"
        f"Fill in the form: {LINK}"
    )
    assert content["formatted_body"] == (
        "<p>A table?</p><table><tbody>"
        "<tr><td><strong>Field</strong></td><td><strong>Format</strong></td>"
        "<td><strong>Required</strong></td><td><strong>Answer</strong></td></tr>"
        "<tr><td><strong>Guests &lt;all&gt;</strong></td><td>whole number, 1 to 20</td><td>required</td><td>4</td></tr>"
        "<tr><td><strong>Wish</strong></td><td>Anything?<br />text</td><td></td><td></td></tr>"
        "</tbody></table><pre><code>Guests: …\nWish: &lt;…&gt;</code></pre><p>Times are in UTC.</p>"
        '<p><a href="https://forms.example.org/q/opaque?a=1&amp;b=2">Fill in the form</a></p>'
    )
    assert part.buttons == ()
    assert "seeds" not in decode(part)


def test_columns_in_which_nothing_stands_are_left_out():
    card = Card(fields=(FieldRow(title="Wish", value="a"), FieldRow(title="Plan")), columns=HEADS)
    [content] = contents(Final(text="", card=card))
    assert content["body"] == "Wish: a\nPlan"
    assert content["formatted_body"] == (
        "<table><tbody><tr><td><strong>Field</strong></td><td><strong>Answer</strong></td></tr>"
        "<tr><td><strong>Wish</strong></td><td>a</td></tr><tr><td><strong>Plan</strong></td><td></td></tr></tbody></table>"
    )
    [content] = contents(Final(text="", card=Card(fields=(FieldRow(title="Wish"),))))
    assert content["formatted_body"] == "<table><tbody><tr><td><strong>Wish</strong></td></tr></tbody></table>"


def test_everything_that_can_be_read_in_a_question_is_shown_to_the_boundary():
    card = Card(fields=(GUESTS, WISH), columns=HEADS, example="a: b", note="small", buttons=(FILL_IN, *CARD.buttons))
    [part] = parts_of(Final(text="", card=card))
    for words in ("Guests <all>", "required", "1 to 20", "4", *HEADS, "a: b", "small", "Fill in the form", LINK, "Yes"):
        assert words in part.text, words


def test_choices_are_numbered_without_the_links_and_stand_last():
    [part] = parts_of(Final(text="", card=Card(fields=(GUESTS,), buttons=(FILL_IN, *CARD.buttons), widths=(1, 2))))
    document = decode(part)
    assert document["content"]["body"].endswith(f"{LINK}\n\n1️⃣ Yes\n2️⃣ No way")
    assert document["seeds"] == ["1️⃣", "2️⃣"]
    assert [button.value for button in part.buttons] == ["approve:1", "deny:1"]


def test_choices_that_only_change_the_card_are_not_offered():
    days = tuple(Button(label=str(day), value=f"d{day}") for day in range(1, 31))
    [part] = parts_of(Final(text="When?", card=Card(buttons=(*days, FILL_IN), stepwise=True)))
    assert decode(part)["content"]["body"] == f"When?\n\nFill in the form: {LINK}"
    assert part.buttons == ()


@pytest.mark.parametrize(
    "row",
    [
        FieldRow(title="Wish", hint="text", value="слово\n" * 5_000),
        FieldRow(title="Wish", hint="text", value="<" * 40_000),
        FieldRow(title="Wish", hint="слово " * 9_000),
    ],
)
def test_a_question_that_is_too_long_is_cut_and_nothing_is_lost(row):
    card = Card(
        fields=(GUESTS, row, WISH), columns=HEADS, example="x" * 50_000, note="y" * 50_000, buttons=CARD.buttons
    )
    parts = parts_of(Final(text="A table?", card=card))
    assert len(parts) > 2
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]
    assert all(len(part.payload) < LIMIT_BYTES + 4_000 for part in parts)
    body = "".join(decode(part)["content"]["body"] for part in parts)
    for sign in ("с", "<", "x", "y"):
        assert body.count(sign) >= (row.hint + row.value).count(sign) + (50_000 if sign in "xy" else 0)


def test_an_edit_of_a_question_keeps_its_table():
    [part] = parts_of(Final(text="A table?", card=Card(fields=(GUESTS,), columns=HEADS, buttons=(FILL_IN,))))
    content = decode(edited(part, "$question"))["content"]
    assert "<table>" in content["m.new_content"]["formatted_body"]
    assert LINK in content["m.new_content"]["body"]


# fragments and signs


def fragment(text: str, message: str | None, streaming: Streaming = Streaming.EDIT) -> Part | None:
    to = Reply(destination=ROOM, message="$ask")
    return presenting.present_fragment(text, to=to, streaming=streaming, stream="s", message=message)


def test_a_growing_answer_is_a_message_and_then_its_edits():
    first = fragment("Hel", None)
    assert first is not None
    assert (first.action, first.speech) == (Action.SEND, Speech.FRAGMENT)
    assert decode(first)["content"]["m.relates_to"] == {"m.in_reply_to": {"event_id": "$ask"}}
    second = fragment("Hello **you**", "$growing")
    assert second is not None
    assert (second.action, second.text) == (Action.EDIT, "Hello you")
    html = "<p>Hello <strong>you</strong></p>"
    assert decode(second)["content"] == {
        "msgtype": "m.text",
        "body": "* Hello you",
        "format": "org.matrix.custom.html",
        "formatted_body": f"* {html}",
        "m.new_content": {
            "msgtype": "m.text",
            "body": "Hello you",
            "format": "org.matrix.custom.html",
            "formatted_body": html,
            **MARKS,
        },
        "m.relates_to": {"rel_type": "m.replace", "event_id": "$growing"},
        **MARKS,
    }


@pytest.mark.parametrize("text", ["word " * 30_000, "слово **x** " * 9_000])
def test_a_long_fragment_fits_into_one_event(text):
    part = fragment(text, "$growing")
    assert part is not None
    assert len(part.payload) < LIMIT_BYTES + 4_000
    assert decode(part)["content"]["m.new_content"]["body"].startswith(text[:5])


@pytest.mark.parametrize("streaming", [Streaming.OFF, Streaming.DRAFT])
def test_only_edits_can_be_shown(streaming):
    assert fragment("x", None, streaming) is None
    assert fragment(" \u200b", None) is None
    assert fragment("\x00", None) is None


def test_signs_have_no_words():
    to = Reply(destination=THREAD, message="$ask")
    typing, receipt = presenting.typing(to, on=True), presenting.read_receipt(to)
    join, leave = presenting.answer_invite(to, accept=True), presenting.answer_invite(to, accept=False)
    assert receipt is not None
    assert decode(typing) == {"do": "typing", "on": True, "room": "!lab:example.org", "timeout_ms": 10_000}
    assert decode(receipt) == {"do": "read", "event": "$ask", "room": "!lab:example.org"}
    assert decode(join) == {"do": "join", "room": "!lab:example.org"}
    assert decode(leave) == {"do": "leave", "room": "!lab:example.org"}
    assert [part.action for part in (typing, receipt, join, leave)] == [
        Action.TYPING,
        Action.READ,
        Action.JOIN,
        Action.LEAVE,
    ]
    assert presenting.read_receipt(Reply(destination=ROOM)) is None
    for part in (typing, receipt, join, leave):
        assert (part.speech, part.text) == (Speech.SIGN, "")


BLOCKS = (("Parameters", "a: <b>1</b>\n```\nb: 2"), ("Reason", "x"))


def test_lines_of_a_card_stand_in_blocks_of_their_own_and_are_no_markup():
    (part,) = parts_of(Final(text="", card=Card(title="Deploy?", blocks=BLOCKS)))
    content = decode(part)["content"]
    assert (
        "<p><strong>Parameters</strong></p><pre><code>a: &lt;b&gt;1&lt;/b&gt;\n```\nb: 2</code></pre>"
        in (content["formatted_body"])
    )
    assert "Parameters\na: <b>1</b>\n```\nb: 2" in content["body"]


def test_a_block_that_is_too_long_for_a_message_is_cut_at_a_line_and_nothing_of_it_is_lost():
    lines = "\n".join(f"line {number} {'x' * 80}" for number in range(900))
    parts = parts_of(Final(text="", card=Card(title="Deploy?", blocks=(("Parameters", lines),))))
    assert len(parts) > 1
    bodies = "\n".join(decode(part)["content"]["body"] for part in parts)
    assert [line for line in bodies.split("\n") if line.startswith("line ")] == lines.split("\n")


def test_a_button_can_have_a_sign_of_its_own():
    card = Card(buttons=(Button(label="Approve", value="a", sign="✅"), Button(label="Other", value="b")))
    (part,) = parts_of(Final(text="", card=card))
    assert [button.key for button in part.buttons] == ["✅", KEYCAPS[1]]
    assert decode(part)["seeds"] == ["✅", KEYCAPS[1]]
    assert "✅ Approve" in decode(part)["content"]["body"]


def test_a_verbatim_answer_is_shown_as_it_is_written():
    text = "5*3*2 **not** <b>\n\n    1. _as is_"
    (content,) = contents(Final(text=text, verbatim=True))
    assert content["body"] == text
    assert "<em>" not in content.get("formatted_body", "")


def test_a_long_verbatim_answer_is_cut_and_nothing_of_it_is_lost():
    text = "\n".join(f"line {number} *as it is*" for number in range(6_000))
    bodies = [content["body"] for content in contents(Final(text=text, verbatim=True))]
    assert len(bodies) > 1
    assert "\n".join(bodies) == text
