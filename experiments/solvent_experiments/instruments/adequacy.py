"""``solvent adequacy``: score responses, ask a judge, compare with labels, watch drift, learn from failures."""

from __future__ import annotations

import functools
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from solvent.files import (
    LONGEST_LINE,
    append_records,
    first_problem,
    read_input,
    read_records,
    strict_json,
    write_json,
)
from solvent_experiments.config import ConfigError
from solvent_experiments.console import Progress, complain, new_console, one_line, say, suggest
from solvent_experiments.table import Table, show_table

if TYPE_CHECKING:
    from pydantic import BaseModel

    from solvent.adequacy.formats import Turn
    from solvent.adequacy.heuristic import Adequacy
    from solvent.adequacy.hook import Log
    from solvent.adequacy.records import Correction, Limits, ScoreRecord

    R = TypeVar("R", bound=BaseModel)

__all__ = ["SCORES", "app"]

FAILED = 1
KEY_VARIABLE = "SOLVENT_JUDGE_KEY"
SCORES = Path("scores.jsonl")
CORRECTIONS, DRIFTS, GIVEN, INCIDENTS = (
    f"{name}.jsonl" for name in ("corrections", "drifts", "given", "incidents")
)
TAIL = 2**20
"""Bytes that the hook reads of a log, from its end."""

