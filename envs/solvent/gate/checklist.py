"""The source's validation checklist, with the measured result of each item and a note on its worth.

    monotonicity   acceptance P1 < P5 < P10 < P20 < P30, strictly
    non-collapse   P30 rejects at least 60 %
    stability      variance of the gaps < 0.05 across 100 samples
    oracle sanity  oracle energy < 0.01 in 95 % of samples
    determinism    100 runs, identical outputs

Source: *Deterministic Policy Gates for Stochastic Systems*, "Empirical Validation Checklist". The notes name items
that hold by construction:

- *Rejected* means the verdict ``reject``. The source's "70 % rejection" counts every claim *not accepted*, which is
  100 - 30 by construction. The item shows both counts and decides on the first.
- The oracle's energy is 0 if there are no more spans than the rank.

Known approximation: a sweep file alone shows the determinism of the decisions only. With the data set each run starts
from the text, with claims and spans in another order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from solvent.gate.backends import RememberingEmbedder
from solvent.gate.calibration import percentile_thresholds
from solvent.gate.datasets import Sample
from solvent.gate.embedding import Embedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import EXHAUSTED, oracle_gap
from solvent.gate.policy import apply_adaptive_policy_gap, rounded
from solvent.gate.sweep import Sweep

__all__ = ["RUNS", "Item", "Runs", "run_checklist", "runs_from_text"]

PERCENTILES = (1.0, 5.0, 10.0, 20.0, 30.0)
LEAST_REJECTED = 0.60
MOST_VARIANCE = 0.05
SAMPLES = 100
LEAST_SANE = 0.95
RUNS = 100
"""Number of runs whose outputs must be identical."""

ENCODED_ANEW = 4  # texts per run


@dataclass(frozen=True)
class Item:
    """One item of the checklist, with a note on what its result is worth."""

    name: str
    passed: bool
    measured: str
    required: str
    note: str


@dataclass(frozen=True)
class Runs:
    """The number of distinct outputs of repeated runs, and a description of one run."""

    count: int
    different: int
    what: str


def run_checklist(sweep: Sweep, runs: Runs | None = None) -> tuple[Item, ...]:
    """Return the items for a sweep; ``runs`` as ``runs_from_text`` counts them, None to repeat the decisions alone."""
    missing = [f"P{p:g}" for p in PERCENTILES if f"P{p:g}" not in sweep.tau_by_percentile]
    if missing:
        raise GateError(
            f"the sweep has no {', '.join(missing)}; allowed: one with the percentiles 1, 5, 10, 20 and 30"
        )
    return (
        _monotonicity(sweep),
        _non_collapse(sweep),
        _stability(sweep),
        _oracle_sanity(sweep),
        _determinism(runs or _runs_from_numbers(sweep)),
    )


def _monotonicity(sweep: Sweep) -> Item:
    rates = [_share(sweep, p, "accept") for p in PERCENTILES]
    held = [(sweep.summary[f"P{p:g}"].get("held_out") or {}).get("acceptance_rate") for p in PERCENTILES]
    shown = ", ".join("-" if rate is None else f"{rate:.1%}" for rate in held)
    return Item(
        "monotonicity",
        all(a < b for a, b in pairwise(rates)),
        "accepted " + ", ".join(f"{rate:.1%}" for rate in rates),
        "P1 < P5 < P10 < P20 < P30",
        f"By construction, but for ties and small samples. Held out: {shown}.",
    )


def _non_collapse(sweep: Sweep) -> Item:
    rejected, accepted = _share(sweep, 30.0, "reject"), _share(sweep, 30.0, "accept")
    return Item(
        "non-collapse",
        rejected >= LEAST_REJECTED,
        f"P30 rejects {rejected:.1%}",
        f"at least {LEAST_REJECTED:.0%}",
        f"The verdict reject counts. Not accepted, review included: {1.0 - accepted:.1%}, 70 % by construction.",
    )


def _stability(sweep: Sweep) -> Item:
    gaps = np.array([row.energy_gap for row in sweep.samples])
    blocks = [gaps[i : i + SAMPLES] for i in range(0, len(gaps) - SAMPLES + 1, SAMPLES)]
    worst = max((float(block.var()) for block in blocks), default=float(gaps.var()))
    note = f"The worst {SAMPLES} of {len(blocks) * SAMPLES:,}. All {len(gaps):,} samples: {gaps.var():.4f}."
    if not blocks:
        note = f"Only {len(gaps)} samples, so it is not shown: draw {SAMPLES} or more."
    return Item(
        "stability",
        bool(blocks) and worst < MOST_VARIANCE,
        f"variance {worst:.4f}",
        f"below {MOST_VARIANCE} across {SAMPLES} samples",
        note,
    )


def _oracle_sanity(sweep: Sweep) -> Item:
    rows = sweep.samples
    sane = float(np.mean([row.oracle_energy < EXHAUSTED for row in rows]))
    first = float(np.mean([row.oracle_first_energy < EXHAUSTED for row in rows]))
    open_rows = [row for row in rows if not row.trivial]
    note = f"No more spans than rank, and so 0 by construction, in {1 - len(open_rows) / len(rows):.1%} of the samples"
    if open_rows:
        rest = float(np.mean([row.oracle_energy < EXHAUSTED for row in open_rows]))
        note += f"; of the other {len(open_rows)}, {rest:.1%}"
    return Item(
        "oracle sanity",
        sane >= LEAST_SANE,
        f"below {EXHAUSTED} in {sane:.1%}",
        f"in {LEAST_SANE:.0%} of the samples",
        f"{note}. With the first span as oracle: {first:.1%}.",
    )


def _determinism(runs: Runs) -> Item:
    return Item(
        "determinism",
        runs.count >= RUNS and runs.different == 1,
        f"{runs.different} different output{'s' if runs.different != 1 else ''} in {runs.count} runs",
        f"1 in {RUNS}",
        runs.what,
    )


def _share(sweep: Sweep, percentile: float, verdict: str) -> float:
    """Return the share with this verdict, counted from the samples rather than read from the file's summary."""
    tau = sweep.tau_by_percentile[f"P{percentile:g}"]
    return float(
        np.mean([apply_adaptive_policy_gap(row.energy_gap, tau) == verdict for row in sweep.samples])
    )


