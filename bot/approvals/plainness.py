"""Words of agents and strangers as they are, for people who decide on them (APPR-2).

Nothing in them is markup, nothing hides and nothing looks like a line of the gateway: signs that show nothing or turn
the direction of what follows are written out (``⟨U+202E⟩``), and so are letters of another script that pass for those
of the word in which they stand (``p⟨U+0430⟩ypal``). Every line stands behind a bar, also where a platform drops the
formatting.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from policy.folding import skeleton

BAR: Final = "│ "
_END: Final = "⏎"
_NAMED: Final = {"\t": "⇥   ", "\r": "␍"}
PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_OTHER_TYPE: Final = re.compile(
    r"(?:-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|\{\}|\[\]|\".*)?", re.DOTALL
)
_EMOJI: Final = re.compile(
    r"[\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]\ufe0f?[\U0001f3fb-\U0001f3ff]?"
    r"(?:\u200d[\u2190-\u21ff\u2300-\u27bf\U0001f000-\U0001faff]\ufe0f?[\U0001f3fb-\U0001f3ff]?)*|[0-9#*]\ufe0f\u20e3"
)
"""Pictures that are put together of several signs, which are invisible only where they stand elsewhere."""
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks by their category, and nothing to see."""
_GAP: Final = re.compile(r" {33,}")
"""Blanks that move what follows them out of sight, where a platform does not break lines."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_DEEPEST: Final = 64


def visible(text: str, *, disguised: bool = True) -> str:
    """A text with everything in it to be seen; its lines stay lines.

    Args:
        text: of somebody.
        disguised: letters that pass for others are written out, too.
    """
    see = _all_seen if disguised else _signs_seen
    if text.isascii() and text.isprintable() and "  " not in text:
        return text
    shown: list[str] = []
    start = 0
    for picture in _EMOJI.finditer(text):
        shown.append(see(text[start : picture.start()]))
        shown.append(picture[0])
        start = picture.end()
    return _GAP.sub(lambda gap: f"⟨U+0020 × {len(gap[0])}⟩", "".join([*shown, see(text[start:])]))


def line(text: str) -> str:
    """The same in one line."""
    return visible(text).replace("\n", _END)


def behind_a_bar(text: str) -> str:
    """A visible text, each line of it behind a bar."""
    return "\n".join(f"{BAR}{one}".rstrip(" ") for one in text.split("\n"))


def flat(parameters: Mapping[str, Any]) -> str:
    """JSON parameters as lines of paths and values, nothing left out.

    A string that could be taken for something else (a number, ``true``, nothing at all) stands in quotes, as in JSON.
    A text of several lines follows its path, behind a bar.
    """
    return "\n".join(written for steps, value in leaves(parameters) for written in _written(path_of(steps), value))


Steps = tuple[str | int, ...]


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Everything in parameters that holds nothing further, with the way to it, in order."""
    match value:
        case Mapping() if value and len(steps) < _DEEPEST:
            for key, inner in value.items():
                yield from leaves(inner, (*steps, key))
        case [_, *_] if len(steps) < _DEEPEST:
            for number, inner in enumerate(value):
                yield from leaves(inner, (*steps, number))
        case _ if steps:
            yield steps, value
        case _:
            return


def path_of(steps: Steps) -> str:
    """The way to a value as people read it, in one line: ``mail.to[0]``."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif PLAIN_KEY.fullmatch(step):
            path += f".{step}" if path else step
        else:
            path += f"[{line(json.dumps(step, ensure_ascii=False))}]"
    return path


def _written(path: str, value: Any) -> Sequence[str]:
    if not isinstance(value, str):
        return [f"{path}: {line(json.dumps(value, ensure_ascii=False))}"]
    if "\n" in value:
        return [f"{path}:", *behind_a_bar(visible(value)).split("\n")]
    if _OTHER_TYPE.fullmatch(value) or value != value.strip():
        value = json.dumps(value, ensure_ascii=False)
    return [f"{path}: {line(value)}"]


def _all_seen(text: str) -> str:
    return _signs_seen(text if text.isascii() else _WORD.sub(lambda word: _undisguised(word[0]), text))


def _signs_seen(text: str) -> str:
    return "".join(map(_seen, text))


def _undisguised(word: str) -> str:
    """A word with letters that pass for Latin ones written out, if it has Latin ones and no other letters."""
    if word.isascii() or not any(sign.isascii() for sign in word):
        return word
    passing = {sign for sign in word if sign > "\u00ff" and not unicodedata.name(sign, "").startswith("LATIN ")}
    if not all(skeleton(sign).isascii() for sign in passing):
        return word  # words such as SMSка
    return "".join(_written_out(sign) if sign in passing else sign for sign in word)


def _written_out(sign: str) -> str:
    return f"⟨U+{ord(sign):04X}⟩"


def _seen(sign: str) -> str:
    if sign == "\n" or " " <= sign <= "~":
        return sign
    if sign in _NAMED:
        return _NAMED[sign]
    category = unicodedata.category(sign)
    if category[0] in "CZ" or sign in _BLANK or "\ufe00" <= sign <= "\ufe0f" or "\u180b" <= sign <= "\u180f":
        return _written_out(sign)
    return _written_out(sign) if "\U000e0100" <= sign <= "\U000e01ef" else sign
