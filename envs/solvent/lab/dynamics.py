"""One step of the lab: the order in which the mechanisms act.

``advance`` is a deterministic function of (lab, action, uniforms). Randomness is drawn before it is called,
so a step can be computed by hand, its outcomes can be forced, and a vector of labs equals the single ones
bit for bit. The mechanisms are in ``mechanisms/``; this is the only module that brings them together with
the record of ``state.py``.

Letters as in ``state.py``. Compiled by numba; with ``NUMBA_DISABLE_JIT=1`` the same text runs as Python.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.actions import Verb
from solvent.lab.compiled import compiled, inlined
from solvent.lab.draws import AT_PRICES, AT_READOUTS, AT_RESET, fill_uniforms
from solvent.lab.mechanisms.adequacy import LOGGED, words_verdict
from solvent.lab.mechanisms.assay import draw_bin
from solvent.lab.mechanisms.belief import (
    condition_compound,
    condition_instrument,
    entropy_bits,
    marginalise,
    multiply_rows,
)
from solvent.lab.mechanisms.debt import (
    NOT_REFUSED,
    decide,
    is_bankrupt,
    licence_credit,
    overclaim,
    repayment,
    wells_charged,
)
from solvent.lab.mechanisms.energy import regenerate, remember_use
from solvent.lab.mechanisms.gate import (
    ACCEPT,
    MILLION,
    REJECT,
    REVIEW,
    WORDINGS,
    add_direction,
    finding_row,
    fit_row,
    in_millionths,
    readout_row,
    strength_at,
    verdict_on,
)
from solvent.lab.mechanisms.governance import relaxed, tightened
from solvent.lab.mechanisms.proposals import reviewed_price, suggested_range
from solvent.lab.mechanisms.publication import asserted_bits, log_score, most_probable
from solvent.lab.observation import write_observation
from solvent.lab.purse import done_before, energy_price, out_of_context
from solvent.lab.state import Deferral, EndReason, Event, Obstacle, Verdict

__all__ = ["advance", "begin", "begin_labs", "show_labs", "step_labs"]

# Plain integers: members of an IntEnum are slow in plain Python and the compiler freezes these.
REST, PUBLISH_PRIVATE, PUBLISH_PUBLIC, TERMINATE, REFLECT, PROPOSE, DOSE_RESPONSE = (
    int(Verb.REST),
    int(Verb.PUBLISH_PRIVATE),
    int(Verb.PUBLISH_PUBLIC),
    int(Verb.TERMINATE),
    int(Verb.REFLECT),
    int(Verb.PROPOSE),
    int(Verb.DOSE_RESPONSE),
)
(
    RESTED,
    CALIBRATED,
    EXPLORED,
    PUBLISHED,
    REJECTED,
    REFUSED,
    NOT_EXECUTED,
    REFLECTED,
    PROPOSED,
    DEFERRED,
    SUBMITTED,
) = (
    int(Event.RESTED),
    int(Event.CALIBRATED),
    int(Event.EXPLORED),
    int(Event.PUBLISHED),
    int(Event.REJECTED),
    int(Event.REFUSED),
    int(Event.NOT_EXECUTED),
    int(Event.REFLECTED),
    int(Event.PROPOSED),
    int(Event.DEFERRED),
    int(Event.SUBMITTED),
)
(
    FREE,
    CONTEXT_NOT_ALLOWED,
    ALREADY_PUBLISHED,
    NO_REFLECTION,
    NO_EVIDENCE,
    INSUFFICIENT_ENERGY,
    UNDER_REVIEW,
) = (
    int(Obstacle.NONE),
    int(Obstacle.CONTEXT_NOT_ALLOWED),
    int(Obstacle.ALREADY_PUBLISHED),
    int(Obstacle.NO_REFLECTION),
    int(Obstacle.NO_EVIDENCE),
    int(Obstacle.INSUFFICIENT_ENERGY),
    int(Obstacle.UNDER_REVIEW),
)
PUT_OFF, HOARDED = int(Deferral.INSUFFICIENT_ENERGY), int(Deferral.HOARDING)
NO_VERDICT = int(Verdict.NONE)
N_WORDINGS = len(WORDINGS)
PRICE_UNIFORMS = 33
"""Most uniforms that a mispricing takes: how many verbs, and four a verb."""
HORIZON, EXHAUSTED, BANKRUPT, TERMINATED_BY_AGENT = (
    int(EndReason.HORIZON),
    int(EndReason.EXHAUSTED),
    int(EndReason.BANKRUPT),
    int(EndReason.TERMINATED_BY_AGENT),
)


# -- one step ----------------------------------------------------------------------------------


@inlined
def advance(lab, action, uniforms, tables, step, joint, evidence):  # type: ignore[no-untyped-def]
    """Move ``lab`` by one action and write into ``step`` what happened; return the reward in bits.

    A heartbeat has ``tables.energy.slots`` actions at most; the last of them, a rest or a refusal ends it.

    ``uniforms`` of shape ``(R + 1,)``: one a readout, the last for a new reagent lot. ``joint`` of shape
    ``(N, G)`` and ``evidence`` of shape ``(N,)`` are scratch space.
    """
    verb = tables.verb[action]
    compound = tables.compound[action]
    open_step(lab, action, verb, compound, tables, step)

    if step.refusal != NOT_REFUSED:
        refuse(lab, step)
    elif step.obstacle != FREE:
        put_off(lab, action, verb, compound, tables, step)
    else:
        spend_energy(lab, verb, compound, tables, step)
        if verb == REST or verb == TERMINATE:
            rest(lab, verb, tables, step)
        elif verb == PUBLISH_PRIVATE or verb == PUBLISH_PUBLIC:
            publish(lab, verb, compound, action, tables, step)
        elif verb == REFLECT:
            reflect(lab, step)
        elif verb == PROPOSE:
            propose(lab, tables, step)
        elif tables.is_calibration[verb]:
            calibrate(lab, verb, uniforms, tables, step)
        else:
            explore(lab, verb, compound, tables.claim[action], uniforms, tables, step, joint, evidence)

    close_slot(lab, verb, tables, step)
    if step.closed:
        close_heartbeat(lab, uniforms, tables, step)
    return close_step(lab, verb, tables, step)


@inlined
def open_step(lab, action, verb, compound, tables, step):  # type: ignore[no-untyped-def]
    """Write down what is to be done and decide whether it may be: by context, by debt, by what else is in its way."""
    clear_step(step, tables)
    step.action = action
    step.heartbeat = lab.heartbeat
    step.episode = lab.episode
    step.slot = lab.slot
    step.debt_before = lab.debt
    step.wells_before = lab.wells
    if tables.energy.enabled:
        step.energy_before = lab.energy
        step.energy_cost = energy_price(lab, verb, done_before(lab, verb, compound), tables)
    if out_of_context(lab, verb, tables):
        step.obstacle = CONTEXT_NOT_ALLOWED
    elif debt_matters(verb):
        reason, inflated, by_threshold, by_cost, by_reserve = decide(
            tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
        )
        step.refusal = reason
        step.blocked_by_threshold = by_threshold
        step.blocked_by_cost = by_cost
        step.blocked_by_reserve = by_reserve
        step.inflated_cost = inflated
    if step.refusal == NOT_REFUSED and step.obstacle == FREE:
        step.obstacle = obstacle_to(lab, verb, compound, step.energy_cost, tables)
    step.executed = step.refusal == NOT_REFUSED and step.obstacle == FREE
    for r in range(lab.last_bins.shape[0]):
        lab.last_bins[r] = -1


@inlined
def debt_matters(verb):  # type: ignore[no-untyped-def]
    """Whether debt can forbid it: neither resting and ending nor the agent's voice, which use and assert nothing."""
    return not (verb == REST or verb == TERMINATE or verb == REFLECT or verb == PROPOSE)


