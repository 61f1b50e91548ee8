"""The headline figure: what debt does to agents where it is enforced, and where it is only tracked.

``python -m benchmarks.headline`` plays the agents and writes ``docs/results/headline.json`` and
``docs/img/headline.png``. After ``solvent study run predictions``, ``--arms runs/studies/arms`` also takes overclaimed
bits over training from there, for ``docs/img/learners.png``. ``--draw`` only draws again what is kept.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from solvent import LabParams, preset
from solvent_agents import episodes
from solvent_experiments.config import make_agent
from solvent_experiments.figures.headline import SETTINGS, curves, headline, learners, overclaims
from solvent_experiments.figures.style import save, styled
from solvent_experiments.folder import RunFolder, read_parquet

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEPT = DOCS / "results" / "headline.json"
AGENTS = {
    "ppo": "ppo:Solvent/Debt-v0",
    "honest": "honest",
    "max_claimer": "max_claimer",
    "insister": "insister",
}
SEEDS = range(10_000, 11_000)
SHOWN = ("published_bits", "debt", "debt_added", "refusals_by_debt", "accepted", "wrong", "return")


def main() -> None:
    """Play, keep the curves and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.headline", description=__doc__)
    parser.add_argument("--draw", action="store_true", help="only draw what is kept")
    parser.add_argument("--arms", type=Path, metavar="FOLDER", help="the arms of the study predictions")
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    if not options.draw:
        about = machine()
        kept |= {"command": "python -m benchmarks.headline", "finished": about["date"]}
        kept |= {"machine": about, "episodes": len(SEEDS)}
        kept |= {setting: played(setting == "enforced") for setting in SETTINGS}
    if options.arms:
        tables = {setting: RunFolder(options.arms / setting).training for setting in SETTINGS}
        kept["training"] = {setting: overclaims(read_parquet(table)) for setting, table in tables.items()}
    KEPT.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    with styled():
        figure = headline({setting: kept[setting] for setting in SETTINGS}, preset("default").debt.threshold)
        save(figure, DOCS / "img" / "headline")
        save(learners(kept["training"]), DOCS / "img" / "learners")


def played(enforced: bool) -> dict[str, Any]:
    """Return each agent's mean curves and, as ``means``, the means of its episodes' columns."""
    params = LabParams.from_mapping({"debt": {"enforced": enforced}}, base=preset("default"))
    found = {}
    for name, agent in AGENTS.items():
        columns = episodes(make_agent(agent, params), params, SEEDS, trace=True)
        means = {column: round(float(columns[column].mean()), 2) for column in SHOWN}
        found[name] = curves(columns["trace"]) | {"means": means}
    return found


if __name__ == "__main__":
    main()
