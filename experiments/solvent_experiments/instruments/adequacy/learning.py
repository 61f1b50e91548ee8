"""Commands that learn from labels and compare runs of the lab: thresholds, ablation.

Only the commands; ``adequacy`` registers them. What is measured is decided in ``solvent.adequacy``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solvent_experiments.instruments.adequacy.options import (
    SCORES,
    Incidents,
    Out,
    ResponsesPath,
    ScoresPath,
    SkipBroken,
    allow_output,
)

if TYPE_CHECKING:
    from solvent.adequacy.comparison import Comparison
    from solvent.adequacy.thresholds import Discovery

__all__ = ["ablation", "thresholds"]

THRESHOLDS = "solvent.adequacy.thresholds.v2"
RATERS = "solvent.adequacy.raters.v1"

Seed = Annotated[int, typer.Option(min=0, help="Of the split and the bootstrap.")]


def thresholds(
    file: ResponsesPath,
    scores: ScoresPath = SCORES,
    incidents: Incidents = None,
    seed: Seed = 0,
    out: Out = None,
    skip_broken: SkipBroken = False,
) -> None:
    """Compare the raters, and learn cut points from 50 or more labelled responses.

    Heuristic and judge are compared without people's labels too. Labels are those of `solvent adequacy label` in the
    file of scores, else `epad` in the responses themselves. One half chooses, with the incidents, the other half says
    what it is worth. Nothing is changed: the cut points are for a person to adopt.

    Examples:

    - `solvent adequacy thresholds responses.jsonl`

    - `solvent adequacy thresholds responses.jsonl --incidents incidents.jsonl --out thresholds.json`
    """
    from solvent.adequacy.comparison import compare
    from solvent.adequacy.scores import read_scores
    from solvent.adequacy.thresholds import discover
    from solvent_experiments.instruments.adequacy.label_tables import (
        correlation_table,
        cut_table,
        incident_examples,
        labelled_examples,
        raters_lines,
        raters_table,
    )
    from solvent_experiments.instruments.adequacy.responses import read_responses
    from solvent_experiments.instruments.gate.tables import show

    inputs = {"the responses": file, "the scores": scores, "the incidents": incidents}
    allow_output(out, THRESHOLDS, inputs)
    allow_output(None if out is None else _raters(out), RATERS, inputs, drawn=False)
    responses = read_responses(file, skip_broken=skip_broken)
    for line in responses.skipped:
        typer.echo(f"skipped: {line}", err=True)
    records = read_scores(scores) if scores.exists() else []
    comparison = compare(records, seed=seed) if records else None
    if comparison is None:
        typer.echo(f"raters: no scores in {scores}; `solvent adequacy score` writes them")
    else:
        if out is not None:
            _write_raters(_raters(out), comparison)
        show(raters_table(comparison))
        for line in raters_lines(comparison):
            typer.echo(line)
    # Raters are compared without people's labels too; what follows needs 50 of these.
    examples = labelled_examples(responses.all, records)
    more = incident_examples(incidents, examples)
    discovery = discover(examples, incidents=more, seed=seed)
    if out is not None:
        drawn = _write_thresholds(out, discovery, comparison)
    show(correlation_table(discovery))
    show(cut_table(discovery))
    typer.echo(discovery.verdict)
    if out is not None:
        typer.echo(f"written: {out}, {drawn}")


def _write_raters(path: Path, comparison: Comparison) -> None:
    from solvent_experiments.artifacts.files import write_json

    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"format": RATERS, **comparison.to_dict()})


def _write_thresholds(out: Path, discovery: Discovery, comparison: Comparison | None) -> Path:
    """Before anything is shown: whoever reads the tables may leave before their end. Returns the figure."""
    from solvent_experiments.artifacts.files import write_json
    from solvent_experiments.instruments.adequacy.figures import draw_thresholds

    out.parent.mkdir(parents=True, exist_ok=True)
    write_json(out, {"format": THRESHOLDS, "discovery": discovery.to_dict()})
    return draw_thresholds(discovery, comparison, out.with_suffix(""))


def _raters(out: Path) -> Path:
    return out.with_name(f"{out.stem}.raters.json")


def ablation(
    enforced: Annotated[
        Path, typer.Argument(metavar="ENFORCED", help="Folder of the run with adequacy.", show_default=False)
    ],
    tracked: Annotated[
        Path,
        typer.Argument(metavar="TRACKED", help="Folder of the run that only logs it.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and words.json.")
    ] = Path("ablation"),
) -> None:
    """Compare the words of learners in two runs: adequacy enforced, and only tracked.

    Example: `solvent adequacy ablation runs/lab runs/lab_tracked --out ablation`
    """
    from solvent_experiments.instruments.adequacy.ablation import compare_words, words_table
    from solvent_experiments.instruments.gate.tables import show

    found = compare_words(enforced, tracked, out)
    show(words_table(found).terminal())
    for agent in found["agents"]:
        typer.echo(f"written: {out / f'words_{agent}.png'}")
