"""One field's text: a value, an error, or a doubt with its readings."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from forms import words
from forms.field import Field
from forms.folding import fold
from forms.reading import Ambiguous, Locale, Reading, Value, Wrong
from forms.values import read_json, read_value
from tests.unit.forms.replying import BOOLEAN, INTEGER, NUMBER, TEXT, TODAY, berlin, form, formatted, ranged, several


def said(field: Field | dict[str, Any], text: str, locale: Locale, *, today: date = TODAY) -> Any:
    """The value; a code; or the readings, after "?"."""
    asked = field if isinstance(field, Field) else form(it=field).fields[0]
    return plain(read_value(asked, text, locale=locale, today=today))


def plain(reading: Reading) -> Any:
    match reading:
        case Value(value=value):
            return value
        case Wrong(code=code):
            return code
        case Ambiguous(readings=readings):
            return ["?", *readings]


def from_json(schema: dict[str, Any], value: object) -> Any:
    return plain(read_json(form(it=schema).fields[0], value, locale=berlin(), today=TODAY))


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("de", "2,5", 2.5),
        ("de", "0,75", 0.75),
        ("de", "2.5", 2.5),
        ("de", "1.234,56", 1234.56),
        ("de", "1 234,5", 1234.5),
        ("ru", "1\u00a0234\u202f567", 1234567),
        ("de-CH", "1’234.50", 1234.5),
        ("de-CH", "1,234", 1234),
        ("en-ZA", "1,234", 1.234),
        ("es-MX", "1,234", 1234),
        ("de", "1.234", 1234),
        ("de", "12,345", 12.345),
        ("en", "12,345", 12345),
        ("en_US", "1.234", 1.234),
        ("", "12,345", ["?", 12345, 12.345]),
        ("", "1.234", ["?", 1234, 1.234]),
        ("eo", "1.234", ["?", 1234, 1.234]),
        ("", "0,125", 0.125),
        ("", "1.234.567", 1234567),
        ("", "12,34,567", 1234567),
        ("", "1.234.567,8", 1234567.8),
        ("", "1,234,567.8", 1234567.8),
        ("", "1,5", 1.5),
        ("", ".5", 0.5),
        ("", "+5", 5),
        ("", "−5", -5),
        ("", "–5", -5),
        ("", "- 5", -5),
        ("", "5.", 5),
        ("", "1e3", 1000),
        ("", "1,5E-1", 0.15),
        ("", "１２", 12),
        ("", "٣٫٥", 3.5),
        ("", "1٬234٫5", 1234.5),
        ("", "`7`", 7),
        ("", "1.2.3,4", "not_a_number"),
        ("", "1,234,56", "not_a_number"),
        ("", "1.234,567,8", "not_a_number"),
        ("", "1 234.", 1234),
        ("", "1 234.,", "not_a_number"),
        ("", "1 2345", "not_a_number"),
        ("", "1 234.5.6", "not_a_number"),
        ("", "1.,", "not_a_number"),
        ("", "1,2,3", "not_a_number"),
        ("", "1_000", "not_a_number"),
        ("", "1 2e3", "not_a_number"),
        ("", "²", "not_a_number"),
        ("", "½", "not_a_number"),
        ("", "five", "not_a_number"),
        ("", "", "not_a_number"),
        ("", "5 kg", "not_a_number"),
        ("", "NaN", "not_a_number"),
        ("", "9" * 70, "not_a_number"),
        ("", "9" * 20, "above_maximum"),
        ("", "-9007199254740992", "below_minimum"),
        ("", "1e400", "above_maximum"),
    ],
)
def test_a_number_is_read_with_its_separators_or_asked_back(language: str, text: str, value: Any) -> None:
    got = said(NUMBER, text, Locale(language=language))

    assert got == value
    assert type(got) is not bool


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("en", "5", 5),
        ("en", "5.0", 5),
        ("en", "007", 7),
        ("en", "٣", 3),
        ("en", "1,234", 1234),
        ("de", "1.234", 1234),
        ("de", "1,000", ["?", 1000, 1]),
        ("", "12,345", ["?", 12345, 12.345]),
        ("en", "17.02", "not_an_integer"),
        ("en", "2o", "not_an_integer"),
        ("en", "²", "not_an_integer"),
        ("en", "1e3", "not_an_integer"),
        ("de", "1,234", "not_an_integer"),
        ("en", "9007199254740993", "above_maximum"),
    ],
)
def test_an_integer_is_never_made_by_cutting_something_off(language: str, text: str, value: Any) -> None:
    assert said(INTEGER, text, Locale(language=language)) == value


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (NUMBER | {"title": "Weight (kg)"}, "5 kg", 5),
        (NUMBER | {"title": "Weight (kg)"}, "5 кг", 5),
        (NUMBER | {"title": "Weight (kg)"}, "5 lb", "not_a_number"),
        (NUMBER | {"title": "Weight (kg)"}, "kg 5 kg", "not_a_number"),
        (NUMBER | {"description": "In euros."}, "12,5 €", 12.5),
        (NUMBER | {"description": "In euros."}, "EUR 12,5", 12.5),
        (NUMBER | {"description": "In euros."}, "$12.5", "not_a_number"),
        (INTEGER | {"title": "Nights"}, "3 nights", 3),
        (INTEGER | {"title": "Guests"}, "3 or 4 guests", "not_an_integer"),
    ],
)
def test_a_unit_is_left_out_only_where_the_field_itself_names_it(schema: dict[str, Any], text: str, value: Any) -> None:
    assert said(schema, text, berlin()) == value


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("en", "2026-11-08", "2026-11-08"),
        ("en-US", "2026-11-08", "2026-11-08"),
        ("en", "2026-11-08.", "2026-11-08"),
        ("en", "2026/11/8", "2026-11-08"),
        ("en", "20261108", "2026-11-08"),
        ("ru", "03.04.2026", "2026-04-03"),
        ("en-US", "03.04.2026", "2026-04-03"),
        ("de", "8. 11. 2026", "2026-11-08"),
        ("ru", "08.11.26", "2026-11-08"),
        ("ru", "08.11.60", "1960-11-08"),
        ("ru", "03/04/2026", "2026-04-03"),
        ("en-GB", "03/04/2026", "2026-04-03"),
        ("en-US", "03/04/2026", "2026-03-04"),
        ("en", "03/04/2026", ["?", "2026-04-03", "2026-03-04"]),
        ("", "03-04-2026", ["?", "2026-04-03", "2026-03-04"]),
        ("es-US", "03/04/2026", ["?", "2026-04-03", "2026-03-04"]),
        ("en", "04/04/2026", "2026-04-04"),
        ("en", "13/04/2026", "2026-04-13"),
        ("ru", "04/13/2026", "2026-04-13"),
        ("de", "26-04-03", ["?", "2003-04-26", "2026-04-03"]),
        ("ru", "31.02.2026", "invalid_date"),
        ("ru", "04.13.2026", "invalid_date"),
        ("ru", "30/30/2026", "invalid_date"),
        ("en", "April 3rd, 2026", "2026-04-03"),
        ("en", "the 3rd of April 2026", "2026-04-03"),
        ("en", "3-Apr-2026", "2026-04-03"),
        ("en", "2026 April 3", "2026-04-03"),
        ("ru", "3 апреля 2026 г.", "2026-04-03"),
        ("ru", "3 апреля 2026 года", "2026-04-03"),
        ("bg", "3 април 2026 г.", "2026-04-03"),
        ("es", "3 de abril de 2026", "2026-04-03"),
        ("de", "3. März 2026", "2026-03-03"),
        ("fr", "1er août 2026", "2026-08-01"),
        ("de", "Fr, 3. April 2026", "2026-04-03"),
        ("de", "3. April 2026 (Freitag)", "2026-04-03"),
        ("de", "Mo, 3. April 2026", "invalid_date"),
        ("de", "Mo.", ["?", "2026-02-16", "2026-02-23"]),
        ("en", "mar 3 2026", "2026-03-03"),
        ("en", "on Friday", ["?", "2026-02-20", "2026-02-27"]),
        ("en", "sat mar 2026", "invalid_date"),
        ("en", "12 March", ["?", "2026-03-12", "2025-03-12"]),
        ("en", "3.4.", ["?", "2026-04-03", "2025-04-03"]),
        ("en", "29 February", ["?", "2028-02-29", "2024-02-29"]),
        ("en", "31 February", "invalid_date"),
        ("en", "Friday 13 March", ["?", "2026-03-13", "2020-03-13"]),
        ("en", "today", "2026-02-16"),
        ("ru", "Завтра", "2026-02-17"),
        ("de", "übermorgen", "2026-02-18"),
        ("es", "mañana", "2026-02-17"),
        ("bg", "вчера", "2026-02-15"),
        ("en", "“2026-11-08”", "2026-11-08"),
        ("en", "April 2026", "invalid_date"),
        ("en", "3 April 20261", "invalid_date"),
        ("en", "3", "invalid_date"),
        ("en", "soon", "invalid_date"),
        ("en", "(3 April 2026?)", "invalid_date"),
        ("en", "2026-11-08T10:00", "invalid_date"),
        ("en", "0000-01-01", "invalid_date"),
        ("en", "x" * 100, "invalid_date"),
    ],
)
def test_a_date_is_read_as_written_or_asked_back(language: str, text: str, value: Any) -> None:
    assert said(formatted("date"), text, berlin(language)) == value


def test_there_is_no_day_after_the_last_one() -> None:
    assert said(formatted("date"), "tomorrow", berlin(), today=date.max) == "invalid_date"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9:30", "09:30:00+01:00"),
        ("9.30", "09:30:00+01:00"),
        ("9:30.", "09:30:00+01:00"),
        ("9h30", "09:30:00+01:00"),
        ("9 Uhr", "09:00:00+01:00"),
        ("um 9 Uhr 30", "09:30:00+01:00"),
        ("9:30 Uhr", "09:30:00+01:00"),
        ("21h", "21:00:00+01:00"),
        ("9 часов 30 минут", "09:30:00+01:00"),
        ("9pm", "21:00:00+01:00"),
        ("9 p.m.", "21:00:00+01:00"),
        ("12am", "00:00:00+01:00"),
        ("12:30 pm", "12:30:00+01:00"),
        ("13:00 pm", "13:00:00+01:00"),
        ("9 вечера", "21:00:00+01:00"),
        ("9 утра", "09:00:00+01:00"),
        ("2 часа ночи", "02:00:00+01:00"),
        ("11 at night", "23:00:00+01:00"),
        ("noon", "12:00:00+01:00"),
        ("полночь", "00:00:00+01:00"),
        ("14", "14:00:00+01:00"),
        ("9", ["?", "09:00:00+01:00", "21:00:00+01:00"]),
        ("12", ["?", "12:00:00+01:00", "00:00:00+01:00"]),
        ("9:30:15.250", "09:30:15.250+01:00"),
        ("10:00Z", "10:00:00Z"),
        ("10:00:00Z", "10:00:00Z"),
        ("23:59:60Z", "23:59:60Z"),
        ("10:00 UTC", "10:00:00Z"),
        ("10:00 UTC-3", "10:00:00-03:00"),
        ("10:00+0530", "10:00:00+05:30"),
        ("10:00:00-05:00", "10:00:00-05:00"),
        ("10:00 Europe/Moscow", "10:00:00+03:00"),
        ("10:00 Nowhere/Moscow", "unknown_timezone"),
        ("10:00-12:00", "invalid_time"),
        ("10:00+25:00", "invalid_time"),
        ("10:00 CET", "invalid_time"),
        ("25:00", "invalid_time"),
        ("9:60", "invalid_time"),
        ("13 am", "invalid_time"),
        ("8 at night", "invalid_time"),
        ("3 in the evening", "15:00:00+01:00"),
        ("0 in the evening", "invalid_time"),
        ("9 Uhr 30 Kaffee", "invalid_time"),
        ("9 Kaffee 30", "invalid_time"),
        ("9kaffee", "invalid_time"),
        ("exam", "invalid_time"),
        ("soon", "invalid_time"),
        ("9" * 200, "invalid_time"),
    ],
)
def test_a_time_has_the_offset_of_the_named_zone_or_its_own(text: str, value: Any) -> None:
    assert said(formatted("time"), text, berlin()) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-03-01T10:00:00+03:00", "2026-03-01T10:00:00+03:00"),
        ("2026-03-01T07:00:00Z", "2026-03-01T07:00:00Z"),
        ("2026-03-01T10:00+0300", "2026-03-01T10:00:00+03:00"),
        ("2026-03-01 10:00", "2026-03-01T10:00:00+01:00"),
        ("2026-03-01T10:00", "2026-03-01T10:00:00+01:00"),
        ("2026-07-01 10:00", "2026-07-01T10:00:00+02:00"),
        ("2026-03-01 10:00 America/New_York", "2026-03-01T10:00:00-05:00"),
        ("03.04.2026, 9 Uhr", "2026-04-03T09:00:00+02:00"),
        ("3 апреля 2026 в 10:00", "2026-04-03T10:00:00+02:00"),
        ("10:00 on 3 April 2026", "2026-04-03T10:00:00+02:00"),
        ("mañana a las 9:30", "2026-02-17T09:30:00+01:00"),
        ("tomorrow at 9", ["?", "2026-02-17T09:00:00+01:00", "2026-02-17T21:00:00+01:00"]),
        ("3/4/2026 10:00", ["?", "2026-04-03T10:00:00+02:00", "2026-03-04T10:00:00+01:00"]),
        ("2026-03-29 02:30", "nonexistent_local_time"),
        ("2026-10-25 02:30", ["?", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]),
        ("2026-03-01T25:00:00Z", "invalid_datetime"),
        ("2026-03-01", "invalid_datetime"),
        ("10:00", "invalid_datetime"),
        ("1850-01-01 10:00", "invalid_datetime"),
        ("0001-01-01 00:00", "invalid_datetime"),
        ("2026-03-01 10:00 " + "x" * 100, "invalid_datetime"),
        ("a b c d e f g h i j k l m n o", "invalid_datetime"),
    ],
)
def test_a_local_date_time_is_of_the_named_zone_and_never_of_an_hour_that_is_not_there(text: str, value: Any) -> None:
    assert said(formatted("date-time"), text, berlin()) == value


def test_a_repeated_hour_is_told_from_other_doubts() -> None:
    asked = form(at=formatted("date-time")).fields[0]

    read = read_value(asked, "2026-10-25 02:30", locale=berlin(), today=TODAY)

    assert isinstance(read, Ambiguous)
    assert read.code == "ambiguous_local_time"


@pytest.mark.parametrize("zone", ["", "Europe", "../etc/passwd", "Mars/Base"])
def test_a_local_time_without_a_zone_is_refused(zone: str) -> None:
    locale = Locale(language="en", timezone=zone)

    assert said(formatted("date-time"), "2026-03-01 10:00", locale) == "unknown_timezone"
    assert said(formatted("date-time"), "2026-03-01T10:00:00Z", locale) == "2026-03-01T10:00:00Z"
    assert said(ranged("time"), "10:00 - 11:00", locale) == "unknown_timezone"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-03-01 - 2026-03-05", ["2026-03-01", "2026-03-05"]),
        ("2026-03-01–2026-03-05", ["2026-03-01", "2026-03-05"]),
        ("2026-03-01/2026-03-05", ["2026-03-01", "2026-03-05"]),
        ("2026-03-01, 2026-03-05", ["2026-03-01", "2026-03-05"]),
        ("- 2026-03-01\n- 2026-03-05", ["2026-03-01", "2026-03-05"]),
        ("from: 2026-03-01\nto: 2026-03-05", ["2026-03-01", "2026-03-05"]),
        ('["2026-03-01", "5.3.2026"]', ["2026-03-01", "2026-03-05"]),
        ("from 2026-03-01 to 2026-03-05", ["2026-03-01", "2026-03-05"]),
        ("3–5 April 2026", ["2026-04-03", "2026-04-05"]),
        ("с 3 по 5 апреля 2026", ["2026-04-03", "2026-04-05"]),
        ("del 3 al 5 de abril de 2026", ["2026-04-03", "2026-04-05"]),
        ("vom 3. bis 5. April 2026", ["2026-04-03", "2026-04-05"]),
        ("от 3 до 5 април 2026", ["2026-04-03", "2026-04-05"]),
        ("1.4.–5.4.2026", ["2026-04-01", "2026-04-05"]),
        ("March 3 - 5, 2026", ["2026-03-03", "2026-03-05"]),
        ("28 Dec – 3 Jan 2027", ["2026-12-28", "2027-01-03"]),
        ("today to tomorrow", ["2026-02-16", "2026-02-17"]),
        ("March 3–5", ["?", ["2026-03-03", "2026-03-05"], ["2025-03-03", "2025-03-05"]]),
        ("03/04/2026 - 01/05/2026", ["2026-04-03", "2026-05-01"]),
        ("03/04/2026 - 05/04/2026", ["?", ["2026-04-03", "2026-04-05"], ["2026-03-04", "2026-05-04"]]),
        ("2026-03-05 - 2026-03-01", ["2026-03-05", "2026-03-01"]),
        ("Mon, 3 – 5 April 2026", "invalid_date"),
        ("31 – 5 June 2026 x", "invalid_date"),
        ("30 - 31 February 2026", "invalid_date"),
        ("30 February - 1 March 2026", "invalid_date"),
        ("01-05-2026", "invalid_date"),
        ("2026-03-01", "invalid_date"),
        ("to 2026-03-05", "invalid_date"),
        ("2026-03-01 sans 2026-03-05", "invalid_date"),
        ("[1, 2", "invalid_date"),
        ("x" * 300, "invalid_date"),
    ],
)
def test_a_range_of_dates_has_two_ends_however_they_are_joined(text: str, value: Any) -> None:
    assert said(ranged("date"), text, berlin()) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9:00–17:00", ["09:00:00+01:00", "17:00:00+01:00"]),
        ("9–17", ["09:00:00+01:00", "17:00:00+01:00"]),
        ("с 9 до 17", ["09:00:00+01:00", "17:00:00+01:00"]),
        ("9 Uhr bis 17 Uhr", ["09:00:00+01:00", "17:00:00+01:00"]),
        ("9am to 5pm", ["09:00:00+01:00", "17:00:00+01:00"]),
        ("de 9:30 a 11", ["09:30:00+01:00", "11:00:00+01:00"]),
        ("22:00-6:00", ["22:00:00+01:00", "06:00:00+01:00"]),
        ("10:00–12:00 UTC", ["10:00:00Z", "12:00:00Z"]),
        ("10:00–12:00 Europe/Moscow", ["10:00:00+03:00", "12:00:00+03:00"]),
        ("9-10pm", ["?", ["09:00:00+01:00", "22:00:00+01:00"], ["21:00:00+01:00", "22:00:00+01:00"]]),
        ("9:00 to", "invalid_time"),
        ("9:00", "invalid_time"),
    ],
)
def test_a_range_of_times_may_go_over_midnight(text: str, value: Any) -> None:
    assert said(ranged("time"), text, berlin()) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-03-01 10:00 - 12:00", ["2026-03-01T10:00:00+01:00", "2026-03-01T12:00:00+01:00"]),
        ("2026-03-01 10:00-12:00", ["2026-03-01T10:00:00+01:00", "2026-03-01T12:00:00+01:00"]),
        ("from 10:00 to 12:00 on 1 March 2026", ["2026-03-01T10:00:00+01:00", "2026-03-01T12:00:00+01:00"]),
        ("1.3.2026 10:00 bis 2.3.2026 12:00", ["2026-03-01T10:00:00+01:00", "2026-03-02T12:00:00+01:00"]),
        ("2026-03-02T10:00:00Z/2026-03-01T10:00:00Z", ["2026-03-02T10:00:00Z", "2026-03-01T10:00:00Z"]),
        ("2026-03-29 02:30 - 05:00", "nonexistent_local_time"),
        ("1850-01-01 10:00 - 12:00", "invalid_datetime"),
        (
            "2026-10-25 02:30 - 05:00",
            [
                "?",
                ["2026-10-25T02:30:00+02:00", "2026-10-25T05:00:00+01:00"],
                ["2026-10-25T02:30:00+01:00", "2026-10-25T05:00:00+01:00"],
            ],
        ),
        ("tomorrow", "invalid_datetime"),
    ],
)
def test_an_end_that_is_a_time_alone_is_on_the_day_of_the_other(text: str, value: Any) -> None:
    assert said(ranged("date-time"), text, berlin()) == value


def test_a_range_in_a_repeated_hour_is_told_from_other_doubts() -> None:
    asked = form(at=ranged("date-time")).fields[0]

    repeated = read_value(asked, "2026-10-25 02:30 - 05:00", locale=berlin(), today=TODAY)
    doubtful = read_value(asked, "2026-02-20 9 to 10pm", locale=berlin(), today=TODAY)

    assert isinstance(repeated, Ambiguous)
    assert isinstance(doubtful, Ambiguous)
    assert (repeated.code, doubtful.code) == ("ambiguous_local_time", "ambiguous_datetime")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            (text, True)
            for text in ("yes", "Y", "true", "да", "Да!", "sí", "si", "oui", "ja", "✅", "👍", "👍🏽", "on", "1")
        ),
        *(
            (text, True)
            for text in ("✔️", "ОК", "yes please", "ja, bitte", "Да, конечно", "[x]", "“yes”", "１", "yes, yes")
        ),
        *((text, False) for text in ("no", "N", "false", "нет", "non", "nein", "❌", "👎", "off", "0", "не", "No.")),
        *((text, False) for text in ("нет, спасибо", "не согласен", "не съм съгласен", "☐", "no thanks", "nein danke")),
        *(
            (text, "not_a_boolean")
            for text in ("maybe", "yes no", "да нет", "2", "yesterday", "no problem", "please", "")
        ),
        *((text, "not_a_boolean") for text in ("not yes", "no estoy de acuerdo", "no, I said yes", "yes " * 100)),
    ],
)
def test_yes_and_no_are_closed_lists_of_whole_words(text: str, value: Any) -> None:
    assert said(BOOLEAN, text, berlin()) == value


def test_titles_of_a_decision_come_first_and_a_number_may_be_a_doubt() -> None:
    keep = BOOLEAN | {"oneOf": [{"const": False, "title": "Erase"}, {"const": True, "title": "Keep the data"}]}

    assert said(keep, "keep the data", berlin()) is True
    assert said(keep, "erase", berlin()) is False
    assert said(keep, "no", berlin()) is False
    assert said(keep, "#1", berlin()) is False
    assert said(keep, "2", berlin()) is True
    assert said(keep, "1", berlin()) == ["?", True, False]
    assert said(keep, "eras", berlin()) == "not_a_boolean"


REGION = {
    "oneOf": [
        {"const": "eu-1", "title": "Europe"},
        {"const": "us-2", "title": "United States"},
        {"const": "ap-3", "title": "Азия"},
    ]
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(
            (text, "us-2")
            for text in ("us-2", "US-2", "united  states", "2", "2.", "2)", "(2)", "#2", "№ 2", "2️⃣", "２")
        ),
        *((text, "us-2") for text in ("option 2", "2. United States", "2 - United States", "“United States”", "us-2.")),
        *((text, "ap-3") for text in ("азия", "АЗИЯ", "Вариант 3")),
        *(
            (text, "not_a_choice")
            for text in ("4", "0", "eu", "#4", "#0", "", "europe or asia", "7. x", "week 2", "x" * 99)
        ),
        ("1. United States", ["?", "us-2", "eu-1"]),
        ("9. United States", "us-2"),
        ("0. United States", "us-2"),
        ("x" * 50_000, "not_a_choice"),
    ],
)
def test_a_choice_is_made_by_value_title_or_number_and_by_no_part_of_them(text: str, value: Any) -> None:
    assert said(REGION, text, berlin()) == value


def test_a_number_that_is_a_value_and_a_place_is_asked_back_and_can_be_said_plainly() -> None:
    sizes = {"enum": [2, 3, 5]}

    assert said(sizes, "2", berlin()) == ["?", 2, 3]
    assert said(sizes, "1", berlin()) == 2
    assert said(sizes, "5", berlin()) == 5
    assert said(sizes, "#2", berlin()) == 3
    assert said(sizes, '"2"', berlin()) == 2
    assert said(sizes, "3.0", berlin()) == 3


def test_options_that_differ_in_case_or_accents_alone_are_told_apart_by_them() -> None:
    letters = {"enum": ["a", "A", "é", "e"]}

    assert said(letters, "A", berlin()) == "A"
    assert said(letters, "É", berlin()) == "é"
    assert said({"enum": ["ab", "Ab"]}, "AB", berlin()) == ["?", "ab", "Ab"]


def test_null_true_and_numbers_among_options_have_their_words() -> None:
    mixed = {"enum": ["x", None, True, 2.5]}

    assert said(mixed, "none", berlin()) is None
    assert said(mixed, "ничего", berlin()) is None
    assert said(mixed, "yes", berlin()) is True
    assert said(mixed, "no", berlin()) == "not_a_choice"
    assert said(mixed, "2,5", berlin("de")) == 2.5
    assert said(mixed, "3,5", berlin("de")) == "not_a_choice"


@pytest.mark.parametrize(
    ("options", "text", "value"),
    [
        *((["yes", "no", "always", "never"], *row) for row in (("да", "yes"), ("Нет!", "no"), ("ja, bitte", "yes"))),
        *((["yes", "no", "always", "never"], *row) for row in (("never", "never"), ("maybe", "not_a_choice"))),
        (["✅ Yes", "❌ No"], "sí", "✅ Yes"),
        (["✅ Yes", "❌ No"], "no", "❌ No"),
        (["approve", "deny"], "да", "approve"),
        (["approve", "reject", "deny"], "no", ["?", "reject", "deny"]),
        (["yes", "sure", "no"], "да", "yes"),
        (["later", "no"], "да", "not_a_choice"),
        (["S", "M", "L"], "да", "not_a_choice"),
        (["enable", "disable"], "нет", "not_a_choice"),
        (["on", "off", "0"], "yes", "not_a_choice"),
        (["Maybe", "Yes, always"], "да", "not_a_choice"),
        (["x" * 300, "no"], "нет", "no"),
    ],
)
def test_an_option_that_is_a_yes_or_a_no_takes_one_in_any_language(options: list[str], text: str, value: Any) -> None:
    assert said({"enum": options}, text, berlin()) == value


def test_an_option_whose_title_and_value_decide_differently_decides_nothing() -> None:
    odd = {"oneOf": [{"const": "no", "title": "Yes"}, {"const": "b", "title": "Later"}]}

    assert said(odd, "да", berlin()) == "not_a_choice"
    assert said(odd, "yes", berlin()) == "no"


TAGS = several("red", "green", "Smith, Ann", "a and b")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("red, green", ["red", "green"]),
        ("1,3", ["red", "Smith, Ann"]),
        ("1 3", ["red", "Smith, Ann"]),
        ("red and green", ["red", "green"]),
        ("red, green, and 4", ["red", "green", "a and b"]),
        ("red & 4", ["red", "a and b"]),
        ("red green", ["red", "green"]),
        ("red or green", "not_a_choice"),
        ("Smith, Ann, red", ["Smith, Ann", "red"]),
        ("Smith, Ann; red", ["Smith, Ann", "red"]),
        ("a and b", ["a and b"]),
        ("- red\n- green", ["red", "green"]),
        ("[x] red\n[ ] green", ["red"]),
        ("1. red\n3. Smith, Ann", ["red", "Smith, Ann"]),
        ("red, red", ["red"]),
        ("red.", ["red"]),
        ("all", ["red", "green", "Smith, Ann", "a and b"]),
        ("none", []),
        ('["red", "Smith, Ann"]', ["red", "Smith, Ann"]),
        ("2. red, green", ["?", "red", "green"]),
        ("red, x", "not_a_choice"),
        ("red and x", "not_a_choice"),
        ("and", "not_a_choice"),
        ("x and", "not_a_choice"),
        ("[ ] red", "not_a_choice"),
        ("", "not_a_choice"),
        ("1-3", "not_a_choice"),
        ("red," * 300, "not_a_choice"),
    ],
)
def test_several_choices_are_joined_by_commas_lines_or_and(text: str, value: Any) -> None:
    assert said(TAGS, text, berlin()) == value


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (formatted("email"), " <ann@example.org> ", "ann@example.org"),
        (formatted("email"), "mailto:ann@example.org", "ann@example.org"),
        (formatted("email"), "[ann@example.org](mailto:ann@example.org)", "ann@example.org"),
        (formatted("uri"), "<https://example.org/a>", "https://example.org/a"),
        (formatted("uri"), "[here](https://example.org/a)", "https://example.org/a"),
        (formatted("uri"), "example.org", "example.org"),
    ],
)
def test_an_address_is_taken_out_of_what_clients_put_around_it(schema: dict[str, Any], text: str, value: str) -> None:
    assert said(schema, text, berlin()) == value


def test_free_text_stays_as_typed_but_for_the_ends() -> None:
    assert said(TEXT, "\ufeff  “Ann”  — ２\u00a0x \n", berlin()) == "“Ann”  — ２\u00a0x"
    assert said(TEXT, "none", berlin()) == "none"


def test_nothing_is_null_where_null_is_an_answer() -> None:
    nullable = {"type": ["integer", "null"]}

    assert said(nullable, "None", berlin()) is None
    assert said(nullable, "—", berlin()) is None
    assert said(INTEGER, "none", berlin()) == "not_an_integer"


@pytest.mark.parametrize(
    ("schema", "value", "meant"),
    [
        (TEXT, "x", "x"),
        (TEXT, 5, 5),
        (INTEGER, 5.0, 5),
        (INTEGER, 5.5, 5.5),
        (INTEGER, "5", 5),
        (NUMBER, "2,5", 2.5),
        (BOOLEAN, "yes", True),
        (REGION, "us-2", "us-2"),
        (REGION, "Europe", "eu-1"),
        (REGION, 2, 2),
        ({"enum": [2, 3, 5]}, 2, 2),
        (formatted("date"), "3.4.2026", "2026-04-03"),
        (TAGS, ["red", "red"], ["red", "red"]),
        (TAGS, ["RED", "Smith, Ann"], ["red", "Smith, Ann"]),
        (TAGS, ["RED", 5], "not_a_choice"),
        (TAGS, ["RED"] * 201, ["RED"] * 201),
        (TAGS, "red, green", ["red", "green"]),
        (ranged("date"), ["2026-03-01", "2026-03-05"], ["2026-03-01", "2026-03-05"]),
        (ranged("date"), ["1.3.2026", "5.3.2026"], ["2026-03-01", "2026-03-05"]),
        (ranged("date"), ["2026-03-01"], ["2026-03-01"]),
    ],
)
def test_a_json_value_is_taken_as_it_is_and_a_text_like_a_typed_one(schema: Any, value: object, meant: object) -> None:
    got = from_json(schema, value)

    assert got == meant
    assert type(got) is type(meant)


def test_what_is_no_list_in_brackets_is_read_as_text() -> None:
    assert said(several("[a", "b"), "[a", berlin()) == ["[a"]
    assert said(several("a"), "[" * 9_000, berlin()) == "not_a_choice"


WORD_LISTS = [
    *(words.YES, words.NO, words.POLITE, words.GREETINGS, words.NOTHING, words.ALL, words.AND, words.PLACE, words.NOON),
    *(words.MIDNIGHT, words.RANGE_FROM, words.RANGE_TO, words.HOUR_WORDS, words.MINUTE_WORDS, words.BEFORE_TIME),
    *(words.MONTHS, words.WEEKDAYS, words.DAYS_FROM_TODAY, words.DAY_PARTS, words.DATE_FILLERS, *words.UNITS),
]


@pytest.mark.parametrize("listed", WORD_LISTS)
def test_every_word_of_a_closed_list_is_written_folded(listed: Any) -> None:
    assert [word for word in listed if fold(word) != word] == []


def test_no_word_means_two_things() -> None:
    assert set() == words.YES & words.NO
    assert set() == words.STRONG_YES & words.WEAK_YES
    assert set() == words.STRONG_NO & words.WEAK_NO
    for groups in (words._MONTHS, words._WEEKDAYS, [" ".join(unit) for unit in words.UNITS]):
        everything = [word for group in groups for word in set(group.split())]
        assert sorted(everything) == sorted(set(everything))


Z_ONLY = r"^(?:\d{4}-\d{2}-\d{2}T)?\d{2}:\d{2}:\d{2}Z$"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date-time", "2026-03-01 10:00", "2026-03-01T09:00:00Z"),
        ("date-time", "2026-03-01T10:00:00+03:00", "2026-03-01T07:00:00Z"),
        ("date-time", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
        ("date-time", "2026-10-25 02:30", ("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z")),
        ("date-time", "tomorrow", None),
        ("time", "10:00", "09:00:00Z"),
        ("date-time", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_a_field_that_takes_utc_alone_gets_the_same_moment_in_utc(kind, text, value):
    (field,) = form(at=formatted(kind) | {"pattern": Z_ONLY}).fields
    assert field.in_utc
    reading = read_value(field, text, locale=berlin(), today=TODAY)
    found = getattr(reading, "readings", getattr(reading, "value", None))
    assert found == value


def test_both_ends_of_a_range_are_in_utc():
    (field,) = form(at=ranged("date-time")).fields
    reading = read_value(
        replace(field, in_utc=True), "2026-03-01 10:00 - 2026-03-01 12:00", locale=berlin(), today=TODAY
    )
    assert reading == Value(["2026-03-01T09:00:00Z", "2026-03-01T11:00:00Z"])
