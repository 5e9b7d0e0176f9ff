"""Migrations of the schema; they are only ever added to."""

import sqlite3
from pathlib import Path

from bot.model.errors import StoreError
from bot.storage.failures import explain


def upgrade(path: Path, found: str | None) -> None:
    """Bring a database to the newest schema, in one transaction.

    Args:
        path: of the database.
        found: its revision, None if it is empty.

    Raises:
        StoreError: its revision is not known here, or it can't be done; then nothing was.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import NullPool

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    if found is not None:
        try:
            ScriptDirectory.from_config(config).get_revision(found)
        except CommandError:
            raise StoreError(
                f"the store {path} has schema {found}, which this discreet does not know "
                "(a newer one has used it: install that, or restore the backup from before)",
            ) from None

    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(path, isolation_level=None, timeout=30),
        poolclass=NullPool,
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except DBAPIError as error:
        reason = explain(error.orig) if isinstance(error.orig, sqlite3.Error) else error
        raise StoreError(f"the store {path} can't be brought to this version's schema: {reason}") from None
    finally:
        engine.dispose()