app = typer.Typer(
    no_args_is_help=True, help="Compare the confidence of responses with the evidence gathered for them."
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Transcript of a session, or lines of responses.")]
Scores = Annotated[
    Path, typer.Option("--scores", "--out", metavar="PATH", help="File of scores; others go beside it.")
]
Id = Annotated[str, typer.Option("--id", metavar="ID", help="Id of the response, as `score` shows it.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Your name.")]
Text = Annotated[str, typer.Option(metavar="TEXT", help="One sentence.")]
Act = Annotated[bool, typer.Option("--act", help="Act on the scores; otherwise they are only logged.")]
Adopted = Annotated[
    Path | None, typer.Option("--limits", metavar="FILE", help="Limits that `thresholds --out` wrote.")
]
Label = typer.Option(min=0, max=3, help="0 (best) to 3.")


@app.command()
def score(
    file: File,
    out: Annotated[Path | None, typer.Option(metavar="PATH", help="File to append to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per turn.")] = False,
    limits: Adopted = None,
) -> None:
    """Score the response of each turn against the calls of its session; append to scores.jsonl.

    A turn with calls that were not understood is unread and has no score. With `--json` nothing is appended unless
    `--out` says where.

    Example: `solvent adequacy score session.jsonl`
    """
    from solvent.adequacy.records import record_of

    target = out or SCORES
    heuristic = _scoring(target, limits)
    scored = [(turn, None if turn.unread else heuristic(turn)) for turn in _turns(file)]
    if out or not as_json:
        append_records(target, (record_of(turn, adequacy) for turn, adequacy in scored if adequacy))
    if as_json:
        for turn, adequacy in scored:
            typer.echo(json.dumps(_row(turn, adequacy)))
        return
    _show_scores(scored)
    say(f"written: {target}")
    option = "" if target == SCORES else f"--scores {shlex.quote(str(target))}"
    suggest("`solvent adequacy label --id ID --epad 0 --by NAME` adds your own score.", option)


@app.command()
def hook(
    act: Act = False,
    scores: Scores = SCORES,
    limits: Adopted = None,
    install: Annotated[
        str,
        typer.Option(metavar="CLIENT", help="Print a client's settings entry; any other name lists them."),
    ] = "",
) -> None:
    """Judge the answer in a client's hook payload on standard input; log its score; print the client's decision.

    With `--act` an answer that marks contradict is stopped, and one that scores 2 or 3 is followed by a correction
    with the agent's next turn. An error of the hook itself ends with exit code 1, which stops nothing.

    Example: `solvent adequacy hook --install claude-code`
    """
    from solvent.adequacy.hook import judge_payload
    from solvent.adequacy.records import record_of

    if install:
        _show_settings(install, act=act)
        return
    try:
        cuts, payload = _cuts(limits), sys.stdin.buffer.read(LONGEST_LINE)
        decision = judge_payload(payload, act=act, log=_log(scores), cuts=cuts)
    except (OSError, ValueError) as error:
        complain(f"no verdict: {error!s:.500}")
        raise typer.Exit(FAILED) from None
    output = decision.output
    try:
        if decision.turn and decision.adequacy:
            fields = {"shadow": not act, "session": decision.session, "stopped": decision.stopped}
            append_records(scores, [record_of(decision.turn, decision.adequacy, **fields)])
        if decision.given:
            append_records(scores.with_name(GIVEN), [decision.given])
    except (OSError, ValueError) as error:
        # Without a log nothing keeps a second stop from following the first.
        why = getattr(error, "strerror", None) or error
        complain(f"{scores}: not logged, so nothing is stopped, {why}")
        output = json.dumps({"verdict": decision.verdict}) if decision.verdict else ""
    if decision.message:
        complain(decision.message)
    if output:
        typer.echo(output)


@app.command()
def judge(
    file: File,
    url: Annotated[str, typer.Option(help=f"Address up to /chat/completions; its key: {KEY_VARIABLE}.")],
    model: Annotated[str, typer.Option(help="Name of the model.")],
    escalated: Annotated[bool, typer.Option("--escalated", help="Ask only where `score` does.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ignore cached judgements.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds for a request.")] = 30.0,
    scores: Scores = SCORES,
    limits: Adopted = None,
) -> None:
    """Ask a language model for EpAd and SyA of each turn; append its scores beside the heuristic's.

    The heuristic's are those of `score` with the same `--limits`.

    Example: `solvent adequacy judge session.jsonl --url http://127.0.0.1:8000/v1 --model small --escalated`
    """
    from solvent.adequacy.records import Ratings, record_of
    from solvent.chat import ChatError, EndpointError

    heuristic, asked = _scoring(scores, limits), _judge(url, model, timeout, fresh=fresh)
    for turn in _turns(file):
        adequacy = heuristic(turn)
        if turn.unread or (escalated and not adequacy.escalate):
            continue
        try:
            answer = asked.judge(turn.response, turn.calls, turn.query)
        except EndpointError:
            raise
        except ChatError as error:
            complain(f"{turn.id}: {error}")
            continue
        record = record_of(turn, adequacy, sya=Ratings(judge=answer.sya), reason=answer.reason[:1000])
        epad = record.epad.model_copy(update={"judge": answer.epad})
        append_records(scores, [record.model_copy(update={"epad": epad})])
        say(f"{answer.epad} (heuristic {adequacy.score})  {turn.id}  {one_line(answer.reason)}")
    say(f"{asked.client.asked:,} requests; written: {scores}")
    suggest("`solvent adequacy agree` compares judge, heuristic and people.")


@app.command()
def label(
    name: Id,
    epad: Annotated[int, Label],
    by: By,
    sya: Annotated[int | None, Label] = None,
    reason: Text = "",
    scores: Scores = SCORES,
) -> None:
    """Append your own score of a response. `solvent desk` does the same on a page.

    Example: `solvent adequacy label --id r1 --epad 3 --by "J. Doe"`
    """
    from solvent.adequacy.records import labelled

    _require_person(by)
    record = _named(name, _read_scores(scores), scores)
    append_records(scores, [labelled(record, epad=epad, sya=sya, by=by, reason=reason)])
    say(f"written: {scores}")
    suggest("`solvent adequacy agree` compares judge, heuristic and people.")


@app.command()
def agree(
    labels: Annotated[list[Path] | None, typer.Argument(help="Responses with a label, `epad`.")] = None,
    scores: Scores = SCORES,
) -> None:
    """Compare heuristic, judge and a rule of three lines with people's labels of the same responses.

    Without files the labels are those of the scores. The last row is the rule that reads no word: 3 without a call, 2
    after one, else 0. `gain` is how much better than it a rater agrees.

    Example: `solvent adequacy agree labelled.jsonl`
    """
    from solvent.adequacy.agreement import Labelled, agreement, ratings_of

    rows: list[Any] = [row for path in labels or () for row in read_records(path, Labelled)]
    ratings, truth = ratings_of(rows if labels else _read_scores(scores))
    if len(set(truth)) < 2:
        raise ConfigError(
            f"labels: got {len(truth)} of {len(set(truth))} classes; allowed: 2 or more, of two"
        )
    table = [
        (row.rater, f"{row.responses:,}", str(row.kappa), str(row.gain)) for row in agreement(ratings, truth)
    ]
    show_table(Table(("rater", "responses", "kappa", "gain"), tuple(table)))
    suggest(
        "`solvent adequacy thresholds LABELS --out limits.json` learns limits; `score --limits` adopts them."
    )


@app.command()
def thresholds(
    labels: Annotated[Path, typer.Argument(help="Responses with a label, `epad`.")],
    judge: Annotated[
        str, typer.Option("--judge", metavar="URL", help="Measure a judge at this endpoint.")
    ] = "",
    model: Annotated[str, typer.Option(help="Name of the judge's model.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds for a request.")] = 30.0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write what the labels favour.")] = None,
) -> None:
    """Learn limits of evidence from 50 labels or more, and measure a judge beside the heuristic.

    Nothing is changed: `score`, `judge`, `hook` and `drift` adopt the written file with `--limits`.

    Example: `solvent adequacy thresholds labelled.jsonl --judge http://127.0.0.1:8123/v1 --model small`
    """
    from solvent.adequacy.agreement import Labelled, discover

    examples = list(read_records(labels, Labelled))
    judged = _judged(examples, judge, model, timeout) if judge else []
    result = discover(examples, judged)
    correlations = ", ".join(f"{name} {value:.2f}" for name, value in result.correlations.items())
    rows = [
        ("labels", f"{len(examples):,}"),
        ("rank correlation", correlations),
        ("kappa, shipped limits", str(result.shipped)),
        ("kappa, best limits {}, {}".format(*result.best), str(result.chosen)),
        ("difference", str(result.difference)),
        ("favoured limits", "{}, {}".format(*result.limits.cuts)),
    ]
    if result.judge_minus_heuristic:
        answers = sum(value is not None for value in judged)
        rows.append((f"judge minus heuristic, {answers:,} answers", str(result.judge_minus_heuristic)))
    rows.append(("favoured for drift", result.limits.rater))
    show_table(Table(("", "value"), tuple(rows), left=("value",), wrapped=("value",)))
    if out:
        write_json(out, result.limits.model_dump(mode="json"))
        say(f"written: {out}")
    suggest(
        f"`solvent adequacy score FILE --limits {shlex.quote(str(out or 'limits.json'))}` adopts the limits."
    )


@app.command()
def drift(
    scores: Scores = SCORES,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Responses in the rolling mean.")] = 6,
    threshold: Annotated[float, typer.Option(min=0.0, max=3.0, help="Mean EpAd that is drift.")] = 1.5,
    limits: Adopted = None,
) -> None:
    """Find drift, a high rolling mean of EpAd, in each session, and show the corrections.

    New events are appended to drifts.jsonl; existing ones are left unchanged.

    Example: `solvent adequacy drift --scores scores.jsonl`
    """
    from solvent.adequacy.drift import DriftMonitor, follow
    from solvent.adequacy.records import Given

    adopted = _limits(limits)
    monitor = DriftMonitor(
        window=window,
        threshold=threshold,
        learned=_learned(scores),
        rater=adopted.rater if adopted else "heuristic",
        given={row.sha256 for row in read_records(scores.with_name(GIVEN), Given, missing_ok=True)},
    )
    events = follow(monitor, _read_scores(scores), scores.with_name(DRIFTS))
    rows = [(event.response, f"{event.mean:.2f}", event.severity, event.rule, event.text) for event in events]
    headings = ("response", "mean", "severity", "words/evidence", "correction")
    show_table(Table(headings, tuple(rows), left=headings[2:], wrapped=headings[-1:]))
    say(f"{len(rows):,} events; written: {scores.with_name(DRIFTS)}")
    suggest("`solvent adequacy incident FILE --id ID ...` logs a failure and refines its correction.")


@app.command()
def incident(
    file: File,
    name: Id,
    severity: Annotated[int, typer.Option(min=1, max=10, help="How bad, 1 to 10; 8: somebody acted on it.")],
    occurrence: Annotated[int, typer.Option(min=1, max=10, help="How often, 1 to 10.")],
    detectability: Annotated[int, typer.Option(min=1, max=10, help="How hard to notice, 1 to 10.")],
    description: Text,
    by: By,
    contradicted: Annotated[
        bool, typer.Option("--contradicted", help="The calls said the opposite.")
    ] = False,
    correction: Annotated[str, typer.Option(metavar="TEXT", help="What to tell the agent next time.")] = "",
    scores: Scores = SCORES,
) -> None:
    """Log a response that was wrong, with its ranks, and refine the correction for its kind.

    Example: `solvent adequacy incident session.jsonl --id r1 --severity 9 --occurrence 4 --detectability 7
    --description "The client does retry" --by "J. Doe"`
    """
    from pydantic import ValidationError

    from solvent.adequacy.records import Incident, refined, rows_of

    _require_person(by)
    turn = _named(name, _turns(file), file)
    texts = {"description": description, "query": turn.query, "response": turn.response, "reported_by": by}
    ranks = {"severity": severity, "occurrence": occurrence, "detectability": detectability}
    facts = {"id": name, "tool_calls": rows_of(turn.calls), "contradicted": contradicted}
    try:
        failure = Incident.model_validate({**facts, **ranks, **texts})
    except ValidationError as error:
        raise ConfigError(first_problem(error)) from None
    learned = refined(failure, _learned(scores), correction)
    append_records(scores.with_name(INCIDENTS), [failure])
    append_records(scores.with_name(CORRECTIONS), [learned])
    example = "not an example" if failure.label is None else f"EpAd {failure.label}"
    say(f"RPN {failure.rpn}, {failure.rule}, {example}")
    say(f"from now on: {learned.text}")
    say(f"written: {scores.with_name(INCIDENTS)}, {scores.with_name(CORRECTIONS)}")
    suggest("`solvent adequacy patterns` finds what precedes failures.")


@app.command()
def patterns(
    scores: Scores = SCORES,
    accept: Annotated[str, typer.Option(metavar="PATTERN", help="Make this candidate a trigger.")] = "",
    by: By = "",
    reason: Text = "",
) -> None:
    """Find tool patterns that precede failures, weighted by severity; over 70 % one is a candidate for a trigger.

    Example: `solvent adequacy patterns --accept "only Grep" --by "J. Doe" --reason "seen often"`
    """
    from solvent.adequacy.patterns import TRIGGERS, accepted, find_patterns
    from solvent.adequacy.records import Incident

    incidents = read_records(scores.with_name(INCIDENTS), Incident, missing_ok=True)
    results = find_patterns(_read_scores(scores), incidents)
    if accept:
        append_records(scores.with_name(TRIGGERS), [accepted(results, accept, by, reason)])
        say(f"written: {scores.with_name(TRIGGERS)}")
    headings = ("pattern", "responses", "failed", "by severity", "lower bound", "candidate")
    counts = [(one.text, f"{one.count:,}", f"{one.failures:,}") for one in results]
    shares = [(f"{one.rate:.0%}", f"{one.bound:.0%}", "yes" if one.candidate else "") for one in results]
    rows = tuple(count + share for count, share in zip(counts, shares, strict=True))
    show_table(Table(headings, rows[:15]))
    suggest("`--accept` makes a candidate a trigger, which `solvent adequacy score FILE` applies.")


# -- what the commands share


def _turns(file: Path) -> tuple[Turn, ...]:
    """Return the turns of a transcript, and say what was not read."""
    from solvent.adequacy.formats import read_turns

    reading = read_turns(file)
    for note in reading.notes:
        complain(note)
    return reading.turns


def _scoring(scores: Path, limits: Path | None) -> Callable[[Turn], Adequacy]:
    """Return the heuristic with the triggers beside the scores and the adopted limits."""
    from solvent.adequacy.patterns import score_turn, triggers_beside

    return functools.partial(score_turn, triggers=triggers_beside(scores), cuts=_cuts(limits))


def _cuts(limits: Path | None) -> tuple[int, int]:
    """Return the limits of evidence, the adopted or the shipped ones."""
    from solvent.adequacy.heuristic import CUTS

    adopted = _limits(limits)
    return adopted.cuts if adopted else CUTS


def _limits(path: Path | None) -> Limits | None:
    from pydantic import ValidationError

    from solvent.adequacy.records import Limits

    if path is None:
        return None
    try:
        return Limits.model_validate(strict_json(read_input(path, LONGEST_LINE)))
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_problem(error)}") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not read, {error!s:.80}; allowed: a file of `thresholds --out`") from None


