"""What adapters keep of an account, and the signs that stand for buttons where a platform has none."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "account_state",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("account", "name", name=op.f("pk_account_state")),
    )
    op.add_column("buttons", sa.Column("key", sa.Text(), nullable=False, server_default=sa.text("''")))