@inlined
def obstacle_to(lab, verb, compound, cost, tables):  # type: ignore[no-untyped-def]
    """What stands against an action that its context and its debt allow."""
    if verb == PUBLISH_PRIVATE or verb == PUBLISH_PUBLIC:
        if lab.published[compound] != 0:
            return ALREADY_PUBLISHED
        if lab.decision_at[compound] != 0:
            return UNDER_REVIEW
    if verb == PROPOSE:
        if lab.reflected == 0:
            return NO_REFLECTION
        if most_deferred(lab, tables) < 0:
            return NO_EVIDENCE
    if cost > lab.energy:
        return INSUFFICIENT_ENERGY
    return FREE


@inlined
def clear_step(step, tables):  # type: ignore[no-untyped-def]
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
    step.slot = 0
    step.closed = False
    step.obstacle = FREE
    if tables.energy.enabled:
        clear_energy(step)
    if tables.gate.enabled:
        clear_gate(step)


@compiled
def clear_gate(step):  # type: ignore[no-untyped-def]
    """What is never written where there is no gate."""
    step.verdict = NO_VERDICT
    step.residual = 0
    step.unsupported = 0
    step.wording = -1
    step.asserted = -1
    step.policy = 0
    step.approved = 0
    step.declined = 0
    step.decided_bits = 0.0
    step.incident = 0
    step.strictness = 0
    step.gate_verdict = NO_VERDICT
    step.adequacy = -1
    step.rule = -1
    step.correction = -1


@compiled
def clear_energy(step):  # type: ignore[no-untyped-def]
    """What is never written where acting costs no energy."""
    step.energy_before = 0
    step.energy_cost = 0
    step.energy_spent = 0
    step.energy_gained = 0
    for i in range(step.intents.shape[0]):
        step.intents[i] = 0
    step.discomfort = 0
    step.deferred_verb = 0
    step.deferred_cost = 0
    step.deferred_value = 0.0
    step.similar_deferrals = 0
    step.proposed_verb = -1
    for v in range(step.reviewed.shape[0]):
        step.reviewed[v] = 0


