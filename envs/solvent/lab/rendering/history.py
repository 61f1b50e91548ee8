"""What a viewer remembers of an episode: a record holds the last action only, a chart wants those before it.

Histories are kept by the lab's place among those that are drawn and its random stream (``index``, ``key``,
``episode``), so one viewer can follow a vector of labs, those that are seeded alike included. A lab that was
not drawn at every action has gaps, which are shown as such. An action count that goes backwards, or wells that
grow, begin a new history. Where a heartbeat has several actions, each has its share of the hour.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any, NamedTuple

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.rendering.said import Decision, Said, hear
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import TEMPLATES, Verb

__all__ = ["Beat", "Change", "History", "HistoryBook", "Plate"]

NO_VERB = -1
LABS_REMEMBERED = 4096


class Beat(NamedTuple):
    """The lab after one action."""

    heartbeat: int
    wells: int
    debt: float
    verb: int  # what was tried; -1 at the start
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


class Change(NamedTuple):
    """A price that a review has changed; thousandths."""

    heartbeat: int
    old: int
    new: int


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
    findings: dict[int, int] = dataclasses.field(
        default_factory=dict
    )  # compound -> class it was published as
    prices: tuple[int, ...] = ()  # of each verb when it was last seen, thousandths
    changes: dict[int, Change] = dataclasses.field(default_factory=dict)  # verb -> how its price changed last
    subject: int = -1  # the compound that was acted on last
    said: Said | None = None  # the finding that was judged last
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
        self.start_wells = params.budget.wells
        self.slots = params.slots
        self.priced = params.energy.enabled
        self.start_energy = in_thousandths(params.energy.start) if self.priced else 0
        self.histories: OrderedDict[tuple[int, int, int], History] = OrderedDict()

    def see(self, lab: Any, index: int = 0) -> History:
        """The history of the lab at ``index``, this record included."""
        beat = self._beat(lab)
        which = (index, int(lab["key"]), int(lab["episode"]))
        history = self.histories.get(which)
        if history is None or beat.step < history.last.step or beat.wells > history.last.wells:
            start = Beat(0, self.start_wells, float(lab["debt_at_start"]), NO_VERB, -1, 0, 0)
            history = self.histories[which] = History([start._replace(energy=self.start_energy)])
        self.histories.move_to_end(which)
        while len(self.histories) > LABS_REMEMBERED:
            self.histories.popitem(last=False)
        if beat.step == history.last.step:
            history.beats.pop()
        if history.beats and beat.step == history.last.step + 1:
            beat = beat._replace(began=history.last.time)
        history.beats.append(beat)
        self._keep_plate(history, lab, beat)
        self._keep_findings(history, lab)
        self._keep_prices(history, lab)
        if beat.compound >= 0:
            history.subject = beat.compound
        return history

    def hear(self, history: History, lab: Any, step: Any) -> None:
        """Note what the step that brought the lab here said at the gate."""
        if self.params.gate.enabled:
            hear(self.params, history, lab, step)

    def _beat(self, lab: Any) -> Beat:
        index = int(lab["last_action"])
        heartbeat, slot = int(lab["heartbeat"]), int(lab["slot"])
        time = heartbeat + slot / self.slots
        row = self.actions[index] if index >= 0 else None
        return Beat(
            heartbeat=heartbeat,
            wells=int(lab["wells"]),
            debt=float(lab["debt"]),
            verb=NO_VERB if row is None else int(row["verb"]),
            compound=-1 if row is None else int(row["compound"]),
            event=int(lab["last_event"]),
            refusals=int(lab["refusals"].sum()),
            step=int(lab["steps"]) if self.slots > 1 else heartbeat,
            began=time - (1 / self.slots if slot else 1.0),
            time=time,
            energy=int(lab["energy"]),
        )

    def _keep_plate(self, history: History, lab: Any, beat: Beat) -> None:
        bins = tuple(int(b) for b in lab["last_bins"] if b >= 0)
        if bins and beat.verb in TEMPLATES:
            history.plate = Plate(Verb(beat.verb), beat.compound, bins)

    def _keep_findings(self, history: History, lab: Any) -> None:
        """Note the class that was named when a finding appeared, since the belief may move on later.

        It was the most probable one, of a finding that a reader has approved when it was submitted.
        """
        for compound, published in enumerate(lab["published"]):
            if published:
                named = lab["submitted_class"][compound] if compound in history.in_review else -1
                named = named if named >= 0 else lab["marginal"][compound].argmax()
                history.findings.setdefault(compound, int(named))
            else:
                history.findings.pop(compound, None)
        if self.params.gate.enabled:
            history.in_review = frozenset(lab["decision_at"].nonzero()[0].tolist())

    def _keep_prices(self, history: History, lab: Any) -> None:
        """Note the prices that have changed since the lab was seen last; reviews fall as a heartbeat closes."""
        if not self.priced:
            return
        prices = tuple(lab["price"].tolist())
        if prices != history.prices:
            for verb, (old, new) in enumerate(zip(history.prices, prices, strict=False)):
                if old != new:
                    history.changes[verb] = Change(int(lab["heartbeat"]), old, new)
            history.prices = prices
