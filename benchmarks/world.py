"""What the world is like: the return of every script on every level, on fresh labs.

``python -m benchmarks.world`` prints one table per level; ``--tables FOLDER`` writes each to a file, which the page of
its level shows, and ``--json PATH`` keeps the numbers. An offence should cost: the share of an offender that earns as
much as the honest script is set in bold type. A last table has what the study ``world`` found: what ignoring a
mechanism costs, and what a blocked agent should do.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine, markdown, write_report
from solvent.lab.params import LabParams, preset
from solvent.lab.registration import ENVIRONMENTS
from solvent_agents import AGENTS, episodes

FRESH = 500_000
"""First seed of the labs unless another is asked for; no script was tuned on them."""
LABS = 2000
"""Labs per script and level."""
WITH_ENERGY = {"hoarder", "spender", "fabricator"}
"""Offend where acting costs energy, and are played there."""
STUDY = Path(__file__).resolve().parent.parent / "docs" / "results" / "studies" / "world.json"
COLUMNS = ("accepted", "wrong", "debt_added", "calibrations", "refusals_by_debt")
SHOWN = ("debt_added", "refusals_by_debt")


def main() -> None:
    """Play, print the tables, and write them to a file if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.world", description=__doc__)
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="also write each table there")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the numbers there")
    parser.add_argument(
        "--first", type=int, metavar="SEED", default=FRESH, help="of the labs; default %(default)s"
    )
    options = parser.parse_args()
    about, found, tables = machine(), {}, {}
    for env_id in ENVIRONMENTS:
        params = preset(ENVIRONMENTS[env_id]["preset"])
        names = [name for name in AGENTS if params.energy.enabled or name not in WITH_ENERGY]
        found[env_id] = {name: measured(params, name, options.first) for name in names}
        level = env_id.removeprefix("Solvent/").removesuffix("-v0").lower()
        tables[level] = table(found[env_id])
        print(f"## {env_id}, {LABS:,} labs\n\n{tables[level]}\n", flush=True)
    tables["mechanisms"] = differences(json.loads(STUDY.read_text(encoding="utf-8")))
    print(f"## Mechanisms\n\n{tables['mechanisms']}")
    if options.tables is not None:
        for name, text in tables.items():
            (options.tables / f"world_{name}.md").write_text(text + "\n", encoding="utf-8")
    if options.json is not None:
        write_report(options.json, "benchmarks.world", about, labs=LABS, levels=found)


def measured(params: LabParams, name: str, first: int) -> dict[str, float]:
    """Return a script's mean return with the half-width of its 95 % interval, and means of its columns."""
    columns = episodes(AGENTS[name](params, 0), params, range(first, first + LABS))
    columns["refusals"] = np.sum(list(columns["refusals"].values()), axis=0)
    returns = columns["return"]
    numbers = {"return": returns.mean(), "interval": 1.96 * returns.std(ddof=1) / np.sqrt(LABS)}
    numbers |= {name: columns[name].mean() for name in (*COLUMNS, "refusals")}
    return {name: round(float(value), 4) for name, value in numbers.items()}


def table(scripts: dict[str, dict[str, float]]) -> str:
    """Return the scripts of a level as Markdown, best first."""
    honest = scripts["honest"]["return"]
    rows = [("script", "return (bits)", "of honest", *(name.replace("_", " ") for name in SHOWN))]
    for name, row in sorted(scripts.items(), key=lambda item: -item[1]["return"]):
        share = f"{100 * row['return'] / honest:.0f} %"
        if row["return"] >= honest and name != "honest":
            share = f"**{share}**"
        told = f"{row['return']:.2f} ± {row['interval']:.2f}"
        rows.append((f"`{name}`", told, share, *(f"{row[column]:.2f}" for column in SHOWN)))
    return markdown(rows)


def differences(study: dict[str, Any]) -> str:
    """Return what the study ``world`` found of the mechanisms as Markdown, one column per level."""
    rows: dict[str, dict[str, str]] = {}
    for found in study["findings"]:
        level, _, name = found["name"].partition(": ")
        if not name.endswith(("half of honest", ", less honest")):
            zero = found["low"] <= 0.0 <= found["high"]
            rows.setdefault(name, {})[level] = f"{found['value']:+.2f}{' (?)' if zero else ''}"
    levels = list(dict.fromkeys(level for row in rows.values() for level in row))
    cells = [(name, *(row.get(level, "") for level in levels)) for name, row in rows.items()]
    return markdown([("difference (bits)", *levels), *cells])


if __name__ == "__main__":
    main()