@inlined
def refuse(lab, step):  # type: ignore[no-untyped-def]
    """A refused action costs nothing but what is left of the heartbeat."""
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
    if tables.gate.enabled:
        rename_findings(lab, tables)
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
    if tables.gate.enabled:
        write_page(lab, verb, compound, tables)
        rename_findings(lab, tables)
        lab.plates[compound, int(verb == DOSE_RESPONSE)] += 1

    step.event = EXPLORED
    step.claim = claim
    step.gain = before - lab.entropy[compound]
    add_debt(lab, overclaim(claim, step.gain), step)
    if step.debt_added == 0.0:
        repay_debt(lab, tables.debt.repay_for_accuracy * claim, step)
    step.licence_added = licence_credit(tables.debt, claim, lowest, lab.entropy[compound])
    lab.licence[compound] += step.licence_added
    lab.experiments[compound] += 1
    lab.claimed += claim
    lab.gained += step.gain


@inlined
def publish(lab, verb, compound, action, tables, step):  # type: ignore[no-untyped-def]
    """Assert a compound's most probable class. An assertion is a claim too: what is not licensed becomes debt."""
    confidence = tables.confidence[action]
    asserted = most_probable(lab.marginal[compound])
    step.claim = asserted_bits(confidence, tables.prior[asserted])
    add_debt(lab, overclaim(step.claim, lab.licence[compound]), step)
    if tables.gate.enabled:
        judge(lab, verb, compound, action, tables, step)
        if step.event != PUBLISHED:
            return
    elif lab.experiments[compound] == 0:
        step.event = REJECTED
        lab.rejected += 1
        return
    accept(lab, verb, compound, asserted, confidence, step.rule, tables, step)


@inlined
def accept(lab, verb, compound, asserted, confidence, rule, tables, step):  # type: ignore[no-untyped-def]
    """A finding is out: its readers pay the log score, whether it is right or wrong."""
    right = asserted == lab.potency[compound]
    score = share_of(verb, tables) * log_score(confidence, tables.prior[asserted], right)
    step.event = PUBLISHED
    step.right = right
    step.published_bits += score
    lab.published_bits += score
    lab.published[compound] = 1 if verb == PUBLISH_PRIVATE else 2
    lab.accepted += 1
    if not right:
        lab.wrong += 1
        if tables.gate.enabled:
            report_incident(lab, verb, rule, tables, step)


@inlined
def share_of(verb, tables):  # type: ignore[no-untyped-def]
    """The share of a finding's score that its readers pay."""
    return tables.private_share if verb == PUBLISH_PRIVATE else 1.0


@compiled
def refresh_belief(lab):  # type: ignore[no-untyped-def]
    """Entropy of the instrument, and marginals of those compounds that depend on it."""
    lab.instrument_entropy = entropy_bits(lab.instrument_belief)
    for m in range(lab.entropy.shape[0]):
        if lab.coupled[m]:
            lab.entropy[m] = marginalise(lab.marginal[m], lab.conditional[m], lab.instrument_belief)
            lab.lowest_entropy[m] = min(lab.lowest_entropy[m], lab.entropy[m])


# -- the gate and adequacy ---------------------------------------------------------------------


@compiled
def write_page(lab, verb, compound, tables):  # type: ignore[no-untyped-def]
    """What an experiment leaves in the notebook: its readouts in place of older ones at their doses, and its fit."""
    for r in range(tables.readouts[verb]):
        lab.page[compound, tables.dose[verb, r]] = lab.last_bins[r]
    named = most_probable(lab.marginal[compound])
    lab.fit_class[compound] = named
    rules, peak = tables.gate, lab.marginal[compound, named]
    lab.fit_strength[compound] = strength_at(peak, rules.rough, rules.good, rules.precise)
    lab.named[compound] = -1  # to be measured anew


@compiled
def rename_findings(lab, tables):  # type: ignore[no-untyped-def]
    """Measure the findings again whose page, or whose most probable class, has changed."""
    for m in range(lab.named.shape[0]):
        if lab.fit_class[m] >= 0 and lab.coupled[m] != 0:
            named = most_probable(lab.marginal[m])
            if named != lab.named[m]:
                lab.named[m] = named
                measure_findings(lab, m, tables)


@compiled
def measure_findings(lab, compound, tables):  # type: ignore[no-untyped-def]
    """The residual of a finding about the compound in every wording, against the sentences of its page."""
    gram = tables.gram[compound]
    stands = tables.stands[compound]
    rules = tables.gate
    classes = lab.marginal.shape[1]
    n_doses = lab.page.shape[1]
    rows = np.empty(n_doses + N_WORDINGS + 1, np.int64)
    factor = np.empty((n_doses + N_WORDINGS + 2, n_doses + N_WORDINGS + 2))
    inverse = np.empty(n_doses + N_WORDINGS + 2)
    n = 0
    for d in range(n_doses):
        if lab.page[compound, d] >= 0:
            rows[n] = readout_row(d, lab.page[compound, d], rules.bins)
            add_direction(gram, rows, n, rows[n], factor, inverse)
            n += 1
    for strength in range(lab.fit_strength[compound] + 1):
        rows[n] = fit_row(rules.readouts, strength, lab.fit_class[compound], classes)
        add_direction(gram, rows, n, rows[n], factor, inverse)
        n += 1
    for wording in range(N_WORDINGS):
        row = finding_row(rules.readouts, wording, lab.named[compound], classes)
        left = add_direction(gram, rows, n, row, factor, inverse)
        lab.residual[compound, wording] = in_millionths(left)
        finding = row - stands.shape[1]
        lab.unsupported[compound, wording] = 1
        for i in range(n):
            if stands[finding, rows[i]]:
                lab.unsupported[compound, wording] = 0


