"""The tables are the source's, column by column; the migrations make what the models say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from solvent.database import Database, url_of
from solvent.energy.costs import CostStore
from solvent.energy.costs.models import Base
from solvent.extras import install
from solvent.gate.store import VerdictStore
from tests.commands import execute_python

# Name, type on PostgreSQL, whether it may be empty, default. Word for word the document's.
PROPOSALS = """
    id UUID NOT NULL DEFAULT gen_random_uuid()
    target_type TEXT NOT NULL
    target_name TEXT NOT NULL
    current_cost FLOAT NOT NULL
    suggested_min FLOAT NOT NULL
    suggested_max FLOAT NOT NULL
    direction TEXT NOT NULL
    rationale TEXT NOT NULL
    confidence FLOAT NOT NULL
    evidence JSONB NOT NULL DEFAULT '[]'
    heartbeat_refs INT[]
    memory_refs UUID[]
    status TEXT NOT NULL DEFAULT 'pending'
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
    reviewed_at TIMESTAMPTZ
    reviewed_by TEXT
    review_notes TEXT
    old_cost FLOAT
    new_cost FLOAT
    effective_at TIMESTAMPTZ
"""
DISCOMFORT = """
    id UUID NOT NULL DEFAULT gen_random_uuid()
    heartbeat_number INT NOT NULL
    action_considered TEXT NOT NULL
    estimated_value FLOAT
    energy_cost FLOAT NOT NULL
    energy_available FLOAT NOT NULL
    deferral_reason TEXT NOT NULL
    agent_notes TEXT
    similar_deferrals_recent INT DEFAULT 0
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
"""
TOOLS = """
    energy_cost FLOAT DEFAULT 2.0
    energy_cost_category TEXT
    energy_cost_factors JSONB
    energy_cost_floor FLOAT
    allowed_contexts TEXT[] DEFAULT ARRAY['chat']
"""
DOCUMENT = {"energy_cost_proposals": PROPOSALS, "cost_discomfort_log": DISCOMFORT, "mcp_tools": TOOLS}
INDEXES = {
    "idx_proposals_status": ("energy_cost_proposals", ["status"]),
    "idx_proposals_target": ("energy_cost_proposals", ["target_type", "target_name"]),
    "idx_discomfort_action": ("cost_discomfort_log", ["action_considered"]),
    "idx_discomfort_heartbeat": ("cost_discomfort_log", ["heartbeat_number"]),
}
NATIVE = {
    "UUID": "UUID",
    "TEXT": "TEXT",
    "FLOAT": "DOUBLE PRECISION",
    "INT": "INTEGER",
    "INT[]": "INTEGER[]",
    "UUID[]": "UUID[]",
    "TEXT[]": "TEXT[]",
    "JSONB": "JSONB",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
}
IN_SQLITE = {
    **dict.fromkeys(("INT[]", "UUID[]", "TEXT[]", "JSONB"), "JSON"),
    "UUID": "CHAR(32)",
    "TEXT": "TEXT",
    "FLOAT": "FLOAT",
    "INT": "INTEGER",
    "TIMESTAMPTZ": "DATETIME",
}


@pytest.fixture
def engine(place: str, store: CostStore) -> Iterator[sa.Engine]:
    made = sa.create_engine(url_of(place), poolclass=sa.NullPool)
    yield made
    made.dispose()


def written(default: str | None) -> str:
    """A default as the document writes it: PostgreSQL adds casts and brackets of its own."""
    return re.sub(r"::\w+|[()\[\]]", "", str(default)).lower()


@pytest.mark.parametrize("table", DOCUMENT)
def test_columns_are_the_documents(engine: sa.Engine, database: str, table: str) -> None:
    types = NATIVE if database == "postgresql" else IN_SQLITE
    found = {column["name"]: column for column in sa.inspect(engine).get_columns(table)}
    lines = [line.strip() for line in DOCUMENT[table].strip().splitlines()]
    for line in lines:
        name, _, rest = line.partition(" ")
        kind, _, rest = rest.partition(" ")
        column = found[name]
        assert column["type"].compile(engine.dialect).upper() == types[kind], line
        assert column["nullable"] == ("NOT NULL" not in rest), line
        _, has_default, default = rest.partition("DEFAULT ")
        assert (column["default"] is not None) == bool(has_default), line
        if has_default and database == "postgresql":
            assert written(column["default"]) == written(default), line
    if table != "mcp_tools":  # of which the document has the energy columns only
        assert list(found) == [line.split()[0] for line in lines]


@pytest.mark.parametrize("name", INDEXES)
def test_indexes_are_the_documents(engine: sa.Engine, name: str) -> None:
    table, columns = INDEXES[name]
    found = {index["name"]: index["column_names"] for index in sa.inspect(engine).get_indexes(table)}
    assert found[name] == columns


def test_the_migrations_make_what_the_models_say(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": CostStore.schema.version_table}
        )
        assert compare_metadata(context, Base.metadata) == []


@pytest.mark.parametrize("store", [CostStore, VerdictStore])
def test_the_last_migration_is_the_schema_of_this_code(store: type[Database]) -> None:
    config = Config()
    config.set_main_option("script_location", "solvent.database:migrations")
    config.set_main_option("version_locations", store.schema.migrations)
    config.set_main_option("path_separator", "newline")
    assert ScriptDirectory.from_config(config).get_current_head() == store.schema.head


def test_sqlite_is_set_up_for_several_processes(tmp_path: Any) -> None:
    with CostStore(tmp_path / "costs.db") as store, store._engine.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "busy_timeout")
        }
    assert settings == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 10_000}


def test_the_environment_and_the_command_line_load_without_a_database() -> None:
    modules = ("solvent", "solvent_experiments.cli", "solvent_experiments.config")
    drivers = {"sqlalchemy", "alembic", "psycopg"}
    execute_python(f"import sys, {', '.join(modules)}; assert not {drivers} & set(sys.modules)").succeeded()


def test_an_install_without_the_extra_says_what_is_missing() -> None:
    ended = execute_python("import sys; sys.modules['sqlalchemy'] = None; import solvent.energy.costs")
    assert install("store") in ended.err.splitlines()[-1]
