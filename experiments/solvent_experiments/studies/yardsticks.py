"""Yardsticks: returns of the planner, its base policy, the oracle and the honest script on every level.

The planner rolls out its candidates in *K* worlds with the base policy; *K* = 0 is the base policy itself. The oracle
does the same with knowledge of the hidden state (``docs/planner.md``). The honest script and the base policy play 4,000
episodes; the slower planner and oracle play the first 200.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import PALETTE, new_figure
from solvent_experiments.measure.statistics import difference, interval
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "Planner and oracle"
CLAIM = "On every level the planner earns more than the honest script, and the oracle more than the planner."
REFUTED_BY = "One of these differences whose interval lies wholly below 0."
SWEEP: tuple[Arm, ...] = ()

LEVELS = ("Debt", "Energy", "Gate", "Lab")
AGENTS = {
    "honest script": ("honest", 0, 4000),
    "base policy": ("planner", 0, 4000),
    "planner, K = 8": ("planner", 8, 200),
    "planner, K = 16": ("planner", 16, 200),
    "planner, K = 32": ("planner", 32, 200),
    "oracle, K = 16": ("oracle", 16, 200),
}
"""Script, worlds and episodes by name."""


def _play(level: str, says: str) -> Play:
    script, worlds, episodes = AGENTS[says]
    settings = {} if script == "honest" else {"worlds": worlds}
    name = f"{level.lower()}_{script}_{worlds}"
    return Play(name, {}, f"Solvent/{level}-v0", script, settings, episodes=episodes)


CELLS = {(level, says): _play(level, says) for level in LEVELS for says in AGENTS}
PLAYS = tuple(CELLS.values())
MATTERS = 0.25  # bits


def score(data: StudyData) -> Score:
    """Return both differences on every level, and all returns."""
    pairs = (("planner, K = 16", "honest script"), ("oracle, K = 16", "planner, K = 16"))
    findings = []
    for level in LEVELS:
        for better, other in pairs:
            plays = [CELLS[level, other], CELLS[level, better]]
            if data.has(*plays):
                found = difference(*([data.plays[play.name]["return"]] for play in plays), middle=True)
                findings.append(Finding(f"{level}: {better} less {other}", found, "bits", 1, MATTERS))
    rows = []
    for (level, says), play in CELLS.items():
        if data.has(play):
            returns = data.plays[play.name]["return"]
            found = interval([returns])
            share = f"{found.value / play.lab.ceiling:.1%}"
            row = {"level": level, "agent": says, "return (IQM)": shown(found), "of the ceiling": share}
            rows.append(row | {"episodes": f"{len(returns):,}"})
    return Score(tuple(findings), {"Returns, bits": rows}, NOTES)


NOTES = (
    "The ceiling is the bits that there are to know about all compounds.",
    "Planner and oracle have few episodes: their intervals are wide.",
)


def figure(data: StudyData) -> Figure:
    """Draw a panel for each level with the returns of all agents."""
    drawn = new_figure(5.4)
    panels = drawn.subplots(len(LEVELS), 1)
    for axes, level in zip(panels, LEVELS, strict=True):
        plays = {says: CELLS[level, says] for says in AGENTS if data.has(CELLS[level, says])}
        dots(
            axes,
            list(plays),
            [interval([data.plays[play.name]["return"]]) for play in plays.values()],
            PALETTE,
        )
        axes.set_title(level, loc="left", pad=2)
    panels[-1].set_xlabel("return (bits):\ninterquartile mean,\n95 % interval")
    return drawn
