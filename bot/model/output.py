"""What an agent answers: typed outputs. The label is the agent's word; the door decides what it is worth."""

from dataclasses import dataclass, field

from bot.texts.codes import Failure
from forms.card import Card


@dataclass(frozen=True, kw_only=True, slots=True)
class OutFile:
    """A file to send: content in memory, at most what the channel takes."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


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
    """

    text: str = field(repr=False)
    files: tuple[OutFile, ...] = ()
    card: Card | None = None
    declared: str = ""
    references: tuple[str, ...] = ()
    auto_after_s: int | None = None


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
