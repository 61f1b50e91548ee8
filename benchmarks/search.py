"""Search over the honest script's constants by CMA-ES.

``python -m benchmarks.search --level Debt Gate`` tunes the honest script on these levels together, compares it on labs
that the search has not seen, and prints its constants. Worths are searched on a logarithmic scale.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence

import cma
import numpy as np
from rich.progress import track

from solvent.lab.params import LabParams
from solvent.lab.registration import ENVIRONMENTS
from solvent_agents.rollout import episodes
from solvent_agents.scripts.honest import Constants, Honest, constants_for
from solvent_experiments.config import environment_params, level_of

WORTHS = (
    *("licence_worth", "debt_worth", "well_price", "usual_wells", "scarcity", "repay_worth", "learn_worth"),
)
LINEAR = {"least_worth": 1.0, "energy_margin": 3.0, "early_from": 0.4}
"""Constants that are searched on a linear scale, and how far a step of the search is."""
STEP, POPULATION = 0.25, 14
FRESH = 500_000
"""First seed of the labs on which a result is judged; the search plays labs from seed 1,000."""
LEVELS = {level_of(env): env for env in ENVIRONMENTS}


def level_params(level: str) -> LabParams:
    """Return the parameters of a level by its short name."""
    return environment_params(LEVELS[level])


def written(constants: Constants) -> list[float]:
    """Return the constants as a point of the search."""
    worths = [float(np.log(max(1e-3, getattr(constants, name)))) for name in WORTHS]
    return [*worths, *(getattr(constants, name) / step for name, step in LINEAR.items())]


def read(point: Sequence[float], start: Constants) -> Constants:
    """Return the constants of a point; what isn't searched is that of ``start``."""
    worths = np.exp(np.clip(point[: len(WORTHS)], -8.0, 8.0))
    linear = np.array(point[len(WORTHS) :]) * list(LINEAR.values())
    values = dict(zip((*WORTHS, *LINEAR), [*worths.tolist(), *linear.tolist()], strict=True))
    return dataclasses.replace(start, **values)


def best_point(
    start: Sequence[float],
    value: Callable[[Sequence[float], range], float],
    *,
    generations: int,
    labs: int,
    title: str,
) -> Sequence[float]:
    """Return the point with the highest value.

    Args:
        start: where the search begins.
        value: of a point, from the seeds of the labs that a generation plays.
        generations: of the search.
        labs: new ones in each generation.
        title: of the bar of progress.
    """
    options = {"popsize": POPULATION, "seed": 1, "verbose": -9}
    search = cma.CMAEvolutionStrategy(start, STEP, options)
    for generation in track(range(generations), title, transient=True):
        seeds = range(1000 + generation * labs, 1000 + (generation + 1) * labs)
        points = search.ask()
        search.tell(points, [-value(point, seeds) for point in points])
    best: Sequence[float] = search.result.xfavorite
    return best


def main() -> None:
    """Tune the honest script and print its constants."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--level", nargs="+", choices=LEVELS, default=["Debt"])
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--labs", type=int, default=400, help="new ones in each generation and level")
    options = parser.parse_args()
    levels = [level_params(level) for level in options.level]
    start = constants_for(levels[0])

    def value(point: Sequence[float], seeds: range) -> float:
        return float(np.mean([returns(params, read(point, start), seeds).mean() for params in levels]))

    best = read(
        best_point(
            written(start),
            value,
            generations=options.generations,
            labs=options.labs,
            title="honest",
        ),
        start,
    )
    print({name: round(getattr(best, name), 3) for name in (*WORTHS, *LINEAR)})
    for level, params in zip(options.level, levels, strict=True):
        before, after = (returns(params, each, range(FRESH, FRESH + 4000)) for each in (start, best))
        gain = after - before
        print(
            f"{level}: before {before.mean():.2f}, found {after.mean():.2f}, paired "
            f"{gain.mean():+.2f} ± {1.96 * gain.std() / len(gain) ** 0.5:.2f}"
        )


def returns(params: LabParams, constants: Constants, seeds: range) -> np.ndarray:
    """Return the returns of the honest script with these constants, bits."""
    return np.asarray(episodes(Honest(params, constants=constants), params, seeds, batch=512)["return"])


if __name__ == "__main__":
    main()
