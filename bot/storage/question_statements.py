"""The statements of questions, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, bindparam, func, literal_column, null, select, update

from bot.model.part import Action
from bot.model.question import QuestionState
from bot.storage.compiled import BulkInsert, compiled, fixed, insert, one_of
from bot.storage.schema import outbox, question_parts, questions, receipts
from policy.boundary import Speech


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")
NAMES: Final = tuple(column.name for column in questions.columns)
COLUMNS: Final = tuple(column.name for column in questions.columns if column.name != "token")
_all: Final = [questions.c[name] for name in COLUMNS]
_ASKING: Final = one_of((Speech.FINAL, Speech.ECHO, Speech.REPORT))  # what is told about a question is neither
_PENDING: Final = one_of(state for state in QuestionState if state.pending)

ADD: Final = compiled(
    insert(questions).values({name: _value(name) for name in NAMES}).on_conflict_do_nothing(),
    *NAMES,
)
GET: Final = compiled(select(*_all).where(questions.c.id == _value("id")), "id")
GET_OF: Final = compiled(
    select(*_all).where(questions.c.id == _value("id"), questions.c.agent == _value("agent")), "id", "agent"
)
BY_KEY: Final = compiled(
    select(*_all).where(questions.c.agent == _value("agent"), questions.c.key == _value("key")), "agent", "key"
)
BY_TOKEN: Final = compiled(select(*_all).where(questions.c.token == _value("token")), "token")
BY_PART: Final = compiled(
    select(*_all)
    .select_from(question_parts.join(questions, questions.c.id == question_parts.c.question_id))
    .where(question_parts.c.part_id == _value("part")),
    "part",
)
AT: Final = compiled(
    select(*_all)
    .select_from(
        receipts.join(question_parts, question_parts.c.part_id == receipts.c.part_id).join(
            questions, questions.c.id == question_parts.c.question_id
        ),
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
PENDING: Final = compiled(select(*_all).where(questions.c.closed_at.is_(None)).order_by(questions.c.expires_at))
ANSWERED: Final = compiled(
    select(*_all)
    .where(
        questions.c.agent == _value("agent"),
        questions.c.state == fixed(QuestionState.ANSWERED.value),
        questions.c.closed_at >= _value("since"),
    )
    .order_by(questions.c.closed_at),
    "agent",
    "since",
)
LATE: Final = compiled(
    select(*_all)
    .select_from(
        question_parts.join(questions, questions.c.id == question_parts.c.question_id).join(
            outbox, outbox.c.id == question_parts.c.part_id
        ),
    )
    .where(
        question_parts.c.part_id == _value("part"),
        outbox.c.action == fixed(Action.SEND.value),
        outbox.c.speech.in_(_ASKING),
        outbox.c.made_at < questions.c.closed_at,
    ),
    "part",
)
RECEIPT: Final = compiled(select(receipts.c.message).where(receipts.c.part_id == _value("part")), "part")
SHOWN: Final = compiled(
    select(receipts.c.message)
    .select_from(
        question_parts.join(receipts, receipts.c.part_id == question_parts.c.part_id).join(
            outbox, outbox.c.id == question_parts.c.part_id
        ),
    )
    .where(question_parts.c.question_id == _value("id"), outbox.c.speech.in_(_ASKING))
    .order_by(question_parts.c.part_id),
    "id",
)
CHANGE: Final = compiled(
    update(questions)
    .where(
        questions.c.id == _value("id"),
        questions.c.version == _value("before"),
        questions.c.state.in_(_PENDING),
    )
    .values(
        state=_value("state"),
        version=questions.c.version + fixed(1),
        closed_at=_value("closed_at"),
        answered_by=_value("answered_by"),
        way=_value("way"),
        document=_value("document"),
    ),
    "state",
    "closed_at",
    "answered_by",
    "way",
    "document",
    "id",
    "before",
)
REWRITE: Final = compiled(
    update(questions).where(questions.c.id == _value("id")).values(document=_value("document")), "document", "id"
)
PART_ROWS: Final = BulkInsert(question_parts, "part_id", "question_id")
ERASE: Final = compiled(
    update(questions)
    .where(
        questions.c.id.in_(
            select(questions.c.id)
            .where(questions.c.document.is_not(None), questions.c.closed_at < _value("before"))
            .limit(_value("limit"))
            .offset(_FIRST),
        ),
    )
    .values(document=null()),
    "before",
    "limit",
)
RECEIPTS: Final = compiled(
    select(outbox.c.state, func.count())
    .select_from(question_parts.join(outbox, outbox.c.id == question_parts.c.part_id))
    .where(question_parts.c.question_id == _value("id"), outbox.c.action == fixed(Action.SEND.value))
    .group_by(outbox.c.state),
    "id",
)
