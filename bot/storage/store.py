"""The store: opens the file and hands out its rooms."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bot.model.errors import StoreError
from bot.storage.approvals import ApprovalReader, SqlApprovals
from bot.storage.callbacks import SqlCallbacks
from bot.storage.chat import SqlEntrances, SqlTimeline
from bot.storage.commands import SqlCommands
from bot.storage.database import (
    REVISION,
    Lock,
    check_journal,
    connect,
    connect_reader,
    migrate,
    prepare,
    read_salt,
    revision,
)
from bot.storage.deliveries import DeliveryReader, SqlDeliveries
from bot.storage.evidence import EvidenceReader
from bot.storage.filings import SqlFilings
from bot.storage.grants import GrantReader, SqlGrants
from bot.storage.history import SqlHistory
from bot.storage.inbox import SqlInbox
from bot.storage.intents import SqlIntents
from bot.storage.interactions import SqlInteractions
from bot.storage.ledger import JournalReader, SqlJournal
from bot.storage.outbox import SqlOutbox
from bot.storage.overview import SqlOverview
from bot.storage.passkeys import PasskeyReader, SqlPasskeys
from bot.storage.questions import SqlQuestions
from bot.storage.reader import Reader
from bot.storage.state import SqlState
from bot.storage.writer import Writer


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """An open store. Attributes: the rooms of :mod:`bot.ports.store`."""

    inbox: SqlInbox
    outbox: SqlOutbox
    overview: SqlOverview
    journal: SqlJournal
    state: SqlState
    questions: SqlQuestions
    grants: SqlGrants
    deliveries: SqlDeliveries
    approvals: SqlApprovals
    filings: SqlFilings
    passkeys: SqlPasskeys
    callbacks: SqlCallbacks
    intents: SqlIntents
    history: SqlHistory
    interactions: SqlInteractions
    commands: SqlCommands
    _writer: Writer
    _readers: tuple[Reader, ...]
    _lock: Lock

    @classmethod
    async def open(cls, path: Path, *, patience_s: float = 30.0) -> Self:
        """Open a store; make it or bring its schema up to date first. It belongs to the running event loop.

        Args:
            path: the database; it, its side files and a lock lie in one folder.
            patience_s: how long another process may hold the database before writing fails.

        Raises:
            StoreError: it can't be opened; the text says the mend.
        """
        lock = await asyncio.to_thread(prepare, path)
        readers: list[Reader] = []
        try:
            connection = await asyncio.to_thread(connect, path)
            try:
                await asyncio.to_thread(migrate, path, connection)
                check_journal(connection)
                salt = read_salt(connection)
                readers += [Reader(connect_reader(path)) for _ in range(2)]
                writer = Writer(connection, salt=salt, patience_s=patience_s)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            for reader in readers:
                reader.close()
            lock.release()
            raise
        points, walks = readers
        return cls(
            inbox=SqlInbox(writer, points),
            outbox=SqlOutbox(writer, points),
            overview=SqlOverview(walks),
            journal=SqlJournal(writer, walks),
            state=SqlState(writer, points),
            questions=SqlQuestions(writer, points),
            grants=SqlGrants(writer, points),
            deliveries=SqlDeliveries(writer, points, walks),
            approvals=SqlApprovals(writer, points),
            filings=SqlFilings(writer, points),
            passkeys=SqlPasskeys(writer, points),
            callbacks=SqlCallbacks(writer, points),
            intents=SqlIntents(writer, points),
            history=SqlHistory(walks),
            interactions=SqlInteractions(writer, points),
            commands=SqlCommands(writer, points),
            _writer=writer,
            _readers=tuple(readers),
            _lock=lock,
        )

    @staticmethod
    async def open_reader(path: Path) -> "StoreReader":
        """Open a store to look at it, also while a daemon writes it.

        Raises:
            StoreError: there is none, it can't be read, or its schema is another version's.
        """
        connection = await asyncio.to_thread(connect_reader, path)
        found = revision(connection)
        if found != REVISION:
            connection.close()
            raise StoreError(f"the store {path} has schema {found}, this discreet reads {REVISION} (run it once)")
        reader = Reader(connection)
        return StoreReader(
            overview=SqlOverview(reader),
            journal=JournalReader(reader),
            grants=GrantReader(reader),
            deliveries=DeliveryReader(reader),
            approvals=ApprovalReader(reader),
            evidence=EvidenceReader(reader),
            passkeys=PasskeyReader(reader),
            _reader=reader,
        )

    def timeline(self, desk: str) -> SqlTimeline:
        """The messages of one desk of the built-in chat."""
        return SqlTimeline(self._writer, self._readers[0], desk)

    def entrances(self, desk: str) -> SqlEntrances:
        """The invites and sessions of one desk of the built-in chat."""
        return SqlEntrances(self._writer, self._readers[0], desk)

    async def close(self) -> None:
        """Finish what was submitted and let go of the files. Closing twice is fine."""
        for reader in self._readers:
            reader.close()
        await self._writer.close()
        self._lock.release()


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreReader:
    """A store that is only looked at."""

    overview: SqlOverview
    journal: JournalReader
    grants: GrantReader
    deliveries: DeliveryReader
    approvals: ApprovalReader
    evidence: EvidenceReader
    passkeys: PasskeyReader
    _reader: Reader

    async def close(self) -> None:
        """Let go of the file."""
        self._reader.close()
