"""A form as the fields of a web page, and what a browser sends back (FORM-6).

Controls are named by the place of their field, options by their place in the list: what an agent's schema says never
becomes a name on the page, and null, ``1``, ``"1"`` and ``true`` stay what they are. What is typed, and what a browser
without date pickers sends, is read like a reply (:mod:`forms.values`); where that leaves a doubt, its readings are
offered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from forms.bounds import same
from forms.canonical import FORMAT_OF, RANGES
from forms.field import Field, FieldKind, Form
from forms.formats import read_datetime
from forms.numbers import decimal_mark
from forms.reading import Ambiguous, Locale, Value, Wrong
from forms.validation import FieldError
from forms.values import read_value
from forms.wording import options_of

Sent = Mapping[str, Sequence[str]]
"""What a browser sends: the values of each control, in order."""

MAX_RADIOS: Final = 7
"""Options that are all shown at once; more are a list that opens."""
_LINE: Final = 120  # characters; a text that may be longer gets an area
_LONGEST_NUMBER: Final = 40  # characters; longer ones are written with an exponent

_END_OF: Final = {
    FieldKind.DATE_RANGE: FieldKind.DATE,
    FieldKind.TIME_RANGE: FieldKind.TIME,
    FieldKind.DATETIME_RANGE: FieldKind.DATETIME,
}


class Control(StrEnum):
    """What stands on the page for a field."""

    LINE = "line"
    AREA = "area"
    NUMBER = "number"
    PASSWORD = "password"  # noqa: S105 - a control's name
    EMAIL = "email"
    ADDRESS = "address"
    DATE = "date"
    TIME = "time"
    MOMENT = "moment"  # date and time
    RADIOS = "radios"
    LIST = "list"
    BOXES = "boxes"


_CONTROLS: Final = {
    FieldKind.TEXT: Control.AREA,
    FieldKind.INTEGER: Control.NUMBER,
    FieldKind.NUMBER: Control.NUMBER,
    FieldKind.BOOLEAN: Control.RADIOS,
    FieldKind.CHOICE: Control.RADIOS,
    FieldKind.CHOICES: Control.BOXES,
    FieldKind.DATE: Control.DATE,
    FieldKind.TIME: Control.TIME,
    FieldKind.DATETIME: Control.MOMENT,
    FieldKind.EMAIL: Control.EMAIL,
    FieldKind.URI: Control.ADDRESS,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One place to type.

    Attributes:
        name: of the control.
        value: what stands in it.
        readings: what the value can mean, where that is in doubt; the control ``name + "-as"`` picks one.
        picked: the reading that is chosen; empty for none.
    """

    name: str
    value: str = field(default="", repr=False)
    readings: tuple[object, ...] = field(default=(), repr=False)
    picked: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """A field on the page.

    Attributes:
        field: the field itself.
        control: how it is asked.
        entries: one, the two ends of a range, or none for what is chosen.
        chosen: places of the options that are chosen, in the order of :func:`forms.wording.options_of`.
        errors: what is wrong with it.
        name: of the control, or the beginning of its names.
    """

    name: str
    field: Field
    control: Control
    entries: tuple[Entry, ...] = ()
    chosen: frozenset[int] = frozenset()
    errors: tuple[FieldError, ...] = ()


def read_page(
    form: Form, sent: Sent, *, locale: Locale, today: date
) -> tuple[dict[str, object], tuple[FieldError, ...]]:
    """The values that a browser sent, and what could not be read.

    An empty control is no value: null where the field has to be answered and takes it, else left out. Controls that the
    form does not have are passed over: browsers and their extensions add some. Raises nothing.

    Args:
        form: the question's.
        sent: by control.
        locale: how numbers and dates are written, and the zone of local times.
        today: the person's own day.

    Returns:
        Values by field, for the judge, and errors of fields that have no value because of them.
    """
    values: dict[str, object] = {}
    errors: list[FieldError] = []
    for place, asked in enumerate(form.fields):
        read = _read(asked, f"f{place}", sent, locale, today)
        if isinstance(read, Value):
            values[asked.name] = read.value
        elif isinstance(read, Wrong):
            errors.append(FieldError(field=asked.name, code=read.code, limit=read.limit))
        elif asked.nullable and asked.required:
            values[asked.name] = None
    return values, tuple(errors)


