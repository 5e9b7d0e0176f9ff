"""Formats of strings, read strictly."""

from datetime import UTC, date, datetime, time, timedelta, timezone

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms.formats import has_format, read_date, read_datetime, read_time


@pytest.mark.parametrize(
    ("name", "text", "good"),
    [
        ("date", "2026-03-01", True),
        ("date", "2024-02-29", True),
        ("date", "2025-02-29", False),
        ("date", "2026-3-1", False),
        ("date", "20260301", False),
        ("date", "2026-W09-7", False),
        ("date", "2026-03-01\n", False),
        ("date", "٢٠٢٦-٠٣-٠١", False),
        ("date", "0000-01-01", False),
        ("date", "2026-03-01T00:00:00Z", False),
        ("time", "10:00:00Z", True),
        ("time", "10:00:00z", True),
        ("time", "10:00:00.123456789+05:30", True),
        ("time", "10:00:00-00:00", True),
        ("time", "10:00:00", False),
        ("time", "10:00Z", False),
        ("time", "24:00:00Z", False),
        ("time", "10:60:00Z", False),
        ("time", "10:00:00+24:00", False),
        ("time", "10:00:00+01:60", False),
        ("time", "10:00:00+0100", False),
        ("time", "10:00:00.Z", False),
        ("time", "10:00:00Z\n", False),
        ("time", "23:59:60Z", True),
        ("time", "01:29:60+01:30", True),
        ("time", "18:29:60-05:30", True),
        ("time", "22:59:60Z", False),
        ("time", "23:59:60+01:00", False),
        ("time", "23:59:61Z", False),
        ("date-time", "2026-03-01T10:00:00Z", True),
        ("date-time", "2026-03-01t10:00:00z", True),
        ("date-time", "2026-03-01T10:00:00+03:00", True),
        ("date-time", "2026-03-01 10:00:00Z", False),
        ("date-time", "2026-03-01T10:00:00", False),
        ("date-time", "2026-03-01T25:00:00Z", False),
        ("date-time", "2026-02-30T10:00:00Z", False),
        ("date-time", "1998-12-31T23:59:60Z", True),
        ("date-time", "", False),
        ("email", "ann@example.org", True),
        ("email", "te.s~t+tag@sub.example.org", True),
        ("email", '"joe bloggs"@example.com', True),
        ("email", "joe.bloggs@[127.0.0.1]", True),
        ("email", "ann@intranet", True),
        ("email", "ann@printer.local", True),
        ("email", "ann", False),
        ("email", "ann@", False),
        ("email", "@example.org", False),
        ("email", ".ann@example.org", False),
        ("email", "a..b@example.org", False),
        ("email", "ann@exa mple.org", False),
        ("email", "ann@example.org\n", False),
        ("email", "Ann <ann@example.org>", False),
        ("email", "ann@example.org, bob@example.org", False),
        ("email", "ann@[127.0.0.300]", False),
        ("email", "анна@пример.рф", False),
        ("email", "x" * 65 + "@example.org", False),
        ("uri", "https://example.org", True),
        ("uri", "HTTP://example.org:8080/a/b?c=d&e#f", True),
        ("uri", "https://user:p%40ss@example.org/%D1%8F", True),
        ("uri", "https://[2001:db8::1]:443/", True),
        ("uri", "https://example.org:/", True),
        ("uri", "mailto:ann@example.org?subject=Hi%20there", True),
        ("uri", "javascript:alert(1)", False),
        ("uri", "data:text/html,x", False),
        ("uri", "file:///etc/passwd", False),
        ("uri", "ftp://example.org", False),
        ("uri", "//example.org", False),
        ("uri", "example.org", False),
        ("uri", "https://", False),
        ("uri", "https:///path", False),
        ("uri", "https://example.org/a b", False),
        ("uri", "https://example.org/%zz", False),
        ("uri", "https://example.org/<x>", False),
        ("uri", "https://example.org\\@evil.example", False),
        ("uri", "https://пример.рф/", False),
        ("uri", "https://[:::1]/", False),
        ("uri", "https://example.org:99999/", False),
        ("uri", "https://example.org:999999999/", False),
        ("uri", "https://example.org\n", False),
        ("uri", " https://example.org", False),
        ("uri", "https://example.org/\ud800", False),
        ("date", "\ud800", False),
    ],
)
def test_a_format_takes_what_it_means_and_nothing_else(name, text, good):
    assert has_format(text, name) is good


@given(st.dates())
def test_every_date_is_read_as_itself(day):
    assert read_date(day.isoformat()) == day


@given(
    st.datetimes(
        timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
        allow_imaginary=False,
    )
)
def test_every_moment_is_read_as_itself(moment):
    text = moment.isoformat()
    assert read_datetime(text) == moment
    assert read_time(text[11:]) == moment.timetz()


def test_digits_beyond_a_microsecond_are_cut_and_a_leap_second_is_the_second_before():
    assert read_time("10:00:00.1234567Z") == time(10, 0, 0, 123456, UTC)
    assert read_datetime("1998-12-31T23:59:60Z") == datetime(1998, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert read_date("2026-03-01") == date(2026, 3, 1)


ALMOST = st.one_of(
    st.text(alphabet="0123456789-:TtZz+. ", max_size=30),
    st.from_regex(r"\A[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,9})?(Z|[+-][0-2][0-9]:[0-6][0-9])\Z"),
    st.from_regex(r"\A[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,3})?(Z|[+-][0-2][0-9]:[0-6][0-9])\Z"),
    st.from_regex(r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]\Z"),
)  # fmt: skip


@pytest.mark.parametrize("name", ["date", "time", "date-time"])
@given(text=ALMOST)
def test_dates_and_times_are_judged_as_another_validator_does(name, text):
    if "0000" in text[:4]:
        return  # RFC 3339 knows the year 0, calendars of programs do not
    oracle = jsonschema_rs.validator_for({"format": name}, validate_formats=True)
    assert has_format(text, name) == oracle.is_valid(text)


@given(st.text(max_size=30) | st.from_regex(r"\A(https?|mailto|javascript)[:/@.\[\]%?#a-z0-9 ]{0,20}\Z"))
def test_an_address_that_is_taken_is_one_for_another_validator_too(text):
    oracle = jsonschema_rs.validator_for({"format": "uri"}, validate_formats=True)
    if has_format(text, "uri"):
        assert oracle.is_valid(text)


@given(st.text(max_size=20) | st.from_regex(r"\A[a-z.\"+]{1,6}@[a-z.\[\]0-9-]{1,12}\Z"))
def test_a_mailbox_that_is_taken_is_one_for_another_validator_too(text):
    oracle = jsonschema_rs.validator_for({"format": "email"}, validate_formats=True)
    if has_format(text, "email"):
        assert oracle.is_valid(text)
