"""The formats of strings, read strictly: RFC 3339 as JSON Schema means it, e-mail, web and mail addresses.

Every reader returns None for what is not of its format and raises nothing. Digits are ASCII, offsets are part of times.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from forms.bounds import is_text

SCHEMES: Final = ("http", "https", "mailto")  # javascript: and data: are URIs too, and run where they are opened

_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))")

# RFC 3986, without the empty host that http forbids; a percent sign stands before two hexadecimal digits.
_CHAR: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_TAIL: Final = rf"(?:\?(?:{_CHAR}|[/?])*)?(?:#(?:{_CHAR}|[/?])*)?"
_WEB: Final = re.compile(
    r"[Hh][Tt][Tt][Pp][Ss]?://"
    r"(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)"
    rf"(?::(?P<port>[0-9]*))?(?:/(?:{_CHAR}|/)*)?{_TAIL}"
)
_MAIL: Final = re.compile(rf"[Mm][Aa][Ii][Ll][Tt][Oo]:(?:{_CHAR}|/)*{_TAIL}")


def read_date(text: str) -> date | None:
    """A full-date of RFC 3339: 2026-03-01."""
    match = _DATE.fullmatch(text)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def read_time(text: str) -> time | None:
    """A full-time of RFC 3339: 10:00:00Z, 10:00:00.5+01:00. A leap second (23:59:60 in UTC) is read as its 59th."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = (int(match[n]) for n in (1, 2, 3))
    offset_min = int(match[6] or 0) * 60 + int(match[7] or 0)
    if int(match[6] or 0) > 23 or int(match[7] or 0) > 59:
        return None
    offset = timedelta(minutes=-offset_min if match[5] == "-" else offset_min)
    if second == 60:
        in_utc = (hour * 60 + minute - offset // timedelta(minutes=1)) % (24 * 60)
        if in_utc != 24 * 60 - 1:
            return None
        second = 59
    try:
        zone = timezone(offset) if offset else UTC
        return time(hour, minute, second, int((match[4] or "")[:6].ljust(6, "0")), zone)
    except ValueError:
        return None


def read_datetime(text: str) -> datetime | None:
    """A date-time of RFC 3339: 2026-03-01T10:00:00+01:00; aware."""
    if text[10:11] not in {"T", "t"}:
        return None
    day, hour = read_date(text[:10]), read_time(text[11:])
    return None if day is None or hour is None else datetime.combine(day, hour)


def is_email(text: str) -> bool:
    """A mailbox of RFC 5321, also of a house's own domain. Whether there is one is not looked up."""
    import email_validator  # 20 ms, and few forms ask for one

    email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()  # its documented way to take .local and .test
    try:
        email_validator.validate_email(
            text,
            allow_smtputf8=False,
            allow_quoted_local=True,
            allow_domain_literal=True,
            globally_deliverable=False,
            check_deliverability=False,
            strict=True,
        )
    except email_validator.EmailNotValidError:
        return False
    return text.isascii()


def is_uri(text: str) -> bool:
    """An absolute URI of one of :data:`SCHEMES`, well-formed by RFC 3986."""
    match = _WEB.fullmatch(text)
    if match is None:
        return _MAIL.fullmatch(text) is not None
    if match["port"] and (len(match["port"]) > 5 or int(match["port"]) > 65_535):
        return False
    try:
        return match["v6"] is None or bool(IPv6Address(match["v6"]).compressed)
    except AddressValueError:
        return False


FORMATS: Final[dict[str, Callable[[str], object]]] = {
    "date": read_date,
    "time": read_time,
    "date-time": read_datetime,
    "email": is_email,
    "uri": is_uri,
}


def has_format(text: str, name: str) -> bool:
    """Whether the text is of the format."""
    found = FORMATS[name](text) if is_text(text) else None
    return found is not None and found is not False
