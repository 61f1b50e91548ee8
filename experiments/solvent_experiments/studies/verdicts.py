"""Verdicts by intervals: a difference with its 95 % interval confirms an expectation, refutes it, or shows nothing.

A claim with several expectations is confirmed where all of them are, refuted where one is refuted, and else not shown.
A difference that is shown and below what would matter is called small; one whose whole interval is, null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from solvent_experiments.measure.statistics import Interval

__all__ = ["CONFIRMED", "NOT_SHOWN", "REFUTED", "Finding", "Score", "verdict_on"]

CONFIRMED, REFUTED, NOT_SHOWN = "confirmed", "refuted", "not shown"


@dataclass(frozen=True)
class Finding:
    """One number of a study.

    Attributes:
        name: what is measured, and of what.
        found: the number and its interval.
        unit: of it.
        expected: the sign that the claim gives it; 0: it is part of no claim.
        matters: from how much on it is not small, in its unit.
    """

    name: str
    found: Interval
    unit: str
    expected: int = 0
    matters: float = 0.0

    @property
    def verdict(self) -> str:
        """What it says about the claim; empty where it is part of none."""
        if not self.expected:
            return ""
        low, high = sorted((self.expected * self.found.low, self.expected * self.found.high))
        if low > 0:
            return CONFIRMED
        return REFUTED if high < 0 else NOT_SHOWN

    @property
    def size(self) -> str:
        """``null`` (none that matters), ``small``, ``unclear`` (could be either), ``nothing to measure``, or empty."""
        low, high = self.found.low, self.found.high
        if self.found.value != self.found.value:
            return "nothing to measure"
        if self.matters and max(abs(low), abs(high)) < self.matters:
            return "small" if low > 0 or high < 0 else "null"
        if low <= 0 <= high:
            return "unclear"
        return "small" if abs(self.found.value) < self.matters else ""

    def to_mapping(self) -> dict[str, Any]:
        """Ready for JSON."""
        numbers = {key: _plain(number) for key, number in self.found._asdict().items()}
        return {
            "name": self.name,
            **numbers,
            "unit": self.unit,
            "expected": {-1: "below 0", 0: None, 1: "above 0"}[self.expected],
            "verdict": self.verdict or None,
            "matters_from": self.matters or None,
            "size": self.size or None,
        }


def _plain(number: float) -> float | None:
    return None if number != number else round(float(number), 6)


def verdict_on(findings: Sequence[Finding]) -> str:
    """The verdict on a claim that expects all of them."""
    verdicts = [finding.verdict for finding in findings if finding.expected]
    if REFUTED in verdicts:
        return REFUTED
    return CONFIRMED if verdicts and set(verdicts) == {CONFIRMED} else NOT_SHOWN


@dataclass(frozen=True)
class Score:
    """What a study found. ``tables``: by title, rows of plain values, all with the same keys."""

    findings: tuple[Finding, ...]
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """On the study's claim."""
        return verdict_on(self.findings)
