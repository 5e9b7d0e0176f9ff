"""Questions to people, and the parts of the outbox that show them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "questions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("asker", sa.Text(), nullable=True),
        sa.Column("event_id", _ID, nullable=True),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("important", sa.Boolean(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("answered_by", sa.Text(), nullable=True),
        sa.Column("way", sa.Text(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_questions")),
        sa.UniqueConstraint("agent", "key", name=op.f("uq_questions_agent_key")),
        sa.UniqueConstraint("token", name=op.f("uq_questions_token")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_questions_pending",
        "questions",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_index(
        "ix_questions_contents",
        "questions",
        ["closed_at"],
        unique=False,
        sqlite_where=sa.text("document IS NOT NULL AND closed_at IS NOT NULL"),
        postgresql_where=sa.text("document IS NOT NULL AND closed_at IS NOT NULL"),
    )
    op.create_table(
        "question_parts",
        sa.Column("part_id", _ID, autoincrement=False, nullable=False),
        sa.Column("question_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["part_id"], ["outbox.id"], name=op.f("fk_question_parts_part_id")),
        sa.ForeignKeyConstraint(["question_id"], ["questions.id"], name=op.f("fk_question_parts_question_id")),
        sa.PrimaryKeyConstraint("part_id", name=op.f("pk_question_parts")),
    )
    op.create_index("ix_question_parts_question_id", "question_parts", ["question_id"], unique=False)
