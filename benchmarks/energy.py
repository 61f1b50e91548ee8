"""What the energy level is like: whether energy binds, what the voice is worth, and who can abuse it.

    python -m benchmarks.energy                 all tables, on tuning seeds (0, 1, ...)
    python -m benchmarks.energy --episodes 256  quicker

Numbers are means with 95 % intervals (1.96 standard errors); differences are paired by seed. Evaluations begin at seed
10,000; nothing is tuned there.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from benchmarks.world import HEADER, interval, line
from solvent.lab.params import LabParams, preset
from solvent_agents.registry import AGENTS
from solvent_agents.rollout import episodes
from solvent_agents.scripts.honest import Honest, Manner
from solvent_agents.scripts.launderer import Launderer
from solvent_agents.scripts.ratcheter import Ratcheter
from solvent_agents.scripts.sandbagger import Sandbagger
from solvent_agents.scripts.target_switcher import TargetSwitcher
from solvent_agents.scripts.voice import Habits

ATTACKERS = (Sandbagger, Ratcheter, TargetSwitcher, Launderer)
SILENT = Habits(speaks=False)
PURSE = ("energy_spent", "energy_lost", "deferrals", "proposals", "approvals", "hoardings")
PURSE_HEADER = HEADER + "".join(
    f"{name:>9}" for name in ("spent", "lost", "deferred", "proposed", "approved", "hoarded")
)


def row(name: str, columns: dict[str, Any]) -> None:
    print(line(name, columns) + "".join(f"{columns[key].mean():9.2f}" for key in PURSE), flush=True)


def priced(params: LabParams, **energy: Any) -> LabParams:
    return dataclasses.replace(params, energy=dataclasses.replace(params.energy, **energy))


def voiced(params: LabParams, **proposals: Any) -> LabParams:
    return dataclasses.replace(params, proposals=dataclasses.replace(params.proposals, **proposals))


def play(make: Any, params: LabParams, seeds: range, **manner: Any) -> dict[str, Any]:
    return episodes(make(params, 0, dataclasses.replace(Manner(), **manner)), params, seeds)


def agents(params: LabParams, seeds: range) -> None:
    """Rest-for-ever, cheapest-first and spam earn less than half of the honest script."""
    print("\nagents\n" + PURSE_HEADER)
    for name, make in AGENTS.items():
        row(name, episodes(make(params, 0), params, seeds))


def demand(params: LabParams, seeds: range) -> None:
    """What the honest script spends where energy is no matter, over what there is."""
    print("\ndemand over income, without mispricing\n" + PURSE_HEADER)
    fair = voiced(params, mispriced_most=0)
    free = play(Honest, priced(fair, start=1000.0, regeneration=1000.0, cap=1000.0), seeds, energy_price=0.0)
    bound = play(Honest, fair, seeds)
    row("energy is no matter", free)
    row("as it is", bound)
    income = fair.energy.start + bound["energy_income"].mean()
    wanted = free["energy_spent"].mean()
    print(f"demand {wanted:.0f}, income {income:.0f}: {wanted / income:.2f}")
    for regeneration in (2.0, 2.5, 3.5, 4.0, 6.0, 10.0):
        row(f"{regeneration:g} a heartbeat", play(Honest, priced(fair, regeneration=regeneration), seeds))


def voice(params: LabParams, seeds: range) -> None:
    """With mispricing the honest proposer earns at least 5 % more than when it is silent."""
    print("\nthe honest voice\n" + PURSE_HEADER)
    for name, lab in (
        ("as it is", params),
        ("always too dear", voiced(params, mispriced_least=1, mispriced_upwards=1.0)),
        ("review after 12", voiced(params, review_heartbeats=12)),
        ("half trusted at 2 uses", voiced(params, half_trusted=2.0)),
    ):
        compare(name, Honest, lab, seeds)


def attackers(params: LabParams, seeds: range) -> None:
    """Without mispricing no attacker of the voice earns more than when it is silent."""
    print("\nattackers of the voice, without mispricing\n" + PURSE_HEADER)
    for make in ATTACKERS:
        compare(make.name, make, voiced(params, mispriced_most=0), seeds)
    print("\nand with it\n" + PURSE_HEADER)
    for make in ATTACKERS:
        compare(make.name, make, params, seeds)


def compare(name: str, make: Any, params: LabParams, seeds: range) -> None:
    speaking, silent = play(make, params, seeds), play(make, params, seeds, habits=SILENT)
    row(name, speaking)
    row("  silent", silent)
    difference = speaking["return"] - silent["return"]
    share = 100.0 * difference.mean() / silent["return"].mean()
    print(f"{'  paired difference':22}{interval(difference):>16}  ({share:+.1f} %)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.energy", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1024, help="episodes a row (default: 1024)")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first episode (default: 0)")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.episodes)
    params = preset("energy")
    agents(params, seeds)
    demand(params, seeds)
    voice(params, seeds)
    attackers(params, seeds)


if __name__ == "__main__":
    main()
