"""The percentile sweep: a domain's claims measured, and the thresholds that come of it, as the source's JSON.

For ``n`` claims drawn from a set: energy, the oracle's energy and the gap, thresholds at the gaps' percentiles, and
what each does. The source learns and reports on the same sample, where P10 accepts 10 % by construction, so every
percentile also has two rates that can surprise:

- ``held_out``: learnt on one half, counted on the other, over many splits by group: mean and range;
- ``control``: how many claims are accepted with the evidence of another group's claim, which no gate should accept.

``negative_control`` is the other way to a threshold: learnt from such mismatched evidence under a budget, and reported
on pairs that it was not learnt from, with the exact binomial bound (``calibration``).

The oracle is the medoid span, which does not depend on the order of the evidence. Beside it stands the source's, the
first span: ``oracle_first_energy``. Source: *Deterministic Policy Gates for Stochastic Systems*, "Adaptive Policy".
A file is read with suspicion: each value has to be of its kind, and what follows from the samples is counted anew.
Known approximation: mismatched evidence is drawn among the sampled claims alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.gate.backends import RememberingEmbedder
from solvent.gate.calibration import (
    PERCENTILES,
    acceptance,
    adaptive_policies,
    held_out_rates,
    negative_control,
    percentile_thresholds,
)
from solvent.gate.datasets import Dataset, Sample, deranged
from solvent.gate.embedding import Embedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import RANK_R, TOP_K, oracle_gap
from solvent.gate.policy import Policy, apply_adaptive_policy_gap, review_limit, rounded

__all__ = ["FORMAT", "Measured", "Sweep", "measured", "run_sweep", "summary_of", "sweep_from_json"]

FORMAT = "solvent.gate.sweep.v1"
SPLITS = 100
BUDGET = 0.05

VERDICTS = ("accept", "review", "reject")
KEYS = (
    "format",
    "dataset",
    "model",
    "settings",
    "tau_by_percentile",
    "summary",
    "negative_control",
    "samples",
)


@dataclass(frozen=True)
class Measured:
    """One sampled claim in numbers, rounded to 6 decimals.

    Attributes:
        id, group, label: of the sample.
        text_sha256: sixteen digits over claim and evidence.
        spans: how many there are.
        energy, oracle_energy, energy_gap: with the medoid as oracle.
        oracle_first_energy: with the first span as oracle, as in the source.
        control_gap: gap of the claim with the evidence of another group's claim.
        effective_rank: directions in use.
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
    """What a sweep found. ``tau_by_percentile`` and ``summary`` go by ``P10``."""

    dataset: Mapping[str, Any]
    model: Mapping[str, str]
    settings: Mapping[str, Any]
    tau_by_percentile: Mapping[str, float]
    summary: Mapping[str, Mapping[str, Any]]
    negative_control: Mapping[str, Any] | None
    samples: tuple[Measured, ...]

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The percentiles, rising."""
        return tuple(sorted(float(name[1:]) for name in self.tau_by_percentile))

    def policies(self, domain: str | None = None) -> tuple[Policy, ...]:
        """An adaptive policy for each percentile, with the hash of what it was learnt from."""
        gaps = [sample.energy_gap for sample in self.samples]
        found = adaptive_policies(
            gaps, domain=domain or self.dataset["name"], percentiles=self.percentiles, **self._measured_with()
        )
        if self.negative_control is None:
            return found
        control = self.negative_control
        label = f"FA{control['budget'] * 100:g}".replace(".", "_")
        budget = Policy.learnt(
            label,
            control["tau_accept"],
            domain=domain or self.dataset["name"],
            calibration_sha256=control["calibration_sha256"],
            calibration_count=control["learnt"]["count"],
            **self._measured_with(),
        )
        return (*found, budget)

    def _measured_with(self) -> dict[str, Any]:
        return {
            "model": self.model["name"],
            "model_fingerprint": self.model["fingerprint"],
            "top_k": self.settings["top_k"],
            "rank_r": self.settings["rank_r"],
        }

    def to_json(self) -> str:
        """The file: the same bytes for the same sweep."""
        content = {"format": FORMAT, **{field.name: getattr(self, field.name) for field in fields(self)}}
        content["samples"] = [asdict(sample) for sample in self.samples]
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def run_sweep(
    dataset: Dataset,
    embedder: Embedder,
    *,
    n: int | None = 100,
    seed: int = 0,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    percentiles: Sequence[float] = PERCENTILES,
    budget: float = BUDGET,
    on_progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Sweep:
    """Draw claims, measure them and learn thresholds.

    Args:
        dataset: the domain.
        embedder: layer 1.
        n: claims drawn without replacement; None takes all.
        seed: of the draw, the mismatched evidence and the splits.
        top_k: spans that count.
        rank_r: directions that count.
        percentiles: of the gaps, each above 0 and up to 100.
        budget: of false acceptance for the negative control.
        on_progress: told a stage, how much of it is done, and of how much.

    Raises:
        GateError: too few samples or groups, or an argument out of its range.
    """
    if n is not None and n < 2:
        raise GateError(f"n: got {n}; allowed: 2 or more")
    if not 0.0 < budget < 1.0:
        raise GateError(f"budget: got {budget:g}; allowed: above 0 and below 1")
    samples = dataset.drawn(n, seed).samples
    rows = measured(samples, embedder, seed=seed, top_k=top_k, rank_r=rank_r, on_progress=on_progress)
    ordered = sorted({float(f"{float(p):g}") for p in percentiles})  # as the names of the thresholds have it
    taus = percentile_thresholds([row.energy_gap for row in rows], ordered)
    settings = {"n": len(rows), "seed": seed, "top_k": top_k, "rank_r": rank_r, "oracle": "medoid"}
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
        settings={**settings, "percentiles": ordered, "budget": budget},
        tau_by_percentile={f"P{p:g}": tau for p, tau in taus.items()},
        summary=summary_of(rows, {f"P{p:g}": tau for p, tau in taus.items()}, seed),
        negative_control=_control(rows, budget, seed),
        samples=rows,
    )


def measured(
    samples: Sequence[Sample],
    embedder: Embedder,
    *,
    seed: int = 0,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    on_progress: Callable[[str, int, int], None] = lambda *_: None,
) -> tuple[Measured, ...]:
    """Samples in numbers, each with its control.

    Raises:
        GateError: fewer than two groups, or one with more than half of the samples.
    """
    controls = deranged(samples, seed)
    remembering = RememberingEmbedder(embedder)
    remembering.warm(
        chain.from_iterable((s.claim, *s.evidence) for s in samples),
        lambda done, total: on_progress("sentences encoded", done, total),
    )
    rows = []
    for done, (sample, control) in enumerate(zip(samples, controls, strict=True)):
        if done % 50 == 0:
            on_progress("claims measured", done, len(samples))
        rows.append(_measured(sample, control, remembering, top_k, rank_r))
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
    """What each threshold does: to the claims it was learnt from, to held-out ones, and to mismatched evidence."""
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
            "control": {key: _plain(value) for key, value in asdict(rate).items()},
        }
    return summary


def _held_out(
    gaps: Sequence[float], groups: Sequence[str], percentiles: Sequence[float], seed: int
) -> dict[float, dict[str, float]]:
    """Acceptance on the half that wasn't learnt from, over many splits; nothing where there's one group."""
    if len(set(groups)) < 2:
        return {}
    shares: dict[float, list[float]] = {p: [] for p in percentiles}
    for split in range(SPLITS):
        for p, (_, rate) in held_out_rates(gaps, groups, percentiles, seed=seed + split).items():
            shares[p].append(rate.share)
    return {
        p: {
            "acceptance_rate": rounded(float(np.mean(values))),
            "low": rounded(float(np.quantile(values, 0.025))),
            "high": rounded(float(np.quantile(values, 0.975))),
            "splits": SPLITS,
        }
        for p, values in shares.items()
    }


def _control(rows: Sequence[Measured], budget: float, seed: int) -> dict[str, Any] | None:
    """A threshold by a budget for false acceptance; None where the sample is too small to be sure of it."""
    # As many as a bound needs of which not even one is accepted: (1 - budget)^n <= 0.05, in one half.
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
    except GateError:  # groups so large that one half has too few, or is empty
        return None
    return {key: _plain(value) for key, value in asdict(found).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return rounded(value) if isinstance(value, float) else value


def _share(part: int, whole: int) -> float:
    return rounded(part / whole)


def gaps_of(rows: Sequence[Measured]) -> NDArray[np.float64]:
    """The gaps [n]."""
    return np.array([row.energy_gap for row in rows], dtype=np.float64)


# ---------------------------------------------------------------------------------------- from a file


def sweep_from_json(text: str | bytes, where: str = "sweep") -> Sweep:
    """Read what ``Sweep.to_json`` wrote; ``summary`` and ``negative_control`` are counted anew from the samples.

    Raises:
        GateError: no JSON, another format, or a field that is missing, unknown or of another kind.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise GateError(f"{where}: no JSON in UTF-8; allowed: what `solvent gate sweep` writes") from None
    if not isinstance(content, Mapping) or content.get("format") != FORMAT or set(content) != set(KEYS):
        raise GateError(f"{where}: not a sweep; allowed: what `solvent gate sweep` writes ({FORMAT})")
    if not isinstance(content["samples"], list) or not content["samples"]:
        raise GateError(f"{where}, samples: allowed: a list of at least one")
    rows = tuple(
        Measured(**_checked(row, _SAMPLE, f"{where}, sample {i}"))
        for i, row in enumerate(content["samples"], 1)
    )
    parts = {key: _checked(content[key], kinds, f"{where}, {key}") for key, kinds in _PARTS.items()}
    taus = _taus(content["tau_by_percentile"], f"{where}, tau_by_percentile")
    for key in ("summary", "negative_control"):
        if not isinstance(content[key], Mapping) and (key == "summary" or content[key] is not None):
            raise GateError(f"{where}, {key}: allowed: an object, as `solvent gate sweep` writes it")
    budget, seed = parts["settings"]["budget"], parts["settings"]["seed"]
    return Sweep(
        **parts,
        tau_by_percentile=taus,
        summary=summary_of(rows, taus, seed),
        negative_control=_control(rows, budget, seed),
        samples=rows,
    )


