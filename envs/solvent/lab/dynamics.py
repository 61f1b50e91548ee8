"""One step of the lab: the order in which the mechanisms act.

``advance`` is a deterministic function of (lab, action, uniforms); random numbers are drawn before the call. A step
can therefore be computed by hand, its outcomes can be forced, and a vector of labs equals single labs bit for bit.
The rules themselves are in ``mechanisms/``.

What may run is decided once: ``decide`` writes it into the record at the start and after every step, and the mask, the
observation and the next step read it.

Letters as in ``state.py``. These are plain functions, which the loops of ``batch.py`` compile into themselves.
"""

from __future__ import annotations

from solvent.lab.codes import EndReason, Event, Obstacle
from solvent.lab.draws import AT_PRICES, AT_READOUTS, AT_RESET, fill_uniforms
from solvent.lab.mechanisms import (
    assay,
    belief,
    career,
    debt,
    energy,
    gate,
    measurements,
    proposals,
    publication,
)
from solvent.lab.verbs import PROPOSE, PUBLISH_PUBLIC, REFLECT, REST

NOT_REFUSED = debt.NOT_REFUSED
# Plain integers, like those of the verbs.
RESTED, CALIBRATED, EXPLORED = int(Event.RESTED), int(Event.CALIBRATED), int(Event.EXPLORED)
REJECTED, REFLECTED, NOT_EXECUTED = int(Event.REJECTED), int(Event.REFLECTED), int(Event.NOT_EXECUTED)
FREE, ALREADY_PUBLISHED = int(Obstacle.NONE), int(Obstacle.ALREADY_PUBLISHED)
CONTEXT_NOT_ALLOWED, NO_REFLECTION = int(Obstacle.CONTEXT_NOT_ALLOWED), int(Obstacle.NO_REFLECTION)
NO_EVIDENCE, INSUFFICIENT_ENERGY = int(Obstacle.NO_EVIDENCE), int(Obstacle.INSUFFICIENT_ENERGY)
HORIZON, EXHAUSTED, BANKRUPT = int(EndReason.HORIZON), int(EndReason.EXHAUSTED), int(EndReason.BANKRUPT)


# -- what may run ------------------------------------------------------------------------------


def decide(lab, tables):
    """Write into ``lab`` what may run now: first debt and wells, then context, proposing and energy."""
    for verb in range(tables.wells.shape[0]):
        debt.decide_refusal(lab, verb, tables)
        for again in range(2):
            obstacle = FREE
            if tables.energy.enabled:
                lab.cost[verb, again] = energy.energy_price(lab, verb, again, tables)
                obstacle = obstacle_to(lab, verb, again, tables)
            lab.obstacle[verb, again] = obstacle
            lab.allowed[verb, again] = lab.refused[verb] == NOT_REFUSED and obstacle == FREE


def obstacle_to(lab, verb, again, tables):
    """Return the obstacle to a verb where acting costs energy."""
    if energy.out_of_context(lab, verb, tables):
        return CONTEXT_NOT_ALLOWED
    if verb == PROPOSE and lab.reflected == 0:
        return NO_REFLECTION
    if verb == PROPOSE and proposals.most_deferred(lab, tables) < 0:
        return NO_EVIDENCE
    return INSUFFICIENT_ENERGY if lab.cost[verb, again] > lab.energy else FREE


def repeats(lab, verb, compound, tables):
    """Return 1 if the verb was executed on the compound (-1 for none) in this heartbeat, else 0."""
    again = 0
    if tables.energy.enabled:
        again = int(lab.done[verb, max(0, compound)])
    return again


def anything_can_execute(lab, tables):
    """Return whether any action other than resting can run, now or later."""
    for verb in range(tables.wells.shape[0]):
        if tables.wells[verb] > 0 and lab.refused[verb] == NOT_REFUSED:
            return True
    return lab.refused[PUBLISH_PUBLIC] == NOT_REFUSED and publication.any_unpublished(lab)


# -- one step ----------------------------------------------------------------------------------


