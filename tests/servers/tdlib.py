"""The real TDLib for texts: parsing of markup, detection of entities, normalisation of entity lists.

``td_execute`` is TDLib's synchronous entry. What is used here needs no client, no login and no network, so texts in
tests are judged by the same code that Telegram's own servers and clients run.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

import orjson
import tdjson

Entity = dict[str, Any]
"""An entity in the Bot API's form; offsets and lengths count UTF-16 units."""
Mode = Literal["HTML", "Markdown", "MarkdownV2"]

_MODES: Final[Mapping[str, dict[str, Any]]] = {
    "HTML": {"@type": "textParseModeHTML"},
    "Markdown": {"@type": "textParseModeMarkdown", "version": 1},
    "MarkdownV2": {"@type": "textParseModeMarkdown", "version": 2},
}
_KINDS: Final[Mapping[str, str]] = {
    "Bold": "bold",
    "Italic": "italic",
    "Underline": "underline",
    "Strikethrough": "strikethrough",
    "Spoiler": "spoiler",
    "Code": "code",
    "Pre": "pre",
    "PreCode": "pre",
    "TextUrl": "text_link",
    "MentionName": "text_mention",
    "CustomEmoji": "custom_emoji",
    "BlockQuote": "blockquote",
    "ExpandableBlockQuote": "expandable_blockquote",
    "Mention": "mention",
    "Hashtag": "hashtag",
    "Cashtag": "cashtag",
    "BotCommand": "bot_command",
    "Url": "url",
    "EmailAddress": "email",
    "PhoneNumber": "phone_number",
    "BankCardNumber": "bank_card_number",
    "DateTime": "date_time",
}
_NAMES: Final[Mapping[str, str]] = {kind: name for name, kind in _KINDS.items() if name != "PreCode"}
_OPAQUE: Final = frozenset({"code", "pre", "text_link", "text_mention", "custom_emoji", "date_time"})
"""Nothing is detected inside these: a handle in a code block is no mention."""
_MARKS: Final = "*_~|`[]()"
"""What TDLib's lenient Markdown looks at."""
_PRIVATE_USE: Final = range(0xE000, 0xF8FF)


class TextRefusedError(ValueError):
    """TDLib refused a text; the message is TDLib's own sentence, beginning with a capital."""


class Formatted(NamedTuple):
    """A text with its entities."""

    text: str
    entities: list[Entity]


def execute(request: dict[str, Any]) -> dict[str, Any]:
    """Run one synchronous TDLib request.

    Raises:
        TextRefusedError: TDLib answered with an error.
    """
    answer: dict[str, Any] = orjson.loads(tdjson.td_execute(orjson.dumps(request)) or b"{}")
    if answer.get("@type") == "error":
        raise TextRefusedError(answer["message"])
    return answer


execute({"@type": "setLogVerbosityLevel", "new_verbosity_level": 0})


def utf16_length(text: str) -> int:
    """Length in UTF-16 units, which is what Telegram counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def covered(text: str, entity: Mapping[str, Any]) -> str:
    """The part of ``text`` that ``entity`` covers."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le", "surrogatepass")


def parse(text: str, mode: Mode) -> Formatted:
    """Parse markup as the Bot API does for ``parse_mode``; nothing is detected."""
    answer = execute({"@type": "parseTextEntities", "text": text, "parse_mode": _MODES[mode]})
    return _formatted(answer)


def parse_typed(text: str) -> Formatted:
    """Parse what a person types into an official app: ``**bold**``, ``__italic__``, ```` `code` ````; never refuses."""
    return _formatted(execute({"@type": "parseMarkdown", "text": {"@type": "formattedText", "text": text}}))


def normalise(text: str, entities: Iterable[Mapping[str, Any]]) -> Formatted:
    """Clean a text and put a bot's own entity list into order as TDLib does: ranges checked, overlaps split.

    TDLib does this at the beginning of its Markdown parsing; characters with a meaning there are swapped for
    private ones of the same width meanwhile.

    Raises:
        TextRefusedError: a range is outside the text or cuts a UTF-16 pair, or a link is invalid.
    """
    free = (chr(code) for code in _PRIVATE_USE if chr(code) not in text)
    there = {ord(mark): private for mark, private in zip(_MARKS, free, strict=False)}
    masked = text.translate(there)
    listed = [_to_td(entity) for entity in entities]
    answer = execute(
        {"@type": "parseMarkdown", "text": {"@type": "formattedText", "text": masked, "entities": listed}},
    )
    back = {ord(private): chr(mark) for mark, private in there.items()}
    return Formatted(answer["text"].translate(back), [_from_td(entity) for entity in answer["entities"]])


