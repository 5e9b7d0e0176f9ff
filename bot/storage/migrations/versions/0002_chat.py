"""The built-in chat: its messages, invites and sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "chat_messages",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("desk", sa.Text(), nullable=False),
        sa.Column("room", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("came_at", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chat_messages")),
        sa.UniqueConstraint("desk", "room", "message", name=op.f("uq_chat_messages_desk_room_message")),
    )
    op.create_index("ix_chat_messages_seq", "chat_messages", ["desk", "seq"], unique=True)
    op.create_index("ix_chat_messages_room_seq", "chat_messages", ["desk", "room", "seq"], unique=False)
    op.create_index("ix_chat_messages_position", "chat_messages", ["desk", "room", "position"], unique=True)
    op.create_index(
        "ix_chat_messages_contents",
        "chat_messages",
        ["desk", "came_at"],
        unique=False,
        sqlite_where=sa.text("document IS NOT NULL"),
        postgresql_where=sa.text("document IS NOT NULL"),
    )
    for name in ("chat_invites", "chat_sessions"):
        op.create_table(
            name,
            sa.Column("desk", sa.Text(), nullable=False),
            sa.Column("digest", sa.Text(), nullable=False),
            sa.Column("person", sa.Text(), nullable=False),
            sa.Column("expires_at", sa.BigInteger(), nullable=False),
            sa.PrimaryKeyConstraint("desk", "digest", name=op.f(f"pk_{name}")),
        )
