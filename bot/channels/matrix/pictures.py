"""How large a picture is, read from its first bytes: clients keep its place free while they fetch it."""

from typing import Final

_JPEG_SIZES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_LARGEST: Final = 100_000


def extent(content: bytes) -> dict[str, int]:
    """Width and height as ``w`` and ``h``, in pixels; empty where that is not known.

    Args:
        content: of a file that says it is a picture.
    """
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
        return _known(int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big"))
    if content.startswith((b"GIF87a", b"GIF89a")):
        return _known(int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little"))
    return _jpeg(content) if content.startswith(b"\xff\xd8") else {}


def _known(width: int, height: int) -> dict[str, int]:
    return {"w": width, "h": height} if 0 < width <= _LARGEST and 0 < height <= _LARGEST else {}


def _jpeg(content: bytes) -> dict[str, int]:
    """Walk from segment to segment up to the one that names the size."""
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        if content[at + 1] in _JPEG_SIZES:
            return _known(
                int.from_bytes(content[at + 7 : at + 9], "big"), int.from_bytes(content[at + 5 : at + 7], "big")
            )
        at += 2 + max(2, int.from_bytes(content[at + 2 : at + 4], "big"))
    return {}
