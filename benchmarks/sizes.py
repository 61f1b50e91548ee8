"""Cost of a step by size: labs, compounds and heartbeats.

python -m benchmarks.sizes
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

from benchmarks.cases import batch_case
from benchmarks.measure import measure
from solvent.lab.params import LabParams
from solvent.lab.state import lab_dtype

N_LABS = 256
TURNS, SECONDS = 9, 0.1


def sizes() -> Iterator[tuple[str, int, LabParams]]:
    """Yield a name, the number of labs, and the parameters."""
    usual = LabParams()
    for n in (64, 256, 1024, 4096, 16_384):
        yield f"{n:,} labs", n, usual
    for compounds in (4, 8, 16, 32, 64):
        names = tuple(f"compound {i}" for i in range(compounds))
        assay = dataclasses.replace(usual.assay, compounds=names)
        budget = dataclasses.replace(usual.budget, wells=48 * compounds, heartbeats=5 * compounds)
        yield f"{compounds} compounds", N_LABS, dataclasses.replace(usual, assay=assay, budget=budget)
    for heartbeats in (40, 200, 1000):
        budget = dataclasses.replace(usual.budget, wells=384 * heartbeats // 40, heartbeats=heartbeats)
        yield f"{heartbeats} heartbeats", N_LABS, dataclasses.replace(usual, budget=budget)


def main() -> None:
    """Print a row for each size."""
    cases, compiled, state = [], [], []
    for name, n, params in sizes():
        began = time.process_time()
        cases.append(batch_case(name, n, params))
        cases[-1].turn(SECONDS)
        compiled.append(time.process_time() - began)
        state.append(lab_dtype(params).itemsize)
    rows = measure(cases, TURNS, SECONDS)
    print("| size | ns a lab and step, fastest turn | median turn | bytes a lab | first call, s |")
    print("|---|---:|---:|---:|---:|")
    for row, took, size in zip(rows, compiled, state, strict=True):
        nanoseconds = [1e9 / rate for rate in (row.fastest, row.median)]
        print(f"| {row.name} | {nanoseconds[0]:,.0f} | {nanoseconds[1]:,.0f} | {size:,} | {took:.1f} |")


if __name__ == "__main__":
    main()
