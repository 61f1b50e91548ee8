"""A store of costs on each database."""

from __future__ import annotations

import contextlib
import datetime
import functools
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from solvent import LabParams
from solvent.energy import CATEGORIES, ToolEnergy
from solvent.energy.costs import CostDiscomfort, CostStore, EnergyCostProposal, Reflection, prices
from solvent.energy.costs import store as store_module
from solvent.energy.costs.models import Base
from tests.databases import Server


@pytest.fixture(scope="session")
def migrated(server: Server) -> str:
    """A migrated database, for one test after the other."""
    url = server.new_database()
    with CostStore(url):
        return url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "costs.db"
    with CostStore(path):
        return path


@pytest.fixture
def place(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Where an empty store is."""
    if database == "sqlite":
        return str(shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "costs.db"))
    return str(
        request.getfixturevalue("server").emptied(request.getfixturevalue("migrated"), Base.metadata.tables)
    )


@pytest.fixture
def store(place: str) -> Iterator[CostStore]:
    """A store with the prices of the lab's verbs."""
    with CostStore(place) as opened:
        opened.register_verbs(LabParams())
        yield opened


class Raw:
    """SQL from outside of the store: every connection on its own, as another program's would be."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.sqlite = "://" not in place

    def all(self, *statements: str) -> list[list[tuple[Any, ...]]]:
        """Run statements in one transaction; returns the rows of each."""
        connection: Any = sqlite3.connect(self.place) if self.sqlite else psycopg.connect(self.place)
        if self.sqlite:
            connection.execute("PRAGMA foreign_keys=ON")
        with contextlib.closing(connection), connection:
            cursors = [connection.execute(statement) for statement in statements]
            return [list(cursor.fetchall()) if cursor.description else [] for cursor in cursors]

    def __call__(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; returns the rows of the last."""
        return self.all(*statements)[-1]

    def refused(self, statement: str, *said: str) -> None:
        """The database refuses, with one of these messages if any are given, and nothing has changed."""
        before = self.everything()
        # A rule refused: nothing that is merely wrong SQL counts.
        with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)) as refusal:
            self(statement)
        assert not said or any(text in str(refusal.value) for text in said), refusal.value
        assert self.everything() == before

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        tables = tuple(Base.metadata.tables)
        rows = self.all(*(f"SELECT * FROM {table}" for table in tables))
        return {table: sorted(found, key=repr) for table, found in zip(tables, rows, strict=True)}

    def now(self, seconds: float = 0.0) -> str:
        """A moment, as a literal."""
        moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
        return f"'{moment:%Y-%m-%d %H:%M:%S.%f}'" if self.sqlite else f"'{moment.isoformat()}'"

    def insert(self, table: str, *, how: str = "INSERT", **values: Any) -> str:
        """An INSERT statement; a text that begins with a bracket or is a number stays as it is."""

        def literal(value: Any) -> str:
            if value is None:
                return "NULL"
            if isinstance(value, uuid.UUID):
                return f"'{value.hex}'"
            return repr(value) if isinstance(value, int | float) else f"'{str(value).strip(chr(39))}'"

        return f"{how} INTO {table} ({', '.join(values)}) VALUES ({', '.join(map(literal, values.values()))})"


class Clock:
    """The database's clock, set back by sixty days and slow: the store refuses two approvals a day."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.moment = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=60)

    def __call__(self, _session: Any) -> datetime.datetime:
        self.pass_(milliseconds=1)
        return self.moment

    def pass_(self, **time: float) -> None:
        self.moment += datetime.timedelta(**time)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (prices, store_module):
        monkeypatch.setattr(module, "now", clock)
    return clock


@pytest.fixture
def raw(place: str, store: CostStore) -> Raw:
    return Raw(place)


def file_cheaper(store: CostStore, target: str = "screen", **changes: Any) -> EnergyCostProposal:
    """A proposal that would make ``target``, by default a screen of 4, cheaper."""
    kind = "mcp_tool" if ":" in target else "action"
    arguments: dict[str, Any] = {
        "target_type": kind,
        "target_name": target,
        "suggested_min": 2.0,
        "suggested_max": 3.0,
        "direction": "decrease",
        "rationale": "repeated avoidance despite high benefit",
        "confidence": 0.6,
        "evidence": [{"source": "heartbeat_102", "summary": "deferred, energy cited"}],
        "heartbeat_refs": [102, 109],
        "memory_refs": [uuid.UUID(int=7)],
    }
    if "current_cost" not in changes:
        arguments["current_cost"] = store.price(kind, target).cost
    reflection = Reflection(episode="ada", heartbeat_number=110, agent_notes="I keep putting it off")
    return store.file_proposal(EnergyCostProposal(**{**arguments, **changes}), reflection)


def discomfort(**changes: Any) -> CostDiscomfort:
    """A screen of 4 that 1 unit of energy doesn't pay for."""
    deferred: dict[str, Any] = {
        "heartbeat_number": 3,
        "action_considered": "screen",
        "energy_cost": 4.0,
        "energy_available": 1.0,
        "deferral_reason": "insufficient_energy",
    }
    return CostDiscomfort(**{**deferred, **changes})


@pytest.fixture
def deferred() -> Callable[..., CostDiscomfort]:
    return discomfort


@pytest.fixture
def argue() -> Callable[..., EnergyCostProposal]:
    return file_cheaper


@pytest.fixture
def priced() -> Callable[[str, float, str], ToolEnergy]:
    """Makes tools of a cost and category."""

    def make(name: str, cost: float, category: str) -> ToolEnergy:
        line = CATEGORIES[category]
        return ToolEnergy(name, category, cost, line.floor, {"base": cost}, line.contexts)

    return make


@pytest.fixture
def file_one(store: CostStore) -> Callable[..., EnergyCostProposal]:
    return functools.partial(file_cheaper, store)
