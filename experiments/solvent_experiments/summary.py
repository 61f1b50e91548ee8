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
from solvent_experiments.folder import WRITTEN, Columns, groups_of, pairs_of, select
from solvent_experiments.statistics import (
    Interval,
    difference,
    interquartile_mean,
    interval,
    mean_interval,
    ratio,
    share_above,
    share_interval,
)
from solvent_experiments.table import Table

HONEST = "honest"
SCORES = ("adequacy_0", "adequacy_1", "adequacy_2", "adequacy_3")
"""Numbers of findings whose words scored 0 to 3."""

RESULTS = {
    "score": "return\n(bits)", "optimum_share": "opti-\nmum", "refusals": "refu-\nsals", "refusals_by_debt": "by\ndebt",
    "debt": "debt\n(bits)", "accepted": "ac-\ncepted", "wrong": "wrong", "seeds": "seeds x\nepisodes",
}  # fmt: skip
PAIRED = {"over_honest": "less honest\n(bits)", "better_than_honest": "earns\nmore"}
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
    "inadequacy": "mean\nscore", "overclaimed": "over\n(%)",
}  # fmt: skip
TABLES = {"results": RESULTS, "paired": PAIRED, "energy": ENERGY, "gate": GATE, "words": WORDS}
"""Columns of the result tables with their headings and a terminal's line breaks. Only rows with the first are shown."""
INTERVALS = {
    "score": (".2f", 1),
    "over_honest": ("+.2f", 1),
    "inadequacy": (".2f", 1),
    "overclaimed": (".1f", 100),
}
"""Columns that are shown with their intervals: format and scale."""
# Learners differ by tenths of a percent of the optimum.
SHARES = {"optimum_share": ".1%", "better_than_honest": ".0%"}

CAPTIONS = {
    "results": "Score and return are interquartile means, with a 95 % bootstrap interval over training seeds and "
    "episodes; the other columns are per-episode means. By debt: refusals that would have run at zero debt. Wrong "
    "findings are among the accepted. A trained policy takes its most probable action in evaluations.",
    "paired": "Each agent less the honest script on the same episodes: the mean difference in return, with a 95 % "
    "bootstrap interval over training seeds and episodes, and the share of episodes in which the agent earns more.",
    "energy": "Per-episode means. Lost: income above the cap. Deferred: not executed for lack of energy. Felt: "
    "deferrals that were worth taking, at most one of a kind per heartbeat. Away: not executed because the user was "
    "away.",
    "gate": "Per-episode means. Accepted: published at once. Reviewed: published if the reader approves.",
    "words": "Findings per episode by the score of their words: 0 claims no more than the evidence shows, 3 is "
    "definitive with almost none. Score: their mean. Over: share of scores 2 and 3. With 95 % bootstrap intervals.",
}


@dataclass(frozen=True)
class Row:
    """An agent's numbers: means per episode by column, some with intervals; a script counts as one seed."""

    agent: str
    seeds: int
    episodes: int
    measured: Mapping[str, Interval | float]

    @property
    def score(self) -> Interval:
        """Interquartile mean of the return, bits."""
        return self.interval("score")

    def interval(self, key: str) -> Interval:
        found = self.measured[key]
        if not isinstance(found, Interval):
            raise TypeError(f"{key} has no interval")
        return found

    def mean(self, key: str) -> float:
        """Return the value of a number, with or without interval; 0 if it was not measured."""
        found = self.measured.get(key, 0.0)
        return found.value if isinstance(found, Interval) else found


