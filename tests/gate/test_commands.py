"""``solvent gate``: what the commands print, write, and end with."""

import json

import pytest

from solvent.gate.policy import load_policies
from solvent.gate.reviews import Reviews
from tests.commands import call
from tests.gate.conftest import small_set

BUILT = {"evidence": ["The mill was built in 1890."]}
TRUE = BUILT | {"id": "built", "claim": "The mill was built in 1890."}
ODD = BUILT | {"id": "year", "claim": "The mill was built in 1891."}
WRONG = BUILT | {"id": "bakery", "claim": "The bakery sells rye bread."}


def gate(*arguments):
    return call("gate", *arguments, width=200)


@pytest.mark.parametrize(("claims", "code"), [([TRUE], 0), ([TRUE, ODD], 3), ([TRUE, ODD, WRONG], 1)])
def test_the_exit_code_tells_the_worst_verdict(written, tmp_path, claims, code, embedder):
    out = tmp_path / "verdicts.jsonl"
    ended = gate("judge", written(claims), "--policy", "standard", "--out", out, "-q")
    assert ended.code == code
    assert f"{len(claims)} claims: " in ended.out
    assert "fixed.standard.v1: accepts up to 0.4" in ended.out
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["claim_id"] for row in rows] == [claim["id"] for claim in claims]
    assert {"verdict", "hallucination_energy", "energy_gap", "policy_applied", "reasons"} <= rows[0].keys()


def test_reviews_are_kept_and_learnt_from(written, tmp_path, embedder):
    claims = [ODD | {"claim": f"The mill was built in {1891 + i}."} for i in range(3)]
    store, path = tmp_path / "reviews", written(claims)
    judged = ("judge", path, "--policy", "standard", "--store", store, "-q")
    ended = gate(*judged)
    assert (ended.code, f"desk --reviews {store}` shows" in ended.out) == (3, True)
    first, *_ = Reviews(store).waiting()
    Reviews(store).decide(first.id, "decline", who="Ada", why="another")
    assert gate(*judged).code == 1
    gate("learn", "--store", store).refused("too few")


def test_a_sweep_measures_claims_and_keeps_policies(tmp_path, written, embedder):
    out, own = tmp_path / "sweep.json", tmp_path / "own.jsonl"
    line = (
        "sweep",
        "--dataset",
        written(small_set(10), "small.jsonl"),
        "--out",
        out,
        "--policies",
        own,
        "-q",
    )
    gate(*line, "--n", 0).succeeded("held out", "another page", "0 of 30 energies moved")
    document = json.loads(out.read_text())
    assert {"sample", "label", "energy_gap", "cosine"} <= document["samples"][29].keys()
    assert document["checklist"]["stability"]["holds"] is False  # 30 claims are too few
    policies = load_policies(own)
    assert (policies["adaptive.P10.v1"].domain, policies["oracle.k2.v1"].measure) == ("small", "energy")


def test_a_verdict_says_that_its_policy_fails_the_checklist(tmp_path, written, embedder):
    claims, own = written(small_set(10)), tmp_path / "own.jsonl"
    gate("sweep", "--dataset", claims, "--out", tmp_path / "sweep.json", "--policies", own, "-q").succeeded()
    judged = gate(
        "judge", claims, "--policy", "P10", "--policies", own, "--store", tmp_path / "reviews", "-q"
    )
    assert "it fails the checklist items: " in judged.out
    drift = ("drift", "--policies", own, "--store", tmp_path / "reviews", "--policy")
    gate(*drift, "P10").refused("30 claims")
    gate(*drift, "k2").refused("percentile")


def policies_file(tmp_path, **fields):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(fields) + "\n")
    return path


def test_a_learnt_policy_judges_its_own_domain_unless_told_otherwise(written, tmp_path, embedder):
    learnt = {
        "kind": "adaptive",
        "label": "P10",
        "tau_accept": 0.3,
        "domain": "claims",
        "model": embedder.name,
    }
    judge = ("judge", written([TRUE], "films.jsonl"), "--policy", "P10", "-q", "--policies")
    path = policies_file(tmp_path, **learnt, oracle="first")
    gate(*judge, path).refused("films")
    assert gate(*judge, path, "--domain", "claims").code == 0
    own = policies_file(tmp_path, **learnt, oracle="last_span")
    gate(*judge, own, "--domain", "claims").refused("last_span")


def test_an_own_policy_wins_over_the_shipped_one_and_is_named(written, tmp_path, embedder):
    path = policies_file(tmp_path, kind="fixed", label="strict", measure="energy", tau_accept=0.9)
    judged = gate("judge", written([WRONG]), "--policy", "strict", "--policies", path, "-q")
    assert "accepts up to 0.9" in judged.out
    assert "not the shipped one" in judged.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("judge", "claims.jsonl", "--policy", "none"), "strict"),
        (("judge", "/dev/zero", "--policy", "strict"), "regular"),
        (("judge", "claims.jsonl", "--policy", "strict", "--model", "/none"), "none"),
        (("sweep", "--dataset", "claims.jsonl", "--out", "x.json", "-q"), "2 or more"),
        (("learn", "--store", "none"), "--store"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(written, tmp_path, monkeypatch, embedder, line, message):
    monkeypatch.chdir(tmp_path)
    written([TRUE], "claims.jsonl")
    before = sorted(tmp_path.iterdir())
    gate(*line).refused(message)
    assert sorted(tmp_path.iterdir()) == before
