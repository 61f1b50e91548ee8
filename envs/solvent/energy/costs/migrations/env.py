"""Alembic's environment: the connection comes from the store, which also holds the transaction."""

from __future__ import annotations

from alembic import context

from solvent.energy.costs.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=context.config.attributes["version_table"],
    transactional_ddl=True,  # SQLite's data definition is transactional too, once the driver lets it be
)
with context.begin_transaction():
    context.run_migrations()
