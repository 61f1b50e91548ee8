"""Energy: the effect of the intent summary on how agents spend.

Each heartbeat closes with an intent summary, elements of the observation. In the arms *unaware* these elements stay 0
and nothing else differs, on ``Solvent/Energy-v0`` and ``Solvent/Lab-v0``. PPO learns from nothing.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from solvent.lab.mechanisms.energy import SHOWN_INTENTS
from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import CATEGORIES, new_figure
from solvent_experiments.measure.statistics import interval, share_difference, share_interval
from solvent_experiments.studies.arms import ENERGETIC
from solvent_experiments.studies.corrections import READ
from solvent_experiments.studies.data import ArmData, StudyData
from solvent_experiments.studies.measures import change, shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "The effect of awareness"
CLAIM = "Agents that see the intent summary earn more than agents that don't, on Energy and on Lab."
REFUTED_BY = "A difference in return whose interval lies wholly below 0."
_HIDDEN = {"observation": {"intents": False}}
PAIRS = {
    "Energy": (
        Arm("energy_aware", "Energy, aware", ENERGETIC, "Solvent/Energy-v0"),
        Arm("energy_unaware", "Energy, unaware", ENERGETIC, "Solvent/Energy-v0", _HIDDEN),
    ),
    "Lab": (READ, Arm("lab_unaware", "Lab, unaware", ENERGETIC, "Solvent/Lab-v0", _HIDDEN)),
}
SWEEP = tuple(arm for pair in PAIRS.values() for arm in pair)
PLAYS: tuple[Play, ...] = ()


def spent(data: ArmData, intent: str) -> tuple[list[Any], list[Any]]:
    """Return by seed the energy spent on an intent class, and on all of them."""
    return data.groups(f"intents_{intent}"), data.groups("energy_spent")


def score(data: StudyData) -> Score:
    """Return the differences in return and in the shares of energy, aware less unaware."""
    findings = []
    for level, pair in PAIRS.items():
        aware, unaware = (data.arm(arm) for arm in pair)
        found = change("return", unaware, aware, middle=True)
        findings.append(Finding(f"{level}: return, aware less unaware", found, "bits", 1, 0.25))
        for intent in SHOWN_INTENTS:
            found = share_difference(spent(unaware, intent), spent(aware, intent), paired=False)
            name = f"{level}: share of energy for {intent}, aware less unaware"
            findings.append(Finding(name, found, "share", 0, 0.02))
    rows = [_row(data.arm(arm), f"{level}, {who}") for level, who, arm in _arms()]
    return Score(tuple(findings), {"Returns and shares of energy (%)": rows}, NOTES)


def _arms() -> list[tuple[str, str, Arm]]:
    return [
        (level, who, arm)
        for level, pair in PAIRS.items()
        for who, arm in zip(("aware", "unaware"), pair, strict=True)
    ]


def _row(data: ArmData, says: str) -> dict[str, Any]:
    shares = {intent: shown(share_interval(*spent(data, intent)), 100.0, 1) for intent in SHOWN_INTENTS}
    return {"arm": says, "return (IQM)": shown(interval(data.groups("return"))), **shares}


NOTES = ("Intervals over few training seeds are coarse.",)


def figure(data: StudyData) -> Figure:
    """Draw the returns of all arms."""
    drawn = new_figure(1.9)
    axes = drawn.subplots()
    names = [f"{level}, {who}" for level, who, _ in _arms()]
    returns = [interval(data.arm(arm).groups("return")) for _, _, arm in _arms()]
    dots(axes, names, returns, (CATEGORIES[0], CATEGORIES[2]) * 2)
    axes.set_xlabel("return (bits): interquartile mean, 95 % interval")
    return drawn
