"""``solvent adequacy``: score responses, label them, learn thresholds, find patterns, watch drift.

Only the command line: what is measured is decided in ``solvent.adequacy``, imported by the command that needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solvent_experiments.instruments.adequacy.failures import drift, patterns
from solvent_experiments.instruments.adequacy.learning import ablation, thresholds
from solvent_experiments.instruments.adequacy.options import (
    SCORES,
    JudgeBudget,
    JudgeCache,
    JudgeJobs,
    JudgeModel,
    JudgeOptions,
    JudgeTimeout,
    JudgeTokens,
    JudgeUrl,
    Quiet,
    ResponsesPath,
    SkipBroken,
    error,
    judge_of,
    progress,
)

if TYPE_CHECKING:
    from solvent_experiments.instruments.adequacy.responses import Responses

__all__ = ["app"]

FAILED = 1

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Hold the confidence of responses against the evidence that was gathered for them.

- `solvent adequacy score responses.jsonl`  scores them, 0 (fits) to 3, into scores.jsonl

- `solvent adequacy label responses.jsonl`  asks you for your scores

- `solvent adequacy thresholds responses.jsonl`  learns from 50 or more labels, and compares the raters

- `solvent adequacy patterns`  finds the sequences of tools that precede failures

- `solvent adequacy drift`  follows the scores, and says which corrections helped

- `solvent adequacy ablation`  compares what learners say with and without it
""",
)


@app.callback(invoke_without_command=True)
def adequacy(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def score(
    file: ResponsesPath,
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="File to append the scores to.")
    ] = SCORES,
    shadow: Annotated[
        bool,
        typer.Option(
            "--shadow/--act",
            help="Only log the scores, or end with exit code 1 where one is 3.",
        ),
    ] = True,
    show: Annotated[int, typer.Option(min=0, help="Responses in the table, the worst first.")] = 20,
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    judge_escalated: Annotated[
        bool,
        typer.Option("--judge-escalated", help="Ask it only where the heuristic says that it should look."),
    ] = False,
    judge_budget: JudgeBudget = 1000,
    judge_tokens: JudgeTokens = None,
    judge_timeout: JudgeTimeout = 30.0,
    judge_jobs: JudgeJobs = 4,
    judge_cache: JudgeCache = None,
    judge_options: JudgeOptions = None,
    triggers: Annotated[
        Path | None,
        typer.Option(
            "--triggers",
            metavar="PATH",
            help="Triggers that a person accepted (`patterns --accept`): where one fires, a judge should look.",
            show_default=False,
        ),
    ] = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
) -> None:
    """Score responses with the heuristic, and with a judge where one is given; append to `scores.jsonl`.

    The same file may be scored again: the later line of an id counts. With `--act` the score that counts is a person's
    in the file (`epad`), else the judge's, else the heuristic's.

    Examples:

    - `solvent adequacy score responses.jsonl`

    - `solvent adequacy score responses.jsonl --judge-url http://127.0.0.1:8000/v1 --judge-model small --act`
    """
    from solvent.adequacy.decisions import read_triggers
    from solvent.adequacy.judge import Budget
    from solvent_experiments.instruments.adequacy.score_tables import (
        distribution_table,
        judge_lines,
        scores_table,
        trigger_line,
    )
    from solvent_experiments.instruments.adequacy.scoring import check_ids, in_force, score_responses
    from solvent_experiments.instruments.gate.tables import show as print_table

    budget = Budget(judge_budget, judge_tokens)
    judge = judge_of(judge_url, judge_model, budget, judge_timeout, judge_cache, judge_options)
    if judge is None and judge_escalated:
        raise error("--judge-escalated: got no judge; allowed: with --judge-url")
    accepted = [] if triggers is None else read_triggers(triggers)
    responses = _responses(file, skip_broken, out)
    again = check_ids(out, responses.all)
    with progress(quiet, "score", "responses") as told:
        scored, judged = score_responses(
            responses.all,
            out,
            judge=judge,
            escalated_only=judge_escalated,
            jobs=judge_jobs,
            shadow=shadow,
            triggers=accepted,
            on_progress=told,
        )
    records = [one.record for one in scored]
    if show:
        print_table(scores_table(scored, show, judged=judge is not None))
        if len(scored) > show:
            typer.echo(f"{show:,} of {len(scored):,}, the worst first (--show)")
    print_table(
        distribution_table(
            (f"{scale}, {rater}", [getattr(getattr(record, field), rater) for record in records])
            for scale, field in (("EpAd", "epad"), ("SyA", "sya"))
            for rater in ("heuristic", "judge", "human")
        )
    )
    if triggers is not None:
        typer.echo(trigger_line(records, len(accepted)))
    if judge is None:
        typer.echo("judge: none (--judge-url); the heuristic alone")
    else:
        for line in judge_lines(judged, judge.budget.called):
            typer.echo(line)
    typer.echo(f"written: {out}" + (f" ({again:,} had scores before; the later count)" if again else ""))
    _end_of_scoring(judged.stopped, [in_force(record) for record in records], shadow=shadow)


