"""Speed of the adequacy score: responses of about 60 words with three tool calls, in one process or several.

    python -m benchmarks.adequacy                 two processes
    python -m benchmarks.adequacy --processes 1   one

Only single words are cached between responses: each has its own calls, whose results are parsed again. Rates are in
responses per second of wall time and of processor time; the latter holds on a busy machine too. The target is 10,000
per second on two cores, 200 microseconds of a core each. A second table times long texts: the time must grow no faster
than their length.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import machine
from solvent.adequacy.heuristic import score
from solvent.adequacy.tools import ToolContext

TARGET = 10_000.0
WORDS = 60
CALLS = 3

SENTENCES = (
    "The token is checked in `auth/session.py` before the request reaches the handler.",
    "There is no retry in the upload path, so a dropped connection ends the job.",
    "Based on the files I checked, the limit is set once, at 512 entries.",
    "If the cache is cold, the first call takes about 340 ms.",
    "I did not find a test that covers the second branch.",
    "This is how the queue is drained when a worker stops.",
    "The log says 'connection reset' twice, at 10:42 and at 10:57.",
    "All of the readers close their handles, and the pool is not shared.",
    "It appears to be a rounding error in the price, which is off by 0.01.",
    "Run the migration first and restart the service.",
    "The report lists 1,204 rows for March, which is 12 % less than in February.",
    "Do you want me to look at the scheduler as well?",
)
RESULTS = (
    "auth/session.py:42: def check(token): return verify(token, key) and not expired(token) # 512 entries at most",
    "10:42:07 worker-3 upload failed: connection reset by peer, 3 parts of 7 written, job 4411 ended, no retry",
    "month rows mean\nJan 1377 12.40\nFeb 1369 12.44\nMar 1204 12.43\nApr 1198 12.51",
    "class Queue: def drain(self, worker): for job in self.jobs: worker.stop(job) if job.late else worker.run(job)",
    "No matches found",
    "tests/test_upload.py ..... 5 passed in 0.84s, 2 warnings, branch 1 covered, coverage 71 %",
)
NAMES = (("Read", "file_path"), ("Grep", "pattern"), ("Bash", "command"), ("sql_query", "query"))


def invented(count: int, seed: int = 0) -> list[tuple[str, list[dict[str, Any]]]]:
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(count):
        parts: list[str] = []
        while sum(len(part.split()) for part in parts) < WORDS - 6:
            parts.append(SENTENCES[rng.integers(len(SENTENCES))])
        calls = []
        for i in range(CALLS):
            name, key = NAMES[rng.integers(len(NAMES))]
            result = RESULTS[rng.integers(len(RESULTS))]
            calls.append({"name": name, "arguments": {key: f"item {number} {i}"}, "result": result})
        cases.append((" ".join(parts), calls))
    return cases


def timed(seed: int, count: int, seconds: float, query: str | None) -> tuple[int, float, float]:
    """Return the number of scored responses, wall seconds and processor seconds; parsing the calls is included."""
    cases = invented(count, seed)
    for response, calls in cases:
        score(response, ToolContext.from_dicts(calls), query)
    done, clock, own = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - clock < seconds:
        for response, calls in cases:
            score(response, ToolContext.from_dicts(calls), query)
        done += count
    return done, time.perf_counter() - clock, time.process_time() - own


def rates(processes: int, seconds: float, query: str | None) -> tuple[float, float]:
    """Return the responses per second of all processes together, by wall time and by processor time."""
    arguments = [(seed, 500, seconds, query) for seed in range(processes)]
    if processes == 1:
        told = [timed(*arguments[0])]
    else:
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            told = pool.starmap(timed, arguments, chunksize=1)
    return sum(done / clock for done, clock, _ in told), sum(done / own for done, _, own in told)


def long_texts() -> list[tuple[str, Callable[[int], str]]]:
    return [
        ("prose", lambda n: (" ".join(SENTENCES) + " ") * (n // 800 + 1)),
        ("one word", lambda n: "x" * n),
        ("not not not", lambda n: "not " * (n // 4)),
        ("open quotes", lambda n: '"a ' * (n // 3)),
        ("ticks", lambda n: "".join("`" * (i % 300 + 1) + " " for i in range(n // 150))),
        ("lines", lambda n: "\n" * n),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adequacy", description=__doc__)
    parser.add_argument("--processes", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds of a turn (default: 2)")
    parser.add_argument(
        "--turns", type=int, default=3, help="turns, of which the median is shown (default: 3)"
    )
    options = parser.parse_args()
    print("  ".join(f"{key} {value}" for key, value in machine().items()))
    words = np.mean([len(response.split()) for response, _ in invented(500)])
    print(f"responses of {words:.0f} words with {CALLS} calls, {options.processes} processes\n")
    print(f"{'responses a second':28}{'clock':>12}{'processor':>12}{'us each':>10}")
    for name, query in (
        ("score", None),
        ("score with the query", "Why does the upload fail in our service?"),
    ):
        turns = [rates(options.processes, options.seconds, query) for _ in range(options.turns)]
        clock, own = (float(np.median([turn[k] for turn in turns])) for k in (0, 1))
        verdict = "reached" if own >= TARGET else "missed"
        each = 1e6 * options.processes / own
        print(f"{name:28}{clock:12,.0f}{own:12,.0f}{each:10.0f}  {TARGET:,.0f}: {verdict}", flush=True)
    score("", ToolContext())  # reads the lexicon
    print(f"\n{'milliseconds for a text of':28}{'25,000':>12}{'100,000':>12}  characters")
    for name, text in long_texts():
        spent = []
        for size in (25_000, 100_000):
            response = text(size)[:size]
            start = time.process_time()
            score(response, ToolContext())
            spent.append(1e3 * (time.process_time() - start))
        print(f"{name:28}{spent[0]:12.1f}{spent[1]:12.1f}", flush=True)


if __name__ == "__main__":
    main()