@compiled
def judge(lab, verb, compound, action, tables, step):  # type: ignore[no-untyped-def]
    """The verdict on a finding: out at once, out if its reader approves, or not at all."""
    rules = tables.gate
    confidence = tables.confidence[action]
    wording = tables.wording[tables.said[action]]
    step.wording = wording
    step.asserted = most_probable(lab.marginal[compound])
    step.policy = lab.strictness
    step.residual = lab.residual[compound, wording]
    verdict = verdict_on(step.residual, tables.tau_accept[lab.strictness], tables.tau_review[lab.strictness])
    if rules.numbers and lab.unsupported[compound, wording]:
        step.unsupported = 1
        verdict = max(verdict, REVIEW)
    step.gate_verdict = verdict
    if not rules.enforced:
        verdict = REJECT if lab.experiments[compound] == 0 else ACCEPT
    if tables.adequacy.enabled:
        verdict = max(verdict, weigh_words(lab, compound, wording, tables, step))
    step.verdict = verdict
    lab.verdicts[verdict] += 1
    if verdict == REJECT:
        step.event = REJECTED
        lab.rejected += 1
    elif verdict == REVIEW:
        step.event = SUBMITTED
        lab.decision_at[compound] = lab.heartbeat + rules.review_heartbeats
        lab.submitted_class[compound] = step.asserted
        lab.submitted_confidence[compound] = confidence
        lab.submitted_verb[compound] = verb
        lab.submitted_licensed[compound] = step.claim <= lab.licence[compound]
        lab.submitted_rule[compound] = step.rule
    else:
        step.event = PUBLISHED


@compiled
def weigh_words(lab, compound, wording, tables, step):  # type: ignore[no-untyped-def]
    """How far the finding's words go beyond the plates of its compound, and what follows from it."""
    rules, classes = tables.adequacy, lab.marginal.shape[1]
    logged = min(LOGGED, lab.experiments[compound])
    step.rule = tables.rule[compound, wording * classes + step.asserted, logged]
    step.adequacy = tables.rule_score[step.rule]
    lab.scores[step.adequacy] += 1
    if not rules.enforced:
        return ACCEPT
    return words_verdict(step.adequacy, rules.review_from, rules.reject_from)


@compiled
def report_incident(lab, verb, rule, tables, step):  # type: ignore[no-untyped-def]
    """A finding that is out is wrong. Where all readers saw it, the gate tightens and the agent is corrected.

    ``rule`` is that of adequacy on its words.
    """
    if verb != PUBLISH_PUBLIC:
        lab.incidents[0] += 1
        return
    lab.incidents[1] += 1
    step.incident += 1
    if tables.gate.governance:
        level = tightened(lab.strictness, tables.tau_accept.shape[0] - 1)
        lab.tightenings += level != lab.strictness
        lab.strictness = level
        lab.calm = -1  # the heartbeat that it happens in doesn't count, however it came about
    if tables.adequacy.enabled and tables.adequacy.enforced:
        lab.correction = tables.rule_correction[rule]
        lab.calm = -1


@compiled
def close_gate(lab, tables, step):  # type: ignore[no-untyped-def]
    """Readers decide by the books what is due, and time without a published error relaxes the gate."""
    rules = tables.gate
    event, right, published = step.event, step.right, step.published_bits
    for m in range(lab.decision_at.shape[0]):
        if lab.decision_at[m] == 0 or lab.heartbeat < lab.decision_at[m]:
            continue
        lab.decision_at[m] = 0
        lab.decided[lab.submitted_licensed[m]] += 1
        if lab.submitted_licensed[m]:
            step.approved |= np.uint64(1) << np.uint64(m)
            accept(
                lab,
                lab.submitted_verb[m],
                m,
                lab.submitted_class[m],
                lab.submitted_confidence[m],
                lab.submitted_rule[m],
                tables,
                step,
            )
        else:
            step.declined |= np.uint64(1) << np.uint64(m)
            lab.rejected += 1
    step.event, step.right = event, right  # of what the agent did, not of what readers decided
    step.decided_bits = step.published_bits - published
    lab.calm += 1
    if lab.calm >= rules.calm_heartbeats:
        lab.correction = -1
    if rules.governance:
        level = relaxed(lab.strictness, rules.start, lab.calm, rules.calm_heartbeats)
        if level != lab.strictness:
            lab.strictness = level
            lab.calm = 0


