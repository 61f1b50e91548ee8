"""The summary of a run: each agent's means with intervals, and the result tables.

``summary.json`` keeps the numbers in full precision for the terminal, the figures and the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from solvent import LabParams
from solvent.files import write_json
from solvent_experiments.config import ConfigError, Experiment, read_json
from solvent_experiments.folder import WRITTEN, Columns, by_seed, pairs_of, select
from solvent_experiments.statistics import (
    NOTHING,
    Interval,
    difference,
    interquartile_mean,
    mean_interval,
    ratio,
    share_above,
    share_interval,
)
from solvent_experiments.table import Table, interval_cells

HONEST = "honest"
SCORES = ("adequacy_0", "adequacy_1", "adequacy_2", "adequacy_3")
"""Numbers of findings whose words scored 0 to 3."""

RESULTS = {
    "return": "return\n(bits)", "return_iqm": "IQM of\nruns", "optimum_share": "opti-\nmum",
    "refusals": "refu-\nsals", "refusals_by_debt": "by\ndebt",
    "debt": "debt\n(bits)", "accepted": "ac-\ncepted", "wrong": "wrong", "seeds": "seeds x\nepisodes",
}  # fmt: skip
PAIRED = {"over_honest": "minus honest\n(bits)", "better_than_honest": "earns\nmore"}
ENERGY = {
    "energy_spent": "energy\nspent", "energy_lost": "energy\nlost", "deferrals": "deferred", "discomforts": "felt",
    "out_of_context": "away", "proposals": "pro-\nposals", "approvals": "approved",
}  # fmt: skip
GATE = {
    "verdicts_accept": "ac-\ncepted", "verdicts_review": "re-\nviewed", "verdicts_reject": "re-\njected",
    "reviews_approved": "ap-\nproved", "reviews_declined": "de-\nclined",
}  # fmt: skip
WORDS = {
    **dict(zip(SCORES, ("score\n0", "1", "2", "3"), strict=True)),
    "inadequacy": "mean\nscore", "overstated": "over\n(%)",
}  # fmt: skip
TABLES = {"results": RESULTS, "paired": PAIRED, "energy": ENERGY, "gate": GATE, "words": WORDS}
"""Columns of the result tables with their headings and a terminal's line breaks. Only rows with the first are shown."""
INTERVALS = {
    "return": (".2f", 1),
    "over_honest": ("+.2f", 1),
    "inadequacy": (".2f", 1),
    "overstated": (".1f", 100),
}
"""Columns that are shown with their intervals: format and scale."""
OPTIONAL = {
    "return_iqm": "IQM of runs: the mean of the middle half of the seeds' means.",
    "optimum_share": "Optimum: the return as a share of the exact optimum.",
}
"""Columns that only some tables have, and what the caption then adds."""
# Learners differ by tenths of a percent of the optimum.
SHARES = {"optimum_share": ".1%", "better_than_honest": ".0%"}

CAPTIONS = {
    "results": "Means per episode, with a 95 % bootstrap interval. By debt: refusals that would have run at zero debt. "
    "Wrong: accepted but incorrect.",
    "paired": "Each agent minus the honest script on the same episodes: the mean difference in return, with a 95 % "
    "bootstrap interval over training seeds and episodes, and the share of episodes in which the agent earns more.",
    "energy": "Per-episode means. Lost: income above the cap. Deferred: not executed for lack of energy. Felt: "
    "deferrals that were worth taking, at most one of a kind per heartbeat. Away: not executed because the user was "
    "away.",
    "gate": "Per-episode means. Accepted: published at once. Reviewed: published if the reader approves.",
    "words": "Findings per episode by the score of their words: 0 claims no more than the evidence shows, 3 is "
    "definitive with almost none. Score: their mean. Over: share of scores 2 and 3. With 95 % bootstrap intervals.",
}

LEARNERS = "A trained policy takes its most probable action; the interval of one training seed is unknown."
"""What the caption of the results adds where there are learners."""


@dataclass(frozen=True)
class Row:
    """An agent's numbers: means per episode by column, some with intervals; a script counts as one seed."""

    agent: str
    seeds: int
    episodes: int
    measured: Mapping[str, Interval | float]

    def interval(self, key: str) -> Interval:
        """Return a number that has an interval; ``NOTHING`` if it was not measured."""
        number = self.measured.get(key, NOTHING)
        if not isinstance(number, Interval):
            raise TypeError(f"{key} has no interval")
        return number

    @property
    def is_learner(self) -> bool:
        """Whether it has several training seeds, or an unknown interval as a learner of one has."""
        return self.seeds > 1 or not self.interval("return").known

    def mean(self, key: str) -> float:
        """Return the value of a number, with or without interval; 0 if it was not measured."""
        number = self.measured.get(key, 0.0)
        return number.value if isinstance(number, Interval) else number


