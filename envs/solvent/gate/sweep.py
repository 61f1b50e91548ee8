"""The percentile sweep: measure a domain's claims, learn thresholds from them, and write the source's JSON.

The source learns and reports on the same sample, where P10 accepts 10 % by construction. Every percentile therefore
has two other rates:

- ``held_out``: learnt on one half and counted on the other, over many splits by group: mean and range
- ``control``: the share of claims accepted with the evidence of another group's claim

``negative_control`` is a threshold learnt from such mismatched evidence under a budget. Its report uses pairs that it
was not learnt from, with the exact binomial bound (``calibration``). The oracle is the medoid span;
``oracle_first_energy`` uses the source's oracle, the first span.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Adaptive Policy". Known approximation: mismatched
evidence comes from the sampled claims alone.
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
    acceptance,
    adaptive_policies,
    budget_label,
    held_out_shares,
    negative_control,
    percentile_thresholds,
)
from solvent.gate.datasets import Dataset, Sample, deranged
from solvent.gate.embedding import Embedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import RANK_R, TOP_K, oracle_gap
from solvent.gate.policy import Policy, apply_adaptive_policy_gap, review_limit, rounded

__all__ = [
    "FORMAT",
    "Measured",
    "Sweep",
    "SweepSettings",
    "control_of",
    "measured",
    "run_sweep",
    "summary_of",
]

FORMAT = "solvent.gate.sweep.v1"
SPLITS = 100

VERDICTS = ("accept", "review", "reject")

Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Measured:
    """The measurements of one sampled claim, rounded to 6 decimals.

    Attributes:
        id, group, label: as in the sample.
        text_sha256: sixteen digits of the SHA-256 of claim and evidence.
        spans: number of spans.
        energy, oracle_energy, energy_gap: with the medoid as oracle.
        oracle_first_energy: with the first span as oracle, as in the source.
        control_gap: gap of the claim with the evidence of another group's claim.
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
    oracle_first_energy: float
    control_gap: float
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
    negative_control: Mapping[str, Any] | None
    samples: tuple[Measured, ...]

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The percentiles in ascending order."""
        return tuple(sorted(float(name[1:]) for name in self.tau_by_percentile))

    def policies(self, domain: str | None = None) -> tuple[Policy, ...]:
        """Return an adaptive policy for each percentile and one for the budget, with the hashes of their samples."""
        fields = {
            "domain": domain or self.dataset["name"],
            "model": self.model["name"],
            "model_fingerprint": self.model["fingerprint"],
            "top_k": self.settings["top_k"],
            "rank_r": self.settings["rank_r"],
        }
        gaps = [sample.energy_gap for sample in self.samples]
        found = adaptive_policies(gaps, percentiles=self.percentiles, **fields)
        if self.negative_control is None:
            return found
        control = self.negative_control
        sample = {
            "calibration_sha256": control["calibration_sha256"],
            "calibration_count": control["learnt"]["count"],
        }
        budget = Policy.learnt(budget_label(control["budget"]), control["tau_accept"], **fields, **sample)
        return (*found, budget)

    def to_json(self) -> str:
        """Return the text of the sweep file, with the same bytes for the same sweep."""
        content = {"format": FORMAT, **{field.name: getattr(self, field.name) for field in fields(self)}}
        content["samples"] = [asdict(sample) for sample in self.samples]
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True)
class SweepSettings:
    """Settings of a sweep.

    Attributes:
        n: number of claims drawn without replacement; None takes all.
        seed: seed of the draw, the mismatched evidence and the splits.
        top_k: maximum number of spans.
        rank_r: maximum number of directions.
        percentiles: percentiles of the gaps, each above 0 and up to 100.
        budget: false acceptance allowed to the negative control.
    """

    n: int | None = 100
    seed: int = 0
    top_k: int = TOP_K
    rank_r: int = RANK_R
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
            "oracle": "medoid",
            "percentiles": percentiles,
            "budget": settings.budget,
        },
        tau_by_percentile=taus,
        summary=summary_of(rows, taus, settings.seed),
        negative_control=control_of(rows, settings.budget, settings.seed),
        samples=rows,
    )


def measured(
    samples: Sequence[Sample],
    embedder: Embedder,
    settings: SweepSettings | None = None,
    on_progress: Progress = lambda *_: None,
) -> tuple[Measured, ...]:
    """Measure samples, each with its control, by the settings ``seed``, ``top_k`` and ``rank_r``."""
    settings = settings or SweepSettings()
    controls = deranged(samples, settings.seed)
    remembering = RememberingEmbedder(embedder)
    remembering.warm(
        chain.from_iterable((s.claim, *s.evidence) for s in samples),
        lambda done, total: on_progress("sentences encoded", done, total),
    )
    rows = []
    for done, (sample, control) in enumerate(zip(samples, controls, strict=True)):
        if done % 50 == 0:
            on_progress("claims measured", done, len(samples))
        rows.append(_measured(sample, control, remembering, settings.top_k, settings.rank_r))
    on_progress("claims measured", len(samples), len(samples))
    return tuple(rows)


def _measured(
    sample: Sample, control: Sample, embedder: RememberingEmbedder, top_k: int, rank_r: int
) -> Measured:
    claim = embedder.encode([sample.claim])[0]
    own, other = embedder.encode(sample.evidence), embedder.encode(control.evidence)
    gap = oracle_gap(claim, own, top_k, rank_r)
    first = oracle_gap(claim, own, top_k, rank_r, oracle="first")
    mismatched = oracle_gap(claim, other, top_k, rank_r)
    return Measured(
        id=sample.id,
        group=sample.group,
        label=sample.label,
        text_sha256=sample.digest,
        spans=len(sample.evidence),
        energy=rounded(gap.claim.energy),
        oracle_energy=rounded(gap.oracle_energy),
        energy_gap=rounded(gap.energy_gap),
        oracle_first_energy=rounded(first.oracle_energy),
        control_gap=rounded(mismatched.energy_gap),
        effective_rank=gap.claim.effective_rank,
        identity_error=rounded(gap.claim.identity_error),
        exhausted=gap.exhausted,
        trivial=gap.trivial,
    )


def summary_of(rows: Sequence[Measured], taus: Mapping[str, float], seed: int) -> dict[str, dict[str, Any]]:
    """Count each threshold's verdicts on the claims it was learnt from, on held-out ones and on mismatched ones."""
    gaps = [row.energy_gap for row in rows]
    controls = [row.control_gap for row in rows]
    groups = [row.group for row in rows]
    held = _held_out(gaps, groups, [float(name[1:]) for name in taus], seed)
    summary = {}
    for name, tau in taus.items():
        counts = dict.fromkeys(VERDICTS, 0)
        for gap in gaps:
            counts[apply_adaptive_policy_gap(gap, tau)] += 1
        rate = acceptance(controls, tau)
        summary[name] = {
            "tau_accept": rounded(tau),
            "tau_review": rounded(review_limit(tau)),
            **counts,
            "acceptance_rate": _share(counts["accept"], len(rows)),
            "rejection_rate": _share(counts["reject"], len(rows)),
            "not_accepted_rate": _share(len(rows) - counts["accept"], len(rows)),
            "held_out": held.get(float(name[1:])),
            "control": _plain(asdict(rate)),
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


def control_of(rows: Sequence[Measured], budget: float, seed: int) -> dict[str, Any] | None:
    """Return a threshold by a budget for false acceptance, or None if the sample is too small for the confidence."""
    # One half must satisfy (1 - budget)^n <= 0.05, the bound without any acceptance, with a margin in n.
    if len(rows) / 2 < 1.2 * math.log(0.05) / math.log1p(-budget):
        return None
    groups = [row.group for row in rows]
    try:
        found = negative_control(
            [row.control_gap for row in rows],
            groups,
            budget=budget,
            positives=[row.energy_gap for row in rows if row.label in ("supported", None)] or None,
            positive_groups=[row.group for row in rows if row.label in ("supported", None)] or None,
            seed=seed,
        )
    except GateError:  # large groups leave one half too small or empty
        return None
    return dict(_plain(asdict(found)))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return rounded(value) if isinstance(value, float) else value


def _share(part: int, whole: int) -> float:
    return rounded(part / whole)
