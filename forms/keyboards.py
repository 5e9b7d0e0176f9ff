"""The buttons under a question (:mod:`forms.presentation` says what they mean): options, ticks, a calendar."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from forms import months
from forms.bounds import same
from forms.card import MAX_LABEL, Style
from forms.field import Field, FieldKind, Option
from forms.formats import read_date
from forms.wording import Words, how_many, is_numbered, options_of, say, title_of

MAX_OPTIONS: Final = 12
"""Buttons of options; a longer list is not answered by taps."""
YEARS: Final = 100
"""How far a calendar goes, into the past and the future."""

_TICKED, _UNTICKED = "☑ ", "☐ "
_EMPTY: Final = "·"
_ROWS: Final = ((6, 4), (16, 2))
"""Longest label, and how many buttons a row then has; one, where labels are longer."""

Rows = list[tuple["Tap", ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tap:
    """A button: what people read, what it means (opaque to everybody else), and its weight."""

    label: str
    value: str
    style: Style = Style.NEUTRAL


# fields


def is_stepwise(one: Field) -> bool:
    """Whether taps change the keyboard before one of them ends it."""
    return has_taps(one) and one.kind in (FieldKind.CHOICES, FieldKind.DATE, FieldKind.DATE_RANGE)


def has_taps(one: Field) -> bool:
    """Whether it can be answered by taps. What is masked is asked by the page alone (FORM-10)."""
    if one.masked:
        return False
    return one.kind in (FieldKind.DATE, FieldKind.DATE_RANGE) or 0 < len(options_of(one)) <= MAX_OPTIONS


def ticked_options(one: Field, kept: Mapping[str, object]) -> list[Option]:
    """What is ticked; at first the default."""
    values = kept.get(one.name, one.default if one.has_default else None)
    listed = values if isinstance(values, list) else []
    return [option for option in one.options if any(same(option.value, value) for value in listed)]


def is_enough(one: Field, chosen: list[Option]) -> bool:
    """Whether so many may be chosen."""
    most = len(one.options) if one.max_items is None else one.max_items
    return (one.min_items or 0) <= len(chosen) <= most


def can_skip(one: Field, kept: Mapping[str, object]) -> bool:
    """Whether nothing is an answer, and no option says so itself."""
    if not one.nullable and one.required:
        return False
    if one.kind is not FieldKind.CHOICES:
        return not any(option.value is None for option in one.options)
    emptied = one.has_default and one.name in kept and is_enough(one, [])  # "none", and not "as it was"
    return not emptied and not ticked_options(one, kept)


# keyboards


def tap_of(code: str, value: str, words: Words, style: Style = Style.NEUTRAL) -> Tap:
    """A button with a word of the language on it."""
    return Tap(label=say(words, code), value=value, style=style)


def keyboard(asked: tuple[Field, ...], kept: Mapping[str, object], view: str, today: date, words: Words) -> Rows:
    """The buttons under a question that is open, row by row; none where it is not answered by taps."""
    if not asked:
        return [(tap_of("confirm", "go", words, Style.SUCCESS), tap_of("cancel", "cancel", words))]
    one = asked[0]
    if len(asked) > 1 or not has_taps(one):
        return []
    skip = [(tap_of("skip", "skip", words),)] if can_skip(one, kept) else []
    if one.kind is FieldKind.CHOICES:
        return _ticks(one, ticked_options(one, kept), words) + (skip or _ending(one, ticked_options(one, kept), words))
    if one.kind in (FieldKind.DATE, FieldKind.DATE_RANGE):
        return _calendar(one, kept, view, today, words) + skip
    labels = _labels(one, words, MAX_LABEL)
    taps = [
        Tap(label=label, value=f"={place}", style=_weight(one, option))
        for place, (label, option) in enumerate(zip(labels, options_of(one), strict=True))
    ]
    return _in_rows(taps) + skip


def _weight(one: Field, option: Option) -> Style:
    """The default stands out."""
    return Style.PRIMARY if one.has_default and same(option.value, one.default) else Style.NEUTRAL


def _labels(one: Field, words: Words, longest: int) -> list[str]:
    """Titles as they fit on buttons; with their numbers where the titles alone don't tell them (see the list then)."""
    titles = [title_of(option, words) for option in options_of(one)]
    if not is_numbered(one, words):
        return titles
    numbered = [f"{place}. {title}" for place, title in enumerate(titles, 1)]
    return [label if len(label) <= longest else f"{label[: longest - 1].rstrip()}…" for label in numbered]


