"""The chain (DUR-4, DUR-5): each record's hash covers the one before it, so that no record changes unnoticed.

    hash(n) = SHA-256( hash(n-1) || {"at":…,"facts":{…},"kind":…,"seq":n} )

The JSON is canonical: keys sorted, no blanks, printable ASCII strings, integers of up to 15 digits, null. For such
values every careful writer of JSON makes the same bytes, and they are those of RFC 8785. Facts are bounded by
construction: small integers and short codes (no quotes, no backslashes), never bodies, names, channel ids or secrets.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from bot.model.errors import StoreError

Facts = Mapping[str, str | int | None]

GENESIS: Final = hashlib.sha256(b"discreet journal 1").hexdigest()
"""What the first record follows."""

MAX_FACTS: Final = 16
MAX_TEXT: Final = 64
MAX_INT: Final = 10**15 - 1
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}").fullmatch
_UNBOUNDED: Final = "a journal record holds up to 16 facts, each a short code of printable ASCII or a small integer"


class Record(NamedTuple):
    """One record (a tuple: several are made for each message, and they go to the database as they are).

    Attributes:
        seq: from 1, without gaps.
        at_us: microseconds since 1970, UTC.
        kind: what happened.
        facts: canonical JSON object.
        hash: hexadecimal.
    """

    seq: int
    at_us: int
    kind: str
    facts: str
    hash: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Break:
    """Where the chain is broken first; ``why`` is a short plain sentence."""

    seq: int
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The end of the chain: what the next record follows."""

    seq: int = 0
    hash: str = GENESIS


def canonical(facts: Facts) -> str:
    """The facts as canonical JSON.

    Raises:
        StoreError: they are not bounded (DUR-5); the text never holds a value.
    """
    if len(facts) > MAX_FACTS:
        raise StoreError(_UNBOUNDED)
    for name, value in facts.items():
        kind = type(value)
        if kind is str:
            fits = len(value) <= MAX_TEXT  # type: ignore[arg-type]
        elif kind is int:
            fits = -MAX_INT <= value <= MAX_INT  # type: ignore[operator]
        else:
            fits = value is None or (isinstance(value, str) and len(value) <= MAX_TEXT)
        if not fits or not _named(name):
            raise StoreError(_UNBOUNDED)
    try:
        text = orjson.dumps(facts, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # half of a surrogate pair
        raise StoreError(_UNBOUNDED) from None
    if "\\" in text or "\x7f" in text or not text.isascii():  # whatever is not printable would be escaped
        raise StoreError(_UNBOUNDED)
    return text


@lru_cache(maxsize=1024)
def _named(name: str) -> bool:
    return _NAME(name) is not None


def link(last: "Head | Record", *, at_us: int, kind: str, facts: Facts) -> Record:
    """The record that follows ``last``.

    Raises:
        StoreError: kind or facts are not bounded (DUR-5).
    """
    if not _named(kind):
        raise StoreError("a journal record has a kind of small letters, digits and _")
    text = canonical(facts)
    seq = last.seq + 1
    return Record(seq, at_us, kind, text, _hash(last.hash, seq, at_us, kind, text))


def verify(records: Iterable[Record], *, head: Head | None = None) -> Break | None:
    """Walk the chain from its first record.

    Args:
        records: in the order of their ``seq``; a stream is fine.
        head: where the chain is known to end; None: not known, and records missing at the end are not noticed.

    Returns:
        The first break, None where there is none.
    """
    walked = walk(records)
    if isinstance(walked, Break):
        return walked
    return None if head is None else ended(walked, head)


def walk(records: Iterable[Record]) -> Head | Break:
    """Walk the chain from its first record to where it ends or breaks."""
    last = Head()
    for record in records:
        why = _wrong(last, record)
        if why is not None:
            return Break(seq=last.seq + 1, why=why)
        last = Head(seq=record.seq, hash=record.hash)
    return last


def ended(last: Head, head: Head) -> Break | None:
    """Compare where the chain ends with where it is known to end."""
    if last == head:
        return None
    if last.seq < head.seq:
        return Break(seq=last.seq + 1, why="records are missing at the end")
    return Break(seq=min(last.seq, head.seq + 1), why="the noted end of the chain is another one")


def _wrong(last: Head, record: Record) -> str | None:
    if record.seq != last.seq + 1:
        return "the record is missing or out of its place"
    if type(record.at_us) is not int or type(record.kind) is not str or _NAME(record.kind) is None:
        return "the record is no record"
    try:
        facts = orjson.loads(record.facts)
        bounded = isinstance(facts, dict) and canonical(facts) == record.facts
    except (TypeError, ValueError, StoreError):
        bounded = False
    if not bounded:
        return "its facts are not canonical"
    if _hash(last.hash, record.seq, record.at_us, record.kind, record.facts) != record.hash:
        return "its content or the one before it was changed"
    return None


def _hash(previous: str, seq: int, at_us: int, kind: str, facts: str) -> str:
    text = f'{{"at":{at_us},"facts":{facts},"kind":"{kind}","seq":{seq}}}'
    return hashlib.sha256(bytes.fromhex(previous) + text.encode()).hexdigest()
