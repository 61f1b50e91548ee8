"""What the world is like: the properties that its parameters were tuned for, measured.

    python -m benchmarks.world                 all tables, on tuning seeds (0, 1, ...)
    python -m benchmarks.world --episodes 256  quicker

Numbers are means with 95 % intervals (1.96 standard errors). Evaluations begin at seed 10,000; nothing is
tuned there.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.mechanisms.assay import ControlTemplate
from solvent.lab.params import LabParams
from solvent.lab.vector import LabVectorEnv
from solvent_agents.reading import action_index
from solvent_agents.registry import AGENTS
from solvent_agents.rollout import episodes
from solvent_agents.scripts.honest import Honest, Manner

NEVER = float("inf")


def interval(values: NDArray[np.float64]) -> str:
    return f"{values.mean():6.2f} ± {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def line(name: str, columns: dict[str, Any]) -> str:
    refusals = sum(column.mean() for column in columns["refusals"].values())
    means = [
        columns[key].mean() for key in ("debt", "accepted", "wrong", "calibrations", "experiments", "wells")
    ]
    numbers = "".join(f"{mean:8.2f}" for mean in (refusals, *means))
    return f"{name:22}{interval(columns['return']):>16}{numbers}"


HEADER = f"{'':22}{'return, bits':>16}" + "".join(
    f"{name:>8}" for name in ("refused", "debt", "accept", "wrong", "calibr", "plates", "wells")
)


def agents(params: LabParams, seeds: range) -> None:
    """9.1: no degenerate policy earns more than half of what the honest script earns."""
    print("\n9.1 agents\n" + HEADER)
    for name, make in AGENTS.items():
        print(line(name, episodes(make(params, 0), params, seeds)), flush=True)


def honest(params: LabParams, seeds: range, **manner: Any) -> dict[str, Any]:
    return episodes(Honest(params, 0, dataclasses.replace(Manner(), **manner)), params, seeds)


def calibration(params: LabParams, seeds: range) -> None:
    """9.4: with debt of no consequence, what a calibration teaches is worth its heartbeat and its wells."""
    print("\n9.4 calibrations where debt has no consequence\n" + HEADER)
    old = ControlTemplate(readouts=1, replicates=8)
    free = dataclasses.replace(params, debt=dataclasses.replace(params.debt, enforced=False))
    one_readout = dataclasses.replace(free, plates=dataclasses.replace(free.plates, dmso=old))
    without = honest(free, seeds, calibrates=False)
    print(line("none", without))
    for name, lab, worth in (("dmso 4 x 2", free, 1.2), ("dmso 1 x 8", one_readout, 0.7)):
        with_them = honest(lab, seeds, repay_worth=NEVER, learn_worth=worth)
        print(line(name, with_them))
        print(
            f"{'  paired difference':22}{interval(with_them['return'] - without['return']):>16}", flush=True
        )
    print("where debt is enforced\n" + line("none", honest(params, seeds, calibrates=False)))
    print(line("honest", honest(params, seeds)))


def claims(params: LabParams, seeds: range) -> None:
    """9.5: the best claim is neither nothing nor what is expected at the most."""
    print("\n9.5 quantile of the gain that is claimed\n" + HEADER)
    for quantile in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95):
        print(line(f"{quantile:g}", honest(params, seeds, claim_quantile=quantile)), flush=True)


def mechanisms(params: LabParams, seeds: range) -> None:
    """9.2: what the honest script earns without debt, and without changes of the reagent lot."""
    print("\n9.2 mechanisms switched off; differences are paired\n" + HEADER)
    off = dataclasses.replace(params.debt, enforced=False)
    one_lot = dataclasses.replace(params.assay, lot_heartbeats=params.budget.heartbeats)
    default = honest(params, seeds)
    # Where debt has no consequence, it repays none.
    free = honest(dataclasses.replace(params, debt=off), seeds, repay_worth=NEVER)
    lasting = honest(dataclasses.replace(params, assay=one_lot), seeds)
    neither = honest(dataclasses.replace(params, debt=off, assay=one_lot), seeds, repay_worth=NEVER)
    print(line("default", default))
    for name, played, against, what in (
        ("no debt", free, default, "default"),
        ("one lot", lasting, default, "default"),
        ("neither", neither, free, "no debt"),
    ):
        print(line(name, played))
        print(f"{f'  against {what}':22}{interval(played['return'] - against['return']):>16}", flush=True)


def doses(params: LabParams, seeds: range) -> None:
    """Bits about one compound after k screens in a row, for each pair of doses of the dose-response grid."""
    print("\nbits after k screens of one compound, the ten best pairs of doses (mol/L) after five")
    rows = []
    for pair in itertools.combinations(params.plates.dose_response.doses, 2):
        screen = dataclasses.replace(params.plates.screen, doses=pair)
        lab = dataclasses.replace(params, plates=dataclasses.replace(params.plates, screen=screen))
        envs = LabVectorEnv(len(seeds), lab)
        envs.reset(seed=list(seeds))
        learnt = []
        for _ in range(5):
            envs.step(np.full(len(seeds), action_index(lab).screen[0, 0]))
            learnt.append(params.assay.prior_entropy - envs.get_state()["entropy"][:, 0].mean())
        rows.append((learnt, pair))
    for learnt, pair in sorted(rows, reverse=True, key=lambda row: row[0][-1])[:10]:
        print(f"{pair[0]:10.2g}{pair[1]:10.2g}  " + "".join(f"{bits:7.2f}" for bits in learnt), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.world", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1024, help="episodes a row (default: 1024)")
    seeds = range(parser.parse_args().episodes)
    params = LabParams()
    doses(params, seeds)
    agents(params, seeds)
    mechanisms(params, seeds)
    calibration(params, seeds)
    claims(params, seeds)


if __name__ == "__main__":
    main()
