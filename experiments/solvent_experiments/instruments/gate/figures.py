"""Figures of ``solvent gate``: gaps with thresholds, verdicts by policy, held-out rates, and AUROC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from solvent.gate.sweep import Sweep
from solvent_experiments.figures.style import GREY, INK, PALETTE, new_figure, save, spread, styled

__all__ = ["auroc_figure", "draw_gate", "gaps_figure", "rates_figure", "verdicts_figure"]

LONGEST_NAME = 45
DASHED = (0, (4, 2))
KINDS = {
    "supported": ("supported", PALETTE[2]),
    "refuted": ("refuted", PALETTE[1]),
    "nei": ("not enough information", PALETTE[4]),
    "other": ("other labels", PALETTE[3]),
    "": ("unlabelled", PALETTE[0]),
}
CONTROL = ("with another claim's evidence", GREY)
VERDICTS = {"accept": PALETTE[2], "review": PALETTE[4], "reject": PALETTE[1]}
MEASURES = {
    "residual": PALETTE[0],
    "gap": PALETTE[5],
    "cosine": PALETTE[4],
    "tfidf": PALETTE[1],
    "checks": PALETTE[2],
    "spans": GREY,
}
AGAINST = {"shuffled": "another claim's\nevidence", "refuted": "refuted", "nei": "not enough\ninformation"}


def draw_gate(sweep: Sweep, evaluation: Mapping[str, Any] | None, folder: Path, stem: str) -> list[Path]:
    """Draw all figures into ``folder``, as PNG and PDF; return the images."""
    figures: dict[str, Callable[[], Figure]] = {
        "gaps": lambda: gaps_figure(sweep),
        "verdicts": lambda: verdicts_figure(sweep),
        "rates": lambda: rates_figure(sweep),
    }
    if evaluation is not None:
        figures["auroc"] = lambda: auroc_figure(evaluation)
    drawn = []
    for name, draw in figures.items():
        with styled():
            drawn.append(save(draw(), folder / f"{stem}_{name}"))
    return drawn


def gaps_figure(sweep: Sweep) -> Figure:
    """Draw the gaps by label and for mismatched evidence, with the thresholds."""
    own: dict[str, list[float]] = {}
    for row in sweep.samples:
        own.setdefault(row.label or "", []).append(row.energy_gap)
    controls = [row.control_gap for row in sweep.samples]
    rows = [(*KINDS[kind], np.array(own[kind])) for kind in KINDS if kind in own]
    rows.append((*CONTROL, np.array(controls)))
    low, high = _range(np.concatenate([values for *_, values in rows]))
    figure = new_figure(1.05 + 0.55 * len(rows))
    all_axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    bins = np.linspace(low, high, 41)
    for axes, (name, colour, values) in zip(all_axes, rows, strict=True):
        axes.hist(values, bins=bins, weights=np.full(len(values), 1.0 / len(values)), color=colour, lw=0)
        axes.set_title(f"{name}: {len(values):,}", loc="right", pad=2, color=colour, fontweight="bold")
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
    figure = new_figure(0.95 + 0.33 * len(names))
    axes = figure.subplots()
    places = np.arange(len(names))[::-1]
    base = np.zeros(len(names))
    for verdict, colour in VERDICTS.items():
        shares = np.array([sweep.summary[name][verdict] for name in names]) / len(sweep.samples)
        axes.barh(places, shares, left=base, height=0.62, color=colour, lw=0, label=verdict)
        base += shares
    control = [sweep.summary[name]["control"]["share"] for name in names]
    diamond: dict[str, Any] = {"ls": "", "marker": "D", "ms": 4, "color": "black", "mec": "white", "mew": 0.6}
    axes.plot(control, places, **diamond, label="mismatched, accepted", clip_on=False, zorder=3)
    axes.axvline(0.4, color=INK, lw=0.8, ls=DASHED)
    axes.set_yticks(places, names)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(
        "share of the claims; mismatched: with another claim's\nevidence; dashed: P30 should reject from here on"
    )
    handles, labels = axes.get_legend_handles_labels()
    order = [*range(1, len(handles)), 0] if labels[0].startswith("mismatched") else range(len(handles))
    spacing: dict[str, Any] = {"columnspacing": 0.8, "handletextpad": 0.4, "handlelength": 1.0}
    handles, labels = [handles[i] for i in order], [labels[i] for i in order]
    figure.legend(handles, labels, loc="outside upper center", ncols=4, **spacing)
    return figure


def rates_figure(sweep: Sweep) -> Figure:
    """Draw the share of held-out claims that each percentile accepts."""
    held = {float(name[1:]): row["held_out"] for name, row in sweep.summary.items() if row["held_out"]}
    figure = new_figure(2.6)
    axes = figure.subplots()
    top = max([1.3 * p / 100 for p in held] + [row["high"] for row in held.values()] + [0.05])
    axes.plot([0, top], [0, top], color=INK, lw=0.8, ls=DASHED, label="as learnt")
    for p, row in sorted(held.items()):
        axes.plot([p / 100] * 2, [row["low"], row["high"]], color=PALETTE[0], lw=1.4)
        axes.plot(p / 100, row["acceptance_rate"], marker="o", ms=4.5, color=PALETTE[0])
        # Below the line, but above the axis.
        shift = -11 if row["acceptance_rate"] > 0.1 * top else 7
        axes.annotate(
            f"P{p:g}", (p / 100, row["acceptance_rate"]), xytext=(5, shift), textcoords="offset points"
        )
    controls = [sweep.summary[f"P{p:g}"]["control"]["share"] for p in sorted(held)]
    diamond: dict[str, Any] = {"ls": "", "marker": "D", "ms": 4, "color": GREY}
    axes.plot([p / 100 for p in sorted(held)], controls, **diamond, label="mismatched evidence")
    axes.set_xlim(0, max(held, default=30.0) / 100 * 1.15)
    axes.set_ylim(-0.01 * top, 1.05 * top)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("percentile of the threshold")
    axes.set_ylabel("accepted in the other half")
    axes.plot([], [], marker="o", ms=4.5, color=PALETTE[0], label="mean and 95 % of 100 splits")
    figure.legend(loc="outside upper left", ncols=1)
    return figure


def auroc_figure(evaluation: Mapping[str, Any]) -> Figure:
    """Draw the AUROC of every measure with its interval, over all claims and over those with equally many spans."""
    rows = [row for row in evaluation["comparisons"] if row["auroc"]["value"] is not None]
    against = [kind for kind in AGAINST if any(row["against"] == kind for row in rows)]
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    figure = new_figure(1.15 + len(against) * 0.165 * (len(measures) + 1.6))
    all_axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, matched in zip(all_axes, (False, True), strict=True):
        ticks = []
        for i, kind in enumerate(against):
            top = -i * (len(measures) + 1.4)
            ticks.append(top - (len(measures) - 1) / 2)
            for j, measure in enumerate(measures):
                found = [
                    r["auroc"]
                    for r in rows
                    if (r["against"], r["measure"], r["matched"]) == (kind, measure, matched)
                ]
                for one in found:
                    colour = MEASURES.get(measure, INK)
                    axes.plot([one["low"], one["high"]], [top - j] * 2, color=colour, lw=1.6)
                    axes.plot(one["value"], top - j, marker="o", ms=3.5, color=colour)
        axes.axvline(0.5, color=INK, lw=0.8, ls=DASHED)
        axes.set_yticks(ticks, [AGAINST[kind] for kind in against])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False, axis="y")
        axes.set_title("equally many spans" if matched else "all claims", loc="left", pad=3)
    all_axes[0].set_xlim(min(0.4, *(row["auroc"]["low"] for row in rows)) - 0.02, 1.02)
    handles = [
        all_axes[0].plot([], [], marker="o", ms=3.5, lw=1.6, color=MEASURES.get(m, INK), label=m)[0]
        for m in measures
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, columnspacing=1.2)
    figure.supxlabel(
        f"AUROC of supported against others; dashed: chance\n{_short(evaluation['dataset']['name'])}",
        fontsize=8,
    )
    return figure


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"


def _range(values: Any) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.03 * max(high - low, 0.01)
    return min(0.0, low) - margin, max(low, high) + margin
