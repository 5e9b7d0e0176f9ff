"""The statements of callbacks, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    bindparam,
    delete,
    func,
    literal_column,
    null,
    select,
    update,
)

from bot.model.callback import CallbackState
from bot.storage.compiled import compiled, fixed, insert
from bot.storage.schema import callbacks


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
NAMES: Final = tuple(column.name for column in callbacks.columns)
_all: Final = list(callbacks.columns)
_WAITING: Final = fixed(CallbackState.WAITING.value)
_DUE: Final = fixed(CallbackState.DUE.value)

ADD: Final = compiled(insert(callbacks).values({name: _value(name) for name in NAMES}).on_conflict_do_nothing(), *NAMES)
OF: Final = compiled(
    select(*_all).where(callbacks.c.kind == _value("kind"), callbacks.c.subject == _value("subject")), "kind", "subject"
)
DROP: Final = compiled(delete(callbacks).where(callbacks.c.id == _value("id")), "id")
COUNT: Final = compiled(
    select(func.count())
    .select_from(callbacks)
    .where(callbacks.c.agent == _value("agent"), callbacks.c.closed_at.is_(None)),
    "agent",
)
WAITING: Final = compiled(
    select(*_all)
    .where(callbacks.c.closed_at.is_(None), callbacks.c.state == _WAITING)
    .order_by(callbacks.c.made_at, callbacks.c.id)
)
AGENTS: Final = compiled(
    select(callbacks.c.agent)
    .where(callbacks.c.closed_at.is_(None), callbacks.c.state == _DUE, callbacks.c.next_at <= _value("now"))
    .distinct(),
    "now",
)
DUE: Final = compiled(
    select(*_all)
    .where(
        callbacks.c.agent == _value("agent"),
        callbacks.c.closed_at.is_(None),
        callbacks.c.state == _DUE,
        callbacks.c.next_at <= _value("now"),
    )
    .order_by(callbacks.c.next_at, callbacks.c.id)
    .limit(_value("limit"))
    .offset(_FIRST),
    "agent",
    "now",
    "limit",
)
ENDED: Final = compiled(
    update(callbacks)
    .where(callbacks.c.id == _value("id"), callbacks.c.state == _WAITING)
    .values(state=_DUE, body=_value("body"), next_at=_value("now")),
    "now",
    "body",
    "id",
)
BEGIN: Final = compiled(
    update(callbacks)
    .where(callbacks.c.id == _value("id"), callbacks.c.state == _DUE, callbacks.c.attempts == _value("attempts"))
    .values(attempts=callbacks.c.attempts + fixed(1), next_at=_value("until")),
    "until",
    "id",
    "attempts",
)
AGAIN: Final = compiled(
    update(callbacks).where(callbacks.c.id == _value("id"), callbacks.c.state == _DUE).values(next_at=_value("at")),
    "at",
    "id",
)
CLOSE: Final = compiled(
    update(callbacks)
    .where(callbacks.c.id == _value("id"), callbacks.c.closed_at.is_(None))
    .values(state=_value("state"), closed_at=_value("now"), next_at=null(), secret=null(), body=null()),
    "state",
    "now",
    "id",
)
ERASE: Final = compiled(
    delete(callbacks).where(
        callbacks.c.id.in_(
            select(callbacks.c.id)
            .where(callbacks.c.closed_at < _value("before"))
            .limit(_value("limit"))
            .offset(_FIRST),
        ),
    ),
    "before",
    "limit",
)
