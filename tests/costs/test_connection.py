"""Opening a store: what can't be one is said in one line, and no password is ever part of it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from solvent import LabParams
from solvent.database import place_of, url_of
from solvent.energy.costs import CostStore, StoreError
from tests.databases import unprivileged


def refused(place: str | Path, *, create: bool = True) -> str:
    with pytest.raises(StoreError) as refusal:
        CostStore(place, create=create)
    said = str(refusal.value)
    assert "\n" not in said
    return said


def test_a_store_is_made_where_there_is_none_and_opened_again(new_place: Callable[[], str]) -> None:
    place = new_place()
    with CostStore(place) as store:
        assert store.prices() == store.proposals() == store.discomfort() == store.heartbeats() == []
        store.register_action("screen", 2.0)
    with CostStore(place, create=False) as store:
        assert [row.cost for row in store.prices()] == [2.0]


def test_a_store_that_is_only_looked_at_is_not_made(new_place: Callable[[], str]) -> None:
    place = new_place()
    assert "no store yet" in (said := refused(place, create=False)) or "no such store" in said
    if "://" not in place:
        assert not Path(place).exists()


def test_many_open_a_new_store_at_once(new_place: Callable[[], str]) -> None:
    place, barrier, failures = new_place(), threading.Barrier(4), []

    def open_it() -> None:
        barrier.wait()
        try:
            with CostStore(place) as store:
                store.register_verbs(LabParams())
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with CostStore(place) as store:
        assert len(store.prices()) == len({row.target_name for row in store.prices()}) > 5
    assert failures == []


def test_a_store_of_a_newer_schema_is_left_alone(new_place: Callable[[], str]) -> None:
    place = new_place()
    with CostStore(place) as store, store._engine.begin() as sql:
        table = "" if sql.dialect.name == "sqlite" else " ON solvent_costs_version"
        sql.exec_driver_sql(f"DROP TRIGGER refuse_version_update{table}")  # as a later migration would
        sql.exec_driver_sql("UPDATE solvent_costs_version SET version_num = '0999'")
    assert "schema '0999', which a newer version of Solvent wrote; allowed: up to '0003'" in refused(place)


@pytest.mark.parametrize("older", ["0001", "0002"])
def test_an_older_store_is_migrated_when_it_is_opened(
    new_place: Callable[[], str], older: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place()
    with monkeypatch.context() as patch:
        patch.setattr(CostStore, "schema", dataclasses.replace(CostStore.schema, head=older))
        with CostStore(place) as store:
            store.register_verbs(LabParams())
            proposal, moment = uuid.uuid4(), "2026-11-01 09:00:00+00:00"
            with store._engine.begin() as sql:  # as the code of that version would
                sql.exec_driver_sql(
                    "INSERT INTO energy_cost_proposals (id, target_type, target_name, current_cost, suggested_min,"
                    " suggested_max, direction, rationale, confidence, evidence, status, reviewed_at, reviewed_by,"
                    f" old_cost, new_cost, effective_at) VALUES ('{proposal.hex}', 'action', 'screen', 4, 1, 3,"
                    " 'decrease', 'because', 0.5, '[{\"source\": \"a\", \"summary\": \"b\"}]', 'approved',"
                    f" '{moment}', 'user', 4, 1.5, '{moment}')"
                )
                sql.exec_driver_sql(
                    "INSERT INTO energy_costs (target_type, target_name, revision, cost, floor, ceiling, category,"
                    f" effective_at, proposal_id) VALUES ('action', 'screen', 1, 1.5, 0, 13, 'action', '{moment}',"
                    f" '{proposal.hex}')"
                )
            before = [(row.target_name, row.revision, row.cost) for row in store.prices()]
    failures: list[Exception] = []

    def open_it() -> None:
        try:
            with CostStore(place, create=False) as store:
                assert [(row.target_name, row.revision, row.cost) for row in store.prices()] == before
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with CostStore(place) as store, store._engine.begin() as sql:
        found = sql.exec_driver_sql("SELECT version_num FROM solvent_costs_version").scalar()
    assert found == CostStore.schema.head == "0003"


@contextlib.contextmanager
def somebody_else() -> Iterator[None]:
    """Be a user without rights for a while."""
    if os.geteuid() != 0:
        pytest.skip("takes root, to be another user for a while")
    import pwd

    other = pwd.getpwnam(str(unprivileged())).pw_uid
    os.setresuid(other, other, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_reader_who_may_not_write_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "costs.db"
    with CostStore(place) as store:
        prices = store.register_verbs(LabParams())
    place.chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o777)
    with somebody_else(), CostStore(place, create=False) as store:
        assert len(store.prices()) == len(prices)
        with pytest.raises(StoreError, match="attempt to write a readonly database"):
            store.register_action("nap", 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["costs.db"]


def test_a_database_of_something_else_is_left_alone(new_place: Callable[[], str]) -> None:
    place = new_place()
    with CostStore(place) as store, store._engine.begin() as sql:
        sql.exec_driver_sql("DROP TABLE solvent_costs_version")
    assert "holds a table" in refused(place)


def test_files_that_are_no_store(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, though it ends like one\n" * 100)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    assert "file is not a database" in refused(tmp_path / "text.db")
    assert "'songs' of something else" in refused(tmp_path / "other.db")
    assert "no such folder" in refused(tmp_path / "nowhere" / "costs.db")
    assert "is a folder" in refused(tmp_path)
    assert "no such store" in refused(tmp_path / "none.db", create=False)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ada:s3cret@127.0.0.1:1/costs", "postgresql://ada:***@127.0.0.1:1/costs"),
        ("postgresql://ada@127.0.0.1:1/costs?password=s3cret", "postgresql://ada@127.0.0.1:1/costs: can't"),
        ("postgresql://ada:s3cret@127.0.0.1:s3cret/costs", "URL that can't be read"),
        ("mysql://ada:s3cret@127.0.0.1/costs", "'mysql'"),
        ("postgresql+asyncpg://ada:s3cret@127.0.0.1/costs", "'postgresql+asyncpg'"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("", "empty"),
    ],
)
def test_urls_that_lead_nowhere(url: str, said: str) -> None:
    message = refused(url)
    assert said in message
    assert "s3cret" not in message
    assert "sqlite:///PATH" in message or "allowed: a file" in message


def test_relative_paths_start_where_they_are_said_to(tmp_path: Path) -> None:
    for place in ("costs.db", "sqlite:///costs.db"):
        assert place_of(url_of(place, tmp_path)) == str(tmp_path / "costs.db")
    assert place_of(url_of(str(tmp_path / "a.db"), Path("/elsewhere"))) == str(tmp_path / "a.db")


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    odd = tmp_path / "50% of costs? (ünïcode) #1.db"
    with CostStore(odd) as store:
        store.register_action("screen", 2.0)
    assert odd.exists()
