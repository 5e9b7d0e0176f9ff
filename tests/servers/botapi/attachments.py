"""Files: what messages carry, and how they are fetched."""

from dataclasses import dataclass
from typing import Any, Final

from tests.servers.botapi.account import Account, method
from tests.servers.botapi.arguments import Arguments, Upload
from tests.servers.botapi.errors import ApiError, bad_request
from tests.servers.botapi.world import Tree, World

DOWNLOAD_BYTES: Final = 20 << 20
UPLOAD_BYTES: Final = 50 << 20
PHOTO_BYTES: Final = 10 << 20

_DETAILS: Final[dict[str, Tree]] = {
    "document": {},
    "photo": {"width": 800, "height": 600},
    "voice": {"duration": 3},
    "audio": {"duration": 60},
    "video": {"width": 640, "height": 360, "duration": 5},
    "animation": {"width": 320, "height": 240, "duration": 2},
    "video_note": {"length": 240, "duration": 5},
    "sticker": {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False},
}
_NAMED: Final = frozenset({"document", "audio", "video", "animation"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A file in a message: the fields that the message shows."""

    kind: str
    file_id: str
    fields: Tree


def keep(world: World, upload: Upload, file_id: str | None = None) -> str:
    """Keep a file and return its id."""
    file_id = file_id or f"AgAC{len(world.files) + 1:06d}"
    world.files[file_id] = upload
    return file_id


def fields_of(world: World, kind: str, file_id: str) -> Tree:
    """What a message with this file shows."""
    upload = world.files[file_id]
    shown: Tree = {
        "file_id": file_id,
        "file_unique_id": f"u{file_id}",
        "file_size": len(upload.content),
        **_DETAILS[kind],
    }
    if kind == "photo":
        small = shown | {"file_id": f"{file_id}s", "file_unique_id": f"u{file_id}s", "width": 90, "height": 67}
        world.files.setdefault(small["file_id"], upload)
        return {"photo": [small, shown]}
    if kind in _NAMED:
        shown |= {"file_name": upload.name, "mime_type": upload.mime}
    elif kind == "voice":
        shown["mime_type"] = "audio/ogg"
    if kind == "animation":
        document = {key: shown[key] for key in ("file_id", "file_unique_id", "file_size", "file_name", "mime_type")}
        return {"animation": shown, "document": document}
    return {kind: shown}


def attach(world: World, arguments: Arguments, kind: str, reference: Any) -> Attachment:
    """The file that a bot sends: an upload, a known file id or an address.

    Raises:
        ApiError: there is no such file, or it is too big.
    """
    if kind not in _DETAILS:
        raise bad_request(f"type {kind!r} is unsupported")
    name = str(reference or "")
    upload = arguments.files.get(name.removeprefix("attach://")) if name.startswith("attach://") else None
    if upload is not None:
        if not upload.content:
            raise bad_request("file must be non-empty")
        if len(upload.content) > UPLOAD_BYTES:
            raise ApiError(413, "Request Entity Too Large")
        if kind == "photo" and len(upload.content) > PHOTO_BYTES:
            raise bad_request("file is too big for a photo; the maximum size is 10485760 bytes")
        file_id = keep(world, upload)
    elif name in world.files:
        file_id = name
    elif name.startswith(("http://", "https://")):
        file_id = keep(world, Upload(name=name.rsplit("/", 1)[-1] or "file", content=b"fetched"))
    elif name == f"attach://{kind}":
        raise bad_request(f"there is no {kind} in the request")
    else:
        raise bad_request("wrong file identifier/HTTP URL specified")
    return Attachment(kind=kind, file_id=file_id, fields=fields_of(world, kind, file_id))


@method("getFile")
def get_file(account: Account, arguments: Arguments) -> Tree:
    """Make a file ready for download."""
    file_id = arguments.text("file_id")
    if not file_id:
        raise bad_request("file_id not specified")
    upload = account.world.files.get(file_id)
    if upload is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if len(upload.content) > DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    _, dot, suffix = upload.name.rpartition(".")
    path = f"documents/file_{len(account.paths) + 1}{dot}{suffix if dot else ''}"
    account.paths[path] = file_id
    return {
        "file_id": file_id,
        "file_unique_id": f"u{file_id}",
        "file_size": len(upload.content),
        "file_path": path,
    }
