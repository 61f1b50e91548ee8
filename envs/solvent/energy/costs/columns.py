"""Column types and SQL fragments that differ between SQLite and PostgreSQL.

PostgreSQL has the source's types (UUID, JSONB, INT[], UUID[], TEXT[], TIMESTAMPTZ). SQLite stores UUIDs as 32
hexadecimal digits, arrays and JSON as JSON, and times as text in UTC.
"""

from __future__ import annotations

import datetime
import math
import uuid
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles

__all__ = ["INTS", "JSON", "NEW_UUID", "NOW", "TEXTS", "UUIDS", "BySql", "Number", "UtcDateTime"]

JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
INTS = sa.JSON(none_as_null=True).with_variant(postgresql.ARRAY(sa.Integer()), "postgresql")
TEXTS = sa.JSON(none_as_null=True).with_variant(postgresql.ARRAY(sa.Text()), "postgresql")


class Number(sa.TypeDecorator[float]):
    """A number. NaN is refused, which SQLite would store as NULL."""

    impl = sa.Float
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: sa.Dialect) -> float | None:  # noqa: ARG002
        """Return the number."""
        if value is not None and math.isnan(value):
            raise ValueError("got nan; allowed: a number")
        return value


class UtcDateTime(sa.TypeDecorator[datetime.datetime]):
    """A moment in UTC. SQLite has no time zones, so its column holds the UTC time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self, value: datetime.datetime | None, dialect: sa.Dialect
    ) -> datetime.datetime | None:
        """Convert the time to UTC; a time without a zone is an error."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"got {value.isoformat()} without a zone; allowed: a time with one")
        moment = value.astimezone(datetime.UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(
        self,
        value: datetime.datetime | None,
        dialect: sa.Dialect,  # noqa: ARG002
    ) -> datetime.datetime | None:
        """Return the moment in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)


class UuidTexts(sa.TypeDecorator[list[uuid.UUID]]):
    """UUIDs as a JSON list of strings."""

    impl = sa.JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: list[uuid.UUID] | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002
        """Convert the UUIDs to strings."""
        return None if value is None else [str(item) for item in value]

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> list[uuid.UUID] | None:  # noqa: ARG002
        """Convert the strings to UUIDs."""
        return None if value is None else [uuid.UUID(item) for item in value]


UUIDS = UuidTexts().with_variant(postgresql.ARRAY(sa.Uuid()), "postgresql")


class BySql(sa.ColumnElement[Any]):
    """A default or condition with separate SQL for each database."""

    def __init__(self, *, sqlite: str, postgresql: str) -> None:
        self.texts = {"sqlite": sqlite, "postgresql": postgresql}


@compiles(BySql)
def _text(element: BySql, compiler: sa.Compiled, **_: Any) -> str:
    return element.texts[compiler.dialect.name]


NEW_UUID = BySql(
    sqlite="lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2)"
    " || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(8)), 2))",
    postgresql="gen_random_uuid()",
)
NOW = BySql(sqlite="strftime('%Y-%m-%d %H:%M:%f000', 'now')", postgresql="now()")
