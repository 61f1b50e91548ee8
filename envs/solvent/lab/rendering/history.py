"""The history of an episode as drawn so far, since a record holds only the last action.

The key of a history is the lab's index among those drawn together and its random stream (``index``, ``key``,
``episode``), so one viewer can follow a vector of labs, even with equal seeds. If a lab is not drawn after every
action, its history has gaps. Nothing is guessed about them: what a gap may have changed is forgotten, and the panels
say that it was not seen. A step count that decreases, or wells that increase, start a new history. Actions in the same
heartbeat divide its hour equally.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any, NamedTuple

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.params import LabParams
from solvent.lab.rendering.findings import Decision, JudgedFinding, decisions, judged_finding
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import TEMPLATES, Verb

NO_VERB = -1
UNKNOWN = -1
"""Class of a finding that was published between drawings."""
LABS_REMEMBERED = 4096


class Beat(NamedTuple):
    """The lab after one action."""

    heartbeat: int
    wells: int
    debt: float
    verb: int  # -1 at the start
    compound: int  # -1 for none
    event: int  # Event
    refusals: int  # so far
    step: int = 0  # actions so far
    began: float = 0.0  # time before the action, heartbeats
    time: float = 0.0  # time after it, heartbeats
    energy: int = 0  # thousandths

    @property
    def place(self) -> int:
        """Heartbeat of the action."""
        return int(self.began + 1e-9)

    def follows(self, before: Beat) -> bool:
        """Return whether no action was missed between the two."""
        return self.step <= before.step + 1


class Plate(NamedTuple):
    """The last plate."""

    verb: Verb
    compound: int
    bins: tuple[int, ...]


@dataclasses.dataclass
class History:
    """One episode as drawn so far."""

    beats: list[Beat]
    plate: Plate | None = None
    plates: int = 0  # run until the last drawing
    asserted: dict[int, int] = dataclasses.field(default_factory=dict)  # class of each finding, or UNKNOWN
    prices: tuple[int, ...] = ()  # last known price of each verb, thousandths
    prices_before: dict[int, int] = dataclasses.field(default_factory=dict)  # before the last change
    approvals: int = 0  # until the last drawing
    unseen_approvals: int = 0
    subject: int = -1  # compound of the last action that had one
    finding: JudgedFinding | None = None  # last one judged
    judged: int = 0  # findings until the last drawing
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    in_review: frozenset[int] = frozenset()  # compounds, at the last drawing

    @property
    def last(self) -> Beat:
        """The latest beat."""
        return self.beats[-1]

    @property
    def unseen(self) -> int:
        """Number of actions that were not drawn."""
        return self.last.step + 1 - len(self.beats)

    def gap(self) -> str:
        """Return what was not drawn: ``seen from heartbeat 12 on``, ``3 of 20 actions not seen``, or an empty text."""
        if not self.unseen:
            return ""
        if self.unseen == self.beats[1].step - 1:
            return f"seen from heartbeat {self.beats[1].place + 1} on"
        return f"{self.unseen} of {self.last.step} actions not seen"


class HistoryBook:
    """The histories of all labs of one viewer."""

    def __init__(self, params: LabParams) -> None:
        self.params = params
        self.actions = action_table(params)
        self.histories: OrderedDict[tuple[int, int, int], History] = OrderedDict()

    def see(self, lab: Any, index: int = 0) -> History:
        """Add the record of the lab at ``index`` to its history and return the history."""
        beat = self._beat(lab)
        which = (index, int(lab["key"]), int(lab["episode"]))
        history = self.histories.get(which)
        if history is None or beat.step < history.last.step or beat.wells > history.last.wells:
            wells, energy = self.params.budget.wells, in_thousandths(self.params.energy.start)
            start = Beat(0, wells, float(lab["debt_at_start"]), NO_VERB, -1, 0, 0, energy=energy)
            history = self.histories[which] = History([start])
        self.histories.move_to_end(which)
        while len(self.histories) > LABS_REMEMBERED:
            self.histories.popitem(last=False)
        complete = beat.follows(history.last)
        if beat.step == history.last.step:
            history.beats.pop()
        if history.beats and beat.follows(history.last):
            beat = beat._replace(began=history.last.time)
        history.beats.append(beat)
        _keep_plate(history, lab)
        _keep_asserted(history, lab, complete=complete)
        if self.params.energy.enabled:
            _keep_prices(history, lab, complete=complete)
        if self.params.proposals.enabled:
            approvals = int(lab["approvals"])
            history.unseen_approvals += 0 if complete else approvals - history.approvals
            history.approvals = approvals
        if self.params.gate.enabled and history.judged != (judged := int(lab["verdicts"].sum())):
            history.finding, history.judged = None, judged
        if beat.compound >= 0 or not complete:
            history.subject = beat.compound
        return history

    def judge(self, history: History, lab: Any, step: Any) -> None:
        """Record the finding that ``step`` judged and the reviews it decided."""
        history.finding = judged_finding(self.params, lab, step) or history.finding
        made = decisions(self.params, lab, step)
        history.decisions += [decision for decision in made if decision not in history.decisions]

    def _beat(self, lab: Any) -> Beat:
        index, slots = int(lab["last_action"]), self.params.slots
        heartbeat, slot = int(lab["heartbeat"]), int(lab["slot"])
        time = heartbeat + slot / slots
        return Beat(
            heartbeat=heartbeat,
            wells=int(lab["wells"]),
            debt=float(lab["debt"]),
            verb=NO_VERB if index < 0 else int(self.actions["verb"][index]),
            compound=-1 if index < 0 else int(self.actions["compound"][index]),
            event=int(lab["last_event"]),
            refusals=int(lab["refusals"].sum()),
            step=int(lab["steps"]) if slots > 1 else heartbeat,
            began=time - (1 / slots if slot else 1.0),
            time=time,
            energy=int(lab["energy"]) if self.params.energy.enabled else 0,
        )


def _keep_plate(history: History, lab: Any) -> None:
    """Record the last plate; forget it if others were run since."""
    plates = plates_run(lab)
    if plates != history.plates:
        history.plate, history.plates = None, plates
    bins = tuple(int(b) for b in lab["last_bins"] if b >= 0)
    if bins and history.last.verb in TEMPLATES:
        history.plate = Plate(Verb(history.last.verb), history.last.compound, bins)


def plates_run(lab: Any) -> int:
    """Return the number of plates run so far."""
    return int(lab["calibrations"] + lab["experiments"].sum())


def _keep_asserted(history: History, lab: Any, *, complete: bool) -> None:
    """Record the asserted class of each new finding, since the belief may change later.

    A finding approved in review asserts its submitted class, any other the most probable class. After a gap only that
    of the last action is known.
    """
    for compound, published in enumerate(lab["published"]):
        if not published:
            history.asserted.pop(compound, None)
        elif compound not in history.asserted:
            asserted = UNKNOWN
            if complete and compound in history.in_review:
                asserted = int(lab["submitted_class"][compound])
            elif complete or (history.last.compound, history.last.event) == (compound, Event.PUBLISHED):
                asserted = int(lab["marginal"][compound].argmax())
            history.asserted[compound] = asserted
    history.in_review = frozenset(lab["decision_at"].nonzero()[0].tolist())


def _keep_prices(history: History, lab: Any, *, complete: bool) -> None:
    """Record which prices changed; after a gap it is not known how often they did."""
    prices = tuple(lab["price"].tolist())
    for verb, (old, new) in enumerate(zip(history.prices, prices, strict=False)):
        if old == new:
            continue
        if complete:
            history.prices_before[verb] = old
        else:
            history.prices_before.pop(verb, None)
    history.prices = prices


def is_fresh(lab: Any, step: Any) -> bool:
    """Return whether ``step`` produced this record; after a reset or ``set_state`` it did not."""
    closed = lab["slot"] == 0
    return bool(
        lab["last_action"] >= 0
        and step["action"] == lab["last_action"]
        and step["heartbeat"] == lab["heartbeat"] - closed
        and (closed or step["slot"] == lab["slot"] - 1)
        and step["episode"] == lab["episode"]
    )
