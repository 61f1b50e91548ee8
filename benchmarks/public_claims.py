"""The gate on published claims: ``python -m benchmarks.public_claims DATA --out docs/results/gate_public.json``.

``DATA`` has a folder for each set, with ``norm.jsonl``, a claim per line. Measured are

- how well a number separates supported claims from refuted or unsupported ones, and from supported claims with another
  page's evidence: AUROC with the central 95 % of 500 resamples of groups. *Matched* compares claims with equally many
  spans only: the number of spans alone separates FEVEROUS's labels;
- the thresholds of a sweep with the source's oracle, and the share of each set's claims that they accept;
- the verdicts of the policy ``standard``, and the share of claims that a check objects to, by label.

Nothing was tuned to these sets.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from solvent.gate import FIXED, SentenceEmbedder, evaluate_text
from solvent.gate.calibration import measured, percentile_thresholds
from solvent.gate.checks import run_checks
from solvent.gate.data import Sample, load_dataset, other_page
from solvent.gate.energy import hallucination_energy
from solvent_experiments.provenance import write_result

SETS = {"feverous": "FEVEROUS", "fever_symmetric": "FEVER-Symmetric", "begin": "BEGIN"}
CONTRARY = ("refuted", "nei")
RESAMPLES = 500

Floats = NDArray[np.float64]


def main() -> None:
    """Measure the sets, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public_claims", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the sets")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args()
    embedder = SentenceEmbedder()
    sets: dict[str, Any] = {}
    gaps: dict[str, Floats] = {}
    for folder, name in SETS.items():
        samples, _ = load_dataset(options.data / folder / "norm.jsonl")
        gaps[name] = np.array([row.energy_gap for row in measured(samples, embedder)])
        sets[name] = {
            "claims": Counter(sample.label for sample in samples),
            "separated": separations(samples, embedder),
            "thresholds": {f"P{p:g}": tau for p, tau in percentile_thresholds(gaps[name]).items()},
            "standard": verdicts(samples, embedder),
            "objected": objected(samples),
        }
        print(name, json.dumps(sets[name], indent=1), flush=True)
    for measured_set in sets.values():
        tau = measured_set["thresholds"]["P10"]
        measured_set["accepted up to its P10"] = {
            name: float((gap <= tau).mean()) for name, gap in gaps.items()
        }
    command = ["python", "-m", "benchmarks.public_claims", *sys.argv[1:]]
    write_result(options.out, {"sets": sets}, command)


def separations(samples: Sequence[Sample], embedder: SentenceEmbedder) -> dict[str, Any]:
    """Return the AUROC of each number, against claims that are not supported and against another page's evidence."""
    numbers = numbers_of(samples, embedder)
    swapped = numbers_of(other_page(samples, 0), embedder)
    groups = np.unique([sample.group for sample in samples], return_inverse=True)[1]
    own, contrary = (
        np.flatnonzero([sample.label in labels for sample in samples])
        for labels in (("supported",), CONTRARY)
    )
    results: dict[str, Any] = {"not supported": {}, "another page": {}}
    for against, others, rows in (("not supported", numbers, contrary), ("another page", swapped, own)):
        negative = np.repeat([False, True], [len(own), len(rows)])
        spans = np.concatenate([numbers["spans"][own], others["spans"][rows]])
        group = groups[np.concatenate([own, rows])]
        for number in numbers:
            values = np.concatenate([numbers[number][own], others[number][rows]])
            results[against][number] = {
                "all": auroc(values, negative, group, np.zeros(len(values))),
                "matched": auroc(values, negative, group, spans),
            }
    return results


def numbers_of(samples: Sequence[Sample], embedder: SentenceEmbedder) -> dict[str, Floats]:
    """Return numbers of claims, shape ``(n,)`` each, that should be larger for less support."""
    rows = []
    for sample in samples:
        vectors = embedder.encode([sample.claim, *sample.evidence])
        energy = hallucination_energy(vectors[0], vectors[1:])
        objections = sum(check.fired for check in run_checks(sample.claim, sample.evidence))
        rows.append((energy.energy, -max(energy.scores, default=0.0), objections, -len(sample.evidence)))
    pairs = [text for sample in samples for text in (sample.claim, " ".join(sample.evidence))]
    words = TfidfVectorizer().fit_transform(pairs)
    likeness = np.asarray(words[::2].multiply(words[1::2]).sum(axis=1)).ravel()
    columns = np.round(np.array(rows, np.float64), 6).T
    return {**dict(zip(("energy", "cosine", "checks", "spans"), columns, strict=True)), "TF-IDF": -likeness}


def auroc(values: Floats, negative: NDArray[Any], groups: NDArray[Any], strata: Floats) -> dict[str, float]:
    """Return the probability that a negative has the larger value within a stratum, with its interval."""
    parts = []
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        parts.append((rows, np.unique(values[rows], return_inverse=True)[1], negative[rows]))

    def won(weights: Floats) -> float:
        wins = pairs = 0.0
        for rows, place, isnt in parts:
            high, low = (np.bincount(place, weights[rows] * side, place.max() + 1) for side in (isnt, ~isnt))
            wins += float(high @ (np.cumsum(low) - low / 2))
            pairs += float(high.sum() * low.sum())
        return wins / pairs

    rng, count = np.random.default_rng(0), int(groups.max()) + 1
    drawn = [np.bincount(rng.integers(count, size=count), minlength=count)[groups] for _ in range(RESAMPLES)]
    low, high = np.quantile([won(weights.astype(np.float64)) for weights in drawn], (0.025, 0.975))
    return {"value": won(np.ones(len(values))), "low": float(low), "high": float(high)}


def objected(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the share of claims that a check objects to, for each label."""
    fired = [any(check.fired for check in run_checks(sample.claim, sample.evidence)) for sample in samples]
    labels = np.array([sample.label for sample in samples])
    parts = {"supported": labels == "supported", "not supported": np.isin(labels, CONTRARY)}
    return {label: float(np.mean(np.array(fired)[rows])) for label, rows in parts.items()}


def verdicts(samples: Sequence[Sample], embedder: SentenceEmbedder) -> dict[str, dict[str, float]]:
    """Return the shares of the verdicts of ``standard`` for each label."""
    counts: dict[str, Counter[str]] = {"supported": Counter(), "not supported": Counter()}
    for sample in samples:
        if sample.label in ("supported", *CONTRARY):
            given = evaluate_text(sample.claim, sample.evidence, embedder, FIXED["standard"])["verdict"]
            counts["supported" if sample.label == "supported" else "not supported"][given] += 1
    return {
        label: {verdict: count[verdict] / count.total() for verdict in ("accept", "review", "reject")}
        for label, count in counts.items()
    }


if __name__ == "__main__":
    main()
