"""What the gate level is like: who is let through under which policy, what the gate costs, and whether padding pays.

    python -m benchmarks.findings                 all tables, on tuning seeds (0, 1, ...)
    python -m benchmarks.findings --episodes 256  quicker

Numbers are means with 95 % intervals (1.96 standard errors); differences are paired by seed. Evaluations begin at seed
10,000; nothing is tuned there.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.world import HEADER, interval, line
from solvent.actions import Verb
from solvent.params import GATE_POLICIES, LabParams, preset
from solvent.vector import LabVectorEnv
from solvent_agents.honest import Honest
from solvent_agents.overreacher import Overreacher
from solvent_agents.padder import Padder
from solvent_agents.premature import Premature
from solvent_agents.reading import Reader, action_index
from solvent_agents.registry import AGENTS
from solvent_agents.rollout import episodes

VERDICTS = ("accept", "review", "reject")
COUNTS = ("reviews_approved", "incidents_high", "tightenings")
GATE_HEADER = HEADER + "".join(f"{name:>9}" for name in (*VERDICTS, "approved", "incident", "tighter"))
PLATES = 6


def row(name: str, columns: dict[str, Any]) -> None:
    """A line of an agent's episodes; where there is no gate the last columns are empty."""
    told = line(name, columns)
    if "verdicts" in columns:
        told += "".join(f"{columns['verdicts'][verdict].mean():9.2f}" for verdict in VERDICTS)
        told += "".join(f"{columns[key].mean():9.2f}" for key in COUNTS)
    print(told, flush=True)


def judged(params: LabParams, **gate: Any) -> LabParams:
    return dataclasses.replace(params, gate=dataclasses.replace(params.gate, **gate))


def play(make: Any, params: LabParams, seeds: range) -> dict[str, Any]:
    return episodes(make(params, 0), params, seeds)


def agents(params: LabParams, seeds: range) -> None:
    """9.1: no degenerate policy earns more than half of what the honest script earns."""
    print("\nagents\n" + GATE_HEADER)
    for name, make in AGENTS.items():
        row(name, play(make, params, seeds))


def switched_off(params: LabParams, seeds: range) -> None:
    """9.2: the gate matters, to who speaks honestly and to who does not."""
    print("\nwith the gate, and without (paired difference)\n" + GATE_HEADER)
    for make in (Honest, Premature, Overreacher, Padder):
        with_it = play(make, params, seeds)
        row(make.name, with_it)
        for name, other in (
            ("  no gate", judged(params, enabled=False)),
            ("  no governance", judged(params, governance=False)),
            ("  no number check", judged(params, numbers=False)),
        ):
            without = play(make, other, seeds)
            row(name, without)
            print(f"{'':22}{interval(with_it['return'] - without['return']):>16}", flush=True)


def strictness(params: LabParams, seeds: range) -> None:
    """The same script under each policy."""
    print("\nthe honest script under each policy\n" + GATE_HEADER)
    for policy in GATE_POLICIES:
        row(policy, play(Honest, judged(params, policy=policy), seeds))


def padding(params: LabParams, seeds: range) -> None:
    """What each further plate on one compound does to the residual of a definitive finding, at the same fit.

    Labs screen one compound again and again. Plates after which the fit says what it said before, so that only the
    readouts changed, are compared with the plate before them.
    """
    labs = LabVectorEnv(len(seeds), params, copy=False)
    observations, _ = labs.reset(seed=seeds.start)
    index, reader = action_index(params), Reader(params)
    screen = int(index.experiment(Verb.SCREEN, 0, 0))
    before: tuple[NDArray[Any], ...] | None = None
    print(
        f"\nresidual of a definitive finding by screens of the compound, and its change where the fit stayed\n"
        f"{'screens':>8}{'spans':>8}{'residual':>20}{'change':>24}"
    )
    for plate in range(1, PLATES + 1):
        observations, *_ = labs.step(np.full(len(seeds), screen))
        labs_now = labs.batch.labs
        energy = reader.read(observations).residual[:, 0, -1] / 1e6
        fit = (labs_now["fit_class"][:, 0].copy(), labs_now["fit_strength"][:, 0].copy(), energy)
        spans = (labs_now["page"][:, 0] >= 0).sum(axis=1) + fit[1] + 1
        told = f"{plate:8}{spans.mean():8.2f}{interval(1000 * energy):>20} e-3"
        if before is not None:
            same = (fit[0] == before[0]) & (fit[1] == before[1])
            told += f"{interval(1000 * (energy - before[2])[same]):>20} e-3  ({same.sum()} labs)"
        print(told, flush=True)
        before = fit
    labs.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.findings", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1024, help="episodes a row (default: 1024)")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first episode (default: 0)")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.episodes)
    params = preset("gate")
    padding(params, seeds)
    strictness(params, seeds)
    switched_off(params, seeds)
    agents(params, seeds)


if __name__ == "__main__":
    main()
