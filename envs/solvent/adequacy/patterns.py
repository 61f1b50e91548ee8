"""Tool-use sequences that precede failures: patterns counted over cases, with a bound corrected for the search.

A *case* is one response: its tools in order, whether it asserted a strong negative, and whether and how severely it
failed. A *pattern* is one of three shapes, each with or without "then a strong negative":

    whole    exactly these calls (including no call)
    run      these calls in a row
    gapped   these calls in this order, possibly with others between

With weights ``w`` (a failure's severity, scaled so that failures average 1; every other case 1) over the cases that
show a pattern, its rate, its effective number of cases (Kish) and the lower bound of its rate are

    rate  = sum(w, failed) / sum(w)        n_eff = sum(w)^2 / sum(w^2)
    bound = I^-1(alpha / tried; rate n_eff, n_eff - rate n_eff + 1)         (exact binomial, one-sided)

``tried`` is the number of patterns that occur often enough (Bonferroni's correction, alpha 0.05). The narrowest of the
patterns with the same cases stands for all of them. A pattern is a *candidate* if its rate is over 70 % (the source's
number) and its bound is over 50 % and over the share of all cases that failed. A candidate becomes a ``Trigger`` only
by a named person's decision. Source: "Epistemic Adequacy Design", "Integration with FMEA skill".

Known approximation: cases count as independent, though those of a session are not; Kish's number puts a binomial law on
weighted counts, and the base rate is taken as known. In simulations of noise, independent or by session, at most 0.3 %
of searches found a candidate. The price is power: with some 80 patterns tried, one that precedes failures at 95 % is
found half of the time on 17 cases and nearly always on 35. Only the last 40 calls of a sequence count. To precede a
failure is not to cause it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import Incident, severity_named, severity_of
from solvent.adequacy.scores import ScoreRecord, merged

__all__ = [
    "RATE",
    "Case",
    "Extraction",
    "Finding",
    "Pattern",
    "cases_of",
    "extract",
    "patterns_in",
    "unmatched",
]

RATE = 0.70
"""The source's threshold of a pattern's failure rate."""

Shape = Literal["whole", "run", "gapped"]
_NARROWNESS = {"gapped": 0, "run": 1, "whole": 2}
_FLOOR = 0.5  # lower bound that a candidate must exceed, or the base rate if that is higher
_ALPHA = 0.05  # maximum probability that noise makes any candidate
_MOST_CALLS = 40
_FAILED_FROM = 2  # minimum human EpAd of a failure, like an incident's label


@dataclass(frozen=True)
class Case:
    """A response: its tools by name, in order, and its outcome. ``severity`` is a failure's only."""

    tools: tuple[str, ...]
    strong_negative: bool
    failed: bool
    severity: str = "low"


@dataclass(frozen=True)
class Pattern:
    """A shape over tool names. ``then_negative``: only before a strong negative."""

    shape: Shape
    tools: tuple[str, ...]
    then_negative: bool

    def __post_init__(self) -> None:
        if self.shape not in _NARROWNESS or not all(_is_name(tool) for tool in self.tools):
            got = f"{self.shape!r:.40} of {self.tools!r:.80}"
            raise AdequacyError(f"pattern: got {got}; allowed: whole, run or gapped, of tool names")
        if not self.tools and self.shape != "whole":
            raise AdequacyError(f"pattern: got no tool in a {self.shape}; allowed: whole alone")

    def matches(self, tools: Sequence[str], strong_negative: bool) -> bool:
        """Return whether a response with these calls shows the pattern."""
        if self.then_negative and not strong_negative:
            return False
        if self.shape == "whole":
            return tuple(tools) == self.tools
        last, size = tools[-_MOST_CALLS:], len(self.tools)
        if self.shape == "run":
            return any(tuple(last[i : i + size]) == self.tools for i in range(len(last) - size + 1))
        remaining = iter(last)
        return all(tool in remaining for tool in self.tools)

    def __str__(self) -> str:
        if self.shape == "whole":
            said = f"only {', '.join(self.tools)}" if self.tools else "no call"
        else:
            said = (", " if self.shape == "run" else " ... ").join(self.tools)
        return f"{said}, then a strong negative" if self.then_negative else said