def _judge(url: str, model: str, timeout: float, *, fresh: bool = False) -> Any:
    from solvent.adequacy.judge import Judge
    from solvent.chat import ChatSettings
    from solvent.files import cache_folder

    key = os.environ.get(KEY_VARIABLE, "").strip() or None
    settings = ChatSettings(url, model, key, timeout=timeout)
    return Judge(settings, cache_folder() / "judgements", fresh=fresh)


def _judged(examples: list[Any], url: str, model: str, timeout: float) -> list[int | None]:
    """Return a judge's scores of labelled responses, None where its answer is not a judgement."""
    from solvent.adequacy.calls import calls_of
    from solvent.chat import ChatError, EndpointError

    client = _judge(url, model, timeout)
    scores: list[int | None] = []
    with Progress(new_console(stderr=True)) as progress:
        for place, example in enumerate(examples, start=1):
            try:
                calls = calls_of(example.tool_calls)
                scores.append(client.judge(example.response, calls, example.query or "").epad)
            except EndpointError:
                raise
            except ChatError:
                scores.append(None)
            progress.update(model, place / len(examples), f"{place:,} of {len(examples):,} responses judged")
    return scores


def _log(scores: Path) -> Log:
    """Return what the files beside the scores say; of long files, their last lines."""
    from solvent.adequacy.hook import Log
    from solvent.adequacy.patterns import triggers_beside
    from solvent.adequacy.records import Given, ScoreRecord

    def last(session: str) -> ScoreRecord | None:
        records = _last_records(scores, ScoreRecord)
        return next((record for record in reversed(records) if record.session == session), None)

    given = frozenset(row.sha256 for row in _last_records(scores.with_name(GIVEN), Given))
    return Log(last, given, triggers_beside(scores), _learned(scores))


