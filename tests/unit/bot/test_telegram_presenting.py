"""Answers in their final form, and the changes that a part can go through. Nothing is sent here."""

import itertools
from datetime import date
from typing import Any

import pytest

from bot.channels.telegram import payload, presenting
from bot.channels.telegram.payload import decode
from bot.model.output import Final, OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.channel import Reply
from forms.card import Button, Card, FieldRow, Style
from forms.presentation import show
from forms.schema import read_form
from policy.boundary import Basis, Speech, Utterance, Withheld, release
from policy.decision import Audience
from policy.destination import Destination
from policy.ruleset import Access, ChannelPolicy, Streaming
from policy.screening import Screen
from policy.utf16 import utf16_len
from tests.servers import tdlib
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.keyboards import markup_of
from tests.unit.policy.builders import policy

GROUP = Destination(platform="telegram", workspace="7001", channel="-1001")
TOPIC = Destination(platform="telegram", workspace="7001", channel="-1002", thread="77")
PRIVATE = Destination(platform="telegram", workspace="7001", channel="501")
PNG = OutFile(name="a.png", media_type="image/png", content=b"png")
PDF = OutFile(name="a.pdf", media_type="application/pdf", content=b"pdf")
CARD = Card(
    title="Refund *now*?",
    rows=(("Amount", "12 €"), ("To", "_Bob_")),
    buttons=(
        Button(label="Yes", value="approve:1", style=Style.SUCCESS),
        Button(label="No", value="deny:1", style=Style.DANGER),
        Button(label="Later", value="later:1"),
    ),
)
LINK = "https://forms.example.org/q/opaque"
QUESTION = Card(
    fields=(
        FieldRow(title="Guests", hint="whole number, 1 to 20", required="required", value="4"),
        FieldRow(title="Wish *", hint="Anything?\ntext"),
    ),
    columns=("Field", "Format", "Required", "Answer"),
    example="Guests: …\nWish *: …",
    note="Times are in UTC.",
    buttons=(
        *(Button(label=str(day), value=f"d{day}") for day in range(1, 8)),
        Button(label="Skip", value="skip"),
        Button(label="Fill in the form", url=LINK, web_app=True, style=Style.PRIMARY),
    ),
    widths=(7, 1, 1),
)
KEYS = Card(buttons=(Button(label="Go", value="go"),))


def present(
    answer: Final, *, place: Destination = GROUP, message: str | None = "10"
) -> list[tuple[str, dict[str, Any]]]:
    return [decode(part) for part in parts_of(answer, place=place, message=message)]


def parts_of(answer: Final, *, place: Destination = GROUP, message: str | None = "10") -> tuple[Part, ...]:
    counter = itertools.count(1)
    to = Reply(destination=place, message=message)
    return presenting.present(Speech.FINAL, answer, to=to, tokens=lambda: f"t{next(counter)}")


def test_an_answer_replies_to_its_message_without_a_preview() -> None:
    assert present(Final(text="hello *there*")) == [
        (
            "sendMessage",
            {
                "chat_id": -1001,
                "text": "hello there",
                "entities": [{"type": "italic", "offset": 6, "length": 5}],
                "link_preview_options": {"is_disabled": True},
                "reply_parameters": {"message_id": 10, "allow_sending_without_reply": True},
            },
        ),
    ]


def test_an_answer_in_a_topic_goes_to_the_topic() -> None:
    [(_, params)] = present(Final(text="hello"), place=TOPIC, message=None)
    assert params["message_thread_id"] == 77
    assert "reply_parameters" not in params


def test_a_long_answer_becomes_parts_and_only_the_first_is_the_reply() -> None:
    calls = present(Final(text="word " * 2000))
    assert len(calls) == 3
    assert all(utf16_len(params["text"]) <= 4096 for _, params in calls)
    assert ["reply_parameters" in params for _, params in calls] == [True, False, False]


@pytest.mark.parametrize("text", ["", "  ", "\u200b\u2063\ufeff", "\u200b" * 5000])
def test_an_invisible_answer_is_one_part_that_the_boundary_withholds_as_empty(text: str) -> None:
    [part] = parts_of(Final(text=text))
    settings = ChannelPolicy(audience=Audience.EXTERNAL, access=Access.ALLOW)
    verdict = release(part.utterance, settings=settings, basis=Basis.REQUEST, screen=Screen(policy()))
    assert verdict is Withheld.EMPTY
    assert isinstance(part.utterance, Utterance)


