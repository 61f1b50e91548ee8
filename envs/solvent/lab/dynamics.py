"""One step of the lab: the order in which the mechanisms act.

``advance`` is a deterministic function of (lab, action, uniforms); random numbers are drawn before the call. A step
can therefore be computed by hand, its outcomes can be forced, and a vector of labs equals single labs bit for bit.
The rules themselves are in ``mechanisms/``.

Letters as in ``state.py``. Compiled by numba; with ``NUMBA_DISABLE_JIT=1`` the same source runs as plain Python.
"""

from __future__ import annotations

from solvent.lab.codes import EndReason, Event, Obstacle
from solvent.lab.compiled import compiled, inlined
from solvent.lab.draws import AT_PRICES, AT_READOUTS, AT_RESET, fill_uniforms
from solvent.lab.mechanisms.assay import draw_class, lot_is_due
from solvent.lab.mechanisms.belief import change_lot, read_controls, read_doses
from solvent.lab.mechanisms.debt import (
    FINDINGS_LEFT,
    NOT_REFUSED,
    PLATES_LEFT,
    add_debt,
    charge_inflated,
    close_debt,
    credit_calibration,
    decide_step,
    declare_bankruptcy,
    is_free,
    left_to_do,
    overclaim,
    refuse,
    resolve_claim,
    settle_at_end,
)
from solvent.lab.mechanisms.energy import (
    close_energy,
    done_before,
    energy_price,
    out_of_context,
    remember_use,
    spend_energy,
)
from solvent.lab.mechanisms.gate import any_under_review, close_reviews, judge, rename_findings, write_page
from solvent.lab.mechanisms.governance import (
    close_governance,
    remember_governance,
    report_incident,
    show_governance,
)
from solvent.lab.mechanisms.proposals import (
    PRICE_UNIFORMS,
    defer,
    misprice,
    notice_hoarding,
    obstacle_to_proposing,
    propose,
    reflect,
    review_proposals,
)
from solvent.lab.mechanisms.publication import (
    Finding,
    any_unpublished,
    asserted_bits,
    most_probable,
    reject,
    release,
    speaks,
)
from solvent.lab.verbs import Verb

__all__ = ["advance", "begin", "begin_episode", "draw_for_step"]

# Plain integers: IntEnum members are slow in plain Python, and numba treats these as constants.
REST, TERMINATE = int(Verb.REST), int(Verb.TERMINATE)
REFLECT, PROPOSE = int(Verb.REFLECT), int(Verb.PROPOSE)
RESTED, CALIBRATED, EXPLORED = int(Event.RESTED), int(Event.CALIBRATED), int(Event.EXPLORED)
PUBLISHED, REJECTED, REFLECTED = int(Event.PUBLISHED), int(Event.REJECTED), int(Event.REFLECTED)
NOT_EXECUTED = int(Event.NOT_EXECUTED)
FREE, CONTEXT_NOT_ALLOWED = int(Obstacle.NONE), int(Obstacle.CONTEXT_NOT_ALLOWED)
ALREADY_PUBLISHED, UNDER_REVIEW = int(Obstacle.ALREADY_PUBLISHED), int(Obstacle.UNDER_REVIEW)
INSUFFICIENT_ENERGY = int(Obstacle.INSUFFICIENT_ENERGY)
HORIZON, EXHAUSTED, BANKRUPT, TERMINATED_BY_AGENT = (
    int(EndReason.HORIZON),
    int(EndReason.EXHAUSTED),
    int(EndReason.BANKRUPT),
    int(EndReason.TERMINATED_BY_AGENT),
)


# -- one step ----------------------------------------------------------------------------------


@inlined
def advance(lab, action, uniforms, tables, steps, scratch):  # type: ignore[no-untyped-def]
    """Advance ``lab`` by one action, write the report to ``steps[0]`` and return the reward in bits.

    ``uniforms`` has shape ``(R + 1,)``: one per readout, and the last for a new reagent lot. ``scratch`` holds two
    arrays of shapes ``(G,)`` and ``(N,)``.
    """
    steps[0] = tables.blank_step
    step = steps[0]
    verb = tables.verb[action]
    open_step(lab, action, tables, step)

    if step.refusal != NOT_REFUSED:
        refuse(lab, step)
    elif step.obstacle != FREE:
        put_off(lab, action, tables, step)
    else:
        if tables.energy.enabled:
            spend_energy(lab, verb, tables.compound[action], tables, step)
        if verb == REST or verb == TERMINATE:
            rest(lab, verb, tables, step)
        elif speaks(verb):
            publish(lab, action, tables, step)
        elif tables.energy.enabled and verb == REFLECT:
            reflect(lab, step)
        elif tables.energy.enabled and verb == PROPOSE:
            propose(lab, tables, step)
        elif tables.is_calibration[verb]:
            calibrate(lab, verb, uniforms, tables, step, scratch)
        else:
            explore(lab, action, uniforms, tables, step, scratch)

    close_slot(lab, verb, tables, step)
    if step.closed:
        close_heartbeat(lab, uniforms, tables, step)
    return close_step(lab, verb, tables, step)