def _runs_from_numbers(sweep: Sweep) -> Runs:
    """Learn thresholds and decide ``RUNS`` times, with the samples in another order each time."""
    gaps = [row.energy_gap for row in sweep.samples]
    rng = np.random.default_rng(0)
    outputs = {_filed(sweep)}
    for _ in range(RUNS):
        outputs.add(_output(gaps, rng.permutation(len(gaps)), sweep.percentiles))
    return Runs(
        RUNS, len(outputs), "Thresholds and decisions from the stored gaps; --dataset measures from the text."
    )


def runs_from_text(
    sweep: Sweep,
    samples: Sequence[Sample],
    embedder: Embedder,
    *,
    anew: Embedder | None = None,
    runs: int = RUNS,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Runs:
    """Measure the sweep's claims ``runs`` times, with claims and spans in another order each time.

    Each run also encodes a few texts again, batched with other texts than before, and expects the same bits. The first
    output is that of the sweep file, which exposes a gap or threshold that doesn't match the data set. ``anew`` encodes
    those texts: the same model without a cache, by default ``embedder``.

    Raises:
        GateError: the data set lacks samples of the sweep, or has other text under their ids.
    """
    own = _same_samples(sweep, samples)
    remembering = RememberingEmbedder(embedder)
    texts = list(dict.fromkeys(chain.from_iterable((s.claim, *s.evidence) for s in own)))
    remembering.warm(texts)
    rng = np.random.default_rng(0)
    top_k, rank_r = int(sweep.settings["top_k"]), int(sweep.settings["rank_r"])
    outputs = {_filed(sweep)}
    unequal = 0
    for run in range(runs):
        on_progress(run, runs)
        drawn = [texts[i] for i in rng.permutation(len(texts))[:ENCODED_ANEW]]
        unequal += not np.array_equal((anew or embedder).encode(drawn), remembering.encode(drawn))
        order = rng.permutation(len(own))
        gaps = np.empty(len(own))
        for i in order:
            gaps[i] = _gap(own[i], remembering, rng, top_k, rank_r)
        outputs.add(_output(gaps.tolist(), order, sweep.percentiles))
    on_progress(runs, runs)
    what = f"From the text, claims and spans in another order each run; {ENCODED_ANEW} texts encoded anew in each"
    return Runs(runs, len(outputs) + unequal, f"{what}, {unequal} with other vectors.")


def _gap(
    sample: Sample, embedder: RememberingEmbedder, rng: np.random.Generator, top_k: int, rank_r: int
) -> float:
    spans = embedder.encode([sample.evidence[i] for i in rng.permutation(len(sample.evidence))])
    return rounded(oracle_gap(embedder.encode([sample.claim])[0], spans, top_k, rank_r).energy_gap)


def _same_samples(sweep: Sweep, samples: Sequence[Sample]) -> list[Sample]:
    by_id = {sample.id: sample for sample in samples}
    found = []
    for row in sweep.samples:
        sample = by_id.get(row.id)
        if sample is None or sample.digest != row.text_sha256:
            what = "is not in the data set" if sample is None else "has another text in the data set"
            raise GateError(f"sample {row.id!r} {what}; allowed: the file that the sweep was made from")
        found.append(replace(sample))
    return found


def _filed(sweep: Sweep) -> str:
    """Return the hash of the sweep's own gaps and thresholds."""
    gaps = [row.energy_gap for row in sweep.samples]
    taus = {float(name[1:]): rounded(tau) for name, tau in sweep.tau_by_percentile.items()}
    return _hashed(gaps, range(len(gaps)), taus)


def _output(gaps: Sequence[float], order: Any, percentiles: Sequence[float]) -> str:
    """Return the hash after learning thresholds and deciding in the given order."""
    return _hashed(gaps, order, percentile_thresholds([gaps[i] for i in order], percentiles))


def _hashed(gaps: Sequence[float], order: Any, taus: Mapping[float, float]) -> str:
    """Return a hash of the thresholds and of every claim's gap and verdicts."""
    verdicts = {int(i): [apply_adaptive_policy_gap(gaps[i], tau) for tau in taus.values()] for i in order}
    lines = [f"{i} {gaps[i]:.6f} {' '.join(verdicts[i])}" for i in sorted(verdicts)]
    return hashlib.sha256("\n".join([str(sorted(taus.items())), *lines]).encode()).hexdigest()
