"""Measurements of every arm in all studies: return, debt over its limit, refusals by reason, budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from solvent.lab.codes import REFUSAL_REASONS
from solvent_experiments.figures.frame import held
from solvent_experiments.figures.style import REASONS
from solvent_experiments.measure.statistics import (
    Interval,
    difference,
    improvement_interval,
    interquartile_mean,
    interval,
    mean_interval,
)
from solvent_experiments.studies.data import ArmData

__all__ = ["QUANTILES", "arm_row", "arm_rows", "budget_bands", "change", "shown"]

QUANTILES = (5, 25, 50, 75, 95)
"""Percentages of the budget's bands."""
MEANS = {
    "longest streak over it": "longest_streak",
    "debt at the end": "debt",
    "overclaimed bits": "debt_added",
    "calibrations": "calibrations",
    "accepted": "accepted",
    "wrong": "wrong",
}
"""Headings of means per episode, and their columns."""


def change(name: str, first: ArmData, second: ArmData, *, middle: bool = False) -> Interval:
    """Return the second arm's mean minus the first's; with ``middle``, the interquartile means."""
    return difference(first.groups(name), second.groups(name), middle=middle)


def arm_rows(arms: Sequence[ArmData]) -> list[dict[str, Any]]:
    """Return a row for each arm; improvements are over the first one."""
    return [arm_row(arm, arms[0]) for arm in arms]


def arm_row(arm: ArmData, reference: ArmData) -> dict[str, Any]:
    """Return an arm's numbers, those with intervals as ``value (low to high)``."""
    row: dict[str, Any] = {
        "arm": arm.arm.name,
        "rules": arm.arm.says,
        "seeds": len(arm.seeds),
        "return (IQM)": shown(interval(arm.groups("return"))),
    }
    if arm is not reference and arm.arm.env == reference.arm.env:
        mine, other = (
            [interquartile_mean(group) for group in data.groups("return")] for data in (arm, reference)
        )
        row["P(improvement)"] = shown(improvement_interval(mine, other))
    else:
        row["P(improvement)"] = "-"
    over = [group > 0 for group in arm.groups("beats_over_threshold")]
    row["episodes over the limit (%)"] = shown(mean_interval(over), 100.0, 1)
    for name, column in MEANS.items():
        row[name] = shown(mean_interval(arm.groups(column)))
    for reason in REFUSAL_REASONS:
        row[f"refused: {REASONS[reason][0]}"] = (
            f"{np.concatenate(arm.groups(f'refusals_{reason}')).mean():.3f}"
        )
    return row


def shown(found: Interval, scale: float = 1.0, digits: int = 2) -> str:
    """Return ``value (low to high)``, or a dash if nothing was measured."""
    if np.isnan(found.value):
        return "-"
    value, low, high = (f"{scale * number:.{digits}f}" for number in found)
    return f"{value} ({low} to {high})"


def budget_bands(arm: ArmData, name: str = "wells") -> Any:
    """Return quantiles of the remaining amount at each heartbeat, shape ``(len(QUANTILES), heartbeats + 1)``."""
    return np.percentile(held(arm.traces, name, arm.params.budget.heartbeats), QUANTILES, axis=0)
