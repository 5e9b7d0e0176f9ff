"""Times and date-times as people write them, in the named zone.

A time without an offset is the local one of the person's zone. A local time that the clocks skip does not exist; one
that they repeat is two, and both are given. An offset that was typed is kept as typed.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from forms import formats, words
from forms.dates import dates
from forms.folding import ascii_digits, fold, seen
from forms.reading import Ambiguous, Locale, Reading, Value, Wrong, settle

_ANY_DAY: Final = date(2000, 1, 2)
LONGEST: Final = 100  # characters
MOST_WORDS: Final = 14

_ZONE_NAME: Final = re.compile(r"(?:(?<=[\s\])])|^)\(?([A-Za-z][A-Za-z_]+(?:/[A-Za-z][A-Za-z_+-]+){1,2})\)?$")
_OFFSET: Final = re.compile(r" ?\(?(?:(z|utc|gmt)|(utc|gmt)? ?([+-])([0-9]{1,2})(?::?([0-9]{2}))?)\)?$")
_CLOCK: Final = re.compile(r"([0-9]{1,2}) ?[:.h] ?([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?")
_HOUR: Final = re.compile(r"([0-9]{1,2})")
_HOUR_AND_MINUTE: Final = re.compile(r"([0-9]{1,2}) ([a-zа-я']+) ([0-9]{1,2})(?: ([a-zа-я]+))?")
_ISO_T: Final = re.compile(r"(?<=[0-9])[tT](?=[0-9])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """A time of day. ``offset`` as in RFC 3339, "" for local; ``zone`` an IANA name that was typed.

    ``loose``: an hour alone, which may be of twelve or of twenty-four. ``stated``: its half of the day was said.
    """

    hour: int
    minute: int = 0
    second: int = 0
    fraction: str = ""
    offset: str = ""
    zone: str = ""
    loose: bool = False
    stated: bool = False

    def __str__(self) -> str:
        return f"{self.hour:02}:{self.minute:02}:{self.second:02}{self.fraction}"


def clocks(text: str) -> tuple[Clock, ...]:
    """The time that the text is, or none. A loose one is given as it stands: see :func:`halves`."""
    if len(text) > LONGEST:
        return ()
    plain = ascii_digits(text).strip(" ,;.")
    named = _ZONE_NAME.search(plain)
    zone = named[1] if named else ""
    plain = fold(plain[: named.start()] if named else plain).strip(" ,;.")
    clock = _without_offset(plain)
    if clock is not None:
        return (replace(clock, zone=zone),)
    offset = None if zone else _OFFSET.search(plain)
    if offset is None:
        return ()
    clock = _without_offset(plain[: offset.start()])
    marked = _offset(offset, seconds=bool(re.search(r":[0-9]{2}:[0-9]{2}", plain)))
    return (replace(clock, offset=marked),) if clock is not None and marked else ()


def halves(clock: Clock) -> tuple[Clock, ...]:
    """An hour alone up to twelve may be in both halves of the day."""
    if not clock.loose or not 1 <= clock.hour <= 12:
        return (replace(clock, loose=False),)
    morning, evening = (clock.hour, clock.hour + 12) if clock.hour < 12 else (12, 0)
    return (replace(clock, hour=morning, loose=False), replace(clock, hour=evening, loose=False))


def read_time(text: str, *, locale: Locale, today: date) -> Reading:
    """A time with the offset that the zone has today."""
    moments = [(today, clock) for found in clocks(text) for clock in halves(found)]
    read = _settled(moments, locale=locale, none="invalid_time", many="ambiguous_time")
    return _without_date(read)


def read_datetime(text: str, *, locale: Locale, today: date) -> Reading:
    """A date and a time, either first."""
    return _settled(
        moments(text, locale=locale, today=today), locale=locale, none="invalid_datetime", many="ambiguous_datetime"
    )


def moments(text: str, *, locale: Locale, today: date) -> list[tuple[date, Clock]]:
    """Every day and time that the text can be."""
    if len(text) > LONGEST:
        return []
    tokens = _ISO_T.sub(" ", seen(text)).split()
    found: list[tuple[date, Clock]] = []
    for place in range(1, len(tokens)) if len(tokens) <= MOST_WORDS else ():
        left, right = " ".join(tokens[:place]), " ".join(tokens[place:])
        for day_text, time_text in ((left, right), (right, left)):
            times = clocks(time_text)
            if times:
                days = dates(day_text, locale=locale, today=today)
                found += [(day, clock) for day in days for time in times for clock in halves(time)]
    return list(dict.fromkeys(found))


def stamps(day: date, clock: Clock, locale: Locale) -> tuple[str, ...]:
    """The date-times of RFC 3339 that the local time is: none if the clocks skip it, two if they repeat it.

    Raises:
        LookupError: the zone is not known.
        OverflowError: the zone has no offset there that RFC 3339 could write.
    """
    if clock.offset:
        return (f"{day.isoformat()}T{clock}{clock.offset}",)
    zone = _zone(clock.zone or locale.timezone)
    local = datetime(day.year, day.month, day.day, clock.hour, clock.minute, clock.second)  # noqa: DTZ001 - local is meant
    found: list[str] = []
    for fold_ in (0, 1):
        aware = local.replace(tzinfo=zone, fold=fold_)
        if aware.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local:
            found.append(f"{day.isoformat()}T{clock}{_written(aware)}")
    return tuple(dict.fromkeys(found))


def _settled(found: list[tuple[date, Clock]], *, locale: Locale, none: str, many: str) -> Reading:
    """The one date-time, or why there is none or more than one."""
    try:
        readings = [stamps(day, clock, locale) for day, clock in found]
    except LookupError:
        return Wrong("unknown_timezone")
    except OverflowError:
        return Wrong(none)
    if len(readings) == 1 and len(readings[0]) == 2:
        return Ambiguous("ambiguous_local_time", readings[0])
    if readings and not any(readings):
        return Wrong("nonexistent_local_time")
    return settle((reading for stamped in readings for reading in stamped), none=none, many=many)


def in_utc(read: Reading) -> Reading:
    """The same moments spelt with Z, for a field that takes no other offset."""
    match read:
        case Value(value=value):
            return Value(_spelt_in_utc(value))
        case Ambiguous(code=code, readings=readings):
            return Ambiguous(code, tuple(_spelt_in_utc(reading) for reading in readings))
        case _:
            return read


def _spelt_in_utc(value: object) -> object:
    if isinstance(value, list):
        return [_spelt_in_utc(end) for end in value]
    stamp = str(value)
    hour = formats.read_time(stamp)
    moment = formats.read_datetime(stamp) if hour is None else datetime.combine(_ANY_DAY, hour)
    if moment is None or moment.year in (1, 9999):  # the ends of the calendar are nobody's time
        return value
    spelt = moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
    return spelt if hour is None else spelt.partition("T")[2]


def _without_date(read: Reading) -> Reading:
    match read:
        case Value(value=str() as stamp):
            return Value(stamp.partition("T")[2])
        case Ambiguous(code=code, readings=readings):
            return Ambiguous(code, tuple(str(stamp).partition("T")[2] for stamp in readings))
        case _:
            return read


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # "", "../x" and the folder "Europe" among them
        raise LookupError(name) from None


def _written(moment: datetime) -> str:
    """The offset of an aware time."""
    offset = moment.strftime("%z")
    if len(offset) != 5:  # local mean time, before there were zones
        raise OverflowError(offset)
    return f"{offset[:3]}:{offset[3:]}"


def _offset(match: re.Match[str], *, seconds: bool) -> str | None:
    """As in RFC 3339; of "UTC+3" too. "10:00-12:00" is rather two times: a bare minus needs seconds before it."""
    name, prefix, sign, hours, minutes = match.groups()
    if name:
        return "Z"
    if int(hours) > 23 or int(minutes or 0) > 59 or (sign == "-" and not prefix and not seconds):
        return None
    return f"{sign}{int(hours):02}:{int(minutes or 0):02}"


def _without_offset(plain: str) -> Clock | None:
    tokens = plain.split()
    while tokens and tokens[0] in words.BEFORE_TIME:
        tokens = tokens[1:]
    plain = " ".join(tokens)
    if plain in words.NOON or plain in words.MIDNIGHT:
        return Clock(hour=12 if plain in words.NOON else 0)
    part, plain = _without_day_part(plain)
    return _in_part(_digits(plain), part)


def _without_day_part(plain: str) -> tuple[str, str]:
    for phrase, part in words.DAY_PARTS.items():
        rest = plain.removesuffix(phrase)
        if rest != plain and rest[-1:] in {*"0123456789 "}:
            return part, rest.strip()
    return "", plain


def _digits(plain: str) -> Clock | None:
    """The time without its half of the day: "9:30", "9.30 uhr", "9h30", "9 uhr 30", "9 часов 30 минут", "9"."""
    body, _, word = plain.rpartition(" ")
    if word not in words.HOUR_WORDS:
        body, word = (plain, "")
        glued = re.fullmatch(r"([0-9:.]+)([a-zа-я]+)\.?", plain)
        if glued and glued[2] in words.HOUR_WORDS:
            body, word = glued.groups()
    if match := _CLOCK.fullmatch(body):
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        clock = Clock(hour=hour, minute=minute, second=second, fraction=f".{match[4]}" if match[4] else "")
    elif match := _HOUR.fullmatch(body.rstrip(".")):
        clock = Clock(hour=int(match[1]), loose=not word or word in {"o'clock", "oclock"})
    elif (match := _HOUR_AND_MINUTE.fullmatch(plain)) and match[2] in words.HOUR_WORDS:
        if match[4] and match[4] not in words.MINUTE_WORDS:
            return None
        clock = Clock(hour=int(match[1]), minute=int(match[3]))
    else:
        return None
    return clock if clock.hour < 24 and clock.minute < 60 and clock.second < 60 else None


def _in_part(clock: Clock | None, part: str) -> Clock | None:
    """The time in its half of the day; none where the hour is not in it."""
    if clock is None or not part:
        return clock
    hour = clock.hour
    if part == "forenoon":
        hour = 0 if hour == 12 else hour
        fits = hour < 12
    elif part == "night":  # nine to midnight, midnight to six
        hour = (hour + 12) % 24 if 9 <= hour <= 12 else hour
        fits = hour < 6 or hour > 20
    else:
        hour = hour + 12 if 1 <= hour < 12 else hour
        fits = hour >= 12
    return replace(clock, hour=hour, loose=False, stated=True) if fits else None