def advance(lab, action, uniforms, tables, steps, scratch):
    """Advance ``lab`` by one action, write the report to ``steps[0]`` and return the reward in bits.

    ``uniforms`` has shape ``(R + 1 + M,)``: one per readout, one for a new reagent lot, and one per compound of a new
    project. ``scratch`` holds two arrays of shapes ``(G,)`` and ``(N,)``.
    """
    steps[0] = tables.blank_step
    step = steps[0]
    verb, compound = tables.verb[action], tables.compound[action]
    open_step(lab, action, tables, step)

    if step.refusal != NOT_REFUSED:
        debt.refuse(lab, verb, tables, step)
    elif step.obstacle != FREE:
        put_off(lab, action, tables, step)
    else:
        if tables.energy.enabled:
            energy.spend_energy(lab, verb, compound, tables, step)
        if verb == REST:
            step.event = RESTED
            if tables.energy.enabled:
                proposals.record_hoarding(lab, tables, step)
        elif verb == PUBLISH_PUBLIC:
            publish(lab, action, tables, step)
        elif tables.energy.enabled and verb == REFLECT:
            proposals.reflect(lab, step)
        elif tables.energy.enabled and verb == PROPOSE:
            proposals.propose(lab, tables, step)
        elif tables.is_calibration[verb]:
            calibrate(lab, verb, uniforms, tables, step, scratch)
        else:
            explore(lab, action, uniforms, tables, step, scratch)

    close_slot(lab, verb, tables, step)
    if step.closed:
        close_heartbeat(lab, uniforms, tables, step)
    decide(lab, tables)
    return close_step(lab, tables, step)


def open_step(lab, action, tables, step):
    """Record the action and the decision on it."""
    verb, compound = tables.verb[action], tables.compound[action]
    again = repeats(lab, verb, compound, tables)
    step.action = action
    step.heartbeat = lab.heartbeat
    step.episode = lab.episode
    step.slot = lab.slot
    step.debt_before = lab.debt
    step.wells_before = lab.wells
    step.inflated_cost = lab.inflated_cost[verb]
    if tables.energy.enabled:
        step.energy_before, step.energy_cost = lab.energy, lab.cost[verb, again]
    step.refusal = lab.refused[verb]
    obstacle = lab.obstacle[verb, again]
    if verb == PUBLISH_PUBLIC and lab.published[compound] != 0:
        obstacle = ALREADY_PUBLISHED
    if step.refusal == NOT_REFUSED:
        step.obstacle = obstacle
        step.executed = obstacle == FREE
    else:
        # At zero debt nothing is inflated or blocked: what is left is the base cost and the other obstacles.
        step.caused_by_debt = tables.wells[verb] <= lab.wells and obstacle == FREE
    for r in range(lab.last_bins.shape[0]):
        lab.last_bins[r] = -1


# -- what the verbs do -------------------------------------------------------------------------


def put_off(lab, action, tables, step):
    """Record an action that an obstacle other than debt prevents. It still uses its slot."""
    step.event = NOT_EXECUTED
    lab.not_executed += 1
    if tables.energy.enabled:
        if step.obstacle == CONTEXT_NOT_ALLOWED:
            lab.out_of_context += 1
        elif step.obstacle == INSUFFICIENT_ENERGY:
            proposals.defer(lab, action, tables.verb[action], tables.compound[action], tables, step)


def calibrate(lab, verb, uniforms, tables, step, scratch):
    """Run a plate of vehicle wells: update the belief about the instrument and repay debt."""
    assay.charge(lab, debt.wells_charged(step.inflated_cost), step)
    before = lab.instrument_entropy
    belief.read_controls(lab, verb, uniforms, tables, scratch)
    if tables.measurements.enabled:
        measurements.record_controls(lab, verb, tables)
    if tables.gate.enabled:
        gate.rename_findings(lab, tables)
    step.event = CALIBRATED
    step.gain = before - lab.instrument_entropy
    lab.calibrations += 1
    debt.repay_debt(lab, debt.repayment(tables.debt, tables.wells[verb]), step)


def explore(lab, action, uniforms, tables, step, scratch):
    """Run a plate of a compound and compare the claim with the realised gain of the posterior."""
    verb, compound = tables.verb[action], tables.compound[action]
    assay.charge(lab, debt.wells_charged(step.inflated_cost), step)
    before, lowest = lab.entropy[compound], lab.lowest_entropy[compound]
    belief.read_doses(lab, verb, compound, uniforms, tables, scratch)
    if tables.measurements.enabled:
        measurements.record_doses(lab, verb, compound, tables)
    if tables.gate.enabled:
        gate.write_page(lab, verb, compound, tables)
        gate.rename_findings(lab, tables)
    step.event = EXPLORED
    step.claim = tables.claim[action]
    step.gain = before - lab.entropy[compound]
    debt.resolve_claim(lab, compound, lowest, step)
    lab.experiments[compound] += 1


def publish(lab, action, tables, step):
    """Submit a finding. Asserted bits beyond the compound's licence become debt."""
    compound, confidence = tables.compound[action], tables.confidence[action]
    publication.assert_finding(lab, action, tables, step)
    if tables.debt.of_findings:
        debt.add_debt(lab, debt.overclaim(step.claim, lab.licence[compound]), step)
    if tables.gate.enabled:
        accepted = gate.judge(lab, compound, tables, step)
    else:
        accepted = lab.experiments[compound] > 0
    if accepted:
        publication.release(lab, compound, confidence, tables, step)
        if tables.career.enabled:
            career.credit(lab, compound, confidence, tables, step)
    else:
        step.event = REJECTED
        lab.rejected += 1


