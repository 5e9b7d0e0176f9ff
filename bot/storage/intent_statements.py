"""The statements of intents, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, bindparam, delete, func, literal_column, select, update

from bot.storage.compiled import compiled, insert
from bot.storage.schema import intents


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
NAMES: Final = tuple(column.name for column in intents.columns)
_all: Final = list(intents.columns)
_id: Final = intents.c.id == _value("id")

ADD: Final = compiled(insert(intents).values({name: _value(name) for name in NAMES}).on_conflict_do_nothing(), *NAMES)
GET: Final = compiled(select(*_all).where(_id), "id")
GET_OF: Final = compiled(select(*_all).where(_id, intents.c.agent == _value("agent")), "id", "agent")
BY_MESSAGE: Final = compiled(
    select(*_all).where(intents.c.agent == _value("agent"), intents.c.message == _value("message")),
    "agent",
    "message",
)
AIM: Final = compiled(
    update(intents).where(_id).values(subject=_value("subject"), attempt=_value("attempt")),
    "subject",
    "attempt",
    "id",
)
ANSWER: Final = compiled(
    update(intents)
    .where(_id, intents.c.closed_at.is_(None))
    .values(closed_at=_value("now"), document=_value("document")),
    "now",
    "document",
    "id",
)
FORGET: Final = compiled(delete(intents).where(_id), "id")
OPEN: Final = compiled(select(*_all).where(intents.c.closed_at.is_(None)).order_by(intents.c.made_at, intents.c.id))
COUNT: Final = compiled(
    select(func.count()).select_from(intents).where(intents.c.agent == _value("agent"), intents.c.closed_at.is_(None)),
    "agent",
)
ERASE: Final = compiled(
    delete(intents).where(
        intents.c.id.in_(
            select(intents.c.id).where(intents.c.closed_at < _value("before")).limit(_value("limit")).offset(_FIRST)
        )
    ),
    "before",
    "limit",
)
