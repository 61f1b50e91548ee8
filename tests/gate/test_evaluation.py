"""AUROC and its intervals against hand-counted and library values, and the comparisons on small and published sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from solvent.gate.backends import residual
from solvent.gate.datasets import load_dataset
from solvent.gate.errors import GateError
from solvent.gate.evaluation import auroc, aurocs, evaluate_backends, standard_backends


def pairs(scores, supported, strata):
    """Counted pair by pair."""
    won = total = 0.0
    for i, j in itertools.permutations(range(len(scores)), 2):
        if supported[i] and not supported[j] and strata[i] == strata[j]:
            total += 1
            won += (scores[j] > scores[i]) + 0.5 * (scores[j] == scores[i])
    return won / total


def test_by_hand():
    assert auroc([0.1, 0.2, 0.9], [True, True, False]) == 1.0
    assert auroc([0.9, 0.2, 0.1], [True, False, False]) == 0.0
    assert auroc([0.5, 0.5], [True, False]) == 0.5
    assert auroc([0.1, 0.5, 0.5, 0.9], [True, True, False, False]) == 0.875
    assert np.isnan(auroc([0.1, 0.2], [True, True]))


@pytest.mark.parametrize("seed", range(5))
def test_as_counted_pair_by_pair(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 8, 60).astype(float).tolist()
    supported = (rng.random(60) < 0.4).tolist()
    strata = rng.integers(0, 3, 60).tolist()
    assert auroc(scores, supported) == pytest.approx(pairs(scores, supported, [0] * 60))
    found = aurocs({"x": scores}, supported, [str(i) for i in range(60)], strata=strata, resamples=10)
    assert found["x"].value == pytest.approx(pairs(scores, supported, strata))


def test_as_scikit_learn_counts():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    supported, scores = rng.random(400) < 0.5, np.round(rng.random(400), 2)
    assert auroc(scores, supported) == pytest.approx(metrics.roc_auc_score(~supported, scores))


def test_an_interval_holds_the_truth_as_often_as_it_says():
    # Normal scores one standard deviation apart: the AUROC is Phi(1 / sqrt 2).
    truth, held = 0.760250, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        supported = np.arange(120) < 60
        scores = rng.standard_normal(120) + ~supported
        found = aurocs({"x": scores}, supported, [str(i) for i in range(120)], resamples=200, seed=seed)["x"]
        held += found.low <= truth <= found.high
    assert 0.90 <= held / 200 <= 0.99


def test_groups_are_drawn_together():
    """Ten copies of everything say no more than one, and the interval knows it."""
    rng = np.random.default_rng(0)
    supported = np.arange(40) < 20
    scores = rng.standard_normal(40) + ~supported
    groups = [str(i) for i in range(40)]
    once = aurocs({"x": scores}, supported, groups)["x"]
    copies = aurocs({"x": np.tile(scores, 10)}, np.tile(supported, 10), groups * 10)["x"]
    assert copies.low == pytest.approx(once.low)
    assert copies.high == pytest.approx(once.high)
    apart = aurocs({"x": np.tile(scores, 10)}, np.tile(supported, 10), [str(i) for i in range(400)])["x"]
    assert apart.high - apart.low < 0.5 * (once.high - once.low)


def test_gains_are_paired():
    rng = np.random.default_rng(0)
    supported = np.arange(100) < 50
    scores = rng.standard_normal(100) + ~supported
    better = scores + 0.3 * ~supported
    found = aurocs({"a": scores, "b": better, "same": scores}, supported, [str(i) for i in range(100)])
    assert (found["a"].gain, found["a"].gain_low, found["a"].gain_high) == (0.0, 0.0, 0.0)
    assert (found["same"].gain_low, found["same"].gain_high) == (0.0, 0.0)
    assert found["b"].gain == pytest.approx(found["b"].value - found["a"].value)
    assert 0 < found["b"].gain_low < found["b"].gain < found["b"].gain_high
    assert found["b"].gain_high - found["b"].gain_low < found["b"].high - found["b"].low


def test_draws_repeat():
    rng = np.random.default_rng(0)
    arguments = ({"x": rng.random(50)}, rng.random(50) < 0.5, [str(i // 2) for i in range(50)])
    assert aurocs(*arguments, seed=3) == aurocs(*arguments, seed=3)
    assert aurocs(*arguments, seed=3) != aurocs(*arguments, seed=4)


@pytest.mark.parametrize(
    ("scores", "supported"), [([], []), ([0.1], [True, False]), ([float("nan")], [True]), ([[0.1]], [[True]])]
)
def test_what_cant_be_compared(scores, supported):
    with pytest.raises(GateError, match="scores: "):
        auroc(scores, supported)


# ------------------------------------------------------------------------------------------ whole sets


def test_a_small_set(written, small, words):
    pytest.importorskip("sklearn")
    seen: list[str] = []
    samples = load_dataset(written(small)).samples
    backends = standard_backends(samples, words, on_progress=lambda stage, *_: seen.append(stage))
    found = evaluate_backends(
        samples, backends, resamples=200, on_progress=lambda stage, *_: seen.append(stage)
    )
    assert list(dict.fromkeys(row.against for row in found.comparisons)) == ["shuffled", "refuted", "nei"]
    assert found.of("shuffled", "residual").auroc.value == 1.0
    assert found.of("refuted", "residual").auroc.value > 0.9
    assert found.of("nei", "tfidf").auroc.value > 0.9
    # Every kind of claim has the same evidence here, so the number of spans says nothing.
    assert found.of("refuted", "spans").auroc.value == 0.5
    assert found.of("refuted", "spans", matched=True).auroc.value == 0.5
    assert found.of("refuted", "residual").auroc.gain == 0.0
    assert (found.of("nei", "gap").supported, found.of("nei", "gap").others) == (30, 30)
    assert set(seen) == {"sentences encoded", "scores", "comparisons"}
    assert len(found.scores["shuffled"]["cosine"]) == 30
    with pytest.raises(GateError, match="no comparison"):
        found.of("refuted", "magic")


def test_a_leak_through_the_number_of_spans_is_matched_away(written, words):
    """Refuted claims get one span more; nothing else differs."""
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    records = []
    for i in range(120):
        refuted = i % 2 == 0
        spans = [
            " ".join(f"w{rng.integers(50)}" for _ in range(6))
            for _ in range(2 + int(rng.random() < 0.4 + 0.4 * refuted))
        ]
        claim = " ".join(f"w{rng.integers(50)}" for _ in range(6))
        records.append(
            {"claim": f"{claim} {i}", "evidence": spans, "label": "refuted" if refuted else "supported"}
        )
    samples = load_dataset(written(records)).samples
    found = evaluate_backends(samples, standard_backends(samples, words), resamples=100)
    assert found.of("refuted", "spans").auroc.value < 0.4
    assert found.of("refuted", "spans", matched=True).auroc.value == 0.5


def test_without_labels_all_count_as_supported(written, words):
    pytest.importorskip("sklearn")
    records = [{"claim": f"a {i} b", "evidence": [f"a {i} b c"]} for i in range(8)]
    samples = load_dataset(written(records)).samples
    found = evaluate_backends(samples, standard_backends(samples, words), resamples=100)
    assert {row.against for row in found.comparisons} == {"shuffled"}


def test_nothing_supported_is_one_line(written, words):
    records = [{"claim": f"a {i}", "evidence": [f"a {i}"], "label": "refuted"} for i in range(8)]
    with pytest.raises(GateError, match="got 0 supported claims; allowed: at least 2"):
        evaluate_backends(load_dataset(written(records)).samples, {"residual": residual(words)})


@pytest.mark.public_data
def test_the_number_of_spans_leaks_feverous_labels(public_data):
    samples = load_dataset(public_data / "feverous/norm.jsonl").samples
    counts = [len(sample.evidence) for sample in samples]
    supported = [sample.label == "supported" for sample in samples]
    groups = [sample.group for sample in samples]
    scores = {"spans": [-count for count in counts]}
    assert aurocs(scores, supported, groups, resamples=100)["spans"].value == pytest.approx(0.87, abs=0.01)
    assert aurocs(scores, supported, groups, strata=counts, resamples=100)["spans"].value == 0.5


@pytest.mark.public_data
def test_on_topic_is_told_from_off_topic_and_refuted_hardly(public_data, embedder):
    pytest.importorskip("sklearn")
    drawn = load_dataset(public_data / "fever_symmetric/norm.jsonl").drawn(240, 0)
    found = evaluate_backends(drawn.samples, standard_backends(drawn.samples, embedder), resamples=200)
    assert found.of("shuffled", "residual").auroc.low > 0.9
    assert found.of("refuted", "residual").auroc.value < 0.75