@dataclass(frozen=True)
class Finding:
    """The record of a pattern.

    Attributes:
        pattern: the narrowest pattern with these cases.
        count: cases that show it.
        failures: those of them that failed.
        rate: share of failures, unweighted.
        weighted_rate: share of failures weighted by severity, compared with the threshold.
        effective_count: Kish's number of cases.
        lower_bound: lower bound of the weighted rate, simultaneous for all patterns tried.
        candidate: a person may make it a trigger.
        same_cases: other patterns with the same cases.
    """

    pattern: Pattern
    count: int
    failures: int
    rate: float
    weighted_rate: float
    effective_count: float
    lower_bound: float
    candidate: bool
    same_cases: tuple[Pattern, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values that JSON can hold."""
        return {
            **asdict(self),
            "pattern": {**asdict(self.pattern), "tools": list(self.pattern.tools)},
            "same_cases": [str(pattern) for pattern in self.same_cases],
            "text": str(self.pattern),
        }


@dataclass(frozen=True)
class Extraction:
    """All findings, the highest bound first; the number of patterns tried, and the bound to exceed."""

    findings: tuple[Finding, ...]
    cases: int
    tried: int
    base_rate: float
    floor: float

    @property
    def candidates(self) -> tuple[Finding, ...]:
        """The findings that a person may make triggers."""
        return tuple(finding for finding in self.findings if finding.candidate)

    def named(self, text: str) -> Finding:
        """Return the finding about a pattern, named as it is printed.

        Raises:
            AdequacyError: no finding is about it.
        """
        for finding in self.findings:
            if text in (str(finding.pattern), *map(str, finding.same_cases)):
                return finding
        allowed = "; ".join(str(one.pattern) for one in self.candidates) or "none, there is no candidate"
        raise AdequacyError(f"--accept: got {text!r:.80}; allowed: {allowed}")


def cases_of(records: Iterable[ScoreRecord], incidents: Iterable[Incident]) -> list[Case]:
    """Return the scored responses as cases. A case failed if an incident is about it or a person gave EpAd 2 or 3.

    An incident's response is found by the hash of response, tool calls and query; of several about one response the
    most severe counts. A failure known only by a label has the severity ``low``. Incidents without a scored response
    are left out (``unmatched`` counts them), because without the responses that went well any pattern would look bad.
    An unnoticed failure counts as none.

    Raises:
        AdequacyError: two responses have one id.
    """
    worst: dict[str, int] = {}
    for incident in incidents:
        worst[incident.sha256] = max(incident.severity, worst.get(incident.sha256, 0))
    return [_case(record, worst.get(record.sha256)) for record in merged(records)]


def unmatched(records: Iterable[ScoreRecord], incidents: Iterable[Incident]) -> int:
    """Return the number of incidents about responses that were never scored, which ``cases_of`` leaves out."""
    scored = {record.sha256 for record in records}
    return sum(incident.sha256 not in scored for incident in incidents)


def _case(record: ScoreRecord, severity: int | None) -> Case:
    tools = record.tool_context
    labelled = record.epad.human is not None and record.epad.human >= _FAILED_FROM
    return Case(
        tools=tuple(tools["tool_types"]),
        strong_negative=tools["has_strong_negative"],
        failed=severity is not None or labelled,
        severity="low" if severity is None else severity_of(severity).name,
    )


def extract(
    cases: Sequence[Case],
    *,
    rate: float = RATE,
    least: int = 10,
    longest: int = 2,
) -> Extraction:
    """Return the patterns that precede failures; see the module.

    Args:
        cases: the responses, successes included.
        rate: the weighted rate that a candidate must exceed.
        least: minimum number of cases to try a pattern.
        longest: maximum number of calls in a pattern.

    Raises:
        AdequacyError: there are no cases, or an argument is out of its range.
    """
    if not 0.0 < rate < 1.0:
        raise AdequacyError(f"rate: got {rate!r:.80}; allowed: a number between 0 and 1")
    if not cases or least < 1 or longest < 1:
        got = f"{len(cases)} cases, least {least}, longest {longest}"
        raise AdequacyError(f"patterns: got {got}; allowed: 1 or more of each")
    failed = np.array([case.failed for case in cases])
    weights = _weights(cases)
    groups = _groups(cases, least, longest)
    base_rate = float(failed.mean())
    floor = max(_FLOOR, base_rate)
    findings = [
        _finding(patterns, failed[list(rows)], weights[list(rows)], _ALPHA / len(groups), (rate, floor))
        for rows, patterns in groups.items()
    ]
    findings.sort(key=lambda one: (-one.lower_bound, -one.weighted_rate, -one.count, str(one.pattern)))
    return Extraction(tuple(findings), len(cases), len(groups), base_rate, floor)


def _is_name(tool: object) -> bool:
    return isinstance(tool, str) and bool(tool)


def _weights(cases: Sequence[Case]) -> NDArray[np.float64]:
    failures = [severity_named(case.severity).weight for case in cases if case.failed]
    mean = sum(failures) / len(failures) if failures else 1.0
    return np.array([severity_named(case.severity).weight / mean if case.failed else 1.0 for case in cases])


def patterns_in(tools: Sequence[str], strong_negative: bool, longest: int = 2) -> set[Pattern]:
    """Return every pattern of at most ``longest`` calls that a response shows."""
    shapes: set[tuple[Shape, tuple[str, ...]]] = set()
    if len(tools) <= longest:
        shapes.add(("whole", tuple(tools)))
    last = tuple(tools[-_MOST_CALLS:])
    for size in range(1, min(longest, len(last)) + 1):
        shapes.update(("run", last[i : i + size]) for i in range(len(last) - size + 1))
    shapes.update(("gapped", chosen) for chosen in _subsequences(last, longest) if len(chosen) > 1)
    said = (False, True) if strong_negative else (False,)
    return {Pattern(*shape, negative) for shape, negative in itertools.product(shapes, said)}


def _subsequences(tools: tuple[str, ...], longest: int) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = {()}
    for tool in tools:
        found |= {(*chosen, tool) for chosen in found if len(chosen) < longest}
    return found


def _groups(cases: Sequence[Case], least: int, longest: int) -> dict[tuple[int, ...], list[Pattern]]:
    rows: dict[Pattern, list[int]] = {}
    for i, case in enumerate(cases):
        for pattern in patterns_in(case.tools, case.strong_negative, longest):
            rows.setdefault(pattern, []).append(i)
    groups: dict[tuple[int, ...], list[Pattern]] = {}
    for pattern, where in rows.items():
        if len(where) >= least:
            groups.setdefault(tuple(where), []).append(pattern)
    return {where: sorted(patterns, key=_width) for where, patterns in groups.items()}


def _width(pattern: Pattern) -> tuple[int, int, int, str]:
    return -_NARROWNESS[pattern.shape], -len(pattern.tools), -int(pattern.then_negative), str(pattern)


def _finding(
    patterns: list[Pattern],
    failed: NDArray[np.bool_],
    weights: NDArray[np.float64],
    alpha: float,
    over: tuple[float, float],
) -> Finding:
    """Return the record of patterns with the same cases. ``over``: the rate and bound that a candidate must exceed."""
    weighted = float(weights[failed].sum() / weights.sum())
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    bound = _lower_bound(weighted * effective, effective, alpha)
    return Finding(
        pattern=patterns[0],
        count=len(failed),
        failures=int(failed.sum()),
        rate=float(failed.mean()),
        weighted_rate=weighted,
        effective_count=effective,
        lower_bound=bound,
        candidate=weighted > over[0] and bound > over[1],
        same_cases=tuple(patterns[1:]),
    )


def _lower_bound(hits: float, count: float, alpha: float) -> float:
    """Return Clopper and Pearson's one-sided bound; the counts need not be whole."""
    return float(betaincinv(hits, count - hits + 1.0, alpha)) if hits > 0.0 else 0.0