# -- energy and the voice ----------------------------------------------------------------------


@compiled
def spend_energy(lab, verb, compound, tables, step):  # type: ignore[no-untyped-def]
    """Pay for the action before it runs, whatever becomes of it."""
    if not tables.energy.enabled:
        return
    step.energy_spent = step.energy_cost
    lab.energy -= step.energy_cost
    lab.energy_spent += step.energy_cost
    lab.intents[tables.intent[verb]] += step.energy_cost
    lab.intents_total[tables.intent[verb]] += step.energy_cost
    lab.uses[verb] += 1
    lab.done[verb, max(0, compound)] = 1


@compiled
def put_off(lab, action, verb, compound, tables, step):  # type: ignore[no-untyped-def]
    """Something other than debt stands against the action: it costs its slot.

    Where that is energy, it is a deferral; one that was worth taking is discomfort, once a verb and heartbeat.
    """
    step.event = NOT_EXECUTED
    lab.not_executed += 1
    if step.obstacle == CONTEXT_NOT_ALLOWED:
        lab.out_of_context += 1
    if step.obstacle != INSUFFICIENT_ENERGY:
        return
    step.event = DEFERRED
    lab.deferrals += 1
    worth = worth_deferring(lab, action, verb, compound, tables)
    if worth <= 0.0 or lab.discomfort_at[verb, 0] == lab.heartbeat:
        return
    step.discomfort = PUT_OFF
    step.deferred_verb = verb
    step.deferred_cost = step.energy_cost
    step.deferred_value = worth
    step.similar_deferrals = lab.discomfort[verb]
    lab.discomforts += 1
    lab.discomfort[verb] += 1
    for i in range(lab.discomfort_at.shape[1] - 1, 0, -1):
        lab.discomfort_at[verb, i] = lab.discomfort_at[verb, i - 1]
    lab.discomfort_at[verb, 0] = lab.heartbeat


@compiled
def worth_deferring(lab, action, verb, compound, tables):  # type: ignore[no-untyped-def]
    """Bits that an action was worth which was put off; 0 where it was not worth taking.

    A finding is worth what it asserts if that is licensed; an experiment on a compound that is not published what
    it can be expected to gain, if that is above a floor. That gain is a tabulated share of the compound's entropy.
    """
    if compound < 0 or not is_open(lab, compound):
        return 0.0
    if tables.audience[verb] != 0:
        asserted = asserted_of(lab, compound, tables.confidence[action], tables)
        licensed = lab.experiments[compound] > 0 and asserted <= lab.licence[compound]
        return asserted * share_of(verb, tables) if licensed else 0.0
    gain = tables.gain_share[verb] * lab.entropy[compound]
    return gain if gain > tables.proposals.gain_floor else 0.0


@inlined
def is_open(lab, compound):  # type: ignore[no-untyped-def]
    """Whether a finding on the compound can still be published: neither out nor under review."""
    return lab.published[compound] == 0 and lab.decision_at[compound] == 0


@inlined
def asserted_of(lab, compound, confidence, tables):  # type: ignore[no-untyped-def]
    """Bits that a finding on the compound would assert."""
    return asserted_bits(confidence, tables.prior[most_probable(lab.marginal[compound])])


@inlined
def rest(lab, verb, tables, step):  # type: ignore[no-untyped-def]
    """Do nothing. At the cap, with something licensed to say and someone to say it to, that is hoarding."""
    step.event = RESTED
    if verb != REST or not tables.energy.enabled or lab.energy < tables.energy.cap:
        return
    lowest = tables.confidence[tables.first_action[PUBLISH_PUBLIC]]
    for speaking in (PUBLISH_PUBLIC, PUBLISH_PRIVATE):
        reason, _, _, _, _ = decide(tables.debt, lab.debt, 0, lab.wells, False)
        cost = energy_price(lab, speaking, False, tables)
        if step.discomfort != 0 or reason != NOT_REFUSED or cost > lab.energy:
            continue
        if out_of_context(lab, speaking, tables):
            continue
        for m in range(lab.published.shape[0]):
            if is_open(lab, m) and lab.experiments[m] > 0:
                asserted = asserted_of(lab, m, lowest, tables)
                if asserted <= lab.licence[m]:
                    step.discomfort = HOARDED
                    step.deferred_verb = speaking
                    step.deferred_cost = cost
                    step.deferred_value = max(step.deferred_value, asserted * share_of(speaking, tables))
    if step.discomfort == HOARDED:
        lab.hoardings += 1


@compiled
def reflect(lab, step):  # type: ignore[no-untyped-def]
    """Show what the energy of this heartbeat went into, and open the door to a proposal."""
    step.event = REFLECTED
    lab.reflections += 1
    for i in range(lab.intents.shape[0]):
        lab.intents_shown[i] = lab.intents[i]


