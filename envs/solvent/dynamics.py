"""One step of the lab: the order in which the mechanisms act.

``advance`` is a deterministic function of (lab, action, uniforms). Randomness is drawn before it is called,
so a step can be computed by hand, its outcomes can be forced, and a vector of labs equals the single ones
bit for bit. The mechanisms are in ``mechanisms/``; this is the only module that brings them together with
the record of ``state.py``.

Letters as in ``state.py``. Compiled by numba; with ``NUMBA_DISABLE_JIT=1`` the same text runs as Python.
"""

from __future__ import annotations

import numpy as np

from solvent.actions import Verb
from solvent.compiled import compiled, inlined
from solvent.draws import AT_READOUTS, AT_RESET, fill_uniforms
from solvent.mechanisms.assay import draw_bin
from solvent.mechanisms.belief import (
    condition_compound,
    condition_instrument,
    entropy_bits,
    marginalise,
    multiply_rows,
)
from solvent.mechanisms.debt import (
    NOT_REFUSED,
    decide,
    is_bankrupt,
    licence_credit,
    overclaim,
    repayment,
    wells_charged,
)
from solvent.mechanisms.publication import asserted_bits, log_score, most_probable
from solvent.observation import write_observation
from solvent.state import EndReason, Event

__all__ = ["advance", "begin", "begin_labs", "show_labs", "step_labs"]

# Plain integers: members of an IntEnum are slow in plain Python and the compiler freezes these.
REST, PUBLISH_PRIVATE, PUBLISH_PUBLIC, TERMINATE = (
    int(Verb.REST),
    int(Verb.PUBLISH_PRIVATE),
    int(Verb.PUBLISH_PUBLIC),
    int(Verb.TERMINATE),
)
RESTED, CALIBRATED, EXPLORED, PUBLISHED, REJECTED, REFUSED, NOT_EXECUTED = (
    int(Event.RESTED),
    int(Event.CALIBRATED),
    int(Event.EXPLORED),
    int(Event.PUBLISHED),
    int(Event.REJECTED),
    int(Event.REFUSED),
    int(Event.NOT_EXECUTED),
)
HORIZON, EXHAUSTED, BANKRUPT, TERMINATED_BY_AGENT = (
    int(EndReason.HORIZON),
    int(EndReason.EXHAUSTED),
    int(EndReason.BANKRUPT),
    int(EndReason.TERMINATED_BY_AGENT),
)


# -- one step ----------------------------------------------------------------------------------


@inlined
def advance(lab, action, uniforms, tables, step, joint, evidence):  # type: ignore[no-untyped-def]
    """Move ``lab`` by one heartbeat and write into ``step`` what happened; return the reward in bits.

    ``uniforms`` of shape ``(R + 1,)``: one a readout, the last for a new reagent lot. ``joint`` of shape
    ``(N, G)`` and ``evidence`` of shape ``(N,)`` are scratch space.
    """
    verb = tables.verb[action]
    compound = tables.compound[action]
    open_step(lab, action, verb, tables, step)

    if step.refusal != NOT_REFUSED:
        refuse(lab, step)
    elif verb == REST or verb == TERMINATE:
        step.event = RESTED
    elif verb == PUBLISH_PRIVATE or verb == PUBLISH_PUBLIC:
        publish(lab, verb, compound, tables.confidence[action], tables, step)
    elif tables.is_calibration[verb]:
        calibrate(lab, verb, uniforms, tables, step)
    else:
        explore(lab, verb, compound, tables.claim[action], uniforms, tables, step, joint, evidence)

    close_heartbeat(lab, uniforms, tables, step)
    return close_step(lab, verb, tables, step)


@inlined
def open_step(lab, action, verb, tables, step):  # type: ignore[no-untyped-def]
    """Write down what is to be done and decide whether it may be."""
    reason, inflated, by_threshold, by_cost, by_reserve = NOT_REFUSED, 0.0, False, False, False
    if verb != REST and verb != TERMINATE:
        reason, inflated, by_threshold, by_cost, by_reserve = decide(
            tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
        )
    clear_step(step)
    step.action = action
    step.heartbeat = lab.heartbeat
    step.episode = lab.episode
    step.executed = reason == NOT_REFUSED
    step.refusal = reason
    step.blocked_by_threshold = by_threshold
    step.blocked_by_cost = by_cost
    step.blocked_by_reserve = by_reserve
    step.debt_before = lab.debt
    step.wells_before = lab.wells
    step.inflated_cost = inflated
    for r in range(lab.last_bins.shape[0]):
        lab.last_bins[r] = -1


