"""Figures of ``solvent adequacy``: thresholds, patterns and drift, each beside its JSON file."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from solvent.adequacy.agreement import Estimate
from solvent.adequacy.comparison import Comparison
from solvent.adequacy.drift import Drift, DriftRules
from solvent.adequacy.fitness import Fitness, Series
from solvent.adequacy.patterns import Extraction
from solvent.adequacy.thresholds import Discovery
from solvent_experiments.figures.style import GREY, INK, PALETTE, new_figure, save, styled

__all__ = ["draw_drift", "draw_patterns", "draw_thresholds"]

ROW = 0.2  # inches
SEVERITIES = {"low": PALETTE[4], "medium": PALETTE[1], "high": PALETTE[3]}
LONGEST = 44
LINES = tuple(colour for colour in PALETTE if colour not in SEVERITIES.values())
DASHED = (0, (4, 2))


def draw_thresholds(found: Discovery, raters: Comparison | None, stem: Path) -> Path:
    """Draw the correlations with the labels, and the agreement of cut points and raters."""
    rho = {name.replace("_", " "): (one, PALETTE[0]) for name, one in found.correlations.items()}
    kappa = {
        "shipped cut points": (found.shipped_agreement.kappa, PALETTE[0]),
        "chosen cut points": (found.chosen_agreement.kappa, PALETTE[2]),
    }
    for pair in raters.pairs if raters is not None else ():
        if pair.found is not None:
            kappa[f"{pair.first}, {pair.second}"] = (pair.found.kappa, GREY)
    with styled():
        figure = new_figure(1.5 + ROW * (len(rho) + len(kappa)))
        above, below = figure.subplots(2, 1, height_ratios=[len(rho), len(kappa)])
        _intervals(above, rho)
        above.set_xlim(-1.02, 1.02)
        _name(above, "Spearman's rho with a person's EpAd, 95 %")
        _intervals(below, kappa)
        below.set_xlim(min(-0.05, _lowest(kappa)), 1.02)
        _name(
            below,
            f"quadratic kappa, 95 %; cut points: on the {found.reported_on:,}\nresponses that they were not chosen on",
        )
        return save(figure, stem)


def draw_patterns(found: Extraction, rate: float, stem: Path, most: int) -> Path:
    """Draw the findings with the highest lower bounds, their weighted rates, and a candidate's thresholds."""
    shown = found.findings[:most]
    names = [textwrap.fill(f"{_short(str(one.pattern), 60)} ({one.count:,})", 26) for one in shown]
    with styled():
        figure = new_figure(1.0 + sum(0.08 + 0.13 * (name.count("\n") + 1) for name in names))
        axes = figure.subplots()
        for row, one in enumerate(shown):
            colour = PALETTE[1] if one.candidate else GREY
            axes.plot([one.lower_bound, one.weighted_rate], [row, row], color=colour, lw=1.6)
            axes.plot(one.weighted_rate, row, marker="o", ms=4.5, color=colour, clip_on=False)
            axes.plot(one.lower_bound, row, marker="|", ms=7, color=colour, clip_on=False)
        axes.axvline(rate, color=INK, lw=0.8, ls=DASHED)
        axes.axvline(found.floor, color=INK, lw=0.8, ls=":")
        axes.set_yticks(range(len(shown)), names)
        axes.set_ylim(max(1, len(shown)) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        _plain_rows(axes)
        _name(
            axes,
            "failed, by severity; the bar goes down to the lower bound\n"
            f"candidate: over {rate:.0%} (dashed), bound over {found.floor:.0%} (dotted)",
        )
        return save(figure, stem)


def draw_drift(
    series: Series,
    rules: DriftRules,
    events: Sequence[Drift],
    fitnesses: Sequence[Fitness],
    stem: Path,
) -> Path:
    """Draw the rolling mean and the events by agent and session, and the effect of each correction."""
    known = {
        one.correction: (one.effect, PALETTE[0]) for one in fitnesses if not math.isnan(one.effect.value)
    }
    with styled():
        figure = new_figure(2.5 + (0.7 + ROW * len(known) if known else 0.0))
        if known:
            axes, below = figure.subplots(2, 1, height_ratios=[2.0, 0.45 + ROW * len(known)])
            _intervals(below, known)
            below.axvline(0.0, color=INK, lw=0.8, ls=DASHED)
            _name(below, "effect on the mean EpAd, 95 %; negative is better")
        else:
            axes = figure.subplots()
        _rolling(axes, series, rules.window)
        _events(axes, events)
        axes.axhline(rules.threshold, color=INK, lw=0.8, ls=DASHED)
        axes.set_ylim(-0.05, 3.05)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("response of the session")
        axes.set_ylabel(f"mean EpAd of {rules.window}")
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside upper left", ncols=3, columnspacing=1.0)
        return save(figure, stem)


def _rolling(axes: Axes, series: Series, window: int) -> None:
    means = {
        key: np.convolve(scores, np.full(window, 1.0 / window), mode="valid")
        for key, scores in series.items()
        if len(scores) >= window
    }
    few = len(means) <= len(LINES)
    for i, ((agent, session), mean) in enumerate(means.items()):
        style: dict[str, Any] = (
            {"color": LINES[i], "lw": 1.2} if few else {"color": GREY, "lw": 0.5, "alpha": 0.4}
        )
        name = _short(", ".join(part for part in (agent, session) if part) or "all", 20) if few else None
        axes.plot(np.arange(window, window + len(mean)), mean, label=name, **style)
    if not few:
        longest = max(map(len, means.values()))
        columns = [[mean[i] for mean in means.values() if len(mean) > i] for i in range(longest)]
        whole = [float(np.mean(column)) for column in columns]
        axes.plot(np.arange(window, window + longest), whole, color=PALETTE[0], lw=2.0, label="all sessions")


def _events(axes: Axes, events: Sequence[Drift]) -> None:
    for severity, colour in SEVERITIES.items():
        mine = [one for one in events if one.severity == severity]
        if mine:
            places, means = zip(*((one.position + 1, one.mean) for one in mine), strict=True)
            style: dict[str, Any] = {"ls": "", "marker": "v", "ms": 5, "color": colour}
            axes.plot(places, means, **style, label=f"drift, {severity}")


def _intervals(axes: Axes, rows: Mapping[str, tuple[Estimate, str]]) -> None:
    """Draw a value with its interval in each row, the first on top."""
    for row, (one, colour) in enumerate(rows.values()):
        if math.isnan(one.value):
            axes.text(0.0, row, "undefined", va="center", color=GREY)
            continue
        if not math.isnan(one.low):
            axes.plot([one.low, one.high], [row, row], color=colour, lw=1.6)
        axes.plot(one.value, row, marker="o", ms=4, color=colour, clip_on=False)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    _plain_rows(axes)


def _plain_rows(axes: Axes) -> None:
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _name(axes: Axes, text: str) -> None:
    # Right-aligned, because the row names leave no room for a centred line.
    axes.set_xlabel(text, loc="right", multialignment="right")


def _lowest(rows: Mapping[str, tuple[Estimate, str]]) -> float:
    ends = [end for one, _ in rows.values() for end in (one.low, one.value) if not math.isnan(end)]
    return min(ends, default=0.0) - 0.05


def _short(name: str, longest: int = LONGEST) -> str:
    printable = "".join(ch if ch.isprintable() else "?" for ch in name).replace("$", r"\$")
    return printable if len(printable) <= longest else f"{printable[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"
