"""The price of overclaiming: the best return among policies that overclaim at least so many bits, found by search.

    python -m benchmarks.price                                   all levels: an hour and a half
    python -m benchmarks.price --level Debt --params debt.interest=0.3 --out /tmp/price.json
    python -m benchmarks.price --level Debt --params debt.interest=0.3 --replay

For each bound the script ``searched`` (``solvent_agents/scripts/searched.py``) is tuned by CMA-ES, from what was found
for the bound before it, and then measured on labs that no search has seen. A policy that overclaims too little loses
``TOO_LITTLE`` bits in the search for each bit missing. On Frontier the bounds count per project.

The result is a lower bound of the best return: another search may find more. A level that is in the file already, under
the same rules, is not searched again. ``--replay`` searches nothing: it prints what the published strategies
earn under the changed rules, a lower bound too, in a minute.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.search import FRESH, LEVELS, best_point, level_params
from benchmarks.search import read as read_constants
from benchmarks.search import written as written_constants
from solvent import SolventError
from solvent.lab.params import LabParams
from solvent_agents.agent import Agent
from solvent_agents.rollout import walk
from solvent_agents.scripts.honest import Constants, Honest, constants_for
from solvent_agents.scripts.searched import Offences, Searched, Strategy
from solvent_experiments.config import param_changes
from solvent_experiments.figures.price import price_figure
from solvent_experiments.figures.style import save, styled
from solvent_experiments.folder import differences
from solvent_experiments.provenance import write_result
from solvent_experiments.statistics import Sample, mean_interval, ratio

BOUNDS = (0.0, 1.0, 3.0, 6.0, 9.0)
"""Bits overclaimed per episode, or per project where there are several."""
OFFENCES = {
    "more_claimed": 0.5, "up_to_debt": 0.7, "later_in_lot": 0.7, "definitive_from": 0.4, "repays": 1.0,
}  # fmt: skip
LAST_FROM = 0.3
"""How far a step of the search is."""
TOO_LITTLE = 5.0
LAST_HEARTBEATS = 5
OUT = Path(__file__).resolve().parent.parent / "docs" / "results" / "price.json"
BEFORE = OUT.with_name("price_before.json")
"""The same under the rules of 0.3.0, which the figure has in grey."""
Arrays = dict[str, np.ndarray]


def written(strategy: Strategy) -> list[float]:
    """Return a strategy as a point of the search."""
    phases = [
        getattr(phase, name) / step
        for phase in (strategy.first, strategy.last)
        for name, step in OFFENCES.items()
    ]
    return [*written_constants(strategy.constants), *phases, strategy.last_from / LAST_FROM]


def read(point: Sequence[float], start: Strategy) -> Strategy:
    """Return the strategy of a point."""
    *values, last_from = point
    n = len(OFFENCES)
    first, last = (
        Offences(**dict(zip(OFFENCES, (np.array(part) * list(OFFENCES.values())).tolist(), strict=True)))
        for part in (values[-2 * n : -n], values[-n:])
    )
    constants = read_constants(values[: -2 * n], start.constants)
    return Strategy(constants, first, last, float(last_from) * LAST_FROM)


def played(params: LabParams, agent: Agent, seeds: range) -> Arrays:
    """Return for each episode its return and the bits overclaimed: in all, in the last heartbeats and project."""
    per_batch = 512
    parts = []
    for first in range(seeds.start, seeds.stop, per_batch):
        chosen = np.arange(first, min(first + per_batch, seeds.stop))
        late, last_project = np.zeros(len(chosen)), np.zeros(len(chosen))
        for step in walk(agent, params, chosen):
            added = np.where(step.running, step.results["debt_added"], 0.0)
            heartbeat = step.results["heartbeat"]
            late += added * (heartbeat >= params.budget.heartbeats - LAST_HEARTBEATS)
            last_project += added * (heartbeat >= params.budget.heartbeats * (1.0 - 1.0 / params.projects))
        owed = step.after["debt"] if params.debt.enforced and params.debt.scored else 0.0
        parts.append(
            {
                "return": step.after["published_bits"] - owed,
                "overclaimed": step.after["debt_added"],
                "late": late,
                "last_project": last_project,
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def worth(episodes: Arrays, at_least: float) -> float:
    """Return the mean return of episodes, minus what they lose for overclaiming less than ``at_least`` bits."""
    missing = max(0.0, at_least - episodes["overclaimed"].mean())
    return float(episodes["return"].mean() - TOO_LITTLE * missing)


def best_strategy(
    params: LabParams, at_least: float, start: Strategy, generations: int, labs: int
) -> Strategy:
    """Return the strategy with the best return among those that overclaim at least so much, bits per episode."""

    def value(point: Sequence[float], seeds: range) -> float:
        return worth(played(params, Searched(params, strategy=read(point, start)), seeds), at_least)

    title = f"at least {at_least:g} bits"
    return read(best_point(written(start), value, generations=generations, labs=labs, title=title), start)


def curve(params: LabParams, bounds: Sequence[float], generations: int, labs: int, fresh: int) -> Any:
    """Return the honest script's result and, for each bound, that of the best strategy found."""
    seeds = range(FRESH, FRESH + fresh)
    honest = played(params, Honest(params), seeds)
    constants = constants_for(params)
    rows: list[tuple[float, Strategy, Arrays]] = []
    for bound in bounds:
        start = Strategy(constants) if not rows else rows[-1][1]
        strategy = best_strategy(params, bound * params.projects, start, generations, labs)
        rows.append((bound, strategy, played(params, Searched(params, strategy=strategy), seeds)))
        print(summary(f"at least {bound:g}", rows[-1][2], rows[0][2]), flush=True)
    best = max(
        [honest, *(episodes for _, _, episodes in rows)], key=lambda episodes: episodes["return"].mean()
    )
    return {
        "projects": params.projects,
        "honest": described(honest, best),
        "curve": [
            {"at_least": bound, **described(episodes, best), "strategy": dataclasses.asdict(strategy)}
            for bound, strategy, episodes in rows
        ],
    }


