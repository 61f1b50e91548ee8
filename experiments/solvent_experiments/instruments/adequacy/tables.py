"""Tables and lines of ``solvent adequacy``: scores, raters, thresholds, patterns, drift, corrections."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from solvent_experiments.instruments.terminal import counted, one_line
from solvent_experiments.table import Table

if TYPE_CHECKING:
    from solvent.adequacy.agreement import Estimate, Rate
    from solvent.adequacy.comparison import Comparison
    from solvent.adequacy.drift import Drift, DriftRules
    from solvent.adequacy.fitness import Fitness, Series
    from solvent.adequacy.patterns import Case, Extraction
    from solvent.adequacy.scores import ScoreRecord
    from solvent.adequacy.scoring import Judged, Scored
    from solvent.adequacy.thresholds import Discovery

__all__ = [
    "correlation_table",
    "cut_table",
    "distribution_table",
    "drift_lines",
    "drift_table",
    "estimate",
    "fitness_table",
    "judge_lines",
    "pattern_lines",
    "pattern_table",
    "raters_lines",
    "raters_table",
    "scores_table",
    "trigger_line",
]

EXCERPT = 60
MOST_REASONS = 3
MOST_DISAGREEMENTS = 5


def estimate(found: Estimate, digits: int = 2) -> str:
    """Return a value with its interval, or a word if one is undefined."""
    if math.isnan(found.value):
        return "undefined"
    if math.isnan(found.low) or math.isnan(found.high):
        return f"{found.value:.{digits}f}, no interval"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


# --------------------------------------------------------------------------------------------------- scores


def scores_table(scored: Sequence[Scored], most: int, *, judged: bool) -> Table:
    """Return the responses with the highest scores; ties keep the file's order."""
    worst = sorted(scored, key=lambda one: -one.adequacy.score)[:most]
    columns = {
        "EpAd": [_rating(one.adequacy.score) for one in worst],
        "judge": [_rating(one.record.epad.judge) for one in worst],
        "SyA": [_rating(one.adequacy.sya) for one in worst],
        "words/evidence": [one.adequacy.rule for one in worst],
        "asks for": ["judge" if one.adequacy.escalate else "" for one in worst],
        "id": [one_line(one.record.id, 24) for one in worst],
        "what decided": [_decided(one) for one in worst],
    }
    if not judged:
        del columns["judge"]
    rows = tuple(zip(*columns.values(), strict=True))
    left = ("words/evidence", "asks for", "id", "what decided")
    return Table(tuple(columns), rows, left=left, wrapped=tuple(columns))


def _rating(rating: int | None) -> str:
    return "" if rating is None else str(rating)


def _decided(one: Scored) -> str:
    """Return the sentence with the highest score, or the start of a response that asserts nothing."""
    worst = [sentence for sentence in one.adequacy.sentences if sentence.words is not None]
    said = max(worst, key=lambda sentence: sentence.score).text if worst else one.response.text
    return one_line(said, EXCERPT)


def distribution_table(records: Sequence[ScoreRecord]) -> Table:
    """Return the counts of each score, a row for each scale and rater with ratings."""
    rows = []
    for scale, field in (("EpAd", "epad"), ("SyA", "sya")):
        for rater in ("heuristic", "judge", "human"):
            ratings = [getattr(getattr(record, field), rater) for record in records]
            known = [rating for rating in ratings if rating is not None]
            if known:
                counts = Counter(known)
                shares = [f"{counts[score]:,} ({counts[score] / len(known):.0%})" for score in range(4)]
                mean = f"{sum(known) / len(known):.2f}"
                rows.append((f"{scale}, {rater}", *shares, mean, f"{len(known):,}"))
    return Table(("", "0", "1", "2", "3", "mean", "scored"), tuple(rows))


def judge_lines(told: Judged, called: int) -> list[str]:
    """Return a line on the number of judgements, and one for each kind of failure."""
    cached = f", {told.cached:,} of them from the cache" if told.cached else ""
    lines = [f"judge: {told.found:,} of {told.asked:,} judged{cached}; {counted(called, 'request')}"]
    for reason, count in told.failures.most_common(MOST_REASONS):
        lines.append(
            f"judge: {count:,} not judged: {one_line(reason.removeprefix('judge: ').removeprefix('endpoint: '), 200)}"
        )
    if len(told.failures) > MOST_REASONS:
        lines.append(f"judge: {len(told.failures) - MOST_REASONS:,} more kinds of failure")
    return lines


def trigger_line(records: Iterable[ScoreRecord], accepted: int) -> str:
    """Return a line on the triggers in force and the responses on which one fired."""
    fired = sum(any(signal.startswith("trigger:") for signal in record.signals) for record in records)
    return f"triggers: {accepted:,} in force; fired on {counted(fired, 'response')}"


# --------------------------------------------------------------------------------------------------- labels


def correlation_table(found: Discovery) -> Table:
    rho = found.correlations
    ranked = sorted(rho, key=lambda name: 1.0 if math.isnan(rho[name].value) else -abs(rho[name].value))
    rows = tuple((name.replace("_", " "), estimate(rho[name])) for name in ranked)
    return Table(("feature", "Spearman's rho with the label"), rows)


