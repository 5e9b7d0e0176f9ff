"""What is kept how long: words whose time is over leave, digests and ids stay, so the journal stays valid (DUR-5)."""

from collections.abc import Sequence
from typing import Final

from bot.storage import statements as sql
from bot.storage.writer import Operation, Payload, Transaction, Writer

SWEEP_ROWS: Final = 500
"""Of one kind in one transaction, so that nobody waits long behind a sweep."""


def sweep_once(tx: Transaction, payloads: Sequence[tuple[int, int, int]]) -> list[int]:
    """Erase a limited number of contents of each kind; the caller repeats it until nothing is left.

    Args:
        tx: the transaction.
        payloads: now, the time before which contents go (microseconds), and the most rows of one kind.

    Returns:
        How many were erased, for each payload.
    """
    counts = []
    for now, before, limit in payloads:
        observations = tx.execute(sql.SWEEP_OBSERVATIONS, (now, limit)).rowcount
        events = tx.execute(sql.SWEEP_INBOX, (before, limit)).fetchall()
        tx.executemany(sql.ERASE, events)
        tx.executemany(sql.DROP_KEPT, events)
        buttons = tx.execute(sql.SWEEP_BUTTONS, (before, limit)).rowcount
        parts = tx.execute(sql.SWEEP_OUTBOX, (before, limit)).fetchall()
        tx.executemany(sql.DROP_FILES, parts)
        tx.executemany(sql.ERASE_PART, parts)
        total = observations + len(events) + buttons + len(parts)
        if total:
            facts = {"observations": observations, "events": len(events), "buttons": buttons, "parts": len(parts)}
            tx.note("swept", facts, at_us=now)
        counts.append(total)
    return counts


async def sweep_all(writer: Writer, sweep: Operation[Payload, int], payload: Payload) -> int:
    """Repeat a limited sweep until nothing is left for it; returns how many went."""
    total = 0
    while gone := await writer.do(sweep, payload):
        total += gone
    return total


def erasing(statement: str) -> Operation[int, int]:
    """A limited sweep by one statement, given the time before which contents go (microseconds) and the most rows."""

    def erase(tx: Transaction, payloads: Sequence[int]) -> list[int]:
        return [tx.execute(statement, (before, SWEEP_ROWS)).rowcount for before in payloads]

    return erase