@inlined
def clear_step(step):  # type: ignore[no-untyped-def]
    """Nothing was done: so a step is reported that only began an episode, and so every step starts."""
    step.action = -1
    step.heartbeat = 0
    step.episode = 0
    step.blocked_by_threshold = False
    step.blocked_by_cost = False
    step.blocked_by_reserve = False
    step.debt_before = 0.0
    step.wells_before = 0
    step.inflated_cost = 0.0
    step.executed = False
    step.event = 0
    step.refusal = 0
    step.wells_charged = 0
    step.claim = 0.0
    step.gain = 0.0
    step.debt_added = 0.0
    step.debt_repaid = 0.0
    step.licence_added = 0.0
    step.published_bits = 0.0
    step.right = False
    step.settled = 0.0
    step.terminated = False
    step.truncated = False


@inlined
def refuse(lab, step):  # type: ignore[no-untyped-def]
    """A refused action costs nothing but the heartbeat."""
    step.event = REFUSED
    lab.refusals[step.refusal - 1] += 1
    lab.refusals_in_a_row += 1


@compiled
def charge(lab, step):  # type: ignore[no-untyped-def]
    """Take the inflated wells off the budget."""
    step.wells_charged = wells_charged(step.inflated_cost)
    lab.wells -= step.wells_charged
    lab.wells_spent += step.wells_charged


@compiled
def add_debt(lab, bits, step):  # type: ignore[no-untyped-def]
    """Take on debt."""
    step.debt_added = bits
    lab.debt += bits
    lab.debt_added += bits
    lab.debt_peak = max(lab.debt_peak, lab.debt)


@compiled
def repay_debt(lab, bits, step):  # type: ignore[no-untyped-def]
    """Pay back debt, never below zero."""
    paid = min(lab.debt, bits)
    step.debt_repaid += paid
    lab.debt -= paid
    lab.debt_repaid += paid


@inlined
def calibrate(lab, verb, uniforms, tables, step):  # type: ignore[no-untyped-def]
    """Vehicle wells: learn about the instrument, repay debt."""
    charge(lab, step)
    before = lab.instrument_entropy
    for r in range(tables.readouts[verb]):
        observed = draw_bin(tables.control_cumulative[verb, lab.instrument], uniforms[r])
        lab.last_bins[r] = observed
        condition_instrument(lab.instrument_belief, tables.control_likelihood[verb, observed])
    refresh_belief(lab)
    step.event = CALIBRATED
    step.gain = before - lab.instrument_entropy
    lab.calibrations += 1
    repay_debt(lab, repayment(tables.debt, step.gain), step)


@inlined
def explore(lab, verb, compound, claim, uniforms, tables, step, joint, evidence):  # type: ignore[no-untyped-def]
    """A plate of a compound: the claim is held against what the posterior really gained."""
    charge(lab, step)
    before = lab.entropy[compound]
    lowest = lab.lowest_entropy[compound]
    conditional = lab.conditional[compound]
    for n in range(joint.shape[0]):
        for g in range(joint.shape[1]):
            joint[n, g] = conditional[n, g]
    truth = lab.potency[compound]
    for r in range(tables.readouts[verb]):
        cumulative = tables.dose_cumulative[verb, r, lab.instrument, truth]
        observed = draw_bin(cumulative, uniforms[r])
        lab.last_bins[r] = observed
        multiply_rows(joint, tables.dose_likelihood[verb, r, observed])
    condition_compound(conditional, lab.instrument_belief, joint, evidence)
    lab.coupled[compound] = 1
    refresh_belief(lab)

    step.event = EXPLORED
    step.claim = claim
    step.gain = before - lab.entropy[compound]
    add_debt(lab, overclaim(claim, step.gain), step)
    if step.debt_added == 0.0:
        repay_debt(lab, tables.debt.repay_for_accuracy * claim, step)
    step.licence_added = licence_credit(claim, lowest, lab.entropy[compound])
    lab.licence[compound] += step.licence_added
    lab.experiments[compound] += 1
    lab.claimed += claim
    lab.gained += step.gain