def inputs(
    form: Form,
    *,
    locale: Locale,
    today: date,
    kept: Mapping[str, object] | None = None,
    sent: Sent | None = None,
    errors: Iterable[FieldError] = (),
) -> tuple[Input, ...]:
    """The fields that are asked, with what stands in them: what was sent, else what is kept, else the defaults.

    Masked values are never among it (FORM-10). Arguments are those of :func:`read_page`; ``kept`` are values by field.
    """
    wrong = tuple(errors)
    return tuple(
        replace(
            _filled(asked, f"f{place}", kept or {}, sent, locale, today),
            errors=tuple(error for error in wrong if error.field == asked.name),
        )
        for place, asked in enumerate(form.fields)
        if not asked.fixed
    )


# Reading


def _read(asked: Field, name: str, sent: Sent, locale: Locale, today: date) -> Value | Wrong | None:
    """The value; None: nothing was filled in."""
    if asked.fixed:
        return Value(asked.default)
    if asked.kind is FieldKind.CHOICES:
        return _ticked(asked, sent.get(name, ()))
    if asked.kind in RANGES:
        return _range(asked, name, sent, locale, today)
    if len(sent.get(name, ())) > 1:
        return Wrong("duplicate_field")
    if asked.kind in {FieldKind.CHOICE, FieldKind.BOOLEAN}:
        text = "".join(sent.get(name, ()))
        return _option(asked, text) if text else None
    return _typed(asked, name, sent, locale, today)


def _ticked(asked: Field, places: Sequence[str]) -> Value | Wrong | None:
    values: list[object] = []
    for place in dict.fromkeys(places):
        match _option(asked, place):
            case Value(value=value):
                values.append(value)
            case wrong:
                return wrong
    if values or (asked.required and not asked.nullable):
        return Value(values)
    # What was ticked beforehand and is not any more is an answer too, where it may be one.
    return Value([]) if asked.default and not asked.min_items else None


def _option(asked: Field, place: str) -> Value | Wrong:
    options = options_of(asked)
    known = place.isascii() and place.isdigit() and len(place) < 6 and int(place) < len(options)
    return (
        Value(options[int(place)].value)
        if known
        else Wrong("not_a_boolean" if asked.kind is FieldKind.BOOLEAN else "not_a_choice")
    )


def _range(asked: Field, name: str, sent: Sent, locale: Locale, today: date) -> Value | Wrong | None:
    end = _end(asked)
    ends = [_one(end, f"{name}-{side}", sent, locale, today) for side in ("from", "to")]
    if ends == [None, None]:
        return None
    wrong = next((read for read in ends if isinstance(read, Wrong)), None)
    values = [read.value for read in ends if isinstance(read, Value)]
    return wrong or (Value(values) if len(values) == len(ends) else Wrong("incomplete_range"))


def _one(asked: Field, name: str, sent: Sent, locale: Locale, today: date) -> Value | Wrong | None:
    return Wrong("duplicate_field") if len(sent.get(name, ())) > 1 else _typed(asked, name, sent, locale, today)


def _typed(asked: Field, name: str, sent: Sent, locale: Locale, today: date) -> Value | Wrong | None:
    text = _text(sent, name)
    if asked.kind is FieldKind.TEXT:
        if asked.masked:
            return Value(text) if text else None
        if asked.pattern is not None:  # spaces come along when such a text is copied
            text = text.strip()
        return Value(text) if text.strip() else None
    if not text.strip():
        return None
    match read_value(replace(asked, nullable=False), text, locale=locale, today=today):
        case Ambiguous(code=code, readings=readings):
            picked = _text(sent, f"{name}-as")
            return next((Value(reading) for reading in readings if str(reading) == picked), Wrong(code))
        case read:
            return read


def _text(sent: Sent, name: str) -> str:
    """What was typed, with the line ends that people's texts have: browsers send others."""
    return next(iter(sent.get(name, ())), "").replace("\r\n", "\n").replace("\r", "\n")


def _end(asked: Field) -> Field:
    """One end of a range as a field."""
    return replace(asked, kind=_END_OF[asked.kind], nullable=False, min_items=None, max_items=None)


# Filling in


def _control(asked: Field) -> Control:
    if asked.masked and not options_of(asked):
        return Control.PASSWORD
    control = _CONTROLS[_END_OF.get(asked.kind, asked.kind)]
    if control is Control.AREA and (asked.pattern is not None or (asked.max_length or _LINE + 1) <= _LINE):
        lines = any("\n" in str(value) for value in (asked.default, *asked.examples))
        return control if lines else Control.LINE
    if control is Control.RADIOS and len(asked.options) > MAX_RADIOS:
        return Control.LIST
    return control


