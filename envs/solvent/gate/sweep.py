"""The percentile sweep: measure a domain's claims, learn thresholds from them, and write the source's JSON.

The source learns and reports on the same sample, where P10 accepts 10 % by construction. Every percentile therefore
has other rates:

- ``held_out``: learnt on one half and counted on the other, over many splits by group: mean and range
- ``random``: the share of claims accepted with the evidence of another group's claim
- ``hard``: the share of claims accepted with other evidence of their own page (``datasets.same_page``)

``controls`` has a threshold for each of these two kinds of mismatched evidence, learnt under a budget. Its report uses
pairs that it was not learnt from, with the exact binomial bound (``calibration``). What holds for random evidence does
not hold for evidence of the same page, so each policy names its kind and its promise.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Adaptive Policy". Known approximations: mismatched
evidence comes from the sampled claims alone. Other evidence of the same page may support a claim by chance, and then
counts as a false acceptance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from solvent.gate.backends import RememberingEmbedder
from solvent.gate.calibration import (
    PERCENTILES,
    NegativeControl,
    acceptance,
    adaptive_policies,
    held_out_shares,
    negative_control,
    percentile_thresholds,
)
from solvent.gate.datasets import Dataset, Sample, deranged, same_page
from solvent.gate.embedding import Embedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import RANK_R, TOP_K, GapResult, Oracle, oracle_gap
from solvent.gate.policy import Policy, apply_adaptive_policy_gap, review_limit, rounded

__all__ = [
    "FORMAT",
    "KINDS",
    "Measured",
    "Sweep",
    "SweepSettings",
    "controls_of",
    "gaps_of",
    "measured",
    "run_sweep",
    "summary_of",
]

FORMAT = "solvent.gate.sweep.v2"
SPLITS = 100

KINDS = {"random": "another page", "hard": "the same page"}
"""The kinds of mismatched evidence, and where it comes from."""

VERDICTS = ("accept", "review", "reject")

Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Measured:
    """The measurements of one sampled claim, rounded to 6 decimals.

    Attributes:
        id, group, label: as in the sample.
        text_sha256: sixteen digits of the SHA-256 of claim and evidence.
        spans: number of spans.
        energy, oracle_energy, energy_gap: with the oracle of the settings.
        random_gap: gap of the claim with the evidence of another group's claim.
        hard_gap: gap of the claim with other evidence of its page; None where there is none.
        effective_rank: number of directions used.
        identity_error: of the claim's measurement.
        exhausted: ``oracle_energy > 0.01``.
        trivial: no more spans than rank, so that the oracle's energy is 0 by construction.
    """

    id: str
    group: str
    label: str | None
    text_sha256: str
    spans: int
    energy: float
    oracle_energy: float
    energy_gap: float
    random_gap: float
    hard_gap: float | None
    effective_rank: int
    identity_error: float
    exhausted: bool
    trivial: bool


@dataclass(frozen=True)
class Sweep:
    """Results of a sweep. ``tau_by_percentile`` and ``summary`` have keys like ``P10``."""

    dataset: Mapping[str, Any]
    model: Mapping[str, str]
    settings: Mapping[str, Any]
    tau_by_percentile: Mapping[str, float]
    summary: Mapping[str, Mapping[str, Any]]
    controls: Mapping[str, NegativeControl]
    samples: tuple[Measured, ...]

    @property
    def taus(self) -> dict[float, float]:
        """The thresholds by percentile, in ascending order."""
        return dict(sorted((float(name[1:]), rounded(tau)) for name, tau in self.tau_by_percentile.items()))

    def policies(self, domain: str | None = None) -> tuple[Policy, ...]:
        """Return an adaptive policy for each percentile and one for each control, with the hashes of their samples."""
        about = {
            "domain": domain or self.dataset["name"],
            "model": self.model["name"],
            "model_fingerprint": self.model["fingerprint"],
            "oracle": self.settings["oracle"],
            "top_k": self.settings["top_k"],
            "rank_r": self.settings["rank_r"],
        }
        gaps = [sample.energy_gap for sample in self.samples]
        found = adaptive_policies(gaps, percentiles=tuple(self.taus), **about)
        budgets = [
            control.policy(kind, self.promise(kind), **about) for kind, control in self.controls.items()
        ]
        return (*found, *budgets)

    def promise(self, kind: str) -> str:
        """Return the promise of a control's threshold: what it holds for, and the rate on the other kind."""
        control, (other,) = self.controls[kind], KINDS.keys() - {kind}
        held = control.negatives
        passed = acceptance(gaps_of(self.samples, other), control.tau_accept)
        tried = f"{passed.accepted} of {passed.count} pass" if passed.count else "none was tried"
        return (
            f"At most {control.budget:.1%} of claims with evidence of {KINDS[kind]} pass ({control.confidence:.0%}"
            f" sure; held out {held.accepted} of {held.count}). No promise for evidence of {KINDS[other]}: {tried}."
        )

    def to_json(self) -> str:
        """Return the text of the sweep file, with the same bytes for the same sweep."""
        content = {"format": FORMAT, **{field.name: getattr(self, field.name) for field in fields(self)}}
        content["samples"] = [asdict(sample) for sample in self.samples]
        content["controls"] = {kind: _plain(asdict(control)) for kind, control in self.controls.items()}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True)
