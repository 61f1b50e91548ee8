"""The leaderboard: the agents of finished runs on all levels, scored against the honest script of their run.

The score is the return as a percentage of the honest script's in the same run: doing nothing scores 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from solvent import ENVIRONMENTS
from solvent.lab.settings import nearest
from solvent_experiments.config import ConfigError, read_json
from solvent_experiments.console import complain
from solvent_experiments.folder import RunFolder
from solvent_experiments.provenance import provenance
from solvent_experiments.statistics import Interval
from solvent_experiments.summary import Row, read_rows
from solvent_experiments.table import Table, interval_cells

HEADINGS = (
    *("agent", "score", "95 % interval", "return\n(bits)", "over-\nclaimed\n(bits)"),
    *("refused\nby debt", "refused\nother-\nwise", "wrong"),
)
CAPTION = (
    "Score: the return as a percentage of the honest script's on the same episodes. The interval is a 95 % bootstrap "
    "over training seeds and episodes; a learner of one seed has none. Other columns are means per episode. "
    "Overclaimed: bits claimed or asserted beyond what was gained or licensed. Refused by debt: refusals that would "
    "have run at zero debt; otherwise: those that would not. Wrong: accepted but incorrect."
)
MEANS = ("overclaimed_bits", "refused_by_debt", "refused_otherwise", "wrong")
"""Means per episode, by their names in the JSON."""
JSON = "the JSON of `solvent leaderboard --format json`"

Entries = dict[str, Any]


def read_entries(paths: Sequence[Path]) -> Entries:
    """Return level, command and agents of runs by name, from run folders or from JSON that a leaderboard wrote.

    A run without an honest script that earns something has no scores: it is left out, as stderr says.

    Raises:
        ConfigError: a run is unfinished, was measured with another release than the one before, or has its name; or
            all are left out.
    """
    entries: Entries = {}
    left_out = []
    for path in paths:
        new = _from_json(path) if path.is_file() else _from_run(RunFolder(path))
        versions = list(dict.fromkeys(_release(entry) for entry in [*entries.values(), *new.values()]))
        if len(versions) > 1:
            message = f"measured with Solvent {versions[1]}, those before it with {versions[0]}; allowed: one version"
            raise ConfigError(message, file=path)
        if twice := next((name for name in new if name in entries), None):
            raise ConfigError(f"a second run named {twice!r}; allowed: one of each name", file=path)
        if not new:
            problem = "no honest script with a return above 0; allowed: a run with `honest` among its config's `agents`"
            left_out.append(ConfigError(problem, file=path))
        entries |= new
    if not entries:
        raise left_out[0]
    for error in left_out:
        complain(f"left out: {error}")
    order = list(ENVIRONMENTS)
    return dict(sorted(entries.items(), key=lambda item: order.index(_level_name(item[1]))))


def _release(entry: Mapping[str, Any]) -> str:
    """Return the release that an entry was measured with; a development version counts as the one it became."""
    return str(entry["version"]).partition(".dev")[0]


def _from_json(path: Path) -> Entries:
    content = read_json(path, JSON)
    try:
        entries: Entries = content["runs"]
        leaderboard_markdown(entries)
        for entry in entries.values():
            entry.setdefault("version", content["versions"]["solvent"])
        levels = [_level_name(entry) for entry in entries.values()]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ConfigError(f"something else; allowed: a run's folder, or {JSON}", file=path) from None
    for level in levels:
        if level not in ENVIRONMENTS:
            raise ConfigError(f"unknown level {level!r:.60}{nearest(level, ENVIRONMENTS)}", file=path)
    return entries


def _level_name(entry: Mapping[str, Any]) -> str:
    """Return a run's level without its mark."""
    return str(entry["level"].partition(" ")[0])


def leaderboard_json(entries: Entries) -> str:
    """Return the numbers as JSON, after their provenance."""
    return json.dumps(provenance() | {"runs": entries}, indent=2)


def _from_run(folder: RunFolder) -> Entries:
    manifest, experiment = folder.read_manifest(), folder.experiment()
    rows = read_rows(folder.summary)
    if not all(isinstance(row.measured.get("honest_share"), Interval) for row in rows):
        return {}
    mark = experiment.mark or experiment.changed
    level = f"{experiment.env} ({mark})" if mark else experiment.env
    about = {"level": level, "command": manifest["command"], "finished": manifest["finished"]}
    about["version"] = manifest["versions"]["solvent"]
    return {experiment.name: {**about, "agents": {row.agent: _numbers(row) for row in rows}}}


def _numbers(row: Row) -> Mapping[str, Any]:
    return {
        "seeds": row.seeds,
        "episodes": row.episodes,
        "score": row.interval("honest_share").scaled(100.0).to_json(),
        "return": row.interval("return").to_json(),
        "overclaimed_bits": row.mean("debt_added"),
        "refused_by_debt": row.mean("refusals_by_debt"),
        "refused_otherwise": row.mean("refusals") - row.mean("refusals_by_debt"),
        "wrong": row.mean("wrong"),
    }


def of_level(entries: Entries, level: str) -> Entries:
    """Return the runs of a level alone."""
    levels = list(dict.fromkeys(entry["level"] for entry in entries.values()))
    if level not in levels:
        raise ConfigError(f"env: got {level!r:.60}; allowed: {', '.join(levels)}")
    return {name: entry for name, entry in entries.items() if entry["level"] == level}


def leaderboard_tables(entries: Entries) -> dict[str, Table]:
    """Return a table for each level, a row for each agent, best first, with the commands of the runs as its caption.

    Where a level has several runs, an agent has the name of its run beside it.
    """
    tables = {}
    for level in dict.fromkeys(entry["level"] for entry in entries.values()):
        runs = of_level(entries, level)
        placed = [
            (agent if len(runs) == 1 else f"{agent} [{name}]", numbers)
            for name, entry in runs.items()
            for agent, numbers in entry["agents"].items()
        ]
        placed.sort(key=lambda row: _place(row[1]["score"]["value"]))
        commands = ", ".join(f"`{entry['command']}` ({entry['finished'][:10]})" for entry in runs.values())
        rows = tuple((agent, *_cells(numbers)) for agent, numbers in placed)
        tables[level] = Table(HEADINGS, rows, title=level, caption=commands)
    return tables


def _place(score: float | None) -> tuple[bool, float]:
    """Return what scores are sorted by: the best first, and no score last."""
    return score is None, -(score or 0.0)


def _cells(numbers: Mapping[str, Any]) -> tuple[str, ...]:
    score = interval_cells(Interval.from_json(numbers["score"]), ".1f")
    return (*score, f"{numbers['return']['value']:.2f}", *(f"{numbers[mean]:.2f}" for mean in MEANS))


def leaderboard_markdown(entries: Entries) -> str:
    """Return a section for each level, with the commands and dates of its runs, and its table."""
    parts = []
    for level, table in leaderboard_tables(entries).items():
        parts += [f"## {level}", table.caption, table.markdown()]
    return "\n\n".join(parts)
