"""``solvent adequacy``: score and label responses, learn thresholds, find patterns, watch drift."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent.files import appending, write_json
from solvent_experiments.config import ConfigError
from solvent_experiments.console import say, suggest
from solvent_experiments.instruments.adequacy import tables
from solvent_experiments.instruments.adequacy.hook import hook
from solvent_experiments.instruments.adequacy.incident import incident
from solvent_experiments.instruments.adequacy.options import (
    SCORES,
    By,
    Incidents,
    JudgeOptions,
    Out,
    Reason,
    ResponsesFile,
    Scores,
    person,
)
from solvent_experiments.instruments.options import Quiet, grouped
from solvent_experiments.instruments.outputs import Output, require_outputs, require_place
from solvent_experiments.instruments.terminal import progress, show_table

if TYPE_CHECKING:
    from solvent.adequacy.comparison import Comparison
    from solvent.adequacy.responses import Responses
    from solvent.adequacy.scores import ScoreRecord
    from solvent.adequacy.scoring import Scored

__all__ = ["app"]

FAILED = 1
THRESHOLDS = "solvent.adequacy.thresholds.v2"
RATERS = "solvent.adequacy.raters.v1"
PATTERNS = "solvent.adequacy.patterns.v1"
EVALUATION = "solvent.adequacy.evaluation.v1"
DRIFT = "solvent.adequacy.drift.v1"

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Compare the confidence of responses with the evidence gathered for them.

- `solvent adequacy score session.jsonl`  scores the responses of a session or of a file from 0 (fits the evidence)
  to 3, into scores.jsonl

- `solvent adequacy label responses.jsonl --by NAME`  asks you for your scores

- `solvent adequacy thresholds responses.jsonl`  learns from 50 or more labels, and compares the raters

- `solvent adequacy patterns`  finds sequences of tools that precede failures

- `solvent adequacy incident responses.jsonl --id ID`  logs a response that was wrong

- `solvent adequacy hook`  judges one response on standard input, or stays and answers at a socket

- `solvent adequacy drift`  tracks the scores, and estimates which corrections helped

- `solvent adequacy evaluate labelled.jsonl`  compares the heuristic with labels and with plain counts

""",
)


app.command()(incident)
app.command()(hook)


@app.callback(invoke_without_command=True)
def adequacy(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
@grouped
def score(
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="File to append the scores to.")
    ] = SCORES,
    shadow: Annotated[
        bool,
        typer.Option("--shadow/--act", help="Only log the scores, or end with exit code 1 if one is 3."),
    ] = True,
    show: Annotated[int, typer.Option(min=0, help="Responses in the table, the worst first.")] = 20,
    judging: JudgeOptions,
    responses: ResponsesFile,
    quiet: Quiet = False,
) -> None:
    """Score responses with the heuristic, and with a judge where one is given; append to `scores.jsonl`.

    A file may be scored again: the last line of an id counts. With `--act` the score that counts is a person's
    in the file (`epad`), else the judge's, else the heuristic's.

    Examples:

    - `solvent adequacy score responses.jsonl`

    - `solvent adequacy score responses.jsonl --judge-url http://127.0.0.1:8000/v1 --judge-model small --act`
    """
    from solvent.adequacy.decisions import read_triggers
    from solvent.adequacy.judge import EndpointError
    from solvent.adequacy.scoring import Judged, ask_judge, known_ids, score_responses

    judge = judging.judge()
    triggers = [] if judging.triggers is None else read_triggers(judging.triggers)
    read = _read(responses, out)
    again, judged = known_ids(out, read), Judged()
    records: list[ScoreRecord] = []
    worst: list[Scored] = []
    with progress("score", quiet=quiet, unit="responses") as told:
        count = len(read.ids)
        told("at work", 0, count)
        for batch in score_responses(read.each(), out, shadow=shadow, triggers=triggers):
            done = len(records)
            if judge is not None:
                only, jobs = judging.judge_escalated, judging.judge_jobs
                update = partial(_on, told, done, count)
                ask_judge(batch, out, judge, judged, escalated_only=only, jobs=jobs, on_progress=update)
            records += [one.record for one in batch]
            worst = sorted([*worst, *batch], key=lambda one: -one.adequacy.score)[:show]
            told("at work", len(records), count)
    if show:
        show_table(tables.scores_table(worst, show, judged=judge is not None))
        if len(records) > show:
            say(f"{show:,} of {len(records):,}, the worst first (--show)")
    show_table(tables.distribution_table(records))
    if judging.triggers is not None:
        say(tables.trigger_line(records, len(triggers)))
    if judge is None:
        say("judge: none (--judge-url); the heuristic alone")
    else:
        _say(tables.judge_lines(judged, judge.budget.called))
    say(f"written: {out}" + (f" ({again:,} had scores before; the later count)" if again else ""))
    if isinstance(judged.stopped, EndpointError):
        raise judged.stopped
    suggest(f"`solvent adequacy label {shlex.quote(str(responses.file))}` asks for your own scores.")
    if not shadow:
        threes = sum(record.epad.in_force == 3 for record in records)
        say(f"acting: {threes:,} of {len(records):,} responses score 3")
        if threes:
            raise typer.Exit(FAILED)


