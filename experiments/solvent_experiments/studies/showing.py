"""What a study found, for a terminal."""

from __future__ import annotations

from rich.console import Console

from solvent_experiments.measure.table import Table
from solvent_experiments.studies.study import Study
from solvent_experiments.studies.verdicts import Score

__all__ = ["show_score"]


def show_score(study: Study, score: Score, console: Console) -> None:
    """Print the claim, the verdict, and the numbers behind it."""
    console.print(f"[bold]{study.TITLE}[/bold]\n{study.CLAIM}\n[bold]Verdict: {score.verdict}[/bold]\n")
    rows = []
    for finding in score.findings:
        told = finding.to_mapping()
        rows.append(
            (
                f"{finding.name} ({finding.unit})",
                f"{finding.found.value:.3f}",
                f"{finding.found.low:.3f} to {finding.found.high:.3f}",
                told["expected"] or "-",
                told["verdict"] or "-",
                told["size"] or "",
            )
        )
    table = Table(
        ("measured", "found", "95 % interval", "expected", "verdict", "size"),
        tuple(rows),
        left=("expected", "verdict", "size"),
        wrapped=("measured",),
    )
    console.print(table.terminal())
    for note in score.notes:
        console.print(f"- {note}", highlight=False)
