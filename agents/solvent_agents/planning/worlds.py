"""Worlds drawn from a lab's belief, and one action in them.

Lab records arrive with their hidden fields blank (``agent.without_truth``). ``draw_truth`` fills the blanks from the
belief: the instrument from ``p(instrument)``, each compound's class from ``p(class | instrument)``, which for a
compound without a plate in this lot is its marginal.

The draws of a world are addressed by the action and not by the time: the third plate of a compound shows the same
readouts whatever came before it, so two plans in one world meet the same luck (common random numbers). A finding pays
its expectation under the belief that stated it, which has the mean of the drawn score and far less variance.

Known approximations. The belief keeps only marginals from one lot to the next, so drawn worlds ignore dependence
between compounds through an older instrument. A base cost that differs from its ratings is believed to be mispriced
around them, by the reviewer's rules (``mechanisms/proposals.py``); after an approved proposal this can be stale.
Without proposals the fair cost is the price. Of findings that wait for their replication, those of a past project are
believed to be right.
"""

from __future__ import annotations

from solvent.lab.codes import Event
from solvent.lab.draws import fill_uniforms
from solvent.lab.dynamics import advance
from solvent.lab.mechanisms.assay import draw_class
from solvent.lab.mechanisms.energy import CEILING_THOUSANDTHS
from solvent.lab.mechanisms.proposals import FAIR_SPREAD, MISPRICED_LOW
from solvent.lab.mechanisms.publication import asserted_class, log_score
from solvent.lab.verbs import Verb

__all__ = ["advance_in_world", "draw_truth"]

AT_PLATE, AT_CALIBRATION, AT_LOT = 101, 102, 103
"""Purposes of the draws of a world."""
PUBLISHED, PUBLISH_PUBLIC = int(Event.PUBLISHED), int(Verb.PUBLISH_PUBLIC)
N_VERBS = len(Verb)


def draw_truth(lab, tables, uniforms):
    """Fill potency, instrument and fair costs from the belief; ``uniforms`` of shape ``(1 + M + V,)``."""
    n_compounds = lab.potency.shape[0]
    instrument = draw_class(lab.instrument_belief, uniforms[0])
    lab.instrument = instrument
    for m in range(n_compounds):
        lab.potency[m] = draw_class(lab.conditional[m, instrument], uniforms[1 + m])
        if tables.career.enabled:
            lab.due_wrong[0, m] = lab.due_at[0, m] != 0 and lab.potency[m] != lab.named[m]
    if tables.energy.enabled:
        for verb in range(lab.fair.shape[0]):
            lab.fair[verb] = believed_fair(lab.price[verb], verb, tables, uniforms[1 + n_compounds + verb])


def believed_fair(price, verb, tables, uniform):
    """Return a fair cost given the price: the price itself where it equals its ratings, else a draw around them."""
    base = tables.base_price[verb]
    if not tables.proposals.enabled or tables.mispriceable[verb] == 0 or price == base:
        return price
    nearest = 1.0 / FAIR_SPREAD
    fair = base * (nearest + (FAIR_SPREAD - nearest) * uniform)
    if price > base:
        fair = min(fair, CEILING_THOUSANDTHS / MISPRICED_LOW)
    return int(min(float(CEILING_THOUSANDTHS), max(float(tables.floor[verb]), fair)) + 0.5)


def advance_in_world(lab, action, key, tables, room):
    """Take an action with the luck of the world ``key`` and return the reward, bits, with findings at expectation."""
    verb, compound = tables.verb[action], tables.compound[action]
    draw_luck(lab, verb, compound, key, tables, room.uniforms)
    named, p = 0, 0.0
    if verb == PUBLISH_PUBLIC:
        named = asserted_class(lab, action, tables)
        p = lab.marginal[compound, named]
    reward = advance(lab, action, room.uniforms, tables, room.steps, (room.row, room.evidence))
    step = room.steps[0]
    # Where findings are replicated, the world's truth decides, since debt from a wrong one has consequences.
    if step.event == PUBLISHED and not tables.career.enabled:
        confidence, prior = tables.confidence[action], tables.prior[named]
        expected = p * log_score(confidence, prior, True) + (1.0 - p) * log_score(confidence, prior, False)
        reward += expected - step.published_bits
    return reward


def draw_luck(lab, verb, compound, key, tables, uniforms):
    """Draw the uniforms this action can need, as ``dynamics.draw_for_step`` does, at addresses of this world."""
    n_readouts = tables.readouts[verb]
    if compound >= 0 and n_readouts > 0:
        run = lab.experiments[compound]
        fill_uniforms(uniforms, n_readouts, key, compound * N_VERBS + verb, run, AT_PLATE)
    elif n_readouts > 0:
        fill_uniforms(uniforms, n_readouts, key, verb, lab.calibrations, AT_CALIBRATION)
    if (lab.heartbeat + 1) % tables.lot_heartbeats == 0:
        fresh = uniforms[lab.last_bins.shape[0] :]
        fill_uniforms(fresh, fresh.shape[0], key, 0, lab.heartbeat + 1, AT_LOT)
