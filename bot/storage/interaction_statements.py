"""The statements of interactions, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, bindparam, delete, func, literal_column, select, update

from bot.storage.compiled import compiled, insert
from bot.storage.schema import interactions


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
NAMES: Final = tuple(column.name for column in interactions.columns)
_all: Final = list(interactions.columns)
_id: Final = interactions.c.id == _value("id")

ADD: Final = compiled(
    insert(interactions).values({name: _value(name) for name in NAMES}).on_conflict_do_nothing(), *NAMES
)
GET: Final = compiled(select(*_all).where(_id), "id")
GET_OF: Final = compiled(select(*_all).where(_id, interactions.c.agent == _value("agent")), "id", "agent")
BY_MESSAGE: Final = compiled(
    select(*_all).where(interactions.c.agent == _value("agent"), interactions.c.message == _value("message")),
    "agent",
    "message",
)
AIM: Final = compiled(
    update(interactions).where(_id).values(subject=_value("subject"), attempt=_value("attempt")),
    "subject",
    "attempt",
    "id",
)
ANSWER: Final = compiled(
    update(interactions)
    .where(_id, interactions.c.closed_at.is_(None))
    .values(closed_at=_value("now"), document=_value("document")),
    "now",
    "document",
    "id",
)
FORGET: Final = compiled(delete(interactions).where(_id), "id")
OPEN: Final = compiled(
    select(*_all).where(interactions.c.closed_at.is_(None)).order_by(interactions.c.made_at, interactions.c.id)
)
COUNT: Final = compiled(
    select(func.count())
    .select_from(interactions)
    .where(interactions.c.agent == _value("agent"), interactions.c.closed_at.is_(None)),
    "agent",
)
ERASE: Final = compiled(
    delete(interactions).where(
        interactions.c.id.in_(
            select(interactions.c.id)
            .where(interactions.c.closed_at < _value("before"))
            .limit(_value("limit"))
            .offset(_FIRST)
        )
    ),
    "before",
    "limit",
)
