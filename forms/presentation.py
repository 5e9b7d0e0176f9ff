"""What is shown of a question, and what a tap on it means (FORM-5, FORM-12).

A form of one choice or yes/no field is answered by one tap; several choices are ticked and then done; one date, or a
range of dates, is picked in a calendar. A form without fields is confirmed or cancelled. Any other form has no taps:
the page and replies serve. Fixed fields are filled in and not counted.

The *view* is what the buttons show now; it is kept with the question:

    ""                      the question, its options or the month of its date
    2026-12                 that month
    2026-12/2026-12-05      that month, and a range starts on that day
    confirm                 the answer, to be confirmed once more

A tap's value says what it does, not where it stands ("tick option 2", never "change option 2"), so that a tap on a
keyboard that has changed meanwhile, or the same tap twice, does what its label said or nothing. Only a tap on the
confirmation of this very answer confirms it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from forms import months
from forms.card import FieldRow, Style
from forms.field import Field, FieldKind, Form, Option
from forms.formats import read_date
from forms.keyboards import Tap, can_skip, has_taps, is_enough, is_stepwise, keyboard, read_view, tap_of, ticked_options
from forms.wording import WORDS, Words, hint, is_numbered, options_of, say, spelt

CONFIRM: Final = "confirm"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What is shown of a question.

    Attributes:
        rows: its fields.
        columns: the heads of their table.
        taps: a keyboard, row by row; empty: it is not answered by taps.
        stepwise: taps change the keyboard before one of them ends it.
        numbered: taps are told by numbers, and the rows say which options those are.
        free_text: it can be answered in words; not so where something masked is asked (FORM-10).
    """

    rows: tuple[FieldRow, ...]
    columns: tuple[str, str, str, str]
    taps: tuple[tuple[Tap, ...], ...]
    stepwise: bool
    numbered: bool
    free_text: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """The question goes on; both may be what they were: the tap was on something that does nothing."""

    kept: Mapping[str, object] = field(repr=False)
    view: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Complete:
    """An answer, for the judge; in the view ``confirm`` it is the one that was kept, confirmed."""

    values: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The person declines (a form without fields)."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """No tap of this form in this state: stale, or not ours."""


Step = Changed | Complete | Cancelled | Unknown


def show(form: Form, kept: Mapping[str, object], view: str, *, today: date, words: Words = WORDS) -> Shown:
    """What is shown.

    Args:
        form: what is asked.
        kept: valid values so far; in the view ``confirm`` the answer.
        view: see above; one that nobody could have made is taken for "".
        today: where the person is.
        words: by the codes of :data:`forms.wording.WORDS`.
    """
    confirming = view == CONFIRM
    asked = _asked(form)
    taps: Iterable[tuple[Tap, ...]]
    if confirming:
        taps = [(tap_of("confirm", _sure(form, kept), words, Style.SUCCESS), tap_of("change", "change", words))]
    else:
        taps = keyboard(asked, kept, view, today, words)
    return Shown(
        rows=tuple(_row(one, kept, words, confirming=confirming) for one in asked),
        columns=(
            say(words, "column_field"),
            say(words, "column_format"),
            say(words, "column_required"),
            say(words, "column_answer"),
        ),
        taps=tuple(taps),
        stepwise=not confirming and len(asked) == 1 and is_stepwise(asked[0]),
        numbered=not confirming and len(asked) == 1 and has_taps(asked[0]) and is_numbered(asked[0], words),
        free_text=not any(one.masked for one in asked),
    )


def tapped(form: Form, kept: Mapping[str, object], view: str, value: str) -> Step:
    """What a tap means. Raises nothing, whatever the value is.

    Args:
        form: what is asked.
        kept: valid values so far.
        view: what the buttons show now; the tap may come from an earlier one.
        value: of the tap.
    """
    if view == CONFIRM:
        if value == _sure(form, kept):
            return Complete(values=dict(kept))
        return Changed(kept=kept, view="") if value == "change" else Unknown()
    asked = _asked(form)
    if not asked:
        return _of_nothing(form, value)
    if len(asked) > 1 or not has_taps(asked[0]):
        return Unknown()
    return _of_field(form, asked[0], kept, view, value)


def filled(form: Form, values: Mapping[str, object]) -> dict[str, object]:
    """The values with those that the form itself fixes."""
    return {**{one.name: one.default for one in form.fields if one.fixed}, **values}


def _of_nothing(form: Form, value: str) -> Step:
    match value:
        case "go":
            return Complete(values=filled(form, {}))
        case "cancel":
            return Cancelled()
        case _:
            return Unknown()


def _of_field(form: Form, one: Field, kept: Mapping[str, object], view: str, value: str) -> Step:
    sign, rest = value[:1], value[1:]
    if value == "skip":
        return Complete(values=_skipped(form, one)) if can_skip(one, kept) else Unknown()
    if sign == "~":
        return Changed(kept=kept, view=view)
    if one.kind is FieldKind.CHOICES:
        return _of_choices(form, one, kept, view, value)
    if one.kind in (FieldKind.DATE, FieldKind.DATE_RANGE):
        return _of_calendar(form, one, kept, view, value)
    option = _option(one, rest) if sign == "=" else None
    return Unknown() if option is None else Complete(values=filled(form, {one.name: option.value}))


def _of_choices(form: Form, one: Field, kept: Mapping[str, object], view: str, value: str) -> Step:
    chosen = ticked_options(one, kept)
    if value == "done":
        if not is_enough(one, chosen):
            return Unknown()
        return Complete(values=filled(form, {one.name: [option.value for option in chosen]}))
    option = _option(one, value[1:])
    if option is None or value[0] not in "+-":
        return Unknown()
    ticked = [item for item in chosen if item is not option]
    if value[0] == "+":
        ticked = [option] if one.max_items == 1 else [*ticked, option]
    values = [item.value for item in one.options if any(item is ticket for ticket in ticked)]
    return Changed(kept={**kept, one.name: values}, view=view)


def _of_calendar(form: Form, one: Field, kept: Mapping[str, object], view: str, value: str) -> Step:
    sign, rest = value[:1], value[1:]
    ranged = one.kind is FieldKind.DATE_RANGE
    if sign == "v":
        found = read_view(one, rest)
        return Unknown() if found is None else Changed(kept=kept, view=rest)
    days = [read_date(part) for part in rest.split("/")]
    first, last = days[0], days[-1]
    if sign != "d" or first is None or last is None or len(days) > 2 or (len(days) == 2 and not ranged) or first > last:
        return Unknown()
    if not ranged:
        return Complete(values=filled(form, {one.name: first.isoformat()}))
    if len(days) == 1:
        start = read_view(one, view)
        month = months.month_of(first) if start is None else start[0]
        return Changed(kept=kept, view=f"{months.spelt(month)}/{first.isoformat()}")
    return Complete(values=filled(form, {one.name: [first.isoformat(), last.isoformat()]}))


# fields


def _asked(form: Form) -> tuple[Field, ...]:
    return tuple(one for one in form.fields if not one.fixed)


def _row(one: Field, kept: Mapping[str, object], words: Words, *, confirming: bool) -> FieldRow:
    return FieldRow(
        title=" ".join(one.title.split()) or one.name,
        hint="" if confirming else hint(one, words),
        required=say(words, "required") if one.required and not confirming else "",
        value=spelt(one, kept[one.name], words) if one.name in kept else "",
    )


def _option(one: Field, place: str) -> Option | None:
    options = options_of(one)
    number = int(place) if place.isascii() and place.isdecimal() and len(place) <= 2 else len(options)
    return options[number] if number < len(options) else None


def _skipped(form: Form, one: Field) -> dict[str, object]:
    return filled(form, {one.name: None} if one.required else {})


def _sure(form: Form, kept: Mapping[str, object]) -> str:
    """The value that confirms this very answer. It is kept with the button, so nothing masked is in it (FORM-10)."""
    masked = {one.name for one in form.fields if one.masked}
    shown = {name: value for name, value in kept.items() if name not in masked}
    written = json.dumps(shown, sort_keys=True, default=repr)
    return f"sure={hashlib.sha256(written.encode()).hexdigest()[:16]}"
