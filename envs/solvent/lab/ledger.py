"""The append-only logs: one JSON object a line, never rewritten.

``epistemic_refusals.jsonl`` has refusals, ``cost_discomfort_log.jsonl`` what was put off,
``energy_cost_proposals.jsonl`` proposals and their reviews, ``gate_verdicts.jsonl`` findings that were judged, how
readers decided those under review, and published errors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from solvent.lab.params import LabParams
from solvent.lab.records import (
    RefusalEvent,
    decision_events,
    discomfort_event,
    incident_events,
    proposal_event,
    refusal_event,
    review_events,
    verdict_event,
)
from solvent.lab.words.sentences import policies_of, sentences_of

__all__ = ["Ledgers", "append_jsonl", "append_refusals_jsonl", "begin_ledger", "read_refusals_jsonl"]

File = str | os.PathLike[str]


class Event(Protocol):
    """What a ledger takes."""

    def to_dict(self) -> dict[str, Any]:
        """The fields, ready for JSON."""
        ...


class Ledgers:
    """The logs that a lab or a vector of labs keeps; those without a path are not kept.

    Raises:
        OSError: a file that can't be written.
        ParamError: verdicts of a gate whose sentences are not at hand.
    """

    def __init__(
        self,
        params: LabParams,
        *,
        refusals: File | None = None,
        discomfort: File | None = None,
        proposals: File | None = None,
        verdicts: File | None = None,
    ) -> None:
        self.params = params
        self.refusals, self.discomfort, self.proposals = refusals, discomfort, proposals
        self.verdicts = verdicts
        if verdicts is not None and params.gate.enabled:
            policies_of(params), sentences_of(params)  # at fault now, not at the first finding
        for path in (refusals, discomfort, proposals, verdicts):
            if path is not None:
                begin_ledger(path)

    def append(self, steps: Any, labs: Any, *, numbered: bool) -> None:
        """Log what happened in step records, shape ``(n,)``; ``numbered`` marks each with its lab.

        ``labs`` of shape ``(n,)`` are the records that the steps left.
        """

        def rows(happened: Any) -> list[tuple[Any, int | None]]:
            return [(steps[i], int(i) if numbered else None) for i in np.flatnonzero(happened)]

        params = self.params
        if self.refusals is not None and (refused := rows(steps["refusal"])):
            append_jsonl(self.refusals, [refusal_event(params, *row) for row in refused])
        if self.discomfort is not None and (deferred := rows(steps["discomfort"])):
            append_jsonl(self.discomfort, [discomfort_event(params, *row) for row in deferred])
        if self.proposals is not None:
            filed = [proposal_event(params, *row) for row in rows(steps["proposed_verb"] >= 0)]
            reviewed = [
                event for row in rows(steps["reviewed"].any(axis=1)) for event in review_events(params, *row)
            ]
            if filed or reviewed:
                append_jsonl(self.proposals, [*filed, *reviewed])
        if self.verdicts is not None and params.gate.enabled:
            self._append_verdicts(self.verdicts, steps, labs, numbered)

    def _append_verdicts(self, path: File, steps: Any, labs: Any, numbered: bool) -> None:
        """What was judged, then what readers decided, then which errors came out, lab by lab."""
        params = self.params
        events: list[Event] = []
        judged = steps["wording"] >= 0
        for i in np.flatnonzero(judged | (steps["approved"] | steps["declined"] != 0)):
            step, which = steps[i], int(i) if numbered else None
            if judged[i]:
                events.append(verdict_event(params, step, labs[i], which))
            events += decision_events(params, step, labs[i], which)
            events += incident_events(params, step, labs[i], which)
        if events:
            append_jsonl(path, events)


def begin_ledger(path: File) -> None:
    """Make sure now, not at the first refusal, that ``path`` can be appended to.

    Raises:
        OSError: the file can't be written.
    """
    with Path(path).open("a", encoding="utf-8"):
        pass


def append_refusals_jsonl(path: File, events: Iterable[RefusalEvent]) -> None:
    """Append refusals to ``path``, flushed line by line; the file is made where it does not exist.

    Raises:
        OSError: the file can't be written.
    """
    append_jsonl(path, events)


def append_jsonl(path: File, events: Iterable[Event]) -> None:
    """Append events to ``path``, flushed line by line; the file is made where it does not exist.

    Raises:
        OSError: the file can't be written.
    """
    with Path(path).open("a", encoding="utf-8", newline="\n") as ledger:
        for event in events:
            ledger.write(json.dumps(event.to_dict(), ensure_ascii=False) + "\n")
            ledger.flush()


def read_refusals_jsonl(path: File) -> list[RefusalEvent]:
    """All events of a ledger.

    Raises:
        OSError: the file can't be read.
        ValueError: a line is no refusal event; the message names the file and the line.
    """
    events = []
    with Path(path).open(encoding="utf-8") as ledger:
        for number, line in enumerate(ledger, start=1):
            try:
                events.append(RefusalEvent(**json.loads(line)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: not a refusal event ({error})") from None
    return events
