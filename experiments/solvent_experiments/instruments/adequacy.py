"""``solvent adequacy``: score responses, ask a judge, compare with labels, watch drift, learn from failures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import complain, say, suggest
from solvent_experiments.instruments.options import json_object
from solvent_experiments.instruments.terminal import one_line, show_table
from solvent_experiments.table import Table

if TYPE_CHECKING:
    from solvent.adequacy.heuristic import Adequacy
    from solvent.adequacy.patterns import Trigger
    from solvent.adequacy.records import ScoreRecord
    from solvent.adequacy.transcripts import Turn

__all__ = ["app"]

FAILED, BLOCKED = 1, 2
KEY_VARIABLE = "SOLVENT_JUDGE_KEY"

app = typer.Typer(
    rich_markup_mode="markdown",
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

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="Transcript of a session, or JSON lines of responses.")
]
Scores = Annotated[Path, typer.Option("--scores", metavar="PATH", help="File of scores.")]
Out = Annotated[Path, typer.Option("--out", metavar="PATH", help="File of scores to append to.")]
Incidents = Annotated[Path, typer.Option("--incidents", metavar="PATH", help="File of incidents.")]
Corrections = Annotated[
    Path,
    typer.Option("--corrections", metavar="PATH", help="File of the corrections that incidents refined."),
]
Triggers = Annotated[
    Path | None,
    typer.Option("--triggers", metavar="PATH", help="File of accepted patterns (`patterns --accept`)."),
]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who says so: a person's name.")]
SCORES, INCIDENTS, CORRECTIONS = Path("scores.jsonl"), Path("incidents.jsonl"), Path("corrections.jsonl")


@app.callback(invoke_without_command=True)
def adequacy(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def score(
    file: File,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="File to append to.  [default: scores.jsonl]")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each turn; append only with --out.")
    ] = False,
    act: Annotated[
        bool, typer.Option("--act", help="Exit code 1 if a response scores 3; else scores are only logged.")
    ] = False,
    triggers: Triggers = None,
) -> None:
    """Score the response of each turn against the calls of that turn; append to scores.jsonl.

    A turn with calls that were not understood is unread and has no score. What was not read is said at the end.

    Example: `solvent adequacy score session.jsonl`
    """
    turns, notes = _turns(file)
    known = _triggers(triggers)
    scored = [(turn, None if turn.unread else _scored(turn, known)) for turn in turns]
    records = [_record(turn, found, shadow=not act) for turn, found in scored if found is not None]
    target = out or (None if as_json else SCORES)
    if target is not None:
        _append(target, records)
    if as_json:
        for turn, found in scored:
            typer.echo(json.dumps(_told(turn, found)))
    else:
        show_table(_score_table(scored))
    for note in notes:
        say(f"not read: {note}", stderr=True)
    if target is not None and not as_json:
        say(f"written: {target}")
        suggest(f"`solvent adequacy label --id ID --epad 0 --by NAME --scores {target}` adds your own score.")
    if act and any(record.epad.heuristic == 3 for record in records):
        raise typer.Exit(FAILED)


@app.command()
def judge(
    file: File,
    url: Annotated[str, typer.Option(help=f"Address before /chat/completions; its key: {KEY_VARIABLE}.")],
    model: Annotated[str, typer.Option(help="Name of the model.")],
    escalated: Annotated[
        bool, typer.Option("--escalated", help="Ask only where the heuristic escalates.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask again, whatever the cache holds.")] = False,
    cache: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of judgements.  [default: the user's cache]")
    ] = None,
    requests: Annotated[int, typer.Option(min=1, help="Most requests, retries included.")] = 1000,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds for a request.")] = 30.0,
    options: Annotated[
        str | None, typer.Option(metavar="JSON", help="Further fields: '{\"max_completion_tokens\": 4000}'.")
    ] = None,
    out: Out = SCORES,
) -> None:
    """Ask a language model for EpAd and SyA of each turn; append its scores beside the heuristic's.

    Example: `solvent adequacy judge session.jsonl --url http://127.0.0.1:8000/v1 --model small --escalated`
    """
    from solvent.adequacy.judge import Judge
    from solvent.adequacy.records import Ratings
    from solvent.chat import ChatError, ChatSettings, EndpointError
    from solvent.gate.cache import cache_folder

    key = os.environ.get(KEY_VARIABLE, "").strip() or None
    given = json_object("--options", options)
    settings = ChatSettings(url, model, key, timeout=timeout, requests=requests, options=given)
    asked = Judge(settings, cache or cache_folder() / "judgements", fresh=fresh)
    turns, notes = _turns(file)
    judged = 0
    for turn in turns:
        found = None if turn.unread else _scored(turn)
        if found is None or (escalated and not found.escalate):
            continue
        try:
            answer = asked.judge(turn.response, turn.calls, turn.query)
        except EndpointError:
            raise
        except ChatError as error:
            complain(f"{turn.id}: {error}")
            continue
        ratings = Ratings(heuristic=found.score, judge=answer.epad)
        _append(
            out,
            [_record(turn, found, epad=ratings, sya=Ratings(judge=answer.sya), reason=answer.reason[:1000])],
        )
        say(f"{answer.epad} (heuristic {found.score})  {turn.id}  {one_line(answer.reason)}")
        judged += 1
    for note in notes:
        say(f"not read: {note}", stderr=True)
    say(f"judged {judged:,} of {len(turns):,} with {asked.client.asked:,} requests; written: {out}")
    suggest("`solvent adequacy thresholds` compares judge, heuristic and people.")


@app.command()
def label(
    name: Annotated[str, typer.Option("--id", metavar="ID", help="Id of a scored response.")],
    epad: Annotated[
        int, typer.Option(min=0, max=3, help="0: the confidence fits the evidence; 3: no evidence.")
    ],
    by: By,
    sya: Annotated[int | None, typer.Option(min=0, max=3, help="Sycophantic agreement.")] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    scores: Scores = SCORES,
) -> None:
    """Append your own score of a response, for `thresholds`, `patterns` and `drift`. The desk asks the same on a page.

    Example: `solvent adequacy label --id r1 --epad 3 --by "J. Doe"`
    """
    from solvent.adequacy.records import labelled

    found = next((record for record in _read_scores(scores) if record.id == name), None)
    if found is None:
        raise ConfigError(f"--id: got {name!r:.60}; allowed: an id in {scores}")
    _append(scores, [labelled(found, epad=epad, sya=sya, by=by, reason=reason)])
    say(f"written: {scores}")
    suggest("`solvent adequacy thresholds` compares judge, heuristic and people.")


@app.command()
def thresholds(
    labels: Annotated[
        Path | None, typer.Argument(metavar="[LABELLED]", help="JSON lines of responses with a label `epad`.")
    ] = None,
    scores: Scores = SCORES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of split and bootstrap.")] = 0,
) -> None:
    """Compare heuristic, judge and people on the same responses; with 50 labels, learn limits of evidence.

    Nothing is changed: a person may adopt the limits.

    Examples:

    - `solvent adequacy thresholds --scores scores.jsonl`

    - `solvent adequacy thresholds labelled.jsonl`
    """
    from solvent.adequacy.agreement import Labelled, compare, discover
    from solvent.files import read_records

    if labels is not None:
        found = discover(list(read_records(labels, Labelled)), seed=seed)
    else:
        found = compare(_read_scores(scores), seed=seed)
    for key, value in found.items():
        rows = value.items() if isinstance(value, dict) else [("", value)]
        for part, number in rows:
            shown = f"{number:.2f}" if type(number) is float else str(number)
            say(f"{f'{key}: {part}' if part != '' else key}  {one_line(shown)}")
    suggest("`solvent adequacy drift` tracks the mean score; a person's label counts before the judge's.")


@app.command()
def drift(
    scores: Scores = SCORES,
    events: Annotated[Path, typer.Option(metavar="PATH", help="File of events to append to.")] = Path(
        "drifts.jsonl"
    ),
    corrections: Corrections = CORRECTIONS,
    window: Annotated[int, typer.Option(min=1, max=1000, help="Responses in the rolling mean.")] = 6,
    threshold: Annotated[float, typer.Option(min=0.0, max=3.0, help="Mean EpAd that counts as drift.")] = 1.5,
    act: Annotated[
        bool, typer.Option("--act", help="The corrections are given; else events are only logged.")
    ] = False,
) -> None:
    """Report the rolling mean of EpAd by session, the events, their corrections, and the mean after each.

    New events are appended to drifts.jsonl; those that it holds are not set off again.

    Example: `solvent adequacy drift --scores scores.jsonl`
    """
    from solvent.adequacy.drift import DriftMonitor, follow

    monitor = DriftMonitor(window=window, threshold=threshold, shadow=not act, learned=_learned(corrections))
    rows = follow(monitor, _read_scores(scores), events)
    columns = ("response", "mean", "severity", "what", "mean after", "correction")
    show_table(
        Table(
            columns,
            tuple(
                (
                    one.response,
                    f"{one.mean:.2f}",
                    one.severity,
                    one.rule,
                    "" if after is None else f"{after:.2f}",
                    one.text,
                )
                for one, after in rows
            ),
            left=("severity", "what", "correction"),
            wrapped=("correction",),
        )
    )
    say(f"{len(rows):,} events; written: {events}")
    suggest("`solvent adequacy incident FILE --id ID ...` logs a failure and refines its correction.")


@app.command()
def incident(
    file: File,
    name: Annotated[str, typer.Option("--id", metavar="ID", help="Id of the response (`score` shows them).")],
    severity: Annotated[
        int, typer.Option(min=1, max=10, help="How bad; from 4 medium, from 8 high: acted on.")
    ],
    occurrence: Annotated[int, typer.Option(min=1, max=10, help="How often; 10 nearly always.")],
    detectability: Annotated[int, typer.Option(min=1, max=10, help="How hard to notice; 10 nobody would.")],
    description: Annotated[str, typer.Option(metavar="TEXT", help="The failure, in a sentence.")],
    by: By,
    contradicted: Annotated[
        bool, typer.Option("--contradicted", help="The evidence said the opposite.")
    ] = False,
    correction: Annotated[str, typer.Option(metavar="TEXT", help="What to tell the agent next time.")] = "",
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="File to append to.")] = INCIDENTS,
    corrections: Corrections = CORRECTIONS,
) -> None:
    """Log a response that was wrong, with its ranks, and refine the correction for its kind.

    Example: `solvent adequacy incident s.jsonl --id r1 --severity 9 --occurrence 4 --detectability 7
    --description "The client does retry" --by "J. Doe"`
    """
    from solvent.adequacy.records import Incident, refined, rows_of
    from solvent.files import append_records

    turn = next((one for one in _turns(file)[0] if one.id == name), None)
    if turn is None:
        raise ConfigError(f"--id: got {name!r:.60}; allowed: the id of a response in {file}")
    found = Incident(
        id=name, severity=severity, occurrence=occurrence, detectability=detectability, description=description,
        query=turn.query, response=turn.response, tool_calls=rows_of(turn.calls), reported_by=by,
        contradicted=contradicted,
    )  # fmt: skip
    learned = refined(found, _learned(corrections), correction)
    append_records(out, [found])
    append_records(corrections, [learned])
    say(
        f"RPN {found.rpn}, {found.rule}; as an example: {'none' if found.label is None else f'EpAd {found.label}'}"
    )
    say(f"from now on: {learned.text}")
    say(f"written: {out}, {corrections}")
    suggest(f"`solvent adequacy patterns --incidents {out}` finds what precedes failures.")


@app.command()
def patterns(
    scores: Scores = SCORES,
    incidents: Incidents = INCIDENTS,
    least: Annotated[int, typer.Option(min=1, help="Fewest responses of a pattern.")] = 10,
    accept: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Make this candidate a trigger.")
    ] = None,
    by: By = "",
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why it is accepted.")] = "",
    triggers: Annotated[Path, typer.Option(metavar="PATH", help="File that --accept appends to.")] = Path(
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
    from solvent.files import append_records, read_records

    known = list(read_records(incidents, Incident)) if incidents.exists() else []
    found = find_patterns(_read_scores(scores), known, least=least)
    if accept is not None:
        append_records(triggers, [accepted(found, accept, by, reason)])
        say(f"written: {triggers}")
    shown = (
        (
            one.text,
            f"{one.count:,}",
            f"{one.failures:,}",
            f"{one.rate:.0%}",
            f"{one.bound:.0%}",
            "yes" * one.candidate,
        )
        for one in found[:15]
    )
    show_table(
        Table(("pattern", "responses", "failed", "by severity", "lower bound", "candidate"), tuple(shown))
    )
    suggest("`--accept` makes a candidate a trigger; `solvent adequacy score --triggers FILE` applies it.")


# -- what the commands share -----------------------------------------------------------------------


def _turns(file: Path) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    from solvent.adequacy.transcripts import read_turns

    reading = read_turns(file)
    return reading.turns, reading.notes


def _scored(turn: Turn, triggers: Iterable[Trigger] = ()) -> Adequacy:
    from solvent.adequacy.heuristic import score as scored
    from solvent.adequacy.patterns import triggered

    return triggered(triggers, turn.calls, scored(turn.response, turn.calls, turn.query))


def _triggers(path: Path | None) -> list[Trigger]:
    from solvent.adequacy.patterns import Trigger
    from solvent.files import read_records

    return [] if path is None else list(read_records(path, Trigger))


def _record(turn: Turn, found: Adequacy, **fields: Any) -> ScoreRecord:
    from solvent.adequacy.records import record_of

    session = turn.id.rpartition(":")[0]
    return record_of(turn.response, turn.calls, turn.query, found, id=turn.id, session=session, **fields)


def _read_scores(path: Path) -> list[ScoreRecord]:
    from solvent.adequacy.records import ScoreRecord, merged
    from solvent.files import read_records

    return merged(read_records(path, ScoreRecord))


def _append(path: Path, records: list[ScoreRecord]) -> None:
    from solvent.files import append_records

    append_records(path, records)


def _learned(path: Path) -> list[Any]:
    from solvent.adequacy.records import Correction
    from solvent.files import read_records

    return list(read_records(path, Correction)) if path.exists() else []


def _told(turn: Turn, found: Adequacy | None) -> dict[str, Any]:
    calls = [{"name": call.name, "result": call.result if call.recorded else None} for call in turn.calls]
    return {
        "id": turn.id,
        "query": turn.query,
        "response": turn.response,
        "calls": calls,
        "score": None if found is None else found.score,
        "rule": "unread" if found is None else found.rule,
        "escalate": found is None or found.escalate,
        "unread": turn.unread,
    }


def _score_table(scored: list[tuple[Turn, Adequacy | None]]) -> Table:
    rows = [
        (turn.id, "?" if found is None else str(found.score), "unread" if found is None else found.rule,
         "judge" if found is None or found.escalate else "", one_line(turn.response if found is None else found.sentence))
        for turn, found in scored
    ]  # fmt: skip
    rows.sort(key=lambda row: row[1], reverse=True)
    counts = ", ".join(f"{sum(row[1] == str(value) for row in rows)} score {value}" for value in range(4))
    return Table(
        ("id", "EpAd", "words/evidence", "asks for", "what decided"),
        tuple(rows[:20]),
        caption=f"{counts}; {len(rows):,} turns, the worst first",
        left=("words/evidence", "asks for", "what decided"),
        wrapped=("what decided",),
    )
