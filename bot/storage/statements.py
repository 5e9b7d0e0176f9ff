"""The statements, compiled once. Each lists the order of its values after its name."""

from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Insert,
    Update,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    text,
    update,
)

from bot.ports.store import InboxState, OutboxState
from bot.storage.compiled import BulkInsert, compiled, fixed, insert, one_of
from bot.storage.schema import (
    account_state,
    accounts,
    buttons,
    channel_moves,
    decisions,
    inbox,
    inbox_contents,
    journal,
    meta,
    observations,
    outbox,
    outbox_files,
    question_parts,
    receipts,
)
from bot.storage.states import INBOX, OUTBOX, sources


def _value(name: str) -> BindParameter[Any]:
    """A value that the caller gives."""
    return bindparam(name, required=False)


_FIRST: Final[ColumnElement[int]] = literal_column("0")

# meta and journal

HEAD: Final = "journal_head"
READ_META: Final = compiled(select(meta.c.value).where(meta.c.name == _value("name")), "name")
READ_HEAD: Final = compiled(select(meta.c.value).where(meta.c.name == fixed(HEAD)))
WRITE_HEAD: Final = compiled(update(meta).where(meta.c.name == fixed(HEAD)).values(value=_value("head")), "head")
ADD_META: Final = compiled(
    insert(meta).values(name=_value("name"), value=_value("value")).on_conflict_do_nothing(),
    "name",
    "value",
)
JOURNAL_ROW_COLUMNS: Final = ("seq", "at", "kind", "facts", "hash")
_record = select(journal.c.seq, journal.c.at, journal.c.kind, journal.c.facts, journal.c.hash)
JOURNAL_AFTER: Final = compiled(
    _record.where(journal.c.seq > _value("seq")).order_by(journal.c.seq).limit(_value("limit")).offset(_FIRST),
    "seq",
    "limit",
)
JOURNAL_TAIL: Final = compiled(_record.order_by(journal.c.seq.desc()).limit(_value("limit")).offset(_FIRST), "limit")

# accounts

ADD_ACCOUNT: Final = compiled(
    insert(accounts).values(account=_value("account"), started_at=_value("now")).on_conflict_do_nothing(),
    "account",
    "now",
)
STARTED: Final = compiled(select(accounts.c.started_at).where(accounts.c.account == _value("account")), "account")

# inbox

INBOX_ROWS: Final = BulkInsert(inbox, "account", "key", "lane", "received_at", "state")
CONTENT_ROWS: Final = BulkInsert(inbox_contents, "event_id", "raw")
ERASE: Final = compiled(delete(inbox_contents).where(inbox_contents.c.event_id == _value("row")), "row")
INBOX_KEY: Final = compiled(
    select(inbox.c.id).where(inbox.c.account == _value("account"), inbox.c.key == _value("key")),
    "account",
    "key",
)


def _inbox_step(verb: str, target: InboxState) -> Update:
    origin = sources(INBOX, verb, target)
    return (
        update(inbox)
        .where(inbox.c.id == _value("row"), inbox.c.state.in_(one_of(origin)))
        .values(state=fixed(target.value))
    )


DECIDE: Final = {
    # MUTE: the words leave with the decision, by ERASE (PART-9)
    InboxState.DONE: compiled(
        _inbox_step("decide", InboxState.DONE).values(done_at=_value("now"), result=fixed("muted"), kept=fixed(0)),
        "now",
        "row",
    ),
    InboxState.SET_ASIDE: compiled(
        _inbox_step("decide", InboxState.SET_ASIDE).values(done_at=_value("now")),
        "now",
        "row",
    ),
    InboxState.DEFERRED: compiled(
        _inbox_step("decide", InboxState.DEFERRED).values(batch=_value("batch")),
        "batch",
        "row",
    ),
    InboxState.DECIDED: compiled(_inbox_step("decide", InboxState.DECIDED), "row"),
}
SETTLE_MUTED: Final = compiled(
    _inbox_step("settle", InboxState.DONE).values(done_at=_value("now"), result=fixed("muted"), kept=fixed(0)),
    "now",
    "row",
)
SETTLE_CARRIER: Final = compiled(_inbox_step("settle", InboxState.DECIDED), "row")
SETTLE_MEMBER: Final = compiled(
    _inbox_step("settle", InboxState.DONE).values(
        done_at=_value("now"),
        result=fixed("carried"),
        carried_by=_value("carrier"),
    ),
    "now",
    "carrier",
    "row",
)
FINISH: Final = compiled(
    _inbox_step("finish", InboxState.DONE).values(done_at=_value("now"), result=_value("outcome")),
    "now",
    "outcome",
    "row",
)
FINISH_WITHDRAWN: Final = compiled(
    _inbox_step("withdraw", InboxState.DONE).values(done_at=_value("now"), result=fixed("withdrawn"), kept=fixed(0)),
    "now",
    "row",
)
ATTEMPT: Final = compiled(
    update(inbox)
    .where(
        inbox.c.id == _value("row"),
        inbox.c.state == fixed(InboxState.DECIDED.value),
        inbox.c.withdrawn == fixed(0),  # PART-18: deleted while its decision was being written
    )
    .values(attempts=inbox.c.attempts + fixed(1))
    .returning(inbox.c.attempts),
    "row",
)

