"""A card: a title, facts in rows, what is asked, and buttons. Each channel shows it in its own form.

Limits are the narrowest of the channels, so that a card that can be made can be shown everywhere, whole.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from forms.errors import FormError
from forms.field import Form

MAX_BUTTONS: Final = 60
"""A month with its paging, its weekdays and what stands under them."""
MAX_WIDTH: Final = 8
MAX_LABEL: Final = 64
MAX_VALUE: Final = 256
MAX_URL: Final = 2_048
MAX_ROWS: Final = 20

_URL: Final = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\"<>\\^`{|}/?#]+[^\s\x00-\x20\x7f-\x9f\"<>\\^`{|}]*")


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
    """A button: what people read, and either a value that comes back when it is tapped or a link that it opens.

    Attributes:
        label: what people read.
        value: what the agent gets. It is never shown or sent to a platform.
        style: its weight.
        url: a link, http or https; such a button has no value. The link can be the access to something.
        web_app: the link is opened inside the messenger where that is possible, and as a link elsewhere.
        sign: stands for it where there are no buttons; empty: the number of its place.
    """

    label: str = field(repr=False)
    value: str = field(default="", repr=False)
    style: Style = Style.NEUTRAL
    url: str = field(default="", repr=False)
    web_app: bool = False
    sign: str = ""

    def __post_init__(self) -> None:
        if not self.label.strip():
            raise CardError("a button needs a label")
        if len(self.label) > MAX_LABEL:
            raise CardError(f"a button's label has at most {MAX_LABEL} characters")
        if len(self.value) > MAX_VALUE:
            raise CardError(f"a button's value has at most {MAX_VALUE} characters")
        if self.url and self.value:
            raise CardError("a button has a value or a link, not both")
        if self.url and (len(self.url) > MAX_URL or not _URL.fullmatch(self.url)):
            raise CardError(f"a button's link begins with http:// or https:// and has at most {MAX_URL} characters")
        if self.web_app and not self.url:
            raise CardError("a button that opens inside the messenger needs a link")


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldRow:
    """One field of a question, in words. Nothing of it is markup.

    Attributes:
        title: its name.
        hint: what it takes; lines.
        required: the mark of a field that has to be filled in; empty where it may be left out.
        value: what is filled in so far; empty where nothing is.
    """

    title: str = field(repr=False)
    hint: str = field(default="", repr=False)
    required: str = ""
    value: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A card.

    Attributes:
        title: may be empty.
        rows: (name, value) pairs.
        blocks: (name, lines) pairs under them: lines as they are, each pair's in a block of its own.
        buttons: in reading order.
        widths: how many buttons stand in each row; empty: one a row.
        fields: what is asked, as a table.
        columns: the heads of that table: field, format, required, answer; empty: it has none.
        example: lines to copy; as they are, in a block of their own.
        note: small print under all that; as it is.
        stepwise: a tap changes the card and ends nothing (a calendar, choices that are ticked): of use only where its
            buttons change in place.
        form: the fields themselves, for a channel that can show inputs.
        timezone: IANA name of the zone in which times of the fields are meant.
    """

    title: str = field(default="", repr=False)
    rows: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    blocks: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    buttons: tuple[Button, ...] = ()
    widths: tuple[int, ...] = ()
    fields: tuple[FieldRow, ...] = ()
    columns: tuple[str, str, str, str] | None = None
    example: str = field(default="", repr=False)
    note: str = field(default="", repr=False)
    stepwise: bool = False
    form: Form | None = field(default=None, repr=False)
    timezone: str = ""

    def __post_init__(self) -> None:
        if len(self.buttons) > MAX_BUTTONS:
            raise CardError(f"a card has at most {MAX_BUTTONS} buttons")
        if len(self.rows) > MAX_ROWS:
            raise CardError(f"a card has at most {MAX_ROWS} rows")
        if len(self.blocks) > MAX_ROWS:
            raise CardError(f"a card has at most {MAX_ROWS} blocks")
        if len(self.fields) > MAX_ROWS:
            raise CardError(f"a card asks for at most {MAX_ROWS} fields")
        values = [button.value for button in self.buttons if not button.url]
        if len(set(values)) != len(values):
            raise CardError("two buttons of a card have the same value")
        if self.widths and (sum(self.widths) != len(self.buttons) or not all(0 < n <= MAX_WIDTH for n in self.widths)):
            raise CardError(f"the rows of buttons have 1 to {MAX_WIDTH} each and hold them all")

    @property
    def keyboard(self) -> tuple[tuple[Button, ...], ...]:
        """The buttons, row by row."""
        rows, start = [], 0
        for width in self.widths or (1,) * len(self.buttons):
            rows.append(self.buttons[start : start + width])
            start += width
        return tuple(rows)

    @property
    def words(self) -> str:
        """Everything that a person could read in it, a line each; where links lead is read too."""
        lines = [self.title, *(f"{name}: {value}" for name, value in self.rows)]
        for name, block in self.blocks:
            lines += [name, block]
        if self.fields and self.columns is not None:
            lines += self.columns
        for row in self.fields:
            lines += [row.title, row.hint, row.required, row.value]
        lines += [self.example, self.note]
        for button in self.buttons:
            lines += [button.label, button.url]
        return "\n".join(line for line in lines if line)
