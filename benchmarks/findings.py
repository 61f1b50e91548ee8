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

from benchmarks.world import HEADER, interval, line
from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent.lab.params import LabParams, preset
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import Verb
from solvent_agents.reading import Reader, action_index
from solvent_agents.registry import AGENTS
from solvent_agents.rollout import episodes
from solvent_agents.scripts.honest import Honest
from solvent_agents.scripts.overreacher import Overreacher
from solvent_agents.scripts.padder import Padder
from solvent_agents.scripts.premature import Premature

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
    """What further plates on one compound do to its findings where the fit stays as it was: only the spans change.

    Labs run plates on one compound: screens alone, or a screen and then dose responses. Each finding is compared with
    the one before the last plate, in the labs where that plate left the class and the strength of the fit as they were.
    """
    index = action_index(params)
    plans = {
        "screens": [Verb.SCREEN] * PLATES,
        "a screen, then dose responses": [Verb.SCREEN] + [Verb.DOSE_RESPONSE] * (PLATES // 2),
    }
    rich = dataclasses.replace(params, budget=dataclasses.replace(params.budget, wells=10_000))
    for name, plan in plans.items():
        print(
            f"\n{name}: energy (thousandths) and share accepted of a plain and of a definitive finding, by plates;"
        )
        print("their change where the fit stayed")
        labs = LabVectorEnv(len(seeds), rich, copy=False)
        observations, _ = labs.reset(seed=seeds.start)
        reader, before = Reader(rich), None
        ever = np.zeros(len(seeds), np.bool_)
        for plate, verb in enumerate(plan, start=1):
            action = int(index.experiment(verb, 0, 0))
            observations, *_ = labs.step(np.full(len(seeds), action))
            seen, records = reader.read(observations), labs.batch.labs
            energy = seen.residual[:, 0, 1:] / 1000.0
            accepted = (seen.residual[:, 0, 1:] <= seen.tau_accept[:, None]) & ~seen.number_missing[:, :1]
            fit = np.stack([records["fit_class"][:, 0], records["fit_strength"][:, 0]], axis=1).astype(int)
            stronger = np.arange(1, 3) >= fit[:, 1:]  # than the fit bears out
            ever |= (accepted & stronger).any(axis=1)
            readouts = (records["page"][:, 0] >= 0).sum(axis=1)
            told = f"{plate:3} plates, {readouts.mean():.1f} readouts "
            told += "".join(f"{interval(energy[:, w]):>18}{accepted[:, w].mean():8.3f}" for w in (0, 1))
            print(told, flush=True)
            if before is not None:
                same = (fit == before[0]).all(axis=1)
                changes = [(energy - before[1])[same], (accepted.astype(float) - before[2])[same]]
                told = f"{'change in':>16}{same.sum():6} labs"
                told += "".join(
                    f"{interval(changes[0][:, w]):>18}{changes[1][:, w].mean():+8.3f}" for w in (0, 1)
                )
                print(told, flush=True)
            before = (fit, energy, accepted.astype(float))
        print(
            f"labs in which words stronger than the fit would have passed after some plate: {ever.mean():.3f}"
        )
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
