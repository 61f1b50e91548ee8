"""Tables of failures for ``solvent adequacy``: patterns, drift, corrections; and the series that drift follows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.adequacy.corrections import load_corrections
from solvent.adequacy.decisions import Trigger, accept
from solvent.adequacy.drift import Drift, DriftRules, read_drifts
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fitness import Fitness, fitness, stretches_of
from solvent.adequacy.patterns import Case, Extraction
from solvent.adequacy.scores import ScoreRecord
from solvent_experiments.instruments.adequacy.label_tables import estimate
from solvent_experiments.instruments.adequacy.score_tables import counted, one_line, plain_table

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "accepted",
    "drift_notes",
    "drift_table",
    "fitness_of",
    "fitness_table",
    "pattern_notes",
    "pattern_table",
    "series_of",
]

Series = dict[tuple[str, str], list[int]]


# ------------------------------------------------------------------------------------------------ patterns


def pattern_table(found: Extraction, most: int) -> Table:
    """The findings with the highest lower bounds."""
    from rich.text import Text

    columns = ("pattern", "responses", "failed", "rate", "by severity", "lower bound", "candidate")
    table = plain_table(*columns, right=columns[1:6])
    for one in found.findings[:most]:
        shares = [f"{share:.0%}" for share in (one.rate, one.weighted_rate, one.lower_bound)]
        name = Text(one_line(str(one.pattern), 80))
        table.add_row(name, f"{one.count:,}", f"{one.failures:,}", *shares, "yes" if one.candidate else "")
    return table


def pattern_notes(found: Extraction, cases: Sequence[Case], incidents: int, lost: int) -> list[str]:
    """Of how many responses, how many failed, how many incidents are about none of them, and a candidate's bound."""
    failed = sum(case.failed for case in cases)
    share = f"{failed:,} failed ({found.base_rate:.0%})"
    over = (
        f"a candidate's lower bound is over {found.floor:.0%}, at once for all {found.tried:,} patterns tried"
    )
    about = counted(incidents, "incident")
    if lost:
        about += (
            f", {lost:,} of them about no response that was scored (other text, tools or query): left out"
        )
    return [
        f"{found.cases:,} responses, {share}; {about}",
        f"{over}: {counted(len(found.candidates), 'candidate')}",
    ]


def accepted(found: Extraction, text: str, path: Path, by: str, reason: str) -> Trigger:
    """Append a person's decision about a finding, named as the table names it.

    Raises:
        AdequacyError: no such pattern, or none that is a candidate.
    """
    for finding in found.findings:
        if text in (str(finding.pattern), *map(str, finding.same_cases)):
            return accept(path, finding, by, reason)
    allowed = "; ".join(str(one.pattern) for one in found.candidates) or "none, there is no candidate"
    raise AdequacyError(f"--accept: got {text!r:.80}; allowed: {allowed}")


# --------------------------------------------------------------------------------------------------- drift


def series_of(records: Iterable[ScoreRecord]) -> Series:
    """EpAd by agent and session in order: a person's score, else the judge's, else the heuristic's."""
    found: Series = {}
    for record in records:
        by_rank = (record.epad.human, record.epad.judge, record.epad.heuristic)
        scored = next((score for score in by_rank if score is not None), 0)
        found.setdefault((record.agent or "", record.session or ""), []).append(scored)
    return found


def drift_table(found: Sequence[Drift], most: int) -> Table:
    """The first events."""
    from rich.text import Text

    columns = ("agent", "session", "response", "mean", "severity", "kind", "correction")
    table = plain_table(*columns, right=("response", "mean"))
    for one in found[:most]:
        names = [Text(one_line(name, 30)) for name in (one.agent, one.session)]
        table.add_row(
            *names, f"{one.position + 1:,}", f"{one.mean:.2f}", one.severity, one.kind, one.correction
        )
    return table


def drift_notes(
    found: Sequence[Drift], series: Mapping[tuple[str, str], Sequence[int]], rules: DriftRules
) -> list[str]:
    """Return the number of responses followed, and the texts of the corrections."""
    responses = sum(map(len, series.values()))
    long = sum(len(scores) >= rules.window for scores in series.values())
    followed = f"{counted(responses, 'response')} in {counted(len(series), 'session')}"
    times = f"{counted(len(found), 'time')} the mean of {rules.window} was {rules.threshold:g} or more"
    lines = [f"{followed}, {long:,} of them of {rules.window} or more: {times}"]
    if unnamed := len(series.get(("", ""), ())):
        lines.append(f"{counted(unnamed, 'response')} without agent and session: followed as one session")
    table = load_corrections()
    for name, count in Counter(one.correction for one in found).most_common():
        lines.append(f"{name}, {counted(count, 'time')}: {table[name].text}")
    return lines


def fitness_of(events: Path, series: Series, horizon: int) -> list[Fitness]:
    """Return the measured effect of each correction that these events name.

    Raises:
        AdequacyError: events that can't be read, or that are not of these scores.
    """
    drifts = read_drifts(events)
    stretches = stretches_of(drifts, series, horizon)
    return [fitness(stretches, name) for name in sorted({one.correction for one in drifts})]


def fitness_table(found: Sequence[Fitness]) -> Table:
    """The effect of each correction; negative is better."""
    from rich.text import Text

    columns = (
        "correction",
        "verdict",
        "effect on the mean",
        "compared",
        "given",
        "not given",
        "before and after",
    )
    table = plain_table(*columns, right=("effect on the mean", "given", "not given", "before and after"))
    for one in found:
        naive = "" if math.isnan(one.naive) else f"{one.naive:+.2f}"
        effect = "" if math.isnan(one.effect.value) else estimate(one.effect)
        basis = "" if one.basis == "none" else one.basis
        name = Text(one_line(one.correction, 60))
        table.add_row(name, one.verdict, effect, basis, f"{one.given:,}", f"{one.controls:,}", naive)
    table.caption = (
        "before and after: what a high window falls by itself is in it; effect: against those not given"
    )
    table.caption_justify = "left"
    return table
