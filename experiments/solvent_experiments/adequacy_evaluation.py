"""Evaluating scorers on labelled responses and search traces: the heuristic, and a judge where there is one.

The judge is asked beforehand, several at a time, with a cache; a response that it can't judge ends the evaluation,
since leaving the hard ones out would flatter it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, Literal, NamedTuple

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.evaluation import (
    ExamplesReport,
    Scorer,
    SeekBenchReport,
    evaluate_examples,
    evaluate_seekbench,
)
from solvent.adequacy.heuristic import score
from solvent.adequacy.judge import Judge, JudgeError
from solvent.adequacy.labelled import load_examples
from solvent.adequacy.scores import response_sha256
from solvent.adequacy.seekbench import Trace, halves, load_traces
from solvent.adequacy.tools import ToolContext
from solvent_experiments.files import sha256

__all__ = ["Evaluated", "evaluate_all"]

Case = tuple[str, ToolContext, str | None]


@dataclass(frozen=True)
class Evaluated:
    """Reports by scorer; of the search traces none where no file was given."""

    path: Path
    sha256: str
    labelled: Mapping[str, ExamplesReport]
    half: str = "all"
    seekbench: Mapping[str, SeekBenchReport] = field(default_factory=dict)
    seekbench_sha256: str | None = None
    judge: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All fields, values that JSON can hold."""
        return {
            "labelled_set": {"name": self.path.name, "sha256": self.sha256},
            "judge": self.judge,
            "labelled": {name: report.to_dict() for name, report in self.labelled.items()},
            "seekbench": {
                "half": self.half,
                "sha256": self.seekbench_sha256,
                "reports": {name: report.to_dict() for name, report in self.seekbench.items()},
            },
        }


class _Grades(NamedTuple):
    score: int
    sya: int | None


def evaluate_all(
    path: Path,
    seekbench: Path | None,
    half: Literal["tune", "report", "all"],
    judge: Judge | None,
    jobs: int,
    on_progress: Callable[[int, int], None],
) -> Evaluated:
    """Evaluate every scorer on every set.

    Raises:
        AdequacyError: a file that can't be used, or a response that the judge can't judge.
    """
    examples = load_examples(path)
    traces = [] if seekbench is None else _traces(seekbench, half)
    cases: list[Case] = [(one.response, one.context, one.query) for one in examples]
    cases += [(one.response, one.context, one.query) for one in traces]
    scorers: dict[str, Scorer] = {"heuristic": score}
    if judge is not None:
        scorers["judge"] = _judged(judge, cases, jobs, on_progress)
    return Evaluated(
        path=path,
        sha256=sha256(path),
        labelled={name: evaluate_examples(examples, scorer) for name, scorer in scorers.items()},
        half=half,
        seekbench={name: evaluate_seekbench(traces, scorer) for name, scorer in scorers.items() if traces},
        seekbench_sha256=None if seekbench is None else sha256(seekbench),
        judge=None if judge is None else f"{judge.model}, prompt {judge.prompt.version}",
    )


def _traces(path: Path, half: Literal["tune", "report", "all"]) -> list[Trace]:
    """Those that answer, halved as the final evaluation halves them."""
    traces = [trace for trace in load_traces(path) if trace.answer is not None]
    if half == "all":
        return traces
    tune, report = halves(traces)
    return tune if half == "tune" else report


def _judged(
    judge: Judge, cases: Sequence[Case], jobs: int, on_progress: Callable[[int, int], None]
) -> Scorer:
    """A scorer that looks up what the judge said of these cases."""

    def ask(case: Case) -> _Grades:
        response, context, query = case
        found = judge.judge(response, context, query or "")
        return _Grades(found.epad, found.sya)

    known: dict[str, _Grades] = {}
    on_progress(0, len(cases))
    with ThreadPool(jobs) as pool:
        try:
            for done, (case, grades) in enumerate(zip(cases, pool.imap(ask, cases), strict=True), start=1):
                known[response_sha256(*case)] = grades
                on_progress(done, len(cases))
        except JudgeError as error:
            raise AdequacyError(
                f"{error} ({len(known):,} of {len(cases):,} are judged; the same command goes on)"
            ) from None
    return lambda response, context, query: known[response_sha256(response, context, query)]
