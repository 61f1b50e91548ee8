"""Time the lab and print a table: ``python -m benchmarks``; ``--quick`` for rough numbers in seconds."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cases import RATIOS, cases
from benchmarks.measure import Row, machine, measure


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all cases, print the tables, and write them to a file if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few short turns: rough numbers in seconds")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results there")
    options = parser.parse_args(arguments)
    here = machine()
    print(", ".join(f"{key} {value}" for key, value in here.items()), "\nmeasuring ...", flush=True)
    rows = measure(cases(), turns=5 if options.quick else 60, seconds=0.02 if options.quick else 0.05)
    print(table(rows))
    if options.json is not None:
        report = {"machine": here, "rows": [dataclasses.asdict(row) for row in rows]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def table(rows: Sequence[Row]) -> str:
    """Return the rates, and the ratios that have an aim, as Markdown."""
    lines = ["| case | steps/s, fastest turn | steps/s, median turn |", "|---|---:|---:|"]
    lines += [f"| {row.name} | {row.fastest:,.0f} | {row.median:,.0f} |" for row in rows]
    lines += ["", "| case | against | fastest turns | median turns | aim |", "|---|---|---:|---:|---:|"]
    by_name = {row.name: row for row in rows}
    for name, other, aim in RATIOS:
        mine, its = by_name[name], by_name[other]
        ratios = f"{mine.fastest / its.fastest:.2f} | {mine.median / its.median:.2f}"
        lines.append(f"| {name} | {other} | {ratios} | {aim:g} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
