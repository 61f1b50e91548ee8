"""The headline: what debt does to agents where it is enforced, and where it is only tracked.

Two learners and three scripts play ``Solvent/Debt-v0`` under both settings. Each PPO was trained under the setting in
which it plays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent import preset
from solvent_experiments.figures.headline import MEASURES, headline, learners, while_learning
from solvent_experiments.studies.study import ENFORCED, TRACKED, UNENFORCED, Arm, Play, Study, StudyData

SCRIPTS = ("honest", "max_claimer", "insister")
SETTINGS: Mapping[str, tuple[Arm, Mapping[str, Any]]] = {
    "enforced": (ENFORCED, {}),
    "tracked": (TRACKED, UNENFORCED),
}


def play(agent: str, setting: str, record: str) -> Play:
    """Return an agent's play under a setting."""
    arm, params = SETTINGS[setting]
    name = f"{agent}_{setting}_{record}"
    if agent == "ppo":
        return Play(name, params, arm=arm, record=record)
    return Play(name, params, script=agent, record=record)


def curves(data: StudyData) -> Mapping[str, Any]:
    """Return each agent's mean curves by setting, and what learners do over training."""
    agents = {
        setting: {agent: _means(data, play(agent, setting, "curves")) for agent in ("ppo", *SCRIPTS)}
        for setting in SETTINGS
    }
    training = {setting: while_learning(data.training(arm)) for setting, (arm, _) in SETTINGS.items()}
    return {"curves": agents, "training": training}


def _means(data: StudyData, source: Play) -> dict[str, list[float]]:
    """Return the mean of each measure at each heartbeat."""
    columns = data.columns(source)
    heartbeats = np.unique(columns["heartbeat"])
    at = [columns["heartbeat"] == heartbeat for heartbeat in heartbeats]
    return {name: [round(float(columns[name][rows].mean()), 3) for rows in at] for name in MEASURES}


def draw(result: Any) -> Mapping[str, Figure]:
    """Draw the curves over an episode, and those over training."""
    threshold = preset("default").debt.threshold
    return {
        "": headline(result.series["curves"], threshold),
        "_learners": learners(result.series["training"]),
    }


STUDY = Study(
    title="Debt enforced, and only tracked",
    rows={
        f"{agent}, {setting}": play(agent, setting, "episodes")
        for agent in ("ppo", *SCRIPTS)
        for setting in SETTINGS
    },
    columns=("return", "published_bits", "debt", "debt_added", "refusals_by_debt", "accepted", "wrong"),
    needs=tuple(play(agent, setting, "curves") for agent in ("ppo", *SCRIPTS) for setting in SETTINGS),
    series=curves,
    draw=draw,
    notes=("Where debt is only tracked it is not taken off the return.",),
)
