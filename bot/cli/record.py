"""``discreet record list`` and ``discreet record check`` (AUTO-8): the sources are asked as the daemon asks them."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli import terminal
from bot.cli.failing import NOT_IN_ORDER, OK
from bot.cli.policies import load_policy
from bot.cli.serving import read_config
from policy.record import Entry
from policy.ruleset import Policy

if TYPE_CHECKING:
    from bot.record.room import Record
    from bot.record.sources import Change


def list_record(path: Path, *, values: bool) -> int:
    """Print a line for each entry; returns the exit code."""
    _, record, changes = _looked(path)
    wrong = _tell(changes)
    now = datetime.now(UTC)
    lines = [
        (name, _who(entry), _until(entry, now), ",".join(sorted(entry.classes)) or "any", terminal.clean(source))
        for source, entries in record.by_source()
        for name, entry in sorted(entries.items())
    ]
    texts = [entry.text for _, entries in record.by_source() for _, entry in sorted(entries.items())]
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(4)]
    for line, text in zip(lines, texts, strict=True):
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        terminal.say("  ".join([*cells, line[4]]))
        if values:
            terminal.say(f"    {terminal.clean(text)}")
    if not lines:
        terminal.note("the record is empty: add entries under record: in the policy, or name sources in config.yaml")
    return NOT_IN_ORDER if wrong else OK


def check_record(path: Path) -> int:
    """Print what is wrong with each source and between them; returns the exit code."""
    policy, record, changes = _looked(path)
    wrong = _tell(changes)
    troubled = {change.source for change in changes} - {name for name, entries in record.by_source() if entries}
    now = datetime.now(UTC)
    places: dict[str, list[str]] = {}
    for source, entries in record.by_source():
        if source not in troubled:
            terminal.good(f"{terminal.clean(source)}: in order (entries: {len(entries)})")
        for name, entry in sorted(entries.items()):
            places.setdefault(name, []).append(source)
            if entry.expires_at is not None and entry.expires_at <= now:
                terminal.warn(f"{name} has expired: whatever rests on it is blocked")
            strangers = sorted((entry.counterparties or frozenset()) - policy.counterparties.keys())
            if strangers:
                terminal.warn(f"{name} is for {', '.join(strangers)}, no counterparty of the policy")
    for name, sources in places.items():
        if len(sources) > 1:
            wrong = True
            terminal.complain(f"{name} stands in {' and '.join(map(terminal.clean, sources))}, so it counts as unknown")
            terminal.mend("keep it in one place")
    return NOT_IN_ORDER if wrong else OK


def _looked(path: Path) -> "tuple[Policy, Record, list[Change]]":
    """The record, after one look at each of its sources."""
    config = read_config(path, idle=True)
    policy = load_policy(config.policy)

    from bot.wiring import open_record

    found = open_record(config, lambda: policy.record)

    async def look() -> "list[Change]":
        try:
            return await found.read()
        finally:
            await found.close()

    return policy, found, asyncio.run(look())


def _tell(changes: "list[Change]") -> bool:
    """Print what is wrong with sources; whether anything is."""
    from bot.record.sources import Away, Refused

    wrong = False
    for change in changes:
        match change:
            case Refused(marked=marked) if marked:
                wrong = True
                for problem in marked:
                    terminal.problem(problem, to_stderr=True)
            case Refused(problems=problems):
                wrong = True
                for line in problems.splitlines():
                    terminal.complain(line)
            case Away(source=source, why=why):
                wrong = True
                terminal.complain(f"{source}: {why}")
                terminal.mend("look whether it runs, and whether this machine may reach it")
            case _:
                pass
    return wrong


def _who(entry: Entry) -> str:
    return "everybody" if entry.counterparties is None else ",".join(sorted(entry.counterparties))


def _until(entry: Entry, now: datetime) -> str:
    if entry.expires_at is None:
        return "no end"
    moment = entry.expires_at.astimezone(UTC).isoformat(timespec="minutes").replace("+00:00", "Z")
    return f"expired {moment}" if entry.expires_at <= now else f"until {moment}"