@inlined
def publish(lab, verb, compound, confidence, tables, step):  # type: ignore[no-untyped-def]
    """Assert a compound's most probable class. An assertion is a claim too: what is not licensed becomes debt."""
    if lab.published[compound] != 0:
        step.executed = False
        step.event = NOT_EXECUTED
        lab.not_executed += 1
        return
    asserted = most_probable(lab.marginal[compound])
    prior = tables.prior[asserted]
    step.claim = asserted_bits(confidence, prior)
    add_debt(lab, overclaim(step.claim, lab.licence[compound]), step)
    if lab.experiments[compound] == 0:
        step.event = REJECTED
        lab.rejected += 1
        return
    right = asserted == lab.potency[compound]
    share = tables.private_share if verb == PUBLISH_PRIVATE else 1.0
    step.event = PUBLISHED
    step.right = right
    step.published_bits = share * log_score(confidence, prior, right)
    lab.published_bits += step.published_bits
    lab.published[compound] = 1 if verb == PUBLISH_PRIVATE else 2
    lab.accepted += 1
    if not right:
        lab.wrong += 1


@compiled
def refresh_belief(lab):  # type: ignore[no-untyped-def]
    """Entropy of the instrument, and marginals of those compounds that depend on it."""
    lab.instrument_entropy = entropy_bits(lab.instrument_belief)
    for m in range(lab.entropy.shape[0]):
        if lab.coupled[m]:
            lab.entropy[m] = marginalise(lab.marginal[m], lab.conditional[m], lab.instrument_belief)
            lab.lowest_entropy[m] = min(lab.lowest_entropy[m], lab.entropy[m])


@inlined
def close_heartbeat(lab, uniforms, tables, step):  # type: ignore[no-untyped-def]
    """The clock moves: books of the heartbeat, forgiveness by time, a new reagent lot where one is due."""
    lab.last_event = step.event
    lab.last_action = step.action
    if step.executed:
        lab.refusals_in_a_row = 0
    if tables.debt.decay_per_heartbeat > 0.0:
        repay_debt(lab, tables.debt.decay_per_heartbeat * lab.debt, step)
    if lab.debt > tables.debt.threshold:
        lab.beats_over_threshold += 1
        lab.streak_over_threshold += 1
        lab.longest_streak = max(lab.longest_streak, lab.streak_over_threshold)
    else:
        lab.streak_over_threshold = 0
    lab.heartbeat += 1
    if lot_is_due(lab, tables):
        change_lot(lab, uniforms[uniforms.shape[0] - 1], tables)


@compiled
def lot_is_due(lab, tables):  # type: ignore[no-untyped-def]
    """Whether a new reagent lot arrives at this heartbeat."""
    return lab.heartbeat % tables.lot_heartbeats == 0 and lab.heartbeat < tables.horizon


@compiled
def change_lot(lab, uniform, tables):  # type: ignore[no-untyped-def]
    """A new instrument: what was learnt about it is void.

    What was learnt about each compound stays as its marginal.
    """
    n_states = lab.instrument_belief.shape[0]
    lab.instrument = int(uniform * n_states)
    for n in range(n_states):
        lab.instrument_belief[n] = tables.instrument_prior[n]
    lab.instrument_entropy = tables.instrument_prior_entropy
    for m in range(lab.coupled.shape[0]):
        if lab.coupled[m]:
            lab.coupled[m] = 0
            for n in range(n_states):
                for g in range(lab.marginal.shape[1]):
                    lab.conditional[m, n, g] = lab.marginal[m, g]


@inlined
def close_step(lab, verb, tables, step):  # type: ignore[no-untyped-def]
    """Whether the episode is over, and the reward: bits published less debt settled."""
    reason = 0
    if is_bankrupt(tables.debt, lab.debt, lab.wells, lab.refusals_in_a_row):
        if tables.debt.reset_bankrupt:
            settle(lab, step)
            lab.bankruptcies += 1
            lab.refusals_in_a_row = 0
        else:
            reason = BANKRUPT
    if verb == TERMINATE:
        reason = TERMINATED_BY_AGENT
    elif reason == 0 and not anything_can_execute(lab, tables):
        reason = EXHAUSTED
    if reason == 0 and lab.heartbeat >= tables.horizon:
        reason = HORIZON
    if reason != 0:
        lab.end_reason = reason
        step.terminated = reason != HORIZON
        step.truncated = reason == HORIZON
        if tables.debt.enforced and not tables.debt.carry_debt:
            lab.settled_at_end = lab.debt
            settle(lab, step)
    reward = step.published_bits - step.settled
    lab.score += reward
    return reward


