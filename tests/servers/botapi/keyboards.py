"""Keyboards under messages: what Telegram accepts."""

from collections.abc import Mapping
from typing import Any, Final

from tests.servers.botapi.arguments import Arguments
from tests.servers.botapi.errors import ApiError, bad_request

_STYLES: Final = frozenset({"danger", "success", "primary"})
_LOOKS: Final = frozenset({"text", "style", "icon_custom_emoji_id"})
_ACTIONS: Final = frozenset(
    {
        "callback_data",
        "callback_game",
        "copy_text",
        "disabled",
        "login_url",
        "pay",
        "switch_inline_query",
        "switch_inline_query_chosen_chat",
        "switch_inline_query_current_chat",
        "url",
        "web_app",
    },
)
_KINDS: Final = ("inline_keyboard", "keyboard", "remove_keyboard", "force_reply")
_PLACEHOLDER_UNITS: Final = 64
_BUTTONS: Final = 100
_BUTTONS_IN_ROW: Final = 8


def markup_of(arguments: Arguments, chat: Mapping[str, Any], *, inline_only: bool = False) -> dict[str, Any] | None:
    """The ``reply_markup`` of a call, checked.

    Args:
        arguments: of the call.
        chat: where it goes; Mini Apps open from private chats only.
        inline_only: an edit can carry an inline keyboard and nothing else.

    Raises:
        ApiError: a button or the whole is not valid.
    """
    markup = arguments.structure("reply_markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    if not markup:
        return None
    kind = next((name for name in _KINDS if name in markup), None)
    if kind is None:
        raise bad_request("reply markup must be one of a keyboard, its removal or a forced reply")
    if len(markup.get("input_field_placeholder") or "") > _PLACEHOLDER_UNITS:
        raise bad_request("INPUT_FIELD_PLACEHOLDER_INVALID")
    if kind == "inline_keyboard":
        _check_inline(markup["inline_keyboard"], chat)
    elif inline_only:
        raise bad_request("inline keyboard expected")
    elif kind == "keyboard":
        _rows(markup["keyboard"])
    return markup


def visible(markup: dict[str, Any] | None) -> dict[str, Any] | None:
    """What stands under the message: an inline keyboard that has a button."""
    if markup and any(markup.get("inline_keyboard", ())):
        return {"inline_keyboard": [row for row in markup["inline_keyboard"] if row]}
    return None


def buttons(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The buttons under a message, in reading order."""
    return [button for row in message.get("reply_markup", {}).get("inline_keyboard", ()) for button in row]


def _rows(rows: Any) -> list[list[Any]]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request("can't parse keyboard: expected an Array of Array of buttons")
    return rows


def _check_inline(rows: Any, chat: Mapping[str, Any]) -> None:
    count = 0
    for row in _rows(rows):
        if len(row) > _BUTTONS_IN_ROW:
            raise bad_request("BUTTON_ROW_TOO_LONG")
        for button in row:
            count += 1
            if not isinstance(button, dict):
                raise _unparsed("expected an Object")
            _check_button(button, chat)
    if count > _BUTTONS:
        raise bad_request("REPLY_MARKUP_TOO_LONG")


def _check_button(button: Mapping[str, Any], chat: Mapping[str, Any]) -> None:
    if not button.get("text"):
        raise _unparsed("text buttons are required to have a non-empty text")
    if unknown := sorted(button.keys() - _LOOKS - _ACTIONS):
        raise _unparsed(f"unknown field {unknown[0]}")
    actions = [name for name in _ACTIONS if button.get(name) is not None and button[name] is not False]
    if not actions:
        raise _unparsed("text buttons are unallowed in the inline keyboard")
    if len(actions) > 1:
        raise _unparsed("exactly one action is expected")
    if button.get("style") is not None and button["style"] not in _STYLES:
        raise _unparsed("invalid button style specified")
    match actions[0]:
        case "callback_data":
            if not 1 <= len(str(button["callback_data"]).encode()) <= 64:
                raise bad_request("BUTTON_DATA_INVALID")
        case "url":
            _check_url(str(button["url"]))
        case "web_app":
            if chat.get("type") != "private":
                raise bad_request("BUTTON_TYPE_INVALID")
            if not str(button["web_app"].get("url", "")).startswith("https://"):
                raise bad_request(
                    f"inline keyboard button Web App URL '{button['web_app'].get('url', '')}' is invalid: "
                    "only HTTPS links are allowed",
                )
        case "copy_text":
            if not 1 <= len(button["copy_text"].get("text", "")) <= 256:
                raise bad_request("BUTTON_COPY_TEXT_INVALID")


def _check_url(url: str) -> None:
    scheme, separator, rest = url.partition("://")
    host = rest.split("/")[0].split(":")[0]
    if not separator or not host or scheme not in {"http", "https", "tg", "ton"}:
        raise bad_request(f"inline keyboard button URL '{url}' is invalid: unsupported URL protocol")
    if scheme in {"http", "https"} and "." not in host and not host.startswith("["):
        raise bad_request(f"inline keyboard button URL '{url}' is invalid: wrong HTTP URL")


def _unparsed(sentence: str) -> ApiError:
    return bad_request(f"can't parse inline keyboard button: {sentence}")
