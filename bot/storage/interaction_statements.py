"""The statements of interactions, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, func, literal_column, null, or_, select, update

from bot.model.interaction import ClarificationState, InteractionState
from bot.storage.compiled import BulkInsert, compiled, fixed, insert, one_of
from bot.storage.schema import clarifications, continuations, decisions, inbox, inbox_contents, interactions
from bot.storage.statements import DECISION_COLUMNS


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
INTERACTION: Final = tuple(column.name for column in interactions.columns)
CLARIFICATION: Final = tuple(column.name for column in clarifications.columns)
_interaction = [interactions.c[name] for name in INTERACTION]
_clarification = [clarifications.c[name] for name in CLARIFICATION]
_active: Final = and_(interactions.c.closed_at.is_(None), interactions.c.status == fixed(InteractionState.ACTIVE.value))
_open: Final = and_(
    clarifications.c.closed_at.is_(None), clarifications.c.status == fixed(ClarificationState.OPEN.value)
)

ADD: Final = compiled(insert(interactions).values({name: _value(name) for name in INTERACTION}), *INTERACTION)
GET: Final = compiled(select(*_interaction).where(interactions.c.id == _value("id")), "id")
GET_OF: Final = compiled(
    select(*_interaction).where(interactions.c.id == _value("id"), interactions.c.agent == _value("agent")),
    "id",
    "agent",
)
BY_KEY: Final = compiled(
    select(*_interaction).where(interactions.c.agent == _value("agent"), interactions.c.key == _value("key")),
    "agent",
    "key",
)
ACTIVE: Final = compiled(
    select(*_interaction).where(interactions.c.conversation == _value("conversation"), _active), "conversation"
)
ACTIVES: Final = compiled(select(*_interaction).where(_active).order_by(interactions.c.started_at))
_CHANGED: Final = (
    "plan_version",
    "workspace_generation",
    "workspace_snapshot_sha256",
    "documentation_version",
    "changed_at",
    "document",
)
CHANGE: Final = compiled(  # CLAR-5: compare and set
    update(interactions)
    .where(interactions.c.id == _value("id"), interactions.c.plan_version == _value("before"), _active)
    .values({name: _value(name) for name in _CHANGED}),
    *_CHANGED,
    "id",
    "before",
)
END: Final = compiled(
    update(interactions)
    .where(interactions.c.id == _value("id"), _active)
    .values(status=_value("status"), changed_at=_value("changed_at"), closed_at=_value("closed_at")),
    "status",
    "changed_at",
    "closed_at",
    "id",
)
UNTOUCHED: Final = compiled(
    select(interactions.c.id)
    .where(_active, interactions.c.changed_at < _value("before"))
    .limit(_value("limit"))
    .offset(_FIRST),
    "before",
    "limit",
)
_ended_long_ago = (
    select(interactions.c.id)
    .where(interactions.c.document.is_not(None), interactions.c.closed_at < _value("before"))
    .limit(_value("limit"))
    .offset(_FIRST)
)
ENDED: Final = compiled(_ended_long_ago, "before", "limit")
ERASE: Final = compiled(update(interactions).where(interactions.c.id == _value("id")).values(document=null()), "id")
ERASE_CLARIFICATIONS: Final = compiled(
    update(clarifications).where(clarifications.c.interaction_id == _value("id")).values(document=null()), "id"
)
ERASE_CONTINUATIONS: Final = compiled(
    update(continuations).where(continuations.c.interaction_id == _value("id")).values(document=null()), "id"
)

ADD_CLARIFICATION: Final = compiled(
    insert(clarifications).values({name: _value(name) for name in CLARIFICATION}), *CLARIFICATION
)
CLARIFICATION_GET: Final = compiled(select(*_clarification).where(clarifications.c.id == _value("id")), "id")
CLARIFICATION_BY_KEY: Final = compiled(
    select(*_clarification).where(
        clarifications.c.interaction_id == _value("interaction"), clarifications.c.key == _value("key")
    ),
    "interaction",
    "key",
)
ASKED_BY: Final = compiled(
    select(*_clarification)
    .where(clarifications.c.event_id == _value("event"))
    .order_by(clarifications.c.asked_at, clarifications.c.id),
    "event",
)
OF_INTERACTION: Final = compiled(
    select(*_clarification)
    .where(clarifications.c.interaction_id == _value("id"))
    .order_by(clarifications.c.asked_at, clarifications.c.id),
    "id",
)
OPEN: Final = compiled(select(*_clarification).where(clarifications.c.interaction_id == _value("id"), _open), "id")
ANSWERED_WITH: Final = compiled(
    select(*_clarification)
    .select_from(clarifications.join(interactions, interactions.c.id == clarifications.c.interaction_id))
    .where(
        interactions.c.account == _value("account"),
        interactions.c.channel == _value("channel"),
        clarifications.c.answer_message == _value("message"),
        clarifications.c.status.in_(one_of((ClarificationState.ANSWERED, ClarificationState.AGAIN))),
        _active,
    )
    .order_by(clarifications.c.asked_at.desc()),
    "account",
    "channel",
    "message",
)
CLOSE: Final = compiled(
    update(clarifications)
    .where(clarifications.c.id == _value("id"), _open)
    .values(status=_value("status"), closed_at=_value("closed_at")),
    "status",
    "closed_at",
    "id",
)
LINK: Final = compiled(
    update(clarifications).where(clarifications.c.id == _value("id")).values(answer_message=_value("message")),
    "message",
    "id",
)
ANSWERED: Final = ("status", "question_message", "answer_message", "closed_at", "document")
ANSWER: Final = compiled(
    update(clarifications)
    .where(
        clarifications.c.id == _value("id"),
        or_(_open, clarifications.c.status == fixed(ClarificationState.ANSWERED.value)),
    )
    .values({name: _value(name) for name in ANSWERED}),
    *ANSWERED,
    "id",
)

ROOT: Final = compiled(
    select(
        inbox.c.account,
        inbox.c.lane,
        inbox_contents.c.raw,
        inbox.c.withdrawn,
        *(decisions.c[name] for name in DECISION_COLUMNS),
    )
    .select_from(
        inbox.join(inbox_contents, inbox_contents.c.event_id == inbox.c.id).join(
            decisions, decisions.c.event_id == inbox.c.id
        )
    )
    .where(inbox.c.id == _value("row")),
    "row",
)
RESULT: Final = compiled(select(inbox.c.done_at, inbox.c.result).where(inbox.c.id == _value("row")), "row")
CONTINUATION_ROWS: Final = BulkInsert(continuations, "event_id", "interaction_id", "plan_version", "document")
CONTINUATION: Final = compiled(
    select(continuations.c.interaction_id, continuations.c.plan_version, continuations.c.document).where(
        continuations.c.event_id == _value("event")
    ),
    "event",
)
LATEST_RUN: Final = compiled(
    select(func.max(continuations.c.event_id)).where(continuations.c.interaction_id == _value("id")), "id"
)