def cut_table(found: Discovery) -> Table:
    """Return the shipped and the chosen cut points, with their agreement on the held-out half."""
    cuts = (
        ("shipped", found.shipped, found.shipped_agreement),
        ("chosen", found.chosen, found.chosen_agreement),
    )
    rows = tuple(
        (
            *(name, *map(str, cut.counts), estimate(agreed.kappa)),
            *(_share(rate) for rate in (agreed.within_one, agreed.exact)),
        )
        for name, cut, agreed in cuts
    )
    learnt = f" and {found.incidents:,} incidents" if found.incidents else ""
    return Table(
        ("cut points", "thin", "reasonable", "ample", "broad call", "kappa", "within one", "exact"),
        rows,
        caption=f"chosen on {found.learnt_on - found.incidents:,} responses{learnt}, "
        f"reported on {found.reported_on:,} others",
    )


def _share(rate: Rate) -> str:
    return f"{rate.share:.0%} [{rate.low:.0%}, {rate.high:.0%}]"


def raters_table(found: Comparison) -> Table:
    """Return the agreement of each pair of raters on the responses that both scored."""
    rows = []
    for pair in found.pairs:
        told = ["too few", "", "", ""]
        if (agreed := pair.found) is not None:
            shares = [f"{rate.share:.0%}" for rate in (agreed.exact, agreed.within_one)]
            told = [estimate(agreed.kappa), *shares, estimate(agreed.rho)]
        rows.append((f"{pair.first}, {pair.second}", f"{pair.count:,}", *told))
    return Table(("raters (EpAd)", "responses", "kappa", "exact", "within one", "rho"), tuple(rows))


def raters_lines(found: Comparison) -> list[str]:
    """Return the judge's advantage over the heuristic, and the widest disagreements."""
    lines = []
    if found.judge_over_heuristic is not None:
        lines.append(f"judge over heuristic, kappa with people: {estimate(found.judge_over_heuristic)}")
    if apart := found.disagreements[:MOST_DISAGREEMENTS]:
        count = f"{len(found.disagreements):,} of {found.count:,}"
        lines.append(f"two points or more apart: {count}, the widest:")
        lines += [f"  {one_line(str(one), 110)}" for one in apart]
    return lines


# ------------------------------------------------------------------------------------------------- patterns


def pattern_table(found: Extraction, most: int) -> Table:
    """Return the findings with the highest lower bounds."""
    columns = ("pattern", "responses", "failed", "rate", "by severity", "lower bound", "candidate")
    rows = tuple(
        (
            *(one_line(str(one.pattern), 80), f"{one.count:,}", f"{one.failures:,}"),
            *(f"{share:.0%}" for share in (one.rate, one.weighted_rate, one.lower_bound)),
            "yes" if one.candidate else "",
        )
        for one in found.findings[:most]
    )
    return Table(columns, rows, left=("candidate",), wrapped=columns)


def pattern_lines(found: Extraction, cases: Sequence[Case], incidents: int, lost: int) -> list[str]:
    """Return the numbers of responses, failures and incidents, and the criteria for a candidate."""
    failed = sum(case.failed for case in cases)
    about = counted(incidents, "incident")
    if lost:
        about += (
            f", {lost:,} of them about no response that was scored (other text, tools or query): left out"
        )
    over = (
        f"a candidate's lower bound is over {found.floor:.0%}, at once for all {found.tried:,} patterns tried"
    )
    return [
        f"{found.cases:,} responses, {failed:,} failed ({found.base_rate:.0%}); {about}",
        f"{over}: {counted(len(found.candidates), 'candidate')}",
    ]


# ---------------------------------------------------------------------------------------------------- drift


def drift_table(found: Sequence[Drift], most: int) -> Table:
    columns = ("agent", "session", "response", "mean", "severity", "kind", "correction")
    rows = tuple(
        (
            *(one_line(one.agent, 30), one_line(one.session, 30), f"{one.position + 1:,}", f"{one.mean:.2f}"),
            *(one.severity, one.kind, one.correction),
        )
        for one in found[:most]
    )
    return Table(
        columns, rows, left=("session", "severity", "kind", "correction"), wrapped=("agent", "session")
    )


def drift_lines(found: Sequence[Drift], series: Series, rules: DriftRules) -> list[str]:
    """Return the number of responses that were followed, and the texts of the corrections."""
    from solvent.adequacy.corrections import load_corrections

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


def fitness_table(found: Sequence[Fitness]) -> Table:
    """Return the effect of each correction; negative is better."""
    rows = tuple(
        (
            *(one_line(one.correction, 60), one.verdict),
            "" if math.isnan(one.effect.value) else estimate(one.effect),
            "" if one.basis == "none" else one.basis,
            *(f"{one.given:,}", f"{one.controls:,}"),
            "" if math.isnan(one.naive) else f"{one.naive:+.2f}",
        )
        for one in found
    )
    columns = ("correction", "verdict", "effect on the mean", "compared", "given", "not given")
    return Table(
        (*columns, "before and after"),
        rows,
        left=("verdict", "compared"),
        wrapped=("correction",),
        caption="before and after: what a high window falls by itself is in it; effect: against those not given",
    )
