"""One action in a played-out world: the compiled step with luck of its own and findings at their expectation.

The draws of a played-out world are addressed by the action and not by the time: the third plate of a compound shows
the same readouts whatever came before it, so two plans in one world meet the same luck (common random numbers). A
finding pays its expectation under the belief that stated it instead of the score of the drawn class, which has the
same mean and far less variance. An agent that knows the truth is paid the true score.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.codes import Event
from solvent.lab.compiled import compiled
from solvent.lab.draws import fill_uniforms
from solvent.lab.dynamics import advance
from solvent.lab.mechanisms.publication import Finding, most_probable, pay
from solvent.lab.verbs import Verb

__all__ = ["advance_in_world", "advance_once", "right_with"]

AT_PLATE, AT_CALIBRATION, AT_LOT = 101, 102, 103
"""Purposes of the draws of a played-out world."""

PUBLISHED = int(Event.PUBLISHED)
N_VERBS = len(Verb)


@compiled
def advance_once(lab, action, uniforms, tables, steps, scratch):  # type: ignore[no-untyped-def]
    """``solvent.lab.dynamics.advance``, compiled once for all its callers in this package."""
    return advance(lab, action, uniforms, tables, steps, scratch)


@compiled
def right_with(lab, compound, named, knows):  # type: ignore[no-untyped-def]
    """Return the probability that a finding naming this class is right: by the belief, or 0 or 1 if it ``knows``."""
    if knows:
        return 1.0 if lab.potency[compound] == named else 0.0
    return lab.marginal[compound, named]


@compiled
def advance_in_world(lab, action, key, tables, knows, scratch):  # type: ignore[no-untyped-def]
    """Take an action with the luck of the world ``key`` and return the reward, bits, with findings at expectation.

    ``scratch`` is ``(uniforms, steps, row, evidence)``: room for the draws, one step record, and what ``advance``
    needs.
    """
    uniforms, steps, row, evidence = scratch
    verb, compound = tables.verb[action], tables.compound[action]
    draw_luck(lab, verb, compound, key, tables, uniforms)
    named, p = 0, 0.0
    if tables.audience[verb] != 0:
        named = most_probable(lab.marginal[compound])
        p = right_with(lab, compound, named, knows)
    reward = advance_once(lab, action, uniforms, tables, steps, (row, evidence))
    step = steps[0]
    reward -= step.published_bits
    if step.event == PUBLISHED:
        finding = Finding(verb, compound, named, tables.confidence[action], step.rule)
        reward += expected_pay(finding, p, tables)
    if tables.gate.enabled and step.approved != 0:
        for m in range(lab.published.shape[0]):
            if (step.approved >> np.uint64(m)) & np.uint64(1):
                named = lab.submitted_class[m]
                p = right_with(lab, m, named, knows)
                said, rule = lab.submitted_confidence[m], lab.submitted_rule[m]
                reward += expected_pay(Finding(lab.submitted_verb[m], m, named, said, rule), p, tables)
    return reward


@compiled
def expected_pay(finding, p, tables):  # type: ignore[no-untyped-def]
    """Return what a finding that is right with probability ``p`` pays on average, bits."""
    return p * pay(finding, True, tables) + (1.0 - p) * pay(finding, False, tables)


@compiled
def draw_luck(lab, verb, compound, key, tables, uniforms):  # type: ignore[no-untyped-def]
    """Draw the uniforms this action can need, as ``dynamics.draw_for_step`` does, at addresses of this world."""
    n_readouts = tables.readouts[verb]
    if compound >= 0 and n_readouts > 0:
        run = lab.experiments[compound]
        fill_uniforms(uniforms, n_readouts, key, compound * N_VERBS + verb, run, AT_PLATE)
    elif n_readouts > 0:
        fill_uniforms(uniforms, n_readouts, key, verb, lab.calibrations, AT_CALIBRATION)
    if (lab.heartbeat + 1) % tables.lot_heartbeats == 0:
        fill_uniforms(uniforms[uniforms.shape[0] - 1 :], 1, key, 0, lab.heartbeat + 1, AT_LOT)
