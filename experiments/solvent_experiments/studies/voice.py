"""Energy: the value of a voice where prices are wrong and where they are fair.

On ``Solvent/Energy-v0`` an agent may argue that a verb is too dear. *Unheard* proposals can be filed, but their review
lies beyond the horizon; all else is equal, including the action space. *Mispriced* labs misprice up to three verbs,
the others none. PPO learns from nothing where prices are wrong. The honest script plays too, paired by episode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import CATEGORIES, new_figure
from solvent_experiments.measure.statistics import Interval, difference, interval, mean_interval
from solvent_experiments.studies.arms import ENERGETIC
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "What a voice is worth"
CLAIM = (
    "An agent whose proposals are heard earns more than one whose proposals are not, where prices are wrong and "
    "only there."
)
REFUTED_BY = (
    "Where prices are wrong, a gain by being heard that lies wholly below 0; or a gain where none is wrong that is"
    " as large or larger."
)
ENERGY = "Solvent/Energy-v0"
FAIR, UNHEARD = {"mispriced_most": 0}, {"review_heartbeats": 10_000}


def _arm(name: str, says: str, **proposals: Any) -> Arm:
    return Arm(name, says, ENERGETIC, ENERGY, {"proposals": proposals})


WRONG_HEARD = _arm("mispriced_heard", "mispriced, heard")
WRONG_UNHEARD = _arm("mispriced_unheard", "mispriced, unheard", **UNHEARD)
SWEEP = (WRONG_HEARD, WRONG_UNHEARD)
LABS = {
    f"{prices}, {voice}": Play(
        f"honest_{prices}_{voice}",
        {"proposals": (FAIR if prices == "fair" else {}) | (UNHEARD if voice == "unheard" else {})},
        ENERGY,
        script="honest",
        episodes=1000,
    )
    for prices in ("mispriced", "fair")
    for voice in ("heard", "unheard")
}
PLAYS = tuple(LABS.values())
MATTERS = 0.25  # bits


def _gain(data: StudyData) -> Interval:
    heard, unheard = (data.arm(arm).groups("return") for arm in SWEEP)
    return difference(unheard, heard, middle=True)


def _paired(data: StudyData, prices: str) -> Any:
    heard, unheard = (data.plays[LABS[f"{prices}, {voice}"].name]["return"] for voice in ("heard", "unheard"))
    return heard - unheard


def score(data: StudyData) -> Score:
    """Return the gain from being heard with wrong and with fair prices, and the difference of the two."""
    findings = [Finding("PPO, mispriced: heard less unheard", _gain(data), "bits", 1, MATTERS)]
    if all(play.name in data.plays for play in PLAYS):
        wrong, fair = _paired(data, "mispriced"), _paired(data, "fair")
        told = {
            "mispriced: heard less unheard": (wrong, 1),
            "fair prices: heard less unheard": (fair, 0),
            "the former less the latter": (wrong - fair, 1),
        }
        findings += [
            Finding(f"honest script, {name}, paired", mean_interval([gain]), "bits", sign, MATTERS)
            for name, (gain, sign) in told.items()
        ]
    rows = [_row(f"PPO: {arm.says}", data.arm(arm).groups) for arm in SWEEP]
    rows += [
        _row(f"honest script: {says}", functools.partial(data.play_groups, play.name))
        for says, play in LABS.items()
        if play.name in data.plays
    ]
    return Score(tuple(findings), {"The voice, means an episode": rows}, NOTES)


def _row(says: str, groups: Callable[[str], list[Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {"agent and lab": says, "return (IQM)": shown(interval(groups("return")))}
    for name in ("reflections", "proposals", "approvals", "discomforts", "energy_spent", "energy_lost"):
        row[name.replace("_", " ")] = shown(mean_interval(groups(name)))
    return row


NOTES = (
    (
        "Intervals over few training seeds are coarse. PPO learns where prices may be wrong; in "
        "labs where none is only the script was played."
    ),
    (
        "Labs of the same seed have the same compounds, instrument and mispricing, heard or not. The honest script"
        " knows when a review would come too late, and then files nothing."
    ),
)


def figure(data: StudyData) -> Figure:
    """Draw the returns of PPO and of the honest script."""
    drawn = new_figure(2.6)
    panels = drawn.subplots(2, 1, sharex=True, height_ratios=(2, 4))
    learnt = [interval(data.arm(arm).groups("return")) for arm in SWEEP]
    scripted = {says: play for says, play in LABS.items() if play.name in data.plays}
    played = [interval([data.plays[play.name]["return"]]) for play in scripted.values()]
    pair = (CATEGORIES[0], CATEGORIES[2])
    dots(panels[0], [arm.says for arm in SWEEP], learnt, pair)
    dots(panels[1], list(scripted), played, (pair * 2)[: len(played)])
    for axes, title in zip(panels, ("PPO", "honest script"), strict=True):
        axes.set_title(title, loc="left", pad=2)
    panels[-1].set_xlabel("return (bits):\ninterquartile mean,\n95 % interval")
    return drawn
