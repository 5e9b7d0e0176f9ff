"""Point look-ups by index, in a connection that can only read: some ten microseconds, without a change of thread.

A reader of the write-ahead log never waits for the writer and never makes it wait. It does not checkpoint either.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bot.storage.failures import explain


class Reader:
    """Reads what is committed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Args: connection: read-only; threads take turns."""
        self._connection = connection
        self._turn = threading.RLock()

    def read(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query.

        Raises:
            StoreError: it can't be read.
        """
        try:
            with self._turn:
                return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise explain(error) from None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read inside is of one moment; keep it short."""
        with self._turn:
            self.read("BEGIN")
            try:
                yield
            finally:
                self.read("COMMIT")

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            self._connection.close()
