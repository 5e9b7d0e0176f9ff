"""When a delivery is due (OUT-6): arithmetic with cron texts and named zones; no clock, no I/O.

A time of day can come twice or not at all on a day on which clocks are changed. It is done as Debian's cron does it
(the library is cronsim): what has a fixed time (``30 2 * * *``) comes once on such a day, at the first of the two, or
at the next minute that there is; what comes by the minute or hour (``*/15 * * * *``) follows the real time.

INVARIANT: what follows a moment is later than that moment, in UTC, whatever clocks do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_LONGEST: Final = 120  # characters of a cron text
_FIELDS: Final = 5
_SIGNS: Final = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ*/,-#")
MOST_COUNTED: Final = 1_000
"""Times that are counted one by one when the gateway was down; of more it is known that they were many."""
_LONGEST_ZONE: Final = 64


class TimetableError(Exception):
    """The text is no timetable; it says what would be one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """What is due at a moment.

    Attributes:
        latest: the latest time that has come.
        older: how many came before it, and are missed; at most :data:`MOST_COUNTED`.
        following: the first that has not come yet; None: there is none.
    """

    latest: datetime
    older: int
    following: datetime | None


def read_zone(name: str) -> str:
    """Check the name of a zone and return it.

    Raises:
        TimetableError: there is no such zone.
    """
    known = 0 < len(name) <= _LONGEST_ZONE and name != "localtime"  # that is the machine's own, whatever it is
    try:
        if known:
            ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = False
    if not known:
        raise TimetableError("name a zone such as Europe/Berlin")
    return name


def read_cron(text: str, zone: str, *, now: datetime) -> str:
    """Check a cron text and return it with single blanks.

    Args:
        text: five fields: minute, hour, day of the month, month, day of the week.
        zone: in which it is meant.
        now: aware.

    Raises:
        TimetableError: it is none, or its time never comes.
    """
    fields = text.split()
    if len(text) > _LONGEST or len(fields) != _FIELDS or not set("".join(fields)) <= _SIGNS:
        raise TimetableError("write five fields: minute, hour, day, month, day of the week, such as 30 8 * * MON-FRI")
    cron = " ".join(fields)
    if next_after(cron, zone, now) is None:
        raise TimetableError("a time like that never comes")
    return cron


def next_after(cron: str, zone: str, after: datetime) -> datetime | None:
    """The first time of a timetable that is later than a moment, in UTC; None: there is none.

    Raises:
        TimetableError: the text is no timetable.
    """
    return next(_times(cron, zone, after), None)


def due(cron: str | None, zone: str, first: datetime, *, now: datetime, window: timedelta) -> Due:
    """What is due now.

    Args:
        cron: the timetable; None: it comes once.
        zone: in which it is meant.
        first: the earliest time that was not dealt with; it has come.
        now: aware.
        window: how late the latest may be to be worth something; what is older need not be counted one by one.
    """
    if cron is None:
        return Due(latest=first, older=0, following=None)
    latest, older = first, 0
    following = None
    for time in _times(cron, zone, first):
        if time > now:
            following = time
            break
        if older >= MOST_COUNTED:
            return _skipped(cron, zone, latest, now=now, window=window)
        latest, older = time, older + 1
    return Due(latest=latest, older=older, following=following)


def _skipped(cron: str, zone: str, latest: datetime, *, now: datetime, window: timedelta) -> Due:
    """The gateway was down for long: only the last of what was missed is of interest."""
    following = None
    for time in _times(cron, zone, max(latest, now - window - timedelta(days=1))):
        if time > now:
            following = time
            break
        latest = time
    return Due(latest=latest, older=MOST_COUNTED, following=following)


def _times(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    from cronsim import CronSim, CronSimError

    last = after.astimezone(UTC)
    try:
        for local in CronSim(cron, after.astimezone(ZoneInfo(zone))):
            time = local.astimezone(UTC)
            if time > last:  # in the second of two hours the library gives the first of them once more
                yield time
                last = time
    except CronSimError:
        raise TimetableError("this is no timetable, such as 30 8 * * MON-FRI") from None
    except OverflowError:
        return
