"""Ranges of dates, times and date-times: two ends and one of many ways to join them.

Every place where a joint stands is tried; where exactly one leaves two ends that can be read, that is the range.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Final

from forms import words
from forms.dates import spans
from forms.folding import DASHES, ascii_digits, fold, trim
from forms.reading import Ambiguous, Locale, Reading, Wrong, settle
from forms.times import Clock, clocks, halves, moments, stamps

LONGEST: Final = 200  # characters
_JOINT: Final = re.compile(rf"\n|\.\.+|…|[~/,;&→]|[{re.escape(DASHES)}]+>?|(?<=\s)[^\W\d_]+(?=[\s:])")


def read_date_range(text: str, *, locale: Locale, today: date) -> Reading:
    """Two days: "1.4.–5.4.2026", "from 3 to 5 April 2026"."""
    found = [
        [first.isoformat(), last.isoformat()]
        for start, end in _ends(text)
        for first, last in spans(start, end, locale=locale, today=today)
    ]
    return settle(found, none="invalid_date", many="ambiguous_date")


def read_time_range(text: str, *, locale: Locale, today: date) -> Reading:
    """Two times, maybe over midnight: "9:00–17:00", "с 9 до 17", "9am to 5pm"."""
    found: list[tuple[tuple[date, Clock], tuple[date, Clock]]] = []
    for start, end in _ends(text):
        found += [
            ((today, first), (today, last))
            for one in clocks(start)
            for other in clocks(end)
            for first, last in _hours(one, other)
        ]
    return _settled(found, locale=locale, dated=False, none="invalid_time", many="ambiguous_time")


def read_datetime_range(text: str, *, locale: Locale, today: date) -> Reading:
    """Two date-times; an end that is a time alone is on the other's day."""
    found: list[tuple[tuple[date, Clock], tuple[date, Clock]]] = []
    for start, end in _ends(text):
        starts, ends = (moments(side, locale=locale, today=today) for side in (start, end))
        if starts and ends:
            found += [(one, other) for one in starts for other in ends]
        elif starts:
            found += [((day, one), (day, two)) for day, one in starts for last in clocks(end) for two in halves(last)]
        elif ends:
            found += [((day, one), (day, two)) for day, two in ends for first in clocks(start) for one in halves(first)]
    orderly = [pair for pair in found if (pair[0][0], str(pair[0][1])) <= (pair[1][0], str(pair[1][1]))]
    return _settled(orderly or found, locale=locale, dated=True, none="invalid_datetime", many="ambiguous_datetime")


def _ends(text: str) -> Iterator[tuple[str, str]]:
    """Both sides of every joint, without the words that open and join ranges."""
    plain = trim(text)
    if len(plain) > LONGEST:
        return
    plain = _without(plain, words.RANGE_FROM)
    for joint in _JOINT.finditer(plain):
        if joint[0][0].isalpha() and fold(joint[0]) not in words.RANGE_TO:
            continue
        start, end = _without(plain[: joint.start()], words.RANGE_FROM), _without(plain[joint.end() :], words.RANGE_TO)
        start, end = start.strip(" \t\n,;-*•"), end.strip(" \t\n,;-*•")
        if start and end:
            yield ascii_digits(start), ascii_digits(end)


def _without(text: str, opening: frozenset[str]) -> str:
    """Without a first word of the list and its colon."""
    match = re.match(r"\s*(?:[-*•]\s+)?([^\W\d_]+)\s*[:：]?\s*", text)
    return text[match.end() :] if match and fold(match[1]) in opening else text


def _hours(one: Clock, other: Clock) -> Iterator[tuple[Clock, Clock]]:
    """An hour alone beside a time of twenty-four is of twenty-four too: "9–17"."""
    plain_24 = any(not end.stated and (not end.loose or end.hour > 12 or not end.hour) for end in (one, other))
    if plain_24:
        yield replace(one, loose=False), replace(other, loose=False)
        return
    for first in halves(one):
        for last in halves(other):
            yield first, last


def _zoned(clock: Clock, other: Clock) -> Clock:
    """In the zone of the other end where this one names none: "10:00–12:00 UTC"."""
    return clock if clock.offset or clock.zone else replace(clock, offset=other.offset, zone=other.zone)


def _settled(
    found: list[tuple[tuple[date, Clock], tuple[date, Clock]]], *, locale: Locale, dated: bool, none: str, many: str
) -> Reading:
    """The one range, or why there is none or more than one."""
    pairs: list[list[str]] = []
    skipped = repeated = False
    try:
        for first, last in dict.fromkeys(found):
            (day, one), (other_day, other) = first, last
            starts, ends = stamps(day, _zoned(one, other), locale), stamps(other_day, _zoned(other, one), locale)
            skipped, repeated = skipped or not starts or not ends, repeated or len(starts) + len(ends) > 2
            pairs += [[one, other] for one in starts for other in ends]
    except LookupError:
        return Wrong("unknown_timezone")
    except OverflowError:
        return Wrong(none)
    if skipped and not pairs:
        return Wrong("nonexistent_local_time")
    if not dated:
        pairs = [[stamp.partition("T")[2] for stamp in pair] for pair in pairs]
    read = settle(pairs, none=none, many=many)
    if isinstance(read, Ambiguous) and repeated and len(dict.fromkeys(found)) == 1:
        return Ambiguous("ambiguous_local_time", read.readings)
    return read
