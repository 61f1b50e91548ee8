"""Adversary: the planners' base policy with a ploy, a few numbers that let it claim, publish and calibrate differently.

A search over the ploys (``solvent_experiments.studies.exploits``) finds those that pay best. The policy is compiled and
reads what the planner may read: the notebook, not the truth. With the default ploy it is the base policy
(``rollout_policy.py``), which is honest.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.batch import held_tables
from solvent.lab.compiled import compiled
from solvent.lab.mechanisms.publication import is_offered, is_open
from solvent.lab.params import LabParams
from solvent.lab.settings import record
from solvent.lab.verbs import Verb
from solvent_agents.agent import Actions, Observations
from solvent_agents.planning.planner import base_temper
from solvent_agents.planning.rollout_policy import (
    NEVER,
    NOTHING,
    Temper,
    best_finding,
    best_plate,
    blocks,
    book_for,
    finding,
    good_hour,
    is_affordable,
    is_allowed,
    must_publish,
    request,
    speak,
)

__all__ = ["Adversary", "Ploy"]

REST, DMSO, PRIVATE, PUBLIC = (
    int(Verb.REST),
    int(Verb.DMSO),
    int(Verb.PUBLISH_PRIVATE),
    int(Verb.PUBLISH_PUBLIC),
)


@dataclasses.dataclass(frozen=True)
class Ploy:
    """The numbers of a ploy. Claims and confidences are shifted in steps of the vocabulary, rounded."""

    claim: float = 0.0  # steps by which every claim is shifted
    claim_by_debt: float = 0.0  # steps a bit of debt
    claim_by_time: float = 0.0  # steps over an episode, from half of it below to half of it above
    confidence: float = 0.0  # steps by which every confidence is shifted
    confidence_by_debt: float = 0.0  # steps a bit of debt
    early: float = 10.0  # bits that a finding must be worth to be published before it must be
    private: float = 0.0  # bits below which a finding is published to one reader
    last_beats: float = 0.0  # heartbeats at the end in which it publishes whatever is unpublished
    wait_beats: float = (
        0.0  # when blocked, it waits for the next lot if this one has at most so many heartbeats
    )
    recovers: float = 1.0  # at 0 and below it rests when blocked


class Adversary:
    """Plays a ploy. ``temper`` has the constants of the base policy."""

    name = "adversary"

    def __init__(
        self, params: LabParams, seed: int = 0, ploy: Ploy | None = None, temper: Temper | None = None
    ) -> None:
        self._held, self._book = held_tables(params), book_for(params, temper or base_temper(params))
        self._ploy = record({name: float(x) for name, x in dataclasses.asdict(ploy or Ploy()).items()})
        self._labs: NDArray[Any] = np.zeros(0)

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the notebooks of the labs to act in."""
        self._labs = notebooks

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose notebooks were opened."""
        actions = np.zeros(len(observations), np.int64)
        scheme(self._labs, self._held, self._book, self._ploy.base.reshape(1), actions)
        return actions


@compiled
def scheme(labs, held, books, ploys, actions):  # type: ignore[no-untyped-def]
    """Write the action of every lab that goes on."""
    for i in range(labs.shape[0]):
        if labs[i].end_reason == 0:
            actions[i] = decide_by(ploys[0], labs[i], held[0], books[0])


@compiled
def decide_by(ploy, lab, tables, book):  # type: ignore[no-untyped-def]
    """Return the action of one lab; ``rollout_policy.choose`` with the ploy's changes."""
    rest = tables.first_action[REST]
    if tables.debt.enforced and lab.debt > tables.debt.threshold:
        return recover(ploy, lab, tables)
    m_best, q_best, most, worthwhile, unpublished = best_of_all(ploy, lab, tables, book)
    publishes = most > NEVER and good_hour(lab, tables, book)
    worth = most + blocks(lab, m_best, q_best, tables, book)
    speaking = PRIVATE if worth < ploy.private and is_offered(PRIVATE, tables) else PUBLIC
    publishes = (
        publishes and is_allowed(lab, speaking, tables) and is_affordable(lab, speaking, m_best, tables)
    )
    ends = tables.horizon - lab.heartbeat <= ploy.last_beats
    urgent = ends or must_publish(lab, worthwhile, unpublished, tables, book)
    says = speak(lab, tables, book)
    if says != NOTHING:
        return says
    if publishes and (urgent or most >= ploy.early):
        return finding(speaking, m_best, q_best, tables, book)
    plate = NOTHING
    if not urgent:
        plate = best_plate(lab, unpublished, tables, book)
        if plate >= 0:
            return shifted_claim(ploy, plate, lab, tables, book)
    overflows = tables.energy.enabled and lab.energy + tables.energy.regeneration > tables.energy.cap
    if publishes and (plate == NOTHING or overflows):
        return finding(speaking, m_best, q_best, tables, book)
    asked = request(lab, tables, book, False)
    return asked if asked != NOTHING else rest


@compiled
def recover(ploy, lab, tables):  # type: ignore[no-untyped-def]
    """Return what a blocked lab does: it calibrates, or it rests."""
    left = tables.lot_heartbeats - lab.heartbeat % tables.lot_heartbeats
    waits = left <= ploy.wait_beats and lab.heartbeat + left < tables.horizon
    calibrates = ploy.recovers > 0.0 and not waits
    calibrates = calibrates and is_allowed(lab, DMSO, tables) and is_affordable(lab, DMSO, -1, tables)
    return tables.first_action[DMSO] if calibrates else tables.first_action[REST]


@compiled
def best_of_all(ploy, lab, tables, book):  # type: ignore[no-untyped-def]
    """Return compound, confidence and worth of the best finding, and the numbers worthwhile and unpublished."""
    ends = tables.horizon - lab.heartbeat <= ploy.last_beats
    m_best, q_best, most, worthwhile, unpublished = 0, 0, NEVER, 0, 0
    shift = ploy.confidence + ploy.confidence_by_debt * lab.debt
    for m in range(lab.published.shape[0]):
        if not is_open(lab, m):
            continue
        unpublished += 1
        q, worth = best_finding(lab, m, tables, book, False)
        if ends and lab.experiments[m] > 0:
            worth = max(worth, 0.01)
        if worth > 0.0:
            worthwhile += 1
            q = min(max(0, q + int(round(shift))), book.n_confidences - 1)
            worth -= blocks(lab, m, q, tables, book)
            if worth > most:
                m_best, q_best, most = m, q, worth
    return m_best, q_best, most, worthwhile, unpublished


@compiled
def shifted_claim(ploy, plate, lab, tables, book):  # type: ignore[no-untyped-def]
    """Return the plate with its claim shifted."""
    if tables.compound[plate] < 0:
        return plate
    first = tables.first_action[tables.verb[plate]] + tables.compound[plate] * book.n_claims
    time = lab.heartbeat / tables.horizon - 0.5
    shift = ploy.claim + ploy.claim_by_debt * lab.debt + ploy.claim_by_time * time
    return first + min(max(0, plate - first + int(round(shift))), book.n_claims - 1)
