"""Values, limits and errors in the words of one reader: what the templates show."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from bot.pages.words import ENGLISH
from bot.texts.words import LANGUAGES, nearest, page_words
from forms.canonical import RANGES
from forms.field import Field, FieldKind, Option
from forms.formats import read_date, read_datetime, read_time
from forms.validation import FieldError
from forms.wording import options_of

if TYPE_CHECKING:
    import babel

HIDDEN: Final = "••••••"
"""Stands for a masked value, whatever its length (FORM-10)."""
_TAGS: Final = 8
_LONGEST_TAG: Final = 35


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """Who reads a page.

    Attributes:
        language: of the catalogues.
        tag: the same with its region, where the browser names one: it decides how numbers and dates are written.
        timezone: IANA name.
    """

    language: str
    tag: str
    timezone: str = "UTC"

    @classmethod
    def of(cls, accepted: str, *, fallback: str | None = None, timezone: str = "UTC") -> "Reader":
        """Read ``Accept-Language``: the first language of it that we speak, else the fallback.

        Args:
            accepted: the header; anything is allowed.
            fallback: the question's language.
            timezone: the question's.
        """
        for tag in _preferred(accepted):
            if nearest(tag) == tag.partition("-")[0].casefold() in LANGUAGES:
                return cls(language=nearest(tag), tag=tag, timezone=timezone)
        return cls(language=nearest(fallback), tag=nearest(fallback), timezone=timezone)

    def today(self, now: datetime) -> date:
        """The reader's own day."""
        return now.astimezone(_zone(self.timezone)).date()


def _preferred(accepted: str) -> list[str]:
    """Tags by weight; those that are no tags are passed over."""
    weighed: list[tuple[float, str]] = []
    for part in accepted[:500].split(",")[:_TAGS]:
        tag, _, weight = part.strip().partition(";")
        try:
            quality = float(weight.strip().removeprefix("q=") or 1)
        except ValueError:
            continue
        if tag.replace("-", "").isalnum() and tag.isascii() and len(tag) <= _LONGEST_TAG and quality > 0:
            weighed.append((-quality, tag))
    return [tag for _, tag in sorted(weighed, key=lambda item: item[0])]