class SweepSettings:
    """Settings of a sweep.

    Attributes:
        n: number of claims drawn without replacement; None takes all.
        seed: seed of the draw, the mismatched evidence and the splits.
        top_k: maximum number of spans.
        rank_r: maximum number of directions.
        oracle: oracle of the gap: ``medoid``, ``first`` (the source's) or ``none``.
        percentiles: percentiles of the gaps, each above 0 and up to 100.
        budget: false acceptance allowed to each kind of mismatched evidence.
    """

    n: int | None = 100
    seed: int = 0
    top_k: int = TOP_K
    rank_r: int = RANK_R
    oracle: Oracle = "medoid"
    percentiles: Sequence[float] = PERCENTILES
    budget: float = 0.05

    def __post_init__(self) -> None:
        if self.n is not None and self.n < 2:
            raise GateError(f"n: got {self.n}; allowed: 2 or more")
        if not 0.0 < self.budget < 1.0:
            raise GateError(f"budget: got {self.budget:g}; allowed: above 0 and below 1")


def run_sweep(
    dataset: Dataset,
    embedder: Embedder,
    settings: SweepSettings | None = None,
    on_progress: Progress = lambda *_: None,
) -> Sweep:
    """Draw claims, measure them and learn thresholds; ``on_progress`` receives the stage, steps done and total."""
    settings = settings or SweepSettings()
    rows = measured(dataset.drawn(settings.n, settings.seed).samples, embedder, settings, on_progress)
    # The names of the thresholds have six significant digits.
    percentiles = sorted({float(f"{float(p):g}") for p in settings.percentiles})
    cuts = percentile_thresholds([row.energy_gap for row in rows], percentiles)
    taus = {f"P{p:g}": tau for p, tau in cuts.items()}
    return Sweep(
        dataset={
            "name": dataset.name,
            "format": dataset.format,
            "sha256": dataset.sha256,
            "samples": len(dataset.samples),
            "labels": dataset.counts,
            "skipped": len(dataset.skipped),
        },
        model={"name": embedder.name, "fingerprint": embedder.fingerprint},
        settings={
            "n": len(rows),
            "seed": settings.seed,
            "top_k": settings.top_k,
            "rank_r": settings.rank_r,
            "oracle": settings.oracle,
            "percentiles": percentiles,
            "budget": settings.budget,
        },
        tau_by_percentile=taus,
        summary=summary_of(rows, taus, settings.seed),
        controls=controls_of(rows, settings.budget, settings.seed),
        samples=rows,
    )


def measured(
    samples: Sequence[Sample],
    embedder: Embedder,
    settings: SweepSettings | None = None,
    on_progress: Progress = lambda *_: None,
) -> tuple[Measured, ...]:
    """Measure samples, each with its own and with mismatched evidence; ``n``, percentiles and budget don't matter."""
    settings = settings or SweepSettings()
    mismatched = zip(deranged(samples, settings.seed), same_page(samples, settings.seed), strict=True)
    remembering = RememberingEmbedder(embedder)
    remembering.warm(
        chain.from_iterable((s.claim, *s.evidence) for s in samples),
        lambda done, total: on_progress("sentences encoded", done, total),
    )
    rows = []
    for done, (sample, (random, hard)) in enumerate(zip(samples, mismatched, strict=True)):
        if done % 50 == 0:
            on_progress("claims measured", done, len(samples))
        rows.append(_measured(sample, random, hard, remembering, settings))
    on_progress("claims measured", len(samples), len(samples))
    return tuple(rows)