DECISION_COLUMNS: Final = (
    "event_id",
    "account",
    "channel",
    "thread",
    "message",
    "sender",
    "sent_at",
    "chat",
    "kind",
    "outcome",
    "reason",
    "audience",
    "output_class",
    "stopped_at",
    "observe",
    "control",
    "decided_at",
    "digest",
)
DECISION_ROWS: Final = BulkInsert(decisions, *DECISION_COLUMNS)
_JUDGEMENT: Final = ("outcome", "reason", "audience", "output_class", "stopped_at", "observe", "control", "decided_at")
REDECIDE: Final = compiled(
    update(decisions).where(decisions.c.event_id == _value("row")).values({name: _value(name) for name in _JUDGEMENT}),
    *_JUDGEMENT,
    "row",
)

UNFINISHED_STATES: Final = (InboxState.NEW, InboxState.DEFERRED, InboxState.DECIDED)
_unfinished: Final[ColumnElement[bool]] = inbox.c.done_at.is_(None)
_event = (inbox.c.id, inbox.c.account, inbox.c.key, inbox.c.lane, inbox_contents.c.raw, inbox.c.received_at)
WITHDRAWN_UNFINISHED: Final = compiled(
    select(inbox.c.id).where(inbox.c.account == _value("account"), _unfinished, inbox.c.withdrawn),
    "account",
)
UNFINISHED: Final = compiled(
    select(
        *_event,
        inbox.c.state,
        inbox.c.batch,
        inbox.c.attempts,
        *(decisions.c[name] for name in _JUDGEMENT[:-1]),
    )
    .select_from(
        inbox.outerjoin(inbox_contents, inbox_contents.c.event_id == inbox.c.id).outerjoin(
            decisions,
            decisions.c.event_id == inbox.c.id,
        ),
    )
    .where(inbox.c.account == _value("account"), _unfinished)
    .order_by(inbox.c.id),
    "account",
)
MEMBERS: Final = compiled(
    select(*_event)
    .select_from(inbox.join(inbox_contents, inbox_contents.c.event_id == inbox.c.id))
    .where(inbox.c.carried_by == _value("carrier"), inbox.c.carried_by.is_not(None))
    .order_by(inbox.c.id),
    "carrier",
)
_of_message = and_(
    decisions.c.account == _value("account"),
    decisions.c.channel == _value("channel"),
    decisions.c.message == _value("message"),
    decisions.c.message.is_not(None),
)
ORIGINAL: Final = compiled(
    select(decisions.c.outcome, decisions.c.reason).where(
        _of_message,
        decisions.c.kind.in_([fixed("message"), fixed("edit"), fixed("undecryptable")]),
        decisions.c.event_id < _value("before"),
    ),
    "account",
    "channel",
    "message",
    "before",
)
LOCATED: Final = compiled(
    select(decisions.c.sender, decisions.c.thread)
    .where(
        _of_message,
        decisions.c.kind.in_([fixed("message"), fixed("notice"), fixed("undecryptable")]),
    )
    .order_by(decisions.c.event_id),
    "account",
    "channel",
    "message",
)
ROWS_OF_MESSAGE: Final = compiled(
    select(inbox.c.id, inbox.c.state, inbox.c.carried_by)
    .select_from(decisions.join(inbox, decisions.c.event_id == inbox.c.id))
    .where(_of_message, decisions.c.kind.not_in([fixed("redaction"), fixed("tap"), fixed("reaction")]))
    .order_by(inbox.c.id),
    "account",
    "channel",
    "message",
)
INBOX_STATE: Final = compiled(select(inbox.c.state).where(inbox.c.id == _value("row")), "row")
WITHDRAW: Final = compiled(
    update(inbox).where(inbox.c.id == _value("row")).values(withdrawn=fixed(1), kept=fixed(0)),
    "row",
)
WITHDRAW_CARRIER: Final = compiled(
    update(inbox).where(inbox.c.id == _value("row"), _unfinished).values(withdrawn=fixed(1)),
    "row",
)

