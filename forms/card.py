"""A card: a title, facts in rows, and buttons. Each channel shows it in its own form.

Limits are the narrowest of the channels, so that a card that can be made can be shown everywhere, whole.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from forms.errors import FormError

MAX_BUTTONS: Final = 12
MAX_LABEL: Final = 64
MAX_VALUE: Final = 256
MAX_ROWS: Final = 20


class CardError(FormError):
    """The card can't be shown; the text names the field and the limit."""


class Style(StrEnum):
    """The weight of a button."""

    NEUTRAL = "neutral"
    PRIMARY = "primary"
    SUCCESS = "success"
    DANGER = "danger"


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """A button: what people read, and the value that the agent gets. The value is never shown or sent to a platform."""

    label: str = field(repr=False)
    value: str = field(repr=False)
    style: Style = Style.NEUTRAL

    def __post_init__(self) -> None:
        if not self.label.strip():
            raise CardError("a button needs a label")
        if len(self.label) > MAX_LABEL:
            raise CardError(f"a button's label has at most {MAX_LABEL} characters")
        if len(self.value) > MAX_VALUE:
            raise CardError(f"a button's value has at most {MAX_VALUE} characters")


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A card. ``rows`` are (name, value) pairs."""

    title: str = field(default="", repr=False)
    rows: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    buttons: tuple[Button, ...] = ()

    def __post_init__(self) -> None:
        if len(self.buttons) > MAX_BUTTONS:
            raise CardError(f"a card has at most {MAX_BUTTONS} buttons")
        if len(self.rows) > MAX_ROWS:
            raise CardError(f"a card has at most {MAX_ROWS} rows")
        if len({button.value for button in self.buttons}) != len(self.buttons):
            raise CardError("two buttons of a card have the same value")

    @property
    def words(self) -> str:
        """Everything that a person could read in it, a line each."""
        lines = [self.title, *(f"{name}: {value}" for name, value in self.rows), *(b.label for b in self.buttons)]
        return "\n".join(line for line in lines if line)
