"""Interactions, their clarifications, and the runs that continue them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OPEN = sa.text("closed_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "interactions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("asker", sa.Text(), nullable=True),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("event_id", _ID, nullable=False),
        sa.Column("root_message", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("plan_version", sa.Integer(), nullable=False),
        sa.Column("workspace_generation", sa.BigInteger(), nullable=True),
        sa.Column("workspace_snapshot_sha256", sa.Text(), nullable=True),
        sa.Column("documentation_version", sa.Text(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_interactions")),
        sa.UniqueConstraint("agent", "key", name=op.f("uq_interactions_agent_key")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_interactions_active",
        "interactions",
        ["conversation"],
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )
    op.create_index(
        "ix_interactions_contents",
        "interactions",
        ["closed_at"],
        unique=False,
        sqlite_where=sa.text("document IS NOT NULL AND closed_at IS NOT NULL"),
        postgresql_where=sa.text("document IS NOT NULL AND closed_at IS NOT NULL"),
    )
    op.create_table(
        "clarifications",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("interaction_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("event_id", _ID, nullable=True),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("plan_version", sa.Integer(), nullable=False),
        sa.Column("question_message", sa.Text(), nullable=True),
        sa.Column("answer_message", sa.Text(), nullable=True),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clarifications")),
        sa.UniqueConstraint("interaction_id", "key", name=op.f("uq_clarifications_interaction_id_key")),
        sa.ForeignKeyConstraint(["interaction_id"], ["interactions.id"], name=op.f("fk_clarifications_interaction_id")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_clarifications_open",
        "clarifications",
        ["interaction_id"],
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )
    op.create_index("ix_clarifications_event_id", "clarifications", ["event_id"], unique=False)
    op.create_index("ix_clarifications_answer_message", "clarifications", ["answer_message"], unique=False)
    op.create_table(
        "continuations",
        sa.Column("event_id", _ID, autoincrement=False, nullable=False),
        sa.Column("interaction_id", sa.Text(), nullable=False),
        sa.Column("plan_version", sa.Integer(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["event_id"], ["inbox.id"], name=op.f("fk_continuations_event_id")),
        sa.ForeignKeyConstraint(["interaction_id"], ["interactions.id"], name=op.f("fk_continuations_interaction_id")),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_continuations")),
    )
    op.create_index("ix_continuations_interaction_id", "continuations", ["interaction_id"], unique=False)
