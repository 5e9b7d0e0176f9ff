"""Whether a person would see anything at all in a text."""

import re

# White space and everything that leaves no ink: controls, zero-width, soft hyphen, bidi, fillers of Hangul and Khmer,
# empty braille, variation selectors, tags. Platforms refuse some of it and show the rest as an empty bubble.
_INK = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)


def is_blank(text: str) -> bool:
    """Whether nothing in a text can be seen: white space and invisible characters only."""
    return _INK.search(text) is None