@inlined
def open_step(lab, action, tables, step):  # type: ignore[no-untyped-def]
    """Record the action and decide whether it runs: first its context, then debt, then other obstacles."""
    verb, compound = tables.verb[action], tables.compound[action]
    step.action = action
    step.heartbeat = lab.heartbeat
    step.episode = lab.episode
    step.slot = lab.slot
    step.debt_before = lab.debt
    step.wells_before = lab.wells
    if tables.gate.enabled:
        remember_governance(lab, step)
    cost, away = 0, False
    if tables.energy.enabled:
        cost = energy_price(lab, verb, done_before(lab, verb, compound), tables)
        away = out_of_context(lab, verb, tables)
        step.energy_before, step.energy_cost = lab.energy, cost
    if away:
        step.obstacle = CONTEXT_NOT_ALLOWED
    elif not is_free(verb):
        decide_step(lab, verb, tables, step)
    if step.refusal == NOT_REFUSED and step.obstacle == FREE:
        step.obstacle = obstacle_to(lab, verb, compound, cost, tables)
    step.executed = step.refusal == NOT_REFUSED and step.obstacle == FREE
    for r in range(lab.last_bins.shape[0]):
        lab.last_bins[r] = -1


@inlined
def obstacle_to(lab, verb, compound, cost, tables):  # type: ignore[no-untyped-def]
    """Return the obstacle to an action that its context and debt allow."""
    if speaks(verb):
        if lab.published[compound] != 0:
            return ALREADY_PUBLISHED
        if lab.decision_at[compound] != 0:
            return UNDER_REVIEW
    if tables.energy.enabled:
        if verb == PROPOSE:
            obstacle = obstacle_to_proposing(lab, tables)
            if obstacle != FREE:
                return obstacle
        if cost > lab.energy:
            return INSUFFICIENT_ENERGY
    return FREE


# -- what the verbs do -------------------------------------------------------------------------


@compiled
def put_off(lab, action, tables, step):  # type: ignore[no-untyped-def]
    """Record an action that an obstacle other than debt prevents. It still uses its slot."""
    step.event = NOT_EXECUTED
    lab.not_executed += 1
    if tables.energy.enabled:
        if step.obstacle == CONTEXT_NOT_ALLOWED:
            lab.out_of_context += 1
        elif step.obstacle == INSUFFICIENT_ENERGY:
            defer(lab, action, tables.verb[action], tables.compound[action], tables, step)


@inlined
def rest(lab, verb, tables, step):  # type: ignore[no-untyped-def]
    """Do nothing."""
    step.event = RESTED
    if verb == REST and tables.energy.enabled:
        notice_hoarding(lab, tables, step)


@inlined
def calibrate(lab, verb, uniforms, tables, step, scratch):  # type: ignore[no-untyped-def]
    """Run a plate of vehicle wells: update the belief about the instrument and repay debt."""
    charge_inflated(lab, step)
    before = lab.instrument_entropy
    read_controls(lab, verb, uniforms, tables, scratch)
    if tables.gate.enabled:
        rename_findings(lab, tables)
    step.event = CALIBRATED
    step.gain = before - lab.instrument_entropy
    lab.calibrations += 1
    credit_calibration(lab, tables, step)


@inlined
def explore(lab, action, uniforms, tables, step, scratch):  # type: ignore[no-untyped-def]
    """Run a plate of a compound and compare the claim with the realised gain of the posterior."""
    verb, compound = tables.verb[action], tables.compound[action]
    charge_inflated(lab, step)
    before, lowest = lab.entropy[compound], lab.lowest_entropy[compound]
    read_doses(lab, verb, compound, uniforms, tables, scratch)
    if tables.gate.enabled:
        write_page(lab, verb, compound, tables)
        rename_findings(lab, tables)
    step.event = EXPLORED
    step.claim = tables.claim[action]
    step.gain = before - lab.entropy[compound]
    resolve_claim(lab, compound, lowest, tables, step)
    lab.experiments[compound] += 1


@inlined
def publish(lab, action, tables, step):  # type: ignore[no-untyped-def]
    """Submit the compound's most probable class as a finding. Asserted bits beyond its licence become debt."""
    verb, compound, confidence = tables.verb[action], tables.compound[action], tables.confidence[action]
    asserted = most_probable(lab.marginal[compound])
    step.claim = asserted_bits(confidence, tables.prior[asserted])
    add_debt(lab, overclaim(step.claim, lab.licence[compound]), step)
    if tables.gate.enabled:
        judge(lab, verb, compound, confidence, tables, step)
        if step.event != PUBLISHED:
            return
    elif lab.experiments[compound] == 0:
        reject(lab, step)
        return
    step.event = PUBLISHED
    step.right = release(lab, Finding(verb, compound, asserted, confidence, step.rule), tables, step)
    if tables.gate.enabled and not step.right:
        report_incident(lab, verb, step.rule, tables, step)


