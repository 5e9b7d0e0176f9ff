"""The statements of approvals, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, bindparam, delete, func, literal_column, null, select, update

from bot.model.approval import ApprovalState, Subject
from bot.model.part import Action
from bot.ports.approvals import Role
from bot.ports.store import OutboxState
from bot.storage.compiled import BulkInsert, compiled, fixed, insert, one_of
from bot.storage.schema import approval_decisions, approval_files, approval_parts, approvals, outbox, receipts


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
COLUMNS: Final = tuple(column.name for column in approvals.columns)
_all: Final = list(approvals.columns)
_of_part: Final = approval_parts.join(approvals, approvals.c.id == approval_parts.c.approval_id)
_shows: Final = (approval_parts.c.role, approval_parts.c.version)
_place: Final = (
    receipts.c.account,
    receipts.c.channel,
    outbox.c.thread,
    receipts.c.message,
    outbox.c.chat,
    outbox.c.person,
)
_IN_USE: Final = one_of([ApprovalState.CLAIMED, ApprovalState.UNKNOWN])
_UNDECIDED: Final = one_of(state for state in ApprovalState if state.undecided)
_SEEN: Final = one_of([OutboxState.SENDING, OutboxState.DELIVERED, OutboxState.UNKNOWN])
_COMING: Final = one_of([OutboxState.READY, OutboxState.SENDING, OutboxState.DELIVERED, OutboxState.UNKNOWN])

ADD: Final = compiled(
    insert(approvals).values({name: _value(name) for name in COLUMNS}).on_conflict_do_nothing(),
    *COLUMNS,
)
GET: Final = compiled(select(*_all).where(approvals.c.id == _value("id")), "id")
GET_OF: Final = compiled(
    select(*_all).where(approvals.c.id == _value("id"), approvals.c.agent == _value("agent")), "id", "agent"
)
BY_KEY: Final = compiled(
    select(*_all).where(approvals.c.agent == _value("agent"), approvals.c.key == _value("key")), "agent", "key"
)
BY_CODE: Final = compiled(
    select(*_all).where(approvals.c.code == _value("code"), approvals.c.closed_at.is_(None)), "code"
)
DRAFT_FOR: Final = compiled(
    select(*_all).where(approvals.c.obligation == _value("obligation"), approvals.c.closed_at.is_(None)), "obligation"
)
UNRECONCILED: Final = compiled(
    select(*_all).where(
        approvals.c.agent == _value("agent"),
        approvals.c.version == _value("version"),
        approvals.c.state.in_(_IN_USE),
    ),
    "agent",
    "version",
)
OPEN: Final = compiled(
    select(approvals.c.id, approvals.c.revision)
    .where(approvals.c.closed_at.is_(None))
    .order_by(approvals.c.proposed_at, approvals.c.id)
)
RECENT: Final = compiled(
    select(*_all).order_by(approvals.c.proposed_at.desc(), approvals.c.id).limit(_value("limit")).offset(_FIRST),
    "limit",
)
COUNTS: Final = compiled(
    select(approvals.c.state, func.count()).where(approvals.c.closed_at.is_(None)).group_by(approvals.c.state)
)
HOW_MANY_OPEN: Final = compiled(
    select(func.count()).where(
        approvals.c.closed_at.is_(None),
        approvals.c.agent == _value("agent"),
        approvals.c.subject == fixed(Subject.CALL.value),
    ),
    "agent",
)
BY_PART: Final = compiled(select(*_all).select_from(_of_part).where(approval_parts.c.part_id == _value("part")), "part")
ROLE: Final = compiled(select(*_shows).where(approval_parts.c.part_id == _value("part")), "part")
STANDING_OF_PART: Final = compiled(
    select(*_shows, *_place)
    .select_from(
        approval_parts.join(receipts, receipts.c.part_id == approval_parts.c.part_id).join(
            outbox, outbox.c.id == approval_parts.c.part_id
        ),
    )
    .where(approval_parts.c.part_id == _value("part"))
    .order_by(receipts.c.received_at, receipts.c.message),
    "part",
)
AT: Final = compiled(
    select(*_all, *_shows, *_place)
    .select_from(
        receipts.join(approval_parts, approval_parts.c.part_id == receipts.c.part_id)
        .join(approvals, approvals.c.id == approval_parts.c.approval_id)
        .join(outbox, outbox.c.id == receipts.c.part_id),
    )
    .where(
        receipts.c.account == _value("account"),
        receipts.c.channel == _value("channel"),
        receipts.c.message == _value("message"),
    ),
    "account",
    "channel",
    "message",
)
MESSAGES: Final = compiled(
    select(*_shows, *_place)
    .select_from(
        approval_parts.join(receipts, receipts.c.part_id == approval_parts.c.part_id).join(
            outbox, outbox.c.id == approval_parts.c.part_id
        ),
    )
    .where(approval_parts.c.approval_id == _value("id"), approval_parts.c.role == _value("role"))
    .order_by(approval_parts.c.part_id, receipts.c.received_at, receipts.c.message),
    "id",
    "role",
)
_places: Final = (
    select(outbox.c.account, outbox.c.channel, outbox.c.thread, approval_parts.c.role)
    .select_from(approval_parts.join(outbox, outbox.c.id == approval_parts.c.part_id))
    .where(approval_parts.c.approval_id == _value("id"), approval_parts.c.version == _value("version"))
)
PLACES: Final = compiled(_places.where(outbox.c.state.in_(_SEEN)), "id", "version")
COMING: Final = compiled(_places.where(outbox.c.state.in_(_COMING)), "id", "version")
LATE: Final = compiled(
    select(*_all)
    .select_from(_of_part.join(outbox, outbox.c.id == approval_parts.c.part_id))
    .where(
        approval_parts.c.part_id == _value("part"),
        approval_parts.c.role == _value("role"),
        outbox.c.action == fixed(Action.SEND.value),
        (approval_parts.c.version != approvals.c.version) | approvals.c.state.not_in(_UNDECIDED),
    ),
    "part",
    "role",
)
SENDINGS: Final = compiled(
    select(approval_parts.c.part_id, outbox.c.state)
    .select_from(approval_parts.join(outbox, outbox.c.id == approval_parts.c.part_id))
    .where(
        approval_parts.c.approval_id == _value("id"),
        approval_parts.c.version == _value("version"),
        approval_parts.c.role == _value("role"),
    )
    .order_by(approval_parts.c.part_id),
    "id",
    "version",
    "role",
)
FILES: Final = compiled(
    select(approval_files.c.name, approval_files.c.media_type, approval_files.c.content)
    .where(approval_files.c.approval_id == _value("id"), approval_files.c.version == _value("version"))
    .order_by(approval_files.c.number),
    "id",
    "version",
)
DECISIONS: Final = compiled(
    select(
        approval_decisions.c.version,
        approval_decisions.c.verdict,
        approval_decisions.c.person,
        approval_decisions.c.account,
        approval_decisions.c.way,
        approval_decisions.c.for_whom,
        approval_decisions.c.assurance,
        approval_decisions.c.at,
        approval_decisions.c.words,
        approval_decisions.c.proof,
    )
    .where(approval_decisions.c.approval_id == _value("id"))
    .order_by(approval_decisions.c.id),
    "id",
)
HOW_MANY: Final = compiled(
    select(func.count()).select_from(approval_decisions).where(approval_decisions.c.approval_id == _value("id")), "id"
)

CHANGED: Final = (
    "version",
    "requester",
    "event_id",
    "obligation",
    "rule",
    "state",
    "claim_key",
    "expires_at",
    "auto_at",
    "reminded_at",
    "escalated",
    "decided_at",
    "claimed_at",
    "closed_at",
    "document",
)
"""What a change can write. Whose it is, its code and where it belongs never change."""
CHANGE: Final = compiled(
    update(approvals)
    .where(approvals.c.id == _value("row"), approvals.c.revision == _value("before"))
    .values({name: _value(name) for name in CHANGED} | {"revision": approvals.c.revision + fixed(1)}),
    *sorted(CHANGED, key=COLUMNS.index),
    "row",
    "before",
)
CHANGE_ORDER: Final = tuple(sorted(CHANGED, key=COLUMNS.index))
DECISION_ROWS: Final = BulkInsert(
    approval_decisions,
    "approval_id",
    "version",
    "verdict",
    "person",
    "account",
    "way",
    "for_whom",
    "assurance",
    "at",
    "words",
    "proof",
)
PART_ROWS: Final = BulkInsert(approval_parts, "part_id", "approval_id", "role", "version")
FILE_ROWS: Final = BulkInsert(approval_files, "approval_id", "version", "number", "name", "media_type", "content")
OLD: Final = compiled(
    select(approvals.c.id)
    .where(approvals.c.document.is_not(None), approvals.c.closed_at < _value("before"))
    .limit(_value("limit"))
    .offset(_FIRST),
    "before",
    "limit",
)
ERASE: Final = compiled(update(approvals).where(approvals.c.id == _value("row")).values(document=null()), "row")
ERASE_WORDS: Final = compiled(
    update(approval_decisions).where(approval_decisions.c.approval_id == _value("row")).values(words=null()), "row"
)
DROP_FILES: Final = compiled(delete(approval_files).where(approval_files.c.approval_id == _value("row")), "row")

NAMES: Final = compiled(select(approvals.c.version, approvals.c.document).where(approvals.c.document.is_not(None)))
"""For who looks at the journal from outside: what a version was about, as far as it is still known."""
RECEIPTS: Final = compiled(
    select(outbox.c.state, func.count())
    .select_from(approval_parts.join(outbox, outbox.c.id == approval_parts.c.part_id))
    .where(
        approval_parts.c.approval_id == _value("id"),
        approval_parts.c.role == fixed(Role.CARD),
        outbox.c.action == fixed(Action.SEND.value),
    )
    .group_by(outbox.c.state),
    "id",
)
