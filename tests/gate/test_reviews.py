"""From a file of claims to a learnt threshold on the command line, with the real model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solvent.gate.datasets import load_dataset
from solvent.gate.policy_files import load_checklist, load_policies
from solvent.gate.store import VerdictStore
from tests.commands import call


def gate(*arguments):
    return call("gate", *arguments)


@pytest.fixture(scope="module")
def folder(embedder, small, tmp_path_factory):
    """The small set and its policies; no test changes them."""
    root = tmp_path_factory.mktemp("reviews")
    (root / "claims.jsonl").write_text("".join(json.dumps(record) + "\n" for record in small))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOLVENT_CACHE", str(root / "cache"))
        out = ("--out", root / "sweep.json", "--policies", root / "policies.json")
        shown = gate("sweep", "--dataset", root / "claims.jsonl", *out, "--n", "0", "--budget", "0.2", "-q")
    shown.succeeded("policies.json fails: stability", "Next: `solvent gate judge CLAIMS --policy P10")
    return root


@pytest.fixture
def place(database, new_place, monkeypatch, tmp_path):
    """The default file in the current folder, or a database on a server."""
    monkeypatch.chdir(tmp_path)
    return "solvent_gate.db" if database == "sqlite" else new_place()


@pytest.fixture
def at(place):
    """The option that names the store, if it is not the default."""
    return () if place == "solvent_gate.db" else ("--store", place)


@pytest.fixture
def judge(folder, place, monkeypatch):
    """Judges the small set under its P30, into a store."""
    monkeypatch.setenv("SOLVENT_CACHE", str(folder / "cache"))
    learnt = ("--policy", "P30", "--policies", folder / "policies.json", "--store", place)
    return lambda *more, claims=folder / "claims.jsonl": gate("judge", claims, *learnt, "-q", *more)


def test_a_table_and_the_exit_code_tell_the_verdicts(judge, written):
    ended = judge("--out", "verdicts.jsonl")
    assert ended.code == 1
    rows = [json.loads(line) for line in Path("verdicts.jsonl").read_text().splitlines()]
    counts = {
        verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("accept", "review", "reject")
    }
    assert sum(counts.values()) == 90
    assert counts["accept"] == 27  # P30 on the claims that it was learnt from
    told = "90 claims: {accept} accepted, {review} under review, {reject} rejected".format(**counts)
    for said in (
        told,
        "policy adaptive.P30.v1: accepts up to",
        "its checklist fails: stability",
        "to decide",
    ):
        assert said in ended.out
    row = rows[0]
    assert {"claim", "evidence", "hallucination_energy", "energy_gap", "reasons", "judged_at"} <= set(row)
    # Exit codes: 0 for accepted alone, 3 if nothing is worse than a review.
    by_verdict = {row["verdict"]: {key: row[key] for key in ("claim", "evidence")} for row in rows}
    for verdict, code in (("accept", 0), ("review", 3), ("reject", 1)):
        path = written([by_verdict["accept"], by_verdict[verdict]], f"{verdict}.jsonl")
        assert judge(claims=path).code == code


def test_a_review_is_decided_once_and_counts_at_the_next_judging(judge, at, written):
    judge()
    waiting = json.loads(gate("reviews", "--json", *at).succeeded())
    assert waiting
    key = waiting[0]["id"]
    shown = gate("reviews", key, *at).succeeded("evidence 1", "solvent gate decide")
    assert waiting[0]["claim"] in shown
    gate("decide", key, "accept", "--why", "it is there", "--who", "Ann", *at).succeeded(
        f"{key}: accept, by Ann"
    )
    gate("decide", key, "decline", "--why", "no", "--who", "Bob", *at).refused(
        "decided already: accept by Ann"
    )
    gate("decide", waiting[1]["id"], "maybe", "--why", "no", *at).refused(
        "got 'maybe'; allowed: accept, decline"
    )
    alone = written([{name: waiting[0][name] for name in ("claim", "evidence")}], "one.jsonl")
    judge(claims=alone).succeeded("1 claim: 1 accepted")
    assert key not in gate("reviews", *at).succeeded()
    assert gate("reviews", "zz", *at).refused("no such id")


def test_decisions_come_back_as_labels_and_as_a_policy(judge, place, at, folder):
    judge()
    gate("learn", *at).refused("none is decided; allowed: some, by `solvent gate decide`")
    with VerdictStore(place) as store:
        waiting = store.waiting()
        for i, row in enumerate(waiting):
            store.decide(row.id, "decline" if i else "accept", who="Ann", why="read")
    few = gate("learn", *at, "--labels", "labels.jsonl", "--out", "learnt.json")
    assert few.code == 1
    assert f"needs 59 declined reviews; {len(waiting) - 1} allow one of" in few.out
    assert not Path("learnt.json").exists()
    labelled = load_dataset("labels.jsonl")
    assert labelled.counts == {"nei": len(waiting) - 1, "supported": 1}
    assert {sample.claim for sample in labelled.samples} == {row.claim for row in waiting}
    gate("learn", *at, "--budget", "0.9", "--out", "learnt.json").succeeded(
        "written: learnt.json", "its checklist"
    )
    (policy,) = load_policies("learnt.json").values()
    assert policy.name == "adaptive.FA90.reviews.v1"
    assert [item.name for item in load_checklist("learnt.json")][2] == "stability"
    assert (
        gate(
            "judge", folder / "claims.jsonl", "--policy", policy.name, "--policies", "learnt.json", "-q"
        ).code
        == 1
    )


def test_drift_compares_windows_with_the_policies(judge, at, folder):
    judge()
    policies = ("--policies", folder / "policies.json", *at)
    gate("drift", *policies, "--window", "90").succeeded("P30", "0 to", "no drift")
    gate("drift", *policies).refused("90 claims fill no window to compare")
    # Claims about other things: most are rejected, and P30 accepts far fewer than 30 %.
    other = [
        {"claim": f"the {word} sank in a storm of the year {i}", "evidence": [f"every {word} needs repair"]}
        for word in ("ship", "boat")
        for i in range(30)
    ]
    Path("other.jsonl").write_text("".join(json.dumps(record) + "\n" for record in other))
    judge(claims="other.jsonl")
    ended = gate("drift", *policies, "--window", "50", "--json")
    assert ended.code == 1
    changes = json.loads(ended.out)
    assert [change["drifted"] for change in changes if change["percentile"] == 30] == [False, False, True]
    assert "drifted" in gate("drift", *policies, "--window", "50").out


def test_hostile_text_is_shown_as_text(judge, written):
    record = {"id": "\x1b[2J", "claim": "a\x1b[31m \u202e lamp", "evidence": ["the \x07 old lamp"]}
    ended = judge(claims=written([record]))
    assert ended.code == 1
    assert "\x1b" not in ended.out
    assert "\u202e" not in ended.out
    assert "bad data" in ended.out
