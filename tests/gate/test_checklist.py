"""The source's checklist: each item can hold and can fail, at its limit, and says what it counted."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from solvent.gate.calibration import percentile_thresholds
from solvent.gate.checklist import RUNS, Runs, run_checklist, runs_from_text, runs_of
from solvent.gate.errors import GateError
from solvent.gate.sweep import Measured, Sweep, SweepSettings, run_sweep, summary_of
from solvent.gate.sweep_file import sweep_from_json

GOOD = Runs(RUNS, 1, "")


def sweep_of(gaps, **columns):
    """A sweep with these gaps; other columns by name."""
    rows = []
    for i, gap in enumerate(gaps):
        given = {name: values[i] for name, values in columns.items()}
        fields = {
            "id": f"s{i}",
            "group": f"g{i}",
            "label": None,
            "text_sha256": "0",
            "spans": 2,
            "energy": gap,
            "oracle_energy": 0.0,
            "energy_gap": gap,
            "random_gap": 1.0,
            "hard_gap": None,
            "effective_rank": 2,
            "identity_error": 0.0,
            "exhausted": False,
            "trivial": True,
        }
        rows.append(Measured(**(fields | given)))
    taus = {f"P{p:g}": tau for p, tau in percentile_thresholds(gaps).items()}
    settings = {"n": len(rows), "seed": 0, "top_k": 12, "rank_r": 8, "oracle": "medoid"}
    model = {"name": "words", "fingerprint": "0" * 64}
    return Sweep({"name": "x"}, model, settings, taus, summary_of(rows, taus, 0), {}, tuple(rows))


def item(name, sweep, runs=GOOD):
    return next(found for found in run_checklist(sweep.samples, runs) if found.name == name)


SPREAD = np.linspace(0.2, 0.7, 100).round(6).tolist()


def test_all_five_can_hold():
    # A third of the claims is far below the others, so that the review band of P30 holds few.
    gaps = [*np.linspace(0.2, 0.3, 32), *np.linspace(0.5, 0.8, 68)]
    items = run_checklist(sweep_of(gaps).samples, GOOD)
    assert [found.name for found in items] == [
        "monotonicity",
        "non-collapse",
        "stability",
        "oracle sanity",
        "determinism",
    ]
    assert all(found.passed for found in items)


def test_monotonicity_fails_where_thresholds_accept_alike():
    assert item("monotonicity", sweep_of(SPREAD)).passed
    tied = item("monotonicity", sweep_of([0.2] * 15 + SPREAD[15:]))
    assert not tied.passed
    assert tied.measured == "accepted 15.0%, 15.0%, 15.0%, 20.0%, 30.0%"
    assert not item("monotonicity", sweep_of([0.3, 0.4, 0.5])).passed


def test_non_collapse_counts_the_verdict_reject_and_shows_both():
    found = item("non-collapse", sweep_of(SPREAD))
    tau = sorted(SPREAD)[29]
    rejected = np.mean([gap > round(1.25 * tau, 6) for gap in SPREAD])
    assert rejected < 0.6
    assert not found.passed
    assert found.measured == f"P30 rejects {rejected:.1%}"
    assert "Not accepted, review included: 70.0%" in found.note


def test_non_collapse_at_its_limit():
    gaps = [0.1] * 30 + [0.12] * 10 + [0.5] * 60
    assert item("non-collapse", sweep_of(gaps)).passed
    gaps = [0.1] * 30 + [0.12] * 11 + [0.5] * 59
    assert not item("non-collapse", sweep_of(gaps)).passed


def test_stability_takes_the_worst_hundred():
    assert item("stability", sweep_of(SPREAD)).passed
    wild = [0.0, 1.0] * 50
    found = item("stability", sweep_of(SPREAD + wild + SPREAD))
    assert not found.passed
    assert found.measured == "variance 0.2500"
    assert "The worst 100 of 300." in found.note


def test_stability_is_not_shown_by_fewer_than_a_hundred():
    found = item("stability", sweep_of(SPREAD[:99]))
    assert not found.passed
    assert "Only 99 samples" in found.note


@pytest.mark.parametrize(("sane", "passed"), [(95, True), (94, False)])
def test_oracle_sanity_at_its_limit(sane, passed):
    energies = [0.0099] * sane + [0.01] * (100 - sane)
    found = item("oracle sanity", sweep_of(SPREAD, oracle_energy=energies, trivial=[False] * 100))
    assert found.passed == passed
    assert found.measured == f"below 0.01 in {sane:.1f}%"


def test_oracle_sanity_says_what_holds_by_construction():
    energies = [0.0] * 96 + [0.2] * 4
    found = item("oracle sanity", sweep_of(SPREAD, oracle_energy=energies, trivial=[True] * 96 + [False] * 4))
    assert found.passed
    assert "by construction, in 96.0% of the samples; of the other 4, 0.0%" in found.note


@pytest.mark.parametrize(
    ("runs", "passed"), [(GOOD, True), (Runs(99, 1, ""), False), (Runs(100, 2, ""), False)]
)
def test_determinism(runs, passed):
    assert item("determinism", sweep_of(SPREAD), runs).passed == passed


def test_decisions_repeat_from_the_file_alone():
    found = run_checklist(sweep_of(SPREAD).samples)[4]
    assert found.passed
    assert found.measured == "1 different output in 100 runs"


# ------------------------------------------------------------------------------------------ from the text


@pytest.fixture(scope="module")
def sweep(dataset, words):
    return run_sweep(dataset, words, SweepSettings(n=30))


def test_runs_from_the_text_agree_with_the_file(sweep, dataset, words):
    seen: list[tuple[int, int]] = []
    runs = runs_from_text(sweep, dataset.samples, words, on_progress=lambda *n: seen.append(n))
    assert (runs.count, runs.different) == (100, 1)
    assert "0 with other vectors" in runs.what
    assert seen[-1] == (100, 100)


def test_a_threshold_or_a_gap_that_was_edited_shows(sweep, dataset, words):
    content = json.loads(sweep.to_json())
    content["samples"][0]["energy_gap"] += 1e-6
    runs = runs_from_text(sweep_from_json(json.dumps(content)), dataset.samples, words, runs=2)
    assert runs.different == 2


@pytest.mark.parametrize("name", ["P1", "P30"])
def test_a_threshold_that_was_edited_shows_with_and_without_the_text(name, sweep, dataset, words):
    gaps = [row.energy_gap for row in sweep.samples]
    assert run_checklist(sweep.samples, runs_of(gaps, sweep.taus))[4].passed
    edited = replace(
        sweep, tau_by_percentile={**sweep.tau_by_percentile, name: sweep.tau_by_percentile[name] + 1e-6}
    )
    assert not run_checklist(sweep.samples, runs_of(gaps, edited.taus))[4].passed
    assert runs_from_text(edited, dataset.samples, words, runs=2).different == 2


def test_an_embedder_that_wavers_shows(sweep, dataset, words):
    class Wavering:
        name, dimension, fingerprint = words.name, words.dimension, words.fingerprint
        calls = 0

        def encode(self, texts):
            self.calls += 1
            rows = words.encode(texts)
            return rows if self.calls < 5 else rows + 1e-9

    assert runs_from_text(sweep, dataset.samples, Wavering(), runs=10).different > 1


def test_another_data_set_is_one_line(sweep, dataset, words):
    changed = [replace(sample, claim=sample.claim + "!") for sample in dataset.samples]
    with pytest.raises(GateError, match="has another text in the data set; allowed"):
        runs_from_text(sweep, changed, words)
    with pytest.raises(GateError, match="is not in the data set; allowed"):
        runs_from_text(sweep, [], words)


@pytest.mark.public_data
def test_the_checklist_on_a_published_set(cmu, embedder):
    """Long evidence: the oracle is not sane there, and the checklist says so instead of hiding it."""
    sweep = run_sweep(cmu, embedder, SweepSettings(n=30))
    items = run_checklist(sweep.samples, runs_from_text(sweep, cmu.samples, embedder))
    held = {found.name: found.passed for found in items}
    assert held["determinism"]
    assert not held["oracle sanity"]
