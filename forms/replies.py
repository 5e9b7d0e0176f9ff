"""What a person typed under a question, read as an answer to its form (FORM-8).

``field: value`` lines, a pasted JSON object, or the bare value where one field is asked. Every value goes through the
judge before it counts (FORM-2).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Final

from forms.field import Field, FieldKind, Form
from forms.folding import trim
from forms.lines import Line, Part, is_around, key_of, parts_of, unfenced, unquoted_lines
from forms.names import Names
from forms.pasted import pasted
from forms.reading import Ambiguous, Locale, Reading, Value, Wrong, settle
from forms.selection import decision
from forms.validation import FieldError, Judge
from forms.values import read_json, read_value

__all__ = ["Locale", "Reply", "ReplyError", "read_reply"]

LONGEST_KEY: Final = 48
_NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
_BULLET: Final = re.compile(r"\s*[-*+•–—]\s+(?=\S)")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyError(FieldError):
    """An error of a typed reply.

    ``field`` is the name of a field; of ``unknown_field`` the name as typed ("" in a form with masked fields, unless it
    is near one of them); of ``unparseable`` and ``declined`` it is "".
    ``code``: ``declined`` where the reply to a form without fields is a no, besides those of values.
    ``nearest``: the name of the field that an unknown name or a stray line is most like, "" for none.
    ``line``: where it is in the reply, from 1; 0 for nowhere in particular.
    ``readings``: what an ambiguous text can mean, as JSON values; none of a masked field.
    """

    nearest: str = ""
    line: int = 0
    readings: tuple[object, ...] = field(default=(), repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """A reply as read. Without errors ``values`` is the whole answer; else what of it was right, to be kept."""

    values: Mapping[str, object] = field(repr=False)
    errors: tuple[FieldError, ...] = ()


def read_reply(
    form: Form,
    text: str,
    *,
    locale: Locale,
    today: date,
    kept: Mapping[str, object] = _NOTHING,
    judge: Judge | None = None,
) -> Reply:
    """The answer that the text is, or what is wrong with it.

    Args:
        form: what was asked.
        text: what was typed, with whatever the client put around it. Any text may come; nothing raises.
        locale: language and zone of the person.
        today: the person's own day.
        kept: right values of an earlier reply to the same question; only the others have to come.
        judge: the form's judge, where it is kept; made anew otherwise.
    """
    answer = _Answer(form, locale, today, kept)
    answer.read(text)
    return answer.judged(judge or Judge(form))


class _Answer:
    """Takes a reply in, field by field, and is judged once."""

    def __init__(self, form: Form, locale: Locale, today: date, kept: Mapping[str, object]) -> None:
        self._form, self._locale, self._today = form, locale, today
        self._names = Names(form)
        self._asked = [item for item in form.fields if not item.fixed]
        self._masks = any(item.masked for item in form.fields)
        known = {item.name for item in form.fields}
        self._kept = {name: value for name, value in kept.items() if name in known}
        self._said: dict[str, object] = {}
        self._emptied: set[str] = set()
        self._wrong: dict[str, ReplyError] = {}
        self._stray: list[ReplyError] = []
        self._parts: list[Part] = []
        self._sure: bool | None = None

    def read(self, text: str) -> None:
        """Take what the text says."""
        lines = unfenced(unquoted_lines(text))
        body = trim("\n".join(line for _, line in lines))
        sole = self._sole()
        free = sole is not None and sole.kind is FieldKind.TEXT
        if not body:
            return
        pairs = _object_in(lines, body)
        if pairs is not None and not (free and not any(self._names.find_json(name) for name, _ in pairs)):
            self._read_pairs(pairs)
        elif not self._asked:
            self._sure = decision(body)
        elif body.startswith("{") and not free:
            self._stray.append(ReplyError(field="", code="unparseable", line=1))
        elif sole is not None and not self._has_keys(lines, free=free):
            self._take_reading(sole, self._bare(sole, body) if not free else Value(body), emptied=False)
        else:
            self._read_parts(parts_of(lines, self._form, self._names, dashes=not free))

    def judged(self, judge: Judge) -> Reply:
        """The whole answer, or its errors and what is right."""
        said = {name: value for name, value in self._kept.items() if name not in self._emptied} | self._said
        said = {name: value for name, value in said.items() if name not in self._wrong}
        whole = {item.name: item.default for item in self._form.fields if item.fixed} | said
        for item in self._asked:
            if item.name not in whole and item.name not in self._wrong:
                if item.has_default:  # a default that was shown is an answer once the rest is sent
                    whole[item.name] = item.default
                elif item.nullable and item.required:
                    whole[item.name] = None
        errors: list[FieldError] = list(self._wrong.values())
        for error in judge.errors(whole):
            if error.field not in self._wrong:
                errors += self._placed(error)
        places = {item.name: place for place, item in enumerate(self._form.fields)}
        errors.sort(key=lambda error: places.get(error.field, -1))
        errors += self._stray
        if not errors and not self._sure and not self._said and not self._emptied:
            errors.append(ReplyError(field="", code="unparseable" if self._sure is None else "declined"))
        if not errors:
            return Reply(values={item.name: whole[item.name] for item in self._form.fields if item.name in whole})
        refused = {error.field for error in errors}
        return Reply(values={name: v for name, v in said.items() if name not in refused}, errors=tuple(errors))

    def _sole(self) -> Field | None:
        """The one field that a bare value can only be meant for."""
        if len(self._asked) == 1:
            return self._asked[0]
        if not self._kept:
            return None
        open_ = [item for item in self._asked if item.name not in self._kept]
        open_ = [item for item in open_ if item.required and not item.has_default] or open_
        return open_[0] if len(open_) == 1 else None

    def _has_keys(self, lines: list[Line], *, free: bool) -> bool:
        """Whether the reply names its fields; before a free text only in its first line."""
        full = [line for _, line in lines if trim(line)]
        return any(key_of(line, self._names, dashes=not free) for line in (full[:1] if free else full))

    def _bare(self, sole: Field, body: str) -> Reading:
        """A value without a name. "- 5" in a list of one may be 5 or -5."""
        read = read_value(sole, body, locale=self._locale, today=self._today)
        bullet = _BULLET.match(body)
        if bullet is None:
            return read
        listed = read_value(sole, body[bullet.end() :], locale=self._locale, today=self._today)
        if isinstance(read, Wrong) or isinstance(listed, Wrong):
            return listed if isinstance(read, Wrong) else read
        meanings = (*_meanings(listed), *_meanings(read))
        return settle(meanings, none="", many="ambiguous_choice" if sole.options else "ambiguous_number")

    def _read_pairs(self, pairs: list[tuple[str, object]]) -> None:
        self._sure = True if not pairs and not self._asked else None
        for name, value in pairs:
            named = self._names.find_json(name)
            if named is None:
                self._stray.append(self._unknown(name, 0))
            else:
                reading = read_json(named, value, locale=self._locale, today=self._today)
                self._take_reading(named, reading, emptied=value == "" and named.kind is not FieldKind.TEXT)

    def _read_parts(self, parts: list[Part]) -> None:
        self._parts = parts
        for part in parts:
            if part.field is not None:
                reading = read_value(part.field, part.text, locale=self._locale, today=self._today)
                self._take_reading(part.field, reading, emptied=not part.text)
            elif part.key:
                self._stray.append(self._unknown(part.key, part.line))
            else:
                nearest = self._names.nearest(next(iter(part.text.split()), ""))
                self._stray.append(ReplyError(field="", code="unparseable", nearest=nearest, line=part.line))

    def _take_reading(self, named: Field, reading: Reading, *, emptied: bool) -> None:
        if named.name in self._said.keys() | self._emptied | self._wrong.keys():
            self._wrong[named.name] = ReplyError(field=named.name, code="duplicate_field")
        elif emptied:
            self._emptied.add(named.name)
        elif isinstance(reading, Value):
            self._said[named.name] = reading.value
        elif isinstance(reading, Wrong):
            self._wrong[named.name] = ReplyError(field=named.name, code=reading.code, limit=reading.limit)
        else:
            readings = () if named.masked else reading.readings
            self._wrong[named.name] = ReplyError(field=named.name, code=reading.code, readings=readings)

    def _unknown(self, key: str, line: int) -> ReplyError:
        """An unknown name. Where something is masked it might be a secret without its name: it is not repeated."""
        hidden = self._masks and not self._names.is_slip(key)
        nearest = self._names.nearest(key)
        return ReplyError(field="" if hidden else key[:LONGEST_KEY], code="unknown_field", nearest=nearest, line=line)

    def _placed(self, error: FieldError) -> Iterator[FieldError]:
        """A missing field whose name stands inside a free text: nobody can say what was meant, so both are asked."""
        missing = next((item for item in self._form.fields if item.name == error.field), None)
        if missing is None or error.code != "missing_required":
            yield error
            return
        labels = "|".join(re.escape(label) for label in dict.fromkeys((missing.name, missing.title)))
        named = re.compile(rf"(?<!\w)(?:{labels})\s{{0,4}}[:：=]|[,;]\s{{0,4}}(?:{labels})\s", re.IGNORECASE)
        holder = next((part for part in self._parts if part.field and named.search(part.text)), None)
        yield ReplyError(field=error.field, code=error.code, line=holder.line if holder else 0)
        if holder and holder.field and holder.field.name in self._said:
            yield ReplyError(field=holder.field.name, code="ambiguous_field", nearest=missing.name, line=holder.line)


def _meanings(reading: Value | Ambiguous) -> tuple[object, ...]:
    return (reading.value,) if isinstance(reading, Value) else reading.readings


def _object_in(lines: Iterable[Line], body: str) -> list[tuple[str, object]] | None:
    """The JSON object that the reply is, apart from greetings and fences around it; also without its braces."""
    if body[0] in '"“' and body.count(":") + body.count("："):
        return pasted("{" + body.rstrip(" ,") + "}")
    texts = [line for _, line in lines]
    first = next((place for place, line in enumerate(texts) if trim(line).startswith("{")), None)
    last = next((place for place in range(len(texts) - 1, -1, -1) if trim(texts[place]).endswith("}")), None)
    if first is None or last is None or not all(map(is_around, [*texts[:first], *texts[last + 1 :]])):
        return None
    return pasted(trim("\n".join(texts[first : last + 1])))
