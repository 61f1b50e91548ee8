"""Figures of a sweep: gaps with thresholds, and verdicts by policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from solvent.gate.sweep import Sweep, gaps_of
from solvent_experiments.figures.frame import spread
from solvent_experiments.figures.style import (
    DASHED,
    GREY,
    INK,
    LAVENDER,
    MINT,
    OCHRE,
    ROSE,
    TEAL,
    VERDICT_COLOURS,
    new_figure,
    save,
    styled,
)

__all__ = ["draw_sweep"]

LONGEST_NAME = 45
KINDS = {
    "supported": ("supported", TEAL),
    "refuted": ("refuted", OCHRE),
    "nei": ("not enough information", LAVENDER),
    "other": ("other labels", MINT),
    "": ("unlabelled", ROSE),
}
MISMATCHED = {
    "random": ("with evidence of another page", GREY, "D"),
    "hard": ("with other evidence of the same page", INK, "o"),
}


def draw_sweep(sweep: Sweep, stem: Path) -> list[Path]:
    """Draw both figures beside each other, as PNG and PDF; return the images."""
    figures = {"gaps": gaps_figure, "verdicts": verdicts_figure}
    with styled():
        return [save(draw(sweep), stem.with_name(f"{stem.name}_{name}")) for name, draw in figures.items()]


def gaps_figure(sweep: Sweep) -> Figure:
    """Draw the gaps by label and for mismatched evidence, with the thresholds."""
    own: dict[str, list[float]] = {}
    for row in sweep.samples:
        own.setdefault(row.label or "", []).append(row.energy_gap)
    rows = [(*KINDS[kind], np.array(own[kind])) for kind in KINDS if kind in own]
    rows += [
        (name, colour, np.array(gaps))
        for kind, (name, colour, _) in MISMATCHED.items()
        if (gaps := gaps_of(sweep.samples, kind))
    ]
    low, high = _range(np.concatenate([values for *_, values in rows]))
    figure = new_figure(1.05 + 0.55 * len(rows))
    all_axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    bins = np.linspace(low, high, 41)
    for axes, (name, colour, values) in zip(all_axes, rows, strict=True):
        axes.hist(values, bins=bins, weights=np.full(len(values), 1.0 / len(values)), color=colour, lw=0)
        axes.set_title(f"{name}: {len(values):,}", loc="right", pad=2, color=INK, fontweight="bold")
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)
        for tau in sweep.tau_by_percentile.values():
            axes.axvline(tau, color=INK, lw=0.8, ls=DASHED)
    _name_thresholds(all_axes[0], sweep, low, high)
    all_axes[-1].set_xlim(low, high)
    all_axes[-1].set_xlabel(f"energy gap (share of the claim)\n{_short(sweep.dataset['name'])}")
    figure.supylabel("share of the claims", fontsize=8)
    return figure


def _name_thresholds(axes: Axes, sweep: Sweep, low: float, high: float) -> None:
    """Write the percentiles above the first panel, apart from each other."""
    named = sorted(sweep.tau_by_percentile.items(), key=lambda item: item[1])
    places = spread([tau for _, tau in named], (high - low) * 0.075)
    top = axes.get_ylim()[1]
    for (name, tau), place in zip(named, places, strict=True):
        axes.annotate(
            name,
            (tau, top),
            xytext=(place, top * 1.42),
            ha="center",
            va="bottom",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.5, "shrinkA": 0, "shrinkB": 0},
        )


def verdicts_figure(sweep: Sweep) -> Figure:
    """Draw the shares accepted, reviewed and rejected by policy, for own and for mismatched evidence."""
    names = list(sweep.summary)
    figure = new_figure(1.1 + 0.33 * len(names))
    axes = figure.subplots()
    places = np.arange(len(names))[::-1]
    base = np.zeros(len(names))
    for verdict, colour in VERDICT_COLOURS.items():
        shares = np.array([sweep.summary[name][verdict] for name in names]) / len(sweep.samples)
        axes.barh(places, shares, left=base, height=0.62, color=colour, lw=0, label=verdict)
        base += shares
    pages = {"random": "other page, accepted", "hard": "same page, accepted"}
    dots: dict[str, Any] = {"ls": "", "ms": 4, "color": "black", "mec": "white", "mew": 0.6, "zorder": 3}
    for kind, (_, _, marker) in MISMATCHED.items():
        if gaps_of(sweep.samples, kind):
            accepted = [sweep.summary[name][kind]["share"] for name in names]
            axes.plot(accepted, places, **dots, marker=marker, label=pages[kind], clip_on=False)
    axes.axvline(0.4, color=INK, lw=0.8, ls=DASHED)
    axes.set_yticks(places, names)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(
        "share of the claims, of mismatched ones where it says so\ndashed: P30 should reject at least 60 %"
    )
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] in pages.values())
    spacing: dict[str, Any] = {"columnspacing": 0.8, "handletextpad": 0.4, "handlelength": 1.0}
    handles, labels = [handles[i] for i in order], [labels[i] for i in order]
    figure.legend(handles, labels, loc="outside upper center", ncols=3, **spacing)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"


def _range(values: Any) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.03 * max(high - low, 0.01)
    return min(0.0, low) - margin, max(low, high) + margin
