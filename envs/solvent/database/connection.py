"""Open, migrate and lock the database of a store: a SQLite file by default, PostgreSQL by URL.

SQLite uses foreign keys and write-ahead logging (readers don't wait for a writer), and waits for locks. A writing
transaction takes the lock at its start, so no two transactions read first and then collide. Messages never contain a
password.
"""

from __future__ import annotations

import datetime
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from solvent.database.schema import MissingStoreError, Schema, StoreError

__all__ = ["Database", "file_of", "now", "place_of", "url_of"]

ALLOWED = "a path of a file, sqlite:///PATH, or postgresql://USER@HOST/DATABASE"
BUSY_SECONDS = 10
_LOCK = 0x50_1E_47  # key of the PostgreSQL advisory lock for migrations


class Database:
    """A database with the tables of ``schema``, migrated when it is opened, and its transactions.

    Arguments and errors are those of ``CostStore``.
    """

    schema: ClassVar[Schema]

    def __init__(self, place: str | os.PathLike[str], *, create: bool = True) -> None:
        url = url_of(place)
        self.place = place_of(url)
        self.name = Path(str(url.database)).name  # of the file or the server's database
        self._engine = _connect(url, self.schema, create=create)
        try:
            _migrate(self._engine, self.schema, create=create)
        except BaseException:
            self._engine.dispose()
            raise

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._translated("reading", StoreError), Session(self._engine) as session, session.begin():
            yield session
            session.expunge_all()

    @contextmanager
    def _writing(self, what: str, kind: type[StoreError] = StoreError) -> Iterator[Session]:
        engine = self._engine.execution_options(writes=True)
        with (
            self._translated(what, kind),
            Session(engine, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def _translated(self, what: str, kind: type[StoreError]) -> Iterator[None]:
        """Raise an error of the database as a ``StoreError`` of one line."""
        try:
            yield
        except DBAPIError as error:
            raise kind(f"{self.place}: {what}: {_said(error)}") from error
        except sa.exc.StatementError as error:  # a value that doesn't fit its column
            raise kind(f"{self.place}: {what}: {error.orig or error}") from error
        except UnicodeEncodeError as error:
            part = error.object[error.start : error.end]
            raise kind(f"{self.place}: {what}: got {part!r:.40}; allowed: text in Unicode") from error


def now(session: Session) -> datetime.datetime:
    """Return the time of the database's clock: this process's for SQLite, the server's for PostgreSQL."""
    connection = session.connection()
    if connection.dialect.name == "sqlite":
        return datetime.datetime.now(datetime.UTC)
    moment: datetime.datetime = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    return moment.astimezone(datetime.UTC)


def url_of(place: str | os.PathLike[str], folder: Path | None = None) -> URL:
    """Return the database URL of a path or URL. A relative path starts at ``folder``, by default the current one.

    Raises:
        StoreError: the URL can't be read, or names another kind of database.
    """
    text = os.fspath(place)
    if "://" not in text:
        if not text.strip():
            raise StoreError(f"store: got an empty text; allowed: {ALLOWED}")
        path = Path(text).expanduser()
        return URL.create("sqlite", database=str(folder / path if folder is not None else path))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # the message has the URL with the password
        raise StoreError(f"store: got a URL that can't be read; allowed: {ALLOWED}") from None
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        if url.database in (None, "", ":memory:"):
            raise StoreError("store: got a database in memory, which would be forgotten; allowed: a file")
        return url_of(str(url.database), folder)
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(f"store: got a URL of {url.drivername!r:.40}; allowed: {ALLOWED}")


def file_of(place: str | os.PathLike[str]) -> Path | None:
    """Return the SQLite file of a path or URL, or None for a server's database. Errors are those of ``url_of``."""
    url = url_of(place)
    return Path(str(url.database)) if url.drivername == "sqlite" else None


def place_of(url: URL) -> str:
    """Return the path, or the URL without its password, for messages."""
    if url.drivername == "sqlite":
        return str(url.database)
    bare = url.difference_update_query([key for key in url.query if "password" in key.lower()])
    return bare.set(drivername="postgresql").render_as_string(hide_password=True)


def _said(error: BaseException) -> str:
    text = str(error.orig) if isinstance(error, DBAPIError) and error.orig is not None else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _connect(url: URL, schema: Schema, *, create: bool) -> sa.Engine:
    if url.drivername != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": BUSY_SECONDS})
    path = Path(str(url.database))
    if not path.parent.is_dir():
        raise StoreError(f"{path}: no such folder as {path.parent}; allowed: a file in a folder that exists")
    if path.is_dir():
        raise StoreError(f"{path}: is a folder; allowed: {ALLOWED}")
    if not create and not path.exists():
        raise MissingStoreError(
            f"{path}: no such store; allowed: a store that is there, {schema.begin} makes one"
        )
    # The driver's own transactions exclude data definition and take the lock late.
    arguments: dict[str, Any] = {"isolation_level": None, "timeout": BUSY_SECONDS}
    options: dict[str, Any] = {"connect_args": arguments}
    if _only_readable(path):
        unchanging = f"{path.absolute().as_uri()}?immutable=1"
        options = {
            "creator": lambda: sqlite3.connect(unchanging, uri=True, check_same_thread=False, **arguments)
        }
    engine = sa.create_engine(url, poolclass=NullPool, **options)
    sa.event.listen(engine, "connect", _set_up)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _only_readable(path: Path) -> bool:
    """Return whether this user can't write to the file and nobody has it open.

    An ordinary connection would leave a log and its index beside it, which this user can't remove and which may keep
    the file's owner from writing. Known approximation: an owner who begins to write meanwhile is not noticed.
    """
    in_use = path.with_name(f"{path.name}-wal").exists()
    return path.exists() and not os.access(path, os.W_OK) and not in_use


def _set_up(connection: Any, _record: Any) -> None:
    for setting in (f"busy_timeout={BUSY_SECONDS * 1000}", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}").close()
    # The mode belongs to the file. If the file is locked, SQLite doesn't wait; the next connection sets the mode.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=WAL").close()


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(engine: sa.Engine, schema: Schema, *, create: bool) -> None:
    place = place_of(engine.url)
    try:
        with engine.connect() as connection:
            if schema.version(connection) == schema.head:
                return
        with engine.execution_options(writes=True).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            found = schema.version(connection)
            if found == schema.head:  # another process was faster
                return
            if found is None:
                schema.begin_in(connection, place, create=create)
            schema.upgrade(connection, place, found)
    except (SQLAlchemyError, OSError) as error:
        raise StoreError(f"{place}: can't be used as a store ({_said(error)}); allowed: {ALLOWED}") from None
