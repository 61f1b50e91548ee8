"""An evaluation as a file, written and read back. Nothing in the file is trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from solvent.gate.datasets import Dataset
from solvent.gate.errors import GateError
from solvent.gate.evaluation import Evaluation

__all__ = ["FORMAT", "evaluation_document", "evaluation_from_json"]

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


def evaluation_from_json(text: str | bytes, where: str = "evaluation") -> Mapping[str, Any]:
    """Return the document that ``evaluation_document`` made.

    Raises:
        GateError: the text is no such document, or nothing in it could be compared.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise GateError(f"{where}: not an evaluation; allowed: what `solvent gate eval --out` writes")
    rows, about = document.get("comparisons"), document.get("dataset")
    if not isinstance(about, Mapping) or not isinstance(about.get("name"), str):
        raise GateError(
            f"{where}, dataset: allowed: an object with its name, as `solvent gate eval` writes it"
        )
    if not isinstance(rows, list) or not rows:
        raise GateError(f"{where}, comparisons: allowed: a list of at least one")
    for i, row in enumerate(rows, start=1):
        if not _is_comparison(row):
            raise GateError(f"{where}, comparison {i}: allowed: an object as `solvent gate eval` writes it")
    if all(row["auroc"]["value"] is None for row in rows):
        raise GateError(f"{where}: no claims that could be compared; allowed: an evaluation with an AUROC")
    return document


def _is_comparison(row: Any) -> bool:
    """Return True if a row of an evaluation has its names, and an AUROC with its interval or none."""
    if not isinstance(row, Mapping) or not isinstance(row.get("auroc"), Mapping):
        return False
    named = all(isinstance(row.get(key), str) for key in ("against", "measure"))
    numbers = [row["auroc"].get(key) for key in ("value", "low", "high")]
    shares = all(isinstance(n, int | float) and 0 <= n <= 1 for n in numbers)
    return named and isinstance(row.get("matched"), bool) and (shares or numbers[0] is None)