# -- how a step ends ---------------------------------------------------------------------------


def close_slot(lab, verb, tables, step):
    """Update the books after the action and decide whether it ends the heartbeat."""
    lab.last_event = step.event
    lab.last_action = step.action
    lab.steps += 1
    lab.slot += 1
    if step.executed:
        lab.refusals_in_a_row = 0
    if tables.energy.enabled:
        lab.reflected = step.event == REFLECTED
        if step.executed or step.refusal != NOT_REFUSED:
            failed = step.refusal != NOT_REFUSED or step.event == REJECTED
            lab.failures[verb] = energy.remember_use(lab.failures[verb], failed)
    ends = step.refusal != NOT_REFUSED or (step.executed and verb == REST)
    step.closed = ends or lab.slot >= tables.energy.slots


def close_heartbeat(lab, uniforms, tables, step):
    """Advance the clock: interest on debt, energy income, reviews and replications, and if due a new lot or project."""
    debt.close_debt(lab, tables, step)
    lab.heartbeat += 1
    lab.slot = 0
    if tables.energy.enabled:
        energy.close_energy(lab, tables, step)
        lab.reflected = 0
        if tables.proposals.enabled:
            proposals.review_proposals(lab, tables, step)
    if tables.career.enabled:
        career.replicate(lab, False, step)
    if assay.lot_is_due(lab, tables):
        n_readouts = lab.last_bins.shape[0]
        belief.change_lot(lab, uniforms[n_readouts], tables)
        if tables.measurements.enabled and not tables.measurements.last_plate:
            measurements.close_lot(lab)
        if tables.career.enabled and lab.heartbeat % tables.career.project_heartbeats == 0:
            career.begin_project(lab, uniforms[n_readouts + 1 :], tables)


def end_of_episode(lab, tables):
    """Return the reason for which the episode is over, or 0. New wells may come with another project."""
    if not tables.career.enabled or lab.heartbeat + career.beats_left(lab, tables) >= tables.horizon:
        if debt.is_bankrupt(lab, tables):
            return BANKRUPT
        if not anything_can_execute(lab, tables):
            return EXHAUSTED
    return HORIZON if lab.heartbeat >= tables.horizon else 0


def close_step(lab, tables, step):
    """End the episode if it is over; return the reward: the change of published bits minus debt."""
    reason = end_of_episode(lab, tables)
    if reason != 0:
        if tables.career.enabled:
            career.replicate(lab, True, step)
        lab.end_reason = reason
        step.terminated = True
    reward = step.published_bits - debt.change(lab, tables, step)
    lab.score += reward
    return reward


# -- episodes ----------------------------------------------------------------------------------


def begin_episode(labs, i, episode, tables, uniforms):
    """Start the given episode of the lab's stream in ``labs[i]``: draw its hidden state. ``decide`` is to follow.

    ``uniforms`` is scratch of shape ``(M + 1 + PRICE_UNIFORMS,)``: compounds, instrument, prices.
    """
    key = labs[i].key
    labs[i] = tables.blank
    lab = labs[i]
    lab.key = key
    lab.episode = episode
    n_compounds = lab.potency.shape[0]
    fill_uniforms(uniforms, n_compounds + 1, key, episode, 0, AT_RESET)
    for m in range(n_compounds):
        lab.potency[m] = assay.draw_class(tables.prior, uniforms[m])
    lab.instrument = int(uniforms[n_compounds] * lab.instrument_belief.shape[0])
    if tables.proposals.enabled:
        prices = uniforms[n_compounds + 1 :]
        fill_uniforms(prices, proposals.PRICE_UNIFORMS, key, episode, 0, AT_PRICES)
        proposals.misprice(lab, tables, prices)


def draw_for_step(lab, action, tables, uniforms):
    """Draw the uniforms of this step: one per readout, and those of a new lot and project if one may be due."""
    n_readouts = tables.readouts[tables.verb[action]]
    address = lab.heartbeat * tables.energy.slots + lab.slot
    fill_uniforms(uniforms, n_readouts, lab.key, lab.episode, address, AT_READOUTS)
    if (lab.heartbeat + 1) % tables.lot_heartbeats == 0:
        fresh = uniforms[lab.last_bins.shape[0] :]
        count = fresh.shape[0] if tables.career.enabled else 1
        fill_uniforms(fresh, count, lab.key, lab.episode, lab.heartbeat + 1, AT_RESET)
