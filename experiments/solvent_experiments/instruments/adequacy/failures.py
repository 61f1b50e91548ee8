"""Commands on failures: the patterns that precede them, drift, and the corrections that help.

Only the commands; ``adequacy`` registers them. People's decisions are options of their own, and nothing else decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solvent_experiments.instruments.adequacy.options import (
    SCORES,
    Incidents,
    Out,
    ScoresPath,
    allow_output,
    error,
)

if TYPE_CHECKING:
    from solvent.adequacy.patterns import Extraction

__all__ = ["drift", "patterns"]

PATTERNS = "solvent.adequacy.patterns.v1"
DRIFT = "solvent.adequacy.drift.v1"

By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who decides.", show_default=False)]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)]


def patterns(
    scores: ScoresPath = SCORES,
    incidents: Incidents = None,
    rate: Annotated[float, typer.Option(help="Weighted rate that a candidate must be over.")] = 0.7,
    least: Annotated[int, typer.Option(min=1, help="Responses that a pattern must have.")] = 10,
    longest: Annotated[int, typer.Option(min=1, max=4, help="Calls in a pattern.")] = 2,
    show: Annotated[int, typer.Option(min=1, help="Patterns in the table.")] = 15,
    out: Out = None,
    accept: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN", help="Make this candidate a trigger, as the table has it.", show_default=False
        ),
    ] = None,
    by: By = None,
    reason: Reason = None,
    triggers: Annotated[
        Path, typer.Option(metavar="PATH", help="File of triggers that --accept appends to.")
    ] = Path("triggers.jsonl"),
) -> None:
    """Find the sequences of tools that precede failures, weighted by how bad these were.

    A response failed where an incident is about it or a person gave it EpAd 2 or 3. A pattern over 70 % whose lower
    bound holds is a candidate; a person makes it a trigger.

    Examples:

    - `solvent adequacy patterns --incidents incidents.jsonl --out patterns.json`

    - `solvent adequacy patterns --accept "only Grep, then a strong negative" --by "J. Doe" --reason "seen often"`
    """
    from solvent.adequacy.fmea import read_incidents
    from solvent.adequacy.patterns import cases_of, extract, unmatched
    from solvent.adequacy.scores import read_scores
    from solvent_experiments.instruments.adequacy.failure_tables import accepted, pattern_notes, pattern_table
    from solvent_experiments.instruments.gate.tables import show as print_table

    if accept is not None and (by is None or reason is None):
        raise error("--accept: got no --by or no --reason; allowed: with both, a person decides")
    allow_output(out, PATTERNS, {"the scores": scores, "the incidents": incidents, "the triggers": triggers})
    known = [] if incidents is None else read_incidents(incidents)
    records = read_scores(scores)
    cases, lost = cases_of(records, known), unmatched(records, known)
    found = extract(cases, rate=rate, least=least, longest=longest)
    told = []
    if out is not None:
        settings = {"rate": rate, "least": least, "longest": longest}
        counts = {"incidents": len(known), "incidents_unmatched": lost}
        told.append(f"written: {out}, {_write_patterns(out, found, settings, counts, show)}")
    if accept is not None:
        trigger = accepted(found, accept, triggers, by or "", reason or "")
        told.append(f"accepted: {trigger.pattern}; written: {triggers}")
    print_table(pattern_table(found, show))
    for line in [*pattern_notes(found, cases, len(known), lost), *told]:
        typer.echo(line)


def _write_patterns(
    out: Path, found: Extraction, settings: Mapping[str, float], counts: Mapping[str, int], most: int
) -> Path:
    from solvent_experiments.artifacts.files import write_json
    from solvent_experiments.instruments.adequacy.figures import draw_patterns

    told = {name: getattr(found, name) for name in ("cases", "tried", "base_rate", "floor")}
    rows = [finding.to_dict() for finding in found.findings]
    write_json(out, {"format": PATTERNS, "settings": dict(settings), **told, **counts, "findings": rows})
    return draw_patterns(found, settings["rate"], out.with_suffix(""), most)


def drift(
    scores: ScoresPath = SCORES,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Responses in the rolling mean.")] = 6,
    threshold: Annotated[float, typer.Option(help="Mean EpAd from which on it is drift.")] = 1.5,
    horizon: Annotated[int, typer.Option(min=1, max=1000, help="Responses that judge a correction.")] = 4,
    show: Annotated[int, typer.Option(min=1, help="Events in the table.")] = 15,
    events: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Events that your application logged: says what helped.", show_default=False
        ),
    ] = None,
    retired: Annotated[Path, typer.Option(metavar="PATH", help="File of retired corrections.")] = Path(
        "retired.jsonl"
    ),
    retire: Annotated[
        str | None, typer.Option(metavar="ID", help="Retire this correction.", show_default=False)
    ] = None,
    by: By = None,
    reason: Reason = None,
    out: Out = None,
) -> None:
    """Follow the rolling mean of EpAd by agent and session, and say which corrections helped.

    Without `--events` it only says where drift would have been seen and what would have been told. With the events of a
    live `DriftMonitor`, each correction's effect is measured against what would have happened anyway. No correction is
    retired but by `--retire`.

    Examples:

    - `solvent adequacy drift --scores scores.jsonl --out drift.json`

    - `solvent adequacy drift --events drifts.jsonl`

    - `solvent adequacy drift --retire hedge_more --by "J. Doe" --reason "does not help"`
    """
    from solvent.adequacy.decisions import retire as retire_correction
    from solvent.adequacy.decisions import retired as retired_ids
    from solvent.adequacy.drift import DriftMonitor, DriftRules
    from solvent.adequacy.scores import merged, read_scores
    from solvent_experiments.artifacts.files import write_json
    from solvent_experiments.instruments.adequacy.failure_tables import (
        drift_notes,
        drift_table,
        fitness_of,
        fitness_table,
        series_of,
    )
    from solvent_experiments.instruments.gate.tables import show as print_table

    if retire is not None:
        if by is None or reason is None:
            raise error("--retire: got no --by or no --reason; allowed: with both, a person decides")
        retire_correction(retired, retire, by, reason)
        typer.echo(f"retired: {retire}; written: {retired}")
        return
    allow_output(out, DRIFT, {"the scores": scores, "the events": events})
    medium, high = max(2.0, threshold), max(2.5, threshold)
    rules = DriftRules(window, threshold, medium, high, horizon, shadow=True)
    monitor = DriftMonitor(rules, retired=retired_ids(retired))
    records = merged(read_scores(scores))
    found = monitor.observe_records(records)
    series = series_of(records)
    fitnesses = [] if events is None else fitness_of(events, series, horizon)
    if out is not None:
        from solvent_experiments.instruments.adequacy.figures import draw_drift

        told = {"rules": asdict(rules), "events": [asdict(one) for one in found]}
        write_json(out, {"format": DRIFT, **told, "fitness": [one.to_dict() for one in fitnesses]})
        drawn = draw_drift(series, rules, found, fitnesses, out.with_suffix(""))
    if found:
        print_table(drift_table(found, show))
    for line in drift_notes(found, series, rules):
        typer.echo(line)
    if fitnesses:
        print_table(fitness_table(fitnesses))
    for one in fitnesses:
        if one.proposed:
            typer.echo(f"proposed for retirement: {one.correction} (--retire, a person decides)")
    if out is not None:
        typer.echo(f"written: {out}, {drawn}")