def summary(episodes: Columns, params: LabParams) -> list[Row]:
    """Return a row for each agent, best first.

    The return is also given as a share of the prior entropy, of the optimum where it is known, and of the honest
    script's return if it is among the agents.
    """
    from solvent_agents.exact.exact import known_optimum

    optimum = known_optimum(params)
    honest = select(episodes, episodes["agent"] == HONEST)
    compared = len(honest["return"]) > 0 and interquartile_mean(honest["return"]) > 0.0
    rows = []
    for agent in map(str, dict.fromkeys(episodes["agent"])):
        returns = groups_of(episodes, agent, "return")
        score = interval(returns)
        measured: dict[str, Interval | float] = {
            "score": score,
            "ceiling_share": _over(score, params.ceiling),
        }
        for name, column in episodes.items():
            if name in ("debt", "refusals"):
                measured[name] = mean_interval(groups_of(episodes, agent, name))
            elif column.dtype != object and name not in ("training_seed", "episode_seed", "return"):
                measured[name] = float(column[episodes["agent"] == agent].mean())
        if SCORES[0] in episodes:
            measured |= _words(episodes, agent)
        if optimum:
            measured["optimum_share"] = _over(mean_interval(returns), optimum)  # an optimum is a mean
        if compared:
            measured |= _against(select(episodes, episodes["agent"] == agent), agent, honest)
        rows.append(Row(agent, len(returns), sum(map(len, returns)), measured))
    return sorted(rows, key=lambda row: -row.score.value)


def _against(episodes: Columns, agent: str, honest: Columns) -> dict[str, Interval | float]:
    """Return an agent's return as a share of the honest script's, and less it, on the episodes that both played."""
    if agent == HONEST:
        return {"honest_share": Interval(1.0, 1.0, 1.0)}
    mine, its = pairs_of(episodes, honest)
    returns, others = groups_of(mine, agent, "return"), groups_of(its, HONEST, "return")
    return {
        "honest_share": ratio(returns, others),
        "over_honest": difference(others, returns, paired=True),
        "better_than_honest": share_above(returns, others),
    }


def _over(found: Interval, whole: float) -> Interval:
    return Interval(*(number / whole for number in found))


def _words(episodes: Columns, agent: str) -> dict[str, Interval | float]:
    """Return the mean score of an agent's words and the share of scores 2 and 3; empty without findings."""
    by_seed = list(zip(*(groups_of(episodes, agent, name) for name in SCORES), strict=True))
    findings = [sum(seed) for seed in by_seed]
    if not sum(int(np.sum(count)) for count in findings):
        return {}
    points = [sum(score * count for score, count in enumerate(seed)) for seed in by_seed]
    strong = [seed[2] + seed[3] for seed in by_seed]
    return {"inadequacy": share_interval(points, findings), "overclaimed": share_interval(strong, findings)}


# -- summary.json


def write_rows(path: Path, experiment: Experiment, rows: Sequence[Row]) -> None:
    agents = [
        {"agent": row.agent, "seeds": row.seeds, "episodes": row.episodes}
        | {k: v._asdict() if isinstance(v, Interval) else v for k, v in row.measured.items()}
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
    measured = {name: Interval(**v) if isinstance(v, dict) else float(v) for name, v in given.items()}
    return Row(agent, seeds, episodes, measured)


# -- tables


def result_tables(rows: Sequence[Row], *, title: str = "", mark: str = "") -> list[Table]:
    """Return the tables of a level's mechanisms in order of display; ``mark`` names departures from the level."""
    tables = []
    for name, columns in TABLES.items():
        mine = [row for row in rows if next(iter(columns)) in row.measured]
        if mine:
            tables.append(_table(mine, columns, name))
    return [replace(tables[0], title=f"{title}\n{mark}" if mark else title), *tables[1:]]


def _table(rows: Sequence[Row], columns: Mapping[str, str], caption: str) -> Table:
    headings, lines = ["agent"], [[row.agent] for row in rows]
    for key, heading in columns.items():
        if key == "optimum_share" and key not in rows[0].measured:
            continue
        headings += [heading, "95 % interval"] if key in INTERVALS else [heading]
        for row, line in zip(rows, lines, strict=True):
            if key in INTERVALS:
                line.extend(with_interval(row.measured.get(key), *INTERVALS[key]))
            elif key == "seeds":
                line.append(f"{row.seeds} x {row.episodes // row.seeds}")
            else:
                line.append(format(row.mean(key), SHARES.get(key, ".2f")))
    return Table(tuple(headings), tuple(map(tuple, lines)), caption=CAPTIONS[caption])


def with_interval(found: Interval | float | None, form: str = ".2f", scale: float = 1) -> tuple[str, str]:
    """Return a number and its interval as texts; dashes for what has no interval."""
    if not isinstance(found, Interval):
        return "-", "-"
    value, low, high = (format(scale * number, form) for number in found)
    return value, f"{low} to {high}"