@compiled
def most_deferred(lab, tables):  # type: ignore[no-untyped-def]
    """The verb whose cost can be argued about and was felt most often, or -1; the lowest code of equals.

    It has evidence from heartbeats enough, no proposal pending, and room above its floor.
    """
    rules = tables.proposals
    found, most = -1, rules.evidence_heartbeats - 1
    for verb in range(lab.discomfort.shape[0]):
        if lab.discomfort[verb] > most and lab.review_at[verb] == 0:
            _, high = suggested_range(rules, lab.price[verb], tables.floor[verb])
            if high < lab.price[verb]:
                found, most = verb, lab.discomfort[verb]
    return found


@compiled
def propose(lab, tables, step):  # type: ignore[no-untyped-def]
    """File the argument for the verb that was deferred most. It uses up its evidence and changes no cost."""
    verb = most_deferred(lab, tables)
    low, high = suggested_range(tables.proposals, lab.price[verb], tables.floor[verb])
    step.event = PROPOSED
    step.proposed_verb = verb
    step.proposed_price = lab.price[verb]
    step.proposed_low = low
    step.proposed_high = high
    step.similar_deferrals = lab.discomfort[verb]
    for i in range(lab.discomfort_at.shape[1]):
        step.evidence[i] = lab.discomfort_at[verb, i] if i < lab.discomfort[verb] else -1
    lab.range_low[verb] = low
    lab.range_high[verb] = high
    lab.argued[verb] = lab.discomfort[verb]
    lab.review_at[verb] = lab.heartbeat + tables.proposals.review_heartbeats
    lab.discomfort[verb] = 0
    lab.proposals += 1


@compiled
def review_proposals(lab, tables, step):  # type: ignore[no-untyped-def]
    """Decide the proposals that are due. Nothing else ever changes a price."""
    for verb in range(lab.review_at.shape[0]):
        if lab.review_at[verb] != 0 and lab.heartbeat >= lab.review_at[verb]:
            old = lab.price[verb]
            new = reviewed_price(
                tables.proposals,
                old,
                lab.range_low[verb],
                lab.range_high[verb],
                lab.fair[verb],
                lab.uses[verb],
                lab.argued[verb],
                tables.floor[verb],
            )
            lab.price[verb] = new
            lab.review_at[verb] = 0
            lab.approvals += new != old
            step.reviewed[verb] = 1
            step.old_price[verb] = old
            step.new_price[verb] = new


# -- how a step ends ---------------------------------------------------------------------------


@inlined
def close_slot(lab, verb, tables, step):  # type: ignore[no-untyped-def]
    """Books of the action, and whether it ends the heartbeat."""
    lab.last_event = step.event
    lab.last_action = step.action
    lab.steps += 1
    lab.slot += 1
    if step.executed:
        lab.refusals_in_a_row = 0
    lab.reflected = step.event == REFLECTED
    if tables.energy.enabled and (step.executed or step.refusal != NOT_REFUSED):
        failed = step.refusal != NOT_REFUSED or step.event == REJECTED
        lab.failures[verb] = remember_use(lab.failures[verb], failed)
    ends = step.refusal != NOT_REFUSED or (step.executed and (verb == REST or verb == TERMINATE))
    step.closed = ends or lab.slot >= tables.energy.slots


@inlined
def close_heartbeat(lab, uniforms, tables, step):  # type: ignore[no-untyped-def]
    """The clock moves: forgiveness by time, energy's return, reviews, a new reagent lot where one is due."""
    if tables.debt.decay_per_heartbeat > 0.0:
        repay_debt(lab, tables.debt.decay_per_heartbeat * lab.debt, step)
    if lab.debt > tables.debt.threshold:
        lab.beats_over_threshold += 1
        lab.streak_over_threshold += 1
        lab.longest_streak = max(lab.longest_streak, lab.streak_over_threshold)
    else:
        lab.streak_over_threshold = 0
    lab.heartbeat += 1
    lab.slot = 0
    if tables.energy.enabled:
        close_energy(lab, tables, step)
    if tables.gate.enabled:
        close_gate(lab, tables, step)
    if lot_is_due(lab, tables):
        change_lot(lab, uniforms[uniforms.shape[0] - 1], tables)


