"""The final bytes of a part: what is to be done in which room; and the changes that a part can go through on its way.

A part's payload is canonical JSON: ``do`` (``send``, ``typing``, ``read``, ``join``, ``leave``) and ``room``; for
``send`` also ``type``, ``content``, ``txn`` and where they are needed ``file`` (the number of the part's file whose
place the sender fills in) and ``seeds`` (reactions that are put under the message, to be tapped). The transaction id
is made with the part and kept with it, so the same part sent twice is one message (DUR-2). Every change makes another
part with another digest, which needs another clearance.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from bot.channels.matrix.html import mended
from bot.channels.matrix.splitting import LIMIT_BYTES, weight
from bot.model.part import Action, Part

Document = dict[str, Any]
Content = dict[str, Any]

HTML: Final = "org.matrix.custom.html"
WORDS: Final = ("m.text", "m.notice")
_MARKS: Final[Mapping[str, Any]] = {"m.mentions": {}, "org.matrix.msc1767.automated": True}
_FALLBACK_CHARACTERS: Final = 300


def encode(document: Mapping[str, Any]) -> bytes:
    """The final bytes of a part."""
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def decode(part: Part) -> Document:
    """What a part of this adapter asks for."""
    document: Document = orjson.loads(part.payload)
    return document


def marked(content: Mapping[str, Any]) -> Content:
    """A content that says of itself: it was made by a machine, and it mentions nobody, whatever words are in it."""
    return {**content, **_MARKS}


def edit_of(message: str, content: Mapping[str, Any]) -> Content:
    """The content of an edit.

    Args:
        message: the event that it edits.
        content: what the message is from now on.
    """
    new = {name: value for name, value in content.items() if name != "m.relates_to"}
    return marked(
        {
            "msgtype": new["msgtype"],
            **_fallback(new),
            "m.new_content": new,
            "m.relates_to": {"rel_type": "m.replace", "event_id": mended(message)},
        }
    )


def _fallback(new: Content) -> Content:
    """What clients show that know no edits. The words are twice in the event: long ones are short here."""
    body, markup = str(new["body"]), new.get("formatted_body")
    size = weight(body) + (weight(markup) if markup is not None else 0)
    if size * 2 > LIMIT_BYTES:
        return {"body": f"* {body[:_FALLBACK_CHARACTERS].rstrip()}…"}
    if markup is None:
        return {"body": f"* {body}"}
    return {"body": f"* {body}", "format": HTML, "formatted_body": f"* {markup}"}


def edited(part: Part, message: str) -> Part:
    """A message of words as the final form of one that has been growing."""
    document = decode(part)
    document["content"] = edit_of(message, document["content"])
    return replace(part, action=Action.EDIT, payload=encode(document))


def final_edit(parts: tuple[Part, ...], message: str) -> tuple[Part, ...]:
    """Turn the first words of final parts into an edit of the message that has been growing.

    Where the words are a caption, they become the final form of that message and the file follows without them. Where
    there are no words at all, the message stays as it is.
    """
    for index, part in enumerate(parts):
        document = decode(part)
        content = document.get("content", {})
        if content.get("msgtype") in WORDS:
            return (*parts[:index], edited(part, message), *parts[index + 1 :])
        if "filename" in content and content["body"] != content["filename"]:
            return (*parts[:index], *_without_caption(part, document, message), *parts[index + 1 :])
    return parts


def _without_caption(part: Part, document: Document, message: str) -> tuple[Part, Part]:
    content = document["content"]
    name = content["filename"]
    words = {"msgtype": "m.text", "body": content["body"]}
    if "formatted_body" in content:
        words |= {"format": HTML, "formatted_body": content["formatted_body"]}
    said: Document = {
        "do": "send",
        "room": document["room"],
        "type": document["type"],
        "content": edit_of(message, marked(words)),
        "txn": f"{document['txn']}-words",
    }
    bare = {key: value for key, value in content.items() if key not in ("format", "formatted_body")}
    return (
        replace(
            part,
            action=Action.EDIT,
            text=part.text.removesuffix(f"\n{name}"),
            payload=encode(said),
            files=(),
            buttons=(),
        ),
        replace(part, text=name, payload=encode({**document, "content": {**bare, "body": name}})),
    )
