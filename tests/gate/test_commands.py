"""``solvent gate``: what the commands print, write, and end with."""

from __future__ import annotations

import json

import pytest

from solvent.gate.policy import load_policies
from tests.commands import call
from tests.gate.conftest import small_set

BUILT = {"evidence": ["The mill was built in 1890."]}
TRUE = BUILT | {"id": "built", "claim": "The mill was built in 1890."}
ODD = BUILT | {"id": "year", "claim": "The mill was built in 1891."}
WRONG = BUILT | {"id": "bakery", "claim": "The bakery sells rye bread."}


def gate(*arguments):
    return call("gate", *arguments, width=200)


@pytest.mark.parametrize(("claims", "code"), [([TRUE], 0), ([TRUE, ODD], 3), ([TRUE, ODD, WRONG], 1)])
def test_the_exit_code_tells_the_worst_verdict(written, claims, code, embedder):
    ended = gate("judge", written(claims), "--policy", "standard", "-q")
    assert ended.code == code
    assert f"{len(claims)} claims: " in ended.out
    assert "fixed.standard.v1: accepts up to 0.4" in ended.out


def test_reviews_are_asked_decided_and_learnt_from(written, tmp_path, embedder):
    claims = [ODD | {"claim": f"The mill was built in {1891 + i}."} for i in range(3)]
    store, path = tmp_path / "reviews", written(claims)
    judged = ("judge", path, "--policy", "standard", "--store", store, "-q")
    assert gate(*judged).code == 3
    shown = gate("reviews", "--next", "--store", store).succeeded("3 reviews to decide")
    first = json.loads(gate("reviews", "--store", store, "--json").out)[0]
    assert first["id"] in shown
    assert "1890" in gate("reviews", first["id"][:6], "--store", store).succeeded("numbers")
    choice = ("decide", first["id"], "decline", "--why", "another", "--who", "Ada", "--store", store)
    gate(*choice).succeeded("decline, by Ada", "2 reviews left")
    gate(*choice).refused("by Ada already")
    assert gate(*judged).code == 1
    assert gate("learn", "--store", store).code == 1
    gate("drift", "--store", store).refused("window")


def test_verdicts_are_written_whole(written, tmp_path, embedder):
    out = tmp_path / "verdicts.jsonl"
    gate("judge", written([TRUE, WRONG]), "--policy", "strict", "--out", out, "-q")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["claim_id"] for row in rows] == ["built", "bakery"]
    assert {"verdict", "hallucination_energy", "energy_gap", "policy_applied", "reasons"} <= rows[0].keys()


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep of the small set, with its figure and policies."""
    folder = tmp_path_factory.mktemp("sweep")
    claims = folder / "small.jsonl"
    claims.write_text("".join(json.dumps(record) + "\n" for record in small_set()))
    files = ("--dataset", claims, "--out", folder / "sweep.json", "--policies", folder / "own.jsonl")
    line = ("sweep", *files, "-q")
    return folder, line, gate(*line, "--n", 0, "--figure", folder / "gaps.png")


def test_a_sweep_has_the_documents_table(swept, embedder):
    folder, line, ended = swept
    ended.succeeded("P10", "held out", "another page", "adaptive.P30.v1")
    document = json.loads((folder / "sweep.json").read_text())
    assert list(document["tau_by_percentile"]) == ["P1", "P5", "P10", "P20", "P30"]
    assert len(document["samples"]) == 90
    assert (folder / "gaps.png").read_bytes().startswith(b"\x89PNG")
    gate(*line).refused("another --version")
    gate(*line, "--version", 2).succeeded("adaptive.P10.v2")
    policies = load_policies(folder / "own.jsonl")
    assert policies["adaptive.P10.v1"].domain == "small"
    gate("judge", folder / "small.jsonl", "--policy", "P10", "--policies", folder / "own.jsonl", "-q")


def test_a_policy_of_each_kind_can_be_made(swept, tmp_path, embedder):
    folder, out = swept[0], tmp_path / "made.jsonl"
    dataset = ("--dataset", folder / "small.jsonl", "--out", out, "-q")
    gate("policy", "oracle", "--k", "2.0", *dataset).succeeded("oracle.k2.v1")
    gate("policy", "adaptive", "--percentile", "15", *dataset).succeeded("adaptive.P15.v1")
    fixed = ("--tau", "0.35", "--label", "house", "--version", 3, "--out", out)
    gate("policy", "fixed", *fixed).succeeded()
    made = load_policies(out)
    assert list(made) == ["oracle.k2.v1", "adaptive.P15.v1", "fixed.house.v3"]
    assert (made["fixed.house.v3"].tau_accept, made["fixed.house.v3"].measure) == (0.35, "energy")
    gate("policy", "oracle", "--k", 2).refused("--dataset")
    gate("policy", "fixed").refused("--tau")


def test_the_checklist_ends_with_1_if_an_item_fails(swept, embedder):
    ended = gate("check", swept[0] / "small.jsonl", "-q")
    assert ended.code == 1  # 90 claims are too few for stability
    assert "0 claims moved" in ended.out


def test_eval_compares_the_energy_with_the_cosine(swept, embedder):
    line = ("eval", "--dataset", swept[0] / "small.jsonl", "--resamples", 100, "-q")
    found = json.loads(gate(*line, "--json").succeeded())
    assert found["random energy"][0] > 0.95
    assert {"refuted energy", "refuted cosine", "nei energy"} <= found.keys()
    gate(*line).succeeded("0.5 is chance")


def test_bad_input_is_one_line_and_writes_nothing(written, tmp_path, embedder):
    good, bad = written([TRUE]), written("{", "bad.jsonl")
    before = sorted(tmp_path.iterdir())
    for line, said in [
        (("judge", good, "--policy", "none"), "strict"),
        (("judge", bad, "--policy", "strict"), "line 1"),
        (("judge", "/dev/zero", "--policy", "strict"), "regular"),
        (("judge", good, "--policy", "strict", "--model", "/none"), "none"),
        (("sweep", "--dataset", good, "--out", tmp_path / "x.json"), "2 or more"),
        (("sweep", "--dataset", good, "--out", tmp_path / "x.json", "--percentiles", "0"), "--percentiles"),
        (("reviews", "--store", tmp_path / "none"), "--store"),
        (("build",), "--out"),
    ]:
        gate(*line).refused(said)
        assert sorted(tmp_path.iterdir()) == before, line