@compiled
def close_energy(lab, tables, step):  # type: ignore[no-untyped-def]
    """The heartbeat's intent summary, its income, and the reviews that are due."""
    for i in range(lab.intents.shape[0]):
        step.intents[i] = lab.intents[i]
        lab.intents_shown[i] = lab.intents[i]
        lab.intents[i] = 0
    for verb in range(lab.done.shape[0]):
        for m in range(lab.done.shape[1]):
            lab.done[verb, m] = 0
    lab.reflected = 0
    lab.energy, lost = regenerate(lab.energy, tables.energy.regeneration, tables.energy.cap)
    step.energy_gained = tables.energy.regeneration - lost
    lab.energy_income += tables.energy.regeneration
    lab.energy_lost += lost
    if tables.proposals.enabled:
        review_proposals(lab, tables, step)


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
        if tables.debt.enforced and not tables.debt.carry_debt:
            lab.settled_at_end = lab.debt
            settle(lab, step)
    if tables.gate.enabled:
        step.strictness = lab.strictness
        step.correction = lab.correction
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
    if tables.gate.enabled:
        for m in range(lab.decision_at.shape[0]):
            if lab.decision_at[m] != 0:
                return True  # a reader has still to decide
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

    ``uniforms`` of shape ``(M + 1 + PRICE_UNIFORMS,)``: one a compound, one for the instrument, the others for prices.
    """
    n_compounds = lab.potency.shape[0]
    n_states = lab.instrument_belief.shape[0]
    n_classes = lab.marginal.shape[1]
    for m in range(n_compounds):
        lab.potency[m] = draw_class(tables.prior, uniforms[m])
        lab.entropy[m] = tables.prior_entropy
        lab.lowest_entropy[m] = tables.prior_entropy
        lab.coupled[m] = 0
        lab.licence[m] = tables.debt.licence_at_start
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
    lab.slot = 0
    lab.steps = 0
    if tables.energy.enabled:
        begin_energy(lab, tables, uniforms[n_compounds + 1 :])
    if tables.gate.enabled:
        begin_gate(lab, tables)


@compiled
def begin_gate(lab, tables):  # type: ignore[no-untyped-def]
    """Empty pages, and the policy in force at the start. Without a page every finding has energy 1."""
    for m in range(lab.page.shape[0]):
        for d in range(lab.page.shape[1]):
            lab.page[m, d] = -1
        lab.fit_class[m] = -1
        lab.fit_strength[m] = 0
        lab.named[m] = -1
        for wording in range(N_WORDINGS):
            lab.residual[m, wording] = MILLION
            lab.unsupported[m, wording] = 1
        lab.decision_at[m] = 0
        lab.submitted_class[m] = -1
        lab.submitted_confidence[m] = 0.0
        lab.submitted_verb[m] = 0
        lab.submitted_licensed[m] = 0
    lab.strictness = tables.gate.start
    lab.calm = 0
    for i in range(lab.verdicts.shape[0]):
        lab.verdicts[i] = 0
    for i in range(lab.decided.shape[0]):
        lab.decided[i] = 0
        lab.incidents[i] = 0
    lab.tightenings = 0
    for m in range(lab.plates.shape[0]):
        lab.plates[m, 0] = 0
        lab.plates[m, 1] = 0
        lab.submitted_rule[m] = -1
    lab.correction = -1
    for i in range(lab.scores.shape[0]):
        lab.scores[i] = 0


@compiled
def begin_energy(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """The purse, the prices and the memory of an episode's start; ``uniforms`` of shape ``(PRICE_UNIFORMS,)``."""
    lab.energy = tables.energy.start
    for verb in range(lab.price.shape[0]):
        lab.price[verb] = tables.base_price[verb]
        lab.fair[verb] = lab.price[verb]
        lab.uses[verb] = 0
        lab.failures[verb] = 0
        lab.discomfort[verb] = 0
        lab.review_at[verb] = 0
        lab.argued[verb] = 0
        lab.range_low[verb] = 0
        lab.range_high[verb] = 0
        for i in range(lab.discomfort_at.shape[1]):
            lab.discomfort_at[verb, i] = -1
        for m in range(lab.done.shape[1]):
            lab.done[verb, m] = 0
    for i in range(lab.intents.shape[0]):
        lab.intents[i] = 0
        lab.intents_shown[i] = 0
        lab.intents_total[i] = 0
    lab.reflected = 0
    lab.energy_income = 0
    lab.energy_lost = 0
    lab.energy_spent = 0
    lab.deferrals = 0
    lab.discomforts = 0
    lab.out_of_context = 0
    lab.hoardings = 0
    lab.reflections = 0
    lab.proposals = 0
    lab.approvals = 0
    if tables.proposals.enabled:
        misprice(lab, tables, uniforms)