def _last_records(path: Path, kind: type[R]) -> list[R]:
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        lines = file.read().split(b"\n")[1 if path.stat().st_size > TAIL else 0 :]
    return [kind.model_validate(strict_json(line)) for line in lines if line.strip()]


def _show_settings(client: str, *, act: bool) -> None:
    from solvent.adequacy.hook import CLIENTS, settings_for

    if client not in CLIENTS:
        raise ConfigError(f"--install: got {client!r:.40}; allowed: {', '.join(CLIENTS)}")
    path, entry = settings_for(client, act=act)
    typer.echo(entry)
    say(f"Add this to {path}; what the file has already stays.", stderr=True)
    if program := shutil.which("solvent"):
        say(f"Where the client does not find `solvent`, write {program}.", stderr=True)
    if client in ("cursor", "copilot"):
        note = "This client has no event that adds to a prompt: corrections are logged and can't be given."
        say(note, stderr=True)


def _read_scores(path: Path) -> list[ScoreRecord]:
    from solvent.adequacy.records import ScoreRecord, merged

    if not (records := merged(read_records(path, ScoreRecord))):
        raise ConfigError(f"{path}: holds no score; allowed: a file that `solvent adequacy score` wrote")
    return records


def _learned(scores: Path) -> list[Correction]:
    from solvent.adequacy.records import Correction

    return list(read_records(scores.with_name(CORRECTIONS), Correction, missing_ok=True))


