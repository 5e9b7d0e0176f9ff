from datetime import date

import orjson
import pytest

from bot.channels.filenames import media_type, visible_name
from bot.channels.web import presenting
from bot.channels.web.fields import form_of
from bot.channels.web.presenting import answer_tap, present_fragment, present_rest, typing
from bot.model.output import Final, OutFile
from bot.model.part import Action
from bot.ports.channel import Reply
from forms.card import Button, Card, FieldRow
from forms.reading import Locale
from forms.schema import read_form
from policy.boundary import Speech
from policy.destination import Destination
from policy.ruleset import Streaming
from tests.browser.brain import CARD
from tests.browser.questions import SCHEMAS

PLACE = Destination(platform="web", workspace="demo", channel="customers")
TO = Reply(destination=PLACE, message="m1")
TODAY = date(2026, 7, 1)


def present(speech, answer, *, to):
    return presenting.present(speech, answer, to=to, today=TODAY)


def asks(name, **more):
    (part,) = present(Speech.FINAL, Final(text="words", card=Card(form=read_form(SCHEMAS[name]), **more)), to=TO)
    return part, orjson.loads(part.payload)["message"]["card"]


def one(answer):
    (part,) = present(Speech.FINAL, answer, to=TO)
    return part, orjson.loads(part.payload)


def test_the_payload_is_what_the_page_shows_and_the_text_is_what_people_read():
    part, payload = one(Final(text="**Ac**me"))
    assert part.action is Action.SEND
    assert payload["message"]["html"] == "<p><strong>Ac</strong>me</p>\n"
    assert part.text == "Acme"
    assert payload["message"]["reply"] == {"id": "m1"}


def test_the_values_of_buttons_never_reach_the_wire():
    part, payload = one(Final(text="", card=CARD))
    assert b"secret" not in part.payload
    assert [button.value for button in part.buttons] == ["secret-yes", "secret-no", "secret-cancel"]
    assert [b["token"] for b in payload["message"]["card"]["buttons"]] == [b.token for b in part.buttons]
    assert len({button.token for button in part.buttons}) == 3


def test_everything_in_a_card_is_read_by_the_check():
    part, _ = one(Final(text="words", card=CARD, files=(OutFile(name="a.txt", media_type="text/plain", content=b"x"),)))
    for word in ("words", "Move the delivery?", "A-1042", "Cancel the order", "a.txt"):
        assert word in part.text


def test_files_alone_take_their_own_path():
    part, payload = one(
        Final(text="", files=(OutFile(name="a/b\u202e.txt", media_type="Text/Plain; x", content=b"x"),))
    )
    assert part.action is Action.FILES
    assert payload["message"]["files"][0]["name"] == part.files[0].name == "a_b.txt"
    assert payload["message"]["files"][0]["media_type"] == "text/plain"


def test_each_message_has_its_own_id_so_that_sending_it_again_does_nothing():
    ids = {one(Final(text="same"))[1]["id"] for _ in range(20)}
    assert len(ids) == 20


def test_an_answer_that_is_too_long_becomes_several_messages_and_the_last_has_the_card():
    parts = present(Speech.FINAL, Final(text="line\n" * 9000, card=CARD), to=TO)
    assert len(parts) > 1
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]


def test_no_fragment_is_shown_where_the_policy_wants_none():
    assert present_fragment("x", to=TO, stream="s", streaming=Streaming.OFF, message=None) is None


def test_a_fragment_is_a_draft_beside_the_conversation():
    part = present_fragment("**x**", to=TO, stream="s", streaming=Streaming.DRAFT, message=None)
    assert part is not None
    assert (part.action, part.speech, part.text) == (Action.DRAFT, Speech.FRAGMENT, "x")


def test_a_fragment_of_a_message_that_grows_is_an_edit_and_so_is_its_end():
    part = present_fragment("x", to=TO, stream="s", streaming=Streaming.EDIT, message="b1")
    assert part is not None
    assert part.action is Action.EDIT
    first, *rest = present_rest(present(Speech.FINAL, Final(text="line\n" * 9000), to=TO), message="b1")
    assert first.action is Action.EDIT
    assert orjson.loads(first.payload)["id"] == "b1"
    assert all(part.action is Action.SEND for part in rest)


def test_signs_have_no_words_and_a_private_word_has_its_own():
    assert typing(PLACE).text == ""
    assert answer_tap(PLACE, "mara.t1", "Noted.").text == "Noted."


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.txt", "a.txt"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("\u202egpj.exe", "gpj.exe"),
        ("\x00", "file"),
        ("x" * 300, "x" * 120),
    ],
)
def test_the_name_of_a_file_can_not_deceive(name, shown):
    assert visible_name(name) == shown


@pytest.mark.parametrize(
    ("claimed", "written"),
    [
        ("image/PNG", "image/png"),
        ("text/html; charset=x", "text/html"),
        ("", "application/octet-stream"),
        ("a\r\nb: c", "application/octet-stream"),
    ],
)
def test_a_media_type_is_one_or_plain_bytes(claimed, written):
    assert media_type(claimed) == written


