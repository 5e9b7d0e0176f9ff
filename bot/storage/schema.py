"""The tables (docs/store.md tells what is kept how long). Times are integers: microseconds since 1970, UTC.

The migrations in :mod:`bot.storage.migrations` lead to exactly this; a test compares them.
"""

from typing import Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    },
)

_ID: Final = BigInteger().with_variant(Integer(), "sqlite")  # only INTEGER is a row's own number there

accounts: Final = Table(
    "accounts",
    metadata,
    Column("account", Text, primary_key=True),
    Column("started_at", BigInteger, nullable=False),
)

inbox: Final = Table(
    "inbox",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("account", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("lane", Text, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("withdrawn", Boolean, nullable=False, server_default=text("0")),
    Column("done_at", BigInteger),
    Column("result", Text),
    Column("batch", Text),
    Column("carried_by", _ID),
    Column("kept", Boolean, nullable=False, server_default=text("1")),  # its raw event is in inbox_contents
    UniqueConstraint("account", "key"),
)
Index(  # done_at, not state: a row that goes from one open state to another leaves the index alone
    "ix_inbox_unfinished",
    inbox.c.account,
    inbox.c.id,
    sqlite_where=text("done_at IS NULL"),
    postgresql_where=text("done_at IS NULL"),
)
Index(
    "ix_inbox_carried",
    inbox.c.carried_by,
    sqlite_where=text("carried_by IS NOT NULL"),
    postgresql_where=text("carried_by IS NOT NULL"),
)
Index(
    "ix_inbox_contents",
    inbox.c.done_at,
    sqlite_where=text("kept AND done_at IS NOT NULL"),
    postgresql_where=text("kept AND done_at IS NOT NULL"),
)

inbox_contents: Final = Table(  # apart, so that a step of the row does not write the long words again
    "inbox_contents",
    metadata,
    Column("event_id", _ID, primary_key=True, autoincrement=False),
    Column("raw", LargeBinary, nullable=False),
)

decisions: Final = Table(
    "decisions",
    metadata,
    Column("event_id", _ID, ForeignKey("inbox.id"), primary_key=True, autoincrement=False),
    Column("account", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("message", Text),
    Column("sender", Text),
    Column("sent_at", BigInteger, nullable=False),
    Column("chat", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("audience", Text, nullable=False),
    Column("output_class", Text, nullable=False),
    Column("stopped_at", Text),
    Column("observe", Boolean, nullable=False),
    Column("control", Boolean, nullable=False),
    Column("decided_at", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of the raw event
)
Index(
    "ix_decisions_message",
    decisions.c.account,
    decisions.c.channel,
    decisions.c.message,
    sqlite_where=text("message IS NOT NULL"),
    postgresql_where=text("message IS NOT NULL"),
)

observations: Final = Table(
    "observations",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("account", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("message", Text),
    Column("sender", Text),
    Column("said_at", BigInteger, nullable=False),
    Column("keep_until", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
)
Index("ix_observations_channel", observations.c.account, observations.c.channel, observations.c.thread)
Index("ix_observations_keep_until", observations.c.keep_until)

outbox: Final = Table(
    "outbox",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("account", Text, nullable=False),
    Column("lane", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("action", Text, nullable=False),
    Column("speech", Text, nullable=False),
    Column("audience", Text, nullable=False),
    Column("basis", Text, nullable=False),
    Column("person", Text),
    Column("chat", Text, nullable=False),
    Column("event_id", _ID, ForeignKey("inbox.id")),
    Column("unclear", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("not_before", BigInteger),
    Column("ended_at", BigInteger),
    Column("code", Text),
    Column("text", Text),
    Column("payload", LargeBinary),
)
Index(
    "ix_outbox_open",
    outbox.c.account,
    outbox.c.id,
    sqlite_where=text("ended_at IS NULL"),
    postgresql_where=text("ended_at IS NULL"),
)
Index(
    "ix_outbox_unknown",
    outbox.c.id,
    sqlite_where=text("state = 'unknown'"),
    postgresql_where=text("state = 'unknown'"),
)
Index(
    "ix_outbox_contents",
    outbox.c.ended_at,
    sqlite_where=text("payload IS NOT NULL AND ended_at IS NOT NULL"),
    postgresql_where=text("payload IS NOT NULL AND ended_at IS NOT NULL"),
)

outbox_files: Final = Table(
    "outbox_files",
    metadata,
    Column("part_id", _ID, ForeignKey("outbox.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    PrimaryKeyConstraint("part_id", "position"),
)

receipts: Final = Table(
    "receipts",
    metadata,
    Column("account", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("part_id", _ID, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("account", "channel", "message"),
    sqlite_with_rowid=False,
)

buttons: Final = Table(
    "buttons",
    metadata,
    Column("account", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("part_id", _ID, ForeignKey("outbox.id"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("event_id", _ID),
    Column("made_at", BigInteger, nullable=False),
    Column("label", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("key", Text, nullable=False, server_default=text("''")),  # the sign that stands for it, where there are none
    PrimaryKeyConstraint("account", "token"),
)
Index("ix_buttons_part_id", buttons.c.part_id)
Index("ix_buttons_made_at", buttons.c.made_at)

account_state: Final = Table(
    "account_state",
    metadata,
    Column("account", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
    PrimaryKeyConstraint("account", "name"),
)

channel_moves: Final = Table(
    "channel_moves",
    metadata,
    Column("account", Text, nullable=False),
    Column("old", Text, nullable=False),
    Column("new", Text, nullable=False),
    Column("noted_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("account", "old"),
)

journal: Final = Table(
    "journal",
    metadata,
    Column("seq", _ID, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

meta: Final = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    CheckConstraint("length(name) > 0", name="name"),
)

questions: Final = Table(
    "questions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("token", Text, nullable=False),  # SHA-256 of the token in the link, hexadecimal
    Column("account", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("chat", Text, nullable=False),
    Column("person", Text),
    Column("asker", Text),
    Column("event_id", _ID),
    Column("who", Text, nullable=False),
    Column("important", Boolean, nullable=False),
    Column("language", Text, nullable=False),
    Column("timezone", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("answered_by", Text),
    Column("way", Text),
    Column("document", LargeBinary),  # question, schema, answer: words, with a retention
    UniqueConstraint("agent", "key"),
    UniqueConstraint("token"),
    sqlite_with_rowid=False,
)
Index(
    "ix_questions_pending",
    questions.c.expires_at,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index(
    "ix_questions_contents",
    questions.c.closed_at,
    sqlite_where=text("document IS NOT NULL AND closed_at IS NOT NULL"),
    postgresql_where=text("document IS NOT NULL AND closed_at IS NOT NULL"),
)

question_parts: Final = Table(  # the parts of the outbox that show a question
    "question_parts",
    metadata,
    Column("part_id", _ID, ForeignKey("outbox.id"), primary_key=True, autoincrement=False),
    Column("question_id", Text, ForeignKey("questions.id"), nullable=False),
)
Index("ix_question_parts_question_id", question_parts.c.question_id)

chat_messages: Final = Table(
    "chat_messages",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("desk", Text, nullable=False),
    Column("room", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),  # of the latest change
    Column("came_at", BigInteger, nullable=False),
    Column("document", LargeBinary),
    UniqueConstraint("desk", "room", "message"),
)
Index("ix_chat_messages_seq", chat_messages.c.desk, chat_messages.c.seq, unique=True)
Index("ix_chat_messages_room_seq", chat_messages.c.desk, chat_messages.c.room, chat_messages.c.seq)
Index(
    "ix_chat_messages_position",
    chat_messages.c.desk,
    chat_messages.c.room,
    chat_messages.c.position,
    unique=True,
)
Index(
    "ix_chat_messages_contents",
    chat_messages.c.desk,
    chat_messages.c.came_at,
    sqlite_where=text("document IS NOT NULL"),
    postgresql_where=text("document IS NOT NULL"),
)

chat_invites, chat_sessions = (
    Table(
        name,
        metadata,
        Column("desk", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("person", Text, nullable=False),
        Column("expires_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("desk", "digest"),
    )
    for name in ("chat_invites", "chat_sessions")
)

JOURNAL_GUARDS: Final = tuple(
    f"CREATE TRIGGER {name} BEFORE {verb} ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END"
    for name, verb in (("journal_keeps_its_records", "UPDATE"), ("journal_loses_no_record", "DELETE"))
)
"""DUR-4: the database itself refuses to change or remove a record."""

for _guard in JOURNAL_GUARDS:
    event.listen(journal, "after_create", DDL(_guard).execute_if(dialect="sqlite"))  # type: ignore[no-untyped-call]
