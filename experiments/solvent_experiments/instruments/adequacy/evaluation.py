"""Compare the heuristic with labels, and with counts of words and of calls that it must beat.

A baseline rates a response by a count: 3 less the number of three limits that the count exceeds. The limits are those
with the highest quadratic kappa on another labelled set, the one to learn from, so a baseline is as good as its count
allows. A gain is the heuristic's kappa less a baseline's on the same responses, with a paired bootstrap interval.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solvent.adequacy.agreement import agreement, kappa_difference, quadratic_kappa
from solvent.adequacy.heuristic import score
from solvent.adequacy.labelled import Example, load_examples
from solvent.adequacy.lexicon import load_lexicon
from solvent_experiments.table import Table

__all__ = ["COUNTS", "evaluate", "evaluation_table"]

COUNTS: dict[str, Callable[[Example], int]] = {
    "words": lambda example: len(example.response.split()),
    "calls": lambda example: len(example.context.calls),
}


def evaluate(path: Path, learn: Path, *, seed: int = 0) -> dict[str, Any]:
    """Return the agreement of the heuristic and of each count with the labels of ``path``, and the gains."""
    examples, others = load_examples(path), load_examples(learn)
    labels = [example.epad for example in examples]
    scored = [score(one.response, one.context, one.query) for one in examples]
    ours = [found.score for found in scored]
    found: dict[str, Any] = {
        "count": len(examples),
        "heuristic": agreement(ours, labels, seed=seed).to_dict(),
        "baselines": {},
        "gains": {},
        "escalated": {
            "of": sum(label >= 2 for label in labels),
            "asked": sum(f.escalate for f, label in zip(scored, labels, strict=True) if label >= 2),
            "asked_below_2": sum(f.escalate for f, label in zip(scored, labels, strict=True) if label < 2),
        },
        "sha256": {str(file.name): hashlib.sha256(file.read_bytes()).hexdigest() for file in (path, learn)}
        | {"lexicon": load_lexicon().sha256},
        "seed": seed,
    }
    for name, count in COUNTS.items():
        limits = _limits(count, others)
        rated = _rated(count, examples, limits)
        found["baselines"][name] = agreement(rated, labels, seed=seed).to_dict() | {"limits": limits}
        found["gains"][name] = kappa_difference(ours, rated, labels, seed=seed).to_dict()
    return found


def _rated(count: Callable[[Example], int], examples: Sequence[Example], limits: Sequence[int]) -> list[int]:
    return [3 - sum(count(example) > limit for limit in limits) for example in examples]


def _limits(count: Callable[[Example], int], examples: Sequence[Example]) -> list[int]:
    labels = [example.epad for example in examples]
    values = sorted({count(example) for example in examples})
    triples = itertools.combinations_with_replacement([0, *values], 3)
    kappas = {limits: quadratic_kappa(_rated(count, examples, limits), labels) for limits in triples}
    best = max(kappas.items(), key=lambda item: np.nan_to_num(item[1], nan=-1.0))
    return list(best[0])


def evaluation_table(found: dict[str, Any]) -> Table:
    """Return a row for the heuristic and for each count."""
    rows = [("heuristic", *_cells(found["heuristic"]), "")]
    for name, agreed in found["baselines"].items():
        rows.append((f"number of {name}", *_cells(agreed), _told(found["gains"][name])))
    head = (
        f"{found['count']:,} responses",
        "exact",
        "within one",
        "quadratic kappa",
        "heuristic's gain in kappa",
    )
    return Table(head, tuple(rows))


def _cells(agreed: dict[str, Any]) -> tuple[str, ...]:
    rates = (agreed[name] for name in ("exact", "within_one"))
    return (
        *(f"{one['share']:.2f} [{one['low']:.2f}, {one['high']:.2f}]" for one in rates),
        _told(agreed["kappa"]),
    )


def _told(value: dict[str, float]) -> str:
    return f"{value['value']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"