def detect(text: str, formatting: Iterable[Entity] = ()) -> list[Entity]:
    """What Telegram finds by itself: mentions, commands, links, e-mail addresses, hashtags, numbers.

    Args:
        text: the plain text.
        formatting: entities that are already there; nothing is detected inside code, links and the like, nor twice.
    """
    answer = execute({"@type": "getTextEntities", "text": text})
    found = [_from_td(entity) for entity in answer["entities"] if entity["type"]["@type"][14:] in _KINDS]
    present = list(formatting)
    taken = [_span(entity) for entity in present if entity["type"] in _OPAQUE or entity["type"] in _DETECTED]
    return [entity for entity in found if not any(_overlap(_span(entity), span) for span in taken)]


def merged(text: str, formatting: Iterable[Entity]) -> list[Entity]:
    """Formatting and detected entities together, in Telegram's order."""
    present = list(formatting)
    every = [*present, *detect(text, present)]
    return sorted(every, key=lambda entity: (entity["offset"], -entity["length"]))


_DETECTED: Final = frozenset(
    {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"},
)


def _formatted(answer: Mapping[str, Any]) -> Formatted:
    return Formatted(answer["text"], [_from_td(entity) for entity in answer.get("entities", ())])


def _span(entity: Mapping[str, Any]) -> tuple[int, int]:
    return entity["offset"], entity["offset"] + entity["length"]


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _from_td(entity: Mapping[str, Any]) -> Entity:
    kind = entity["type"]
    result: Entity = {
        "type": _KINDS[kind["@type"].removeprefix("textEntityType")],
        "offset": entity["offset"],
        "length": entity["length"],
    }
    match kind:
        case {"url": url}:
            result["url"] = url
        case {"language": language}:
            result["language"] = language
        case {"user_id": user_id}:
            result["user"] = {"id": user_id}
        case {"custom_emoji_id": emoji_id}:
            result["custom_emoji_id"] = str(emoji_id)
        case {"unix_time": unix_time}:
            result["unix_time"] = unix_time
            if style := _style_of(kind.get("formatting_type")):
                result["date_time_format"] = style
    return result


def _to_td(entity: Mapping[str, Any]) -> dict[str, Any]:
    kind = entity.get("type")
    name = "PreCode" if kind == "pre" and entity.get("language") else _NAMES.get(str(kind))
    if name is None:
        raise TextRefusedError(f"Unsupported MessageEntity type {kind!r} specified")
    td: dict[str, Any] = {"@type": f"textEntityType{name}"}
    match name:
        case "TextUrl":
            td["url"] = str(entity.get("url", ""))
        case "PreCode":
            td["language"] = str(entity["language"])
        case "MentionName":
            td["user_id"] = int((entity.get("user") or {}).get("id", 0))
        case "CustomEmoji":
            td["custom_emoji_id"] = str(entity.get("custom_emoji_id", "0"))
        case "DateTime":
            td["unix_time"] = int(entity.get("unix_time", 0))
            if style := str(entity.get("date_time_format") or ""):
                td["formatting_type"] = _style_to(style)
    try:
        return {"@type": "textEntity", "offset": int(entity["offset"]), "length": int(entity["length"]), "type": td}
    except (KeyError, TypeError, ValueError):
        raise TextRefusedError("MessageEntity needs an integer offset and length") from None


def _style_of(formatting: Mapping[str, Any] | None) -> str:
    """TDLib's description of a date's look as the Bot API's letters, such as ``wDT``."""
    if formatting is None:
        return ""
    if formatting["@type"] == "dateTimeFormattingTypeRelative":
        return "r"
    letters = "w" if formatting.get("show_day_of_week") else ""
    for part, short in (("date_precision", "d"), ("time_precision", "t")):
        match formatting.get(part, {}).get("@type", ""):
            case "dateTimePartPrecisionShort":
                letters += short
            case "dateTimePartPrecisionLong":
                letters += short.upper()
    return letters


def _style_to(style: str) -> dict[str, Any]:
    if style == "r":
        return {"@type": "dateTimeFormattingTypeRelative"}
    if not style or set(style) - set("wdDtT"):
        raise TextRefusedError("Invalid date-time format specified")

    def precision(short: str) -> dict[str, str]:
        word = "Short" if short in style else "Long" if short.upper() in style else "None"
        return {"@type": f"dateTimePartPrecision{word}"}

    return {
        "@type": "dateTimeFormattingTypeAbsolute",
        "time_precision": precision("t"),
        "date_precision": precision("d"),
        "show_day_of_week": "w" in style,
    }