@app.command()
@grouped
def label(
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="File to append the labels to.")
    ] = SCORES,
    sya: Annotated[
        bool, typer.Option("--sya", help="Ask for SyA as well, where the query is known.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of a random order.  [default: the file's order]")
    ] = None,
    most: Annotated[int, typer.Option("--most", min=0, help="Responses in this session; 0: all.")] = 0,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who labels: a person's name.")],
    reason: Annotated[
        str | None,
        typer.Option("--reason", metavar="TEXT", help="Reason, kept with each label of this session."),
    ] = None,
    responses: ResponsesFile,
) -> None:
    """Label responses by hand: query, tool log and response are shown, one key is a label.

    0 to 3 label, s skips, u goes back, q quits. The heuristic's score is not shown before yours. Each label is appended
    at once, with your name; the same command continues with the responses that you have not labelled. Labels of others
    stay. `solvent desk --responses FILE` asks the same on a page.

    Example: `solvent adequacy label responses.jsonl --by "J. Doe" --seed 1`
    """
    from solvent.adequacy.scores import MOST_NAME, MOST_REASON
    from solvent.adequacy.scoring import known_ids
    from solvent_experiments.instruments.adequacy import labelling

    by, reason = by.strip(), None if reason is None else reason.strip()
    for option, text, longest in (("--by", by, MOST_NAME), ("--reason", reason, MOST_REASON)):
        if text is not None and not 0 < len(text) <= longest:
            raise ConfigError(f"{option}: got {text!r:.60}; allowed: a text of 1 to {longest:,} characters")
    labelling.require_terminal()
    read = _read(responses, out)
    known_ids(out, read)
    labelled = labelling.labelled_ids(out, by, sya=sya)
    left = [response for response in read.each() if response.id not in labelled]
    if seed is not None:
        random.Random(seed).shuffle(left)
    if there := len(read.ids) - len(left):
        say(f"{there:,} of {len(read.ids):,} have a label already")
    shown = left[:most] if most else left
    session = labelling.label_responses(shown, out, by=by, reason=reason, sya=sya)
    count = len(session.labelled)
    say(
        f"labelled {count:,}, skipped {session.skipped:,}, left {len(left) - count:,} of {len(read.ids):,}"
        + (f"; written: {out}" if count else "")
    )
    suggest(f"`solvent adequacy thresholds {shlex.quote(str(responses.file))}` compares labels and scores.")


@app.command()
@grouped
def thresholds(
    *,
    scores: Scores = SCORES,
    incidents: Incidents = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and the bootstrap.")] = 0,
    out: Out = None,
    responses: ResponsesFile,
) -> None:
    """Compare the raters, and learn cut points from 50 or more labelled responses.

    Heuristic and judge are compared even without labels, and two people on what both labelled. Labels are those of
    `solvent adequacy label` and of the desk in the file of scores, else `epad` in the responses themselves. One half
    chooses, with the incidents, and the other half evaluates the choice. The command changes nothing: a person may
    adopt the cut points.

    Examples:

    - `solvent adequacy thresholds responses.jsonl`

    - `solvent adequacy thresholds responses.jsonl --incidents incidents.jsonl --out thresholds.json`
    """
    from solvent.adequacy.comparison import compare
    from solvent.adequacy.fmea import incident_examples
    from solvent.adequacy.responses import labelled_examples
    from solvent.adequacy.scores import read_scores
    from solvent.adequacy.thresholds import discover

    raters = None if out is None else out.with_name(f"{out.stem}.raters.json")
    inputs = {"the responses": responses.file, "the scores": scores, "the incidents": incidents}
    require_outputs(inputs, Output("--out", out, THRESHOLDS), Output("--out", raters, RATERS))
    read = responses.read()
    records = read_scores(scores) if scores.exists() else []
    comparison: Comparison | None = None
    if records:
        comparison = compare(records, seed=seed)
        if raters is not None:
            write_json(raters, {"format": RATERS, **comparison.to_dict()})
        show_table(tables.raters_table(comparison))
        _say(tables.raters_lines(comparison))
    else:
        say(f"raters: no scores in {scores}; `solvent adequacy score` writes them")
    # Raters are compared without people's labels too; the rest needs 50 labels.
    examples = labelled_examples(read.each(), records)
    discovery = discover(examples, incidents=incident_examples(incidents, examples), seed=seed)
    if out is not None:  # written first: a pager that reads the tables may close early
        write_json(out, {"format": THRESHOLDS, "discovery": discovery.to_dict()})
    show_table(tables.correlation_table(discovery))
    show_table(tables.cut_table(discovery))
    say(discovery.verdict)
    if out is not None:
        say(f"written: {out}")
    suggest("`solvent adequacy patterns` finds which calls precede failures.")


