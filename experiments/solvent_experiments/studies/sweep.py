"""A sweep over parameters: a study without expectations, with a run for each combination of values.

    sweep: {debt.threshold: [1.0, 2.0, 4.0]}

Every run has its own folder below the sweep's, so every command that reads a run can read it.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from solvent_experiments.config import ConfigError, experiment_of, put_at
from solvent_experiments.console import say, suggest
from solvent_experiments.figures.frame import names_at_right
from solvent_experiments.figures.style import colour_of, new_figure
from solvent_experiments.run import Pool
from solvent_experiments.statistics import Interval
from solvent_experiments.studies.results import StudyResult, result_of, run_arms, show, write
from solvent_experiments.studies.study import Arm, Study, StudyData

MOST_RUNS = 100
LONGEST, HASHED = 100, 8
"""Characters of a name, and of its hash in it."""
PANELS = {
    "return": "return (bits): mean and 95 % interval",
    "debt_added": "overclaimed (bits), mean per episode",
    "refusals_by_debt": "refused by debt, mean per episode",
    "wells_spent": "wells used, mean per episode",
}
COLUMNS = (*PANELS, "accepted", "wrong")
INCHES = 1.7


def load_sweep(given: Mapping[str, Any], path: Path) -> Study:
    """Return the study of a config's ``sweep``: an arm for each combination and agent.

    ``given`` is what the file ``path`` holds.

    Raises:
        ConfigError: as of ``load_experiment``; or a key or a list of values is not usable.
    """
    fixed = {key: value for key, value in given.items() if key != "sweep"}
    name, experiments = fixed.get("name"), {}
    combinations = [(_lab_name(chosen), chosen) for chosen in _combinations(given["sweep"], path)]
    _check_folders([lab for lab, _ in combinations], path)
    for lab, chosen in combinations:
        changed = {**fixed, "params": _changed(fixed.get("params"), chosen, path)}
        if isinstance(name, str):  # any other is refused as the config's
            changed["name"] = _shortened(f"{name}-{folder_name(lab)}")
        experiments[lab] = experiment_of(changed, path)
    agents = [*experiments[lab].train, *experiments[lab].language, *experiments[lab].agent_names]
    arms = [
        Arm(folder_name(lab), f"{lab}: {agent}", experiment, agent)
        for lab, experiment in experiments.items()
        for agent in agents
    ]
    title = f"{experiments[lab].env}, sweep {name}"
    return Study(title, rows={arm.label: arm for arm in arms}, columns=COLUMNS, draw=draw)


def _combinations(sweep: Any, path: Path) -> list[dict[str, Any]]:
    """Return the values of each run by parameter."""
    lists = sweep.values() if isinstance(sweep, dict) else ()
    if not lists or not all(isinstance(values, list) and values for values in lists):
        allowed = "allowed: parameters with lists of values, such as {debt.threshold: [1.0, 2.0]}"
        raise ConfigError(f"got {sweep!r:.60}; {allowed}", file=path, key="sweep")
    combinations = [dict(zip(sweep, chosen, strict=True)) for chosen in itertools.product(*lists)]
    if len(combinations) > MOST_RUNS:
        raise ConfigError(f"{len(combinations)} runs; allowed: 1 to {MOST_RUNS}", file=path, key="sweep")
    return combinations


def _lab_name(chosen: Mapping[str, Any]) -> str:
    """Return the values of a run by parameter as a text."""
    return ", ".join(f"{key}={_text(value)}" for key, value in chosen.items())


def _text(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).partition("\n")[0]


def _check_folders(labs: Sequence[str], path: Path) -> None:
    """Raise ConfigError for two labs whose runs would have one folder."""
    taken: dict[str, str] = {}
    for lab in labs:
        name = folder_name(lab).casefold()  # some file systems ignore case
        if name in taken:
            problem = f"{taken[name]!r:.60} and {lab!r:.60} have the folder {name}; allowed: values of distinct names"
            raise ConfigError(problem, file=path, key="sweep")
        taken[name] = lab


def _changed(params: Any, chosen: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return nested parameters with values at dotted keys."""
    if not isinstance(params, dict | None):
        raise ConfigError(f"got {params!r:.60}; allowed: parameters by group", file=path, key="params")
    given = {group: of for group, of in (params or {}).items() if of is not None}
    changed = {group: dict(of) if isinstance(of, dict) else of for group, of in given.items()}
    for key, value in chosen.items():
        try:
            put_at(changed, str(key), value)
        except ValueError:
            problem = f"{key} is among the params too; allowed: one of the two"
            raise ConfigError(problem, file=path, key="sweep") from None
    return changed


