"""Reliability of published findings: confidence stated, share that is right, and what the evidence said."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import missing, panels
from solvent_experiments.figures.style import DASHED, GREY, INK
from solvent_experiments.figures.training import DRAWS
from solvent_experiments.measure.statistics import Interval, mean_interval
from solvent_experiments.measure.summary import groups_of

__all__ = ["reliability", "reliability_points"]


def published(run: RunData) -> Columns:
    """Return the findings that were published at once, with ``confidence``; none for runs of older versions."""
    if "belief" not in run.traces:
        return select(run.traces, np.zeros(len(run.traces["agent"]), np.bool_))
    mine = select(run.traces, run.traces["event"] == int(Event.PUBLISHED))
    return mine | {"confidence": action_table(run.params)["confidence"][mine["action"]]}


def reliability_points(findings: Columns, agent: str) -> dict[float, tuple[int, Interval, float]]:
    """Return by confidence the number of findings, the share that is right, and the posterior's mean probability."""
    mine = select(findings, findings["agent"] == agent)
    points = {}
    stated = mine["confidence"][~np.isnan(mine["confidence"])]
    for confidence in np.unique(stated):
        at = select(mine, mine["confidence"] == confidence)
        share = mean_interval(groups_of(at, agent, "right"), DRAWS)
        points[float(confidence)] = (len(at["right"]), share, float(at["belief"].mean()))
    return points


def reliability(run: RunData) -> Figure | None:
    """Share of published findings that are right, and the exact posterior's mean, against the confidence stated."""
    findings = published(run)
    agents = [agent for agent in run.agents if (findings["agent"] == agent).any()]
    if not agents:
        return None
    figure, drawn = panels(agents, 1.05, 1.3, columns=2, sharey=True)
    for agent, axes, colour in drawn:
        axes.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls=DASHED, zorder=1)
        points = reliability_points(findings, agent)
        for confidence, (_, right, belief) in points.items():
            axes.plot([confidence] * 2, [right.low, right.high], color=colour, lw=2.2, alpha=0.4)
            axes.plot(confidence, right.value, "o", ms=4, color=colour, clip_on=False, zorder=3)
            axes.plot(confidence, belief, "o", ms=8, mfc="none", mec=INK, mew=0.9, clip_on=False, zorder=4)
        count = sum(count for count, _, _ in points.values())
        axes.text(0.98, 0.03, f"{count:,} findings", transform=axes.transAxes, ha="right", color=GREY)
        axes.set_xticks([float(c) for c in run.params.vocabulary.confidences])
        axes.set_xlim(0.4, 1.0)
        axes.set_ylim(0, 1.02)
    figure.supxlabel(
        "confidence stated\n"
        "dot, bar: share that is right, 95 %\n"
        "ring: mean probability by the exact posterior\n"
        "ring below the dashed line: overconfident;\n"
        "only the dot below it: bad luck" + missing(run.agents, agents, "no finding published at once"),
        fontsize=8,
    )
    figure.supylabel("published findings that are right", fontsize=8)
    return figure
