"""Alembic's environment. The connection and its transaction come from the store."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    transactional_ddl=True,  # true of SQLite too, without the driver's own transactions
)
with context.begin_transaction():
    context.run_migrations()