@compiled
def settle(lab, step):  # type: ignore[no-untyped-def]
    """Settle the debt from the score."""
    step.settled += lab.debt
    lab.settled += lab.debt
    lab.debt = 0.0


@compiled
def anything_can_execute(lab, tables):  # type: ignore[no-untyped-def]
    """Whether anything but resting can run, now or, where time or a run of refusals ends the debt, ever again."""
    rules = tables.debt
    forgiven = rules.decay_per_heartbeat > 0.0 or (
        rules.reset_bankrupt and rules.bankruptcy_after_refusals > 0
    )
    debt = 0.0 if forgiven else lab.debt
    for verb in range(tables.wells.shape[0]):
        if tables.wells[verb] > 0:
            reason, _, _, _, _ = decide(
                rules, debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
            )
            if reason == NOT_REFUSED:
                return True
    reason, _, _, _, _ = decide(rules, debt, 0, lab.wells, False)
    if reason != NOT_REFUSED:
        return False
    for m in range(lab.published.shape[0]):
        if lab.published[m] == 0:
            return True
    return False


# -- episodes ----------------------------------------------------------------------------------


@compiled
def begin(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """Start the episode ``lab.episode`` of the stream ``lab.key``.

    ``lab.debt`` holds the debt that is carried over.

    ``uniforms`` of shape ``(M + 1,)``: one a compound, the last for the instrument.
    """
    n_compounds = lab.potency.shape[0]
    n_states = lab.instrument_belief.shape[0]
    n_classes = lab.marginal.shape[1]
    for m in range(n_compounds):
        lab.potency[m] = draw_class(tables.prior, uniforms[m])
        lab.entropy[m] = tables.prior_entropy
        lab.lowest_entropy[m] = tables.prior_entropy
        lab.coupled[m] = 0
        lab.licence[m] = 0.0
        lab.experiments[m] = 0
        lab.published[m] = 0
        for g in range(n_classes):
            lab.marginal[m, g] = tables.prior[g]
        for n in range(n_states):
            for g in range(n_classes):
                lab.conditional[m, n, g] = tables.prior[g]
    lab.instrument = int(uniforms[n_compounds] * n_states)
    for n in range(n_states):
        lab.instrument_belief[n] = tables.instrument_prior[n]
    lab.instrument_entropy = tables.instrument_prior_entropy

    lab.heartbeat = 0
    lab.wells = tables.start_wells
    lab.last_event = 0
    lab.last_action = -1
    for r in range(lab.last_bins.shape[0]):
        lab.last_bins[r] = -1

    lab.debt_at_start = lab.debt
    lab.debt_peak = lab.debt
    lab.score = 0.0
    lab.published_bits = 0.0
    lab.settled = 0.0
    lab.settled_at_end = 0.0
    lab.debt_added = 0.0
    lab.debt_repaid = 0.0
    lab.claimed = 0.0
    lab.gained = 0.0
    lab.wells_spent = 0
    lab.accepted = 0
    lab.wrong = 0
    lab.rejected = 0
    lab.not_executed = 0
    for reason in range(lab.refusals.shape[0]):
        lab.refusals[reason] = 0
    lab.refusals_in_a_row = 0
    lab.calibrations = 0
    lab.bankruptcies = 0
    lab.beats_over_threshold = 0
    lab.streak_over_threshold = 0
    lab.longest_streak = 0
    lab.end_reason = 0


@compiled
def draw_class(prior, uniform):  # type: ignore[no-untyped-def]
    """The class into which ``uniform`` in [0, 1) falls under ``prior``."""
    cumulative = 0.0
    for g in range(prior.shape[0] - 1):
        cumulative += prior[g]
        if uniform < cumulative:
            return g
    return prior.shape[0] - 1


@compiled
def begin_drawn(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """Draw the hidden world of this episode from the lab's stream and start it."""
    fill_uniforms(uniforms, lab.potency.shape[0] + 1, lab.key, lab.episode, 0, AT_RESET)
    begin(lab, tables, uniforms)


@compiled
def begin_next(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """Start the next episode of the same stream."""
    lab.episode += 1
    if not tables.debt.carry_debt:
        lab.debt = 0.0
    begin_drawn(lab, tables, uniforms)


# -- vectors of labs ---------------------------------------------------------------------------


@compiled
def begin_labs(labs, chosen, fresh, tables, observations, masks):  # type: ignore[no-untyped-def]
    """Start an episode in the labs that are ``chosen``.

    ``fresh`` ones begin their stream, the others go on in it.
    """
    uniforms = np.empty(labs[0].potency.shape[0] + 1)
    for i in range(labs.shape[0]):
        if not chosen[i]:
            continue
        lab = labs[i]
        if fresh[i]:
            lab.episode = 0
            lab.debt = 0.0
            begin_drawn(lab, tables, uniforms)
        else:
            begin_next(lab, tables, uniforms)
        write_observation(lab, tables, observations[i])
        write_mask(lab, tables, masks[i])


@compiled
def show_labs(labs, tables, observations, masks):  # type: ignore[no-untyped-def]
    """Write what every lab looks like now."""
    for i in range(labs.shape[0]):
        write_observation(labs[i], tables, observations[i])
        write_mask(labs[i], tables, masks[i])


@compiled
def step_labs(  # type: ignore[no-untyped-def]
    labs,
    actions,
    tables,
    steps,
    rewards,
    observations,
    masks,
    same_step,
    finals,
    final_observations,
    first,
    last,
):
    """Advance the labs ``first..last-1``; one that had ended begins its next episode instead (next-step reset).

    With ``same_step`` a lab that ends is copied to ``finals``, its observation to ``final_observations``, and it
    begins anew at once.
    """
    n_readouts = labs[0].last_bins.shape[0]
    n_compounds = labs[0].potency.shape[0]
    uniforms = np.zeros(n_readouts + 1)
    at_reset = np.empty(n_compounds + 1)
    joint = np.empty((labs[0].conditional.shape[1], labs[0].conditional.shape[2]))
    evidence = np.empty(labs[0].instrument_belief.shape[0])
    for i in range(first, last):
        lab = labs[i]
        step = steps[i]
        if lab.end_reason != 0:
            begin_next(lab, tables, at_reset)
            clear_step(step)
            rewards[i] = 0.0
        else:
            action = actions[i]
            draw_for_step(lab, action, tables, uniforms)
            rewards[i] = advance(lab, action, uniforms, tables, step, joint, evidence)
            if same_step and lab.end_reason != 0:
                finals[i] = lab
                write_observation(lab, tables, final_observations[i])
                begin_next(lab, tables, at_reset)
        write_observation(lab, tables, observations[i])
        write_mask(lab, tables, masks[i])


@inlined
def draw_for_step(lab, action, tables, uniforms):  # type: ignore[no-untyped-def]
    """Draw what this step can need: one uniform a readout, and one where a new lot is due."""
    n_readouts = tables.readouts[tables.verb[action]]
    fill_uniforms(uniforms, n_readouts, lab.key, lab.episode, lab.heartbeat, AT_READOUTS)
    if (lab.heartbeat + 1) % tables.lot_heartbeats == 0:
        fill_uniforms(uniforms[uniforms.shape[0] - 1 :], 1, lab.key, lab.episode, lab.heartbeat + 1, AT_RESET)


@compiled
def write_mask(lab, tables, mask):  # type: ignore[no-untyped-def]
    """Write into ``mask``, shape ``(A,)`` int8, which actions would execute."""
    for verb in range(tables.wells.shape[0]):
        executes = True
        if verb != REST and verb != TERMINATE:
            reason, _, _, _, _ = decide(
                tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
            )
            executes = reason == NOT_REFUSED
        for action in range(tables.first_action[verb], tables.first_action[verb + 1]):
            mask[action] = executes
    mask_published(lab, PUBLISH_PRIVATE, tables, mask)
    mask_published(lab, PUBLISH_PUBLIC, tables, mask)


@inlined
def mask_published(lab, verb, tables, mask):  # type: ignore[no-untyped-def]
    """A compound is published once."""
    first = tables.first_action[verb]
    n_compounds = lab.published.shape[0]
    each = (tables.first_action[verb + 1] - first) // n_compounds
    for m in range(n_compounds):
        if lab.published[m] != 0:
            for action in range(first + m * each, first + (m + 1) * each):
                mask[action] = 0
