"""The store of verdicts: what is kept, who decides, and two who decide at once."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
import sqlite3
import threading
import time
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from solvent.database import MissingStoreError, StoreError
from solvent.energy.costs import CostStore
from solvent.gate.datasets import Sample
from solvent.gate.errors import GateError
from solvent.gate.judging import judge, policy_named
from solvent.gate.policy import FIXED, Policy
from solvent.gate.store import DecidedError, VerdictStore
from tests.commands import call, execute_python

EVIDENCE = ("the old lamp was built near the museum", "every lamp needs repair")
CLAIMS = {
    "same": "the old lamp was built near the museum",
    "other": "seven violins play in winter gardens",
    "near": "the old lamp was built near the harbour wall",
}


@pytest.fixture(scope="module")
def judged(words):
    """One claim accepted, one rejected, one under review."""
    samples = [Sample(name, claim, EVIDENCE, None, "g", ("lamps",)) for name, claim in CLAIMS.items()]
    energies = {row.name: row.compared for row in judge(samples, words, FIXED["standard"], domain="lamps")}
    tau = energies["near"] - 0.01
    policy = Policy.learnt("P10", tau, domain="lamps", model="words", model_fingerprint=words.fingerprint)
    return judge(samples, words, policy, domain="lamps")


@pytest.fixture
def store(judged, new_place):
    with VerdictStore(new_place(), create=True) as opened:
        opened.record(judged)
        yield opened


def directly(store, statement):
    """Run SQL from outside of the store, as another program would."""
    with contextlib.closing(
        psycopg.connect(store.place) if "://" in store.place else sqlite3.connect(store.place)
    ) as connection:
        rows = connection.execute(statement)
        found = rows.fetchall() if rows.description else []
        connection.commit()
        return found


def test_a_verdict_comes_back_as_it_was(judged, store):
    assert [row.verdict for row in judged] == ["accept", "reject", "review"]
    kept = store.verdicts()
    assert [dataclasses.replace(row, number=0) for row in kept] == judged
    assert [row.number for row in kept] == [1, 2, 3]
    assert [row.name for row in store.waiting()] == ["near"]
    assert store.counts() == {"accept": 1, "reject": 1, "review": 1}
    assert store.verdicts(limit=1, after=1) == [kept[1]]


def test_a_decision_names_person_reason_and_time_and_is_final(judged, store):
    (waits,) = store.waiting()
    decided = store.decide(waits.id[:6], "decline", who="Ann", why="no harbour in the page")
    assert decided.outcome == "decline"
    assert decided.decision is not None
    assert (decided.decision.who, decided.decision.why) == ("Ann", "no harbour in the page")
    assert decided.decision.decided_at >= waits.judged_at
    with pytest.raises(DecidedError, match="decline by Ann") as caught:
        store.decide(waits.id, "accept", who="Bob", why="it is")
    assert caught.value.decision == decided.decision
    assert store.waiting() == []
    assert store.decided() == [decided]
    # The same claim judged again keeps its decision, and no second review waits.
    assert store.record(judged)[2].decision == decided.decision
    assert len(store.verdicts()) == 3
    for change in ("UPDATE decisions SET choice = 'accept'", "DELETE FROM decisions"):
        with pytest.raises((sqlite3.Error, psycopg.Error), match="a decision stands"):
            directly(store, change)
    values = f"('{judged[0].id}', 'accept', 'Bob', 'it is', 'today')"
    with pytest.raises((sqlite3.Error, psycopg.Error), match="only a review is decided"):
        directly(store, f"INSERT INTO decisions VALUES {values}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"choice": "maybe"}, "decision: got 'maybe'; allowed: accept, decline"),
        ({"who": " "}, "who: got ' '"),
        ({"why": ""}, "why: got ''"),
        ({"why": "x" * 3000}, "why: got"),
        ({"key": "zzz"}, "no such id"),
        ({"key": "%"}, "no such id"),
        ({"key": ""}, "more than one id|no such id"),
        ({"key": "accepted"}, "the verdict is accept; allowed: a review"),
    ],
)
def test_a_wrong_decision_is_one_line(arguments, said, store):
    key = {row.outcome: row.id for row in store.verdicts()}
    given = {"key": key["review"], "choice": "accept", "who": "Ann", "why": "yes"} | arguments
    given["key"] = key["accept"] if given["key"] == "accepted" else given["key"]
    with pytest.raises(GateError, match=said) as caught:
        store.decide(**given)
    assert "\n" not in str(caught.value)
    assert len(store.waiting()) == 1


def test_many_who_decide_at_once_make_one_decision(store, monkeypatch):
    """Each takes its time between reading the review and writing the decision."""

    def slow():
        time.sleep(0.1)
        return "2026-11-24T12:00:00+00:00"

    monkeypatch.setattr("solvent.gate.store.now", slow)
    (waits,) = store.waiting()
    made, refused, ready = [], [], threading.Barrier(20)

    def decide(who):
        with VerdictStore(store.place) as own:
            ready.wait()
            try:
                made.append(own.decide(waits.id, "accept", who=who, why="seen"))
            except DecidedError as error:
                refused.append(error.decision)

    threads = [threading.Thread(target=decide, args=(f"p{i}",)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert refused == [made[0].decision] * 19
    assert store.decided() == made


def test_many_who_record_at_once_keep_each_verdict_once_in_rising_order(judged, store):
    ready, seen, numbers = threading.Barrier(4), [], []

    def record(first):
        with VerdictStore(store.place) as own:
            ready.wait()
            for i in range(first, 40):  # the later ids come from several
                own.record([dataclasses.replace(judged[2], id=f"{i:016x}")])

    def watch():
        while len(seen) < 40:
            seen.extend(store.verdicts(after=seen[-1].number if seen else 3))

    threads = [threading.Thread(target=record, args=(10 * k,)) for k in range(4)]
    threads.append(threading.Thread(target=watch, daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    numbers = [row.number for row in store.verdicts(after=3)]
    assert [row.number for row in seen] == numbers
    assert {row.id for row in seen} == {f"{i:016x}" for i in range(40)}
    assert len(seen) == 40


def test_another_process_sees_the_decision(store):
    (waits,) = store.waiting()
    program = (
        "import sys; from solvent.gate.store import VerdictStore;"
        "VerdictStore(sys.argv[1]).decide(sys.argv[2], 'accept', who='Ann', why='seen')"
    )
    assert execute_python(program, store.place, waits.id).code == 0
    with pytest.raises(DecidedError, match="accept by Ann"):
        store.decide(waits.id, "decline", who="Bob", why="no")


def test_odd_texts_are_kept(words, store):
    odd = Sample("\N{SNOWMAN}\0", "a\ud800b\0\n\x1b[2J", ("c\0", "\u202e d"), None, "g", ("\udfff\0",))
    judged = judge([odd], words, FIXED["strict"], domain="odd\ud800")
    assert not judged[0].is_measured
    (kept,) = store.record(judged)
    assert (kept.claim, kept.evidence, kept.pages) == (odd.claim, odd.evidence, odd.pages)
    # Names are texts of the database, which has no place for NUL and lone surrogates.
    assert (kept.name, kept.domain) == ("\N{SNOWMAN}\N{REPLACEMENT CHARACTER}", "odd?")
    (waits,) = store.waiting()
    said = {"who": "\u202e Ann \x1b[2J\0", "why": "\ud800 'read' \"it\"; --"}
    decision = store.decide(waits.id, "accept", **said).decision
    assert (decision.who, decision.why) == (
        "\u202e Ann \x1b[2J\N{REPLACEMENT CHARACTER}",
        "? 'read' \"it\"; --",
    )
    for key in ("\0", "\ud800", "' OR 1=1 --"):
        with pytest.raises(GateError, match="no such id"):
            store.find(key)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused(judged, store, number):
    bad = dataclasses.replace(judged[2], id="f" * 16, result=dict(judged[2].result) | {"energy_gap": number})
    with pytest.raises(GateError, match="ffff: result: got a number that is not finite"):
        store.record([dataclasses.replace(judged[2], id="e" * 16), bad])
    assert len(store.verdicts()) == 3


def test_a_store_is_there_after_a_restart(judged, new_place, request):
    place = new_place()
    with VerdictStore(place, create=True) as store:
        store.record(judged)
        (waits,) = store.waiting()
        decided = store.decide(waits.id, "decline", who="Ann", why="no harbour")
        if "://" in place:
            request.getfixturevalue("server").restart()
        assert store.decided() == [decided]  # its connections are made anew
    with VerdictStore(place) as store:
        assert store.decided() == [decided]
        assert store.counts() == {"accept": 1, "reject": 1, "decline": 1}


def test_no_store_yet_and_one_of_a_newer_version_are_one_line(new_place):
    place = new_place()
    with pytest.raises(
        MissingStoreError, match="`solvent gate judge CLAIMS --policy standard --store PATH`"
    ) as caught:
        VerdictStore(place)
    assert "\n" not in str(caught.value)
    with VerdictStore(place, create=True) as store:
        directly(store, "UPDATE solvent_gate_version SET version_num = '0999'")
    with pytest.raises(
        StoreError, match="'0999', which a newer version of Solvent wrote; allowed: up to '0001'"
    ):
        VerdictStore(place)


def test_a_store_of_costs_is_no_store_of_verdicts(new_place):
    """On a server, one database may have both."""
    place = new_place()
    with CostStore(place):
        pass
    if "://" not in place:
        with pytest.raises(StoreError, match="is no store of verdicts: it holds a table"):
            VerdictStore(place, create=True)
        return
    with VerdictStore(place, create=True) as verdicts, CostStore(place, create=False) as costs:
        assert verdicts.verdicts() == costs.proposals() == []


def test_files_that_are_no_store(tmp_path):
    with pytest.raises(StoreError, match="no such folder"):
        VerdictStore(tmp_path / "none" / "gate.db", create=True)
    text = tmp_path / "text.db"
    text.write_text("x" * 5000)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE verdicts (id)")
    for path, said in ((text, "file is not a database"), (tmp_path / "other.db", "is no store of verdicts")):
        for create in (False, True):
            with pytest.raises(StoreError, match=said):
                VerdictStore(path, create=create)


def test_a_file_from_before_there_were_migrations_is_opened(tmp_path):
    """Two reviews and a decision, as version 0.1.0 of 2026-11-24 wrote them."""
    place = tmp_path / "gate.db"
    with contextlib.closing(sqlite3.connect(place)) as connection:
        connection.executescript((Path(__file__).parent / "before_migrations.sql").read_text())
    with VerdictStore(place) as store:
        (decided,) = store.decided()
        assert (decided.outcome, decided.decision.who) == ("decline", "Ann")
        (waits,) = store.waiting()
        assert (waits.number, waits.compared) == (2, 0.450001)
        store.record([dataclasses.replace(waits, id="f" * 16)])
        assert store.decide(waits.id, "accept", who="Bob", why="read").number == 2
        with pytest.raises(DecidedError, match="decline by Ann"):
            store.decide(decided.id, "accept", who="Bob", why="read")
        assert [row.number for row in store.verdicts()] == [1, 2, 3]


def test_the_first_migration_takes_over_a_file_from_before(tmp_path, new_place):
    """What it makes is what such a file has, so that a second migration can follow either."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with contextlib.closing(sqlite3.connect(old)) as connection:
        connection.executescript((Path(__file__).parent / "before_migrations.sql").read_text())
    engine = sa.create_engine(f"sqlite:///{old}")
    with engine.begin() as connection:
        VerdictStore.schema.upgrade(connection, str(old), "0001")
    engine.dispose()
    with VerdictStore(new, create=True):
        pass
    tables = []
    for path in (old, new):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
            tables.append({name: " ".join(sql.split()) for name, sql in rows})
            assert connection.execute("SELECT version_num FROM solvent_gate_version").fetchall() == [
                ("0001",)
            ]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ada:s3cret@127.0.0.1:1/gate", r"ada:\*\*\*@127"),
        ("postgresql://ada@127.0.0.1:1/gate?password=s3cret", "can't be used as a store"),
        ("mysql://ada:s3cret@127.0.0.1/gate", "got a URL of 'mysql'"),
    ],
)
def test_no_password_is_printed(url, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("claims.jsonl").write_text(json.dumps({"claim": "a", "evidence": ["b"]}) + "\n")
    commands = [
        ("gate", "judge", "claims.jsonl", "--policy", "strict", "--store", url),
        ("gate", "reviews", "--store", url),
        ("gate", "decide", "a", "accept", "--why", "b", "--store", url),
        ("gate", "learn", "--store", url),
        ("gate", "drift", "--store", url),
        ("desk", "--gate-store", url),
    ]
    for command in commands:
        ended = call(*command)
        assert ended.code == 2
        assert len(ended.err.splitlines()) == 1
        assert re.search(said, ended.err)
        assert "s3cret" not in ended.out + ended.err


def test_ten_thousand_reviews_are_paged(judged, store):
    waits = judged[2]
    store.record(dataclasses.replace(waits, id=f"{i:016x}") for i in range(10_000))
    first = store.waiting(limit=50)
    second = store.waiting(limit=50, after=first[-1].number)
    assert len({row.id for row in (*first, *second)}) == 100
    begin = time.monotonic()
    last = store.waiting(limit=50, after=store.verdicts(after=9_000)[-51].number)
    assert len(last) == 50
    assert time.monotonic() - begin < 1.0
    windows = store.windows(1000)
    assert [sum(window.counts.values()) for window in windows] == [1000] * 10 + [3]
    assert windows[0].counts == {"accept": 1, "review": 998, "decline": 0, "reject": 1}
    assert store.counts() == {"accept": 1, "reject": 1, "review": 10_001}
    if "://" not in store.place:
        plan = "EXPLAIN QUERY PLAN SELECT v.id FROM verdicts v LEFT JOIN decisions d USING (id)"
        where = "WHERE v.verdict = 'review' AND d.id IS NULL AND v.number > 50 ORDER BY v.number LIMIT 50"
        steps = " ".join(str(step) for step in directly(store, f"{plan} {where}"))
        assert "by_verdict" in steps
        assert "TEMP B-TREE" not in steps


def test_policies_are_found_by_name_label_and_kind(words):
    p10 = Policy.learnt("P10", 0.3, domain="lamps", model="words", oracle="first")
    learnt = {p10.name: p10}
    assert policy_named("P10", learnt) == policy_named("adaptive.P10.v1", learnt, "first") == p10
    assert policy_named("strict", learnt) == policy_named("fixed.strict.v1", {}) == FIXED["strict"]
    assert policy_named("strict", {}, "first").oracle == "first"
    with pytest.raises(GateError, match=r"got 'P5'; allowed: editorial, standard, strict, adaptive\.P10\.v1"):
        policy_named("P5", learnt)
    with pytest.raises(GateError, match="was learnt with first"):
        policy_named("P10", learnt, "medoid")


def test_judging_refuses_another_domain_before_any_work(words):
    policy = Policy.learnt("P10", 0.3, domain="lamps", model="words", model_fingerprint=words.fingerprint)
    with pytest.raises(GateError, match="'lamps' was calibrated, 'mills' is used"):
        judge([], words, policy, domain="mills")
    (row,) = judge([Sample("a", "b", ("c",), None, "g")], words, policy)
    assert row.domain == "lamps"
    assert any("the caller named no domain" in reason for reason in row.result["reasons"])
    json.dumps(dict(row.result))
