"""What is pending: one interface, and its adapters to the stores of costs, verdicts and responses."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from solvent.adequacy.calls import Call
from solvent.adequacy.formats import read_turns
from solvent.adequacy.patterns import score_turn, triggers_beside
from solvent.adequacy.records import ScoreRecord, labelled, merged, record_of
from solvent.energy.rules import ProposalError, allowed_costs
from solvent.energy.store import CostStore
from solvent.energy.tables import EnergyCostProposal
from solvent.files import append_records, read_records
from solvent.gate.reviews import Reviews as Verdicts

__all__ = ["Item", "Proposals", "Queue", "Responses", "Reviews", "Row"]


class Row(NamedTuple):
    """An item in a list."""

    key: str
    title: str
    about: str = ""


class Item(NamedTuple):
    """An item: what it says, facts by name, longer texts by heading, the decision made, and the choices for one.

    ``choices`` are values and labels; ``cost`` is the note of a field for a new cost, if an approval may have one.
    """

    title: str
    text: str
    facts: Sequence[tuple[str, str]] = ()
    parts: Sequence[tuple[str, str]] = ()
    decided: str = ""
    choices: Sequence[tuple[str, str]] = ()
    cost: str = ""


class Queue(Protocol):
    """Items pending in ``place``; ``name`` is the queue's path."""

    name: str
    title: str
    place: str

    def waiting(self) -> Sequence[Row]:
        """Return the items without a decision, those to decide first at the top."""

    def item(self, key: str) -> Item:
        """Return an item, decided or not. Raise LookupError if there is none."""

    def decide(self, key: str, decision: str, form: Mapping[str, str]) -> None:
        """Record one of the item's choices with the form's ``who`` and ``why``.

        Raises:
            ValueError: somebody else was first, or a field can't be used; the message says which.
        """


class Proposals:
    """Proposals to change what an action costs."""

    name, title = "costs", "Cost proposals"

    def __init__(self, store: CostStore) -> None:
        self._store, self.place = store, store.place

    def waiting(self) -> Sequence[Row]:
        return [Row(str(row.id), row.change, row.rationale[:160]) for row in self._store.proposals("pending")]

    def item(self, key: str) -> Item:
        row = self._row(key)
        history = self._store.history(row.target_name, row.target_type)
        allowed, deferred = allowed_costs(row, history[-1]), self._store.discomfort(row.target_name)
        within = "{:g} to {:g}".format(*allowed) if allowed else "none: the price is out of its reach"
        decided = f"{row.status} by {row.reviewed_by}: {row.review_notes}" if row.status != "pending" else ""
        return Item(
            title=row.change,
            text=row.rationale,
            facts=[
                ("Cost now", f"{history[-1].cost:g}, {row.current_cost:g} when it was argued"),
                ("Prices so far", ", ".join(f"{one.cost:g}" for one in history)),
                ("Confidence", f"{row.confidence:.0%}"),
                ("Deferrals", f"{len(deferred)} in the log"),
                ("Filed", f"{row.created_at:%Y-%m-%d %H:%M}"),
            ],
            parts=[("Evidence", "\n".join(f"{one['source']}: {one['summary']}" for one in row.evidence))],
            decided=decided,
            choices=[("approve", "Approve: the price changes"), ("reject", "Reject: the price stays")],
            cost=f"Empty: the allowed cost nearest to the price. Allowed: {within}.",
        )

    def decide(self, key: str, decision: str, form: Mapping[str, str]) -> None:
        row, notes = self._row(key), f"{form['who']}: {form['why']}"
        if decision == "approve":
            cost = float(text) if (text := form.get("cost", "").strip()) else None
            self._store.approve(row.id, new_cost=cost, notes=notes)
        else:
            self._store.reject(row.id, notes=notes)

    def _row(self, key: str) -> EnergyCostProposal:
        try:
            return self._store.proposal(key)
        except ProposalError as error:
            raise LookupError(str(error)) from None


