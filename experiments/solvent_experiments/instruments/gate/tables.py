"""Tables and lines of ``solvent gate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from solvent_experiments.instruments.terminal import one_line
from solvent_experiments.table import Table

if TYPE_CHECKING:
    from solvent.gate.calibration import Rate
    from solvent.gate.drift import Change
    from solvent.gate.evaluation import Comparison, Evaluation
    from solvent.gate.judged import Judged
    from solvent.gate.learning import Learnt
    from solvent.gate.policy_files import Item
    from solvent.gate.sweep import Sweep

__all__ = [
    "alarms_table",
    "checklist_table",
    "drift_table",
    "evaluation_table",
    "judged_table",
    "learnt_table",
    "review_table",
    "sweep_lines",
    "sweep_table",
]

NAMES = {
    "shuffled": "evidence of another claim",
    "refuted": "refuted",
    "nei": "not enough information",
}


def sweep_table(found: Sweep) -> Table:
    """Return the thresholds and the shares of claims that they accept."""
    rows = []
    for name, row in found.summary.items():
        held = row["held_out"]
        share = (
            "" if held is None else f"{held['acceptance_rate']:.1%} [{held['low']:.1%}, {held['high']:.1%}]"
        )
        counts = [f"{row[verdict]:,}" for verdict in ("accept", "review", "reject")]
        taus = [f"{row['tau_accept']:.4f}", f"{row['tau_review']:.4f}"]
        hard = f"{row['hard']['share']:.1%}" if row["hard"]["count"] else "none"
        rows.append((name, *taus, *counts, share, f"{row['random']['share']:.1%}", hard))
    columns = ("policy", "accept up to", "review up to", "accepted", "review", "rejected", "held out")
    return Table((*columns, "other page", "same page"), tuple(rows))


def sweep_lines(found: Sweep) -> list[str]:
    """Return the claims of a sweep, a guide to its table, and the negative control."""
    from solvent.gate.sweep import KINDS

    data, n = found.dataset, found.settings["n"]
    labels = ", ".join(f"{count:,} {label}" for label, count in data["labels"].items())
    lines = [
        f"{n:,} of {data['samples']:,} claims of {data['name']} ({data['format']}: {labels})",
        "accepted on these claims: by construction. Held out: learnt on one half, counted on the other, 100 splits.",
        "other page, same page: accepted with evidence of another page, with other evidence of their own page.",
    ]
    for kind, place in KINDS.items():
        control = found.controls.get(kind)
        if control is None:
            lines.append(f"budget for evidence of {place}: not learnt, too few claims have such evidence")
            continue
        positives = control.positives
        kept = "" if positives is None else f"; of supported claims it accepts {shown_rate(positives)}"
        lines.append(
            f"budget for evidence of {place}: accept up to {control.tau_accept:.4f}{kept}. {found.promise(kind)}"
        )
    return lines


def judged_table(rows: Sequence[Judged]) -> Table:
    """Return verdicts with the value that their policy compared and the first reason."""
    columns = ("id", "claim", "verdict", "residual", "why", "text")
    cells = [
        (row.id, row.name, row.outcome, f"{row.compared:.4f}", _why(row), one_line(row.claim, 70))
        for row in rows
    ]
    return Table(columns, tuple(cells), left=columns, wrapped=("claim", "why", "text"))


def _why(row: Judged) -> str:
    """Return the decision on a review, the checks that object, or the policy's own reason."""
    if row.decision is not None:
        return one_line(f"{row.decision.who}: {row.decision.why}")
    return ", ".join(row.fired) or one_line(row.result["reasons"][0])


def review_table(row: Judged) -> Table:
    """Return everything about one verdict."""
    decision = row.decision
    spans = [(f"evidence {i}", span) for i, span in enumerate(row.evidence, 1)]
    rows = [
        ("id", row.id),
        ("claim", row.claim),
        *spans,
        ("pages", ", ".join(row.pages)),
        ("verdict", f"{row.verdict} by {row.policy.name}, {row.judged_at}"),
        ("energy", f"{row.result['hallucination_energy']:g}, gap {row.energy_gap:g}"),
        *(("reason", reason) for reason in row.result["reasons"]),
    ]
    if decision is not None:
        rows.append(
            ("decision", f"{decision.choice} by {decision.who}, {decision.decided_at}: {decision.why}")
        )
    return Table(("field", "value"), tuple(rows), left=("value",), wrapped=("value",))


def learnt_table(found: Learnt) -> Table:
    """Return the learnt threshold with its interval, and the decided reviews that it accepts."""
    least = "none" if found.policy is None else f"{found.policy.tau_accept:.4f}"
    most = "none" if found.most is None else f"{found.most:.4f}"
    counts = [str(rate.count) for rate in (found.accepted, found.declined)]
    shares = ["" if found.policy is None else shown_rate(rate) for rate in (found.accepted, found.declined)]
    columns = (
        "budget",
        "threshold",
        "at most (95 %)",
        "accepted",
        "declined",
        "accepted pass",
        "declined pass",
    )
    return Table(columns, ((f"{found.budget:.1%}", least, most, *counts, *shares),))


def alarms_table(found: Learnt) -> Table:
    """Return how often people accepted what each check sent to them."""
    rows = [
        (name, str(rate.count), str(rate.accepted), shown_rate(rate)) for name, rate in found.alarms.items()
    ]
    return Table(("check", "sent", "accepted by people", "false alarms"), tuple(rows))


def drift_table(changes: Sequence[Change]) -> Table:
    """Return each window's own thresholds beside those in force."""
    rows = [
        (
            f"{change.begin} to {change.end}",
            f"{change.count:,}",
            f"P{change.percentile:g}",
            f"{change.reference:.4f}",
            f"{change.threshold:.4f}",
            f"{change.accepted:,}",
            f"{change.low:,} to {change.high:,}",
            "drifted" if change.drifted else "",
        )
        for change in changes
    ]
    columns = ("window", "claims", "policy", "in force", "of the window", "accepted", "expected")
    return Table((*columns, "drift"), tuple(rows), left=("policy", "drift"))


def shown_rate(rate: Rate) -> str:
    """Return a share with its exact interval."""
    return f"{rate.share:.1%} [{rate.low:.1%}, {rate.high:.1%}]"


def checklist_table(items: Sequence[Item]) -> Table:
    columns = ("item", "holds", "measured", "required", "note")
    rows = tuple(
        (item.name, "yes" if item.passed else "no", item.measured, item.required, item.note) for item in items
    )
    return Table(columns, rows, left=columns, wrapped=columns)


def evaluation_table(result: Evaluation) -> Table:
    """Return the AUROC of each measure, over all claims and over those with equally many spans."""
    rows: list[tuple[str, ...]] = []
    last = None
    for row in result.comparisons:
        if row.matched:
            continue
        matched = result.of(row.against, row.measure, matched=True)
        kind = (NAMES[row.against], f"{row.supported:,} and {row.others:,}")
        named = kind if row.against != last else ("", "")
        last = row.against
        rows.append((*named, row.measure, _interval(row), _gain(row), _interval(matched), _gain(matched)))
    columns = ("against", "claims", "measure", "AUROC", "gain", "matched", "matched gain")
    return Table(columns, tuple(rows), left=columns)


def _interval(row: Comparison) -> str:
    found = row.auroc
    return (
        "none alike"
        if found.value != found.value
        else f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"
    )


def _gain(row: Comparison) -> str:
    found = row.auroc
    if row.measure == "residual" or found.gain != found.gain:
        return ""
    return f"{found.gain:+.3f} [{found.gain_low:+.3f}, {found.gain_high:+.3f}]"
