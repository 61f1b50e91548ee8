"""The schema of a store: what it is called, its tables, and the migrations that lead to its last version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from solvent.extras import upgrade

__all__ = ["MissingStoreError", "Schema", "StoreError", "run_statements"]


class StoreError(ValueError):
    """The store can't be used, or refuses an operation. The message is one line: what, where, what is allowed."""


class MissingStoreError(StoreError):
    """There is no store, and the caller does not create one."""


@dataclass(frozen=True)
class Schema:
    """The schema of a kind of store.

    Attributes:
        holds: what the store holds, for messages.
        begin: the command that makes such a store, for messages.
        head: the last migration: the schema that this code reads and writes.
        version_table: table of the version. Not Alembic's default, so that the store can share a PostgreSQL database
            with other users of Alembic.
        migrations: folder of the migrations, ``package:path``.
        tables: names of the tables.
        application: SQLite application id of a file from before there were migrations. It has version 0001 and no table
            of it.
    """

    holds: str
    begin: str
    head: str
    version_table: str
    migrations: str
    tables: frozenset[str]
    application: int | None = None

    def version(self, connection: sa.Connection) -> str | None:
        """Return the version of the store in a database, or None if there is none."""
        if not sa.inspect(connection).has_table(self.version_table):
            return "0001" if self._is_marked(connection) else None
        version: str | None = connection.execute(
            sa.text(f"SELECT version_num FROM {self.version_table}")
        ).scalar()
        return version

    def begin_in(self, connection: sa.Connection, place: str, *, create: bool) -> None:
        """Raise StoreError unless a store may begin in a database that has no version of it."""
        there = set(sa.inspect(connection).get_table_names())
        # A SQLite file belongs to one program; a PostgreSQL database may be shared if no table name collides.
        foreign = sorted(there if connection.dialect.name == "sqlite" else there & self.tables)
        if foreign:
            raise StoreError(
                f"{place}: is no store of {self.holds}: it holds a table {foreign[0]!r} of something else"
            )
        if not create:
            raise MissingStoreError(
                f"{place}: holds no store yet; allowed: a store that is there, {self.begin} makes one"
            )

    def _is_marked(self, connection: sa.Connection) -> bool:
        if connection.dialect.name != "sqlite":
            return False
        return bool(connection.exec_driver_sql("PRAGMA application_id").scalar() == self.application)

    def upgrade(self, connection: sa.Connection, place: str, found: str | None) -> None:
        """Run the migrations that follow the version ``found``.

        Raises:
            StoreError: a newer version of Solvent wrote the store.
        """
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", "solvent.database:migrations")
        config.set_main_option("version_locations", self.migrations)
        config.set_main_option("path_separator", "newline")
        config.attributes["connection"] = connection
        config.attributes["version_table"] = self.version_table
        try:
            command.upgrade(config, self.head)
        except CommandError:
            raise StoreError(
                f"{place}: holds schema {found!r}, which a newer version of Solvent wrote; allowed: up to"
                f" {self.head!r} (`{upgrade()}` brings a newer one)"
            ) from None


def run_statements(connection: sa.Connection, migration: str) -> None:
    """Run the SQL file beside a migration's file: one for each database, statements separated by blank lines."""
    revision = Path(migration).name[: len("v0000")]
    path = Path(migration).with_name(f"{revision}_{connection.dialect.name}.sql")
    for statement in path.read_text(encoding="utf-8").strip().split("\n\n"):
        connection.exec_driver_sql(statement)