def _end_of_scoring(stopped: Exception | None, scores: list[int], *, shadow: bool) -> None:
    """A judge that refuses is an error, though the scores are written; acting is exit code 1 where one is 3."""
    from solvent.adequacy.judge import EndpointError

    if isinstance(stopped, EndpointError):
        raise stopped
    worst = scores.count(3)
    if not shadow:
        typer.echo(f"acting: {worst:,} of {len(scores):,} responses score 3")
        if worst:
            raise typer.Exit(FAILED)


@app.command()
def label(
    file: ResponsesPath,
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="File to append the labels to.")
    ] = SCORES,
    sya: Annotated[
        bool, typer.Option("--sya", help="Ask for SyA as well, where the query is known.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Draw the order by this.  [default: the file's order]", show_default=False),
    ] = None,
    most: Annotated[int, typer.Option("--most", min=0, help="Responses in this session; 0: all.")] = 0,
    skip_broken: SkipBroken = False,
) -> None:
    """Label responses by hand: query, tool log and response are shown, one key is a label.

    0 to 3 label, s skips, u goes back, q quits. The heuristic's score is not shown before yours. Each label is appended
    at once; the same command goes on with what has none yet.

    Example: `solvent adequacy label responses.jsonl --out scores.jsonl --seed 1`
    """
    import random

    from rich.console import Console

    from solvent_experiments.instruments.adequacy.labelling import (
        keyboard,
        label_responses,
        labelled_ids,
        require_terminal,
        scored_ids,
    )
    from solvent_experiments.instruments.adequacy.scoring import check_ids

    require_terminal()
    responses = _responses(file, skip_broken, out)
    check_ids(out, responses.all)
    labelled = labelled_ids(out, sya=sya)
    left = [response for response in responses.all if response.id not in labelled]
    if seed is not None:
        random.Random(seed).shuffle(left)
    some = left[:most] if most else left
    there = len(responses.all) - len(left)
    if there:
        typer.echo(f"{there:,} of {len(responses.all):,} have a label already")
    with keyboard() as key:
        session = label_responses(some, out, scored=scored_ids(out), sya=sya, console=Console(), key=key)
    count = len(session.labelled)
    typer.echo(
        f"labelled {count:,}, skipped {session.skipped:,}, left {len(left) - count:,} of {len(responses.all):,}"
        + (f"; written: {out}" if count else "")
    )


# ------------------------------------------------------------------------------------------ what goes in


def _responses(file: Path, skip_broken: bool, out: Path) -> Responses:
    from solvent_experiments.artifacts.files import require_writable
    from solvent_experiments.instruments.adequacy.responses import read_responses

    if out.is_dir() or (out.exists() and file.exists() and out.samefile(file)):
        raise error(
            f"--out: {out} is {'a folder' if out.is_dir() else 'the responses'}; allowed: a file of scores"
        )
    responses = read_responses(file, skip_broken=skip_broken)
    for line in responses.skipped:
        typer.echo(f"skipped: {line}", err=True)
    try:
        require_writable(out)
    except OSError as problem:
        raise error(
            f"--out: {out} can't be written, {problem.strerror}; allowed: a file in a folder"
        ) from None
    out.parent.mkdir(parents=True, exist_ok=True)
    return responses


for command in (thresholds, patterns, drift, ablation):
    app.command()(command)
