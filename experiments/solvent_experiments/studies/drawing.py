"""Points with intervals, and the figure of a study's arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from solvent_experiments.figures.style import DASHED, DOTTED, PALETTE, new_figure
from solvent_experiments.measure.statistics import Interval, profile_band
from solvent_experiments.studies.data import ArmData
from solvent_experiments.studies.measures import QUANTILES, budget_bands

__all__ = ["arms_figure", "points", "step_labels"]

STYLES: tuple[Any, ...] = ("-", DASHED, DOTTED)


def points(axes: Axes, xs: Sequence[float], found: Sequence[Interval], **style: Any) -> None:
    """Draw values with vertical 95 % intervals, joined by a line if ``style`` has one."""
    errors = [[f.value - f.low for f in found], [f.high - f.value for f in found]]
    drawn: dict[str, Any] = {"marker": "o", "ms": 3, "lw": 1, "ls": ""}
    axes.errorbar(xs, [f.value for f in found], yerr=errors, **drawn | style)


def step_labels(axes: Axes, unit: str = "heartbeats") -> None:
    """Label the x axis with training steps."""
    axes.set_xlabel(f"training steps ({unit} of all labs)")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(left=0)


def arms_figure(arms: Sequence[ArmData]) -> Figure:
    """Draw each arm's performance profile in evaluation, and its wells left, median and 5 to 95 %, level by level."""
    levels = list(dict.fromkeys(arm.arm.env for arm in arms))
    figure = new_figure(0.3 + 4.4 * len(levels) + 0.15 * ((len(arms) + 1) // 2))
    grid = figure.subplots(2 * len(levels), 1, squeeze=False)[:, 0]
    looks = [(PALETTE[i % len(PALETTE)], STYLES[i // len(PALETTE) % len(STYLES)]) for i in range(len(arms))]
    for level, profile, wells in zip(levels, grid[::2], grid[1::2], strict=True):
        profile.set_title(level, loc="left", fontweight="bold")
        _level(
            profile,
            wells,
            [(arm, *look) for arm, look in zip(arms, looks, strict=True) if arm.arm.env == level],
        )
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1.0)
    return figure


def _level(profile: Axes, wells: Axes, arms: Sequence[tuple[ArmData, str, Any]]) -> None:
    everything = np.concatenate([np.concatenate(arm.groups("return")) for arm, *_ in arms])
    low, high = np.percentile(everything, (1, 99.5))
    values = np.linspace(low, max(high, low + 0.5), 200)
    for arm, colour, style in arms:
        share, below, above = profile_band(arm.groups("return"), values)
        profile.fill_between(values, below, above, color=colour, alpha=0.2, lw=0)
        profile.plot(values, share, color=colour, ls=style, lw=1.1, label=arm.arm.says)
        bands = budget_bands(arm)
        beats = np.arange(bands.shape[1])
        wells.fill_between(beats, bands[0], bands[-1], color=colour, alpha=0.10, lw=0)
        wells.plot(beats, bands[QUANTILES.index(50)], color=colour, ls=style, lw=1.1)
    profile.set_ylim(0, 1.01)
    profile.set_xlabel("x, return of an episode (bits)\nband: 95 % over training seeds")
    profile.set_ylabel("share of episodes\nwith a return above x")
    wells.set_ylim(bottom=0)
    wells.set_xlabel("heartbeat\nline: median, band: 5 to 95 % of episodes")
    wells.set_ylabel("wells left")
