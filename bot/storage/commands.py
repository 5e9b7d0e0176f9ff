"""Runs of commands and their slots in the database (see :class:`bot.ports.commands.CommandStore`).

Of what a command was run on there are digests alone (CMD-5); in a slot it stands until its interaction ends (CMD-6).
"""

from collections.abc import Sequence
from datetime import datetime

from bot.journal.chain import MAX_TEXT, Facts
from bot.model.command import RunState
from bot.ports.commands import Kept, KnownRun, NewRun
from bot.storage import command_statements as sql
from bot.storage.digests import content_digest, event_tag
from bot.storage.reader import Reader
from bot.storage.retention import SWEEP_ROWS, sweep_all
from bot.storage.times import to_us
from bot.storage.writer import Transaction, Writer

_Settled = tuple[NewRun, RunState, tuple[str, ...], Kept | None, int, int]


class SqlCommands:
    """Runs and slots."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def known(self, run: NewRun) -> KnownRun | None:
        """See :meth:`bot.ports.commands.CommandStore.known`."""
        return await self._writer.do(_known, run)

    async def begin(self, run: NewRun, *, now: datetime) -> bool:
        """See :meth:`bot.ports.commands.CommandStore.begin`."""
        return await self._writer.do(_begin, (run, to_us(now)))

    async def settle(
        self,
        run: NewRun,
        state: RunState,
        *,
        now: datetime,
        codes: tuple[str, ...] = (),
        keep: Kept | None = None,
        root_id: int = 0,
    ) -> None:
        """See :meth:`bot.ports.commands.CommandStore.settle`."""
        await self._writer.do(_settle, (run, state, codes, keep, root_id, to_us(now)))

    async def deny(self, run: NewRun, code: str, *, now: datetime) -> None:
        """See :meth:`bot.ports.commands.CommandStore.deny`."""
        await self._writer.do(_deny, (run, code, to_us(now)))

    async def lost(self, *, started_before: datetime, now: datetime) -> list[str]:
        """See :meth:`bot.ports.commands.CommandStore.lost`."""
        return await self._writer.do(_lost, (to_us(started_before), to_us(now)))

    async def kept(self, root_id: int) -> dict[str, Kept]:
        """See :meth:`bot.ports.commands.CommandStore.kept`."""
        rows = self._reader.read(sql.SLOTS, (root_id,))
        return {slot: Kept(slot=slot, command=command, value=value) for slot, command, value in rows}

    async def forget(self, root_id: int) -> None:
        """See :meth:`bot.ports.commands.CommandStore.forget`."""
        if self._reader.read(sql.SLOTS, (root_id,)):
            await self._writer.do(_forget, root_id)

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.commands.CommandStore.sweep`."""
        return await sweep_all(self._writer, _sweep, to_us(contents_before))


def _known(tx: Transaction, payloads: Sequence[NewRun]) -> list[KnownRun | None]:
    found: list[KnownRun | None] = []
    for run in payloads:
        row = tx.execute(sql.GET_RUN, (run.id,)).fetchone()
        if row is None:
            found.append(None)
            continue
        state, codes, content = row
        same = bytes(content) == content_digest(tx.salt, run.content)
        found.append(
            KnownRun(id=run.id, state=RunState(state), codes=tuple(codes.split(",") if codes else ()), same=same)
        )
    return found


def _begin(tx: Transaction, payloads: Sequence[tuple[NewRun, int]]) -> list[bool]:
    return [_add(tx, run, RunState.STARTED, (), now) for run, now in payloads]


def _settle(tx: Transaction, payloads: Sequence[_Settled]) -> list[None]:
    for run, state, codes, keep, root_id, now in payloads:
        ended = tx.execute(sql.END_RUN, (state.value, ",".join(codes), now, run.id)).rowcount == 1
        if ended:
            _note(tx, run, state.value, codes, now)
        else:
            _add(tx, run, state, codes, now)
        if keep is not None:
            tx.execute(sql.KEEP, (root_id, keep.slot, keep.command, keep.value))
    return [None] * len(payloads)


def _add(tx: Transaction, run: NewRun, state: RunState, codes: tuple[str, ...], now: int) -> bool:
    closed = None if state is RunState.STARTED else now
    content = content_digest(tx.salt, run.content)
    values = {
        "id": run.id,
        "event_id": run.event_id,
        "command": run.command,
        "content": content,
        "state": state.value,
        "codes": ",".join(codes),
        "started_at": now,
        "closed_at": closed,
    }
    added = tx.execute(sql.ADD_RUN, tuple(values[name] for name in sql.RUN)).rowcount == 1
    if added:
        _note(tx, run, state.value, codes, now)
    return added


def _deny(tx: Transaction, payloads: Sequence[tuple[NewRun, str, int]]) -> list[None]:
    for run, code, now in payloads:
        _note(tx, run, "denied", (code,), now)
    return [None] * len(payloads)


def _lost(tx: Transaction, payloads: Sequence[tuple[int, int]]) -> list[list[str]]:
    lost = []
    for before, now in payloads:
        rows = tx.execute(sql.LOST, (before,)).fetchall()
        for run_id, command in rows:
            tx.execute(sql.END_RUN, (RunState.UNKNOWN.value, "", now, run_id))
            _record(tx, run_id, command, {"state": RunState.UNKNOWN.value, "codes": ""}, now)
        lost.append([run_id for run_id, _ in rows])
    return lost


def _forget(tx: Transaction, payloads: Sequence[int]) -> list[None]:
    for root_id in payloads:
        tx.execute(sql.FORGET_SLOTS, (root_id,))
    return [None] * len(payloads)


def _sweep(tx: Transaction, payloads: Sequence[int]) -> list[int]:
    gone = []
    for before in payloads:
        missed = tx.execute(sql.MISSED_SLOTS).rowcount
        old = tx.execute(sql.OLD_RUNS, (before, SWEEP_ROWS)).fetchall()
        for (run_id,) in old:
            tx.execute(sql.DROP_RUN, (run_id,))
        gone.append(missed + len(old))
    return gone


def _note(tx: Transaction, run: NewRun, state: str, codes: tuple[str, ...], now: int) -> None:
    """By digest, without words (DUR-5)."""
    facts: Facts = {
        "state": state,
        "codes": ",".join(codes)[:MAX_TEXT],
        "event": event_tag(tx.salt, run.event_id),
        "agent": content_digest(tx.salt, run.agent.encode()).hex()[:32],
        "content": content_digest(tx.salt, run.content).hex(),
    }
    _record(tx, run.id, run.command, facts, now)


def _record(tx: Transaction, run_id: str, command: str, facts: Facts, now: int) -> None:
    named: Facts = {
        "run": content_digest(tx.salt, run_id.encode()).hex()[:32],
        "command": content_digest(tx.salt, command.encode()).hex()[:32],
    }
    tx.note("command", {**named, **facts}, at_us=now)
