"""The history of an episode as a viewer has seen it, since a record holds the last action only.

Histories are kept by the lab's place among those that are drawn and its random stream (``index``, ``key``,
``episode``), so one viewer can follow a vector of labs, also of labs that were seeded alike. A lab that was not drawn
at every action has gaps, which are shown as such. An action count that goes backwards, or wells that grow, begin a new
history. Where a heartbeat has several actions, each has its share of the hour.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any, NamedTuple

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.rendering.findings import Decision, JudgedFinding, decisions, judged_finding
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import TEMPLATES, Verb

NO_VERB = -1
LABS_REMEMBERED = 4096


class Beat(NamedTuple):
    """The lab after one action."""

    heartbeat: int
    wells: int
    debt: float
    verb: int  # the one that was tried; -1 at the start
    compound: int  # -1 for none
    event: int  # Event
    refusals: int  # so far
    step: int = 0  # actions so far
    began: float = 0.0  # heartbeats gone by when it was taken
    time: float = 0.0  # heartbeats gone by since
    energy: int = 0  # thousandths

    @property
    def place(self) -> int:
        """The heartbeat in which it was taken."""
        return int(self.began + 1e-9)


class Plate(NamedTuple):
    """The last plate that was read."""

    verb: Verb
    compound: int
    bins: tuple[int, ...]


@dataclasses.dataclass
class History:
    """One episode as far as it was seen."""

    beats: list[Beat]
    plate: Plate | None = None
    asserted: dict[int, int] = dataclasses.field(default_factory=dict)  # class of each compound's finding
    prices: tuple[int, ...] = ()  # of each verb when it was last seen, thousandths
    prices_before: dict[int, int] = dataclasses.field(default_factory=dict)  # its last change, by verb
    subject: int = -1  # the compound that was acted on last
    finding: JudgedFinding | None = None  # the one that was judged last
    decisions: list[Decision] = dataclasses.field(default_factory=list)
    in_review: frozenset[int] = frozenset()  # compounds, when the lab was seen last

    @property
    def last(self) -> Beat:
        """The lab now."""
        return self.beats[-1]


class HistoryBook:
    """The histories of all labs that one viewer draws."""

    def __init__(self, params: LabParams) -> None:
        self.params = params
        self.actions = action_table(params)
        self.histories: OrderedDict[tuple[int, int, int], History] = OrderedDict()

    def see(self, lab: Any, index: int = 0) -> History:
        """Return the history of the lab at ``index``, this record included."""
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
        if beat.step == history.last.step:
            history.beats.pop()
        if history.beats and beat.step == history.last.step + 1:
            beat = beat._replace(began=history.last.time)
        history.beats.append(beat)
        _keep_plate(history, lab)
        _keep_asserted(history, lab)
        _keep_prices(history, lab)
        if beat.compound >= 0:
            history.subject = beat.compound
        return history

    def judge(self, history: History, lab: Any, step: Any) -> None:
        """Note the finding that the step which brought the lab here judged, and the reviews that it decided."""
        history.finding = judged_finding(self.params, lab, step) or history.finding
        history.decisions += [made for made in decisions(lab, step) if made not in history.decisions]

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
            energy=int(lab["energy"]),
        )


def _keep_plate(history: History, lab: Any) -> None:
    bins = tuple(int(b) for b in lab["last_bins"] if b >= 0)
    if bins and history.last.verb in TEMPLATES:
        history.plate = Plate(Verb(history.last.verb), history.last.compound, bins)


def _keep_asserted(history: History, lab: Any) -> None:
    """Note the asserted class when a finding appears, since the belief may move on later.

    It was the most probable one, of a finding that a reader has approved when it was submitted.
    """
    for compound, published in enumerate(lab["published"]):
        if published:
            asserted = int(lab["submitted_class"][compound]) if compound in history.in_review else -1
            most_probable = int(lab["marginal"][compound].argmax())
            history.asserted.setdefault(compound, asserted if asserted >= 0 else most_probable)
        else:
            history.asserted.pop(compound, None)
    history.in_review = frozenset(lab["decision_at"].nonzero()[0].tolist())


def _keep_prices(history: History, lab: Any) -> None:
    """Note the prices that have changed since the lab was seen last; reviews fall as a heartbeat closes."""
    prices = tuple(lab["price"].tolist())
    for verb, (old, new) in enumerate(zip(history.prices, prices, strict=False)):
        if old != new:
            history.prices_before[verb] = old
    history.prices = prices


def is_fresh(lab: Any, step: Any) -> bool:
    """Return true if ``step`` brought the lab here; after a reset or ``set_state`` it did not."""
    closed = lab["slot"] == 0
    return bool(
        lab["last_action"] >= 0
        and step["action"] == lab["last_action"]
        and step["heartbeat"] == lab["heartbeat"] - closed
        and (closed or step["slot"] == lab["slot"] - 1)
        and step["episode"] == lab["episode"]
    )
