"""A sweep over parameters: a run for each combination of values, and one table and one figure of all of them.

    sweep: {debt.threshold: [1.0, 2.0, 4.0]}

Every run has its own folder below the sweep's, so every command that reads a run can read it.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from matplotlib.figure import Figure

from solvent.files import write_json
from solvent_experiments.config import ConfigError, Experiment, experiment_of
from solvent_experiments.console import new_console, say, suggest
from solvent_experiments.figures.frame import names_at_right
from solvent_experiments.figures.style import colour_of, head, new_figure, save, styled
from solvent_experiments.run import Pool, run_experiment
from solvent_experiments.summary import Row, read_rows, with_interval
from solvent_experiments.table import Table

MOST_RUNS = 100
PANELS = {
    "score": "return (bits): interquartile mean, 95 % interval",
    "debt_added": "overclaimed (bits), mean per episode",
    "refusals_by_debt": "refused by debt, mean per episode",
}
MEANS = ("debt_added", "refusals_by_debt", "accepted", "wrong")
INCHES = 1.7

Results = Mapping[str, Sequence[Row]]


def load_sweep(given: Mapping[str, Any], path: Path) -> dict[str, Experiment]:
    """Return the experiment of each combination of a config's ``sweep`` by its label, such as ``debt.threshold=1.0``.

    ``given`` is what the file ``path`` holds.

    Raises:
        ConfigError: as of ``load_experiment``; or a key or a list of values is not usable.
    """
    fixed = {key: value for key, value in given.items() if key != "sweep"}
    sweep = given["sweep"]
    lists = sweep.values() if isinstance(sweep, dict) else ()
    if not lists or not all(isinstance(values, list) and values for values in lists):
        said = "allowed: parameters with lists of values, such as {debt.threshold: [1.0, 2.0]}"
        raise ConfigError(f"got {sweep!r:.60}; {said}", file=path, key="sweep")
    combinations = [dict(zip(sweep, chosen, strict=True)) for chosen in itertools.product(*lists)]
    if len(combinations) > MOST_RUNS:
        raise ConfigError(f"{len(combinations)} runs; allowed: 1 to {MOST_RUNS}", file=path, key="sweep")
    found = {}
    for chosen in combinations:
        label = ", ".join(f"{key}={_shown(value)}" for key, value in chosen.items())
        name = f"{fixed.get('name')}-{folder_name(label)}"[:100]
        changed = {**fixed, "name": name, "params": _changed(fixed.get("params") or {}, chosen, path)}
        found[label] = experiment_of(changed, path)
    return found


def _shown(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).partition("\n")[0]


def _changed(params: Any, chosen: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return nested parameters with values at dotted keys."""
    changed = dict(params)
    for key, value in chosen.items():
        *groups, last = str(key).split(".")
        inner = changed
        for group in groups:
            inner[group] = dict(inner.get(group) or {})
            inner = inner[group]
        if last in inner:
            said = f"{key} is among the params too; allowed: one of the two"
            raise ConfigError(said, file=path, key="sweep")
        inner[last] = value
    return changed


def run_sweep(experiments: Mapping[str, Experiment], root: Path, pool: Pool, *, quiet: bool) -> None:
    """Run the unfinished experiments of a sweep, write ``sweep.json`` and the figure, and print the table."""
    results = {}
    for label, experiment in experiments.items():
        folder = run_experiment(experiment, root / folder_name(label), pool=pool, quiet=quiet)
        results[label] = read_rows(folder.summary)
    rows = [(label, row, [row.mean(name) for name in MEANS]) for label, of in results.items() for row in of]
    document = [
        {"lab": label, "agent": row.agent, **row.score._asdict(), **dict(zip(MEANS, means, strict=True))}
        for label, row, means in rows
    ]
    write_json(root / "sweep.json", document)
    with styled():
        drawn = figure(results)
        head(drawn, f"{experiment.env}, sweep {root.name}")
        save(drawn, root / "sweep")
    numbers = ("return\n(bits)", "95 % interval", "overclaimed", "refused\nby debt", "accepted", "wrong")
    cells = [
        (label, row.agent, *with_interval(row.score), *(f"{mean:.2f}" for mean in means))
        for label, row, means in rows
    ]
    title = f"{root}: a run for each lab"
    table = Table(("lab", "agent", *numbers), tuple(cells), title=title, left=("agent",))
    new_console().print(table.terminal())
    say(str(root / "sweep.png"))
    two = shlex.join(str(root / folder_name(label)) for label in [*experiments][:2])
    suggest(f"`solvent compare {two}` compares two of these runs in pairs.")


def folder_name(label: str) -> str:
    """Return the name of a run's folder: its label, with a dash for every character that ``NAME`` does not allow."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", label)[:100]


def figure(results: Results) -> Figure:
    """Draw return, overclaims and refusals caused by debt over the values, a line for each agent."""
    agents = [row.agent for row in next(iter(results.values()))]
    drawn = new_figure(0.9 + INCHES * len(PANELS))
    for axes, (name, title) in zip(drawn.subplots(len(PANELS), 1, sharex=True), PANELS.items(), strict=True):
        ends = []
        for agent in agents:
            found = [next(row for row in rows if row.agent == agent) for rows in results.values()]
            values, colour = [row.mean(name) for row in found], colour_of(agent)
            axes.plot(range(len(values)), values, "o-", ms=3, lw=1.2, color=colour)
            if name == "score":
                lows, highs = zip(*((row.score.low, row.score.high) for row in found), strict=True)
                axes.vlines(range(len(values)), lows, highs, color=colour, lw=3, alpha=0.4)
            ends.append((values[-1], agent, colour))
        axes.set_title(title)
        axes.margins(x=0.04)
        names_at_right(axes, ends, INCHES)
    keys, shown = zip(*(label.split("=", 1) for label in results), strict=True)
    if len(set(keys)) == 1 and not any(", " in label for label in results):
        axes.set_xticks(range(len(results)), shown)
        axes.set_xlabel(keys[0])
    else:
        axes.set_xticks(range(len(results)), list(results), rotation=30, ha="right")
    return drawn
