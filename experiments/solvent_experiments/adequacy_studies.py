"""What ``solvent adequacy`` learns from labels and says of its own worth: thresholds, evaluation, ablation.

Only the commands; ``adequacy`` registers them. What is measured is decided in ``solvent.adequacy``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from solvent_experiments.adequacy_options import (
    SCORES,
    Incidents,
    JudgeBudget,
    JudgeCache,
    JudgeJobs,
    JudgeModel,
    JudgeOptions,
    JudgeTimeout,
    JudgeTokens,
    JudgeUrl,
    Out,
    Quiet,
    ResponsesPath,
    ScoresPath,
    SkipBroken,
    allow_output,
    error,
    judge_of,
    progress,
)

if TYPE_CHECKING:
    from solvent.adequacy.comparison import Comparison
    from solvent.adequacy.thresholds import Discovery
    from solvent_experiments.adequacy_evaluation import Evaluated

__all__ = ["ablation", "evaluate", "thresholds"]

THRESHOLDS = "solvent.adequacy.thresholds.v1"
RATERS = "solvent.adequacy.raters.v1"
EVALUATION = "solvent.adequacy.evaluation.v1"
USED = (
    "used: the held-out half and the report half were scored by the final evaluation "
    "(docs/results/adequacy_heuristic.json); these numbers are not of unseen data"
)

Seed = Annotated[int, typer.Option(min=0, help="Of the split and the bootstrap.")]


def thresholds(
    file: ResponsesPath,
    scores: ScoresPath = SCORES,
    incidents: Incidents = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="Choose a cell of the score matrix as well.")
    ] = False,
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
    from solvent_experiments.adequacy_responses import read_responses
    from solvent_experiments.adequacy_tables import (
        correlation_table,
        cut_table,
        incident_examples,
        labelled_examples,
        raters_lines,
        raters_table,
    )
    from solvent_experiments.gate_report import show

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
    discovery = discover(examples, incidents=more, cells=cells, seed=seed)
    if out is not None:
        drawn = _write_thresholds(out, discovery, comparison)
    show(correlation_table(discovery))
    show(cut_table(discovery))
    typer.echo(discovery.verdict)
    if out is not None:
        typer.echo(f"written: {out}, {drawn}")


def _write_raters(path: Path, comparison: Comparison) -> None:
    from solvent_experiments.files import write_json

    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"format": RATERS, **comparison.to_dict()})


def _write_thresholds(out: Path, discovery: Discovery, comparison: Comparison | None) -> Path:
    """Before anything is shown: whoever reads the tables may leave before their end. Returns the figure."""
    from solvent.adequacy.threshold_files import save_discovery
    from solvent_experiments.figures.adequacy_records import draw_thresholds

    out.parent.mkdir(parents=True, exist_ok=True)
    save_discovery(out, discovery)
    return draw_thresholds(discovery, comparison, out.with_suffix(""))


def _raters(out: Path) -> Path:
    return out.with_name(f"{out.stem}.raters.json")


def evaluate(
    examples: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="Labelled set, JSONL.  [default: the package's]", show_default=False
        ),
    ] = None,
    held_out: Annotated[
        bool,
        typer.Option("--held-out", help="The package's half for the final evaluation, which has used it up."),
    ] = False,
    seekbench: Annotated[
        Path | None,
        typer.Option(
            "--seekbench",
            metavar="PATH",
            help="SeekBench's traces (seekbench_data.jsonl).",
            show_default=False,
        ),
    ] = None,
    half: Annotated[
        Literal["tune", "report", "all"],
        typer.Option(help="Which of SeekBench's traces; the final evaluation has used up `report`."),
    ] = "tune",
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    judge_budget: JudgeBudget = 1000,
    judge_tokens: JudgeTokens = None,
    judge_timeout: JudgeTimeout = 30.0,
    judge_jobs: JudgeJobs = 4,
    judge_cache: JudgeCache = None,
    judge_options: JudgeOptions = None,
    out: Out = None,
    quiet: Quiet = False,
) -> None:
    """Say how well the heuristic, and a judge where one is given, agree with labelled responses.

    Accuracy, accuracy within one point, quadratic kappa and the confusion matrix, beside rules too simple to be a
    detector; with `--seekbench` also how well answers without a sufficient result are told from others. A judge that
    fails on a response ends the command; what it has judged is in its cache, so the same command goes on.

    Examples:

    - `solvent adequacy evaluate`

    - `solvent adequacy evaluate --seekbench seekbench_data.jsonl --out evaluation.json`
    """
    from solvent.adequacy.labelled import DEV, HELD_OUT
    from solvent_experiments.adequacy_evaluation import evaluate_all
    from solvent_experiments.files import write_json

    if held_out and examples is not None:
        raise error("--held-out: got a file as well; allowed: one of them")
    allow_output(out, EVALUATION, {"the labelled set": examples, "the traces": seekbench})
    judge = judge_of(
        judge_url, judge_model, judge_budget, judge_tokens, judge_timeout, judge_cache, judge_options
    )
    path = examples or (HELD_OUT if held_out else DEV)
    with progress(quiet, "evaluate", "responses") as told:
        found = evaluate_all(path, seekbench, half, judge, judge_jobs, told)
    if out is not None:
        from solvent_experiments.figures.adequacy_records import draw_evaluation

        write_json(out, {"format": EVALUATION, **found.to_dict()})
        drawn = draw_evaluation(found, out.with_suffix(""))
    _show_evaluation(found)
    if held_out or (seekbench is not None and half != "tune"):
        typer.echo(USED)
    if judge is None:
        typer.echo("judge: none (--judge-url); the heuristic alone")
    if out is not None:
        typer.echo(f"written: {out}, {drawn}")


def _show_evaluation(found: Evaluated) -> None:
    from solvent_experiments.adequacy_evaluation_tables import (
        agreement_table,
        confusion_table,
        seekbench_lines,
        seekbench_table,
        slices_table,
    )
    from solvent_experiments.gate_report import show

    show(agreement_table(found))
    for name, report in found.labelled.items():
        show(confusion_table(name, report))
    show(slices_table(found))
    if found.seekbench:
        show(seekbench_table(found))
        for line in seekbench_lines(found):
            typer.echo(line)


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
    from solvent_experiments.ablation import compare_words, words_table
    from solvent_experiments.gate_report import show

    found = compare_words(enforced, tracked, out)
    show(words_table(found))
    for agent in found["agents"]:
        typer.echo(f"written: {out / f'words_{agent}.png'}")
