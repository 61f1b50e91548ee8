"""The file of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from solvent.gate.datasets import Dataset
from solvent.gate.evaluation import Evaluation

__all__ = ["FORMAT", "evaluation_document"]

FORMAT = "solvent.gate.eval.v1"


def evaluation_document(result: Evaluation, data: Dataset, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an evaluation's file."""
    return {
        "format": FORMAT,
        "dataset": {"name": data.name, "format": data.format, "sha256": data.sha256, "labels": data.counts},
        "settings": dict(settings),
        "comparisons": [_without_nan(asdict(row)) for row in result.comparisons],
        "scores": {kind: {name: list(v) for name, v in by.items()} for kind, by in result.scores.items()},
    }


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(part) for key, part in value.items()}
    return None if isinstance(value, float) and value != value else value
