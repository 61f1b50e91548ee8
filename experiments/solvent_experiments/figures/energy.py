"""Energy over an episode, and what it is spent on."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent.lab.mechanisms.energy import CAP, PRESENT_FROM, PRESENT_UNTIL, hour_of, within_hours
from solvent.lab.verbs import INTENTS, VERBS
from solvent_experiments.figures.data import RunData, starts_of
from solvent_experiments.figures.frame import LABEL, key, level_line, names_at_right, over_heartbeats, stacked
from solvent_experiments.figures.style import INTENT_COLOURS, new_figure

AWAY = "#EBEBEB"


def energy_curve(run: RunData) -> Figure | None:
    """Draw the energy at the start of each heartbeat, and the energy spent per episode by intent."""
    if not run.lab.energy.enabled or not len(run.traces["heartbeat"]):
        return None
    heartbeats, start = run.lab.budget.heartbeats, run.lab.budget.start_hour
    inches, bars = max(1.8, 1.1 * LABEL * len(run.agents)), 0.2 + 0.2 * len(run.agents)
    figure = new_figure(1.6 + inches + bars)
    level, spent = figure.subplots(2, 1, height_ratios=[inches, bars])
    for beat in range(heartbeats):
        if not within_hours(hour_of(start, beat), PRESENT_FROM, PRESENT_UNTIL):
            level.axvspan(beat, beat + 1, color=AWAY, lw=0, zorder=0)
    ends = over_heartbeats(level, run, {agent: run.traces_of(agent)["energy"] for agent in run.agents})
    level_line(level, CAP)
    level.set_ylim(0, CAP * 1.08)
    beats = [beat for beat in range(heartbeats + 1) if (start + beat) % 6 == 0]
    level.set_xticks(beats, [f"{(start + beat) % 24:02d}" for beat in beats])
    level.grid(visible=False, axis="x")
    level.set_title("energy at the start of each heartbeat; dashed: cap")
    level.set_xlabel("hour of the day; grey: the user is away; band: 10th to 90th percentile")
    names_at_right(level, ends, inches)
    of = {agent: _by_intent(run, agent) for agent in run.agents}
    stacked(
        spent, run.agents, {INTENT_COLOURS[i]: [of[a][i] for a in run.agents] for i in INTENTS}, shares=False
    )
    spent.set_title("energy spent per episode by intent")
    key(figure, {i: INTENT_COLOURS[i] for i in INTENTS if any(of[agent][i] for agent in run.agents)})
    return figure


def _by_intent(run: RunData, agent: str) -> dict[str, float]:
    """Return the mean energy that a traced episode spends on each intent."""
    traces = run.traces_of(agent)
    intents = np.array([INTENTS.index(spec.intent) for spec in VERBS.values()])
    taken = traces["step"] > 0
    total = np.bincount(intents[traces["verb"][taken]], traces["energy_spent"][taken], minlength=len(INTENTS))
    episodes = max(1, len(starts_of(traces)))
    return dict(zip(INTENTS, (total / episodes).tolist(), strict=True))
