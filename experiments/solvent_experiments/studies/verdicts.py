"""Verdicts by intervals: the 95 % interval of a difference confirms an expectation, refutes it, or shows nothing.

A claim is confirmed if all of its expectations are, refuted if one is refuted, and otherwise not shown. A shown
difference below the least relevant one is small; if its whole interval is below, it is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from solvent_experiments.measure.statistics import Interval

__all__ = ["CONFIRMED", "NOT_SHOWN", "REFUTED", "Finding", "Score", "rounded", "verdict_on"]

CONFIRMED, REFUTED, NOT_SHOWN = "confirmed", "refuted", "not shown"


@dataclass(frozen=True)
class Finding:
    """A number of a study.

    Attributes:
        name: measure and subject.
        found: the number and its interval.
        unit: the number's unit.
        expected: the sign that the claim expects; 0 outside the claim.
        matters: the least relevant magnitude, in ``unit``.
    """

    name: str
    found: Interval
    unit: str
    expected: int = 0
    matters: float = 0.0

    @property
    def verdict(self) -> str:
        """The verdict on the claim's expectation; empty outside the claim."""
        if not self.expected:
            return ""
        low, high = sorted((self.expected * self.found.low, self.expected * self.found.high))
        if low > 0:
            return CONFIRMED
        return REFUTED if high < 0 else NOT_SHOWN

    @property
    def size(self) -> str:
        """``null`` (irrelevant), ``small``, ``unclear`` (could be either), ``nothing to measure``, or empty."""
        low, high = self.found.low, self.found.high
        if isnan(self.found.value):
            return "nothing to measure"
        if self.matters and max(abs(low), abs(high)) < self.matters:
            return "small" if low > 0 or high < 0 else "null"
        if low <= 0 <= high:
            return "unclear"
        return "small" if abs(self.found.value) < self.matters else ""

    def to_mapping(self) -> dict[str, Any]:
        return {
            "name": self.name,
            **rounded(self.found),
            "unit": self.unit,
            "expected": {-1: "below 0", 0: None, 1: "above 0"}[self.expected],
            "verdict": self.verdict or None,
            "matters_from": self.matters or None,
            "size": self.size or None,
        }


def rounded(found: Interval) -> dict[str, float | None]:
    """Return the interval as rounded values for JSON; None stands for NaN."""
    return {
        key: None if isnan(number) else round(float(number), 6) for key, number in found._asdict().items()
    }


def verdict_on(findings: Sequence[Finding]) -> str:
    """Return the verdict on a claim that expects all of the findings."""
    verdicts = [finding.verdict for finding in findings if finding.expected]
    if REFUTED in verdicts:
        return REFUTED
    return CONFIRMED if verdicts and set(verdicts) == {CONFIRMED} else NOT_SHOWN


@dataclass(frozen=True)
class Score:
    """The results of a study. ``tables`` has rows of plain values by title; a table's rows share their keys."""

    findings: tuple[Finding, ...]
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        return verdict_on(self.findings)
