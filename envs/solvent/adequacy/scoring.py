"""Scoring a file of responses: the heuristic scores them, then the judge is asked where there is one.

Responses are scored in batches, so that a large file is never held. The heuristic's lines of a batch are appended to
``scores.jsonl`` before the judge is asked about it, so none is lost if the judge hangs. Each judgement appends a
further line. If the judge can't be asked any more (its budget is spent, its endpoint refuses), the rest keep the
heuristic's scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing.pool import ThreadPool
from pathlib import Path

from solvent.adequacy.decisions import Trigger, triggered
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Adequacy, score
from solvent.adequacy.judge import BudgetError, ChatError, EndpointError, Judge, Judgement
from solvent.adequacy.responses import Response, Responses
from solvent.adequacy.scores import Ratings, ScoreRecord, append_scores, now, read_scores, record_of

__all__ = ["Judged", "Scored", "ask_judge", "known_ids", "score_responses"]

AT_ONCE = 256


@dataclass
class Judged:
    """Counts of judgements asked for and found, from the cache or anew, and the errors of the others."""

    asked: int = 0
    found: int = 0
    cached: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    stopped: ChatError | None = None

    def note(self, answer: Judgement | ChatError) -> None:
        """Count an answer of the judge."""
        self.asked += 1
        if isinstance(answer, ChatError):
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


def score_responses(
    responses: Iterable[Response], out: Path, *, shadow: bool = True, triggers: Sequence[Trigger] = ()
) -> Iterator[list[Scored]]:
    """Score responses with the heuristic and append their lines in order; yield them in batches of ``AT_ONCE``.

    Raises:
        AdequacyError: a response that can't be scored, or ``out`` that can't be appended to.
    """
    left = iter(responses)
    while batch := [_scored(one, shadow, triggers) for one in islice(left, AT_ONCE)]:
        append_scores(out, [one.record for one in batch])
        yield batch


def _scored(response: Response, shadow: bool, triggers: Sequence[Trigger]) -> Scored:
    adequacy = triggered(score(response.text, response.context, response.query), response.context, triggers)
    record = record_of(response.text, response.context, response.query, adequacy)
    epad, sya = response.human
    record = replace(
        record,
        id=response.id,
        epad=replace(record.epad, human=epad),
        sya=replace(record.sya, human=sya),
        shadow=shadow,
        agent=response.agent,
        session=response.session,
    )
    return Scored(response, adequacy, record)


def ask_judge(
    scored: list[Scored],
    out: Path,
    judge: Judge,
    told: Judged,
    *,
    escalated_only: bool = False,
    jobs: int = 1,
    on_progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Put the judge's scores into ``scored``. A judgement is costly, so its line is appended as soon as it is found.

    ``told`` counts what came of it; once it says that the judge has stopped, nothing is asked.

    Raises:
        AdequacyError: ``out`` can't be appended to.
    """
    asked = [i for i, one in enumerate(scored) if one.adequacy.escalate or not escalated_only]
    answers = _answers([scored[i].response for i in asked], judge, jobs, told)
    for done, (i, answer) in enumerate(zip(asked, answers, strict=True), start=1):
        told.note(answer)
        if isinstance(answer, Judgement):
            scored[i] = _judged(scored[i], answer)
            append_scores(out, [scored[i].record])
        on_progress(done)


def _judged(one: Scored, found: Judgement) -> Scored:
    """The record with the judge's scores; without a query there is no premise to agree with."""
    sya = None if one.response.query is None else found.sya
    record = replace(
        one.record,
        epad=one.record.epad.later(Ratings(judge=found.epad)),
        sya=one.record.sya.later(Ratings(judge=sya)),
        time=now(),
    )
    return replace(one, record=record)


def _answers(
    responses: Sequence[Response], judge: Judge, jobs: int, told: Judged
) -> Iterator[Judgement | ChatError]:
    def ask(response: Response) -> Judgement | ChatError:
        if told.stopped is not None:
            return told.stopped
        try:
            return judge.judge(response.text, response.context, response.query or "")
        except ChatError as error:
            if isinstance(error, BudgetError | EndpointError):
                told.stopped = error
            return error

    # Its threads don't outlive an interrupt, as an executor's would until their last answer.
    with ThreadPool(jobs) as pool:
        yield from pool.imap(ask, responses)


def known_ids(out: Path, responses: Responses) -> int:
    """Return how many of the responses have scores in ``out`` already.

    Raises:
        AdequacyError: ``out`` is another kind of file, or has one of the ids for another response.
    """
    known = {record.id: record.sha256 for record in read_scores(out)} if out.exists() else {}
    there = [name for name in responses.ids if name in known]
    for name in there:
        if known[name] != responses.ids[name]:
            raise AdequacyError(
                f"{out}: has the id {name!r:.60} for another response; allowed: an id for each, or a new file of scores"
            )
    return len(there)
