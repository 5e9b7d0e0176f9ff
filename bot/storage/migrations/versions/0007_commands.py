"""Runs of commands, and the slots in which they keep objects."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OPEN = sa.text("closed_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "command_runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("event_id", _ID, nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("codes", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_command_runs")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_command_runs_open",
        "command_runs",
        ["started_at"],
        unique=False,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )
    op.create_index("ix_command_runs_closed_at", "command_runs", ["closed_at"], unique=False)
    op.create_table(
        "command_slots",
        sa.Column("event_id", _ID, autoincrement=False, nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("event_id", "slot", name=op.f("pk_command_slots")),
        sqlite_with_rowid=False,
    )
