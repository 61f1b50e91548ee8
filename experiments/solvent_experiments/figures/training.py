"""Learning curves: the return, and what is refused, against training steps."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent.lab.words.quantities import plural
from solvent_experiments.figures.data import DRAWS, RunData, stretches
from solvent_experiments.figures.frame import band, key, names_at_right, step_axis
from solvent_experiments.figures.style import BY_DEBT, OTHERWISE, colour_of, look_of, new_figure
from solvent_experiments.statistics import Sample, mean_interval

INCHES = 2.6


def learning_curve(run: RunData) -> Figure | None:
    """Draw the return of learners against training steps, and that of the other agents as lines."""
    learners = run.learners()
    if not learners:
        return None
    figure = new_figure(INCHES + 1.1)
    axes = figure.subplots()
    ends, lows = [], []
    for agent, training in learners.items():
        steps, means = [], []
        for middle, groups in stretches(training):
            steps.append(middle)
            means.append(
                mean_interval(Sample([training["return"][rows] for rows in groups], trained=True), DRAWS)
            )
        band(axes, steps, means, lw=2.0, **look_of(agent).line)
        lows += [one.low for one in means[len(means) // 4 :]]
    right = axes.get_xlim()[1]
    for row in run.rows:
        look = look_of(row.agent)
        if row.agent in run.learned:
            axes.plot(right, row.mean("return"), "o", ms=5, color=look.colour, clip_on=False, zorder=5)
        else:
            axes.axhline(row.mean("return"), lw=0.9, **look.line)
        ends.append((row.mean("return"), row.agent, look.colour))
    best = max(row.mean("return") for row in run.rows)
    # Agents far below the curve would flatten it; they are named at the edge.
    bottom = min([best - 8.0, *lows])
    axes.set_ylim(bottom, best + 0.08 * (best - bottom))
    seeds = max(len(np.unique(training["training_seed"])) for training in learners.values())
    axes.set_title(f"return (bits), {plural(seeds, 'training seed')}")
    step_axis(axes)
    names_at_right(axes, ends, INCHES)
    return figure


def refusal_curve(run: RunData) -> Figure | None:
    """Draw refusals per episode by cause against training steps, a panel for each learner that was refused."""
    trained = run.learners()
    learners = {agent: training for agent, training in trained.items() if training["refusals"].any()}
    if not learners:
        return None
    figure = new_figure(0.9 + 1.7 * len(learners))
    panels = figure.subplots(len(learners), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (agent, training) in zip(panels, learners.items(), strict=True):
        points = list(stretches(training))
        base = np.zeros(len(points))
        by_debt = training["refusals_by_debt"]
        for counts, colour in ((by_debt, BY_DEBT[1]), (training["refusals"] - by_debt, OTHERWISE[1])):
            height = np.array([np.mean([counts[rows].mean() for rows in groups]) for _, groups in points])
            axes.fill_between([middle for middle, _ in points], base, base + height, color=colour, lw=0)
            base = base + height
        axes.set_ylim(0, max(0.1, float(base.max(initial=0.0))) * 1.05)
        axes.set_title(f"{agent}: refusals per episode, mean of the training seeds", color=colour_of(agent))
    step_axis(panels[-1])
    never = [agent for agent in trained if agent not in learners]
    if never:
        panels[-1].set_xlabel(f"{panels[-1].get_xlabel()}; never refused: {', '.join(never)}")
    key(figure, dict((BY_DEBT, OTHERWISE)))
    return figure
