"""Fuzzing, kills and soaks: how many rounds to run, and how many were tried and held.

``make test`` runs the short form, ``make soak`` the long one. The summary at the end of either adds the tallies up by
kind; ``make soak`` also writes them to ``docs/results/reliability.json``, from which docs/reliability.md has its table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

SOAK = os.environ.get("SOLVENT_SOAK")
"""The file to which the tallies of a long run are written."""

Tally = Callable[[str, int, int], None]


def rounds(short: int, long: int) -> int:
    """Return how many rounds this run makes."""
    return long if SOAK else short


def added_up(reports: Iterable[pytest.TestReport]) -> dict[str, list[int]]:
    """Return tried and held by kind."""
    kinds: dict[str, list[int]] = {}
    for report in reports:
        for name, value in report.user_properties:
            if name == "tally" and report.when == "call":
                kind, tried, held = json.loads(value)
                counts = kinds.setdefault(kind, [0, 0])
                counts[0] += tried
                counts[1] += held
    return dict(sorted(kinds.items()))


def write(kinds: dict[str, list[int]]) -> None:
    """Write the long run's tallies."""
    if SOAK:
        rows = {kind: {"tried": tried, "held": held} for kind, (tried, held) in kinds.items()}
        Path(SOAK).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
