"""``solvent adequacy``: score responses, ask a judge, compare with labels, watch drift, learn from failures."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from solvent.files import LONGEST_LINE, append_records, read_records
from solvent_experiments.config import ConfigError
from solvent_experiments.console import complain, one_line, say, suggest
from solvent_experiments.table import Table, show_table

if TYPE_CHECKING:
    from pydantic import BaseModel

    from solvent.adequacy.formats import Turn
    from solvent.adequacy.heuristic import Adequacy
    from solvent.adequacy.records import Correction, ScoreRecord

    R = TypeVar("R", bound=BaseModel)

__all__ = ["SCORES", "app"]

FAILED = 1
KEY_VARIABLE = "SOLVENT_JUDGE_KEY"
SCORES = Path("scores.jsonl")
CORRECTIONS, DRIFTS, INCIDENTS, TRIGGERS = (
    f"{name}.jsonl" for name in ("corrections", "drifts", "incidents", "triggers")
)

app = typer.Typer(
    no_args_is_help=True, help="Compare the confidence of responses with the evidence gathered for them."
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Transcript of a session, or lines of responses.")]
Scores = Annotated[
    Path, typer.Option("--scores", "--out", metavar="PATH", help="File of scores; others go beside it.")
]
Id = Annotated[str, typer.Option("--id", metavar="ID", help="Id of the response, as `score` shows it.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Name of the person who says so.")]
Text = Annotated[str, typer.Option(metavar="TEXT", help="In a sentence.")]
Act = Annotated[bool, typer.Option("--act", help="Act on the scores; otherwise they are only logged.")]
Label = typer.Option(min=0, max=3, help="0 (best) to 3.")
Rank = typer.Option(min=1, max=10, help="How bad (8: acted on), how often, how hard to notice, 1 to 10.")


@app.command()
def score(
    file: File,
    out: Annotated[Path | None, typer.Option(metavar="PATH", help="File to append to.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per turn.")] = False,
) -> None:
    """Score the response of each turn against the calls of that turn; append to scores.jsonl.

    A turn with calls that were not understood is unread and has no score. With `--json` nothing is appended unless
    `--out` says where.

    Example: `solvent adequacy score session.jsonl`
    """
    from solvent.adequacy.patterns import Trigger

    target = out or SCORES
    triggers = _beside(target, TRIGGERS, Trigger)
    scored = [(turn, None if turn.unread else _scored(turn, triggers)) for turn in _turns(file)]
    if out or not as_json:
        append_records(target, (_record(turn, found) for turn, found in scored if found))
    if as_json:
        for turn, found in scored:
            typer.echo(json.dumps(_told(turn, found)))
        return
    _show_scores(scored)
    say(f"written: {target}")
    option = "" if target == SCORES else f"--scores {shlex.quote(str(target))}"
    suggest("`solvent adequacy label --id ID --epad 0 --by NAME` adds your own score.", option)


@app.command()
def hook(act: Act = False, scores: Scores = SCORES) -> None:
    """Judge the answer in a client's hook payload on standard input; log its score; print the client's decision.

    With `--act` an answer that scores 3 is stopped, in the form that Claude Code, Codex, Gemini CLI or Cursor
    understands. An error of the hook itself ends with exit code 1, which stops nothing.

    Example: `solvent adequacy hook --act < payload.json`
    """
    from solvent.adequacy.hook import judge_payload
    from solvent.adequacy.patterns import Trigger

    try:
        triggers, payload = _beside(scores, TRIGGERS, Trigger), sys.stdin.buffer.read(LONGEST_LINE)
        decision = judge_payload(payload, act=act, triggers=triggers, learned=_learned(scores))
    except (OSError, ValueError) as error:
        complain(f"no verdict: {error!s:.500}")
        raise typer.Exit(FAILED) from None
    if decision.turn and decision.found:
        try:
            append_records(scores, [_record(decision.turn, decision.found, shadow=not act)])
        except OSError as error:  # the verdict holds all the same
            complain(f"{scores}: not logged, {error.strerror or error}")
    if decision.message:
        complain(decision.message)
    if decision.output:
        typer.echo(decision.output)


@app.command()
def judge(
    file: File,
    url: Annotated[str, typer.Option(help=f"Address up to /chat/completions; its key: {KEY_VARIABLE}.")],
    model: Annotated[str, typer.Option(help="Name of the model.")],
    escalated: Annotated[bool, typer.Option("--escalated", help="Ask only where `score` does.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again, whatever the cache holds.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds for a request.")] = 30.0,
    scores: Scores = SCORES,
) -> None:
    """Ask a language model for EpAd and SyA of each turn; append its scores beside the heuristic's.

    Example: `solvent adequacy judge session.jsonl --url http://127.0.0.1:8000/v1 --model small --escalated`
    """
    from solvent.adequacy.judge import Judge
    from solvent.adequacy.records import Ratings
    from solvent.chat import ChatError, ChatSettings, EndpointError
    from solvent.files import cache_folder

    key = os.environ.get(KEY_VARIABLE, "").strip() or None
    settings = ChatSettings(url, model, key, timeout=timeout)
    asked = Judge(settings, cache_folder() / "judgements", fresh=fresh)
    for turn in _turns(file):
        found = _scored(turn)
        if turn.unread or (escalated and not found.escalate):
            continue
        try:
            answer = asked.judge(turn.response, turn.calls, turn.query)
        except EndpointError:
            raise
        except ChatError as error:
            complain(f"{turn.id}: {error}")
            continue
        epad, sya = Ratings(heuristic=found.score, judge=answer.epad), Ratings(judge=answer.sya)
        append_records(scores, [_record(turn, found, epad=epad, sya=sya, reason=answer.reason[:1000])])
        say(f"{answer.epad} (heuristic {found.score})  {turn.id}  {one_line(answer.reason)}")
    say(f"{asked.client.asked:,} requests; written: {scores}")
    suggest("`solvent adequacy thresholds` compares judge, heuristic and people.")


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

    found = _named(name, _read_scores(scores), scores)
    append_records(scores, [labelled(found, epad=epad, sya=sya, by=by, reason=reason)])
    say(f"written: {scores}")
    suggest("`solvent adequacy thresholds` compares judge, heuristic and people.")


@app.command()
def thresholds(
    labels: Annotated[Path | None, typer.Argument(help="Responses with a label, `epad`.")] = None,
    scores: Scores = SCORES,
) -> None:
    """Compare heuristic, judge and people on the same responses; from 50 labels on, learn limits of evidence.

    Nothing is changed: a person may adopt the limits.

    Example: `solvent adequacy thresholds labelled.jsonl`
    """
    from solvent.adequacy.agreement import Labelled, compare, discover

    found = compare(_read_scores(scores)) if labels is None else discover([*read_records(labels, Labelled)])
    rows = [(key, _shown(value)) for key, value in found.items()]
    show_table(Table(("", "value"), tuple(rows), left=("value",), wrapped=("value",)))
    suggest("`solvent adequacy drift` tracks the mean; a person's score counts before the judge's.")


@app.command()
def drift(
    scores: Scores = SCORES,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Responses in the rolling mean.")] = 6,
    threshold: Annotated[float, typer.Option(min=0.0, max=3.0, help="Mean EpAd that is drift.")] = 1.5,
    act: Act = False,
) -> None:
    """Find drift, a high rolling mean of EpAd, in each session, and show the corrections.

    New events are appended to drifts.jsonl; those that it holds stay as they are.

    Example: `solvent adequacy drift --scores scores.jsonl`
    """
    from solvent.adequacy.drift import DriftMonitor, follow

    monitor = DriftMonitor(window=window, threshold=threshold, shadow=not act, learned=_learned(scores))
    found = follow(monitor, _read_scores(scores), scores.with_name(DRIFTS))
    rows = [(one.response, f"{one.mean:.2f}", one.severity, one.rule, one.text) for one in found]
    headings = ("response", "mean", "severity", "words/evidence", "correction")
    show_table(Table(headings, tuple(rows), left=headings[2:], wrapped=headings[-1:]))
    say(f"{len(rows):,} events; written: {scores.with_name(DRIFTS)}")
    suggest("`solvent adequacy incident FILE --id ID ...` logs a failure and refines its correction.")


@app.command()
def incident(
    file: File,
    name: Id,
    severity: Annotated[int, Rank],
    occurrence: Annotated[int, Rank],
    detectability: Annotated[int, Rank],
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
    from solvent.adequacy.records import Incident, refined, rows_of

    turn = _named(name, _turns(file), file)
    texts = {"description": description, "query": turn.query, "response": turn.response, "reported_by": by}
    ranks = {"severity": severity, "occurrence": occurrence, "detectability": detectability}
    said = {"id": name, "tool_calls": rows_of(turn.calls), "contradicted": contradicted}
    found = Incident.model_validate({**said, **ranks, **texts})
    learned = refined(found, _learned(scores), correction)
    append_records(scores.with_name(INCIDENTS), [found])
    append_records(scores.with_name(CORRECTIONS), [learned])
    example = "not an example" if found.label is None else f"EpAd {found.label}"
    say(f"RPN {found.rpn}, {found.rule}, {example}")
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
    from solvent.adequacy.patterns import accepted, find_patterns
    from solvent.adequacy.records import Incident

    found = find_patterns(_read_scores(scores), _beside(scores, INCIDENTS, Incident))
    if accept:
        append_records(scores.with_name(TRIGGERS), [accepted(found, accept, by, reason)])
        say(f"written: {scores.with_name(TRIGGERS)}")
    headings = ("pattern", "responses", "failed", "by severity", "lower bound", "candidate")
    counts = [(one.text, f"{one.count:,}", f"{one.failures:,}") for one in found]
    shares = [(f"{one.rate:.0%}", f"{one.bound:.0%}", "yes" if one.candidate else "") for one in found]
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


def _scored(turn: Turn, triggers: Iterable[Any] = ()) -> Adequacy:
    from solvent.adequacy.heuristic import score
    from solvent.adequacy.patterns import triggered

    return triggered(triggers, turn.calls, score(turn.response, turn.calls, turn.query))


def _record(turn: Turn, found: Adequacy, **fields: Any) -> ScoreRecord:
    from solvent.adequacy.records import record_of

    session = turn.id.rpartition(":")[0]
    return record_of(turn.response, turn.calls, turn.query, found, id=turn.id, session=session, **fields)


def _read_scores(path: Path) -> list[ScoreRecord]:
    from solvent.adequacy.records import ScoreRecord, merged

    if not (found := merged(read_records(path, ScoreRecord))):
        raise ConfigError(f"{path}: holds no score; allowed: a file that `solvent adequacy score` wrote")
    return found


def _beside(scores: Path, name: str, kind: type[R]) -> list[R]:
    """Return the records of a file beside the scores; none if it does not exist."""
    path = scores.with_name(name)
    return list(read_records(path, kind)) if path.exists() else []


def _learned(scores: Path) -> list[Correction]:
    from solvent.adequacy.records import Correction

    return _beside(scores, CORRECTIONS, Correction)


def _named(name: str, among: Iterable[Any], file: Path) -> Any:
    found = next((one for one in among if one.id == name), None)
    if found is None:
        raise ConfigError(f"--id: got {name!r:.60}; allowed: an id in {file}")
    return found


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(one)}" for key, one in value.items())
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _told(turn: Turn, found: Adequacy | None) -> dict[str, Any]:
    calls = [{"name": call.name, "result": call.result if call.recorded else None} for call in turn.calls]
    told = {"id": turn.id, "query": turn.query, "response": turn.response, "calls": calls}
    verdict = (found.score, found.rule, found.escalate) if found else (None, "unread", True)
    return told | {"unread": turn.unread} | dict(zip(("score", "rule", "escalate"), verdict, strict=True))


def _show_scores(scored: list[tuple[Turn, Adequacy | None]]) -> None:
    rows = [
        (turn.id, str(found.score), found.rule, "judge" if found.escalate else "", one_line(found.sentence))
        if found
        else (turn.id, "", "unread", "judge", one_line(turn.response))
        for turn, found in sorted(scored, key=lambda one: -one[1].score if one[1] else 0)
    ]
    caption = ", ".join(f"{sum(row[1] == str(value) for row in rows)} score {value}" for value in range(4))
    headings = ("id", "EpAd", "words/evidence", "asks for", "what decided")
    show_table(Table(headings, tuple(rows[:20]), caption=caption, left=headings[2:], wrapped=headings[-1:]))
