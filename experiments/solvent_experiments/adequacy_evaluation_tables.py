"""What ``solvent adequacy evaluate`` shows: agreement beside baselines, confusion matrices, slices, search traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.adequacy.agreement import Agreement, Rate
from solvent.adequacy.evaluation import ExamplesReport, Rating
from solvent_experiments.adequacy_evaluation import Evaluated
from solvent_experiments.adequacy_report import one_line, plain_table
from solvent_experiments.adequacy_tables import estimate

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["agreement_table", "confusion_table", "seekbench_lines", "seekbench_table", "slices_table"]


def rate(found: Rate) -> str:
    """A share in per cent with its interval."""
    return f"{found.share:.1%} [{found.low:.1%}, {found.high:.1%}]"


def agreement_table(found: Evaluated) -> Table:
    """Every scorer and every baseline, on both scales."""
    columns = ("scale", "scorer", "responses", "exact", "within one", "kappa")
    table = plain_table(*columns, right=columns[2:])
    for scale in ("EpAd", "SyA", "SyA, of a premise"):
        ratings = {name: _rating(report, scale) for name, report in found.labelled.items()}
        known = {name: rating for name, rating in ratings.items() if rating is not None}
        if not known:
            continue
        first = next(iter(known.values()))
        rows = {name: rating.overall for name, rating in known.items()}
        rows |= {f"baseline: {name.replace('_', ' ')}": agreed for name, agreed in first.baselines.items()}
        for i, (name, agreed) in enumerate(rows.items()):
            table.add_row(scale if i == 0 else "", name, f"{agreed.count:,}", *_agreed(agreed))
        table.add_section()
    return table


def _rating(report: ExamplesReport, scale: str) -> Rating | None:
    return {"EpAd": report.epad, "SyA": report.sya, "SyA, of a premise": report.premises}[scale]


def _agreed(agreed: Agreement) -> list[str]:
    return [rate(agreed.exact), rate(agreed.within_one), estimate(agreed.kappa)]


def confusion_table(name: str, report: ExamplesReport) -> Table:
    """Rows: the label; columns: the score."""
    columns = ("EpAd labelled", *(f"scored {score}" for score in range(4)))
    table = plain_table(*columns, right=columns[1:])
    for label, row in enumerate(report.epad.overall.matrix):
        table.add_row(str(label), *(f"{count:,}" for count in row))
    table.caption = name
    return table


def slices_table(found: Evaluated) -> Table:
    """EpAd by kind of case and by domain."""
    from rich.text import Text

    names = list(found.labelled)
    columns = (
        "by kind, by domain",
        "responses",
        "mean label",
        *(f"{name}: mean, within one" for name in names),
    )
    table = plain_table(*columns, right=columns[1:])
    for part in ("by_kind", "by_domain"):
        slices = {name: getattr(report.epad, part) for name, report in found.labelled.items()}
        for key, one in slices[names[0]].items():
            told = [
                f"{slices[name][key].mean_score:.2f}, {slices[name][key].within_one.share:.0%}"
                for name in names
            ]
            table.add_row(
                Text(one_line(key.replace("_", " "), 60)),
                f"{one.exact.count:,}",
                f"{one.mean_label:.2f}",
                *told,
            )
        table.add_section()
    return table


def seekbench_table(found: Evaluated) -> Table:
    """How well answers without a sufficient result are told from others."""
    columns = ("search traces", "AUROC", "of wrong answers", "mean, sufficient", "mean, not", "explained")
    table = plain_table(*columns, right=columns[1:])
    for name, report in found.seekbench.items():
        means = [estimate(group.mean) for group in (report.sufficient, report.insufficient)]
        table.add_row(
            name, estimate(report.auroc), estimate(report.auroc_wrong), *means, estimate(report.explained)
        )
    for name, auroc in next(iter(found.seekbench.values())).baselines.items():
        table.add_row(f"baseline: {name.replace('_', ' ')}", estimate(auroc), "", "", "", "")
    return table


def seekbench_lines(found: Evaluated) -> list[str]:
    """The groups, and what the columns are."""
    report = next(iter(found.seekbench.values()))
    groups = ("without a sufficient result", report.insufficient), ("with one", report.sufficient)
    told = [f"{name} {group.count:,}, right {rate(group.correct)}" for name, group in groups]
    lines = [f"{report.count:,} traces that answer ({found.half}): {'; '.join(told)}"]
    for name, one in found.seekbench.items():
        shares = [
            f"{score}: {rate(r)} of {r.count:,}"
            for score, r in enumerate(one.correct_by_score)
            if r is not None
        ]
        lines.append(f"right by the {name}'s score  {'; '.join(shares)}")
    return lines
