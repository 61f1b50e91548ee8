"""Reactions to refusals: what an agent does next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent.lab.actions import action_table
from solvent.lab.verbs import VERBS, Verb
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import colour_key, share_bars
from solvent_experiments.figures.style import GREY, INK, LAVENDER, OCHRE, ROSE, TEAL, colour_of, new_figure
from solvent_experiments.figures.training import DRAWS
from solvent_experiments.measure.statistics import share_interval

__all__ = ["REACTIONS", "after_refusal", "reactions"]

REACTIONS = {
    "calibrates": TEAL,
    "rests": LAVENDER,
    "repeats the same": OCHRE,
    "another action": ROSE,
}
"""Reaction and its colour."""


def reactions(run: RunData) -> Columns:
    """Return a row for each refusal that another action followed: agent, training seed, and 1 for its reaction."""
    traces, table = run.traces, action_table(run.params)
    intents = np.array([VERBS[Verb(verb)].intent for verb in table["verb"]])
    later = traces.get("step", traces["heartbeat"]) > 0
    refused = np.flatnonzero((traces["refusal"][:-1] > 0) & later[1:])
    before, after = traces["action"][refused], traces["action"][refused + 1]
    same = before == after
    calibrates = ~same & (intents[after] == "maintenance")
    rests = ~same & (table["verb"][after] == int(Verb.REST))
    found = (calibrates, rests, same, ~(same | calibrates | rests))
    about = {name: traces[name][refused] for name in ("agent", "training_seed")}
    return about | {name: row.astype(float) for name, row in zip(REACTIONS, found, strict=True)}


def after_refusal(run: RunData) -> Figure | None:
    """What an agent does right after a refused action, as shares of its refusals, a row for each agent."""
    found = reactions(run)
    if not len(found["agent"]):
        return None
    agents = run.agents[::-1]
    figure = new_figure(1.4 + 0.24 * len(agents))
    axes = figure.subplots()
    share_bars(axes, found, agents, REACTIONS, _calibrating)
    for place, (agent, label) in enumerate(zip(agents, axes.get_yticklabels(), strict=True)):
        label.set_color(colour_of(agent))
        count = int((found["agent"] == agent).sum())
        axes.annotate(f"{count:,}", (1.02, place), xycoords=("axes fraction", "data"), va="center", color=INK)
    axes.set_ylim(-0.6, len(agents) - 0.4)
    axes.text(1.02, 1.0, "refused", transform=axes.transAxes, va="bottom", color=GREY)
    axes.set_xlabel("what came next, as shares of refused actions\nline: 95 % of calibrations")
    colour_key(figure, REACTIONS, 2)
    return figure


def _calibrating(counts: Mapping[str, Any]) -> tuple[float, float]:
    refusals = [np.sum(seed, axis=0) for seed in zip(*counts.values(), strict=True)]
    _, low, high = share_interval(counts["calibrates"], refusals, DRAWS)
    return low, high
