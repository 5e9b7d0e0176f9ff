"""How texts are compared: without regard to case, width, accents, and what keyboards insert unseen.

Three strengths: :func:`trim` changes the ends alone, :func:`fold` is for words, :func:`compact` for names ("due_date",
"Due date" and "dueDate" are one name). Free text is never folded to be stored, only to be compared.
"""

import re
import unicodedata
from typing import Final

# Zero-width characters, soft hyphen, marks of writing direction, byte order mark: nobody sees them, nobody means them.
_UNSEEN: Final = dict.fromkeys(
    [0x00AD, 0x061C, 0x180E, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
)
_ENDS: Final = "".join(chr(code) for code in _UNSEEN)
_ACCENTS: Final = re.compile(
    "[\u0300-\u0305\u0307-\u036f]|(?<!\u0438)\u0306"
)  # й is a letter of its own: it keeps its breve
_JOINTS: Final = re.compile(r"[\s_\-‐‑]+")
DASHES: Final = "-‐‑‒–—―−﹣－"
_DASHES: Final = str.maketrans(dict.fromkeys(DASHES, "-"))


def trim(text: str) -> str:
    """Without white space and unseen characters at both ends; inside, as typed."""
    before = None
    while text != before:
        before, text = text, text.strip().strip(_ENDS)
    return text


def seen(text: str) -> str:
    """Without unseen characters, in composed form: "и" and a breve are "й"."""
    return unicodedata.normalize("NFC", text.translate(_UNSEEN))


def _unaccented(text: str) -> str:
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def fold(text: str, *, accents: bool = False) -> str:
    """Compatible forms, case folded, white space collapsed; accents dropped (ё is е, й stays й) unless they matter."""
    folded = unicodedata.normalize("NFKC", seen(text)).casefold()
    folded = unicodedata.normalize("NFC", folded) if accents else _unaccented(folded)
    return " ".join(folded.split())


def compact(text: str, *, accents: bool = False) -> str:
    """Like fold, and without spaces, underscores and hyphens; for names."""
    return _JOINTS.sub("", fold(text, accents=accents))


def ascii_digits(text: str) -> str:
    """Every decimal digit of any script as 0-9, every dash as "-", every space as " ". "²" is no digit and stays.

    NFKC would make a two of "²": it must not be asked about numbers.
    """
    plain = []
    for char in seen(text).translate(_DASHES):
        digit = unicodedata.decimal(char, None)
        plain.append(str(digit) if digit is not None else " " if char.isspace() else char)
    return "".join(plain)
