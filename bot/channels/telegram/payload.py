"""The final bytes of a part: which method, which parameters; and the changes that a part can go through on its way.

A part's payload is JSON of ``{"method": ..., "params": {...}}``; its files are named ``attach://0``, ``attach://1`` and
so on, in the order of the part's files. Every change makes another part with another digest, which needs another
clearance.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from bot.model.part import Action, Part
from policy.destination import Destination

Params = dict[str, Any]

NO_PREVIEW: Final = {"is_disabled": True}
_FORMATTING: Final = ("entities", "caption_entities")


def encode(method: str, params: Mapping[str, Any]) -> bytes:
    """The final bytes of a call."""
    return orjson.dumps({"method": method, "params": params})


def decode(part: Part) -> tuple[str, Params]:
    """Method and parameters of a part that this adapter has made."""
    payload = orjson.loads(part.payload)
    return payload["method"], payload["params"]


def unformatted(part: Part) -> Part | None:
    """The same words without entities; None where there are none to take away."""
    method, params = decode(part)
    found = _strip(params)
    for medium in params.get("media", ()):
        found = _strip(medium) or found
    return replace(part, payload=encode(method, params)) if found else None


def _strip(params: Params) -> bool:
    taken = [params.pop(name, None) for name in _FORMATTING]
    return any(entities is not None for entities in taken)


def retargeted(part: Part, channel: str) -> Part:
    """The same words for the new id of a channel.

    Ids of messages don't go along: in the new channel they are other messages, or none (IDENT-4). So the part answers
    none, and an edit becomes a message.
    """
    method, params = decode(part)
    old = part.destination
    place = Destination(platform=old.platform, workspace=old.workspace, channel=channel, thread=old.thread)
    params["chat_id"] = int(channel)
    params.pop("reply_parameters", None)
    action = part.action
    if method == "editMessageText":
        params.pop("message_id")
        method, action = "sendMessage", Action.SEND
    return replace(part, destination=place, action=action, payload=encode(method, params))


def edited(part: Part, message: str) -> Part:
    """A text part as the final form of a message that has been growing."""
    _, params = decode(part)
    kept = ("chat_id", "text", "entities", "link_preview_options", "reply_markup")
    edit = {name: params[name] for name in kept if name in params}
    edit["message_id"] = int(message)
    return replace(part, action=Action.EDIT, payload=encode("editMessageText", edit))


def final_edit(parts: tuple[Part, ...], message: str) -> tuple[Part, ...]:
    """Turn the first text of final parts into an edit of the message that has been growing.

    Where the words are a caption, they become the final form of that message and the file follows without them. Where
    there are no words at all, the message stays as it is.
    """
    for index, part in enumerate(parts):
        method, params = decode(part)
        if method == "sendMessage":
            return (*parts[:index], edited(part, message), *parts[index + 1 :])
        holder = params["media"][0] if "media" in params else params
        if "caption" in holder:
            caption = holder.pop("caption")
            text: Params = {
                "chat_id": params["chat_id"],
                "text": caption,
                "link_preview_options": NO_PREVIEW,
                "message_id": int(message),
            }
            entities = holder.pop("caption_entities", None)
            if entities:
                text["entities"] = entities
            words = replace(
                part,
                action=Action.EDIT,
                text=caption,
                payload=encode("editMessageText", text),
                files=(),
                buttons=(),
            )
            return (*parts[:index], words, replace(part, payload=encode(method, params)), *parts[index + 1 :])
    return parts