@app.command()
def patterns(
    scores: Scores = SCORES,
    incidents: Incidents = None,
    rate: Annotated[float, typer.Option(help="Weighted failure rate that a candidate must exceed.")] = 0.7,
    least: Annotated[int, typer.Option(min=1, help="Fewest responses of a pattern.")] = 10,
    longest: Annotated[int, typer.Option(min=1, max=4, help="Most calls in a pattern.")] = 2,
    show: Annotated[int, typer.Option(min=1, help="Patterns in the table.")] = 15,
    out: Out = None,
    accept: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Accept this candidate as a trigger; named as in the table."),
    ] = None,
    by: By = None,
    reason: Reason = None,
    triggers: Annotated[
        Path, typer.Option(metavar="PATH", help="File of triggers that --accept appends to.")
    ] = Path("triggers.jsonl"),
) -> None:
    """Find sequences of tools that precede failures, weighted by severity.

    A response failed if an incident names it or a person gave it EpAd 2 or 3. A pattern that fails over 70 % of the
    time, with a high enough lower bound, is a candidate; a person may accept it as a trigger.

    Examples:

    - `solvent adequacy patterns --incidents incidents.jsonl --out patterns.json`

    - `solvent adequacy patterns --accept "only Grep, then a strong negative" --by "J. Doe" --reason "seen often"`
    """
    from solvent.adequacy import decisions
    from solvent.adequacy.fmea import read_incidents
    from solvent.adequacy.patterns import cases_of, extract, unmatched

    decided = None if accept is None else person("--accept", by, reason)
    inputs = {"the scores": scores, "the incidents": incidents, "the triggers": triggers}
    require_outputs(inputs, Output("--out", out, PATTERNS))
    known = [] if incidents is None else read_incidents(incidents)
    records = _scores_in(scores)
    cases, lost = cases_of(records, known), unmatched(records, known)
    settings: dict[str, Any] = {"rate": rate, "least": least, "longest": longest}
    found = extract(cases, **settings)
    told = tables.pattern_lines(found, cases, len(known), lost)
    if out is not None:
        told_of = {name: getattr(found, name) for name in ("cases", "tried", "base_rate", "floor")}
        counts = {"incidents": len(known), "incidents_unmatched": lost}
        rows = [finding.to_dict() for finding in found.findings]
        write_json(out, {"format": PATTERNS, "settings": settings, **told_of, **counts, "findings": rows})
        told.append(f"written: {out}")
    if accept is not None and decided is not None:
        trigger = decisions.accept(triggers, found.named(accept), *decided)
        told.append(f"accepted: {trigger.pattern}; written: {triggers}")
    show_table(tables.pattern_table(found, show))
    _say(told)
    suggest("`--accept` adopts a pattern as a trigger; `solvent adequacy score --triggers FILE` applies it.")


