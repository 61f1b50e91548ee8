"""Results of studies, as evidence for a requirement: the findings that are kept in ``docs/results/studies``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

STUDIES = Path(__file__).resolve().parents[2] / "docs" / "results" / "studies"


def shown_by_study(name: str) -> Callable[[Any], Any]:
    """Mark a test whose evidence is a study's result; the page names the command that repeats the study."""

    def mark(test: Any) -> Any:
        test.study = name
        return test

    return mark


def finding(study: str, name: str) -> dict[str, Any]:
    """Return the finding of that name: its value, interval and verdict."""
    content = json.loads((STUDIES / f"{study}.json").read_text(encoding="utf-8"))
    result: dict[str, Any] = content["findings"][name]
    return result