def _taus(values: Any, where: str) -> dict[str, float]:
    if not isinstance(values, Mapping) or not values:
        raise GateError(f"{where}: allowed: an object, as `solvent gate sweep` writes it")
    for name, tau in values.items():
        p = _number(name[1:])
        if p is None or not 0.0 < p <= 100.0 or name != f"P{p:g}" or not _is_share(tau):
            raise GateError(
                f"{where}: got {ascii(name)[1:-1]:.20}: {tau!r:.40}; allowed: P10 with a number from -1 to 1"
            )
    return dict(values)


def _checked(value: Any, kinds: Mapping[str, str], where: str) -> dict[str, Any]:
    """An object with exactly these fields, each of its kind."""
    if not isinstance(value, Mapping) or set(value) != set(kinds):
        raise GateError(f"{where}: allowed: an object with {', '.join(kinds)}")
    for name, kind in kinds.items():
        what, holds = _KINDS[kind]
        if not holds(value[name]):
            raise GateError(f"{where}, {name}: got {value[name]!r:.40}; allowed: {what}")
    return dict(value)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _is_share(value: Any) -> bool:
    return _is_number(value) and -1.0 <= value <= 1.0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("text", lambda value: isinstance(value, str)),
    "str | None": ("text or null", lambda value: value is None or isinstance(value, str)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number, 0 or more", _is_count),
    "float": ("a finite number", _is_number),
    "share": ("a number from -1 to 1", _is_share),
    "size": ("a whole number, 1 or more", lambda value: _is_count(value) and value > 0),
    "budget": ("a number between 0 and 1", lambda value: _is_number(value) and 0.0 < value < 1.0),
    "numbers": ("a list of numbers", lambda value: isinstance(value, list) and all(map(_is_number, value))),
    "counts": (
        "an object of whole numbers",
        lambda value: isinstance(value, Mapping) and all(map(_is_count, value.values())),
    ),
}
_SHARES = ("energy", "oracle_energy", "energy_gap", "oracle_first_energy", "control_gap")
_SAMPLE = {field.name: "share" if field.name in _SHARES else str(field.type) for field in fields(Measured)}
_PARTS = {
    "dataset": {
        "name": "str",
        "format": "str",
        "sha256": "str",
        "samples": "int",
        "labels": "counts",
        "skipped": "int",
    },
    "model": {"name": "str", "fingerprint": "str"},
    "settings": {
        "n": "int",
        "seed": "int",
        "top_k": "size",
        "rank_r": "size",
        "oracle": "str",
        "percentiles": "numbers",
        "budget": "budget",
    },
}
