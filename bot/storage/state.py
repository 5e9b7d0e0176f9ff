"""What adapters keep of an account (see :class:`bot.ports.store.State`)."""

from collections.abc import Mapping, Sequence

from bot.storage import statements as sql
from bot.storage.reader import Reader
from bot.storage.writer import Transaction, Writer


class SqlState:
    """Names and values by account, in a database."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def read(self, account: str) -> dict[str, str]:
        """See :meth:`bot.ports.store.State.read`."""
        return dict(self._reader.read(sql.STATE, (account,)))

    async def write(self, account: str, changes: Mapping[str, str | None]) -> None:
        """See :meth:`bot.ports.store.State.write`."""
        if changes:
            await self._writer.do(_write, (account, changes), patient=False)


def _write(tx: Transaction, payloads: Sequence[tuple[str, Mapping[str, str | None]]]) -> list[None]:
    for account, changes in payloads:
        for name, value in changes.items():
            if value is None:
                tx.execute(sql.UNKEEP, (account, name))
            else:
                tx.execute(sql.KEEP, (account, name, value))
    return [None] * len(payloads)
