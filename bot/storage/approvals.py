"""Approvals in the database (see :class:`bot.ports.approvals.ApprovalStore`).

INVARIANT: a change is written only where the revision is still the one that was read, and decisions are only ever
added. What the journal says of it is written in the same transaction.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from bot.journal.chain import Facts
from bot.model.approval import Approval, ApprovalState, Assurance, Subject
from bot.model.errors import StoreError
from bot.model.output import OutFile
from bot.ports.approvals import Role, Shown, Standing
from bot.ports.store import Waiting
from bot.storage import approval_statements as sql
from bot.storage.approval_rows import (
    Row,
    approval_of,
    decision_row,
    new_row,
    obligation_of,
    values_of,
)
from bot.storage.digests import content_digest
from bot.storage.parts import destination_of, part_digest, store_parts
from bot.storage.reader import Reader
from bot.storage.retention import SWEEP_ROWS, sweep_all
from bot.storage.times import to_us
from bot.storage.writer import Transaction, Writer
from policy.destination import Destination
from policy.event import Chat

_OUTCOMES: Final = frozenset({"execute", "fail", "lose"})
_Put = tuple[Approval, Sequence[Shown], Sequence[OutFile], int]
_Change = tuple[Approval, str, int, Sequence[Shown], Sequence[OutFile] | None]


class ApprovalReader:
    """Approvals, only looked at; also while the daemon writes them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._open: dict[str, Approval] = {}

    async def get(self, approval_id: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.get`."""
        return self._one(self._reader.read(sql.GET, (approval_id,)))

    async def get_of(self, agent: str, approval_id: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.get_of`."""
        return self._one(self._reader.read(sql.GET_OF, (approval_id, agent)))

    async def receipts(self, approval_id: str) -> dict[str, int]:
        """See :meth:`bot.ports.approvals.ApprovalStore.receipts`."""
        return dict(self._reader.read(sql.RECEIPTS, (approval_id,)))

    async def by_key(self, agent: str, key: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.by_key`."""
        return self._one(self._reader.read(sql.BY_KEY, (agent, key)))

    async def by_code(self, code: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.by_code`."""
        return self._one(self._reader.read(sql.BY_CODE, (code,)))

    async def pending(self) -> list[Approval]:
        """See :meth:`bot.ports.approvals.ApprovalStore.pending`.

        They are looked at every second, and may be large: what has the same revision is the same.
        """
        known, self._open = self._open, {}
        for approval_id, revision in self._reader.read(sql.OPEN):
            approval = known.get(approval_id)
            if approval is None or approval.revision != revision:
                approval = await self.get(approval_id)
            if approval is not None and not approval.state.closed:  # it may have come to its end meanwhile
                self._open[approval_id] = approval
        return list(self._open.values())

    async def recent(self, limit: int) -> list[Approval]:
        """See :meth:`bot.ports.approvals.ApprovalStore.recent`."""
        return [self._approval(row) for row in self._reader.read(sql.RECENT, (limit,))]

    async def counts(self) -> dict[ApprovalState, int]:
        """See :meth:`bot.ports.approvals.ApprovalStore.counts`."""
        found = dict.fromkeys((state for state in ApprovalState if not state.closed), 0)
        return found | {ApprovalState(state): count for state, count in self._reader.read(sql.COUNTS)}

    async def files(self, approval_id: str, version: str) -> tuple[OutFile, ...]:
        """See :meth:`bot.ports.approvals.ApprovalStore.files`."""
        return tuple(
            OutFile(name=name, media_type=media_type, content=content)
            for name, media_type, content in self._reader.read(sql.FILES, (approval_id, version))
        )

    def _one(self, rows: Sequence[Row]) -> Approval | None:
        return self._approval(rows[0]) if rows else None

    def _approval(self, row: Row) -> Approval:
        return approval_of(row, self._reader.read(sql.DECISIONS, (row[0],)))


class SqlApprovals(ApprovalReader):
    """Approvals, their decisions, and which parts of the outbox show them."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        super().__init__(reader)
        self._writer = writer

    async def put(
        self, approval: Approval, shown: Sequence[Shown], *, files: Sequence[OutFile] = (), now: datetime
    ) -> tuple[Approval, list[Waiting], bool]:
        """See :meth:`bot.ports.approvals.ApprovalStore.put`."""
        known, waiting = await self._writer.do(put_approvals, (approval, shown, files, to_us(now)))
        return (approval, waiting, True) if known is None else (self._approval(known), [], False)

    async def draft_for(self, destination: Destination) -> Approval | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.draft_for`."""
        return self._one(self._reader.read(sql.DRAFT_FOR, (str(destination),)))

    async def unreconciled(self, agent: str, version: str) -> Approval | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.unreconciled`."""
        return self._one(self._reader.read(sql.UNRECONCILED, (agent, version)))

    async def change(
        self,
        approval: Approval,
        *,
        verb: str,
        now: datetime,
        shown: Sequence[Shown] = (),
        files: Sequence[OutFile] | None = None,
    ) -> list[Waiting] | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.change`."""
        return await self._writer.do(change_approvals, (approval, verb, to_us(now), shown, files))

    async def show(self, approval: Approval, shown: Sequence[Shown], *, now: datetime) -> list[Waiting]:
        """See :meth:`bot.ports.approvals.ApprovalStore.show`."""
        return await self._writer.do(_show_more, (approval, shown, to_us(now))) if shown else []

    async def of_part(self, part_id: int) -> tuple[Approval, Standing | None] | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.of_part`."""
        approval = self._one(self._reader.read(sql.BY_PART, (part_id,)))
        if approval is None:
            return None
        rows = self._reader.read(sql.STANDING_OF_PART, (part_id,))
        return approval, _standing(approval, rows[0]) if rows else None

    async def role_of(self, part_id: int) -> tuple[str, str] | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.role_of`."""
        rows = self._reader.read(sql.ROLE, (part_id,))
        return (rows[0][0], rows[0][1]) if rows else None

    async def at(self, destination: Destination, message: str) -> Standing | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.at`."""
        rows = self._reader.read(sql.AT, (destination.account, destination.channel, message))
        if not rows:
            return None
        width = len(sql.COLUMNS)
        return _standing(self._approval(rows[0][:width]), rows[0][width:])

    async def messages(self, approval_id: str, role: str) -> list[Standing]:
        """See :meth:`bot.ports.approvals.ApprovalStore.messages`."""
        approval = await self.get(approval_id)
        if approval is None:
            return []
        return [_standing(approval, row) for row in self._reader.read(sql.MESSAGES, (approval_id, role))]

    async def places(self, approval_id: str, version: str) -> frozenset[tuple[Destination, str]]:
        """See :meth:`bot.ports.approvals.ApprovalStore.places`."""
        return frozenset(
            (destination_of(account, channel, thread), role)
            for account, channel, thread, role in self._reader.read(sql.PLACES, (approval_id, version))
        )

    async def coming(self, approval_id: str, version: str) -> frozenset[tuple[Destination, str]]:
        """See :meth:`bot.ports.approvals.ApprovalStore.coming`."""
        return frozenset(
            (destination_of(account, channel, thread), role)
            for account, channel, thread, role in self._reader.read(sql.COMING, (approval_id, version))
        )

    async def open_calls(self, agent: str) -> int:
        """See :meth:`bot.ports.approvals.ApprovalStore.open_calls`."""
        return int(self._reader.read(sql.HOW_MANY_OPEN, (agent,))[0][0])

    async def late(self, part_id: int) -> Approval | None:
        """See :meth:`bot.ports.approvals.ApprovalStore.late`."""
        return self._one(self._reader.read(sql.LATE, (part_id, Role.CARD)))

    async def sendings(self, approval_id: str, version: str) -> dict[int, str]:
        """See :meth:`bot.ports.approvals.ApprovalStore.sendings`."""
        return dict(self._reader.read(sql.SENDINGS, (approval_id, version, Role.SEND)))

    async def sweep(self, *, now: datetime, contents_before: datetime) -> int:
        """See :meth:`bot.ports.approvals.ApprovalStore.sweep`."""
        return await sweep_all(self._writer, _erase, (to_us(now), to_us(contents_before)))


def _standing(approval: Approval, row: Row) -> Standing:
    role, version, account, channel, thread, message, chat, person = row
    return Standing(
        approval=approval,
        role=role,
        version=version,
        destination=destination_of(account, channel, thread),
        message=message,
        chat=Chat(chat),
        person=person,
    )


def put_approvals(tx: Transaction, payloads: Sequence[_Put]) -> list[tuple[Row | None, list[Waiting]]]:
    """Store approvals; for each the row that was there before, or None and its parts on their way."""
    results: list[tuple[Row | None, list[Waiting]]] = []
    for approval, shown, files, now in payloads:
        if tx.execute(sql.ADD, new_row(approval)).rowcount != 1:
            results.append((_known(tx, approval), []))
            continue
        waiting = _show(tx, approval, shown, now)
        _keep_files(tx, approval, files)
        _append(tx, approval, known=0)
        tx.note("proposed", _facts(tx, approval, verb="propose", known=0), at_us=now)
        results.append((None, waiting))
    return results


def _known(tx: Transaction, approval: Approval) -> Row:
    """What was there before: under the agent's key, or the open draft of the destination (AUTO-6)."""
    rows = tx.execute(sql.BY_KEY, (approval.agent, approval.key)).fetchall()
    obligation = obligation_of(approval)
    if not rows and obligation is not None:
        rows = tx.execute(sql.DRAFT_FOR, (obligation,)).fetchall()
    if not rows:
        raise StoreError("an approval with this id or code is there already")
    row: Row = rows[0]
    return row


def change_approvals(tx: Transaction, payloads: Sequence[_Change]) -> list[list[Waiting] | None]:
    """Write changes; for each its parts on their way, or None where another change was first."""
    results: list[list[Waiting] | None] = []
    for approval, verb, now, shown, files in payloads:
        values = values_of(approval)
        row = (*(values[name] for name in sql.CHANGE_ORDER), approval.id, approval.revision)
        if tx.execute(sql.CHANGE, row).rowcount != 1:
            results.append(None)
            continue
        known = tx.execute(sql.HOW_MANY, (approval.id,)).fetchone()[0]
        _append(tx, approval, known=known)
        if files is not None:
            _keep_files(tx, approval, files)
        waiting = _show(tx, approval, shown, now)
        tx.note("approval", _facts(tx, approval, verb=verb, known=known), at_us=now)
        results.append(waiting)
    return results


def _show_more(tx: Transaction, payloads: Sequence[tuple[Approval, Sequence[Shown], int]]) -> list[list[Waiting]]:
    return [_show(tx, approval, shown, now) for approval, shown, now in payloads]


def _show(tx: Transaction, approval: Approval, shown: Sequence[Shown], now: int) -> list[Waiting]:
    waiting = store_parts(tx, [(one.part, now, part_digest(tx.salt, one.part.part)) for one in shown])
    if waiting:
        rows = [(sent.id, approval.id, one.role, one.version) for sent, one in zip(waiting, shown, strict=True)]
        tx.insert(sql.PART_ROWS, rows)
    return waiting


def _append(tx: Transaction, approval: Approval, *, known: int) -> None:
    new = approval.decisions[known:]
    if new:
        tx.insert(sql.DECISION_ROWS, [decision_row(approval.id, decision) for decision in new])


def _keep_files(tx: Transaction, approval: Approval, files: Sequence[OutFile]) -> None:
    """Those of an earlier version go: what was replaced is nobody's to send."""
    tx.execute(sql.DROP_FILES, (approval.id,))
    rows: list[Row] = [
        (approval.id, approval.version, number, file.name, file.media_type, file.content)
        for number, file in enumerate(files)
    ]
    if rows:
        tx.insert(sql.FILE_ROWS, rows)


def _erase(tx: Transaction, payloads: Sequence[tuple[int, int]]) -> list[int]:
    results = []
    for now, before in payloads:
        old = tx.execute(sql.OLD, (before, SWEEP_ROWS)).fetchall()
        tx.executemany(sql.ERASE, old)
        tx.executemany(sql.ERASE_WORDS, old)
        tx.executemany(sql.DROP_FILES, old)
        if old:
            tx.note("swept", {"approvals": len(old)}, at_us=now)
        results.append(len(old))
    return results


def _facts(tx: Transaction, approval: Approval, *, verb: str, known: int) -> Facts:
    """What the record says: bounded words, numbers, and salted digests of ids and of the version (DUR-5)."""

    def opaque(text: str) -> str | None:
        return content_digest(tx.salt, text.encode("utf-8", "replace")).hex()[:32] if text else None

    facts: dict[str, str | int | None] = {
        "approval": opaque(approval.id),
        "agent": opaque(approval.agent),
        "subject": approval.subject.value,
        "verb": verb,
        "state": approval.state.value,
        "revision": approval.revision if verb == "propose" else approval.revision + 1,
        "version": opaque(approval.version),
        "rule": opaque(approval.rule),
    }
    for decision in approval.decisions[known:][-1:]:
        facts |= {
            "verdict": decision.verdict.value,
            "way": decision.way.value,
            "by": opaque(decision.account or decision.person),
            "for": opaque(decision.for_whom),
            "words": int(bool(decision.words)),
            "high": int(decision.assurance is Assurance.HIGH),
        }
    if approval.note and verb in _OUTCOMES:
        facts["note"] = opaque(approval.note)  # of the outcome, or the evidence of a reconciliation (APPR-6)
    if verb == "approve" and any(not gate.passed for gate in approval.proposal.gates):
        facts["bypass"] = 1  # APPR-7
    if approval.state is ApprovalState.APPROVED and approval.expires_at is not None:
        facts["expires"] = -(-to_us(approval.expires_at) // 1_000_000)
    if approval.subject is Subject.DRAFT and approval.origin is not None:
        facts["place"] = opaque(str(approval.origin.destination))
    return facts