def _filled(
    asked: Field, name: str, kept: Mapping[str, object], sent: Sent | None, locale: Locale, today: date
) -> Input:
    empty = Input(name=name, field=asked, control=_control(asked))
    names = [f"{name}-from", f"{name}-to"] if asked.kind in RANGES else [name]
    if asked.masked:
        return empty if options_of(asked) else replace(empty, entries=tuple(Entry(name=one) for one in names))
    if sent is not None:
        return _as_sent(empty, names, sent, locale, today)
    known = asked.name in kept or asked.has_default
    value = kept.get(asked.name, asked.default)
    if options_of(asked):
        values = value if isinstance(value, list) else [value] if known else []
        places = (place for place, option in enumerate(options_of(asked)) if any(same(option.value, v) for v in values))
        return replace(empty, chosen=frozenset(places))
    values = value if isinstance(value, list) and len(value) == len(names) else [value] * len(names)
    kind = _END_OF.get(asked.kind, asked.kind)
    return replace(
        empty, entries=tuple(_entry(one, item, kind, locale, today) for one, item in zip(names, values, strict=True))
    )


def _as_sent(empty: Input, names: list[str], sent: Sent, locale: Locale, today: date) -> Input:
    asked = empty.field
    if options := options_of(asked):
        places = {place for place in sent.get(empty.name, ()) if isinstance(_option(asked, place), Value)}
        return replace(empty, chosen=frozenset(place for place in range(len(options)) if str(place) in places))
    one = _end(asked) if asked.kind in RANGES else replace(asked, nullable=False)
    entries: list[Entry] = []
    for name in names:
        text = _text(sent, name)
        read = read_value(one, text, locale=locale, today=today) if text.strip() else None
        readings = read.readings if isinstance(read, Ambiguous) else ()
        entries.append(Entry(name=name, value=text, readings=readings, picked=_text(sent, f"{name}-as")))
    return replace(empty, entries=tuple(entries))


def _entry(name: str, value: object, kind: FieldKind, locale: Locale, today: date) -> Entry:
    """A value as it is typed: read again, it is the same one."""
    if isinstance(value, bool) or value is None:
        return Entry(name=name)
    if isinstance(value, int | float):
        return Entry(name=name, value=_number(value, locale))
    if FORMAT_OF.get(kind) in {"time", "date-time"}:
        return _local(name, str(value), kind, locale, today)
    return Entry(name=name, value=str(value))


def _number(value: float, locale: Locale) -> str:
    written = f"{Decimal(repr(value)):f}"
    whole, point, fraction = written.partition(".")
    if not fraction.strip("0"):
        return whole
    mark = decimal_mark(locale)
    if not mark and len(fraction) == 3:  # with a digit more its mark can't be taken for one of thousands
        fraction += "0"
    return f"{whole}{mark or point}{fraction}" if len(written) <= _LONGEST_NUMBER else repr(value)


def _local(name: str, text: str, kind: FieldKind, locale: Locale, today: date) -> Entry:
    """A time in the zone of the question, as the controls of browsers have it.

    What can't be shown there (a zone that nobody knows, a year that it would leave) stays as it was written.
    """
    try:
        moment = _moment(text, kind, today)
        local = moment.astimezone(ZoneInfo(locale.timezone))
    except (LookupError, ValueError, OSError, OverflowError):
        return Entry(name=name, value=text)
    written = local.replace(tzinfo=None).isoformat(timespec="milliseconds" if local.microsecond else "auto")
    written = written.removesuffix(":00") if not local.second else written
    shown = written if kind is FieldKind.DATETIME else written.partition("T")[2]
    read = read_value(Field(name="", title="", kind=kind), shown, locale=locale, today=today)
    readings = tuple(map(str, read.readings)) if isinstance(read, Ambiguous) else ()
    meant = (reading for reading in readings if _moment(reading, kind, today).astimezone(UTC) == moment.astimezone(UTC))
    return Entry(name=name, value=shown, readings=readings, picked=next(meant, ""))


def _moment(text: str, kind: FieldKind, today: date) -> datetime:
    """A judged time, as a moment of its day; a time alone is of today."""
    dated = text if kind is FieldKind.DATETIME else f"{today.isoformat()}T{text}"
    moment = read_datetime(dated)
    if moment is None:
        raise ValueError(kind)
    return moment
