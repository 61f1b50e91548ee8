"""Time the lab and print a table."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import RATIOS, SECTIONS, bytes_per_lab
from benchmarks.learners import learners
from benchmarks.measure import Row, machine, measure

TITLES = ("steps/s, fastest turn", "steps/s, median turn")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every section, print the table, and write it to a file if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few short turns: rough numbers in seconds")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results there")
    options = parser.parse_args(arguments)

    here = machine()
    print(", ".join(f"{key} {value}" for key, value in here.items()))
    print("measuring ...", flush=True)
    cases = [case for section in SECTIONS for case in section()]
    # Learners have turns of their own, since a rollout with its training takes seconds instead of a twentieth. Mixed
    # with them, the short cases would run minutes apart, under different loads of the machine.
    rows = measure(cases, turns=5 if options.quick else 60, seconds=0.02 if options.quick else 0.05)
    if importlib.util.find_spec("stable_baselines3"):
        rows += measure(learners(), turns=2 if options.quick else 8, seconds=0.02)
    else:
        print("without the extra `agents` the learners are left out")
    show(rows)
    show_ratios(rows)
    print("| level | bytes of a lab | of the report of its step |\n| --- | ---: | ---: |")
    for level, (lab, step) in bytes_per_lab().items():
        print(f"| {level} | {lab:,} | {step:,} |")
    if options.json is not None:
        report: dict[str, Any] = {
            "machine": here,
            "bytes_per_lab": bytes_per_lab(),
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def show(rows: Sequence[Row]) -> None:
    """Print the rows as the table of docs/benchmarks.md."""
    width = max(len(row.name) for row in rows)
    rules = " | ".join(f"{'-' * (len(title) - 1)}:" for title in TITLES)
    print(f"| {'case':{width}} | {' | '.join(TITLES)} |")
    print(f"| {'-' * width} | {rules} |")
    for row in rows:
        rates = (row.fastest, row.median)
        cells = " | ".join(f"{rate:{len(title)},.0f}" for rate, title in zip(rates, TITLES, strict=True))
        print(f"| {row.name:{width}} | {cells} |")


def show_ratios(rows: Sequence[Row]) -> None:
    """Print the ratios of rates that have an aim."""
    by_name = {row.name: row for row in rows}
    print("\n| case | against | fastest turns | median turns | aim |\n| --- | --- | ---: | ---: | ---: |")
    for name, other, aim in RATIOS:
        mine, its = by_name[name], by_name[other]
        ratios = (mine.fastest / its.fastest, mine.median / its.median)
        print(f"| {name} | {other} | {ratios[0]:.2f} | {ratios[1]:.2f} | {aim:g} |")
    print()


if __name__ == "__main__":
    main()