def test_the_fields_of_a_question_reach_the_page_and_nothing_else_of_its_schema():
    part, card = asks("delivery")
    fields = {field["title"]: field for field in card["form"]["fields"]}
    assert [field["id"] for field in card["form"]["fields"]] == [f"f{place}" for place in range(13)]
    assert {title: field["control"] for title, field in fields.items()} == {
        "Who takes it in": "line",
        "Boxes": "number",
        "Highest price": "number",
        "Fragile": "radios",
        "Day": "date",
        "Between": "time",
        "Call me at": "moment",
        "Speed": "radios",
        "Extras": "boxes",
        "Country": "list",
        "E-mail": "email",
        "Website": "address",
        "Notes": "area",
    }
    assert fields["Between"]["names"] == ["f5-from", "f5-to"]
    assert fields["Between"]["limits"] == []
    assert fields["Boxes"]["limits"] == [["at_least", "1"], ["at_most", "20"]]
    assert fields["Highest price"]["limits"] == [["more_than", "0"]]
    assert fields["Speed"]["options"] == [["0", "Slow"], ["1", "Fast"]]
    assert card["form"]["fixed"] == [["Terms", "2026-01"]]
    for word in (b"properties", b"oneOf", b"format", b'"speed"', b"minimum"):
        assert word not in part.payload


def test_options_that_buttons_tell_by_number_have_those_numbers_in_the_fields():
    long = "Keep the current provider until the end of March"
    form = form_of(read_form({"type": "object", "properties": {"plan": {"enum": [long, None]}}}), Locale(), today=TODAY)
    assert (form["fields"][0]["numbered"], form["fields"][0]["options"]) == (True, [["0", f"1. {long}"], ["1", ""]])
    assert not any(field["numbered"] for field in asks("delivery")[1]["form"]["fields"])


def test_everything_in_the_fields_is_read_by_the_check():
    part, _ = asks("delivery", note="small print")
    for word in ("Who takes it in", "In euros.", "Fast", "Straw", "Ring twice", "Terms: 2026-01", "small print"):
        assert word in part.text


def test_of_a_masked_field_nothing_that_it_could_hold_leaves():
    part, card = asks("secret")
    pin = card["form"]["fields"][1]
    assert (pin["control"], pin["masked"], pin["values"], pin["example"]) == ("password", True, [""], "")
    assert b"0000" not in part.payload
    assert "0000" not in part.text


@pytest.mark.parametrize(("name", "free"), [("colour", True), ("delivery", True), ("secret", False), ("go", False)])
def test_a_line_for_free_words_stands_only_where_words_may_stay_readable(name, free):
    assert asks(name)[1]["form"]["free"] is free


def test_where_the_fields_stand_neither_a_link_to_them_nor_a_calendar_does():
    link, tap = Button(label="Fill in", url="https://example.org/f/access"), Button(label="Red", value="=0")
    part, card = asks("colour", buttons=(tap, link), widths=(1, 1))
    assert [button["label"] for button in card["buttons"]] == ["Red"]
    assert card["widths"] == [1]
    assert b"access" not in part.payload
    part, card = asks("ticks", buttons=(tap,), stepwise=True)
    assert (card["buttons"], part.buttons) == ([], ())


def test_a_table_of_fields_and_a_link_are_shown_where_the_fields_are_not():
    row = FieldRow(title="Colour", hint="one of", required="required", value="Red")
    card = Card(
        fields=(row,), columns=("A", "B", "C", "D"), buttons=(Button(label="Open", url="https://example.org/x"),)
    )
    part, payload = one(Final(text="", card=card))
    shown = payload["message"]["card"]
    assert (shown["fields"], shown["columns"]) == ([["Colour", "one of", "required", "Red"]], ["A", "B", "C", "D"])
    assert shown["buttons"] == [{"label": "Open", "style": "neutral", "url": "https://example.org/x"}]
    assert part.buttons == ()
    for word in ("Colour", "one of", "required", "Red", "Open", "https://example.org/x"):
        assert word in part.text


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
def test_the_default_of_a_time_stands_in_its_field_only_where_its_zone_is_known(zone):
    schema = {
        "type": "object",
        "properties": {"at": {"type": "string", "format": "date-time", "default": "2026-07-01T10:00:00+02:00"}},
    }
    form = form_of(read_form(schema), Locale(timezone=zone), today=date(2026, 7, 1))
    assert form["zone"] == zone
    assert form["fields"][0]["values"] == (["2026-07-01T10:00"] if zone else [""])


def test_lines_of_a_card_are_given_to_the_page_as_they_are():
    card = Card(title="Deploy?", blocks=(("Parameters", "a: <b>1</b>\nb: 2"),))
    (part,) = present(Speech.REPORT, Final(text="", card=card), to=TO)
    assert orjson.loads(part.payload)["message"]["card"]["blocks"] == [["Parameters", "a: <b>1</b>\nb: 2"]]
    assert "Parameters\na: <b>1</b>\nb: 2" in part.text


def test_a_verbatim_answer_is_shown_as_it_is_written():
    text = "5*3*2 **not** <b>\n\n    1. _as is_"
    part, payload = one(Final(text=text, verbatim=True))
    assert part.text == payload["message"]["text"] == text
    assert payload["message"]["html"] == "<p>5*3*2 **not** &lt;b&gt;<br><br>    1. _as is_</p>"


def test_a_long_verbatim_answer_is_cut_and_nothing_of_it_is_lost():
    for text in ("a *b* c.\n" * 6_000, "x" * 50_000):
        parts = present(Speech.FINAL, Final(text=text, verbatim=True), to=TO)
        assert len(parts) > 1
        assert "".join(orjson.loads(part.payload)["message"]["text"] for part in parts) == text
