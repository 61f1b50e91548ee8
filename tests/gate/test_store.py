"""The store of verdicts: what is kept, who decides, and two who decide at once."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
import time

import pytest

from solvent.gate.datasets import Sample
from solvent.gate.errors import GateError
from solvent.gate.judging import judge, policy_named
from solvent.gate.policy import FIXED, Policy
from solvent.gate.store import DecidedError, VerdictStore
from tests.commands import execute_python

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
def store(judged, tmp_path):
    opened = VerdictStore(tmp_path / "gate.db", create=True)
    opened.record(judged)
    return opened


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
        with sqlite3.connect(store.path) as direct, pytest.raises(sqlite3.Error, match="a decision stands"):
            direct.execute(change)


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
    made, refused, ready = [], [], threading.Barrier(8)

    def decide(who):
        own = VerdictStore(store.path)
        ready.wait()
        try:
            made.append(own.decide(waits.id, "accept", who=who, why="seen"))
        except DecidedError as error:
            refused.append(error.decision)

    threads = [threading.Thread(target=decide, args=(f"p{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert refused == [made[0].decision] * 7
    assert store.decided() == made


def test_another_process_sees_the_decision(store):
    (waits,) = store.waiting()
    program = (
        "import sys; from solvent.gate.store import VerdictStore;"
        "VerdictStore(sys.argv[1]).decide(sys.argv[2], 'accept', who='Ann', why='seen')"
    )
    assert execute_python(program, store.path, waits.id).code == 0
    with pytest.raises(DecidedError, match="accept by Ann"):
        store.decide(waits.id, "decline", who="Bob", why="no")


def test_odd_texts_are_kept(words, tmp_path):
    odd = Sample("\N{SNOWMAN}", "a\ud800b\n\x1b[2J", ("c", "\u202e d"), None, "g")
    (row,) = judge([odd], words, FIXED["strict"], domain="odd")
    assert not row.is_measured
    (kept,) = VerdictStore(tmp_path / "gate.db", create=True).record([row])
    assert kept.claim == odd.claim
    assert kept.evidence == odd.evidence


def test_another_file_is_no_store(tmp_path):
    with pytest.raises(GateError, match=r"none\.db: no store yet; allowed: what `solvent gate judge"):
        VerdictStore(tmp_path / "none.db")
    with pytest.raises(GateError, match=r"unable to open"):
        VerdictStore(tmp_path / "none" / "gate.db", create=True)
    assert list(tmp_path.iterdir()) == []
    text = tmp_path / "text.db"
    text.write_text("x" * 5000)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE verdicts (id)")
    for path, said in ((text, "file is not a database"), (tmp_path / "other.db", "not a store of verdicts")):
        for create in (False, True):
            with pytest.raises(GateError, match=said):
                VerdictStore(path, create=create)
    VerdictStore(tmp_path / "gate.db", create=True)
    with sqlite3.connect(tmp_path / "gate.db") as newer:
        newer.execute("PRAGMA user_version = 9")
    with pytest.raises(GateError, match="a store of version 9; allowed: 1"):
        VerdictStore(tmp_path / "gate.db")


def test_ten_thousand_reviews_are_paged(judged, store):
    waits = judged[2]
    store.record(dataclasses.replace(waits, id=f"{i:016x}") for i in range(10_000))
    first = store.waiting(limit=50)
    second = store.waiting(limit=50, after=first[-1].number)
    assert len({row.id for row in (*first, *second)}) == 100
    plan = "EXPLAIN QUERY PLAN SELECT v.id FROM verdicts v LEFT JOIN decisions d USING (id)"
    where = "WHERE v.verdict = 'review' AND d.id IS NULL AND v.number > 50 ORDER BY v.number LIMIT 50"
    with sqlite3.connect(store.path) as direct:
        steps = " ".join(str(step) for step in direct.execute(f"{plan} {where}"))
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
