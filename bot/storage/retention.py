"""What is kept how long: words whose time is over leave, digests and ids stay, so the journal stays valid (DUR-5)."""

from collections.abc import Sequence

from bot.storage import statements as sql
from bot.storage.writer import Transaction


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
