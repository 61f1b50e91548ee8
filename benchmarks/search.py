"""Search over a script's constants by CMA-ES: the honest script is tuned by it, and exploits are looked for.

``python -m benchmarks.search --level Debt Gate`` tunes the honest script on these levels together, and prints its
constants. With ``--script`` it tunes the honest script below an offender, which keeps its offence; the best of what it
finds is then compared with the honest script on labs that the search has not seen. Constants are searched on a
logarithmic scale.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

import cma
import numpy as np

from solvent.lab.params import LabParams, preset
from solvent.lab.registration import ENVIRONMENTS
from solvent_agents.agent import Agent
from solvent_agents.rollout import episodes
from solvent_agents.scripts.honest import Constants, Honest, constants_for
from solvent_agents.scripts.offenders import OFFENDERS, Offender

SEARCHED = (
    *("licence_worth", "debt_worth", "well_price", "usual_wells", "scarcity", "repay_worth", "learn_worth"),
)
SHIFTED = ("least_worth", "energy_margin", "early_from")
"""Constants that may be negative: searched on a linear scale."""
GENERATIONS, LABS = 30, 400
"""Generations of the search, and labs per generation and level."""
FRESH = 500_000
"""First seed of the labs on which the result is judged; the search plays labs from seed 1,000."""


def main() -> None:
    """Search and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    levels = [name.removeprefix("Solvent/").removesuffix("-v0") for name in ENVIRONMENTS]
    parser.add_argument("--level", nargs="+", choices=levels, default=["Debt"])
    parser.add_argument("--script", choices=[Honest.name, *OFFENDERS], default=Honest.name)
    options = parser.parse_args()
    labs = [preset(ENVIRONMENTS[f"Solvent/{level}-v0"]["preset"]) for level in options.level]
    script, start = options.script, starting_constants(labs[0], options.script)
    search = cma.CMAEvolutionStrategy(written(start), 0.25, {"popsize": 12, "seed": 1, "verbose": -9})
    for generation in range(GENERATIONS):
        seeds = range(1000 + generation * LABS, 1000 + (generation + 1) * LABS)
        tried = search.ask()
        search.tell(tried, [-returns(labs, script, read(point, start), seeds).mean() for point in tried])
        print(f"{generation + 1} of {GENERATIONS}: {-search.best.f:.2f} bits", flush=True)
    found = read(search.result.xfavorite, start)
    print({name: round(getattr(found, name), 3) for name in (*SEARCHED, *SHIFTED)})
    for level, params in zip(options.level, labs, strict=True):
        each = ((Honest.name, constants_for(params)), (script, start), (script, found))
        columns = [returns([params], *scripted, range(FRESH, FRESH + 2000)) for scripted in each]
        honest, before, after = (f"{c.mean():.2f} ± {1.96 * c.std() / len(c) ** 0.5:.2f}" for c in columns)
        print(f"{level}: honest {honest}, {script} before {before}, found {after}")


def starting_constants(params: LabParams, script: str) -> Constants:
    """Return the constants of a script."""
    return constants_for(params, **(OFFENDERS[script].constants if script in OFFENDERS else {}))


def agent(params: LabParams, script: str, constants: Constants) -> Agent:
    """Return a script with these constants."""
    if script in OFFENDERS:
        return Offender(params, name=script, constants=constants)
    return Honest(params, constants=constants)


def written(constants: Constants) -> list[float]:
    """Return the constants as a point of the search."""
    values = [np.log(max(1e-3, getattr(constants, name))) for name in SEARCHED]
    return [*values, *(getattr(constants, name) for name in SHIFTED)]


def read(point: Sequence[float], start: Constants) -> Constants:
    """Return the constants of a point."""
    values = [*np.exp(point[: len(SEARCHED)]), *point[len(SEARCHED) :]]
    return dataclasses.replace(start, **dict(zip((*SEARCHED, *SHIFTED), map(float, values), strict=True)))


def returns(labs: Sequence[LabParams], script: str, constants: Constants, seeds: Sequence[int]) -> np.ndarray:
    """Return the returns of a script with these constants on all levels, bits."""
    return np.concatenate([episodes(agent(lab, script, constants), lab, seeds)["return"] for lab in labs])


if __name__ == "__main__":
    main()