class Reviews:
    """Claims that the gate put under review; first those whose decision would move the threshold most."""

    name, title = "reviews", "Gate reviews"

    def __init__(self, verdicts: Verdicts) -> None:
        self._verdicts, self.place = verdicts, str(verdicts.folder)

    def waiting(self) -> Sequence[Row]:
        return [Row(row.id, row.claim_id, row.claim[:160]) for row in self._verdicts.waiting()]

    def item(self, key: str) -> Item:
        row, made = self._verdicts.find(key), self._verdicts.decisions().get(key)
        choices = [("accept", "Accept: the evidence supports the claim"), ("decline", "Decline")]
        return Item(
            title=f"Review of {row.claim_id}",
            text=row.claim,
            facts=[
                ("Verdict", f"{row.verdict} by {row.policy_applied}"),
                ("Reasons", "; ".join(row.reasons)),
                ("Energy", f"{row.hallucination_energy:.4f}"),
                ("Gap", f"{row.energy_gap:.4f}"),
                ("Accepts up to", f"{row.policy.tau_accept:.4f}"),
                ("Reviews up to", f"{row.policy.tau_review:.4f}"),
                ("Domain", row.domain),
                ("Pages", ", ".join(row.pages)),
            ],
            parts=[("Evidence", "\n".join(row.evidence))],
            decided="" if made is None else f"{made.choice} by {made.who}: {made.why}",
            choices=choices if row.verdict == "review" else (),
        )

    def decide(self, key: str, decision: str, form: Mapping[str, str]) -> None:
        self._verdicts.decide(key, decision, who=form["who"], why=form["why"])


EPAD = [
    ("0", "0: the confidence fits the evidence"),
    ("1", "1: slightly too much"),
    ("2", "2: a strong claim after a narrow look"),
    ("3", "3: a definitive claim with no evidence, or against it"),
]


class Responses:
    """Responses of a transcript that nobody has labelled.

    The page shows no score until somebody has labelled the response: labels must not be anchored.
    """

    name, title = "responses", "Responses to label"

    def __init__(self, path: Path, scores: Path) -> None:
        self.place, self._scores = f"{path}; labels in {scores}", scores
        self._deciding = threading.Lock()
        self._turns = {turn.id: turn for turn in read_turns(path).turns if turn.response and not turn.unread}

    def waiting(self) -> Sequence[Row]:
        rows, known = [], self._labels()
        for key, turn in self._turns.items():
            if key not in known:
                about = f"{len(turn.calls)} calls; {turn.response.strip()[:160]}"
                rows.append(Row(key, turn.query.strip()[:80] or key, about))
        return rows

    def item(self, key: str) -> Item:
        turn, labels = self._turns[key], self._labels().get(key, [])
        scored = self._scored(key)
        score = "no score" if scored.epad.heuristic is None else scored.epad.heuristic
        ratings = [("The heuristic says", f"{score}, {scored.rule}")] if labels else []
        ratings += [(label.labelled_by, f"{label.epad.human}: {label.reason}") for label in labels]
        parts = [("Response", turn.response), *((_asked(call), call.result) for call in turn.calls)]
        return Item(f"Response {key}", turn.query, ratings, parts, choices=EPAD)

    def decide(self, key: str, decision: str, form: Mapping[str, str]) -> None:
        label = labelled(self._scored(key), epad=int(decision), by=form["who"], reason=form["why"])
        with self._deciding:  # of this desk's people; another program's label is a line beside it
            if any(one.labelled_by == form["who"] for one in self._labels().get(key, [])):
                raise ValueError(f"who: {form['who']} has labelled it already; allowed: one label each")
            append_records(self._scores, [label])

    def _scored(self, key: str) -> ScoreRecord:
        """Return a response as it was logged, under whatever limits; one that was not is scored here."""
        turn = self._turns[key]
        own = record_of(turn, score_turn(turn, triggers_beside(self._scores)))
        logged = {(one.id, one.sha256): one for one in merged(self._records())}
        return logged.get((own.id, own.sha256), own)

    def _records(self) -> list[ScoreRecord]:
        return list(read_records(self._scores, ScoreRecord, missing_ok=True))

    def _labels(self) -> dict[str, list[ScoreRecord]]:
        labels: dict[str, list[ScoreRecord]] = {}
        for one in self._records():
            if one.epad.human is not None:
                labels.setdefault(one.id, []).append(one)
        return labels


def _asked(call: Call) -> str:
    given = (f"{key}={json.dumps(value, default=str)}" for key, value in call.arguments.items())
    return f"{call.name}({', '.join(given)})"
