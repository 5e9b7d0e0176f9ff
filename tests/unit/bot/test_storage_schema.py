"""The schema: the migrations lead to the tables, the tables of states to the diagrams."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

import bot.storage.migrations
from bot.model.errors import StoreError
from bot.ports.store import InboxState, OutboxState
from bot.storage import statements
from bot.storage.database import REVISION, connect, migrate, prepare
from bot.storage.migrations import upgrade
from bot.storage.schema import metadata
from bot.storage.states import INBOX, OUTBOX, mermaid, sources

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "store.sqlite"
    prepare(path).release()
    with closing(connect(path)) as connection:
        migrate(path, connection)
    return path


def objects(path):
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(kind, name): "".join(sql.split()) for kind, name, sql in rows if name != "alembic_version"}


def test_the_migrations_lead_to_exactly_the_tables_of_the_schema(path, tmp_path):
    made = tmp_path / "made.sqlite"
    engine = create_engine(f"sqlite:///{made}", poolclass=NullPool)
    metadata.create_all(engine)
    engine.dispose()
    assert objects(path) == objects(made)
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_the_newest_migration_is_the_one_that_the_program_wants():
    config = Config()
    config.set_main_option("script_location", str(Path(bot.storage.migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [REVISION]


def test_a_migration_that_fails_leaves_the_database_as_it_was(tmp_path):
    path = tmp_path / "store.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE outbox (a)")  # in the way, late
    before = objects(path)
    with pytest.raises(StoreError, match="can't be brought to this version"):
        upgrade(path, None)
    assert objects(path) == before


def test_a_second_opening_migrates_nothing(path):
    with closing(connect(path)) as connection:
        migrate(path, connection)
        assert connection.execute("SELECT count(*) FROM meta").fetchone() == (2,)


def test_hot_look_ups_use_their_indexes(path):
    with closing(connect(path)) as connection:
        for text, index in (
            (statements.ORIGINAL, "ix_decisions_message"),
            (statements.ROWS_OF_MESSAGE, "ix_decisions_message"),
            (statements.WROTE, "PRIMARY KEY"),
            (statements.TAPPED, "sqlite_autoindex_buttons_1"),
            (statements.OBSERVED, "ix_observations_channel"),
            (statements.UNFINISHED, "ix_inbox_unfinished"),
            (statements.WITHDRAWN_UNFINISHED, "ix_inbox_unfinished"),
            (statements.MEMBERS, "ix_inbox_carried"),
            (statements.READY, "ix_outbox_open"),
            (statements.SENDING, "ix_outbox_open"),
            (statements.LOAD_INBOX, "ix_inbox_unfinished"),
            (statements.LOAD_OUTBOX, "ix_outbox_open"),
            (statements.LOAD_UNKNOWN, "ix_outbox_unknown"),
            (statements.UNCLEAR, "ix_outbox_unknown"),
            (statements.SWEEP_INBOX, "ix_inbox_contents"),
            (statements.SWEEP_OUTBOX, "ix_outbox_contents"),
            (statements.SWEEP_OBSERVATIONS, "ix_observations_keep_until"),
            (statements.SWEEP_BUTTONS, "ix_buttons_made_at"),
        ):
            plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", [None] * text.count("?")).fetchall()
            assert index in str(plan), text


@pytest.mark.parametrize(("table", "states"), [(INBOX, InboxState), (OUTBOX, OutboxState)])
def test_every_state_stands_in_its_table(table, states):
    left = {state for state, _ in table}
    reached = {state for targets in table.values() for state in targets}
    assert left | reached == set(states)


def test_a_verb_leads_only_where_the_table_says():
    assert sources(OUTBOX, "begin", OutboxState.SENDING) == [OutboxState.READY]
    assert sources(OUTBOX, "begin", OutboxState.DELIVERED) == []


@pytest.mark.parametrize(("table", "first"), [(INBOX, InboxState.NEW), (OUTBOX, OutboxState.READY)])
def test_the_documentation_draws_the_tables_of_states(table, first):
    assert mermaid(table, first) in (ROOT / "docs" / "store.md").read_text()


def test_the_documentation_names_every_table():
    text = (ROOT / "docs" / "store.md").read_text()
    assert [name for name in metadata.tables if f"`{name}`" not in text] == []
