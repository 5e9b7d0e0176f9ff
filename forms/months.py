"""A month as a calendar shows it: weeks of seven days that start on Monday. A month is named by its first day."""

import re
from calendar import monthrange
from datetime import MAXYEAR, MINYEAR, date
from typing import Final

_SPELT: Final = re.compile(r"([0-9]{4})-([0-9]{2})")


def month_of(day: date) -> date:
    """The month that the day is in."""
    return day.replace(day=1)


def spelt(month: date) -> str:
    """As in 2026-12."""
    return month.isoformat()[:7]


def read_month(text: str) -> date | None:
    """What :func:`spelt` has written; None for anything else."""
    match = _SPELT.fullmatch(text)
    try:
        return date(int(match[1]), int(match[2]), 1) if match else None
    except ValueError:
        return None


def turned(month: date, months: int) -> date | None:
    """So many months later, or earlier; None where no calendar goes."""
    year, place = divmod(month.year * 12 + month.month - 1 + months, 12)
    return date(year, place + 1, 1) if MINYEAR <= year <= MAXYEAR else None


def weeks(
    month: date, *, earliest: date | None = None, latest: date | None = None
) -> tuple[tuple[date | None, ...], ...]:
    """The days of a month, week by week.

    Args:
        month: which.
        earliest: the first day that can be chosen.
        latest: the last.

    Returns:
        Four to six weeks; None where a day is of another month or can't be chosen.
    """
    weekday, days = monthrange(month.year, month.month)
    cells: list[date | None] = [None] * weekday
    for number in range(1, days + 1):
        day = month.replace(day=number)
        cells.append(None if (earliest and day < earliest) or (latest and day > latest) else day)
    cells += [None] * (-len(cells) % 7)
    return tuple(tuple(cells[start : start + 7]) for start in range(0, len(cells), 7))
