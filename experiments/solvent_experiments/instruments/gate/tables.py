"""Tables and lines of ``solvent gate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from solvent_experiments.measure.table import Table

if TYPE_CHECKING:
    from solvent.gate.checklist import Item
    from solvent.gate.evaluation import Comparison, Evaluation
    from solvent.gate.sweep import Sweep

__all__ = ["checklist_table", "evaluation_table", "sweep_lines", "sweep_table"]

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
        rows.append((name, *taus, *counts, share, f"{row['control']['share']:.1%}"))
    columns = ("policy", "accept up to", "review up to", "accepted", "review", "rejected", "held out")
    return Table((*columns, "control"), tuple(rows))


def sweep_lines(found: Sweep) -> list[str]:
    """Return the claims of a sweep, a guide to its table, and the negative control."""
    data, n = found.dataset, found.settings["n"]
    labels = ", ".join(f"{count:,} {label}" for label, count in data["labels"].items())
    lines = [
        f"{n:,} of {data['samples']:,} claims of {data['name']} ({data['format']}: {labels})",
        "accepted on these claims: by construction. Held out: learnt on one half, counted on the other, 100 splits.",
        "control: accepted with the evidence of another claim.",
    ]
    control = found.negative_control
    if control is None:
        return [*lines, f"negative control: not learnt, {n:,} claims are too few to be sure of it"]
    positives, negatives = control["positives"], control["negatives"]
    kept = "" if positives is None else f"; of the others with their own evidence {positives['share']:.1%}"
    learnt = (
        f"negative control ({control['budget']:.0%}): accept up to {control['tau_accept']:.4f}; held out, it accepts"
        f" {negatives['accepted']:,} of {negatives['count']:,} mismatched claims, at most"
        f" {negatives['upper']:.1%} (95 %){kept}"
    )
    return [*lines, learnt]


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