def folder_name(lab: str) -> str:
    """Return the name of a run's folder: its lab, with a dash for every character that ``NAME`` does not allow."""
    # A dot at the end has no place in a name on Windows.
    return _shortened(re.sub(r"[^A-Za-z0-9._-]|\.$", "-", lab))


def _shortened(name: str) -> str:
    """Return a name of at most ``LONGEST`` characters: a longer one ends in a hash of itself."""
    if len(name) <= LONGEST:
        return name
    hashed = hashlib.sha256(name.encode()).hexdigest()[:HASHED]
    return f"{name[: LONGEST - HASHED - 1]}-{hashed}"


def run_sweep(study: Study, root: Path, pool: Pool, *, quiet: bool) -> None:
    """Run the unfinished arms of a sweep, write ``sweep.json`` and the figure, and print the table."""
    data = StudyData(root, root, "solvent run")
    run_arms(study, data, pool, quiet=quiet)
    result = result_of(study, data)
    paths = write(result, study, root, "sweep")
    show(result)
    say(str(paths[-1]))
    two = shlex.join(str(root / name) for name in list(dict.fromkeys(arm.name for arm in study.arms()))[:2])
    suggest(f"`solvent compare {two}` compares two of these runs in pairs.")


def draw(result: StudyResult) -> Mapping[str, Figure]:
    """Draw each measure over the values, a line for each agent."""
    rows = [label.rpartition(": ") for label in result.means]
    labs, agents = dict.fromkeys(lab for lab, *_ in rows), dict.fromkeys(agent for *_, agent in rows)
    figure = new_figure(0.9 + INCHES * len(PANELS))
    for axes, (name, title) in zip(figure.subplots(len(PANELS), 1, sharex=True), PANELS.items(), strict=True):
        lines = {agent: [result.means[f"{lab}: {agent}"][name].interval for lab in labs] for agent in agents}
        _panel(axes, lines, intervals=name == "return")
        axes.set_title(title)
    _name_values(axes, list(labs))
    return {"": figure}


def _panel(axes: Axes, lines: Mapping[str, Sequence[Interval]], *, intervals: bool) -> None:
    """Draw a line for each agent, with its name at the end, and the intervals if asked."""
    ends = []
    for agent, numbers in lines.items():
        places, colour = range(len(numbers)), colour_of(agent)
        axes.plot(places, [number.value for number in numbers], "o-", ms=3, lw=1.2, color=colour)
        if intervals:
            lows, highs = [number.low for number in numbers], [number.high for number in numbers]
            axes.vlines(places, lows, highs, color=colour, lw=3, alpha=0.4)
        ends.append((numbers[-1].value, agent, colour))
    axes.margins(x=0.04)
    names_at_right(axes, ends, INCHES)


def _name_values(axes: Axes, labs: Sequence[str]) -> None:
    """Name the values below an axis: of one parameter alone, without it."""
    keys, texts = zip(*(lab.split("=", 1) for lab in labs), strict=True)
    if len(set(keys)) == 1 and not any(", " in lab for lab in labs):
        axes.set_xticks(range(len(labs)), texts)
        axes.set_xlabel(keys[0])
    else:
        axes.set_xticks(range(len(labs)), labs, rotation=30, ha="right")