class Wording:
    """Says things to one reader."""

    def __init__(self, reader: Reader, now: datetime) -> None:
        """Args: now: aware; a time without a date is of that day."""
        self.reader = reader
        self._now = now
        self._words = _words(reader.language)

    def say(self, key: str, **values: object) -> str:
        """A sentence of the pages."""
        sentence = self._words[key]
        return sentence.format_map(values) if values else sentence

    def error(self, error: FieldError, field: Field | None) -> str:
        """What is wrong with a field and how to mend it."""
        key = f"page.error.{error.code}"
        if key not in self._words:
            return self.say("page.error.other")
        number = error.limit if isinstance(error.limit, int | float | Decimal) else None
        return self.say(key, limit="" if number is None else self.number(number))

    def limits(self, field: Field) -> list[str]:
        """What an answer has to keep to, a line each. What the control itself shows is not said."""
        said = self._between("page.limit.{}", field.minimum, field.maximum)
        for key, limit in (
            ("page.limit.more_than", field.exclusive_minimum),
            ("page.limit.less_than", field.exclusive_maximum),
        ):
            if limit is not None:
                said.append(self.say(key, limit=self.number(limit)))
        step = field.multiple_of
        if step is not None and step < 1 and step == Decimal(1).scaleb(step.adjusted()):
            said.append(self.say("page.limit.places", limit=-step.adjusted()))
        elif step is not None and not (step == 1 and field.kind is FieldKind.INTEGER):
            said.append(self.say("page.limit.step", limit=self.number(step)))
        low, high = field.min_length or None, field.max_length
        if low is not None and low == high:
            said.append(self.say("page.limit.length", limit=self.number(low)))
        else:
            said += self._each(low, high, "page.limit.shortest", "page.limit.longest")
        if field.kind is FieldKind.CHOICES:
            low, high = field.min_items or None, field.max_items
            if low is not None and low == high:
                said.append(self.say("page.limit.exactly", limit=self.number(low)))
            else:
                high = None if high is None or high >= len(field.options) else high
                said += self._each(low, high, "page.limit.fewest", "page.limit.most")
        return said

    def _between(self, key: str, low: Decimal | None, high: Decimal | None) -> list[str]:
        if low is not None and high is not None:
            return [self.say(key.format("between"), low=self.number(low), high=self.number(high))]
        return self._each(low, high, key.format("at_least"), key.format("at_most"))

    def _each(self, low: Decimal | int | None, high: Decimal | int | None, least: str, most: str) -> list[str]:
        both = ((least, low), (most, high))
        return [self.say(key, limit=self.number(limit)) for key, limit in both if limit is not None]

    def title(self, option: Option) -> str:
        """Of an option; yes, no and none are said in the reader's language."""
        if option.title.strip():
            return option.title
        return self.say("page.none" if option.value is None else "page.yes" if option.value else "page.no")

    def value(self, field: Field, values: Mapping[str, object]) -> str:
        """A field of an answer as people read it; a masked one is never shown (FORM-10), a time names its zone."""
        if field.name not in values:
            return self.say("page.confirm.unanswered")
        value = values[field.name]
        if field.masked:
            return HIDDEN
        if value == []:
            return self.say("page.none")
        items = value if isinstance(value, list) else [value]
        return (" – " if field.kind in RANGES else "\n").join(self.item(field, item) for item in items)

    def item(self, field: Field, item: object) -> str:
        """One value, or one of a list."""
        options = options_of(field)
        for option in options:
            if option.value == item and isinstance(option.value, bool) == isinstance(item, bool):
                return self.title(option)
        if item is None:
            return self.say("page.none")
        if isinstance(item, int | float):
            return self.number(item)
        return self._moment(field.kind, str(item)) or str(item)

    def _moment(self, kind: FieldKind, text: str) -> str:
        from babel.dates import format_date, format_time

        locale = _locale(self.reader.tag)
        if kind in {FieldKind.DATE, FieldKind.DATE_RANGE}:
            day = read_date(text)
            return "" if day is None else format_date(day, "full", locale=locale)
        if kind in {FieldKind.TIME, FieldKind.TIME_RANGE}:
            clock = read_time(text)
            if clock is None:
                return ""
            precise = "medium" if clock.second else "short"
            moment = datetime.combine(self.reader.today(self._now), clock)
            zone = _named(moment, self.reader.timezone)
            return f"{format_time(clock.replace(tzinfo=None), precise, locale=locale)} ({zone})"
        if kind in {FieldKind.DATETIME, FieldKind.DATETIME_RANGE}:
            found = read_datetime(text)
            return "" if found is None else self._spelt(found, "full", _named(found, self.reader.timezone))
        return ""

    def moment(self, moment: datetime) -> str:
        """A moment of ours in the reader's zone, with its name."""
        local = moment.astimezone(_zone(self.reader.timezone))
        return self._spelt(local, "long", _named(local, self.reader.timezone))

    def _spelt(self, moment: datetime, width: str, zone: str) -> str:
        from babel.dates import format_date, format_time

        locale = _locale(self.reader.tag)
        clock = format_time(moment.replace(tzinfo=None), "medium" if moment.second else "short", locale=locale)
        return f"{format_date(moment, width, locale=locale)}, {clock} ({zone})"

    def zone(self) -> str:
        """The zone in which local times are meant."""
        return self.reader.timezone.replace("_", " ")

    def number(self, number: float | Decimal) -> str:
        """A number as the reader writes it, with all its digits."""
        from babel.numbers import format_decimal

        exact = number if isinstance(number, int | Decimal) else Decimal(repr(number))
        return format_decimal(exact, locale=_locale(self.reader.tag), decimal_quantization=False)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return ZoneInfo("UTC")


def _named(moment: datetime, timezone: str) -> str:
    """The offset of a moment, with the zone's name where it is the zone's."""
    same_zone = moment.astimezone(_zone(timezone)).utcoffset() == moment.utcoffset()
    name = timezone.replace("_", " ")
    return f"{name}, {_offset(moment)}" if same_zone and name != "UTC" else _offset(moment)


def _offset(moment: datetime | time) -> str:
    offset = moment.strftime("%z")
    return "UTC" if not offset.strip("+-0") else f"UTC{offset[:3]}:{offset[3:5]}".replace("-", "−")


@lru_cache(maxsize=len(LANGUAGES))
def _words(language: str) -> Mapping[str, str]:
    return page_words(language, ENGLISH)


@lru_cache(maxsize=64)
def _locale(tag: str) -> "babel.Locale":
    from babel import Locale, UnknownLocaleError

    language = tag.partition("-")[0]
    try:
        return Locale.parse(tag, sep="-")
    except (ValueError, UnknownLocaleError):
        return Locale.parse(nearest(language))
