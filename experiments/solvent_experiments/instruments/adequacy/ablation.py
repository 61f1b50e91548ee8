"""Compare the words and overclaims of learners in two runs: one enforces adequacy, the other only tracks it.

The second run may only track debt, too; the runs share all other settings. The last tenth of training shows the final
words, and its difference from the first tenth their growth. In the evaluation the learner takes its most probable
action.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from solvent_experiments.artifacts.files import write_json
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import read_resolved
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.style import save, styled
from solvent_experiments.figures.words import ARMS, counted, words_ablation
from solvent_experiments.measure.statistics import Interval, interval, share_difference, share_interval
from solvent_experiments.measure.summary import groups_of
from solvent_experiments.measure.table import Table

__all__ = ["MEASURES", "compare_words", "load_arms", "words_table"]

PARTS = {"first tenth": (0.0, 0.1), "last tenth": (0.9, 1.0)}
"""Intervals of the training steps, as fractions."""
MEASURES = {
    "mean_score": ("points", "scored"),
    "share_2_or_3": ("strong", "scored"),
    "overclaimed_bits": ("debt_added", "episodes"),
}
"""Measure -> the column that is summed for it, and the one by which it is divided."""


def load_arms(enforced: Path, tracked: Path) -> dict[str, RunData]:
    """Return the two runs by arm.

    Raises:
        ConfigError: a run isn't finished, the arms differ in more than enforcement, or they share no trained agent.
    """
    arms = dict(zip(ARMS, (load_run(RunFolder(enforced)), load_run(RunFolder(tracked))), strict=True))
    for (name, run), path, wanted in zip(arms.items(), (enforced, tracked), (True, False), strict=True):
        if not run.params.adequacy.enabled or run.params.adequacy.enforced is not wanted:
            raise ConfigError(f"adequacy is not {name} here; allowed: a run where it is", file=path)
    if unenforced := arms["enforced"].params.unenforced:
        raise ConfigError(
            f"{' and '.join(unenforced)} only tracked; allowed: a run that enforces all", file=enforced
        )
    first, second = (_compared(path) for path in (enforced, tracked))
    for key, value in first.items():
        if second[key] != value:
            raise ConfigError(
                f"another one than in {enforced}; allowed: the same but for `enforced` of adequacy and debt",
                file=tracked,
                key=key,
            )
    if not _learners(arms):
        raise ConfigError(f"no learner that {enforced} has too; allowed: the same in both", file=tracked)
    return arms


def _compared(path: Path) -> dict[str, Any]:
    """Return the settings that two arms must share: the lab except the switches, recipes, seeds, evaluation."""
    config, lab = read_resolved(RunFolder(path).config)
    params = lab.to_mapping()
    params |= {name: {**params[name], "enforced": None} for name in ("adequacy", "debt")}
    return {"env": config.env, "params": params, "train": config.train} | {
        "seeds": config.seeds,
        "evaluation": config.evaluation,
    }


def _learners(arms: Mapping[str, RunData]) -> list[str]:
    first, second = arms.values()
    return [agent for agent in first.learned if agent in second.learned]


def compare_words(enforced: Path, tracked: Path, out: Path) -> dict[str, Any]:
    """Draw the figures and write ``words.json`` into ``out``; return its content."""
    arms = load_arms(enforced, tracked)
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"env": next(iter(arms.values())).env, "agents": {}}
    for agent in _learners(arms):
        found["agents"][agent] = _compare(arms, agent)
        with styled():
            save(words_ablation(found, agent), out / f"words_{agent}")
    write_json(out / "words.json", found)
    return found


def _compare(arms: Mapping[str, RunData], agent: str) -> dict[str, Any]:
    """Return the measures of each arm by part, and the difference of the arms."""
    parts = {name: _parts(run, agent) for name, run in arms.items()}
    told: dict[str, Any] = {}
    for name, run in arms.items():
        told[name] = {when: _words(columns) for when, columns in parts[name].items()}
        first, last = (parts[name][when] for when in PARTS)
        told[name]["growth"] = _differences(first, last, paired=True)
        told[name]["return"] = _plain(interval(groups_of(run.episodes, agent, "return")))
    one, other = parts.values()
    told["difference"] = {when: _differences(one[when], other[when], paired=False) for when in one}
    return told


def _parts(run: RunData, agent: str) -> dict[str, Columns]:
    """Return the learner's episodes in each part of its training, and in its evaluation."""
    training = run.training
    assert training is not None
    mine = select(training, training["agent"] == agent)
    share = mine["steps"] / max(1, mine["steps"].max(initial=0))
    parts = {part: select(mine, (share > low) & (share <= high)) for part, (low, high) in PARTS.items()}
    return parts | {"evaluation": select(run.episodes, run.episodes["agent"] == agent)}


def _by_seed(columns: Columns, name: str) -> list[Any]:
    whole = counted(columns)
    return [whole[name][whole["training_seed"] == seed] for seed in np.unique(whole["training_seed"])]


def _words(columns: Columns) -> dict[str, Any]:
    if not len(columns["training_seed"]):
        return {"findings": 0, **dict.fromkeys(MEASURES)}
    told = {
        key: _plain(share_interval(_by_seed(columns, part), _by_seed(columns, whole)))
        for key, (part, whole) in MEASURES.items()
    }
    return {"findings": int(counted(columns)["scored"].sum()), **told}


def _differences(first: Columns, second: Columns, *, paired: bool) -> dict[str, Any]:
    """Return the second arm's measures minus the first's; ``paired`` by training seed."""
    if not (len(first["training_seed"]) and len(second["training_seed"])):
        return dict.fromkeys(MEASURES)
    return {
        key: _plain(
            share_difference(
                (_by_seed(first, part), _by_seed(first, whole)),
                (_by_seed(second, part), _by_seed(second, whole)),
                paired=paired,
            )
        )
        for key, (part, whole) in MEASURES.items()
    }


def _plain(found: Interval) -> dict[str, float] | None:
    """Return an interval for JSON, or None without data."""
    if np.isnan(found.value):
        return None
    return {key: round(number, 6) for key, number in found._asdict().items()}


def words_table(found: Mapping[str, Any]) -> Table:
    rows = []
    for agent, told in found["agents"].items():
        for arm in ARMS:
            rows += [(agent, arm, when, *_row(told[arm][when])) for when in (*PARTS, "growth", "evaluation")]
        for when in (tuple(PARTS)[-1], "evaluation"):
            rows.append((agent, "difference", when, *_row(told["difference"][when])))
    return Table(
        ("agent", "arm", "when", "mean score", "2 or 3 (%)", "overclaimed (bits)"),
        tuple(rows),
        left=("arm", "when"),
        caption="Findings of a learner by the score of their words, and overclaimed bits per episode, in the first and "
        "last tenth of its training and in its evaluation (the most probable action). Growth: last less first tenth. "
        "Difference: only tracked less enforced. With 95 % bootstrap intervals over training seeds and episodes.",
    )


def _row(measured: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        _told(measured["mean_score"], 1.0, 2),
        _told(measured["share_2_or_3"], 100.0, 1),
        _told(measured["overclaimed_bits"], 1.0, 2),
    )


def _told(found: Mapping[str, float] | None, scale: float, digits: int) -> str:
    if found is None:
        return "no finding"
    value, low, high = (f"{scale * found[key]:.{digits}f}" for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"
