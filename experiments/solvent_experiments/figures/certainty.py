"""Overclaimed bits while learning, and how often a finding is right by the confidence that it states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from solvent_experiments.figures.frame import seeds_band, step_axis
from solvent_experiments.figures.style import DASHED, GREY, SETTING_LOOKS, new_figure

LOOKS: Mapping[str, Mapping[str, Any]] = {
    f"{level}, {setting}": {"color": look.colour, "ls": dash, "marker": marker}
    for level, dash, marker in (("Debt", "-", "o"), ("Data", DASHED, "s"))
    for setting, look in SETTING_LOOKS.items()
}
LEAST = 30
"""Findings from which a share is drawn."""
APART = 0.006
"""Between the points of agents at one stated confidence."""


def certainty(
    training: Mapping[str, Mapping[str, Sequence[float]]], calibration: Mapping[str, Sequence[Any]]
) -> Figure:
    """Draw what learners overclaim over training, and their calibration, from the series of the study."""
    figure = new_figure(3.1)
    left, right = figure.subplots(1, 2)
    right.plot([0, 1], [0, 1], color=GREY, lw=0.8)
    for place, (label, look) in enumerate(LOOKS.items()):
        seeds_band(left, training[label], alpha=0.15, colour=look["color"], ls=look["ls"], lw=1.6)
        points = [point for point in calibration[label] if point["findings"] >= LEAST]
        stated = [point["stated"] + (place - 1.5) * APART for point in points]
        low, high, value = (
            np.array([point["right"][part] for point in points], float) for part in ("low", "high", "value")
        )
        right.vlines(stated, low, high, color=look["color"], lw=1)
        face = look["color"] if look["ls"] == "-" else "white"
        right.plot(stated, value, ls="", ms=4.5, color=look["color"], marker=look["marker"], mfc=face)
    left.set_title("overclaimed bits per episode")
    left.set_ylim(bottom=0)
    step_axis(left)
    left.set_xlabel("training steps")
    left.xaxis.set_major_locator(MaxNLocator(3))
    right.set_title(f"findings that are right, n ≥ {LEAST}")
    right.set_xlabel("confidence that they state")
    right.set_xlim(0.4, 1.0)
    right.set_ylim(0.0, 1.02)
    right.set_xticks(sorted({point["stated"] for points in calibration.values() for point in points}))
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    lines = [Line2D([], [], lw=1.6, ms=4.5, **look) for look in LOOKS.values()]
    figure.legend(lines, list(LOOKS), loc="outside lower left", ncols=2, handlelength=2.6)
    return figure
