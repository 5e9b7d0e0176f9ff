"""The statements of grants and deliveries, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, exists, func, literal_column, null, select, update

from bot.model.approval import ApprovalState
from bot.model.delivery import DeliveryState
from bot.storage.compiled import BulkInsert, compiled, fixed, insert, one_of
from bot.storage.schema import approvals, decisions, deliveries, delivery_parts, grants, outbox
from policy.event import Chat


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")

# grants

GRANT_NAMES: Final = tuple(column.name for column in grants.columns)
_grant: Final = list(grants.columns)
_OPEN_GRANT: Final = and_(
    grants.c.revoked_at.is_(None), grants.c.expires_at > _value("now"), grants.c.used < grants.c.uses
)

ADD_GRANT: Final = compiled(
    insert(grants).values({name: _value(name) for name in GRANT_NAMES}).on_conflict_do_nothing(), *GRANT_NAMES
)
GRANT: Final = compiled(select(*_grant).where(grants.c.id == _value("id")), "id")
GRANTS: Final = compiled(
    select(*_grant).order_by(grants.c.issued_at.desc(), grants.c.id).limit(_value("limit")).offset(_FIRST), "limit"
)
FITTING: Final = compiled(
    select(*_grant)
    .where(
        grants.c.agent == _value("agent"),
        grants.c.account == _value("account"),
        grants.c.channel == _value("channel"),
        grants.c.thread.is_not_distinct_from(_value("thread")),
    )
    .order_by(grants.c.expires_at, grants.c.id),
    "agent",
    "account",
    "channel",
    "thread",
)
REVOKE: Final = compiled(
    update(grants).where(grants.c.id == _value("id"), grants.c.revoked_at.is_(None)).values(revoked_at=_value("now")),
    "now",
    "id",
)
USE: Final = compiled(
    update(grants).where(grants.c.id == _value("id"), _OPEN_GRANT).values(used=grants.c.used + fixed(1)), "id", "now"
)
COUNT_GRANTS: Final = compiled(select(func.count()).select_from(grants).where(_OPEN_GRANT), "now")

# deliveries

NAMES: Final = tuple(column.name for column in deliveries.columns)
_all: Final = list(deliveries.columns)

ADD: Final = compiled(
    insert(deliveries).values({name: _value(name) for name in NAMES}).on_conflict_do_nothing(), *NAMES
)
GET: Final = compiled(select(*_all).where(deliveries.c.id == _value("id")), "id")
GET_OF: Final = compiled(
    select(*_all).where(deliveries.c.id == _value("id"), deliveries.c.agent == _value("agent")), "id", "agent"
)
BY_KEY: Final = compiled(
    select(*_all).where(deliveries.c.agent == _value("agent"), deliveries.c.key == _value("key")), "agent", "key"
)
ALL: Final = compiled(
    select(*_all).order_by(deliveries.c.made_at.desc(), deliveries.c.id).limit(_value("limit")).offset(_FIRST), "limit"
)
OPEN_OF: Final = compiled(
    select(*_all)
    .where(deliveries.c.agent == _value("agent"), deliveries.c.closed_at.is_(None))
    .order_by(deliveries.c.made_at, deliveries.c.id),
    "agent",
)
DUE: Final = compiled(
    select(*_all)
    .where(deliveries.c.closed_at.is_(None), deliveries.c.next_at <= _value("now"))
    .order_by(deliveries.c.next_at)
    .limit(_value("limit"))
    .offset(_FIRST),
    "now",
    "limit",
)
STEP: Final = compiled(
    update(deliveries)
    .where(
        deliveries.c.id == _value("id"),
        deliveries.c.closed_at.is_(None),
        deliveries.c.next_at == _value("at"),
        deliveries.c.state == fixed(DeliveryState.SCHEDULED.value),
    )
    .values(
        state=_value("state"),
        code=_value("code"),
        next_at=_value("next_at"),
        fired=_value("fired"),
        closed_at=_value("closed_at"),
    ),
    "state",
    "code",
    "next_at",
    "fired",
    "closed_at",
    "id",
    "at",
)
IS_DUE: Final = compiled(
    select(deliveries.c.id).where(
        deliveries.c.id == _value("id"),
        deliveries.c.closed_at.is_(None),
        deliveries.c.next_at == _value("at"),
    ),
    "id",
    "at",
)
PART_ROWS: Final = BulkInsert(delivery_parts, "part_id", "delivery_id")
_parts_of: Final = delivery_parts.join(outbox, outbox.c.id == delivery_parts.c.part_id)
_unended: Final = exists(
    select(literal_column("1"))
    .select_from(_parts_of)
    .where(delivery_parts.c.delivery_id == deliveries.c.id, outbox.c.ended_at.is_(None))
)
ENDED: Final = compiled(
    select(*_all).where(
        deliveries.c.closed_at.is_(None), deliveries.c.state == fixed(DeliveryState.SENT.value), ~_unended
    )
)
RECEIPTS: Final = compiled(
    select(outbox.c.state, func.count())
    .select_from(_parts_of)
    .where(delivery_parts.c.delivery_id == _value("id"))
    .group_by(outbox.c.state),
    "id",
)
CLOSE: Final = compiled(
    update(deliveries)
    .where(deliveries.c.id == _value("id"), deliveries.c.state == fixed(DeliveryState.SENT.value))
    .values(state=_value("state"), code=_value("code"), closed_at=_value("now")),
    "state",
    "code",
    "now",
    "id",
)
ERASE: Final = compiled(
    update(deliveries)
    .where(
        deliveries.c.id.in_(
            select(deliveries.c.id)
            .where(deliveries.c.document.is_not(None), deliveries.c.closed_at < _value("before"))
            .limit(_value("limit"))
            .offset(_FIRST),
        ),
    )
    .values(document=null()),
    "before",
    "limit",
)
COUNT_DELIVERIES: Final = compiled(
    select(func.count())
    .select_from(deliveries)
    .where(deliveries.c.closed_at.is_(None), deliveries.c.state == fixed(DeliveryState.SCHEDULED.value))
)

# what stands open

WAITING_APPROVALS: Final = compiled(
    select(approvals.c.subject, func.count())
    .where(
        approvals.c.closed_at.is_(None),
        approvals.c.state.in_(one_of(state for state in ApprovalState if state.undecided)),
    )
    .group_by(approvals.c.subject)
)
UNRECONCILED: Final = compiled(
    select(func.count())
    .select_from(approvals)
    .where(approvals.c.closed_at.is_(None), approvals.c.state == fixed(ApprovalState.UNKNOWN.value))
)

PLACE: Final = compiled(
    select(decisions.c.chat, decisions.c.sender)
    .where(
        decisions.c.account == _value("account"),
        decisions.c.channel == _value("channel"),
        decisions.c.message.is_not(None),
        decisions.c.sender.is_not(None),
        decisions.c.sender != decisions.c.account,
    )
    .order_by(decisions.c.event_id.desc())
    .limit(literal_column("1"))
    .offset(_FIRST),
    "account",
    "channel",
)
"""What a one-to-one chat is, and whose, stands in the platform's facts of its events alone (IDENT-1, PART-16)."""
DIRECT_WITH: Final = compiled(
    select(decisions.c.account, decisions.c.channel)
    .where(
        decisions.c.chat == fixed(Chat.DIRECT.value),
        decisions.c.sender == _value("account"),
        decisions.c.sender.is_not(None),
    )
    .group_by(decisions.c.account, decisions.c.channel)
    .order_by(func.max(decisions.c.event_id).desc())
    .limit(literal_column("20"))
    .offset(_FIRST),
    "account",
)
"""The private chats in which somebody has written (IDENT-1)."""
