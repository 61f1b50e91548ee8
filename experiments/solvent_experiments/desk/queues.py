"""What waits for people: one interface, and its adapters to the stores of costs, verdicts and responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from solvent.adequacy import score
from solvent.adequacy.calls import Call
from solvent.adequacy.records import ScoreRecord, labelled, record_of
from solvent.adequacy.transcripts import Turn, read_turns
from solvent.files import append_records, read_records

__all__ = ["Decided", "Field", "Item", "Queue", "Responses", "Row"]


class Decided(Exception):  # noqa: N818 - not an error
    """Somebody has decided already; the message says who, what and why."""


class Row(NamedTuple):
    """An item in a list."""

    key: str
    title: str
    about: str = ""


class Field(NamedTuple):
    """A field of a form beside name and reason: a choice of values with labels, or a text."""

    name: str
    label: str
    choices: Sequence[tuple[str, str]] = ()
    required: bool = True
    note: str = ""


class Item(NamedTuple):
    """An item: what it says, facts by name, longer texts by heading, the decision made, and the form for one."""

    title: str
    said: str
    facts: Sequence[tuple[str, str]] = ()
    parts: Sequence[tuple[str, str]] = ()
    decided: str = ""
    fields: Sequence[Field] = ()


class Queue(Protocol):
    """Items that wait in ``place``; ``name`` is the queue's path."""

    name: str
    title: str
    place: str

    def waiting(self) -> Sequence[Row]:
        """Return the items without a decision, those to decide first at the top."""

    def item(self, key: str) -> Item:
        """Return an item, decided or not. Raise LookupError if there is none."""

    def decide(self, key: str, form: Mapping[str, str]) -> None:
        """Record a decision with the form's ``who`` and ``why``.

        Raises:
            Decided: somebody else was first.
            ValueError: a field can't be used; the message says which.
        """


EPAD = (
    "0: the confidence fits the evidence",
    "1: slightly too much",
    "2: a strong claim after a narrow look",
    "3: a definitive claim with no evidence, or against it",
)


class Responses:
    """Responses of a transcript that nobody has labelled. The page shows no score until somebody has: labels must not be
    anchored."""

    name, title = "responses", "Responses to label"

    def __init__(self, path: Path, scores: Path) -> None:
        self.place, self._scores = f"{path}; labels in {scores}", scores
        self._turns = {turn.id: turn for turn in read_turns(path).turns if turn.response and not turn.unread}

    def waiting(self) -> Sequence[Row]:
        known = self._labels()
        return [
            Row(key, turn.query.strip()[:80] or key, f"{len(turn.calls)} calls; {turn.response.strip()[:160]}")
            for key, turn in self._turns.items()
            if key not in known
        ]

    def item(self, key: str) -> Item:
        turn, labels = self._turns[key], self._labels().get(key, [])
        found = score(turn.response, turn.calls, turn.query)
        shown = [("The heuristic says", f"{found.score}, {found.rule}")] if labels else []
        shown += [(one.labelled_by, f"{one.epad.human}: {one.reason}") for one in labels]
        return Item(
            title=f"Response {key}",
            said=turn.query,
            facts=shown,
            parts=[("Response", turn.response), *((_asked(call), call.result) for call in turn.calls)],
            fields=[Field("epad", "Adequacy of the response's confidence", [(said[0], said) for said in EPAD])],
        )

    def decide(self, key: str, form: Mapping[str, str]) -> None:
        if form.get("epad") not in ("0", "1", "2", "3"):
            raise ValueError(f"epad: got {form.get('epad')!r:.40}; allowed: 0, 1, 2, 3")
        turn = self._turns[key]
        if mine := [one for one in self._labels().get(key, []) if one.labelled_by == form["who"]]:
            raise Decided(f"{form['who']} labelled it {mine[0].epad.human}: {mine[0].reason}")
        record = record_of(turn.response, turn.calls, turn.query, score(turn.response, turn.calls, turn.query), id=key)
        append_records(
            self._scores, [labelled(record, epad=int(form["epad"]), by=form["who"], reason=form["why"])]
        )

    def _labels(self) -> dict[str, list[ScoreRecord]]:
        found: dict[str, list[ScoreRecord]] = {}
        for one in read_records(self._scores, ScoreRecord) if self._scores.exists() else ():
            if one.epad.human is not None:
                found.setdefault(one.id, []).append(one)
        return found


def _asked(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={json.dumps(value, default=str)}' for key, value in call.arguments.items())})"