# observations

OBSERVE_COLUMNS: Final = ("account", "channel", "thread", "message", "sender", "said_at", "keep_until", "text")
OBSERVATION_ROWS: Final = BulkInsert(observations, *OBSERVE_COLUMNS)
FORGET: Final = compiled(
    delete(observations).where(
        observations.c.account == _value("account"),
        observations.c.channel == _value("channel"),
        observations.c.message == _value("message"),
    ),
    "account",
    "channel",
    "message",
)
OBSERVED: Final = compiled(
    select(observations.c.sender, observations.c.text, observations.c.said_at)
    .where(
        observations.c.account == _value("account"),
        observations.c.channel == _value("channel"),
        observations.c.thread.is_not_distinct_from(_value("thread")),
        observations.c.keep_until > _value("now"),
    )
    .order_by(observations.c.id.desc())
    .limit(_value("limit"))
    .offset(_FIRST),
    "account",
    "channel",
    "thread",
    "now",
    "limit",
)

# outbox

OUTBOX_COLUMNS: Final = (
    "account",
    "lane",
    "channel",
    "thread",
    "action",
    "speech",
    "audience",
    "basis",
    "person",
    "chat",
    "event_id",
    "unclear",
    "digest",
    "made_at",
    "state",
    "text",
    "payload",
)
OUTBOX_ROWS: Final = BulkInsert(outbox, *OUTBOX_COLUMNS)
FILE_ROWS: Final = BulkInsert(outbox_files, "part_id", "position", "name", "media_type", "content")
BUTTON_COLUMNS: Final = (
    "account",
    "token",
    "part_id",
    "channel",
    "thread",
    "event_id",
    "made_at",
    "label",
    "value",
    "key",
)
ADD_BUTTON: Final = compiled(
    insert(buttons).values({name: _value(name) for name in BUTTON_COLUMNS}),
    *BUTTON_COLUMNS,
)
DROP_BUTTONS: Final = compiled(delete(buttons).where(buttons.c.part_id == _value("part")), "part")
DROP_FILES: Final = compiled(delete(outbox_files).where(outbox_files.c.part_id == _value("part")), "part")


def _outbox_step(verb: str, target: OutboxState) -> Update:
    origin = sources(OUTBOX, verb, target)
    return (
        update(outbox)
        .where(outbox.c.id == _value("part"), outbox.c.state.in_(one_of(origin)))
        .values(state=fixed(target.value))
    )


