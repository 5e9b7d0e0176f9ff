"""Interactions of A2H, and private chats found by their people."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_decisions_direct",
        "decisions",
        ["sender", "account", "channel"],
        sqlite_where=sa.text("chat = 'direct' AND sender IS NOT NULL"),
        postgresql_where=sa.text("chat = 'direct' AND sender IS NOT NULL"),
    )
    op.create_table(
        "intents",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("ttl_s", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intents")),
        sa.UniqueConstraint("agent", "message", name=op.f("uq_intents_agent_message")),
        sa.UniqueConstraint("agent", "nonce", name=op.f("uq_intents_agent_nonce")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_intents_open",
        "intents",
        ["made_at"],
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_index("ix_intents_closed_at", "intents", ["closed_at"])
