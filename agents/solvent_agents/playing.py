"""Playing on: one more action in a lab's record, and an episode to its end under the base policy.

A played-out world has luck of its own, addressed by what is done and not by when: the third plate of a compound shows
the same readouts whatever was done before it, so that two plans in one world meet the same luck (common random
numbers). A finding is paid for by its expectation under the belief that it was stated with, instead of by the drawn
class: the same in expectation, without most of its luck. Who knows the truth gets what it gets.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.codes import Event
from solvent.lab.compiled import compiled
from solvent.lab.draws import fill_uniforms
from solvent.lab.dynamics import advance
from solvent.lab.mechanisms.publication import log_score, most_probable, share_of
from solvent.lab.verbs import Verb

__all__ = ["advance_in_world", "advance_once", "right_with"]

AT_PLATE, AT_CALIBRATION, AT_LOT = 101, 102, 103
"""Purposes of the draws of a played-out world."""

PUBLISHED = int(Event.PUBLISHED)
N_VERBS = len(Verb)


@compiled
def advance_once(lab, action, uniforms, tables, steps, scratch):  # type: ignore[no-untyped-def]
    """``solvent.lab.dynamics.advance``, compiled once for all that call it from here."""
    return advance(lab, action, uniforms, tables, steps, scratch)


@compiled
def right_with(lab, compound, named, knows):  # type: ignore[no-untyped-def]
    """Probability that a finding is right which names this class: by the belief, or as who knows the truth knows it."""
    if knows:
        return 1.0 if lab.potency[compound] == named else 0.0
    return lab.marginal[compound, named]


@compiled
def advance_in_world(  # type: ignore[no-untyped-def]
    lab, action, key, tables, knows, uniforms, steps, scratch
):
    """Take an action with the luck of the world ``key``; return the reward in bits, its findings at expectation."""
    verb, compound = tables.verb[action], tables.compound[action]
    draw_luck(lab, verb, compound, key, tables, uniforms)
    named, p = 0, 0.0
    if tables.audience[verb] != 0:
        named = most_probable(lab.marginal[compound])
        p = right_with(lab, compound, named, knows)
    reward = advance_once(lab, action, uniforms, tables, steps, scratch)
    step = steps[0]
    reward -= step.published_bits
    if step.event == PUBLISHED:
        reward += expected_score(verb, named, tables.confidence[action], p, tables)
    if tables.gate.enabled and step.approved != 0:
        for m in range(lab.published.shape[0]):
            if (step.approved >> np.uint64(m)) & np.uint64(1):
                named = lab.submitted_class[m]
                p = right_with(lab, m, named, knows)
                said = lab.submitted_confidence[m]
                reward += expected_score(lab.submitted_verb[m], named, said, p, tables)
    return reward


@compiled
def expected_score(verb, named, confidence, p, tables):  # type: ignore[no-untyped-def]
    """What a finding pays that is right with probability ``p``, bits."""
    right = log_score(confidence, tables.prior[named], True)
    wrong = log_score(confidence, tables.prior[named], False)
    return share_of(verb, tables) * (p * right + (1.0 - p) * wrong)


@compiled
def draw_luck(lab, verb, compound, key, tables, uniforms):  # type: ignore[no-untyped-def]
    """Draw what this action can need, as ``solvent.lab.dynamics.draw_for_step`` does, at addresses of its own."""
    n_readouts = tables.readouts[verb]
    if compound >= 0 and n_readouts > 0:
        run = lab.experiments[compound]
        fill_uniforms(uniforms, n_readouts, key, compound * N_VERBS + verb, run, AT_PLATE)
    elif n_readouts > 0:
        fill_uniforms(uniforms, n_readouts, key, verb, lab.calibrations, AT_CALIBRATION)
    if (lab.heartbeat + 1) % tables.lot_heartbeats == 0:
        fill_uniforms(uniforms[uniforms.shape[0] - 1 :], 1, key, 0, lab.heartbeat + 1, AT_LOT)