OUTBOX_STATE: Final = compiled(select(outbox.c.state).where(outbox.c.id == _value("part")), "part")
BEGIN: Final = compiled(
    _outbox_step("begin", OutboxState.SENDING).values(attempts=outbox.c.attempts + fixed(1)),
    "part",
)
END: Final = {
    target: compiled(
        _outbox_step("end", target).values(ended_at=_value("now"), code=_value("code")),
        "now",
        "code",
        "part",
    )
    for target in OutboxState
    if sources(OUTBOX, "end", target)
}
POSTPONE: Final = compiled(
    _outbox_step("postpone", OutboxState.READY).values(
        attempts=outbox.c.attempts - _value("returned"),
        not_before=_value("until"),
    ),
    "returned",
    "until",
    "part",
)
_REPLACED: Final = ("channel", "thread", "action", "speech", "digest", "text", "payload")
REPLACE: Final = compiled(
    _outbox_step("replace", OutboxState.READY)
    .values({name: _value(name) for name in _REPLACED})
    .returning(outbox.c.account, outbox.c.event_id, outbox.c.made_at),
    "channel",
    "thread",
    "action",
    "speech",
    "digest",
    "text",
    "payload",
    "part",
)
_open: Final[ColumnElement[bool]] = outbox.c.ended_at.is_(None)
SENDING: Final = compiled(
    select(outbox.c.id, outbox.c.unclear, outbox.c.action, outbox.c.event_id)
    .where(outbox.c.account == _value("account"), _open, outbox.c.state == fixed(OutboxState.SENDING.value))
    .order_by(outbox.c.id),
    "account",
)
RECOVER_UNKNOWN: Final = compiled(
    _outbox_step("recover", OutboxState.UNKNOWN).values(ended_at=_value("now"), code=fixed("interrupted")),
    "now",
    "part",
)
RECOVER_READY: Final = compiled(_outbox_step("recover", OutboxState.READY), "part")
_part = (
    outbox.c.id,
    outbox.c.attempts,
    outbox.c.not_before,
    *(outbox.c[name] for name in OUTBOX_COLUMNS if name not in {"digest", "made_at", "state"}),
)
PART_COLUMNS: Final = tuple(column.name for column in _part)
READY: Final = compiled(
    select(*_part)
    .where(outbox.c.account == _value("account"), _open, outbox.c.state == fixed(OutboxState.READY.value))
    .order_by(outbox.c.id),
    "account",
)
UNCLEAR: Final = compiled(
    select(*_part).where(outbox.c.state == fixed(OutboxState.UNKNOWN.value)).order_by(outbox.c.id),
)
FILES_OF: Final = compiled(
    select(outbox_files.c.name, outbox_files.c.media_type, outbox_files.c.content)
    .where(outbox_files.c.part_id == _value("part"))
    .order_by(outbox_files.c.position),
    "part",
)
BUTTONS_OF: Final = compiled(
    select(buttons.c.token, buttons.c.label, buttons.c.value, buttons.c.key)
    .where(buttons.c.part_id == _value("part"))
    .order_by(literal_column("rowid")),
    "part",
)


def _receipt() -> Insert:
    ours = select(
        outbox.c.account,
        outbox.c.channel,
        _value("message"),
        outbox.c.id,
        _value("now"),
    ).where(outbox.c.id == _value("part"))
    return (
        insert(receipts)
        .from_select(["account", "channel", "message", "part_id", "received_at"], ours)
        .on_conflict_do_nothing()
    )


FORGET_LINK: Final = (
    compiled(  # FORM-6: a question's card holds its link, which is the access; its words are kept elsewhere
        update(outbox)
        .where(
            outbox.c.id == _value("part"),
            exists(select(question_parts.c.part_id).where(question_parts.c.part_id == outbox.c.id)),
        )
        .values(payload=null(), text=null()),
        "part",
    )
)
ADD_RECEIPT: Final = compiled(_receipt(), "message", "now", "part")
WROTE: Final = compiled(
    select(receipts.c.part_id).where(
        receipts.c.account == _value("account"),
        receipts.c.channel == _value("channel"),
        receipts.c.message == _value("message"),
    ),
    "account",
    "channel",
    "message",
)
_TAPPED: Final = (
    buttons.c.value,
    buttons.c.label,
    buttons.c.channel,
    buttons.c.thread,
    buttons.c.event_id,
    buttons.c.part_id,
)
TAPPED: Final = compiled(
    select(*_TAPPED).where(
        buttons.c.account == _value("account"),
        buttons.c.token == _value("token"),
    ),
    "account",
    "token",
)
PRESSED: Final = compiled(
    select(*_TAPPED)
    .select_from(receipts.join(buttons, buttons.c.part_id == receipts.c.part_id))
    .where(
        receipts.c.account == _value("account"),
        receipts.c.channel == _value("channel"),
        receipts.c.message == _value("message"),
        buttons.c.key == _value("key"),
    ),
    "account",
    "channel",
    "message",
    "key",
)
ADD_MOVE: Final = compiled(
    insert(channel_moves)
    .values(account=_value("account"), old=_value("old"), new=_value("new"), noted_at=_value("now"))
    .on_conflict_do_nothing(),
    "account",
    "old",
    "new",
    "now",
)

