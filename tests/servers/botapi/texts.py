"""Texts that a bot sends: markup, entities, limits."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from tests.servers import tdlib
from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.errors import bad_request
from tests.servers.botapi.world import World

RAW_BYTES: Final = 32_768
TEXT_UNITS: Final = 4_096
CAPTION_UNITS: Final = 1_024

Parse = Literal["tdlib", "none"]
"""``none`` leaves out detection and normalisation in what the bot sends, for speed; markup is always parsed."""

_MODES: Final[Mapping[str, tdlib.Mode]] = {"html": "HTML", "markdown": "Markdown", "markdownv2": "MarkdownV2"}
_EMPTY_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """How long a text may be, and what is said when it is longer or empty.

    Units are counted in UTF-16, the bound that is safe; Telegram itself counts code points in places.
    """

    units: int
    too_long: str
    empty: str | None


MESSAGE: Final = Limit(units=TEXT_UNITS, too_long="message is too long", empty="text must be non-empty")
CAPTION: Final = Limit(units=CAPTION_UNITS, too_long="message caption is too long", empty=None)


def formatted(
    arguments: Arguments, world: World, *, field: str, entities: str, limit: Limit, parse: Parse
) -> tdlib.Formatted:
    """The text of a call as the chat will show it.

    Args:
        arguments: of the call.
        world: knows the people that may be mentioned by id.
        field: name of the argument with the text.
        entities: name of the argument with its entities.
        limit: what holds for this text.
        parse: whether TDLib looks at it.

    Raises:
        ApiError: markup, entities or length are refused.
    """
    return format_text(
        world,
        text=arguments.text(field),
        mode=arguments.text("parse_mode"),
        entities=arguments.structure(entities),
        limit=limit,
        parse=parse,
    )


def format_text(
    world: World,
    *,
    text: str,
    mode: str,
    entities: Any,
    limit: Limit,
    parse: Parse,
) -> tdlib.Formatted:
    """The same for values that stand elsewhere, such as in an album."""
    if len(text) > RAW_BYTES // 4 and len(text.encode("utf-8", "replace")) > RAW_BYTES:
        raise bad_request("text is too long")
    try:
        result = _parsed(text, mode) if mode and mode.lower() != "none" else _listed(text, entities or [], parse)
        if parse == "tdlib" or result.entities:
            result = _trim(result)
        if parse == "tdlib" and result.text:
            result = tdlib.Formatted(result.text, tdlib.merged(*result))
    except tdlib.TextRefusedError as error:
        raise bad_request(str(error)) from None
    if limit.empty is not None and is_empty(result.text):
        raise bad_request(limit.empty)
    if tdlib.utf16_length(result.text) > limit.units:
        raise bad_request(limit.too_long)
    return tdlib.Formatted(result.text, [known for entity in result.entities if (known := _named(entity, world))])


def is_empty(text: str) -> bool:
    """Whether a person would see nothing: only spaces, controls and characters without a shape."""
    return not text or (not text[0].isalnum() and all(unicodedata.category(char) in _EMPTY_CATEGORIES for char in text))


def _parsed(text: str, mode: str) -> tdlib.Formatted:
    known = _MODES.get(mode.lower())
    if known is None:
        raise bad_request("unsupported parse_mode")
    return tdlib.parse(text, known)


def _listed(text: str, entities: Any, parse: Parse) -> tdlib.Formatted:
    if not isinstance(entities, list) or not all(isinstance(entity, dict) for entity in entities):
        raise bad_request("can't parse entities: expected an Array of MessageEntity")
    if parse == "tdlib":
        return tdlib.normalise(text, entities)
    units = tdlib.utf16_length(text)
    for entity in entities:
        if entity["offset"] < 0 or entity["length"] < 0 or entity["offset"] + entity["length"] > units:
            raise bad_request(f"entity beginning at UTF-16 offset {entity['offset']} ends after the end of the text")
    return tdlib.Formatted(text, entities)


def _trim(result: tdlib.Formatted) -> tdlib.Formatted:
    """Cut white space at both ends and move the entities with it."""
    text = result.text.lstrip(" \n\r\t")
    cut = len(result.text) - len(text)  # white space: one unit a character
    text = text.rstrip(" \n\r\t")
    if text == result.text:
        return result
    end = tdlib.utf16_length(text)
    kept: list[tdlib.Entity] = []
    for entity in result.entities:
        first = max(entity["offset"] - cut, 0)
        last = min(entity["offset"] + entity["length"] - cut, end)
        if first < last:
            kept.append({**entity, "offset": first, "length": last - first})
    return tdlib.Formatted(text, kept)


def _named(entity: tdlib.Entity, world: World) -> tdlib.Entity | None:
    """Complete a mention by id with the person; one whom nobody has seen is no mention."""
    if entity["type"] != "text_mention":
        return entity
    person_id = entity["user"]["id"]
    if person_id not in world.users and person_id != world.me["id"]:
        return None
    return {**entity, "user": world.user(person_id)}
