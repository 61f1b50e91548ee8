"""Parts: the effect of small rules that the levels leave out, each against the lab as it is.

A ploy (``solvent_agents.planning.adversary``) plays the same episodes with and without the part: the base policy, which
weighs every plate of vehicle wells, and policies that break the rule that a part enforces. The honest script plays too.
A private finding is no rule but an option, so its row compares a policy that uses it with one that doesn't.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from solvent_experiments.figures.style import GREY, PALETTE, new_figure
from solvent_experiments.measure.statistics import Interval, mean_interval
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "The smaller parts"
CLAIM = (
    "Somebody misses every part: the base policy earns more with the larger calibration plates and with private "
    "findings; who overstates earns less with governance, the number check and the error-rate multiplier; the "
    "multiplier of similar actions costs the base policy something."
)
REFUTED_BY = "One of these paired differences whose interval lies wholly on the other side of 0."
SWEEP: tuple[Arm, ...] = ()

PARTS: Mapping[str, Mapping[str, Any]] = {
    "baseline plate": {"vocabulary": {"extra": ["baseline"]}},
    "calibration plate": {"vocabulary": {"extra": ["calibration"]}},
    "error-rate multiplier": {"energy": {"error_rate": 1.5}},
    "similar multiplier": {"energy": {"similar": 1.2}},
    "governance": {"gate": {"governance": True}},
    "number check": {"gate": {"numbers": True}},
    "private findings": {"vocabulary": {"extra": ["publish_private"]}},
}
"""The changes that add a part."""
PLOYS: Mapping[str, Mapping[str, float]] = {
    "base": {},
    "overclaims": {"claim": 3.0},
    "overstates": {"confidence": 1.0},
    "premature": {"confidence": 2.0, "early": 0.0},
    "private": {"private": 0.5},
}
"""Numbers of the ploys: shifts of claims and confidences, and the worth below which a finding is private."""
PLATES, MULTIPLIERS, GATE = list(PARTS)[:2], list(PARTS)[2:4], list(PARTS)[4:6]
MATTERS = 0.25  # bits


class Row(NamedTuple):
    """An agent with a part, and its reference."""

    part: str
    level: str
    agent: str
    expected: int
    play: Play
    without: Play


def play_of(level: str, agent: str, part: str = "") -> Play:
    """Return the play of an agent on a level, with a part."""
    name = "_".join([level, agent, *part.split()]).lower()
    params = PARTS[part] if part else {}
    env = f"Solvent/{level}-v0"
    if agent == "honest":
        return Play(name, params, env, agent, episodes=1024)
    return Play(name, params, env, "adversary", PLOYS[agent], episodes=2048)


def rows() -> list[Row]:
    """Return all comparisons; the honest script, which takes longest, comes last."""
    asked = [(part, level, "base", 1) for level in ("Debt", "Energy", "Gate", "Lab") for part in PLATES]
    for part, offenders in zip(MULTIPLIERS, (("overclaims", "premature"), ()), strict=True):
        for level in ("Energy", "Lab"):
            asked += [(part, level, "base", -1 if part == MULTIPLIERS[1] else 0)]
            asked += [(part, level, agent, -1) for agent in offenders]
    for part in GATE:
        for level in ("Gate", "Lab"):
            asked += [
                (part, level, "base", 0),
                (part, level, "overstates", -1),
                (part, level, "premature", -1),
            ]
    asked += [(part, level, "honest", 0) for part in MULTIPLIERS for level in ("Energy", "Lab")]
    asked += [(part, level, "honest", 0) for part in GATE for level in ("Gate", "Lab")]
    found = [
        Row(part, level, agent, expected, play_of(level, agent, part), play_of(level, agent))
        for part, level, agent, expected in asked
    ]
    private = list(PARTS)[-1]
    return found + [
        Row(private, level, "private", 1, play_of(level, "private", private), play_of(level, "base"))
        for level in ("Energy", "Lab")
    ]


ROWS = rows()
PLAYS = tuple(
    {
        play.name: play
        for row in sorted(ROWS, key=lambda row: row.agent == "honest")
        for play in (row.play, row.without)
    }.values()
)


def _difference(data: StudyData, row: Row) -> Interval:
    own, other = (data.plays[play.name]["return"] for play in (row.play, row.without))
    return mean_interval([own - other])


def _there(data: StudyData) -> list[Row]:
    return [row for row in ROWS if data.has(row.play, row.without)]


def score(data: StudyData) -> Score:
    """Return what each part changes for each agent."""
    findings = [
        Finding(
            f"{row.level}, {row.agent}: with less without {row.part}",
            _difference(data, row),
            "bits",
            row.expected,
            MATTERS,
        )
        for row in _there(data)
    ]
    return Score(tuple(findings), {"With and without": [_row(data, row) for row in _there(data)]}, NOTES)


def _row(data: StudyData, row: Row) -> dict[str, Any]:
    own, other = (data.plays[play.name] for play in (row.play, row.without))
    return {
        "part": row.part,
        "level": row.level,
        "agent": row.agent,
        "with": shown(mean_interval([own["return"]])),
        "without": shown(mean_interval([other["return"]])),
        "difference": shown(_difference(data, row), digits=3),
        "episodes that differ (%)": f"{100.0 * (own['return'] != other['return']).mean():.1f}",
    }


NOTES = (
    "A private finding pays half; the policy that uses it publishes privately what is worth less than 0.5 bits.",
)


def figure(data: StudyData) -> Figure:
    """Draw every difference."""
    there = _there(data)
    drawn = new_figure(1.0 + 0.16 * len(there))
    axes = drawn.subplots()
    names = [f"{row.part}: {row.agent}, {row.level}" for row in there]
    colours = [PALETTE[list(PARTS).index(row.part) % len(PALETTE)] for row in there]
    for y, (row, colour) in enumerate(zip(there, colours, strict=True)):
        found = _difference(data, row)
        axes.plot([found.low, found.high], [y, y], color=colour, lw=3.0, alpha=0.4, solid_capstyle="butt")
        axes.plot(found.value, y, "o", color=colour, ms=3)
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.invert_yaxis()
    axes.axvline(0.0, color=GREY, lw=0.8)
    drawn.supxlabel("return with the part less without, bits (95 %)", fontsize=8)
    return drawn