def summary(episodes: Columns, params: LabParams) -> list[Row]:
    """Return a row for each agent, best first.

    The return is also given as a share of the prior entropy, of the optimum where it is known, and of the honest
    script's return if it is among the agents.
    """
    from solvent_agents.exact.exact import known_optimum

    optimum = known_optimum(params)
    honest = select(episodes, episodes["agent"] == HONEST)
    compared = len(honest["return"]) > 0 and honest["return"].mean() > 0.0
    rows = []
    for agent in map(str, dict.fromkeys(episodes["agent"])):
        played = select(episodes, episodes["agent"] == agent)
        returns = by_seed(played, "return")
        mean = mean_interval(returns)
        measured: dict[str, Interval | float] = {
            "return": mean,
            "ceiling_share": mean.scaled(1 / params.ceiling),
        }
        iqm = interquartile_mean(returns)
        if iqm.known:
            measured["return_iqm"] = iqm
        if optimum:
            measured["optimum_share"] = mean.scaled(1 / optimum)
        measured |= _means(played)
        if SCORES[0] in played:
            measured |= _words(played)
        if compared:
            measured |= _against(played, agent, honest)
        rows.append(Row(agent, len(returns.groups), len(played["return"]), measured))
    return sorted(rows, key=lambda row: -row.mean("return"))


def _means(episodes: Columns) -> dict[str, Interval | float]:
    """Return the mean of every other column of an agent's episodes, of debt and refusals with intervals."""
    measured: dict[str, Interval | float] = {}
    for name, column in episodes.items():
        if name in ("debt", "refusals"):
            measured[name] = mean_interval(by_seed(episodes, name))
        elif column.dtype != object and name not in ("training_seed", "episode_seed", "return"):
            measured[name] = float(column.mean())
    return measured


def _against(episodes: Columns, agent: str, honest: Columns) -> dict[str, Interval | float]:
    """Return an agent's return as a share of the honest script's and minus it, on the episodes that both played."""
    if agent == HONEST:
        return {"honest_share": Interval(1.0, 1.0, 1.0)}
    paired, honest = pairs_of(episodes, honest)
    returns, others = by_seed(paired, "return"), by_seed(honest, "return")
    return {
        "honest_share": ratio(returns, others),
        "over_honest": difference(others, returns, paired=True),
        "better_than_honest": share_above(returns, others),
    }


def _words(episodes: Columns) -> dict[str, Interval | float]:
    """Return the mean score of an agent's words and the share of scores 2 and 3; empty without findings."""
    counts = [episodes[name] for name in SCORES]
    sums = {
        "findings": np.sum(counts, axis=0),
        "points": np.sum([score * count for score, count in enumerate(counts)], axis=0),
        "strong": counts[2] + counts[3],
    }
    if not sums["findings"].sum():
        return {}
    findings, points, strong = (by_seed({**episodes, **sums}, name) for name in sums)
    return {"inadequacy": share_interval(points, findings), "overstated": share_interval(strong, findings)}


# -- summary.json


def write_rows(path: Path, experiment: Experiment, rows: Sequence[Row]) -> None:
    agents = [
        {"agent": row.agent, "seeds": row.seeds, "episodes": row.episodes}
        | {key: v.to_json() if isinstance(v, Interval) else v for key, v in row.measured.items()}
        for row in rows
    ]
    about = {"name": experiment.name, "env": experiment.env, "mark": experiment.mark}
    write_json(path, about | {"agents": agents})


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a run's ``summary.json``, best first; raise ConfigError for another file."""
    content = read_json(path, WRITTEN)
    try:
        return [_row(**given) for given in content["agents"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"not a summary ({error}); allowed: {WRITTEN}", file=path) from None


def _row(agent: str, seeds: int, episodes: int, **given: Any) -> Row:
    measured = {name: Interval.from_json(v) if isinstance(v, dict) else float(v) for name, v in given.items()}
    return Row(agent, seeds, episodes, measured)


# -- tables


def result_tables(rows: Sequence[Row], *, title: str = "", mark: str = "") -> list[Table]:
    """Return the tables of a level's mechanisms in order of display; ``mark`` names departures from the level."""
    tables = []
    for name, columns in TABLES.items():
        present = [row for row in rows if next(iter(columns)) in row.measured]
        if present:
            tables.append(_table(present, columns, name))
    return [replace(tables[0], title=f"{title}\n{mark}" if mark else title), *tables[1:]]


def _table(rows: Sequence[Row], columns: Mapping[str, str], caption: str) -> Table:
    headings, lines, captions = ["agent"], [[row.agent] for row in rows], [CAPTIONS[caption]]
    for key, heading in columns.items():
        if key in OPTIONAL:
            if not any(key in row.measured for row in rows):
                continue
            captions.append(OPTIONAL[key])
        headings += [heading, "95 % interval"] if key in INTERVALS else [heading]
        for row, line in zip(rows, lines, strict=True):
            line.extend(_cells(row, key))
    if columns is RESULTS and any(row.is_learner for row in rows):
        captions.append(LEARNERS)
    return Table(tuple(headings), tuple(map(tuple, lines)), caption=" ".join(captions))


def _cells(row: Row, key: str) -> Sequence[str]:
    """Return the texts of a row in the one or two columns of a number."""
    if key in INTERVALS:
        form, scale = INTERVALS[key]
        return interval_cells(row.interval(key).scaled(scale), form)
    if key == "seeds":
        return [f"{row.seeds} x {row.episodes // row.seeds}"]
    if key in OPTIONAL and key not in row.measured:
        return ["-"]
    return [format(row.mean(key), SHARES.get(key, ".2f"))]