# -- how a step ends ---------------------------------------------------------------------------


@inlined
def close_slot(lab, verb, tables, step):  # type: ignore[no-untyped-def]
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
            lab.failures[verb] = remember_use(lab.failures[verb], failed)
    ends = step.refusal != NOT_REFUSED or (step.executed and (verb == REST or verb == TERMINATE))
    step.closed = ends or lab.slot >= tables.energy.slots


@inlined
def close_heartbeat(lab, uniforms, tables, step):  # type: ignore[no-untyped-def]
    """Advance the clock: debt decay and interest, energy income, reviews and, if due, a new reagent lot."""
    close_debt(lab, tables, step)
    lab.heartbeat += 1
    lab.slot = 0
    if tables.energy.enabled:
        close_energy(lab, tables, step)
        lab.reflected = 0
        if tables.proposals.enabled:
            review_proposals(lab, tables, step)
    if tables.gate.enabled:
        close_reviews(lab, tables, step)
        close_governance(lab, tables)
    if lot_is_due(lab, tables):
        change_lot(lab, uniforms[uniforms.shape[0] - 1], tables)
        lab.lot_calibrated = False


@inlined
def close_step(lab, verb, tables, step):  # type: ignore[no-untyped-def]
    """End the episode if it is over; return the reward, published bits minus settled debt."""
    reason = BANKRUPT if declare_bankruptcy(lab, tables, step) else 0
    if verb == TERMINATE and step.executed:
        reason = TERMINATED_BY_AGENT
    elif reason == 0 and not anything_can_execute(lab, tables):
        reason = EXHAUSTED
    if reason == 0 and lab.heartbeat >= tables.horizon:
        reason = HORIZON
    if reason != 0:
        lab.end_reason = reason
        step.terminated = reason != HORIZON
        step.truncated = reason == HORIZON
        settle_at_end(lab, tables, step)
    if tables.gate.enabled:
        show_governance(lab, step)
    reward = step.published_bits - step.settled
    lab.score += reward
    return reward


@compiled
def anything_can_execute(lab, tables):  # type: ignore[no-untyped-def]
    """Return whether any action other than resting can run, now or later."""
    if tables.gate.enabled and any_under_review(lab):
        return True
    left = left_to_do(lab, tables)
    return left == PLATES_LEFT or (left == FINDINGS_LEFT and any_unpublished(lab))


# -- episodes ----------------------------------------------------------------------------------


@compiled
def begin(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """Draw the hidden state into a blank record. ``lab.debt`` holds the debt carried over.

    ``uniforms`` has shape ``(M + 1 + PRICE_UNIFORMS,)``: one per compound, one for the instrument, the rest for
    prices.
    """
    n_compounds = lab.potency.shape[0]
    for m in range(n_compounds):
        lab.potency[m] = draw_class(tables.prior, uniforms[m])
    lab.instrument = int(uniforms[n_compounds] * lab.instrument_belief.shape[0])
    lab.debt_at_start = lab.debt
    lab.debt_peak = lab.debt
    if tables.proposals.enabled:
        misprice(lab, tables, uniforms[n_compounds + 1 :])


@compiled
def begin_episode(labs, i, episode, tables, uniforms):  # type: ignore[no-untyped-def]
    """Start the given episode of the lab's stream in ``labs[i]``."""
    key = labs[i].key
    debt = labs[i].debt if tables.debt.carry_debt and episode > 0 else 0.0
    labs[i] = tables.blank
    lab = labs[i]
    lab.key = key
    lab.episode = episode
    lab.debt = debt
    hidden = lab.potency.shape[0] + 1
    fill_uniforms(uniforms, hidden, key, episode, 0, AT_RESET)
    if tables.proposals.enabled:
        fill_uniforms(uniforms[hidden:], PRICE_UNIFORMS, key, episode, 0, AT_PRICES)
    begin(lab, tables, uniforms)


@inlined
def draw_for_step(lab, action, tables, uniforms):  # type: ignore[no-untyped-def]
    """Draw the uniforms of this step: one per readout, and one more if a new lot may be due."""
    n_readouts = tables.readouts[tables.verb[action]]
    address = lab.heartbeat * tables.energy.slots + lab.slot
    fill_uniforms(uniforms, n_readouts, lab.key, lab.episode, address, AT_READOUTS)
    if (lab.heartbeat + 1) % tables.lot_heartbeats == 0:
        fill_uniforms(uniforms[uniforms.shape[0] - 1 :], 1, lab.key, lab.episode, lab.heartbeat + 1, AT_RESET)
