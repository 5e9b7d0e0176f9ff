"""What an agent answers: typed outputs. The label is the agent's word; the door decides what it is worth."""

import codecs
from dataclasses import dataclass, field

from bot.texts.codes import Failure
from forms.card import Card


@dataclass(frozen=True, kw_only=True, slots=True)
class OutFile:
    """A file to send: content in memory, at most what the channel takes."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


READ_BYTES = 1 << 20
"""Of a file that is text; what comes after them is not looked at."""
_TEXTS = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml")


def readable(file: OutFile) -> str:
    """What a person reads in a file that is plain text, whatever its label is; empty where it is none."""
    head = file.content[:READ_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "replace")
    if file.media_type.startswith(_TEXTS):
        return head.decode("utf-8", "replace")
    if b"\0" in head:
        return ""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(head)  # its last character may be cut
    except UnicodeDecodeError:
        return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Final:
    """The answer (Markdown), with files and a card of buttons if there are any.

    Attributes:
        text: Markdown.
        files: that go with it.
        card: of buttons.
        declared: the class of what it says, or a hard stop, by the agent's own word (AUTO-4); empty: routine.
        references: ids of the authorised record that it rests on (AUTO-8).
        auto_after_s: if it becomes a draft: seconds after which it is approved by time (AUTO-7); None: never.
        verbatim: the text is no Markdown: it is shown as it is written (AUTO-6).
    """

    text: str = field(repr=False)
    files: tuple[OutFile, ...] = ()
    card: Card | None = None
    declared: str = ""
    references: tuple[str, ...] = ()
    auto_after_s: int | None = None
    verbatim: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragment:
    """The answer while it grows: all of its text so far, never only the news."""

    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A note on work under way."""

    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Operational:
    """A fact for operators: never for outsiders (OUT-3)."""

    text: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class SafeError:
    """It did not work; people read a sentence of the catalogue, never the error (OUT-7)."""

    failure: Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """Nothing to say, which is a valid outcome."""


Output = Final | Fragment | Progress | Operational | SafeError | Silence
