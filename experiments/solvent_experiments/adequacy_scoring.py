"""Scoring a file of responses: the heuristic on all, the judge where there is one, each score appended as it is found.

What is appended is whole lines of ``scores.jsonl`` in the file's order. A judge that can't be asked any more (its
budget is spent, its endpoint refuses) leaves the rest to the heuristic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.pool import ThreadPool
from pathlib import Path

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy, score
from solvent.adequacy.judge import BudgetError, EndpointError, Judge, JudgeError, Judgement
from solvent.adequacy.scores import ScoreRecord, append_scores, read_scores, record_of
from solvent_experiments.adequacy_responses import Response

__all__ = ["Judged", "Scored", "check_ids", "in_force", "score_responses"]

AT_ONCE = 256


@dataclass
class Judged:
    """What came of the judge: how many it was asked for and found, from the cache or anew, and why not the others."""

    asked: int = 0
    found: int = 0
    cached: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    stopped: JudgeError | None = None

    def note(self, answer: Judgement | JudgeError) -> None:
        self.asked += 1
        if isinstance(answer, JudgeError):
            self.failures[str(answer)] += 1
        else:
            self.found += 1
            self.cached += answer.cached


@dataclass(frozen=True)
class Scored:
    """A response with its score and the line that was appended."""

    response: Response
    adequacy: Adequacy
    record: ScoreRecord


Answer = tuple[Response, Adequacy, "Judgement | JudgeError | None"]


def score_responses(
    responses: Sequence[Response],
    out: Path,
    *,
    judge: Judge | None = None,
    escalated_only: bool = False,
    jobs: int = 1,
    shadow: bool = True,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> tuple[list[Scored], Judged]:
    """Score and append, in order. A judgement costs more than a line: with a judge, each is written as it is found.

    Raises:
        AdequacyError: a response that can't be scored, or ``out`` that can't be appended to.
    """
    told, done, waiting = Judged(), list[Scored](), list[Scored]()
    on_progress(0, len(responses))
    for response, adequacy, answer in _answers(responses, judge, escalated_only, jobs, told):
        if answer is not None:
            told.note(answer)
        waiting.append(Scored(response, adequacy, _record(response, adequacy, answer, shadow)))
        if judge is not None or len(waiting) == AT_ONCE:
            done += _written(out, waiting)
            on_progress(len(done), len(responses))
    done += _written(out, waiting)
    on_progress(len(done), len(responses))
    return done, told


def _written(out: Path, waiting: list[Scored]) -> list[Scored]:
    append_scores(out, [scored.record for scored in waiting])
    written = list(waiting)
    waiting.clear()
    return written


def _answers(
    responses: Sequence[Response], judge: Judge | None, escalated_only: bool, jobs: int, told: Judged
) -> Iterator[Answer]:
    def work(response: Response) -> Answer:
        adequacy = score(response.text, response.context, response.query)
        if judge is None or (escalated_only and not adequacy.escalate):
            return response, adequacy, None
        if told.stopped is not None:
            return response, adequacy, told.stopped
        try:
            return response, adequacy, judge.judge(response.text, response.context, response.query or "")
        except JudgeError as error:
            if isinstance(error, BudgetError | EndpointError):
                told.stopped = error
            return response, adequacy, error

    if judge is None:
        yield from map(work, responses)
        return
    # Its threads don't outlive an interrupt, as an executor's would until their last answer.
    with ThreadPool(jobs) as pool:
        yield from pool.imap(work, responses)


def _record(
    response: Response, adequacy: Adequacy, answer: Judgement | JudgeError | None, shadow: bool
) -> ScoreRecord:
    grades: tuple[int | None, int | None] = (None, None)
    if isinstance(answer, Judgement):  # without a query there is no premise to agree with
        grades = answer.epad, None if response.query is None else answer.sya
    return record_of(
        response.text,
        response.context,
        response.query,
        adequacy,
        judge=grades,
        human=response.human,
        shadow=shadow,
        record_id=response.id,
        agent=response.agent,
        session=response.session,
    )


def check_ids(out: Path, responses: Iterable[Response]) -> int:
    """How many responses ``out`` has scores of already.

    Raises:
        AdequacyError: ``out`` is another kind of file, or has an id of these for another response.
    """
    if not out.exists():
        return 0
    known = {record.id: record.sha256 for record in read_scores(out)}
    there = [response for response in responses if response.id in known]
    for response in there:
        if known[response.id] != response.sha256:
            raise AdequacyError(
                f"{out}: has the id {response.id!r:.60} for another response; allowed: an id for each, or a new --out"
            )
    return len(there)


def in_force(record: ScoreRecord) -> int:
    """The EpAd to act on: the judge's where it has one, else the heuristic's."""
    found = record.epad.judge if record.epad.judge is not None else record.epad.heuristic
    return 0 if found is None else found
