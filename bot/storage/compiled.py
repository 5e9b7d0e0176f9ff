"""Statements that are built by SQLAlchemy once, at import, and go to the driver as text and values.

Building a statement anew costs more than SQLite needs to run it. The same constructs compile for another database; what
is SQLite's own here is :data:`DIALECT` and :func:`insert`.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import BindParameter, ClauseElement, Table, bindparam
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import Insert, insert

__all__ = ["DIALECT", "BulkInsert", "Insert", "compiled", "fixed", "insert", "one_of"]

DIALECT: Final = sqlite.dialect(paramstyle="qmark")


def fixed(value: str | int) -> BindParameter[Any]:
    """A constant that stands in the text of the statement, so that partial indexes fit."""
    return bindparam(None, value, literal_execute=True)


def one_of(states: Iterable[StrEnum]) -> list[BindParameter[Any]]:
    """Constants for ``column.in_``."""
    return [fixed(state.value) for state in states]


def compiled(statement: ClauseElement, *names: str) -> str:
    """The text of a statement whose values are given in the order of ``names``.

    Raises:
        AssertionError: the statement wants other values or another order; found at import.
    """
    built = statement.compile(dialect=DIALECT, compile_kwargs={"render_postcompile": True})
    wanted = tuple(getattr(built, "positiontup", None) or ())
    if wanted != names:
        raise AssertionError(f"the statement wants {wanted}, not {names}")
    return str(built)


class BulkInsert:
    """INSERT of many rows with few statements: one for each :attr:`SIZES` at a time.

    Fewer steps of the driver mean fewer hand-overs of the interpreter's lock while the event loop is busy.
    """

    SIZES: Final = (64, 16, 4, 1)

    def __init__(self, table: Table, *columns: str) -> None:
        """Args: columns: the order of a row's values."""
        self._texts = [(size, self._compile(table, columns, size)) for size in self.SIZES]

    @staticmethod
    def _compile(table: Table, columns: tuple[str, ...], size: int) -> str:
        rows: list[dict[str, BindParameter[Any]]] = [
            {name: bindparam(f"{name}_{number}") for name in columns} for number in range(size)
        ]
        built = insert(table).values(rows).compile(dialect=DIALECT)
        names = [f"{name}_{number}" for number in range(size) for name in columns]
        order = list(built.positiontup or ())
        if order != names:
            raise AssertionError(f"{table.name}: give the columns as {order[: len(columns)]}")
        return str(built)

    def chunks(self, rows: list[tuple[Any, ...]]) -> Iterable[tuple[str, list[Any], int]]:
        """Statements with their values and the number of rows of each."""
        at = 0
        for size, text in self._texts:
            while len(rows) - at >= size:
                yield text, [value for row in rows[at : at + size] for value in row], size
                at += size