def _in_rows(taps: list[Tap]) -> Rows:
    longest = max(len(tap.label) for tap in taps)
    width = next((count for limit, count in _ROWS if longest <= limit), 1)
    return [tuple(taps[start : start + width]) for start in range(0, len(taps), width)]


def _ticks(one: Field, chosen: list[Option], words: Words) -> Rows:
    rows: Rows = []
    labels = _labels(one, words, MAX_LABEL - len(_TICKED))
    for place, (label, option) in enumerate(zip(labels, one.options, strict=True)):
        ticked = any(option is item for item in chosen)
        rows.append((Tap(label=(_TICKED if ticked else _UNTICKED) + label, value=f"{'-' if ticked else '+'}{place}"),))
    return rows


def _ending(one: Field, chosen: list[Option], words: Words) -> Rows:
    """Done, or what is still in the way of it."""
    if is_enough(one, chosen):
        return [(tap_of("done", "done", words, Style.PRIMARY),)]
    return [(Tap(label=how_many(one, words)[:MAX_LABEL], value="~"),)]


# calendars


def read_view(one: Field, view: str) -> tuple[date, date | None] | None:
    """The month and where a range starts; None for what is no view of this field."""
    spelt_month, slash, start = view.partition("/")
    month, day = months.read_month(spelt_month), read_date(start)
    if month is None or (slash and (day is None or one.kind is not FieldKind.DATE_RANGE)):
        return None
    return month, day


def _calendar(one: Field, kept: Mapping[str, object], view: str, today: date, words: Words) -> Rows:
    marked = _marked(one, kept)
    month, start = read_view(one, view) or (months.month_of(marked[0] if marked else today), None)
    now = months.month_of(today)
    first, last = months.turned(now, -12 * YEARS) or date.min, months.turned(now, 12 * YEARS) or date.max
    if start is not None:
        first = max(first, months.month_of(start))
    month = max(first, min(month, last))
    inert = iter(range(100))

    def still(label: str) -> Tap:
        return Tap(label=label, value=f"~{next(inert)}")

    def turning(label: str, by: int) -> Tap:
        to = months.turned(month, by)
        if to is None or not first <= to <= last:
            return still(_EMPTY)
        tail = "" if start is None else f"/{start.isoformat()}"
        return Tap(label=label, value=f"v{months.spelt(to)}{tail}")

    def cell(day: date | None) -> Tap:
        if day is None:
            return still(_EMPTY)
        if start is not None:
            style = Style.SUCCESS if day == start else Style.PRIMARY if day == today else Style.NEUTRAL
            return Tap(label=str(day.day), value=f"d{start.isoformat()}/{day.isoformat()}", style=style)
        style = Style.SUCCESS if day in marked else Style.PRIMARY if day == today else Style.NEUTRAL
        return Tap(label=str(day.day), value=f"d{day.isoformat()}", style=style)

    name = say(words, "month_of_year", month=say(words, f"month_{month.month}"), year=month.year)
    rows = [
        (turning("«", -12), turning("‹", -1), still(name[:MAX_LABEL]), turning("›", 1), turning("»", 12)),
        tuple(still(say(words, f"weekday_{number}")) for number in range(1, 8)),
        *(tuple(map(cell, week)) for week in months.weeks(month, earliest=start)),
    ]
    if start is not None:
        begun = say(words, "from_date", date=start.isoformat())
        rows.append((still(begun[:MAX_LABEL]), tap_of("back", f"v{months.spelt(month)}", words)))
    return rows


def _marked(one: Field, kept: Mapping[str, object]) -> list[date]:
    """The days that are filled in; at first those of the default."""
    value = kept.get(one.name, one.default if one.has_default else None)
    days = [read_date(item) for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
    return [day for day in days if day is not None]