def _measured(
    sample: Sample,
    random: Sample,
    hard: Sample | None,
    embedder: RememberingEmbedder,
    settings: SweepSettings,
) -> Measured:
    claim = embedder.encode([sample.claim])[0]

    def against(evidence: Sequence[str]) -> GapResult:
        spans = embedder.encode(evidence)
        return oracle_gap(claim, spans, settings.top_k, settings.rank_r, settings.oracle)

    gap = against(sample.evidence)
    return Measured(
        id=sample.id,
        group=sample.group,
        label=sample.label,
        text_sha256=sample.digest,
        spans=len(sample.evidence),
        energy=rounded(gap.claim.energy),
        oracle_energy=rounded(gap.oracle_energy),
        energy_gap=rounded(gap.energy_gap),
        random_gap=rounded(against(random.evidence).energy_gap),
        hard_gap=None if hard is None else rounded(against(hard.evidence).energy_gap),
        effective_rank=gap.claim.effective_rank,
        identity_error=rounded(gap.claim.identity_error),
        exhausted=gap.exhausted,
        trivial=gap.trivial,
    )


def summary_of(rows: Sequence[Measured], taus: Mapping[str, float], seed: int) -> dict[str, dict[str, Any]]:
    """Count each threshold's verdicts on the claims it was learnt from, on held-out ones and on mismatched ones."""
    gaps = [row.energy_gap for row in rows]
    groups = [row.group for row in rows]
    held = _held_out(gaps, groups, [float(name[1:]) for name in taus], seed)
    summary = {}
    for name, tau in taus.items():
        counts = dict.fromkeys(VERDICTS, 0)
        for gap in gaps:
            counts[apply_adaptive_policy_gap(gap, tau)] += 1
        summary[name] = {
            "tau_accept": rounded(tau),
            "tau_review": rounded(review_limit(tau)),
            **counts,
            "acceptance_rate": _share(counts["accept"], len(rows)),
            "rejection_rate": _share(counts["reject"], len(rows)),
            "not_accepted_rate": _share(len(rows) - counts["accept"], len(rows)),
            "held_out": held.get(float(name[1:])),
            **{kind: _plain(asdict(acceptance(gaps_of(rows, kind), tau))) for kind in KINDS},
        }
    return summary


def _held_out(
    gaps: Sequence[float], groups: Sequence[str], percentiles: Sequence[float], seed: int
) -> dict[float, dict[str, float]]:
    """Return the acceptance on the held-out half, over many splits; nothing for a single group."""
    if len(set(groups)) < 2:
        return {}
    shares = held_out_shares(gaps, groups, percentiles, splits=SPLITS, seed=seed)
    return {
        p: {
            "acceptance_rate": rounded(float(np.mean(values))),
            "low": rounded(float(np.quantile(values, 0.025))),
            "high": rounded(float(np.quantile(values, 0.975))),
            "splits": SPLITS,
        }
        for p, values in shares.items()
    }


def gaps_of(rows: Sequence[Measured], kind: str) -> list[float]:
    """Return the gaps of the claims that have mismatched evidence of a kind."""
    gaps = [row.random_gap if kind == "random" else row.hard_gap for row in rows]
    return [gap for gap in gaps if gap is not None]


def controls_of(rows: Sequence[Measured], budget: float, seed: int) -> dict[str, NegativeControl]:
    """Return a threshold for each kind of mismatched evidence that the sample has enough of for the confidence."""
    found = {}
    matched = [row for row in rows if row.label in ("supported", None)]
    for kind in KINDS:
        pairs = [row for row in rows if kind == "random" or row.hard_gap is not None]
        # One half must satisfy (1 - budget)^n <= 0.05, the bound without any acceptance, with a margin in n.
        if len(pairs) / 2 < 1.2 * math.log(0.05) / math.log1p(-budget):
            continue
        try:
            control = negative_control(
                gaps_of(pairs, kind),
                [row.group for row in pairs],
                budget=budget,
                positives=[row.energy_gap for row in matched] or None,
                positive_groups=[row.group for row in matched] or None,
                seed=seed,
            )
        except GateError:  # large groups leave one half too small or empty
            continue
        found[kind] = control
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return rounded(value) if isinstance(value, float) else value


def _share(part: int, whole: int) -> float:
    return rounded(part / whole)