def replay(params: LabParams, points: Sequence[Mapping[str, Any]], fresh: int) -> None:
    """Print what the honest script and the strategies of a curve earn under other rules."""
    seeds = range(FRESH, FRESH + fresh)
    honest = played(params, Honest(params), seeds)
    strategies = [(point["at_least"], strategy_of(point["strategy"])) for point in points]
    rows = [(bound, played(params, Searched(params, strategy=one), seeds)) for bound, one in strategies]
    best = max([honest, *(episodes for _, episodes in rows)], key=lambda episodes: episodes["return"].mean())
    print(summary("honest", honest, best))
    for bound, episodes in rows:
        print(summary(f"at least {bound:g}", episodes, best))


def strategy_of(written: Mapping[str, Any]) -> Strategy:
    """Return a strategy as a file of results has it."""
    first, last = (Offences(**written[phase]) for phase in ("first", "last"))
    return Strategy(Constants(**written["constants"]), first, last, written["last_from"])


def described(episodes: Arrays, best: Arrays) -> dict[str, Any]:
    """Return the means of episodes with their intervals, and the share of the best policy's return."""
    samples = {name: Sample([values]) for name, values in episodes.items()}
    means = {name: mean_interval(sample).to_json() for name, sample in samples.items()}
    return {"share": ratio(samples["return"], Sample([best["return"]])).to_json(), **means}


def summary(label: str, episodes: Arrays, best: Arrays) -> str:
    """Return a line about episodes."""
    mean = {name: values.mean() for name, values in episodes.items()}
    share = mean["return"] / best["return"].mean()
    return f"  {label}: {mean['return']:.2f} bits, {share:.0%}, overclaims {mean['overclaimed']:.2f}"


def changed(params: LabParams, assignments: Sequence[str]) -> LabParams:
    """Return parameters with changes written as ``group.name=value``."""
    return LabParams.from_mapping(param_changes(assignments), base=params)


def rules_of(params: LabParams, level: LabParams) -> dict[str, Any]:
    """Return the rules that a search is known by: those of debt and careers, and what else differs from the level."""
    own: dict[str, Any] = json.loads(json.dumps(params.debt.to_mapping() | params.career.to_mapping()))
    other = {key: value for key, _, value in differences(level.to_mapping(), params.to_mapping())}
    return own | {
        key: value for key, value in other.items() if key.partition(".")[0] not in ("debt", "career")
    }


def kept(path: Path) -> dict[str, Any]:
    """Return the levels that a file of results has; none if there is no file."""
    if not path.exists():
        return {}
    levels: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["levels"]
    return levels


def main() -> None:
    """Search, and write the curves and their figure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.price",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--level", nargs="+", choices=LEVELS, default=list(LEVELS))
    parser.add_argument(
        "--params", nargs="+", default=[], metavar="GROUP.NAME=VALUE", help="rules that differ"
    )
    parser.add_argument("--bounds", nargs="+", type=float, default=BOUNDS)
    parser.add_argument("--generations", type=int, default=50)
    parser.add_argument("--labs", type=int, default=200, help="new ones in each generation")
    parser.add_argument("--fresh", type=int, default=4000, help="labs on which a result is measured")
    parser.add_argument("--replay", action="store_true", help="play the published strategies, search nothing")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file; the figure is written beside it")
    options = parser.parse_args()
    if options.params and not options.replay and options.out.resolve() == OUT:
        parser.error("--params: needs --out, as the default has the published curves")
    try:
        labs = {level: changed(level_params(level), options.params) for level in options.level}
    except SolventError as error:
        parser.error(f"--params: {error}")
    levels, before = (kept(path) for path in (options.out, BEFORE))
    if options.replay:
        for level in options.level:
            print(level)
            replay(labs[level], kept(OUT)[level]["curve"], options.fresh)
        return
    command = ["python", "-m", "benchmarks.price"]
    command += ["--params", *options.params, "--out", options.out.name] if options.params else []
    for level, params in labs.items():
        rules = rules_of(params, level_params(level))
        if levels.get(level, {}).get("rules") == rules:
            continue
        print(f"{level}: {len(options.bounds)} searches of {options.generations} generations", flush=True)
        measured = curve(params, options.bounds, options.generations, options.labs, options.fresh)
        levels[level] = {"rules": rules, **measured}
        write_result(options.out, {"levels": levels}, shlex.join(command))
    with styled():
        figure = price_figure(levels, before if options.out != BEFORE else {})
        print("written:", options.out, save(figure, options.out.with_suffix("")))


if __name__ == "__main__":
    sys.exit(main())
