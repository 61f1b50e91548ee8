"""Tables of labels for ``solvent adequacy``: correlations, cut points, and the agreement of raters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.adequacy.agreement import Estimate
from solvent.adequacy.comparison import Comparison
from solvent.adequacy.fmea import as_example, read_incidents
from solvent.adequacy.labelled import Example
from solvent.adequacy.scores import ScoreRecord, merged, response_sha256
from solvent.adequacy.thresholds import Discovery
from solvent_experiments.instruments.adequacy.responses import Response
from solvent_experiments.instruments.adequacy.score_tables import one_line, plain_table

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "correlation_table",
    "cut_table",
    "estimate",
    "incident_examples",
    "labelled_examples",
    "raters_lines",
    "raters_table",
]

MOST_DISAGREEMENTS = 5


def estimate(found: Estimate, digits: int = 2) -> str:
    """A value with its interval, or a word where it has none: rich would take "[nan, nan]" for markup."""
    if math.isnan(found.value):
        return "undefined"
    if math.isnan(found.low) or math.isnan(found.high):
        return f"{found.value:.{digits}f}, no interval"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def labelled_examples(responses: Iterable[Response], records: Iterable[ScoreRecord]) -> list[Example]:
    """The responses that have a person's label, in the scores (by id and hash) or in the file.

    Raises:
        AdequacyError: two responses under one id in the scores.
    """
    by_id = {(one.id, one.sha256): one for one in merged(records) if one.epad.human is not None}
    found = []
    for response in responses:
        record = by_id.get((response.id, response.sha256))
        epad = response.human[0] if record is None else record.epad.human
        sya = response.human[1] if record is None else record.sya.human
        if epad is not None:
            found.append(_example(response, epad, sya))
    return found


def incident_examples(path: Path | None, labelled: Iterable[Example]) -> list[Example]:
    """The incidents in which the agent was confident, about responses that nobody has labelled; the last about each.

    Raises:
        AdequacyError: incidents that can't be read.
    """
    known = {response_sha256(one.response, one.context, one.query) for one in labelled}
    incidents = [] if path is None else read_incidents(path)
    last = {one.sha256: as_example(one) for one in incidents if one.sha256 not in known}
    return [
        replace(example, id=f"incident-{sha256}") for sha256, example in last.items() if example is not None
    ]


def _example(response: Response, epad: int, sya: int | None) -> Example:
    return Example(
        id=response.id,
        domain="responses",
        query=response.query,
        response=response.text,
        context=response.context,
        epad=epad,
        sya=sya,
        kind="labelled",
        rationale="a person's label",
    )


def correlation_table(found: Discovery) -> Table:
    """Return the correlations with the labels, the strongest first."""
    table = plain_table("feature", "Spearman's rho with the label", right=("Spearman's rho with the label",))
    ranked = sorted(
        found.correlations.items(),
        key=lambda item: -abs(item[1].value) if item[1].value == item[1].value else 1.0,
    )
    for name, rho in ranked:
        table.add_row(name.replace("_", " "), estimate(rho))
    return table


def cut_table(found: Discovery) -> Table:
    """The shipped cut points and the chosen ones, and how they agree with people on the half not chosen on."""
    columns = ("cut points", "thin", "reasonable", "ample", "broad call", "kappa", "within one", "exact")
    table = plain_table(*columns, right=columns[1:])
    for name, cut, agreed in (
        ("shipped", found.shipped, found.shipped_agreement),
        ("chosen", found.chosen, found.chosen_agreement),
    ):
        rates = [
            f"{rate.share:.0%} [{rate.low:.0%}, {rate.high:.0%}]"
            for rate in (agreed.within_one, agreed.exact)
        ]
        table.add_row(name, *map(str, cut.counts), estimate(agreed.kappa), *rates)
    learnt = f" and {found.incidents:,} incidents" if found.incidents else ""
    halves = (
        f"chosen on {found.learnt_on - found.incidents:,} responses{learnt}, "
        f"reported on {found.reported_on:,} others"
    )
    table.caption = halves
    table.caption_justify = "left"
    return table


def raters_table(found: Comparison) -> Table:
    """Each pair of raters on the responses that both have scored."""
    columns = ("raters (EpAd)", "responses", "kappa", "exact", "within one", "rho")
    table = plain_table(*columns, right=columns[1:])
    for pair in found.pairs:
        agreed = pair.found
        if agreed is None:
            told = ["too few", "", "", ""]
        else:
            shares = [f"{rate.share:.0%}" for rate in (agreed.exact, agreed.within_one)]
            told = [estimate(agreed.kappa), *shares, estimate(agreed.rho)]
        table.add_row(f"{pair.first}, {pair.second}", f"{pair.count:,}", *told)
    return table


def raters_lines(found: Comparison) -> list[str]:
    """Return which rater agrees better with people, and the widest disagreements."""
    lines = []
    if found.judge_over_heuristic is not None:
        over = found.judge_over_heuristic
        lines.append(f"judge over heuristic, kappa with people: {estimate(over)}")
    apart = found.disagreements[:MOST_DISAGREEMENTS]
    if apart:
        lines.append(
            f"two points or more apart: {len(found.disagreements):,} of {found.count:,}, the widest:"
        )
        lines += [f"  {one_line(str(one), 110)}" for one in apart]
    return lines
