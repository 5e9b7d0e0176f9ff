"""Approvals and drafts, passkeys of operators, grants and the deliveries that need them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("channel", sa.Text(), nullable=True),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("chat", sa.Text(), nullable=True),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("requester", sa.Text(), nullable=True),
        sa.Column("event_id", _ID, nullable=True),
        sa.Column("obligation", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("claim_key", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("proposed_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("auto_at", sa.BigInteger(), nullable=True),
        sa.Column("reminded_at", sa.BigInteger(), nullable=True),
        sa.Column("escalated", sa.Boolean(), server_default=sa.text("0"), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("agent", "key", name=op.f("uq_approvals_agent_key")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_approvals_code",
        "approvals",
        ["code"],
        unique=True,
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_index(
        "ix_approvals_contents",
        "approvals",
        ["closed_at"],
        unique=False,
        sqlite_where=sa.text("document IS NOT NULL AND closed_at IS NOT NULL"),
        postgresql_where=sa.text("document IS NOT NULL AND closed_at IS NOT NULL"),
    )
    op.create_index(
        "ix_approvals_obligation",
        "approvals",
        ["obligation"],
        unique=True,
        sqlite_where=sa.text("closed_at IS NULL AND obligation IS NOT NULL"),
        postgresql_where=sa.text("closed_at IS NULL AND obligation IS NOT NULL"),
    )
    op.create_index(
        "ix_approvals_open",
        "approvals",
        ["proposed_at"],
        unique=False,
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_index("ix_approvals_version", "approvals", ["agent", "version"], unique=False)
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("grant_id", sa.Text(), nullable=True),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=True),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("fired", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("agent", "key", name=op.f("uq_deliveries_agent_key")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_deliveries_due",
        "deliveries",
        ["next_at"],
        unique=False,
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("issued_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("used", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grants")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_grants_agent", "grants", ["agent", "expires_at"], unique=False)
    op.create_table(
        "passkey_invites",
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("vouched", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_passkey_invites")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "passkeys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("sign_count", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkeys")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_passkeys_person", "passkeys", ["person"], unique=False)
    op.create_table(
        "approval_decisions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("way", sa.Text(), nullable=False),
        sa.Column("for_whom", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("assurance", sa.Text(), server_default=sa.text("'normal'"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("words", sa.Text(), nullable=True),
        sa.Column("proof", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["approval_id"], ["approvals.id"], name=op.f("fk_approval_decisions_approval_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approval_decisions")),
    )
    op.create_index("ix_approval_decisions_approval_id", "approval_decisions", ["approval_id"], unique=False)
    op.create_table(
        "approval_files",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["approval_id"], ["approvals.id"], name=op.f("fk_approval_files_approval_id")),
        sa.PrimaryKeyConstraint("approval_id", "version", "number", name=op.f("pk_approval_files")),
    )
    op.create_table(
        "approval_parts",
        sa.Column("part_id", _ID, autoincrement=False, nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["part_id"], ["outbox.id"], name=op.f("fk_approval_parts_part_id")),
        sa.ForeignKeyConstraint(["approval_id"], ["approvals.id"], name=op.f("fk_approval_parts_approval_id")),
        sa.PrimaryKeyConstraint("part_id", name=op.f("pk_approval_parts")),
    )
    op.create_index("ix_approval_parts_approval_id", "approval_parts", ["approval_id", "role"], unique=False)
    op.create_table(
        "delivery_parts",
        sa.Column("part_id", _ID, autoincrement=False, nullable=False),
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["part_id"], ["outbox.id"], name=op.f("fk_delivery_parts_part_id")),
        sa.ForeignKeyConstraint(["delivery_id"], ["deliveries.id"], name=op.f("fk_delivery_parts_delivery_id")),
        sa.PrimaryKeyConstraint("part_id", name=op.f("pk_delivery_parts")),
    )
    op.create_index("ix_delivery_parts_delivery_id", "delivery_parts", ["delivery_id"], unique=False)
