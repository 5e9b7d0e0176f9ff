"""What Telegram itself makes of a text."""

import pytest

from tests.servers import tdlib


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("@agent_bot's turn", "mention", "@agent_bot"),
        ("(@agent_bot)", "mention", "@agent_bot"),
        ("hi,@agent_bot", "mention", "@agent_bot"),
        ("/stop@OtherBot", "bot_command", "/stop@OtherBot"),
        ("read README.md", "url", "README.md"),
        ("write to ops@agent-bot.example", "email", "ops@agent-bot.example"),
        ("😀😀 @agent_bot status?", "mention", "@agent_bot"),
    ],
)
def test_telegram_finds_an_entity_in(text: str, kind: str, part: str) -> None:
    found = tdlib.detect(text)
    assert [(entity["type"], tdlib.covered(text, entity)) for entity in found] == [(kind, part)]


@pytest.mark.parametrize(
    "text",
    ["привет@agent_bot", "x@agent_bot", "_@agent_bot", "//cmd", "a/cmd", "/команда", "at 12:30"],
)
def test_telegram_finds_nothing_in(text: str) -> None:
    assert tdlib.detect(text) == []


def test_offsets_count_utf16_units() -> None:
    assert tdlib.detect("😀😀 @agent_bot")[0] == {"type": "mention", "offset": 5, "length": 10}
    assert tdlib.utf16_length("😀a") == 3


def test_a_handle_in_code_is_no_mention() -> None:
    typed = tdlib.parse_typed("`@agent_bot` and @agent_bot")
    assert [(entity["type"], entity["offset"]) for entity in tdlib.merged(*typed)] == [("code", 0), ("mention", 15)]


def test_html_that_telegram_does_not_know_is_refused_with_its_own_words() -> None:
    with pytest.raises(tdlib.TextRefusedError, match='Unsupported start tag "br"'):
        tdlib.parse("a<br>b", "HTML")


def test_a_date_keeps_its_look_through_parsing_and_normalising() -> None:
    text, entities = tdlib.parse('<tg-time unix="1790000000" format="wDT">then</tg-time>', "HTML")
    date = {"type": "date_time", "offset": 0, "length": 4, "unix_time": 1790000000, "date_time_format": "wDT"}
    assert (text, entities) == ("then", [date])
    assert tdlib.normalise(text, entities).entities == [date]


@pytest.mark.parametrize(
    ("entity", "sentence"),
    [
        ({"offset": 0, "length": 2}, "ends in a middle of a UTF-16 symbol"),
        ({"offset": 3, "length": 40}, "ends after the end of the text"),
        ({"offset": 90, "length": 2}, "begins after the end of the text"),
        ({"offset": -1, "length": 2}, "incorrect offset"),
    ],
)
def test_an_entity_with_a_wrong_range_is_refused(entity: dict[str, int], sentence: str) -> None:
    with pytest.raises(tdlib.TextRefusedError, match=sentence):
        tdlib.normalise("a😀bcd", [{"type": "bold", **entity}])


def test_crossing_entities_are_split_and_marks_in_the_text_stay() -> None:
    text = "**a** [b](c) `d` ||e||"
    bold = {"type": "bold", "offset": 0, "length": 5}
    italic = {"type": "italic", "offset": 3, "length": 6}
    shown, entities = tdlib.normalise(text, [bold, italic])
    assert shown == text
    assert [(entity["type"], entity["offset"], entity["length"]) for entity in entities] == [
        ("bold", 0, 3),
        ("italic", 3, 6),
        ("bold", 3, 2),
    ]