# overview

_said = and_(  # by somebody else, to be read: no joins, topics, invites, and not what the bot said itself
    decisions.c.kind.in_([fixed(kind) for kind in ("message", "edit", "tap", "undecryptable")]),
    decisions.c.sender.is_distinct_from(decisions.c.account),
)
_other_side = case(  # in a one-to-one chat
    (
        and_(decisions.c.chat == fixed("direct"), decisions.c.sender.is_distinct_from(decisions.c.account)),
        decisions.c.sender,
    )
)
_place = (decisions.c.account, decisions.c.channel, decisions.c.thread, decisions.c.chat, decisions.c.outcome)
CHANNELS: Final = compiled(
    select(
        *_place,
        _other_side,
        func.sum(case((_said, literal_column("1")), else_=literal_column("0"))),
        func.max(decisions.c.decided_at),
    )
    .group_by(*_place, _other_side)
    .order_by(decisions.c.account, decisions.c.channel, decisions.c.thread),
)
COUNT_INBOX: Final = compiled(select(inbox.c.state, func.count()).group_by(inbox.c.state))
LOAD_INBOX: Final = compiled(select(func.count()).select_from(inbox).where(_unfinished))
LOAD_OUTBOX: Final = compiled(select(func.count()).select_from(outbox).where(_open))
LOAD_UNKNOWN: Final = compiled(
    select(func.count()).select_from(outbox).where(outbox.c.state == fixed(OutboxState.UNKNOWN.value)),
)
COUNT_OUTBOX: Final = compiled(select(outbox.c.state, func.count()).group_by(outbox.c.state))

# retention

SWEEP_OBSERVATIONS: Final = compiled(
    delete(observations).where(
        observations.c.id.in_(
            select(observations.c.id)
            .where(observations.c.keep_until <= _value("now"))
            .limit(_value("limit"))
            .offset(_FIRST),
        ),
    ),
    "now",
    "limit",
)
_carrier = inbox.alias("carrier")
_carried_by_work = exists().where(
    _carrier.c.id == inbox.c.carried_by,
    _carrier.c.state == fixed(InboxState.DECIDED.value),
)
SWEEP_INBOX: Final = compiled(
    select(inbox.c.id)
    .where(
        text("kept AND done_at IS NOT NULL"),
        inbox.c.done_at < _value("before"),
        or_(inbox.c.carried_by.is_(None), ~_carried_by_work),
    )
    .limit(_value("limit"))
    .offset(_FIRST),
    "before",
    "limit",
)
DROP_KEPT: Final = compiled(update(inbox).where(inbox.c.id == _value("row")).values(kept=fixed(0)), "row")
SWEEP_OUTBOX: Final = compiled(
    select(outbox.c.id)
    .where(
        text("payload IS NOT NULL AND ended_at IS NOT NULL"),
        outbox.c.ended_at < _value("before"),
    )
    .limit(_value("limit"))
    .offset(_FIRST),
    "before",
    "limit",
)
ERASE_PART: Final = compiled(
    update(outbox).where(outbox.c.id == _value("part")).values(text=null(), payload=null()),
    "part",
)
SWEEP_BUTTONS: Final = compiled(
    delete(buttons).where(
        literal_column("rowid").in_(
            select(literal_column("rowid"))
            .select_from(buttons)
            .where(buttons.c.made_at < _value("before"))
            .limit(_value("limit"))
            .offset(_FIRST),
        ),
    ),
    "before",
    "limit",
)

# what adapters keep

STATE: Final = compiled(
    select(account_state.c.name, account_state.c.value).where(account_state.c.account == _value("account")), "account"
)
_kept = insert(account_state).values(account=_value("account"), name=_value("name"), value=_value("value"))
KEEP: Final = compiled(
    _kept.on_conflict_do_update(index_elements=["account", "name"], set_={"value": _kept.excluded.value}),
    "account",
    "name",
    "value",
)
UNKEEP: Final = compiled(
    delete(account_state).where(
        account_state.c.account == _value("account"),
        account_state.c.name == _value("name"),
    ),
    "account",
    "name",
)
