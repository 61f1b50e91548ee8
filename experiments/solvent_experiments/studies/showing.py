"""What a study found, for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from solvent_experiments.measure.summary import COMPACT
from solvent_experiments.studies.study import Study
from solvent_experiments.studies.verdicts import Score

__all__ = ["show_score"]


def show_score(study: Study, score: Score, console: Console) -> None:
    """Print the claim, the verdict, and the numbers behind it."""
    console.print(f"[bold]{study.TITLE}[/bold]\n{study.CLAIM}\n[bold]Verdict: {score.verdict}[/bold]\n")
    drawn = Table(**COMPACT)
    drawn.add_column("measured")
    for heading in ("found", "95 % interval", "expected", "verdict", "size"):
        drawn.add_column(
            heading, no_wrap=True, justify="right" if heading in ("found", "95 % interval") else "left"
        )
    for finding in score.findings:
        told = finding.to_mapping()
        drawn.add_row(
            f"{finding.name} ({finding.unit})",
            f"{finding.found.value:.3f}",
            f"{finding.found.low:.3f} to {finding.found.high:.3f}",
            told["expected"] or "-",
            told["verdict"] or "-",
            told["size"] or "",
        )
    console.print(drawn)
    for note in score.notes:
        console.print(f"- {note}", highlight=False)
