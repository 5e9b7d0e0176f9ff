"""Dates as people write them.

ISO is ISO in every language; with dots the day comes first; with slashes and hyphens the language decides, and where it
does not ("en" alone is both American and British), both readings are given. A year that was left out is never filled in
silently: the last and the next such day are both given.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from typing import Final

from forms import words
from forms.folding import ascii_digits, fold
from forms.reading import Locale

LONGEST: Final = 80  # characters
DAY_FIRST, MONTH_FIRST = "dmy", "mdy"

_DAY_FIRST_LANGUAGES: Final = frozenset(
    [
        "ar",
        "bg",
        "bs",
        "ca",
        "cs",
        "da",
        "de",
        "el",
        "es",
        "fi",
        "fr",
        "gl",
        "he",
        "hi",
        "hr",
        "id",
        "it",
        "ka",
        "mk",
        "nb",
        "nl",
        "no",
        "nn",
        "pl",
        "pt",
        "ro",
        "ru",
        "sk",
        "sl",
        "sq",
        "sr",
        "th",
        "tr",
        "uk",
        "vi",
    ]
)
_DAY_FIRST_REGIONS: Final = frozenset(["en-AU", "en-GB", "en-IE", "en-IN", "en-MT", "en-NZ", "en-SG", "en-HK"])
_MONTH_FIRST_REGIONS: Final = frozenset({"en-US"})
_MIXED_REGIONS: Final = frozenset(["es-US", "es-PR", "es-PA", "fr-CA"])

_YEAR_FIRST: Final = re.compile(r"([0-9]{4}) ?([-/.]) ?([0-9]{1,2}) ?\2 ?([0-9]{1,2})")
_BASIC: Final = re.compile(r"((?:19|20|21)[0-9]{2})([0-9]{2})([0-9]{2})")
_YEAR_LAST: Final = re.compile(r"([0-9]{1,2}) ?([-/.]) ?([0-9]{1,2}) ?\2 ?([0-9]{4}|[0-9]{2})")
_NO_YEAR: Final = re.compile(r"([0-9]{1,2}) ?([/.]) ?([0-9]{1,2})\.?")
_WRITTEN: Final = re.compile(r"(?:[^\W_]|[ ,./'’-])+")
_TOKEN: Final = re.compile(r"[0-9]+|[^\W\d_]+")
_CHRISTIAN_ERA: Final = re.compile(r",? ?\b(?:г|года|год|р|roku)\.?$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """A date that may lack its month or year. ``weekday``: it was named, Monday is 0."""

    day: int
    month: int | None = None
    year: int | None = None
    weekday: int | None = None


def orders(locale: Locale) -> tuple[str, ...]:
    """In which order day and month stand beside slashes: one, or both where the language leaves it open."""
    language, region = locale.tag
    tag = f"{language}-{region}"
    if tag in _MONTH_FIRST_REGIONS:
        return (MONTH_FIRST,)
    if tag not in _MIXED_REGIONS and (language in _DAY_FIRST_LANGUAGES or tag in _DAY_FIRST_REGIONS):
        return (DAY_FIRST,)
    return (DAY_FIRST, MONTH_FIRST)


def dates(text: str, *, locale: Locale, today: date) -> tuple[date, ...]:
    """Every date that the text can be."""
    found: list[date] = []
    for order in orders(locale):
        for parts in parts_of(text, order=order, today=today):
            found += resolved(parts, today=today)
        found += relative(text, today=today)
    return tuple(dict.fromkeys(found))


def spans(first: str, last: str, *, locale: Locale, today: date) -> tuple[tuple[date, date], ...]:
    """Every pair of dates that the two texts can be: "3" and "5 April 2026" are both in April.

    Both ends are read in the same order; pairs that end before they start are given only where there are no others.
    """
    found: list[tuple[date, date]] = []
    for order in orders(locale):
        found += [(one, other) for one, other in product(relative(first, today=today), relative(last, today=today))]
        starts = [*parts_of(first, order=order, today=today), *map(_parts_of_date, relative(first, today=today))]
        ends = [*parts_of(last, order=order, today=today), *map(_parts_of_date, relative(last, today=today))]
        for start, end in product(starts, ends):
            found += _paired(start, end, today=today)
    pairs = tuple(dict.fromkeys(found))
    return tuple(pair for pair in pairs if pair[0] <= pair[1]) or pairs


def relative(text: str, *, today: date) -> tuple[date, ...]:
    """Today and its neighbours; a weekday alone is the coming one or the one after."""
    word = _plain(text)
    word = word.removeprefix("on ").removeprefix("am ").removeprefix("el ").removeprefix("в ").removeprefix("във ")
    try:
        if word in words.DAYS_FROM_TODAY:
            return (today + timedelta(days=words.DAYS_FROM_TODAY[word]),)
        if word in words.WEEKDAYS:
            coming = today + timedelta(days=(words.WEEKDAYS[word] - today.weekday()) % 7)
            return (coming, coming + timedelta(days=7))
    except OverflowError:
        pass
    return ()


def parts_of(text: str, *, order: str, today: date) -> Iterator[Parts]:
    """Every way to read the text as a date, whole or lacking; none may be a day that there is."""
    plain = _plain(text)
    if len(plain) > LONGEST:
        return
    weekday, rest = _without_weekday(plain)
    yield from _numeric(rest, order, today, weekday)
    yield from _written(rest, today, weekday)
    if weekday is not None:
        yield from _written(plain, today, None)


def resolved(parts: Parts, *, today: date) -> tuple[date, ...]:
    """The days that the parts can mean; none without a month."""
    if parts.month is None:
        return ()
    if parts.year is not None:
        years: tuple[int, ...] = (parts.year,)
    else:  # 29 February may be four years away, or eight over a century
        years = tuple(range(today.year - 8, today.year + 9))
    days = [day for year in years if (day := _day(year, parts.month, parts.day)) and _agrees(day, parts)]
    if parts.year is not None:
        return tuple(days)
    past, coming = [day for day in days if day < today], [day for day in days if day >= today]
    return (*coming[:1], *past[-1:])


def _paired(start: Parts, end: Parts, *, today: date) -> Iterator[tuple[date, date]]:
    month = end.month if end.month is not None else start.month
    for last in resolved(
        Parts(day=end.day, month=month, year=end.year or start.year, weekday=end.weekday), today=today
    ):
        first = _day(start.year or last.year, start.month or last.month, start.day)
        if start.year is None and first is not None and first > last:
            first = _day(last.year - 1, first.month, first.day)
        if first is not None and _agrees(first, start):
            yield first, last


def _parts_of_date(day: date) -> Parts:
    return Parts(day=day.day, month=day.month, year=day.year)


def _plain(text: str) -> str:
    plain = fold(ascii_digits(text))
    return _CHRISTIAN_ERA.sub("", plain.strip(",;. ")).strip(",;. ")


def _without_weekday(plain: str) -> tuple[int | None, str]:
    """The weekday of "fri, 3 april" or "3 april (fri)", and the rest."""
    first, _, rest = plain.partition(" ")
    if rest and first.rstrip(".,") in words.WEEKDAYS:
        return words.WEEKDAYS[first.rstrip(".,")], rest
    rest, _, last = plain.rpartition(" ")
    if rest and last.strip("().,") in words.WEEKDAYS:
        return words.WEEKDAYS[last.strip("().,")], rest.rstrip(",")
    return None, plain


def _numeric(plain: str, order: str, today: date, weekday: int | None) -> Iterator[Parts]:
    if match := _YEAR_FIRST.fullmatch(plain):
        yield Parts(year=int(match[1]), month=int(match[3]), day=int(match[4]), weekday=weekday)
    elif match := _BASIC.fullmatch(plain):
        yield Parts(year=int(match[1]), month=int(match[2]), day=int(match[3]), weekday=weekday)
    elif match := _YEAR_LAST.fullmatch(plain):
        one, mark, other, last = match.groups()
        year = _year(last, today)
        yield _ordered(int(one), int(other), year, "dmy" if mark == "." else order, weekday, turn=mark != ".")
        if mark == "-" and len(last) == 2:  # 26-04-03 may be ISO without its century
            yield Parts(year=_year(one.zfill(2), today), month=int(other), day=int(last), weekday=weekday)
    elif match := _NO_YEAR.fullmatch(plain):
        one, mark, other = match.groups()
        yield _ordered(int(one), int(other), None, "dmy" if mark == "." else order, weekday, turn=mark != ".")
    elif re.fullmatch(r"[0-9]{1,2}\.?", plain):
        yield Parts(day=int(plain.rstrip(".")), weekday=weekday)


def _ordered(one: int, other: int, year: int | None, order: str, weekday: int | None, *, turn: bool) -> Parts:
    """In the given order, or in the only one in which there are such a month and day."""
    day, month = (one, other) if order == DAY_FIRST else (other, one)
    if turn and month > 12 >= day:
        day, month = month, day
    return Parts(day=day, month=month, year=year, weekday=weekday)


def _written(plain: str, today: date, weekday: int | None) -> Iterator[Parts]:
    """With the month's name: "3rd of april 2026", "april 3, 2026", "3 апреля"; "5, 2026" as the end of a range."""
    if not _WRITTEN.fullmatch(plain):
        return
    tokens = [token for token in _TOKEN.findall(plain) if token not in words.DATE_FILLERS]
    kinds = "".join("n" if token.isdigit() else "m" if token in words.MONTHS else "?" for token in tokens)
    numbers = [token for token in tokens if token.isdigit()]
    month = next((words.MONTHS[token] for token in tokens if token in words.MONTHS), None)
    if kinds in {"nm", "mn"} and len(numbers[0]) <= 2:
        yield Parts(day=int(numbers[0]), month=month, weekday=weekday)
    elif kinds in {"nmn", "mnn"} and len(numbers[0]) <= 2 and len(numbers[1]) in {2, 4}:
        yield Parts(day=int(numbers[0]), month=month, year=_year(numbers[1], today), weekday=weekday)
    elif kinds == "nmn" and len(numbers[0]) == 4 and len(numbers[1]) <= 2:
        yield Parts(day=int(numbers[1]), month=month, year=int(numbers[0]), weekday=weekday)
    elif kinds == "nn" and re.fullmatch(r"[0-9]{1,2}(?:st|nd|rd|th)?, ?[0-9]{4}", plain):
        yield Parts(day=int(numbers[0]), year=int(numbers[1]), weekday=weekday)


def _year(digits: str, today: date) -> int:
    """Two digits are a year from 80 years ago to 19 ahead."""
    year = int(digits)
    if len(digits) == 4:
        return year
    earliest = today.year - 80
    return earliest + (year - earliest) % 100


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _agrees(day: date, parts: Parts) -> bool:
    return parts.weekday is None or day.weekday() == parts.weekday