def test_a_card_stands_under_the_words_and_its_values_are_not_markup() -> None:
    [part] = parts_of(Final(text="See:", card=CARD))
    _, params = decode(part)
    assert params["text"] == "See:\n\nRefund *now*?\nAmount: 12 €\nTo: _Bob_"
    assert [(e["type"], e["offset"], e["length"]) for e in params["entities"]] == [
        ("bold", 6, 13),
        ("bold", 20, 7),
        ("bold", 33, 3),
    ]


def test_buttons_carry_opaque_tokens_and_their_values_stay_here() -> None:
    [part] = parts_of(Final(text="See:", card=CARD))
    _, params = decode(part)
    assert params["reply_markup"] == {
        "inline_keyboard": [
            [{"text": "Yes", "callback_data": "t1", "style": "success"}],
            [{"text": "No", "callback_data": "t2", "style": "danger"}],
            [{"text": "Later", "callback_data": "t3"}],
        ],
    }
    assert part.buttons[0] == ButtonToken(token="t1", label="Yes", value="approve:1")
    assert b"approve" not in part.payload
    assert part.text.splitlines()[-3:] == ["Yes", "No", "Later"]


def test_a_token_fits_into_the_platforms_64_bytes_and_is_not_told_twice() -> None:
    tokens = {presenting.new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(1 <= len(token.encode()) <= 64 for token in tokens)


def test_buttons_stand_under_the_last_part() -> None:
    calls = present(Final(text="word " * 2000, card=KEYS))
    assert ["reply_markup" in params for _, params in calls] == [False, False, True]


def test_buttons_without_any_words_get_something_to_stand_under() -> None:
    [(method, params)] = present(Final(text="", card=KEYS))
    assert method == "sendMessage"
    assert params["text"] == "⬇️"


def test_a_photo_carries_a_short_text_and_the_buttons() -> None:
    [(method, params)] = present(Final(text="**Look**", files=(PNG,), card=KEYS))
    assert method == "sendPhoto"
    assert params["photo"] == "attach://0"
    assert params["caption"] == "Look"
    assert params["caption_entities"] == [{"type": "bold", "offset": 0, "length": 4}]
    assert "reply_markup" in params


def test_a_file_that_is_no_photo_is_a_document_and_everything_readable_is_shown_to_the_boundary() -> None:
    [part] = parts_of(Final(text="Look", files=(PDF,)))
    assert decode(part)[0] == "sendDocument"
    assert part.text == "Look\na.pdf"
    assert part.files == (PDF,)
    assert part.action is Action.FILES


def test_a_photo_that_is_too_heavy_goes_as_a_document() -> None:
    heavy = OutFile(name="a.png", media_type="image/png", content=bytes(presenting.PHOTO_MAX_BYTES + 1))
    [(method, _)] = present(Final(text="", files=(heavy,)))
    assert method == "sendDocument"


def test_several_photos_are_an_album_and_a_long_caption_goes_on_as_text_with_the_buttons() -> None:
    calls = present(Final(text="слово " * 300, files=(PNG, PNG, PNG), card=KEYS))
    assert [method for method, _ in calls] == ["sendMediaGroup", "sendMessage"]
    album, text = calls[0][1], calls[1][1]
    assert utf16_len(album["media"][0]["caption"]) <= 1024
    assert (album["media"][0]["caption"] + text["text"]).split() == ["слово"] * 300
    assert [medium["media"] for medium in album["media"]] == ["attach://0", "attach://1", "attach://2"]
    assert "reply_markup" in text
    assert "reply_markup" not in album


def test_the_buttons_of_an_album_stand_under_its_card_or_else_under_its_words() -> None:
    calls = present(Final(text="Look", files=(PNG, PNG), card=CARD))
    assert calls[0][1]["media"][0]["caption"] == "Look"
    assert calls[1][1]["text"].startswith("Refund")
    calls = present(Final(text="Look", files=(PNG, PNG), card=KEYS))
    assert "caption" not in calls[0][1]["media"][0]
    assert calls[1][1]["text"] == "Look"
    calls = present(Final(text="", files=(PNG, PNG), card=KEYS))
    assert calls[1][1]["text"] == "⬇️"


def test_files_keep_their_order_and_albums_their_size() -> None:
    calls = present(Final(text="", files=(PDF, *[PNG] * 11, PDF)))
    assert [method for method, _ in calls] == ["sendDocument", "sendMediaGroup", "sendPhoto", "sendDocument"]
    assert "reply_parameters" in calls[0][1]


def test_lone_surrogates_in_a_card_do_not_break_the_wire() -> None:
    card = Card(title="half \ud83d", rows=(("a\ud83d", "b\ud83d"),), buttons=(Button(label="c\ud83d", value="v"),))
    [part] = parts_of(Final(text="half \ud83d", card=card))
    assert part.payload.decode()
    assert part.digest


def test_what_is_asked_is_lines_that_fit_a_phone() -> None:
    [part] = parts_of(Final(text="A table?", card=QUESTION))
    _, params = decode(part)
    assert params["text"] == (
        "A table?\n\n"
        "Guests (required): whole number, 1 to 20\n→ 4\n"
        "Wish *\nAnything?\ntext\n\n"
        "Guests: …\nWish *: …\n\n"
        "Times are in UTC."
    )
    seen = [(entity["type"], tdlib.covered(params["text"], entity)) for entity in params["entities"]]
    assert seen == [
        ("bold", "Guests"),
        ("bold", "Wish *"),
        ("pre", "Guests: …\nWish *: …"),
        ("italic", "Times are in UTC."),
    ]


def test_an_answer_to_be_confirmed_is_names_and_values() -> None:
    card = Card(title="Right?", fields=(FieldRow(title="Guests", value="4"), FieldRow(title="Wish", value="a\nb")))
    [(_, params)] = present(Final(text="", card=card))
    assert params["text"] == "Right?\n\nGuests: 4\nWish: a\nb"


@pytest.mark.parametrize(
    "card", [CARD, QUESTION, Card(fields=(FieldRow(title="\u200b", hint=" ", value=" "),), note=" ")]
)
def test_telegrams_own_library_takes_the_text_of_a_card_as_it_is(card: Card) -> None:
    [(_, params)] = present(Final(text="**See** [x](https://a.example/y)", card=card))
    kept = tdlib.normalise(params["text"], params["entities"])
    assert (kept.text, kept.entities) == (params["text"], params["entities"])


def test_buttons_stand_in_the_rows_of_the_card() -> None:
    [part] = parts_of(Final(text="", card=QUESTION), place=PRIVATE)
    rows = decode(part)[1]["reply_markup"]["inline_keyboard"]
    assert [[key["text"] for key in row] for row in rows] == [list("1234567"), ["Skip"], ["Fill in the form"]]
    assert [button.value for button in part.buttons] == [*(f"d{day}" for day in range(1, 8)), "skip"]
    assert len({key["callback_data"] for row in rows[:2] for key in row}) == 8


@pytest.mark.parametrize(
    ("place", "url", "web_app", "key"),
    [
        (PRIVATE, LINK, True, {"web_app": {"url": LINK}}),
        (PRIVATE, LINK, False, {"url": LINK}),
        (PRIVATE, "http://127.0.0.1:8080/q/x", True, {"url": "http://127.0.0.1:8080/q/x"}),
        (GROUP, LINK, True, {"url": LINK}),
    ],
)
def test_a_link_opens_inside_telegram_where_that_is_possible(
    place: Destination, url: str, web_app: bool, key: dict[str, Any]
) -> None:
    card = Card(buttons=(Button(label="Fill in", url=url, web_app=web_app),))
    [part] = parts_of(Final(text="", card=card), place=place)
    _, params = decode(part)
    assert params["reply_markup"] == {"inline_keyboard": [[{"text": "Fill in", **key}]]}
    assert part.buttons == ()
    assert part.text.splitlines() == ["⬇️", "Fill in", url]
    arguments = Arguments(values={"reply_markup": params["reply_markup"]})
    assert markup_of(arguments, {"type": "private" if place is PRIVATE else "supergroup"})


def test_a_link_that_telegram_would_refuse_is_a_line_of_text() -> None:
    card = Card(
        buttons=(Button(label="Yes", value="y"), Button(label="Fill in", url="http://localhost:8080/q/x")),
        widths=(1, 1),
    )
    [part] = parts_of(Final(text="Sure?", card=card))
    _, params = decode(part)
    assert params["text"] == "Sure?\n\nFill in: http://localhost:8080/q/x"
    assert [[key["text"] for key in row] for row in params["reply_markup"]["inline_keyboard"]] == [["Yes"]]
    [part] = parts_of(Final(text="", card=Card(buttons=card.buttons[1:])))
    assert "reply_markup" not in decode(part)[1]
    assert part.text == "Fill in: http://localhost:8080/q/x"


def test_everything_that_can_be_read_in_a_question_is_shown_to_the_boundary() -> None:
    [part] = parts_of(Final(text="A table?", card=QUESTION), place=PRIVATE)
    for words in (
        "A table?",
        "Guests",
        "required",
        "1 to 20",
        "→ 4",
        "Wish *",
        "UTC",
        "Skip",
        "Fill in the form",
        LINK,
    ):
        assert words in part.text


def test_a_calendar_is_a_keyboard_that_telegram_takes() -> None:
    day = {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2, "maxItems": 2}
    form = read_form({"type": "object", "properties": {"stay": day}})
    shown = show(form, {}, "2026-08/2026-08-01", today=date(2026, 8, 1))
    taps = [Button(label=tap.label, value=tap.value, style=tap.style) for row in shown.taps for tap in row]
    buttons = (*taps, Button(label="Fill in", url=LINK))
    card = Card(fields=shown.rows, buttons=buttons, widths=(*map(len, shown.taps), 1), stepwise=True)
    [part] = parts_of(Final(text="When?", card=card), message=None)
    _, params = decode(part)
    assert markup_of(Arguments(values={"reply_markup": params["reply_markup"]}), {"type": "supergroup"})
    assert len(part.buttons) == len(taps)


def test_an_edit_keeps_the_links() -> None:
    [part] = payload.final_edit(parts_of(Final(text="x", card=QUESTION), place=PRIVATE), "33")
    method, params = decode(part)
    assert method == "editMessageText"
    assert params["reply_markup"]["inline_keyboard"][-1][0]["web_app"] == {"url": LINK}


def to(place: Destination, message: str | None = "10") -> Reply:
    return Reply(destination=place, message=message)


def test_a_draft_grows_in_a_private_chat_under_one_number() -> None:
    parts = [
        presenting.present_fragment(text, to=to(PRIVATE), streaming=Streaming.DRAFT, stream="s", message=None)
        for text in ("Hel", "Hello **wor", "Hello **world**")
    ]
    calls = [decode(part) for part in parts if part is not None]
    assert [method for method, _ in calls] == ["sendMessageDraft"] * 3
    assert len({params["draft_id"] for _, params in calls}) == 1
    assert calls[0][1]["draft_id"] > 0
    assert calls[2][1]["text"] == "Hello world"


def test_a_group_sees_no_drafts_and_nothing_is_shown_of_what_cannot_be_seen() -> None:
    for place, streaming, text in [
        (GROUP, Streaming.DRAFT, "x"),
        (PRIVATE, Streaming.OFF, "x"),
        (PRIVATE, Streaming.DRAFT, " "),
        (PRIVATE, Streaming.EDIT, "\u200b" * 5000),
    ]:
        assert presenting.present_fragment(text, to=to(place), streaming=streaming, stream="s", message=None) is None


def test_an_answer_that_grows_by_edits_is_a_reply_first_and_edits_then() -> None:
    first = presenting.present_fragment("Hel", to=to(TOPIC), streaming=Streaming.EDIT, stream="s", message=None)
    then = presenting.present_fragment("Hello", to=to(TOPIC), streaming=Streaming.EDIT, stream="s", message="33")
    assert first is not None
    assert then is not None
    assert (first.action, then.action) == (Action.SEND, Action.EDIT)
    assert first.speech is then.speech is Speech.FRAGMENT
    assert decode(first)[1]["reply_parameters"]["message_id"] == 10
    method, params = decode(then)
    assert method == "editMessageText"
    assert params["message_id"] == 33
    assert "message_thread_id" not in params


def test_the_final_text_becomes_an_edit_of_the_message_that_grew() -> None:
    parts = payload.final_edit(parts_of(Final(text="word " * 1000, card=KEYS)), "33")
    calls = [decode(part) for part in parts]
    assert [method for method, _ in calls] == ["editMessageText", "sendMessage"]
    assert set(calls[0][1]) == {"chat_id", "message_id", "text", "link_preview_options"}
    assert parts[1].buttons


def test_an_edit_keeps_the_buttons() -> None:
    [part] = payload.final_edit(parts_of(Final(text="x", card=KEYS)), "33")
    assert decode(part)[1]["reply_markup"]
    assert part.buttons


def test_words_that_are_a_caption_become_the_edit_and_the_file_follows_without_them() -> None:
    parts = payload.final_edit(parts_of(Final(text="**Look**", files=(PNG,))), "33")
    (edit, words), (send, file) = (decode(part) for part in parts)
    assert (edit, send) == ("editMessageText", "sendPhoto")
    assert words["text"] == "Look"
    assert words["entities"]
    assert "caption" not in file
    assert "caption_entities" not in file
    assert parts[0].files == ()
    assert parts[1].files == (PNG,)


def test_files_without_words_leave_the_message_that_grew_as_it_is() -> None:
    parts = parts_of(Final(text="", files=(PNG,)))
    assert payload.final_edit(parts, "33") == parts


def test_unformatted_parts_have_the_same_words() -> None:
    for answer in (
        Final(text="**x**"),
        Final(text="**x**", files=(PNG,)),
        Final(text="**x**", files=(PNG, PNG)),
    ):
        [part] = parts_of(answer)
        plain = payload.unformatted(part)
        assert plain is not None
        assert b"entities" not in plain.payload
        assert plain.text == part.text
        assert plain.digest != part.digest
        assert payload.unformatted(plain) is None


def test_a_part_for_the_channels_new_id_answers_no_message_there() -> None:
    [part] = parts_of(Final(text="x", card=KEYS))
    moved = payload.retargeted(part, "-1009")
    _, params = decode(moved)
    assert moved.destination.channel == "-1009"
    assert params["chat_id"] == -1009
    assert "reply_parameters" not in params
    assert moved.buttons == part.buttons
    [edit] = payload.final_edit((part,), "33")
    moved = payload.retargeted(edit, "-1009")
    assert decode(moved)[0] == "sendMessage"
    assert "message_id" not in decode(moved)[1]
    assert moved.action is Action.SEND


def test_the_typing_sign_has_no_words() -> None:
    part = presenting.typing(to(TOPIC))
    assert decode(part) == ("sendChatAction", {"chat_id": -1002, "message_thread_id": 77, "action": "typing"})
    assert (part.speech, part.text) == (Speech.SIGN, "")


def test_the_end_of_a_spinner_has_few_words_or_none() -> None:
    silent = presenting.answer_tap("9", "", to=to(GROUP))
    assert decode(silent) == ("answerCallbackQuery", {"callback_query_id": "9"})
    assert silent.speech is Speech.SIGN
    spoken = presenting.answer_tap("9", "word " * 100, to=to(GROUP))
    assert spoken.speech is Speech.SAFE_ERROR
    assert utf16_len(decode(spoken)[1]["text"]) <= 200
    assert spoken.text == decode(spoken)[1]["text"]


def test_lines_of_a_card_stand_in_blocks_of_their_own_and_are_no_markup() -> None:
    blocks = (("Parameters", "a: <b>1</b>\n*b*: 2"), ("Reason", "x"))
    (part,) = parts_of(Final(text="", card=Card(title="Deploy?", blocks=blocks)))
    params = decode(part)[1]
    assert params["text"] == "Deploy?\n\nParameters\na: <b>1</b>\n*b*: 2\n\nReason\nx"
    assert [(one["type"], one["offset"], one["length"]) for one in params["entities"]] == [
        ("bold", 0, 7),
        ("bold", 9, 10),
        ("pre", 20, 18),
        ("bold", 40, 6),
        ("pre", 47, 1),
    ]


def test_a_verbatim_answer_is_shown_as_it_is_written() -> None:
    text = "5*3*2 **not** <b>\n\n    1. _as is_"
    [(_, params)] = present(Final(text=text, verbatim=True))
    assert (params["text"], "entities" in params) == (text, False)
    long = "a *b* c.\n" * 2_000
    assert "".join(params["text"] for _, params in present(Final(text=long, verbatim=True))) == long
