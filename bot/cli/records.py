"""``discreet journal verify``, ``tail`` and ``export`` (DUR-4)."""

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from bot.cli import terminal
from bot.cli.failing import NOT_IN_ORDER, OK
from bot.cli.reading import read
from bot.cli.serving import read_config
from bot.journal.chain import Record

if TYPE_CHECKING:
    from bot.storage.evidence import EvidenceReader

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGEST = re.compile("[0-9a-f]{64}")


def verify_journal(path: Path) -> int:
    """Walk the chain; returns the exit code."""
    broken = read(read_config(path), lambda reader: reader.journal.verify())
    if broken is None:
        terminal.good("journal: in order")
        return OK
    terminal.complain(f"journal: broken at record {broken.seq}: {broken.why}")
    terminal.mend("keep this file as it is and compare it with a backup; what stands before that record is sound")
    return NOT_IN_ORDER


def tail_journal(path: Path, *, count: int, as_json: bool) -> None:
    """Print the latest records, oldest first."""
    records = read(read_config(path), lambda reader: reader.journal.tail(count))
    for record in records:
        print(_json(record) if as_json else _line(record))


def export_journal(path: Path, *, agentack: bool, out: Path | None, since: datetime | None) -> None:
    """Write the journal, or what it says of approvals as a trace for agentack, one JSON object a line."""
    config = read_config(path, idle=True)
    with _opened(out) as stream:
        if agentack:
            for event in read(config, lambda reader: _trace(reader.evidence, since)):
                stream.write(json.dumps(event, ensure_ascii=True, sort_keys=True) + "\n")
            return
        last = 0
        while records := read(config, lambda reader: reader.journal.page(last)):  # noqa: B023 - used before it changes
            for record in records:
                if since is None or _EPOCH + timedelta(microseconds=record.at_us) >= since:
                    stream.write(_json(record) + "\n")
            last = records[-1].seq


async def _trace(evidence: "EvidenceReader", since: datetime | None) -> list[dict[str, Any]]:
    from bot.approvals.trace import trace

    return trace(await evidence.steps(since=since), await evidence.names())


@contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    """A file that is for this user alone, or the standard output."""
    if out is None:
        yield sys.stdout
        return
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        yield stream


def _json(record: Record) -> str:
    facts = json.loads(record.facts)
    return json.dumps(
        {"seq": record.seq, "at": _at(record), "kind": record.kind, "facts": facts, "hash": record.hash},
        ensure_ascii=True,
    )


def _line(record: Record) -> str:
    facts = " ".join(f"{name}={_short(value)}" for name, value in json.loads(record.facts).items() if value is not None)
    return f"{record.seq:>8}  {_at(record)}  {record.kind:<20}  {facts}".rstrip()


def _short(value: object) -> object:
    """The beginning of a digest, which is enough to tell two apart; --json has all of it."""
    return f"{value[:12]}..." if isinstance(value, str) and _DIGEST.fullmatch(value) else value


def _at(record: Record) -> str:
    return (_EPOCH + timedelta(microseconds=record.at_us)).isoformat(timespec="milliseconds")
