"""A language model while it learns: what it overclaims and what it earns, where debt is enforced and only tracked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from solvent_experiments.figures.style import GREY, SETTING_LOOKS, SETTING_NAMES, new_figure

PANELS = {"debt_added": "overclaimed bits", "return": "return (bits)"}
SCRIPTS = ("exact", "honest", "the crowd")
CLOSE = 0.05
"""Share of the axis; scripts whose levels are closer are named together."""
Rows = Sequence[Mapping[str, float]]
STEPS = 10
"""Over which a curve is averaged."""


def smoothed(rows: Rows, column: str) -> NDArray[np.float64]:
    """Return the means of a column over ``STEPS`` steps each; the last steps that fill no such part are left out."""
    values = np.array([row[column] for row in rows], float)
    kept = len(values) // STEPS * STEPS
    means: NDArray[np.float64] = values[:kept].reshape(-1, STEPS).mean(axis=1)
    return means


def name_levels(axes: Axes, levels: Mapping[str, float]) -> None:
    """Draw the levels of scripts as grey lines, with their names to the right of the axes."""
    low, high = axes.get_ylim()
    named: dict[float, list[str]] = {}
    for name, level in levels.items():
        axes.axhline(level, color=GREY, lw=0.8)
        at = next((other for other in named if abs(other - level) < CLOSE * (high - low)), level)
        named.setdefault(at, []).append(name)
    for at, names in named.items():
        axes.annotate(",\n".join(names), (1.02, at), xycoords=("axes fraction", "data"), fontsize=7, color=GREY,
                      ha="left", va="center")  # fmt: skip


def language(training: Mapping[str, Rows], means: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw what the study ``language`` measured in each step.

    ``training``: the steps of each training, by arm and seed; ``means``: each column's mean of scripts, by their names.
    """
    figure = new_figure(2.6)
    panels = figure.subplots(1, len(PANELS))
    for axes, (column, title) in zip(panels, PANELS.items(), strict=True):
        for label, rows in training.items():
            curve = smoothed(rows, column)
            look = SETTING_LOOKS[label.partition(",")[0]]
            axes.plot(STEPS * (np.arange(len(curve)) + 0.5), curve, lw=1.6, **look.line)
        name_levels(axes, {name: means[name][column] for name in SCRIPTS})
        axes.set_title(title)
        axes.set_xlabel("steps of GRPO")
    lines = [Line2D([], [], lw=1.6, **look.line) for look in SETTING_LOOKS.values()]
    figure.legend(lines, list(SETTING_NAMES.values()), loc="outside lower left", ncols=2, handlelength=2.6)
    return figure
