"""What the whole lab is like: no degenerate policy wins, every mechanism matters, and what strong words are worth.

    python -m benchmarks.words                 all tables, on tuning seeds (0, 1, ...)
    python -m benchmarks.words --episodes 256  quicker

Numbers are means with 95 % intervals (1.96 standard errors); differences are paired by seed. Evaluations begin at seed
10,000; nothing is tuned there.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.world import HEADER, interval, line
from solvent.lab.params import LabParams, preset
from solvent_agents.registry import AGENTS
from solvent_agents.rollout import episodes
from solvent_agents.scripts.honest import Honest

SCORES = tuple(str(score) for score in range(4))
WORDS_HEADER = HEADER + "".join(f"{'score ' + score:>9}" for score in SCORES) + f"{'mean':>9}{'2-3 %':>9}"
WORDS = ("honest", "adequate", "hedger", "definitive", "premature", "overreacher")


def row(name: str, columns: dict[str, Any]) -> None:
    """A line of an agent's episodes, with the scores of its words."""
    text = line(name, columns)
    if "adequacy" in columns:
        counts = np.array([columns["adequacy"][score].sum() for score in SCORES])
        text += "".join(f"{count / len(columns['return']):9.2f}" for count in counts)
        if counts.sum():
            text += f"{counts @ np.arange(4) / counts.sum():9.2f}{100 * counts[2:].sum() / counts.sum():9.1f}"
    print(text, flush=True)


def changed(params: LabParams, **groups: dict[str, Any]) -> LabParams:
    """The parameters with some settings of some groups changed."""
    made: LabParams = LabParams.from_mapping(groups, base=params)
    return made


def agents(params: LabParams, seeds: range) -> None:
    """9.1: what each script earns, and its share of what the honest one does."""
    print("\nagents\n" + WORDS_HEADER)
    for name, make in AGENTS.items():
        row(name, episodes(make(params, 0), params, seeds))


def mechanisms(params: LabParams, seeds: range) -> None:
    """9.2: what the honest script gains or loses where a mechanism is missing; it knows that it is."""
    print("\nthe honest script without a mechanism (paired difference)\n" + HEADER)
    base = episodes(Honest(params, 0), params, seeds)
    print(line("everything", base))
    horizon = params.budget.heartbeats
    without: dict[str, dict[str, dict[str, Any]]] = {
        "debt": {"debt": {"enforced": False}},
        "energy": {"energy": {"enabled": False}, "proposals": {"enabled": False}},
        "proposals": {"proposals": {"enabled": False}},
        "gate": {"gate": {"enforced": False}},
        "adequacy": {"adequacy": {"enforced": False}},
        "gate and adequacy": {"gate": {"enforced": False}, "adequacy": {"enforced": False}},
        "lots": {"assay": {"lot_heartbeats": horizon}},
    }
    for name, changes in without.items():
        lab = changed(params, **changes)
        columns = episodes(Honest(lab, 0), lab, seeds)
        print(
            f"{line('without ' + name, columns)}   {interval(columns['return'] - base['return'])}", flush=True
        )


def words(params: LabParams, seeds: range) -> None:
    """What adequacy does to who speaks adequately and to who does not."""
    print("\nadequacy enforced, and only tracked (paired difference)\n" + WORDS_HEADER)
    tracked = changed(params, adequacy={"enforced": False})
    for name in WORDS:
        found = [episodes(AGENTS[name](lab, 0), lab, seeds) for lab in (params, tracked)]
        for label, columns in zip((name, "  tracked"), found, strict=True):
            row(label, columns)
        print(f"    tracked less enforced: {interval(found[1]['return'] - found[0]['return'])}", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.words", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1024, help="seeds 0 to one less; default 1024")
    seeds, params = range(parser.parse_args().episodes), preset("lab")
    agents(params, seeds)
    mechanisms(params, seeds)
    words(params, seeds)


if __name__ == "__main__":
    main()
