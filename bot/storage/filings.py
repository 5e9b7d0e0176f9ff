"""Drafts that are filed as the end of a request (see :class:`bot.ports.approvals.Filings`).

INVARIANT: the draft and the end of the work are one transaction. A request whose draft is filed is not worked on again,
and one that is worked on again has left no draft (DUR-3).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, select

from bot.model.approval import Approval
from bot.model.output import OutFile
from bot.ports.approvals import Shown
from bot.ports.store import Ending, Waiting
from bot.storage.approvals import change_approvals, put_approvals
from bot.storage.compiled import compiled, fixed
from bot.storage.inbox import finish_work
from bot.storage.reader import Reader
from bot.storage.schema import decisions, inbox
from bot.storage.times import to_us
from bot.storage.writer import Transaction, Writer

_ASKED: Final = compiled(
    select(decisions.c.message)
    .select_from(decisions.join(inbox, decisions.c.event_id == inbox.c.id))
    .where(
        decisions.c.event_id == bindparam("row", required=False),
        inbox.c.withdrawn == fixed(0),
        decisions.c.kind.in_([fixed("message"), fixed("edit"), fixed("undecryptable")]),
    ),
    "row",
)
_File = tuple[Approval, str | None, Sequence[Shown], Sequence[OutFile], Ending, int]


class SqlFilings:
    """Files drafts in a database."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def file(
        self,
        approval: Approval,
        *,
        verb: str | None,
        shown: Sequence[Shown],
        files: Sequence[OutFile],
        ending: Ending,
        now: datetime,
    ) -> list[Waiting] | None:
        """See :meth:`bot.ports.approvals.Filings.file`."""
        return await self._writer.do(_file, (approval, verb, shown, files, ending, to_us(now)))

    async def asked_in(self, event_id: int) -> str | None:
        """See :meth:`bot.ports.approvals.Filings.asked_in`."""
        rows = self._reader.read(_ASKED, (event_id,))
        return rows[0][0] if rows else None


def _file(tx: Transaction, payloads: Sequence[_File]) -> list[list[Waiting] | None]:
    results: list[list[Waiting] | None] = []
    for approval, verb, shown, files, ending, now in payloads:
        waiting: list[Waiting] | None
        if verb is None:
            ((known, waiting),) = put_approvals(tx, [(approval, shown, files, now)])
            if known is not None:
                waiting = None
        else:
            (waiting,) = change_approvals(tx, [(approval, verb, now, shown, files)])
        if waiting is not None:
            (said,) = finish_work(tx, [(ending.event_id, ending.parts, ending.outcome, now)])
            waiting = [*waiting, *said]
        results.append(waiting)
    return results
