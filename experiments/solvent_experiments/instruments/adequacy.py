"""``solvent adequacy``: score responses, ask a judge, compare with labels, watch drift, learn from failures."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent.files import LONGEST_LINE, append_records, read_records
from solvent_experiments.config import ConfigError
from solvent_experiments.console import complain, say, suggest
from solvent_experiments.instruments.options import json_object
from solvent_experiments.instruments.terminal import one_line, show_table
from solvent_experiments.table import Table

if TYPE_CHECKING:
    from solvent.adequacy.calls import Call
    from solvent.adequacy.heuristic import Adequacy
    from solvent.adequacy.records import Correction, ScoreRecord
    from solvent.adequacy.transcripts import Turn

__all__ = ["SCORES", "app"]

FAILED = 1
KEY_VARIABLE = "SOLVENT_JUDGE_KEY"
SCORES, INCIDENTS, CORRECTIONS = Path("scores.jsonl"), Path("incidents.jsonl"), Path("corrections.jsonl")

app = typer.Typer(
    rich_markup_mode="markdown",
    no_args_is_help=True,
    help="""Compare the confidence of responses with the evidence gathered for them.

- `solvent adequacy score session.jsonl`  scores each turn from 0 (fits the evidence) to 3, into scores.jsonl

- `solvent adequacy hook`  judges one response on standard input, for programs that call hooks

- `solvent adequacy judge session.jsonl --url URL --model NAME`  asks a model

- `solvent adequacy label --id ID --epad 2 --by NAME`  appends your own score

- `solvent adequacy thresholds`  compares heuristic, judge and people

- `solvent adequacy drift`  tracks the mean score and chooses corrections

- `solvent adequacy incident session.jsonl --id ID ...`  logs a response that was wrong, and refines the corrections

