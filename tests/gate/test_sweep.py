"""A sweep's numbers, its file, and what its thresholds do elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from solvent.gate.checklist import runs_from_text
from solvent.gate.datasets import load_dataset
from solvent.gate.errors import GateError
from solvent.gate.measurement import Oracle, oracle_gap
from solvent.gate.policy import apply_adaptive_policy_gap, rounded
from solvent.gate.sweep import (
    FORMAT,
    Measured,
    Sweep,
    SweepSettings,
    controls_of,
    gaps_of,
    run_sweep,
    summary_of,
)
from solvent.gate.sweep_file import sweep_from_json


@pytest.fixture(scope="module")
def found(dataset, words):
    return run_sweep(dataset, words, SweepSettings(n=80))


@pytest.fixture(scope="module")
def budgeted(dataset, words):
    """All ninety claims, which are enough to learn a threshold for a budget of 20 %."""
    return run_sweep(dataset, words, SweepSettings(n=None, budget=0.2))


def row(gap, random=1.0, group="g", hard=None, **fields):
    numbers = {"energy": gap, "oracle_energy": 0.0, "identity_error": 0.0}
    rest = {"id": "i", "label": None, "text_sha256": "0", "spans": 1, "effective_rank": 1}
    flags = {"exhausted": False, "trivial": True}
    gaps = {"energy_gap": gap, "random_gap": random, "hard_gap": hard}
    return Measured(group=group, **(gaps | numbers | rest | flags | fields))


def test_the_sources_fields(found):
    content = json.loads(found.to_json())
    assert content["format"] == FORMAT
    assert list(content["tau_by_percentile"]) == ["P1", "P5", "P10", "P20", "P30"]
    assert list(content["summary"]) == list(content["tau_by_percentile"])
    assert len(content["samples"]) == content["settings"]["n"] == 80
    assert content["dataset"]["labels"] == {"nei": 30, "refuted": 30, "supported": 30}


def test_a_percentile_accepts_its_share_of_its_own_sample():
    rows = [row(i / 100, group=str(i)) for i in range(1, 101)]
    taus = {"P1": 0.01, "P5": 0.05, "P10": 0.10, "P20": 0.20, "P30": 0.30}
    summary = summary_of(rows, taus, 0)
    assert [summary[name]["accept"] for name in taus] == [1, 5, 10, 20, 30]
    # The band of 25 %: up to 0.375, which is 7 claims more.
    assert (summary["P30"]["tau_review"], summary["P30"]["review"], summary["P30"]["reject"]) == (
        0.375,
        7,
        63,
    )
    assert (summary["P30"]["rejection_rate"], summary["P30"]["not_accepted_rate"]) == (0.63, 0.7)
    held = summary["P10"]["held_out"]
    assert held["low"] < held["acceptance_rate"] < held["high"]
    assert held["acceptance_rate"] == pytest.approx(0.10, abs=0.03)


def test_thresholds_of_either_sign_keep_a_band():
    rows = [row(gap, group=str(gap)) for gap in (-0.2, -0.1, 0.0, 0.1)]
    summary = summary_of(rows, {"P25": -0.2, "P75": 0.0}, 0)
    assert summary["P25"]["tau_review"] == -0.15
    assert summary["P75"]["tau_review"] == 0.0


def test_every_sample_is_as_measured(found, dataset, words):
    by_id = {sample.id: sample for sample in dataset.samples}
    for measured in found.samples[:10]:
        sample = by_id[measured.id]
        vectors = words.encode([sample.claim, *sample.evidence])
        gap = oracle_gap(vectors[0], vectors[1:])
        assert measured.energy_gap == rounded(gap.energy_gap)
        assert measured.oracle_energy == rounded(gap.oracle_energy)
        assert measured.spans == len(sample.evidence)
        assert measured.text_sha256 == sample.digest
        assert (measured.label, measured.group) == (sample.label, sample.group)


def test_few_spans_have_a_trivial_oracle_and_many_do_not(written, words):
    spans = [f"{word} shines on the way to {word} town" for word in "abcdefghijkl"]
    records = [
        {"claim": f"the {i} shines", "evidence": [f"{s} {i}" for s in (spans if i % 2 else spans[:3])]}
        for i in range(8)
    ]
    rows = run_sweep(load_dataset(written(records)), words, SweepSettings(n=None, percentiles=[50])).samples
    for i, measured in enumerate(rows):
        assert measured.trivial == (i % 2 == 0)
        if measured.trivial:
            assert measured.oracle_energy == 0.0
            assert measured.energy_gap == measured.energy
        else:
            assert measured.oracle_energy > 0.0


def test_the_same_arguments_give_the_same_bytes(dataset, words):
    first, again, other = (
        run_sweep(dataset, words, SweepSettings(n=40, seed=seed)).to_json() for seed in (0, 0, 1)
    )
    assert first == again != other


def test_a_sweep_comes_back_from_its_file(found):
    again = sweep_from_json(found.to_json())
    assert again == found
    assert tuple(again.taus) == (1.0, 5.0, 10.0, 20.0, 30.0)


def test_policies_say_where_they_come_from(budgeted):
    policies = {policy.name: policy for policy in budgeted.policies("lamps")}
    assert list(policies) == [*(f"adaptive.P{p}.v1" for p in (1, 5, 10, 20, 30)), "adaptive.FA20.random.v1"]
    for name, tau in budgeted.tau_by_percentile.items():
        policy = policies[f"adaptive.{name}.v1"]
        assert (policy.tau_accept, policy.domain, policy.model) == (tau, "lamps", "words")
        assert policy.calibration_count == 90
        assert len(policy.calibration_sha256) == 64
        decided = [policy.decide(sample.energy_gap) for sample in budgeted.samples]
        assert decided.count("accept") == budgeted.summary[name]["accept"]
        assert decided == [apply_adaptive_policy_gap(sample.energy_gap, tau) for sample in budgeted.samples]


def test_a_budget_holds_on_held_out_controls_or_is_not_claimed(budgeted):
    rows = budgeted.samples
    assert controls_of(rows, 0.05, 0) == {}  # 45 controls can't vouch for 5 %
    assert controls_of(rows, 1e-18, 0) == {}
    control = budgeted.controls["random"]
    assert control.learnt.upper <= 0.2
    assert control.negatives.count + control.learnt.count == 90


def test_both_kinds_of_mismatched_evidence_have_a_budget_and_say_what_the_other_does(words):
    """Evidence of the same page is nearer: the budget for random evidence lets all of it pass, and says so."""
    rows = [
        row(0.2, 0.9 + i / 1e4, str(i), hard=0.4 + i / 1e3 if i % 2 else None, label="supported")
        for i in range(400)
    ]
    controls = controls_of(rows, 0.05, 0)
    assert list(controls) == ["random", "hard"]
    assert 0.9 < controls["random"].tau_accept < 0.94
    assert 0.4 < controls["hard"].tau_accept < 0.8
    for control in controls.values():
        assert control.learnt.upper <= 0.05
        assert control.positives is not None
        assert control.positives.share == 1.0
    about = {"name": "x"}, {"name": "words", "fingerprint": ""}, {"oracle": "first", "top_k": 12, "rank_r": 8}
    sweep = Sweep(*about, {"P10": 0.2}, {}, controls, tuple(rows))
    policies = {policy.name: policy for policy in sweep.policies()}
    assert list(policies) == ["adaptive.P10.v1", "adaptive.FA5.random.v1", "adaptive.FA5.hard.v1"]
    assert {policy.oracle for policy in policies.values()} == {"first"}
    promise = policies["adaptive.FA5.random.v1"].promise
    assert promise.startswith(
        "At most 5.0% of claims with evidence of another page pass (95% sure; held out "
    )
    assert promise.endswith("No promise for evidence of the same page: 200 of 200 pass.")
    hard = policies["adaptive.FA5.hard.v1"].promise
    assert hard.startswith("At most 5.0% of claims with evidence of the same page pass")
    assert hard.endswith("No promise for evidence of another page: 0 of 400 pass.")
    alone = controls_of([replace(one, hard_gap=None) for one in rows], 0.05, 0)
    assert replace(sweep, controls=alone).promise("random").endswith(": 200 of 200 pass.")
    none = tuple(replace(one, hard_gap=None) for one in rows)
    assert replace(sweep, samples=none).promise("random").endswith("same page: none was tried.")


def test_the_oracle_is_that_of_the_settings(written, words):
    spans = [f"{word} shines on the way to {word} town" for word in "abcdefghijkl"]
    records = [{"claim": f"the {i} shines", "evidence": [f"{s} {i}" for s in spans]} for i in range(4)]
    data = load_dataset(written(records))
    rows = {}
    for oracle in get_args(Oracle):
        settings = SweepSettings(n=None, percentiles=[50], oracle=oracle)
        found = run_sweep(data, words, settings)
        assert {policy.oracle for policy in found.policies()} == {oracle}
        assert sweep_from_json(found.to_json()) == found
        # The spans keep their order from run to run, or the first would be another.
        assert runs_from_text(found, data.samples, words, runs=3).different == 1
        rows[oracle] = found.samples
        for sample, measured in zip(data.samples, found.samples, strict=True):
            vectors = words.encode([sample.claim, *sample.evidence])
            assert measured.energy_gap == rounded(
                oracle_gap(vectors[0], vectors[1:], oracle=oracle).energy_gap
            )
    assert rows["medoid"] != rows["first"]
    assert all(row.energy_gap == row.energy for row in rows["none"])


def test_odd_texts_and_ids_end_up_in_a_file_that_can_be_read(written, words):
    odd = ["\ud800", "\x00\x07", "\u2028", "x" * 100_000, '"', "\\"]
    text = "".join(json.dumps({"id": s, "claim": f"a{s}", "evidence": [f"{s}b", s]}) + "\n" for s in odd)
    found = run_sweep(load_dataset(written(text)), words, SweepSettings(n=None, percentiles=[50]))
    assert sweep_from_json(found.to_json().encode()) == found


def test_progress_reaches_its_ends(dataset, words):
    seen: dict[str, list[tuple[int, int]]] = {}
    run_sweep(
        dataset,
        words,
        SweepSettings(n=60),
        on_progress=lambda stage, *n: seen.setdefault(stage, []).append(n),
    )
    assert list(seen) == ["sentences encoded", "claims measured"]
    for steps in seen.values():
        assert steps[0][0] == 0
        assert steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"n": 1}, "n: got 1; allowed: 2 or more"),
        ({"percentiles": [0]}, "percentiles: got 0"),
        ({"percentiles": [101]}, "percentiles: got 101"),
        ({"budget": 1.5}, "budget"),
    ],
)
def test_impossible_arguments(arguments, said, dataset, words):
    with pytest.raises(GateError, match=said):
        run_sweep(dataset, words, SweepSettings(**arguments))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("samples"), "not a sweep"),
        (lambda c: c.update(format="x"), "not a sweep"),
        (lambda c: c.update(samples=[]), "a list of at least one"),
        (lambda c: c["samples"][3].pop("energy"), "sample 4"),
        (lambda c: c["samples"][3].update(energy_gap="low"), "sample 4, energy_gap: got 'low'"),
        (lambda c: c["samples"][3].update(energy_gap=None), "sample 4, energy_gap: got None"),
        (lambda c: c["tau_by_percentile"].update(P10="x"), "tau_by_percentile: got P10"),
        (lambda c: c["tau_by_percentile"].update(Q=1.0), "tau_by_percentile: got Q"),
        (lambda c: c.update(settings=[]), "settings"),
        (lambda c: c.update(settings={"a": 1}), "settings: allowed: an object with n, seed, top_k"),
        (
            lambda c: c["settings"].update(top_k=0),
            "settings, top_k: got 0; allowed: a whole number, 1 or more",
        ),
        (lambda c: c["settings"].update(rank_r="8"), "settings, rank_r: got '8'"),
        (lambda c: c["settings"].update(seed=-1), "settings, seed: got -1"),
        (lambda c: c["settings"].update(budget=1), "settings, budget: got 1"),
        (lambda c: c["settings"].update(percentiles=[None]), "settings, percentiles: got \\[None"),
        (lambda c: c.update(model={"x": 1}), "model: allowed: an object with name, fingerprint"),
        (lambda c: c["model"].update(fingerprint=None), "model, fingerprint: got None; allowed: text"),
        (lambda c: c["dataset"].update(name=["x"]), "dataset, name: got"),
        (lambda c: c["dataset"].update(labels=5), "dataset, labels: got 5"),
        (lambda c: c["dataset"].update(labels={"nei": "x"}), "dataset, labels: got"),
        (lambda c: c["dataset"].pop("samples"), "dataset: allowed: an object with"),
        (lambda c: c.update(summary=5), "summary"),
        (lambda c: c.update(controls=5), "controls"),
        (
            lambda c: c["settings"].update(oracle="last"),
            "settings, oracle: got 'last'; allowed: medoid, first",
        ),
        (lambda c: c["samples"][3].update(hard_gap="x"), "sample 4, hard_gap: got 'x'; allowed: a number"),
        (lambda c: c["samples"].insert(0, 5), "sample 1: allowed: an object with id"),
        (lambda c: c["samples"][3].update(label={"a": 1}), "sample 4, label: got {'a': 1}; allowed: text or"),
        (lambda c: c["samples"][3].update(id=4), "sample 4, id: got 4; allowed: text"),
        (lambda c: c["samples"][3].update(group=None), "sample 4, group: got None"),
        (lambda c: c["samples"][3].update(spans="x"), "sample 4, spans: got 'x'"),
        (lambda c: c["samples"][3].update(spans=True), "sample 4, spans: got True"),
        (lambda c: c["samples"][3].update(spans=-1), "sample 4, spans: got -1"),
        (
            lambda c: c["samples"][3].update(trivial=None),
            "sample 4, trivial: got None; allowed: true or false",
        ),
        (lambda c: c["samples"][3].update(exhausted=0), "sample 4, exhausted: got 0"),
        (lambda c: c["samples"][3].update(energy=float("nan")), "no JSON in UTF-8"),
        (
            lambda c: c["samples"][3].update(energy=1e300),
            "sample 4, energy: got 1e.300; allowed: a number from",
        ),
        (lambda c: c["samples"][3].update(identity_error=10**400), "sample 4, identity_error: got 1000"),
        (lambda c: c["tau_by_percentile"].update(P10=10**400), "tau_by_percentile: got P10"),
        (lambda c: c["tau_by_percentile"].update(P0=0.1), "tau_by_percentile: got P0"),
        (lambda c: c["tau_by_percentile"].update({"P1_0": 0.1}), "tau_by_percentile: got P1_0"),
        (lambda c: c["tau_by_percentile"].update({"Pnan": 0.1}), "tau_by_percentile: got Pnan"),
        (lambda c: c["tau_by_percentile"].update({"P\n": 0.1}), "tau_by_percentile: got P"),
    ],
)
def test_a_broken_file_is_one_line(change, said, found):
    content = json.loads(found.to_json())
    change(content)
    with pytest.raises(GateError, match=said) as caught:
        sweep_from_json(json.dumps(content))
    assert "\n" not in str(caught.value)


def test_what_follows_from_the_samples_is_not_taken_from_the_file(budgeted):
    content = json.loads(budgeted.to_json())
    content["summary"]["P10"]["accept"] += 50
    content["summary"]["P10"].pop("random")
    content["summary"].update(P20=5)
    content["summary"].pop("P30")
    content["controls"] = {"random": {"tau_accept": 9.0}}
    assert sweep_from_json(json.dumps(content)) == budgeted


def test_a_file_of_one_group_has_nothing_held_out(budgeted):
    content = json.loads(budgeted.to_json())
    for sample in content["samples"]:
        sample["group"] = "all"
    found = sweep_from_json(json.dumps(content))
    assert found.controls == {}
    assert all(row["held_out"] is None for row in found.summary.values())


def test_percentiles_are_what_their_names_say(dataset, words):
    found = run_sweep(dataset, words, SweepSettings(n=None, percentiles=[10, 10.0000001, 33.33333333]))
    assert list(found.tau_by_percentile) == ["P10", "P33.3333"]
    assert list(found.taus) == found.settings["percentiles"] == [10.0, 33.3333]
    assert sweep_from_json(found.to_json()) == found


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, b"\xff"])
def test_another_file_is_no_sweep(text):
    with pytest.raises(GateError):
        sweep_from_json(text)


# ---------------------------------------------------------------------------------------- published sets


@pytest.mark.public_data
def test_thresholds_differ_between_domains_and_the_first_span_depends_on_order(public_data, cmu, embedder):
    """What the source's recipe gives on published sets: see docs/results/gate_public_data.md for the whole sets."""
    taus, rows = {}, {}
    sets = {"feverous": load_dataset(public_data / "feverous/norm.jsonl"), "cmu": cmu}
    for name, data in sets.items():
        found = run_sweep(data, embedder, SweepSettings(n=24))
        taus[name], rows[name] = found.tau_by_percentile["P10"], found.samples
    low, high = sorted(taus.values())
    assert high - low > 0.1
    open_rows = [row for row in rows["cmu"] if not row.trivial]
    assert open_rows
    assert np.mean([row.oracle_energy < 0.01 for row in open_rows]) < 0.95
    first = run_sweep(cmu, embedder, SweepSettings(n=24, oracle="first")).samples
    assert any(a.oracle_energy != b.oracle_energy for a, b in zip(rows["cmu"], first, strict=True))
    assert all(row.trivial and row.energy == row.energy_gap for row in rows["feverous"])


@pytest.mark.public_data
def test_a_budget_for_another_page_does_not_hold_for_the_same_page(feverous_pages, embedder):
    """The table "Hard negatives" of docs/gate.md."""
    found = run_sweep(feverous_pages, embedder, SweepSettings(n=None))
    assert (len(found.samples), len(gaps_of(found.samples, "hard"))) == (630, 568)
    random, hard = found.controls["random"], found.controls["hard"]
    assert (random.tau_accept, hard.tau_accept) == pytest.approx((0.9254, 0.1824), abs=5e-4)
    assert (random.negatives.accepted, random.negatives.count) == (4, 314)
    assert found.promise("random").endswith("No promise for evidence of the same page: 518 of 568 pass.")
    # The promise held on evidence of the same page, and what it costs.
    assert (hard.negatives.accepted, hard.negatives.count) == (7, 285)
    assert random.positives is not None
    assert hard.positives is not None
    assert (random.positives.share, hard.positives.share) == pytest.approx((1.0, 0.260), abs=5e-4)