def _named(name: str, among: Iterable[Any], file: Path) -> Any:
    item = next((one for one in among if one.id == name), None)
    if item is None:
        raise ConfigError(f"--id: got {name!r:.60}; allowed: an id in {file}")
    return item


def _require_person(by: str) -> None:
    if not by.strip():
        raise ConfigError(f"--by: got {by!r:.60}; allowed: the name of a person")


def _row(turn: Turn, adequacy: Adequacy | None) -> dict[str, Any]:
    calls = [{"name": call.name, "result": call.result if call.recorded else None} for call in turn.calls]
    row = {"id": turn.id, "query": turn.query, "response": turn.response, "calls": calls}
    verdict = (
        (adequacy.score, adequacy.rule, adequacy.escalate, adequacy.certain, adequacy.signals)
        if adequacy
        else (None, "unread", True, False, ())
    )
    keys = ("score", "rule", "escalate", "certain", "signals")
    return row | {"unread": turn.unread} | dict(zip(keys, verdict, strict=True))


def _show_scores(scored: list[tuple[Turn, Adequacy | None]]) -> None:
    rows = [
        (
            turn.id,
            str(adequacy.score),
            adequacy.rule,
            "judge" if adequacy.escalate else "",
            one_line(adequacy.sentence),
        )
        if adequacy
        else (turn.id, "", "unread", "judge", one_line(turn.response))
        for turn, adequacy in sorted(scored, key=lambda one: -one[1].score if one[1] else 0)
    ]
    caption = ", ".join(f"{sum(row[1] == str(value) for row in rows)} score {value}" for value in range(4))
    headings = ("id", "EpAd", "words/evidence", "asks for", "what decided")
    show_table(Table(headings, tuple(rows[:20]), caption=caption, left=headings[2:], wrapped=headings[-1:]))
