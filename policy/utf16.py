"""Text measured in UTF-16 code units, the unit of Telegram's limits, offsets and lengths."""

_HIGH = range(0xD800, 0xDC00)
_LOW = range(0xDC00, 0xE000)


def utf16_len(text: str) -> int:
    """Length of a text in UTF-16 code units (an emoji outside the BMP counts two)."""
    if text.isascii():
        return len(text)
    return len(encode(text)) >> 1


def utf16_slice(text: str, offset: int, length: int) -> str | None:
    """The stretch of a text that an entity covers.

    Args:
        text: the whole text.
        offset: start, in UTF-16 code units.
        length: length, in UTF-16 code units.

    Returns:
        The stretch, or ``None`` if it is negative, out of range or cuts a surrogate pair: such an entity lies.
    """
    end = offset + length
    if offset < 0 or length < 0:
        return None
    if text.isascii():
        return text[offset:end] if end <= len(text) else None
    units = encode(text)
    if end * 2 > len(units) or cuts_pair(units, offset) or cuts_pair(units, end):
        return None
    return decode(units[offset * 2 : end * 2])


def encode(text: str) -> bytes:
    """UTF-16-LE without a mark; lone surrogates, which JSON can smuggle into a string, pass."""
    return text.encode("utf-16-le", "surrogatepass")


def decode(units: bytes) -> str:
    """Back from `encode`; two surrogates that make a pair become one character."""
    return units.decode("utf-16-le", "surrogatepass")


def cuts_pair(units: bytes, at: int) -> bool:
    """Whether a cut before unit ``at`` of UTF-16-LE bytes parts a high surrogate from its low one."""
    if not 0 < at * 2 < len(units):
        return False
    before, after = units[at * 2 - 2 : at * 2], units[at * 2 : at * 2 + 2]
    return int.from_bytes(before, "little") in _HIGH and int.from_bytes(after, "little") in _LOW
