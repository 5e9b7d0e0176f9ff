"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account", name=op.f("pk_accounts")),
    )
    op.create_table(
        "channel_moves",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("old", sa.Text(), nullable=False),
        sa.Column("new", sa.Text(), nullable=False),
        sa.Column("noted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account", "old", name=op.f("pk_channel_moves")),
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("batch", sa.Text(), nullable=True),
        sa.Column("carried_by", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("kept", sa.Boolean(), server_default=sa.text("1"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sa.UniqueConstraint("account", "key", name=op.f("uq_inbox_account_key")),
    )
    op.create_index(
        "ix_inbox_carried",
        "inbox",
        ["carried_by"],
        unique=False,
        sqlite_where=sa.text("carried_by IS NOT NULL"),
        postgresql_where=sa.text("carried_by IS NOT NULL"),
    )
    op.create_index(
        "ix_inbox_contents",
        "inbox",
        ["done_at"],
        unique=False,
        sqlite_where=sa.text("kept AND done_at IS NOT NULL"),
        postgresql_where=sa.text("kept AND done_at IS NOT NULL"),
    )
    op.create_index(
        "ix_inbox_unfinished",
        "inbox",
        ["account", "id"],
        unique=False,
        sqlite_where=sa.text("done_at IS NULL"),
        postgresql_where=sa.text("done_at IS NULL"),
    )
    op.create_table(
        "journal",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_journal")),
    )
    op.create_table(
        "meta",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.CheckConstraint("length(name) > 0", name=op.f("ck_meta_name")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_meta")),
    )
    op.create_table(
        "observations",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("sender", sa.Text(), nullable=True),
        sa.Column("said_at", sa.BigInteger(), nullable=False),
        sa.Column("keep_until", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_observations")),
    )
    op.create_index("ix_observations_channel", "observations", ["account", "channel", "thread"], unique=False)
    op.create_index("ix_observations_keep_until", "observations", ["keep_until"], unique=False)
    op.create_table(
        "receipts",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("part_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account", "channel", "message", name=op.f("pk_receipts")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "decisions",
        sa.Column(
            "event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("sender", sa.Text(), nullable=True),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("output_class", sa.Text(), nullable=False),
        sa.Column("stopped_at", sa.Text(), nullable=True),
        sa.Column("observe", sa.Boolean(), nullable=False),
        sa.Column("control", sa.Boolean(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["event_id"], ["inbox.id"], name=op.f("fk_decisions_event_id")),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_decisions")),
    )
    op.create_index(
        "ix_decisions_message",
        "decisions",
        ["account", "channel", "message"],
        unique=False,
        sqlite_where=sa.text("message IS NOT NULL"),
        postgresql_where=sa.text("message IS NOT NULL"),
    )
    op.create_table(
        "inbox_contents",
        sa.Column(
            "event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_inbox_contents")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("speech", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("unclear", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("not_before", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["event_id"], ["inbox.id"], name=op.f("fk_outbox_event_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    op.create_index(
        "ix_outbox_contents",
        "outbox",
        ["ended_at"],
        unique=False,
        sqlite_where=sa.text("payload IS NOT NULL AND ended_at IS NOT NULL"),
        postgresql_where=sa.text("payload IS NOT NULL AND ended_at IS NOT NULL"),
    )
    op.create_index(
        "ix_outbox_open",
        "outbox",
        ["account", "id"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "ix_outbox_unknown",
        "outbox",
        ["id"],
        unique=False,
        sqlite_where=sa.text("state = 'unknown'"),
        postgresql_where=sa.text("state = 'unknown'"),
    )
    op.create_table(
        "buttons",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("part_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("event_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["part_id"], ["outbox.id"], name=op.f("fk_buttons_part_id")),
        sa.PrimaryKeyConstraint("account", "token", name=op.f("pk_buttons")),
    )
    op.create_index("ix_buttons_made_at", "buttons", ["made_at"], unique=False)
    op.create_index("ix_buttons_part_id", "buttons", ["part_id"], unique=False)
    op.create_table(
        "outbox_files",
        sa.Column("part_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["part_id"], ["outbox.id"], name=op.f("fk_outbox_files_part_id")),
        sa.PrimaryKeyConstraint("part_id", "position", name=op.f("pk_outbox_files")),
    )
    if op.get_bind().dialect.name == "sqlite":
        for name, verb in (("journal_keeps_its_records", "UPDATE"), ("journal_loses_no_record", "DELETE")):
            op.execute(
                f"CREATE TRIGGER {name} BEFORE {verb} ON journal "
                "BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
            )