@compiled
def misprice(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """Give some verbs a price that is far from their hidden fair cost."""
    rules = tables.proposals
    verbs = rules.mispriced_least + int(uniforms[0] * (rules.mispriced_most - rules.mispriced_least + 1))
    left = np.flatnonzero(tables.mispriceable)
    for k in range(verbs):
        at = int(uniforms[1 + 4 * k] * (left.shape[0] - k))
        misprice_one(lab, left[at], tables, uniforms[2 + 4 * k : 5 + 4 * k])
        left[at] = left[left.shape[0] - k - 1]


@compiled
def misprice_one(lab, verb, tables, uniforms):  # type: ignore[no-untyped-def]
    """A fair cost around the base cost, and a price well above or below it, within floor and ceiling.

    Where the floor leaves no room for a price that is far too low, it is too high.
    """
    rules = tables.proposals
    floor, ceiling = tables.floor[verb], tables.price_ceiling
    nearest = 1.0 / rules.fair_spread
    fair = lab.price[verb] * (nearest + (rules.fair_spread - nearest) * uniforms[0])
    fair = min(ceiling, max(floor, fair))
    factor = rules.factor_low + (rules.factor_high - rules.factor_low) * uniforms[1]
    if uniforms[2] < rules.upwards or fair / rules.factor_low < floor:
        fair = max(floor, min(fair, ceiling / rules.factor_low))
        price = min(ceiling, fair * factor)
    else:
        price = max(floor, fair / factor)
    lab.fair[verb] = int(fair + 0.5)
    lab.price[verb] = int(price + 0.5)


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
    hidden = lab.potency.shape[0] + 1
    fill_uniforms(uniforms, hidden, lab.key, lab.episode, 0, AT_RESET)
    if tables.proposals.enabled:
        fill_uniforms(uniforms[hidden:], PRICE_UNIFORMS, lab.key, lab.episode, 0, AT_PRICES)
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
def begin_labs(labs, chosen, fresh, held, observations, masks):  # type: ignore[no-untyped-def]
    """Start an episode in the labs that are ``chosen``.

    ``fresh`` ones begin their stream, the others go on in it. ``held``, here and below, is an array of one: the tables.
    """
    tables = held[0]
    uniforms = np.zeros(labs[0].potency.shape[0] + 1 + PRICE_UNIFORMS)
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
def show_labs(labs, held, observations, masks):  # type: ignore[no-untyped-def]
    """Write what every lab looks like now."""
    tables = held[0]
    for i in range(labs.shape[0]):
        write_observation(labs[i], tables, observations[i])
        write_mask(labs[i], tables, masks[i])


@compiled
def step_labs(  # type: ignore[no-untyped-def]
    labs,
    actions,
    held,
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
    tables = held[0]
    n_readouts = labs[0].last_bins.shape[0]
    n_compounds = labs[0].potency.shape[0]
    uniforms = np.zeros(n_readouts + 1)
    at_reset = np.zeros(n_compounds + 1 + PRICE_UNIFORMS)
    joint = np.empty((labs[0].conditional.shape[1], labs[0].conditional.shape[2]))
    evidence = np.empty(labs[0].instrument_belief.shape[0])
    for i in range(first, last):
        lab = labs[i]
        step = steps[i]
        if lab.end_reason != 0:
            begin_next(lab, tables, at_reset)
            clear_step(step, tables)
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
    address = lab.heartbeat * tables.energy.slots + lab.slot
    fill_uniforms(uniforms, n_readouts, lab.key, lab.episode, address, AT_READOUTS)
    if (lab.heartbeat + 1) % tables.lot_heartbeats == 0:
        fill_uniforms(uniforms[uniforms.shape[0] - 1 :], 1, lab.key, lab.episode, lab.heartbeat + 1, AT_RESET)


@compiled
def write_mask(lab, tables, mask):  # type: ignore[no-untyped-def]
    """Write into ``mask``, shape ``(A,)`` int8, which actions would execute."""
    for verb in range(REFLECT):
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
    if tables.energy.enabled:
        mask_energy(lab, tables, mask)


@compiled
def mask_energy(lab, tables, mask):  # type: ignore[no-untyped-def]
    """What energy, context and the rules of the voice leave of the mask."""
    for action in range(tables.first_action[REFLECT], mask.shape[0]):
        mask[action] = 1
    for verb in range(tables.wells.shape[0]):
        mask_unaffordable(lab, verb, tables, mask)
        if out_of_context(lab, verb, tables):
            for action in range(tables.first_action[verb], tables.first_action[verb + 1]):
                mask[action] = 0
    if obstacle_to(lab, PROPOSE, -1, 0, tables) != FREE:
        for action in range(tables.first_action[PROPOSE], tables.first_action[PROPOSE + 1]):
            mask[action] = 0


@inlined
def actions_of(verb, compound, n_compounds, tables):  # type: ignore[no-untyped-def]
    """The first and one past the last action of a verb on a compound."""
    first = tables.first_action[verb]
    each = (tables.first_action[verb + 1] - first) // n_compounds
    return first + compound * each, first + (compound + 1) * each


@inlined
def mask_published(lab, verb, tables, mask):  # type: ignore[no-untyped-def]
    """A compound is published once."""
    n_compounds = lab.published.shape[0]
    for m in range(n_compounds):
        if not is_open(lab, m):
            first, last = actions_of(verb, m, n_compounds, tables)
            for action in range(first, last):
                mask[action] = 0


@inlined
def mask_unaffordable(lab, verb, tables, mask):  # type: ignore[no-untyped-def]
    """What costs more energy than there is; to repeat something in a heartbeat costs more than to begin it."""
    first, last = tables.first_action[verb], tables.first_action[verb + 1]
    if first == last:
        return
    n_compounds = lab.published.shape[0] if tables.compound[first] >= 0 else 1
    fresh = energy_price(lab, verb, False, tables)
    again = energy_price(lab, verb, True, tables)
    for m in range(n_compounds):
        price = again if done_before(lab, verb, m) else fresh
        if price > lab.energy:
            from_here, to_here = actions_of(verb, m, n_compounds, tables)
            for action in range(from_here, to_here):
                mask[action] = 0
