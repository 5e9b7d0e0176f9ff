"""The one connection that writes, in a thread of its own, with many operations in one transaction (group commit).

    event loop: submit ──┐ one hand-over for everything that one turn of the loop has submitted
    thread:              └> BEGIN IMMEDIATE, operation, operation, …, journal records, COMMIT (synchronous=FULL)
    event loop: all results of the group, in one call

INVARIANT: a result is given only after its COMMIT; an operation that fails gets its own error and leaves nothing
behind, and its neighbours are as if it had not been there. SQLite before 3.51.3 can damage a database when two
connections write and checkpoint: this is the only one that does either.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final, TypeVar

from bot.journal.chain import Facts, Head, Record, link
from bot.model.errors import StoreError
from bot.observability.log import get_logger
from bot.storage.compiled import BulkInsert
from bot.storage.failures import busy, explain
from bot.storage.schema import journal
from bot.storage.statements import JOURNAL_ROW_COLUMNS, READ_HEAD, WRITE_HEAD

log = get_logger(__name__)

Payload = TypeVar("Payload")
Result = TypeVar("Result")
Operation = Callable[["Transaction", Sequence[Payload]], Sequence[Result]]

MAX_WAITING: Final = 20_000
"""Operations that may wait; whoever comes then waits for room."""

PAUSE_FIRST_S: Final = 0.1
PAUSE_LONGEST_S: Final = 5.0
"""Between tries while the disk is full."""

MAX_GROUP: Final = 1_000
"""Operations of one transaction, so that the first of them does not wait for ever."""

_JOURNAL_ROWS: Final = BulkInsert(journal, *JOURNAL_ROW_COLUMNS)
_Work = tuple[Operation[Any, Any], Any, asyncio.Future[Any]]
_Outcome = tuple[asyncio.Future[Any], Any, BaseException | None]


class Transaction:
    """What an operation writes with. Its journal records become durable with it, or not at all."""

    __slots__ = ("_last", "_records", "execute", "executemany", "salt")

    def __init__(self, connection: sqlite3.Connection, head: Head, salt: bytes) -> None:
        self.execute = connection.execute
        self.executemany = connection.executemany
        self.salt = salt
        self._last: Head | Record = head
        self._records: list[tuple[Any, ...]] = []

    def note(self, kind: str, facts: Facts, *, at_us: int) -> None:
        """Append a record to the journal, in this transaction (DUR-4).

        Raises:
            StoreError: the facts are not bounded (DUR-5).
        """
        self._last = record = link(self._last, at_us=at_us, kind=kind, facts=facts)
        self._records.append(record)

    def insert(self, rows: BulkInsert, values: list[tuple[Any, ...]]) -> list[int]:
        """Insert rows; returns their numbers, which rise by one each: nobody else writes."""
        ids: list[int] = []
        for text, flat, size in rows.chunks(values):
            last = self.execute(text, flat).lastrowid or 0
            ids.extend(range(last - size + 1, last + 1))
        return ids

    def advance(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> bool:
        """Bring rows from state to state; False if one of them was not where it should have been."""
        return not rows or self.executemany(statement, rows).rowcount == len(rows)

    def seal(self) -> Head:
        """Write what was noted; returns the new end of the chain."""
        head = Head(seq=self._last.seq, hash=self._last.hash)
        if self._records:
            for text, flat, _ in _JOURNAL_ROWS.chunks(self._records):
                self.execute(text, flat)
            self.execute(WRITE_HEAD, (f"{head.seq}:{head.hash}",))
        return head


class Writer:
    """Takes operations from the event loop and runs them in groups."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        salt: bytes,
        patience_s: float = 30.0,
    ) -> None:
        """Start the thread; the writer belongs to the running event loop.

        Args:
            connection: in autocommit mode, not used by anybody else from now on.
            salt: of this instance, for digests.
            patience_s: how long another process may hold the database before operations are told so.
        """
        self._connection = connection
        self._salt = salt
        self._patience_s = patience_s
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[list[_Work] | None] = queue.SimpleQueue()
        self._pending: list[_Work] = []
        self._waiting = 0
        self._room = asyncio.Event()
        self._room.set()
        self._drained = asyncio.Event()
        self._closing = False
        self._ending = asyncio.Event()
        self._failing = False
        self._head = read_head(connection)
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    async def do(self, run: Operation[Payload, Result], payload: Payload, *, patient: bool = True) -> Result:
        """Run an operation; durable when this returns.

        Args:
            run: is given all neighbouring payloads of the same operation at once, and returns a result for each.
            payload: what it needs.
            patient: while the disk is full and the like, wait and try again, so that what has begun goes on when there
                is room; otherwise whoever asks is told at once.

        Raises:
            StoreError: it could not be done, and nothing of it was.
        """
        pause_s = PAUSE_FIRST_S
        while True:
            try:
                result = await self._submit(run, payload)
            except StoreError as error:
                self._seen(error)
                if not patient or not error.passing:
                    raise
            else:
                if self._failing:
                    self._failing = False
                    log.warning("store_recovered")
                return result
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), pause_s)
            pause_s = min(pause_s * 2, PAUSE_LONGEST_S)

    def _seen(self, error: StoreError) -> None:
        """Log the first of a row of failures that may pass."""
        if error.passing and not self._failing:
            self._failing = True
            log.error("store_failing", cause=str(error))

    async def _submit(self, run: Operation[Payload, Result], payload: Payload) -> Result:
        while self._waiting >= MAX_WAITING:
            self._room.clear()
            await self._room.wait()
        if self._closing:
            raise StoreError("the store is closed")
        future: asyncio.Future[Result] = self._loop.create_future()
        if not self._pending:
            self._loop.call_soon(self._hand_over)
        self._pending.append((run, payload, future))
        self._waiting += 1
        return await future

    async def close(self) -> None:
        """Finish what was submitted, truncate the log, and close the connection."""
        if self._closing:
            return
        self._closing = True
        self._ending.set()
        if self._waiting:
            await self._drained.wait()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # in the event loop

    def _hand_over(self) -> None:
        self._queue.put(self._pending)
        self._pending = []

    def _resolve(self, outcomes: list[_Outcome]) -> None:
        for future, result, error in outcomes:
            if future.done():  # whoever waited was cancelled
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        self._waiting -= len(outcomes)
        self._room.set()
        if self._closing and not self._waiting:
            self._drained.set()

    # in the thread

    def _work(self) -> None:
        more = True
        while more:
            handed = self._queue.get()
            group: list[_Work] = []
            while True:
                if handed is None:
                    more = False
                    break
                group += handed
                if len(group) >= MAX_GROUP:
                    break
                try:
                    handed = self._queue.get_nowait()
                except queue.Empty:
                    break
            if group:
                outcomes = self._group(group)
                with contextlib.suppress(RuntimeError):  # the loop was closed without closing the store
                    self._loop.call_soon_threadsafe(self._resolve, outcomes)
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def _group(self, group: list[_Work]) -> list[_Outcome]:
        """All in one transaction; if one of them fails, each in its own."""
        if any(run is checkpoint for run, _, _ in group):
            return [outcome for work in group for outcome in self._alone(work)]
        try:
            results = self._transact(group)
        except Exception as error:  # noqa: BLE001 - each operation is told its own error below
            if len(group) == 1 or (isinstance(error, sqlite3.Error) and busy(error)):
                told = explain(error)
                return [(future, None, told) for _, _, future in group]
            return [outcome for work in group for outcome in self._alone(work)]
        return [(future, result, None) for (_, _, future), result in zip(group, results, strict=True)]

    def _alone(self, work: _Work) -> list[_Outcome]:
        run, _, future = work
        try:
            if run is checkpoint:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                return [(future, None, None)]
            return [(future, self._transact([work])[0], None)]
        except Exception as error:  # noqa: BLE001 - told to whoever waits for it
            return [(future, None, explain(error))]

    def _transact(self, group: list[_Work]) -> list[Any]:
        self._begin()
        try:
            transaction = Transaction(self._connection, self._head, self._salt)
            results: list[Any] = []
            for run, works in groupby(group, key=_operation_of):
                results.extend(run(transaction, [payload for _, payload, _ in works]))
            head = transaction.seal()
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self._head = head
        return results

    def _begin(self) -> None:
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not busy(error) or time.monotonic() >= deadline:
                    raise
            else:
                return

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._head = read_head(self._connection)


def checkpoint(_: Transaction, payloads: Sequence[None]) -> Sequence[None]:
    """Bring the log into the database and empty it; the writer does it between transactions."""
    return payloads


def read_head(connection: sqlite3.Connection) -> Head:
    """The end of the journal as it is noted in the database."""
    return head_of(connection.execute(READ_HEAD).fetchall())


def head_of(rows: Sequence[tuple[Any, ...]]) -> Head:
    """The end of the journal from the rows of :data:`bot.storage.statements.READ_HEAD`."""
    if not rows:
        return Head()
    seq, _, digest = rows[0][0].partition(":")
    return Head(seq=int(seq) if seq.isdecimal() else 0, hash=digest)


def _operation_of(work: _Work) -> Operation[Any, Any]:
    return work[0]
