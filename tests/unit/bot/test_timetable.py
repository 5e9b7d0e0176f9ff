"""When deliveries are due, across changes of the clocks."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bot.deliveries.timetable import MOST_COUNTED, TimetableError, due, next_after, read_cron, read_zone

rule = pytest.mark.rule
BERLIN = "Europe/Berlin"
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
ZONES = ("Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Africa/Cairo", "UTC")
"""Berlin changes at night, Santiago and Cairo at midnight, Lord Howe by half an hour."""
HOUR = timedelta(hours=1)


def on(day, cron, zone=BERLIN):
    """All times of one local day, as they follow each other."""
    where = ZoneInfo(zone)
    at = datetime.combine(day, time(), where).astimezone(UTC) - timedelta(microseconds=1)
    end = datetime.combine(day + timedelta(days=1), time(), where).astimezone(UTC)
    found = []
    while (following := next_after(cron, zone, at)) is not None and following < end:
        found.append(following.astimezone(where))
        at = following
    return found


@pytest.mark.parametrize(
    ("cron", "day", "times"),
    [
        ("30 2 * * *", date(2026, 3, 28), ["02:30+01:00"]),
        ("30 2 * * *", date(2026, 3, 29), ["03:00+02:00"]),
        ("30 2 * * *", date(2026, 3, 30), ["02:30+02:00"]),
        ("30 2 * * *", date(2026, 10, 25), ["02:30+02:00"]),
        ("15,45 2 * * *", date(2026, 3, 29), ["03:00+02:00"]),
        ("0 3 * * *", date(2026, 10, 25), ["03:00+01:00"]),
        ("0 9 * * MON-FRI", date(2026, 3, 29), []),
        ("0 9 29 2 *", date(2028, 2, 29), ["09:00+01:00"]),
    ],
)
def test_a_time_of_day_comes_once_on_the_days_when_clocks_are_changed(cron, day, times):
    assert [f"{one:%H:%M}{one.isoformat()[-6:]}" for one in on(day, cron)] == times


@pytest.mark.parametrize(("day", "count"), [(date(2026, 10, 25), 100), (date(2026, 3, 29), 92), (date(2026, 6, 1), 96)])
def test_what_comes_every_quarter_of_an_hour_follows_the_real_time(day, count):
    assert len(on(day, "*/15 * * * *")) == len(on(day, "0,15,30,45 * * * *")) == count


def test_the_second_of_two_hours_does_not_bring_back_the_first():
    second_pass = datetime(2026, 10, 25, 2, 10, tzinfo=ZoneInfo(BERLIN), fold=1)
    following = next_after("30 2 * * *", BERLIN, second_pass)
    assert following == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


@given(
    zone=some.sampled_from(ZONES),
    after=some.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2034, 1, 1)),  # noqa: DTZ001
    minute=some.integers(0, 59),
    hour=some.integers(0, 23),
)
@settings(deadline=None, max_examples=300)
def test_a_daily_time_comes_once_on_every_day_and_never_early(zone, after, minute, hour):
    where, at = ZoneInfo(zone), after.replace(tzinfo=UTC)
    days = []
    for _ in range(4):
        following = next_after(f"{minute} {hour} * * *", zone, at)
        assert following > at, "time goes on"
        assert following - at < timedelta(hours=49)
        local = following.astimezone(where)
        wanted = datetime.combine(local.date(), time(hour, minute))
        assert timedelta() <= local.replace(tzinfo=None) - wanted <= HOUR, "at its time, or when there is one again"
        days.append(local.date())
        at = following
    assert days == [days[0] + timedelta(days=number) for number in range(4)]


@given(
    zone=some.sampled_from(ZONES),
    after=some.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2034, 1, 1)),  # noqa: DTZ001
    cron=some.sampled_from(["*/15 * * * *", "7 * * * *", "* 2 * * *", "0 0 * * *", "30 1,2,3 * * *", "5 0 * * SUN"]),
    late=some.timedeltas(min_value=timedelta(), max_value=timedelta(days=3)),
)
@settings(deadline=None, max_examples=300)
def test_what_is_due_is_the_latest_time_that_has_come_and_nothing_of_it_comes_again(zone, after, cron, late):
    first = next_after(cron, zone, after.replace(tzinfo=UTC))
    now = first + late
    found = due(cron, zone, first, now=now, window=HOUR)
    assert first <= found.latest <= now < found.following
    assert next_after(cron, zone, found.latest) == found.following, "nothing is left out between the two"
    assert (found.older == 0) == (found.latest == first)


def test_a_clock_that_is_set_back_makes_nothing_due_again():
    first = next_after("*/15 * * * *", BERLIN, NOW)
    found = due("*/15 * * * *", BERLIN, first, now=first, window=HOUR)
    assert found.following > first
    assert next_after("*/15 * * * *", BERLIN, found.latest) == found.following


def test_of_what_was_missed_for_long_only_the_last_counts():
    long_ago = NOW - timedelta(days=200)
    found = due("* * * * *", BERLIN, long_ago, now=NOW, window=HOUR)
    assert (found.latest, found.older) == (NOW, MOST_COUNTED)
    assert found.following == NOW + timedelta(minutes=1)
    weekly = due("0 9 * * MON", BERLIN, long_ago, now=NOW, window=HOUR)
    assert weekly.older < MOST_COUNTED


def test_what_comes_once_has_nothing_after_it():
    found = due(None, "UTC", NOW - HOUR, now=NOW, window=HOUR)
    assert (found.latest, found.older, found.following) == (NOW - HOUR, 0, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "61 * * * *",
        "0 0 31 2 *",
        "0 0 30 FEB *",
        "@daily",
        "x y z a b",
        "* * * * ;",
        "1" * 200,
    ],
)
def test_what_is_no_timetable_is_refused(text):
    with pytest.raises(TimetableError):
        read_cron(text, BERLIN, now=NOW)


def test_a_timetable_is_kept_with_single_blanks():
    assert read_cron(" 30  8 * *   MON-FRI ", BERLIN, now=NOW) == "30 8 * * MON-FRI"


@pytest.mark.parametrize(
    "name", ["", "Nowhere/Town", "../../etc/passwd", "/etc/localtime", "localtime", "a" * 100, "A\0B"]
)
def test_what_is_no_zone_is_refused(name):
    with pytest.raises(TimetableError):
        read_zone(name)


def test_a_zone_is_kept_by_its_name():
    assert read_zone(BERLIN) == BERLIN
