"""What a request is made of, read after consent only. Everything in it is somebody else's word (PROMPT-2)."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from bot.channels.matrix.content import STICKER, current, is_caption, mxc_of
from bot.channels.matrix.identifiers import ShapeError
from bot.channels.matrix.relations import relation_of
from bot.model.inbound import Material, Reading
from bot.model.request import Attachment
from policy.event import Kind

Native = Mapping[str, Any]

_STEMS: Final = {"m.image": "image", "m.audio": "audio", "m.video": "video", "m.file": "file", STICKER: "sticker"}
"""First part of a name, where the person gives none."""
_UNNAMED_TYPE: Final = "application/octet-stream"
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}")
_MAX_NAME: Final = 255
_MAX_SIZE: Final = 2**53
_KEY_FIELDS: Final = ("alg", "kty", "k")
_TELLS_NOTHING: Final = frozenset({Kind.MALFORMED, Kind.UNDECRYPTABLE, Kind.REDACTION, Kind.SERVICE})


def material_of(reading: Reading) -> Material:
    """The material of a reading; what has not the documented shape is left out."""
    envelope = reading.native
    kind = reading.event.kind
    if kind in _TELLS_NOTHING:
        return Material()
    event, room = _tree(envelope, "event"), _tree(envelope, "room")
    sender_name, channel_title = _sender_name(envelope, room, event), _text(room, "name")
    if kind in (Kind.REACTION, Kind.TAP):  # a tap is a reaction that has been found to be one
        key = _text(_tree(_tree(event, "content"), "m.relates_to"), "key")
        return Material(sender_name=sender_name, channel_title=channel_title, tap_token=key or None)
    return Material(
        text=reading.event.text,
        attachments=_attachments(event) if reading.event.attachments else (),
        sender_name=sender_name,
        channel_title=channel_title,
    )


def _attachments(event: Native) -> tuple[Attachment, ...]:
    content = _tree(event, "content")
    try:
        content = current(content, relation_of(content))
    except ShapeError:
        return ()
    mxc = mxc_of(content)
    if mxc is None:
        return ()
    info = _tree(content, "info")
    media_type = _text(info, "mimetype").partition(";")[0].strip().lower()
    return (
        Attachment(
            handle=_handle(content, mxc),
            name=_name(content, _text(event, "type")),
            media_type=media_type if _MEDIA_TYPE.fullmatch(media_type) else _UNNAMED_TYPE,
            size=_size(info),
        ),
    )


def _handle(content: Native, mxc: str) -> str:
    """What the channel needs to fetch the file: its address, or all that decrypts it (JSON)."""
    file = _tree(content, "file")
    if not file:
        return _compact({"mxc": mxc})
    key = _tree(file, "key")
    return _compact({
        "url": mxc,
        "v": _text(file, "v"),
        "iv": _text(file, "iv"),
        "key": {name: _text(key, name) for name in _KEY_FIELDS},
        "hashes": {"sha256": _text(_tree(file, "hashes"), "sha256")},
    })  # fmt: skip


def _compact(value: Native) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _name(content: Native, kind: str) -> str:
    """The name that the person's client gives. The body of a file with a caption is no name."""
    name = _text(content, "filename") or ("" if is_caption(content) else _text(content, "body"))
    return name[:_MAX_NAME] if name.strip() else _STEMS.get(_text(content, "msgtype") or kind, "file")


def _size(info: Native) -> int | None:
    size = info.get("size")
    return size if type(size) is int and 0 <= size < _MAX_SIZE else None


def _sender_name(envelope: Native, room: Native, event: Native) -> str:
    return _text(envelope, "sender_name") or _text(_tree(room, "member_names"), _text(event, "sender"))


def _tree(parent: Native, field: str) -> Native:
    value = parent.get(field)
    return value if isinstance(value, Mapping) else {}


def _text(parent: Native, field: str) -> str:
    value = parent.get(field)
    return value if isinstance(value, str) else ""
