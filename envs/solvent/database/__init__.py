"""A store: a database with versions, in a SQLite file or on a PostgreSQL server (extra ``store``).

``CostStore`` and ``VerdictStore`` are stores. ``connection`` opens, migrates and locks their databases. ``schema`` says
what a store's tables are called and brings an older version up to date.
"""

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ImportError as error:
    from solvent.extras import install

    raise ImportError(f"a store needs SQLAlchemy: {install('store')}") from error

from solvent.database.connection import Database, file_of, now, place_of, url_of
from solvent.database.schema import MissingStoreError, Schema, StoreError, run_statements

__all__ = [
    "Database",
    "MissingStoreError",
    "Schema",
    "StoreError",
    "file_of",
    "now",
    "place_of",
    "run_statements",
    "url_of",
]
