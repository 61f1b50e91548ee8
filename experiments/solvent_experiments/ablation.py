"""What adequacy does to a learner's words: two runs, one with adequacy enforced and one in which it is only tracked.

Both runs leave everything else as it is, so what differs is what follows from strong words. The last tenth of training
says how its words ended up; the evaluation says the same of the most probable action.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from solvent_experiments.columns import Columns
from solvent_experiments.documents import ConfigError
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.style import save, styled
from solvent_experiments.figures.words import ARMS, counted, words_ablation
from solvent_experiments.files import write_json
from solvent_experiments.report import COMPACT, groups_of
from solvent_experiments.statistics import Interval, interval, share_interval
from solvent_experiments.store import RunFolder

__all__ = ["compare_words", "load_arms", "words_table"]

PARTS = {"first tenth": (0.0, 0.1), "last tenth": (0.9, 1.0)}
"""Of a training's steps."""


def load_arms(enforced: Path, tracked: Path) -> dict[str, RunData]:
    """The two runs.

    Raises:
        ConfigError: a run that isn't finished, arms that differ in more than adequacy, or that trained nothing alike.
    """
    arms = dict(zip(ARMS, (load_run(RunFolder(enforced)), load_run(RunFolder(tracked))), strict=True))
    for (name, run), path, wanted in zip(arms.items(), (enforced, tracked), (True, False), strict=True):
        if not run.params.adequacy.enabled or run.params.adequacy.enforced is not wanted:
            raise ConfigError(f"adequacy is not {name} here; allowed: a run where it is", file=path)
    first, second = arms.values()
    same = first.params.to_mapping() | {"adequacy": None} == second.params.to_mapping() | {"adequacy": None}
    if not same or first.env != second.env:
        raise ConfigError(f"another lab than in {enforced}; allowed: the same but for adequacy", file=tracked)
    if not _learners(arms):
        raise ConfigError(f"no learner that {enforced} has too; allowed: the same in both", file=tracked)
    return arms


def _learners(arms: Mapping[str, RunData]) -> list[str]:
    first, second = arms.values()
    return [agent for agent in first.learned if agent in second.learned]


def compare_words(enforced: Path, tracked: Path, out: Path) -> dict[str, Any]:
    """Draw the figure, write ``words.json`` beside it into ``out``, and return what is in it.

    Raises:
        ConfigError: as ``load_arms``.
    """
    arms = load_arms(enforced, tracked)
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"env": next(iter(arms.values())).env, "agents": {}}
    for agent in _learners(arms):
        found["agents"][agent] = {name: _measured(run, agent) for name, run in arms.items()}
        with styled():
            save(words_ablation(arms, agent), out / f"words_{agent}", next(iter(arms.values())))
    write_json(out / "words.json", found)
    return found


def _measured(run: RunData, agent: str) -> dict[str, Any]:
    """Words of the learner's first and last findings in training, of its evaluation, and its return."""
    training = run.training
    assert training is not None
    mine = {name: column[training["agent"] == agent] for name, column in training.items()}
    share = mine["steps"] / max(1, mine["steps"].max())
    told: dict[str, Any] = {
        part: _words({name: column[(share > low) & (share <= high)] for name, column in mine.items()})
        for part, (low, high) in PARTS.items()
    }
    evaluated = {name: column[run.episodes["agent"] == agent] for name, column in run.episodes.items()}
    told["evaluation"] = _words(evaluated)
    told["return"] = _plain(interval(groups_of(run.episodes, agent, "return")))
    return told


def _words(columns: Columns) -> dict[str, Any]:
    whole = counted(columns)
    seeds = np.unique(whole["training_seed"])

    def groups(name: str) -> list[Any]:
        return [whole[name][whole["training_seed"] == seed] for seed in seeds]

    findings = groups("scored")
    return {
        "findings": int(sum(int(group.sum()) for group in findings)),
        "mean_score": _plain(share_interval(groups("points"), findings)),
        "share_2_or_3": _plain(share_interval(groups("strong"), findings)),
    }


def _plain(found: Interval) -> dict[str, float]:
    return {key: round(number, 6) for key, number in found._asdict().items()}


def words_table(found: Mapping[str, Any]) -> Table:
    """What ``compare_words`` found, for a terminal."""
    drawn = Table(
        caption="Findings of a learner by the score of their words, in the first and last tenth of its training and in "
        "its evaluation (the most probable action), with 95 % bootstrap intervals over training seeds and episodes.",
        caption_justify="left",
        **COMPACT,
    )
    for heading in ("agent", "adequacy", "when"):
        drawn.add_column(heading, no_wrap=True)
    for heading in ("mean score", "2 or 3 (%)"):
        drawn.add_column(heading, justify="right", no_wrap=True)
    for agent, arms in found["agents"].items():
        for arm, told in arms.items():
            for when in (*PARTS, "evaluation"):
                score, strong = told[when]["mean_score"], told[when]["share_2_or_3"]
                drawn.add_row(agent, arm, when, _told(score, 1.0, 2), _told(strong, 100.0, 1))
    return drawn


def _told(found: Mapping[str, float], scale: float, digits: int) -> str:
    value, low, high = (f"{scale * found[key]:.{digits}f}" for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"
