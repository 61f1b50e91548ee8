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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from solvent.gate.backends import RememberingEmbedder
from solvent.gate.calibration import percentile_thresholds
from solvent.gate.datasets import Sample
from solvent.gate.embedding import Embedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import EXHAUSTED, oracle_gap
from solvent.gate.policy import apply_adaptive_policy_gap, rounded
from solvent.gate.policy_files import Item
from solvent.gate.sweep import Sweep

__all__ = ["RUNS", "Row", "Runs", "run_checklist", "runs_from_text", "runs_of"]

LEAST_REJECTED = 0.60
MOST_VARIANCE = 0.05
SAMPLES = 100
LEAST_SANE = 0.95
RUNS = 100
"""Number of runs whose outputs must be identical."""

ENCODED_ANEW = 4  # texts per run


class Row(Protocol):
    """A measured claim."""

    @property
    def energy_gap(self) -> float:
        """Its energy minus the oracle's."""

    @property
    def oracle_energy(self) -> float:
        """The energy of the oracle."""

    @property
    def trivial(self) -> bool:
        """True if the oracle's energy is 0 by construction."""


@dataclass(frozen=True)
class Runs:
    """The number of distinct outputs of repeated runs, and a description of one run."""

    count: int
    different: int
    what: str


def run_checklist(rows: Sequence[Row], runs: Runs | None = None) -> tuple[Item, ...]:
    """Return the items for measured claims; ``runs`` from ``runs_of`` or ``runs_from_text``, by default the former."""
    gaps = [row.energy_gap for row in rows]
    taus = percentile_thresholds(gaps)
    return (
        _monotonicity(gaps, taus),
        _non_collapse(gaps, taus[30.0]),
        _stability(np.array(gaps)),
        _oracle_sanity(rows),
        _determinism(runs or runs_of(gaps, taus)),
    )


def _monotonicity(gaps: Sequence[float], taus: Mapping[float, float]) -> Item:
    rates = [_share(gaps, tau, "accept") for tau in taus.values()]
    return Item(
        "monotonicity",
        all(a < b for a, b in pairwise(rates)),
        "accepted " + ", ".join(f"{rate:.1%}" for rate in rates),
        "P1 < P5 < P10 < P20 < P30",
        "By construction, but for ties and small samples.",
    )


def _non_collapse(gaps: Sequence[float], tau: float) -> Item:
    rejected, accepted = _share(gaps, tau, "reject"), _share(gaps, tau, "accept")
    return Item(
        "non-collapse",
        rejected >= LEAST_REJECTED,
        f"P30 rejects {rejected:.1%}",
        f"at least {LEAST_REJECTED:.0%}",
        f"The verdict reject counts. Not accepted, review included: {1.0 - accepted:.1%}, 70 % by construction.",
    )


def _stability(gaps: NDArray[np.float64]) -> Item:
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


def _oracle_sanity(rows: Sequence[Row]) -> Item:
    sane = float(np.mean([row.oracle_energy < EXHAUSTED for row in rows]))
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
        f"{note}.",
    )


def _determinism(runs: Runs) -> Item:
    return Item(
        "determinism",
        runs.count >= RUNS and runs.different == 1,
        f"{runs.different} different output{'s' if runs.different != 1 else ''} in {runs.count} runs",
        f"1 in {RUNS}",
        runs.what,
    )


def _share(gaps: Sequence[float], tau: float, verdict: str) -> float:
    return float(np.mean([apply_adaptive_policy_gap(gap, tau) == verdict for gap in gaps]))


def runs_of(gaps: Sequence[float], taus: Mapping[float, float]) -> Runs:
    """Learn thresholds and decide ``RUNS`` times, with the claims in another order each time.

    The first output is that of ``taus`` (percentile -> threshold), which exposes one that doesn't follow from the gaps.
    """
    rng = np.random.default_rng(0)
    outputs = {_hashed(gaps, range(len(gaps)), taus)}
    for _ in range(RUNS):
        outputs.add(_output(gaps, rng.permutation(len(gaps)), tuple(taus)))
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

    The spans keep their order if the oracle is the first of them.

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
    oracle = sweep.settings["oracle"]
    outputs = {_hashed([row.energy_gap for row in sweep.samples], range(len(own)), sweep.taus)}
    unequal = 0
    for run in range(runs):
        on_progress(run, runs)
        drawn = [texts[i] for i in rng.permutation(len(texts))[:ENCODED_ANEW]]
        unequal += not np.array_equal((anew or embedder).encode(drawn), remembering.encode(drawn))
        order = rng.permutation(len(own))
        gaps = np.empty(len(own))
        for i in order:
            spans = own[i].evidence
            shuffled = spans if oracle == "first" else [spans[j] for j in rng.permutation(len(spans))]
            claim, rows = remembering.encode([own[i].claim])[0], remembering.encode(shuffled)
            gaps[i] = rounded(oracle_gap(claim, rows, top_k, rank_r, oracle).energy_gap)
        outputs.add(_output(gaps.tolist(), order, tuple(sweep.taus)))
    on_progress(runs, runs)
    what = f"From the text, claims and spans in another order each run; {ENCODED_ANEW} texts encoded anew in each"
    return Runs(runs, len(outputs) + unequal, f"{what}, {unequal} with other vectors.")


def _same_samples(sweep: Sweep, samples: Sequence[Sample]) -> list[Sample]:
    by_id = {sample.id: sample for sample in samples}
    found = []
    for row in sweep.samples:
        sample = by_id.get(row.id)
        if sample is None or sample.digest != row.text_sha256:
            what = "is not in the data set" if sample is None else "has another text in the data set"
            raise GateError(f"sample {row.id!r} {what}; allowed: the file that the sweep was made from")
        found.append(sample)
    return found


def _output(gaps: Sequence[float], order: Iterable[int], percentiles: Sequence[float]) -> str:
    """Return the hash after learning thresholds and deciding in the given order."""
    return _hashed(gaps, order, percentile_thresholds([gaps[i] for i in order], percentiles))


def _hashed(gaps: Sequence[float], order: Iterable[int], taus: Mapping[float, float]) -> str:
    """Return a hash of the thresholds and of every claim's gap and verdicts."""
    verdicts = {int(i): [apply_adaptive_policy_gap(gaps[i], tau) for tau in taus.values()] for i in order}
    lines = [f"{i} {gaps[i]:.6f} {' '.join(verdicts[i])}" for i in sorted(verdicts)]
    return hashlib.sha256("\n".join([str(sorted(taus.items())), *lines]).encode()).hexdigest()
