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

Index(
    "ix_decisions_direct",
    decisions.c.sender,
    decisions.c.account,
    decisions.c.channel,
    sqlite_where=text("chat = 'direct' AND sender IS NOT NULL"),
    postgresql_where=text("chat = 'direct' AND sender IS NOT NULL"),
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

interactions: Final = Table(
    "interactions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("chat", Text, nullable=False),
    Column("person", Text),
    Column("asker", Text),
    Column("audience", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("event_id", _ID, nullable=False),
    Column("root_message", Text),
    Column("status", Text, nullable=False),
    Column("plan_version", Integer, nullable=False),
    Column("workspace_generation", BigInteger),
    Column("workspace_snapshot_sha256", Text),
    Column("documentation_version", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("document", LargeBinary),  # the plan: words, with a retention
    UniqueConstraint("agent", "key"),
    sqlite_with_rowid=False,
)
Index(  # CLAR-1: one goes on in a conversation
    "ix_interactions_active",
    interactions.c.conversation,
    unique=True,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index(
    "ix_interactions_contents",
    interactions.c.closed_at,
    sqlite_where=text("document IS NOT NULL AND closed_at IS NOT NULL"),
    postgresql_where=text("document IS NOT NULL AND closed_at IS NOT NULL"),
)

clarifications: Final = Table(
    "clarifications",
    metadata,
    Column("id", Text, primary_key=True),  # of the question that shows it too
    Column("interaction_id", Text, ForeignKey("interactions.id"), nullable=False),
    Column("key", Text, nullable=False),
    Column("event_id", _ID),
    Column("task", Text, nullable=False),
    Column("slot", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("plan_version", Integer, nullable=False),
    Column("question_message", Text),
    Column("answer_message", Text),
    Column("asked_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("document", LargeBinary),  # question, candidates, value: words, with a retention
    UniqueConstraint("interaction_id", "key"),
    sqlite_with_rowid=False,
)
Index(
    "ix_clarifications_open",
    clarifications.c.interaction_id,
    unique=True,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index("ix_clarifications_event_id", clarifications.c.event_id)
Index("ix_clarifications_answer_message", clarifications.c.answer_message)

continuations: Final = Table(  # rows of the inbox that continue an interaction
    "continuations",
    metadata,
    Column("event_id", _ID, ForeignKey("inbox.id"), primary_key=True, autoincrement=False),
    Column("interaction_id", Text, ForeignKey("interactions.id"), nullable=False),
    Column("plan_version", Integer, nullable=False),
    Column("document", LargeBinary),  # what was answered
)
Index("ix_continuations_interaction_id", continuations.c.interaction_id)

command_runs: Final = Table(  # of commands that agents run; nothing of what they were run on (CMD-5)
    "command_runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("event_id", _ID, nullable=False),
    Column("command", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),  # salted digest
    Column("state", Text, nullable=False),
    Column("codes", Text, nullable=False, server_default=text("''")),
    Column("started_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    sqlite_with_rowid=False,
)
Index(
    "ix_command_runs_open",
    command_runs.c.started_at,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index("ix_command_runs_closed_at", command_runs.c.closed_at)

command_slots: Final = Table(  # CMD-6: they end with the interaction of the request
    "command_slots",
    metadata,
    Column("event_id", _ID, primary_key=True, autoincrement=False),  # of the request with which it began
    Column("slot", Text, primary_key=True),
    Column("command", Text, nullable=False),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

approvals: Final = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("code", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("account", Text),  # account to thread: of the origin; of a draft where it is to be said
    Column("channel", Text),
    Column("thread", Text),
    Column("chat", Text),
    Column("person", Text),
    Column("requester", Text),
    Column("event_id", _ID),
    Column("obligation", Text),  # of a draft: its destination in full, one that is open for each (AUTO-6)
    Column("language", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("claim_key", Text, nullable=False, server_default=text("''")),
    Column("proposed_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("auto_at", BigInteger),
    Column("reminded_at", BigInteger),
    Column("escalated", Boolean, nullable=False, server_default=text("0")),
    Column("decided_at", BigInteger),
    Column("claimed_at", BigInteger),
    Column("closed_at", BigInteger),
    Column("document", LargeBinary),  # proposal, notes, what was replaced: words, with a retention
    UniqueConstraint("agent", "key"),
    sqlite_with_rowid=False,
)
Index(
    "ix_approvals_open",
    approvals.c.proposed_at,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index(
    "ix_approvals_code",
    approvals.c.code,
    unique=True,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index(
    "ix_approvals_obligation",
    approvals.c.obligation,
    unique=True,
    sqlite_where=text("closed_at IS NULL AND obligation IS NOT NULL"),
    postgresql_where=text("closed_at IS NULL AND obligation IS NOT NULL"),
)
Index("ix_approvals_version", approvals.c.agent, approvals.c.version)
Index(
    "ix_approvals_contents",
    approvals.c.closed_at,
    sqlite_where=text("document IS NOT NULL AND closed_at IS NOT NULL"),
    postgresql_where=text("document IS NOT NULL AND closed_at IS NOT NULL"),
)

approval_decisions: Final = Table(
    "approval_decisions",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False),
    Column("version", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("account", Text),
    Column("way", Text, nullable=False),
    Column("for_whom", Text, nullable=False, server_default=text("''")),
    Column("assurance", Text, nullable=False, server_default=text("'normal'")),
    Column("at", BigInteger, nullable=False),
    Column("words", Text),  # with a retention
    Column("proof", LargeBinary),
)
Index("ix_approval_decisions_approval_id", approval_decisions.c.approval_id)

approval_parts: Final = Table(  # the parts of the outbox that show an approval, or say the words of a draft
    "approval_parts",
    metadata,
    Column("part_id", _ID, ForeignKey("outbox.id"), primary_key=True, autoincrement=False),
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False),
    Column("role", Text, nullable=False),
    Column("version", Text, nullable=False),
)
Index("ix_approval_parts_approval_id", approval_parts.c.approval_id, approval_parts.c.role)

approval_files: Final = Table(  # of drafts
    "approval_files",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False),
    Column("version", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    PrimaryKeyConstraint("approval_id", "version", "number"),
)

passkeys: Final = Table(
    "passkeys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("sign_count", BigInteger, nullable=False),
    Column("label", Text, nullable=False),
    Column("added_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    sqlite_with_rowid=False,
)
Index("ix_passkeys_person", passkeys.c.person)

passkey_invites: Final = Table(
    "passkey_invites",
    metadata,
    Column("token", Text, primary_key=True),  # its digest
    Column("person", Text, nullable=False),
    Column("vouched", Integer, nullable=False),  # by the admin: it wants no passkey that is there already
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    sqlite_with_rowid=False,
)

grants: Final = Table(
    "grants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("issuer", Text, nullable=False),  # operator:ID or dispatcher:NAME
    Column("agent", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("purpose", Text, nullable=False),
    Column("issued_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("uses", Integer, nullable=False),
    Column("used", Integer, nullable=False, server_default=text("0")),
    Column("revoked_at", BigInteger),
    sqlite_with_rowid=False,
)
Index("ix_grants_agent", grants.c.agent, grants.c.expires_at)

deliveries: Final = Table(
    "deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("grant_id", Text),
    Column("account", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("thread", Text),
    Column("state", Text, nullable=False),
    Column("code", Text),  # why the latest one was muted
    Column("at", BigInteger),  # once; else:
    Column("cron", Text),
    Column("timezone", Text, nullable=False),
    Column("next_at", BigInteger),
    Column("fired", Integer, nullable=False, server_default=text("0")),
    Column("made_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("document", LargeBinary),  # the words, with a retention
    UniqueConstraint("agent", "key"),
    sqlite_with_rowid=False,
)
Index(
    "ix_deliveries_due",
    deliveries.c.next_at,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)

delivery_parts: Final = Table(
    "delivery_parts",
    metadata,
    Column("part_id", _ID, ForeignKey("outbox.id"), primary_key=True, autoincrement=False),
    Column("delivery_id", Text, ForeignKey("deliveries.id"), nullable=False),
)
Index("ix_delivery_parts_delivery_id", delivery_parts.c.delivery_id)

callbacks: Final = Table(
    "callbacks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),  # of an approval, a question or what another protocol calls them
    Column("url", Text, nullable=False),
    Column("scheme", Text, nullable=False),
    Column("secret", Text),  # of the agent's own; gone when it is closed, like the body
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", BigInteger),
    Column("made_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("body", LargeBinary),
    UniqueConstraint("kind", "subject"),
    sqlite_with_rowid=False,
)
Index(
    "ix_callbacks_open",
    callbacks.c.agent,
    callbacks.c.state,
    callbacks.c.next_at,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index("ix_callbacks_closed_at", callbacks.c.closed_at)

intents: Final = Table(  # of A2H: which message of an agent has become what
    "intents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("nonce", Text),
    Column("type", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("subject", Text),  # of a question, an approval or a delivery; none while it is being made
    Column("attempt", Integer, nullable=False),
    Column("ttl_s", Integer, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("document", LargeBinary),  # what was asked for, the ways that are left, the signed answer: with a retention
    UniqueConstraint("agent", "message"),
    UniqueConstraint("agent", "nonce"),
    sqlite_with_rowid=False,
)
Index(
    "ix_intents_open",
    intents.c.made_at,
    sqlite_where=text("closed_at IS NULL"),
    postgresql_where=text("closed_at IS NULL"),
)
Index("ix_intents_closed_at", intents.c.closed_at)

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