- `solvent adequacy patterns`  finds tool patterns that precede failures
""",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Transcript of a session, or lines of responses.")]
Scores = Annotated[Path, typer.Option("--scores", metavar="PATH", help="File of scores.")]
Out = Annotated[Path, typer.Option("--out", metavar="PATH", help="File to append to.")]
Corrections = Annotated[Path, typer.Option(metavar="PATH", help="Corrections that incidents refined.")]
Triggers = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Accepted patterns (`patterns --accept`).")
]
Id = Annotated[str, typer.Option("--id", metavar="ID", help="Id of the response, as `score` shows it.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who says so: a person's name.")]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why.")]
Act = Annotated[bool, typer.Option("--act", help="Act on the scores; else they are only logged.")]
Rank = typer.Option(
    min=1, max=10, help="How bad, how often, how hard to notice: 1 to 10; severity 8: acted on."
)


@app.command()
def score(
    file: File,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="File to append to. [scores.jsonl]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per turn.")] = False,
    act: Act = False,
    triggers: Triggers = None,
) -> None:
    """Score the response of each turn against the calls of that turn; append to scores.jsonl.

    A turn with calls that were not understood is unread and has no score; what was not read is said at the end. With
    `--json` nothing is appended unless `--out` says where. With `--act` the exit code is 1 if a response scores 3.

    Example: `solvent adequacy score session.jsonl`
    """
    turns, notes = _turns(file)
    known = _triggers(triggers)
    scored = [
        (turn, None if turn.unread else _scored(known, turn.response, turn.calls, turn.query))
        for turn in turns
    ]
    target = out or (None if as_json else SCORES)
    if target is not None:
        append_records(target, (_record(turn, found, shadow=not act) for turn, found in scored if found))
    for turn, found in scored if as_json else ():
        typer.echo(json.dumps(_told(turn, found)))
    if not as_json:
        show_table(_score_table(scored))
    for note in notes:
        complain(note)
    if not as_json:
        say(f"written: {target}")
        suggest("`solvent adequacy label --id ID --epad 0 --by NAME` adds your own score.")
    if act and any(found and found.score == 3 for _, found in scored):
        raise typer.Exit(FAILED)


@app.command()
def hook(
    act: Act = False,
    out: Out = SCORES,
    corrections: Corrections = CORRECTIONS,
    triggers: Triggers = None,
) -> None:
    """Judge the answer in a client's hook payload on standard input; log its score; print the client's decision.

    With `--act` an answer that scores 3 is held up, in the form that Claude Code, Codex, Gemini CLI or Cursor
    understands. An error of the hook itself ends with exit code 1, which holds nobody up.

    Example: `solvent adequacy hook --act < payload.json`
    """
    from solvent.adequacy.hook import judge_payload
    from solvent.adequacy.records import correction_for

    def told(found: Adequacy) -> str:
        return correction_for("low", found.rule, _learned(corrections)).text

    try:
        payload = sys.stdin.buffer.read(LONGEST_LINE)
        decision = judge_payload(payload, partial(_scored, _triggers(triggers)), act=act, correction=told)
    except (OSError, ValueError) as error:
        complain(f"{error!s:.500}")
        raise typer.Exit(FAILED) from None
    if decision.turn is not None and decision.verdict:
        try:
            append_records(out, [_record(decision.turn, decision.scored, shadow=not act)])
        except OSError as error:  # the verdict holds all the same
            complain(f"{out}: not logged, {error.strerror or error}")
    if decision.message:
        complain(decision.message)
    if decision.output:
        typer.echo(decision.output)
    raise typer.Exit(decision.exit_code)


@app.command()
def judge(
    file: File,
    url: Annotated[str, typer.Option(help=f"Address before /chat/completions. Its key: {KEY_VARIABLE}.")],
    model: Annotated[str, typer.Option(help="Name of the model.")],
    escalated: Annotated[
        bool, typer.Option("--escalated", help="Ask only where `score` asks for it.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again, whatever the cache holds.")] = False,
    cache: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of judgements.")] = None,
    requests: Annotated[int, typer.Option(min=1, help="Most requests, retries included.")] = 1000,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds for a request.")] = 30.0,
    options: Annotated[str | None, typer.Option(metavar="JSON", help="Further fields of a request.")] = None,
    out: Out = SCORES,
) -> None:
    """Ask a language model for EpAd and SyA of each turn; append its scores beside the heuristic's.

    Example: `solvent adequacy judge session.jsonl --url http://127.0.0.1:8000/v1 --model small --escalated`
    """
    from solvent.adequacy.judge import Judge
    from solvent.adequacy.records import Ratings
    from solvent.chat import ChatError, ChatSettings, EndpointError
    from solvent.files import cache_folder

    key, further = os.environ.get(KEY_VARIABLE, "").strip() or None, json_object("--options", options)
    settings = ChatSettings(url, model, key, timeout=timeout, requests=requests, options=further)
    asked = Judge(settings, cache or cache_folder() / "judgements", fresh=fresh)
    turns, notes = _turns(file)
    for turn in turns:
        found = _scored([], turn.response, turn.calls, turn.query)
        if turn.unread or (escalated and not found.escalate):
            continue
        try:
            answer = asked.judge(turn.response, turn.calls, turn.query)
        except EndpointError:
            raise
        except ChatError as error:
            complain(f"{turn.id}: {error}")
            continue
        ratings = {
            "epad": Ratings(heuristic=found.score, judge=answer.epad),
            "sya": Ratings(judge=answer.sya),
        }
        append_records(out, [_record(turn, found, **ratings, reason=answer.reason[:1000])])
        say(f"{answer.epad} (heuristic {found.score})  {turn.id}  {one_line(answer.reason)}")
    for note in notes:
        complain(note)
    say(f"{asked.client.asked:,} requests; written: {out}")
    suggest("`solvent adequacy thresholds` compares judge, heuristic and people.")


@app.command()
def label(
    name: Id,
    epad: Annotated[int, typer.Option(min=0, max=3, help="0: the confidence fits the evidence.")],
    by: By,
    sya: Annotated[int | None, typer.Option(min=0, max=3, help="Sycophantic agreement.")] = None,
    reason: Reason = "",
    scores: Scores = SCORES,
) -> None:
    """Append your own score of a response. The desk asks the same on a page.

    Example: `solvent adequacy label --id r1 --epad 3 --by "J. Doe"`
    """
    from solvent.adequacy.records import labelled

    found = _named(name, _read_scores(scores), scores)
    append_records(scores, [labelled(found, epad=epad, sya=sya, by=by, reason=reason)])
    say(f"written: {scores}")
    suggest("`solvent adequacy thresholds` compares judge, heuristic and people.")


@app.command()
def thresholds(
    labels: Annotated[
        Path | None, typer.Argument(metavar="[LABELLED]", help="Lines of responses with a label, `epad`.")
    ] = None,
    scores: Scores = SCORES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of split and bootstrap.")] = 0,
) -> None:
    """Compare heuristic, judge and people on the same responses; from 50 labels on, learn limits of evidence.

    Nothing is changed: a person may adopt the limits.

    Examples:

    - `solvent adequacy thresholds --scores scores.jsonl`

    - `solvent adequacy thresholds labelled.jsonl`
    """
    from solvent.adequacy.agreement import Labelled, compare, discover

    if labels is not None:
        found = discover(list(read_records(labels, Labelled)), seed=seed)
    else:
        found = compare(_read_scores(scores), seed=seed)
    show_table(
        Table(
            ("", "value"),
            tuple((key, _shown(value)) for key, value in found.items()),
            left=("value",),
            wrapped=("value",),
        )
    )
    suggest("`solvent adequacy drift` tracks the mean; a person's score counts before the judge's.")


@app.command()
def drift(
    scores: Scores = SCORES,
    events: Annotated[Path, typer.Option(metavar="PATH", help="File of events.")] = Path("drifts.jsonl"),
    corrections: Corrections = CORRECTIONS,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Responses in the rolling mean.")] = 6,
    threshold: Annotated[float, typer.Option(min=0.0, max=3.0, help="Mean EpAd that is drift.")] = 1.5,
    act: Act = False,
) -> None:
    """Find drift, a high rolling mean of EpAd, in each session; show the corrections and the mean after each event.

    New events are appended to drifts.jsonl; those that it holds stay as they are.

    Example: `solvent adequacy drift --scores scores.jsonl`
    """
    from solvent.adequacy.drift import DriftMonitor, follow

    monitor = DriftMonitor(window=window, threshold=threshold, shadow=not act, learned=_learned(corrections))
    found = follow(monitor, _read_scores(scores), events)
    rows = [
        (
            one.response,
            f"{one.mean:.2f}",
            one.severity,
            one.rule,
            "" if after is None else f"{after:.2f}",
            one.text,
        )
        for one, after in found
    ]
    headings = ("response", "mean", "severity", "words/evidence", "mean after", "correction")
    show_table(
        Table(headings, tuple(rows), left=("severity", "words/evidence", "correction"), wrapped=headings[-1:])
    )
    say(f"{len(rows):,} events; written: {events}")
    suggest("`solvent adequacy incident FILE --id ID ...` logs a failure and refines its correction.")


@app.command()
def incident(
    file: File,
    name: Id,
    severity: Annotated[int, Rank],
    occurrence: Annotated[int, Rank],
    detectability: Annotated[int, Rank],
    description: Annotated[str, typer.Option(metavar="TEXT", help="The failure, in a sentence.")],
    by: By,
    contradicted: Annotated[
        bool, typer.Option("--contradicted", help="The calls said the opposite.")
    ] = False,
    correction: Annotated[str, typer.Option(metavar="TEXT", help="What to tell the agent next time.")] = "",
    out: Out = INCIDENTS,
    corrections: Corrections = CORRECTIONS,
) -> None:
    """Log a response that was wrong, with its ranks, and refine the correction for its kind.

    Example: `solvent adequacy incident session.jsonl --id r1 --severity 9 --occurrence 4 --detectability 7
    --description "The client does retry" --by "J. Doe"`
    """
    from solvent.adequacy.records import Incident, refined, rows_of

    turn = _named(name, _turns(file)[0], file)
    ranks = {"severity": severity, "occurrence": occurrence, "detectability": detectability}
    texts = {"description": description, "query": turn.query, "response": turn.response, "reported_by": by}
    calls = rows_of(turn.calls)
    found = Incident.model_validate(
        {"id": name, "tool_calls": calls, "contradicted": contradicted, **ranks, **texts}
    )
    learned = refined(found, _learned(corrections), correction)
    append_records(out, [found])
    append_records(corrections, [learned])
    say(
        f"RPN {found.rpn}, {found.rule}, {'not an example' if found.label is None else f'EpAd {found.label}'}"
    )
    say(f"from now on: {learned.text}")
    say(f"written: {out}, {corrections}")
    suggest(f"`solvent adequacy patterns --incidents {out}` finds what precedes failures.")


@app.command()
def patterns(
    scores: Scores = SCORES,
    incidents: Annotated[Path, typer.Option(metavar="PATH", help="File of incidents.")] = INCIDENTS,
    least: Annotated[int, typer.Option(min=1, help="Fewest responses of a pattern.")] = 10,
    accept: Annotated[str, typer.Option(metavar="PATTERN", help="Make this candidate a trigger.")] = "",
    by: By = "",
    reason: Reason = "",
    triggers: Annotated[Path, typer.Option(metavar="PATH", help="File of triggers.")] = Path(
        "triggers.jsonl"
    ),
) -> None:
    """Find tool patterns that precede failures, weighted by severity; over 70 % one is a candidate for a trigger.

    Examples:

    - `solvent adequacy patterns --incidents incidents.jsonl`

    - `solvent adequacy patterns --accept "only Grep, then a strong negative" --by "J. Doe" --reason "seen often"`
    """
    from solvent.adequacy.patterns import accepted, find_patterns
    from solvent.adequacy.records import Incident

    known = list(read_records(incidents, Incident)) if incidents.exists() else []
    found = find_patterns(_read_scores(scores), known, least=least)
    if accept:
        append_records(triggers, [accepted(found, accept, by, reason)])
        say(f"written: {triggers}")
    rows = [
        (one.text, str(one.count), str(one.failures), f"{one.rate:.0%}", f"{one.bound:.0%}") for one in found
    ]
    marked = [(*row, "yes" if one.candidate else "") for row, one in zip(rows, found, strict=True)]
    show_table(
        Table(
            ("pattern", "responses", "failed", "by severity", "lower bound", "candidate"), tuple(marked[:15])
        )
    )
    suggest("`--accept` makes a candidate a trigger; `solvent adequacy score --triggers FILE` applies it.")


# -- what the commands share -----------------------------------------------------------------------


def _turns(file: Path) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    from solvent.adequacy.transcripts import read_turns

    reading = read_turns(file)
    return reading.turns, reading.notes


def _scored(triggers: Sequence[Any], response: str, calls: Sequence[Call], query: str) -> Adequacy:
    from solvent.adequacy.heuristic import score as scored
    from solvent.adequacy.patterns import triggered

    return triggered(triggers, calls, scored(response, calls, query))


def _record(turn: Turn, found: Adequacy, **fields: Any) -> ScoreRecord:
    from solvent.adequacy.records import record_of

    session = turn.id.rpartition(":")[0]
    return record_of(turn.response, turn.calls, turn.query, found, id=turn.id, session=session, **fields)


def _read_scores(path: Path) -> list[ScoreRecord]:
    from solvent.adequacy.records import ScoreRecord, merged

    if not (found := merged(read_records(path, ScoreRecord))):
        raise ConfigError(
            f"{path}: holds no score; allowed: a file that `solvent adequacy score` has written"
        )
    return found


def _triggers(path: Path | None) -> list[Any]:
    from solvent.adequacy.patterns import Trigger

    return [] if path is None else list(read_records(path, Trigger))


def _learned(path: Path) -> list[Correction]:
    from solvent.adequacy.records import Correction

    return list(read_records(path, Correction)) if path.exists() else []


def _named(name: str, among: Iterable[Any], file: Path) -> Any:
    found = next((one for one in among if one.id == name), None)
    if found is None:
        raise ConfigError(f"--id: got {name!r:.60}; allowed: an id in {file}")
    return found


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(one)}" for key, one in value.items())
    if type(value) in (list, tuple):
        return ", ".join(map(_shown, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _told(turn: Turn, found: Adequacy | None) -> dict[str, Any]:
    calls = [{"name": call.name, "result": call.result if call.recorded else None} for call in turn.calls]
    told = {
        "id": turn.id,
        "query": turn.query,
        "response": turn.response,
        "calls": calls,
        "unread": turn.unread,
    }
    if found is None:
        return told | {"score": None, "rule": "unread", "escalate": True}
    return told | {"score": found.score, "rule": found.rule, "escalate": found.escalate}


def _score_table(scored: list[tuple[Turn, Adequacy | None]]) -> Table:
    rows = [
        (turn.id, str(found.score), found.rule, "judge" if found.escalate else "", one_line(found.sentence))
        if found
        else (turn.id, "", "unread", "judge", one_line(turn.response))
        for turn, found in sorted(scored, key=lambda one: -one[1].score if one[1] else 0)
    ]
    caption = ", ".join(f"{sum(row[1] == str(value) for row in rows)} score {value}" for value in range(4))
    headings = ("id", "EpAd", "words/evidence", "asks for", "what decided")
    return Table(headings, tuple(rows[:20]), caption=caption, left=headings[2:], wrapped=headings[-1:])
