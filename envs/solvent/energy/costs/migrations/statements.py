"""SQL of a migration: a file for each database, statements separated by blank lines."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

__all__ = ["run_statements"]


def run_statements(connection: sa.Connection, revision: str) -> None:
    """Run ``versions/v<revision>_<database>.sql``."""
    path = Path(__file__).with_name("versions") / f"v{revision}_{connection.dialect.name}.sql"
    for statement in path.read_text(encoding="utf-8").strip().split("\n\n"):
        connection.exec_driver_sql(statement)