@app.command()
def drift(
    scores: Scores = SCORES,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Responses in the rolling mean.")] = 6,
    threshold: Annotated[float, typer.Option(help="Mean EpAd that counts as drift.")] = 1.5,
    horizon: Annotated[
        int, typer.Option(min=1, max=1000, help="Responses after a correction that measure its effect.")
    ] = 4,
    show: Annotated[int, typer.Option(min=1, help="Events in the table.")] = 15,
    events: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Events that your application logged, to estimate what helped."),
    ] = None,
    retire: Annotated[str | None, typer.Option(metavar="ID", help="Retire this correction.")] = None,
    by: By = None,
    reason: Reason = None,
    retired: Annotated[Path, typer.Option(metavar="PATH", help="File of retired corrections.")] = Path(
        "retired.jsonl"
    ),
    out: Out = None,
) -> None:
    """Track the rolling mean of EpAd by agent and session, and estimate which corrections helped.

    Without `--events` it only reports where drift would have been found and which correction would have been given.
    With the events of a live `DriftMonitor` it estimates the effect of each correction. Only `--retire` retires one.

    Examples:

    - `solvent adequacy drift --scores scores.jsonl --out drift.json`

    - `solvent adequacy drift --scores runs/lab/ppo/seed-0/gate_verdicts.jsonl`, the lab's own log

    - `solvent adequacy drift --events drifts.jsonl`

    - `solvent adequacy drift --retire hedge_more --by "J. Doe" --reason "does not help"`
    """
    from solvent.adequacy import decisions
    from solvent.adequacy.drift import DriftMonitor, DriftRules, read_drifts
    from solvent.adequacy.fitness import fitness_of_each, series_of
    from solvent.adequacy.scores import merged

    if retire is not None:
        who, why = person("--retire", by, reason)
        with appending(retired):
            decisions.retire(retired, retire, who, why)
        say(f"retired: {retire}; written: {retired}")
        return
    require_outputs({"the scores": scores, "the events": events}, Output("--out", out, DRIFT))
    medium, high = (max(least, threshold) for least in (2.0, 2.5))
    rules = DriftRules(window, threshold, medium, high, horizon, shadow=True)
    records = merged(_scores_in(scores))
    found = DriftMonitor(rules, retired=decisions.retired(retired)).observe_records(records)
    series = series_of(records)
    fitnesses = [] if events is None else fitness_of_each(read_drifts(events), series, horizon)
    if out is not None:
        told = {"rules": asdict(rules), "events": [asdict(one) for one in found]}
        write_json(out, {"format": DRIFT, **told, "fitness": [one.to_dict() for one in fitnesses]})
    if found:
        show_table(tables.drift_table(found, show))
    _say(tables.drift_lines(found, series, rules))
    if fitnesses:
        show_table(tables.fitness_table(fitnesses))
    _say(
        f"proposed for retirement: {one.correction} (--retire, a person decides)"
        for one in fitnesses
        if one.proposed
    )
    if out is not None:
        say(f"written: {out}")
    suggest("`solvent desk` shows the corrections, with what each one changed.")


@app.command()
def evaluate(
    labelled: Annotated[
        Path,
        typer.Argument(metavar="LABELLED", help="Labelled set: JSONL of responses with epad and rationale."),
    ],
    learn: Annotated[
        Path | None,
        typer.Option(
            "--learn",
            metavar="PATH",
            help="Labelled set on which the counts' limits are learnt.  [default: the shipped one for tuning]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    out: Out = None,
) -> None:
    """Compare the heuristic with the labels of a set, and with counting words and counting calls.

    Score a set that is held out only once, when nothing will be tuned any more.

    Example: `solvent adequacy evaluate labelled.jsonl --out evaluation.json`
    """
    from solvent.adequacy.labelled import AGENTS_DEV
    from solvent_experiments.instruments.adequacy.evaluation import evaluate as evaluated
    from solvent_experiments.instruments.adequacy.evaluation import evaluation_table

    learnt_from = AGENTS_DEV if learn is None else learn
    require_outputs({"--learn": learnt_from, "the labels": labelled}, Output("--out", out, EVALUATION))
    found = evaluated(labelled, learnt_from, seed=seed)
    if out is not None:
        write_json(out, {"format": EVALUATION, **found})
    show_table(evaluation_table(found))
    asked = found["escalated"]
    say(
        f"asks for the judge: {asked['asked']:,} of {asked['of']:,} labelled 2 or 3, {asked['asked_below_2']:,} others"
    )
    if out is not None:
        say(f"written: {out}")
    suggest("`solvent adequacy thresholds` learns cut points from these labels.")


def _on(told: Callable[[str, int, int], None], before: int, count: int, done: int) -> None:
    told("at work", before + done, count)


def _scores_in(path: Path) -> list[ScoreRecord]:
    """Return the scores of a file of scores, or of the lab's own log of verdicts."""
    from solvent.adequacy.lab_log import is_lab_log, scores_of_lab
    from solvent.adequacy.scores import read_scores

    return scores_of_lab(path) if is_lab_log(path) else read_scores(path)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)


def _read(responses: ResponsesFile, out: Path) -> Responses:
    """Return the responses. Check that scores can be appended to ``out``."""
    file = responses.file
    if out.is_dir() or (out.exists() and file.exists() and out.samefile(file)):
        what = "a folder" if out.is_dir() else "the responses"
        raise ConfigError(f"--out: {out} is {what}; allowed: a file of scores")
    read = responses.read()
    require_place("--out", out)
    out.parent.mkdir(parents=True, exist_ok=True)
    return read
