"""Forcing: every outcome that an action can have, through the compiled step itself.

A step is a function of (lab, action, uniforms, hidden truth). Instead of drawing the uniforms and the truth, ``expand``
puts in every combination that makes a difference to what can be seen: which bin each readout falls into, and whether
each finding that comes out is right. No rule is written a second time: what happens is what ``dynamics.advance``
does.

Letters as in ``state.py``, and ``H`` hypotheses ``(nu, theta_1, ..., theta_M)``, all combinations of an instrument
state and a class for each compound. ``W[h]`` is the probability of a hypothesis given everything that was seen, the
*referee's* belief. Bayes over whole hypotheses:

    P(o | a) = sum_h W[h] p(o | h, a),        W'[h] = W[h] p(o | h, a) / P(o | a)

and at a lot change the instrument is drawn anew. It is exact where the notebook is not: it keeps what ties the
compounds together across lots, and it learns from findings that turn out right or wrong. The notebook's belief goes on
to decide gains, licences and sentences, as it does in play.

Known approximation: none in the probabilities. Labs count as the same state where all that the future depends on
agrees, numbers to ``RESOLUTION`` (beliefs are stored in 32 bits, so the order of two plates shows in the eighth digit),
and where the same actions would execute.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.compiled import compiled, inlined
from solvent.lab.dynamics import advance, begin
from solvent.lab.mask import write_mask
from solvent.lab.mechanisms.adequacy import LOGGED
from solvent.lab.mechanisms.assay import lot_is_due
from solvent.lab.mechanisms.proposals import PRICE_UNIFORMS
from solvent.lab.mechanisms.publication import most_probable
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb

__all__ = ["RESOLUTION", "check_enumerable", "expand", "hypotheses", "start", "state_key"]

RESOLUTION = 1e-5
"""Numbers in a state that differ by less are taken as equal."""

FORGOTTEN = 1e-14
"""Outcomes less likely than this are left out: they are rounding, or can't be drawn from 32 bits."""

MOST_HYPOTHESES = 20_000
_PUBLISH_PRIVATE, _PUBLISH_PUBLIC = int(Verb.PUBLISH_PRIVATE), int(Verb.PUBLISH_PUBLIC)
_FNV = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_OTHER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def check_enumerable(params: LabParams) -> None:
    """Check that the outcomes of a lab can be enumerated at all.

    Raises:
        ParamError: something in it is continuous and hidden, or outlives an episode; or there is too much of it.
    """
    if params.proposals.enabled and params.proposals.mispriced_most > 0:
        raise ParamError(
            "proposals.mispriced_most",
            f"got {params.proposals.mispriced_most}; allowed: 0, since hidden fair costs are continuous",
        )
    if params.debt.carry_debt:
        raise ParamError(
            "debt.carry_debt", "got true; allowed: false, since an episode must stand for itself"
        )
    assay = params.assay
    count = assay.instrument_states * assay.potency_classes ** len(assay.compounds)
    if count > MOST_HYPOTHESES:
        raise ParamError(
            "assay",
            f"got {count:,} combinations of instrument and classes; allowed: at most {MOST_HYPOTHESES:,}",
        )


def hypotheses(params: LabParams) -> NDArray[np.int64]:
    """All combinations of instrument and classes, shape ``(H, 1 + M)``."""
    assay = params.assay
    ranges = [range(assay.instrument_states), *[range(assay.potency_classes)] * len(assay.compounds)]
    return np.array(list(itertools.product(*ranges)), np.int64)


def start(labs: NDArray[Any], params: LabParams) -> NDArray[np.float64]:
    """Begin the one episode there is in ``labs[:1]`` and return the referee's belief, shape ``(H,)``."""
    check_enumerable(params)
    tables: Any = tables_for(params)
    uniforms = np.zeros(len(params.assay.compounds) + 1 + PRICE_UNIFORMS)
    held = tables.base.reshape(1)
    _begin_one(labs, held, uniforms)
    rows = hypotheses(params)
    prior = np.array(params.assay.class_prior)
    weights: NDArray[np.float64] = prior[rows[:, 1:]].prod(axis=1) / params.assay.instrument_states
    return weights


@compiled
def _begin_one(labs, held, uniforms):  # type: ignore[no-untyped-def]
    """Begin the episode of the first lab, with whatever is hidden."""
    labs[0] = held[0].blank
    lab = labs[0]
    begin(lab, held[0], uniforms)
    _forget_truth(lab)


@inlined
def _forget_truth(lab):  # type: ignore[no-untyped-def]
    """The truth is no part of a state."""
    for m in range(lab.potency.shape[0]):
        lab.potency[m] = 0
    lab.instrument = 0


@compiled
def expand(  # type: ignore[no-untyped-def]
    labs,
    weights,
    first,
    last,
    rows,
    held,
    steps,
    mask,
    keys,
    parents,
    actions,
    chances,
    rewards,
    outcomes,
    children,
    child_weights,
):
    """Every outcome of every action in the labs ``first..last-1``; returns how many there are.

    Args:
        labs: states, shape ``(n,)``; the truth in them is ignored.
        weights: the referee's belief in each, shape ``(n, H)``.
        first: the first of them.
        last: one past the last.
        rows: ``hypotheses``.
        held: the tables, an array of one.
        steps: scratch, an array of one step record.
        mask: scratch, shape ``(A,)`` int8.
        keys: key of the state that each outcome leads to, shape ``(C, 2)`` uint64; zeros where the episode ends.
        parents: which lab, shape ``(C,)``.
        actions: which action, shape ``(C,)``.
        chances: probability of the outcome, shape ``(C,)``.
        rewards: reward, bits, shape ``(C,)``.
        outcomes: the readouts as one number, shape ``(C,)``: ``sum_r bin_r * B**r``, 0 where there are none. Which
            findings were right is seen by the reward.
        children: the states, shape ``(C,)``.
        child_weights: the referee's belief in them, shape ``(C, H)``.
    """
    tables = held[0]
    n_bins = tables.control_likelihood.shape[1]
    n_compounds = labs[0].potency.shape[0]
    uniforms = np.zeros(labs[0].last_bins.shape[0] + 1)
    bins = np.zeros(labs[0].last_bins.shape[0], np.int64)
    n_states = labs[0].instrument_belief.shape[0]
    scratch = (np.empty((n_states, labs[0].conditional.shape[2])), np.empty(n_states))
    asserted = np.empty(n_compounds, np.int64)
    posterior = np.empty(rows.shape[0])
    count = 0
    for i in range(first, last):
        for action in range(tables.verb.shape[0]):
            verb, compound = tables.verb[action], tables.compound[action]
            trial = children[count]  # what comes out doesn't depend on the outcome: one trial shows it
            children[count] = labs[i]
            for r in range(uniforms.shape[0]):
                uniforms[r] = 0.0
            advance(trial, action, uniforms, tables, steps, scratch)
            n_readouts = tables.readouts[verb] if steps[0].executed else 0
            n_shown = 0
            for m in range(n_compounds):
                asserted[m] = -1
                if trial.published[m] != 0 and labs[i].published[m] == 0:
                    now = m == compound and (verb == _PUBLISH_PRIVATE or verb == _PUBLISH_PUBLIC)
                    named = most_probable(labs[i].marginal[m])
                    asserted[m] = named if now else labs[i].submitted_class[m]
                    n_shown += 1
            for combination in range(n_bins**n_readouts):
                for pattern in range(2**n_shown):
                    chance, likeliest = weigh(
                        weights[i], rows, combination, pattern, asserted, verb, compound, n_readouts, tables,
                        bins, posterior,
                    )  # fmt: skip
                    if chance < FORGOTTEN:
                        continue
                    child = children[count]
                    children[count] = labs[i]
                    put_truth(child, rows[likeliest])
                    force(uniforms, bins, rows[likeliest], verb, compound, n_readouts, tables)
                    rewards[count] = advance(child, action, uniforms, tables, steps, scratch)
                    _forget_truth(child)
                    parents[count] = i
                    actions[count] = action
                    chances[count] = chance
                    outcomes[count] = combination
                    closed = child.heartbeat != labs[i].heartbeat
                    settle_belief(posterior, chance, closed and lot_is_due(child, tables), n_states)
                    for h in range(posterior.shape[0]):
                        child_weights[count, h] = posterior[h]
                    if child.end_reason != 0:
                        keys[count, 0] = 0
                        keys[count, 1] = 0
                    else:
                        write_mask(child, tables, mask)
                        state_key(child, posterior, mask, tables, keys[count])
                    count += 1
    return count


@compiled
def weigh(  # type: ignore[no-untyped-def]
    weights, rows, combination, pattern, asserted, verb, compound, n_readouts, tables, bins, posterior
):
    """Probability of an outcome, and the likeliest hypothesis behind it.

    ``bins`` gets its readouts, ``posterior`` what is left of ``weights``, not normalised.
    """
    n_bins = tables.control_likelihood.shape[1]
    rest = combination
    for r in range(n_readouts):
        bins[r] = rest % n_bins
        rest //= n_bins
    total, likeliest, most = 0.0, 0, -1.0
    for h in range(rows.shape[0]):
        weight = weights[h]
        if weight > 0.0:
            for r in range(n_readouts):
                if compound < 0:
                    weight *= tables.control_likelihood[verb, bins[r], rows[h, 0]]
                else:
                    weight *= tables.dose_likelihood[verb, r, bins[r], rows[h, 0], rows[h, 1 + compound]]
            bit = 1
            for m in range(asserted.shape[0]):
                if asserted[m] >= 0:
                    right = rows[h, 1 + m] == asserted[m]
                    if right != ((pattern & bit) != 0):
                        weight = 0.0
                    bit *= 2
        posterior[h] = weight
        total += weight
        if weight > most:
            likeliest, most = h, weight
    return total, likeliest


@inlined
def put_truth(lab, row):  # type: ignore[no-untyped-def]
    """Put a hypothesis into the place of the truth."""
    lab.instrument = row[0]
    for m in range(lab.potency.shape[0]):
        lab.potency[m] = row[1 + m]


@compiled
def force(uniforms, bins, row, verb, compound, n_readouts, tables):  # type: ignore[no-untyped-def]
    """Uniforms in the middle of those that make the readouts fall into ``bins``."""
    for r in range(uniforms.shape[0]):
        uniforms[r] = 0.0
    for r in range(n_readouts):
        if compound < 0:
            cumulative = tables.control_cumulative[verb, row[0]]
        else:
            cumulative = tables.dose_cumulative[verb, r, row[0], row[1 + compound]]
        below = cumulative[bins[r] - 1] if bins[r] > 0 else 0.0
        uniforms[r] = 0.5 * (below + cumulative[bins[r]])


@compiled
def settle_belief(posterior, chance, new_lot, n_states):  # type: ignore[no-untyped-def]
    """Normalise the referee's belief; a new lot has an instrument of which nothing is known."""
    for h in range(posterior.shape[0]):
        posterior[h] /= chance
    if new_lot:  # the instrument is the first letter of a hypothesis, so those of one instrument lie together
        each = posterior.shape[0] // n_states
        for g in range(each):
            total = 0.0
            for n in range(n_states):
                total += posterior[n * each + g]
            for n in range(n_states):
                posterior[n * each + g] = total / n_states


# -- what makes two labs the same state ------------------------------------------------------------


@inlined
def _mix(key, value):  # type: ignore[no-untyped-def]
    """Add a whole number to a key of two words."""
    word = np.uint64(np.int64(value))
    key[0] = (key[0] ^ word) * _PRIME
    key[0] ^= key[0] >> _SHIFT
    key[1] = (key[1] + word + _OTHER) * _OTHER
    key[1] ^= key[1] >> _SHIFT


@inlined
def _mix_number(key, value):  # type: ignore[no-untyped-def]
    """Add a number, to the resolution."""
    _mix(key, np.int64(np.floor(value / RESOLUTION + 0.5)))


@compiled
def state_key(lab, weights, mask, tables, key):  # type: ignore[no-untyped-def]
    """Write into ``key``, shape ``(2,)``, a hash of all that the lab's future depends on.

    Left out are the tallies, what was seen last, and what can no longer matter: the page, the licence and the lowest
    entropy of a compound that is published, and heartbeats without an error while the gate is at its start.
    """
    key[0], key[1] = _FNV, _OTHER
    _mix(key, lab.heartbeat)
    _mix(key, lab.slot)
    _mix(key, lab.wells)
    _mix_number(key, lab.debt)
    for action in range(mask.shape[0]):
        _mix(key, mask[action])
    for h in range(weights.shape[0]):
        _mix_number(key, weights[h])
    for n in range(lab.instrument_belief.shape[0]):
        _mix_number(key, lab.instrument_belief[n])
    for m in range(lab.published.shape[0]):
        _mix(key, lab.published[m] != 0)
        _mix(key, lab.coupled[m])
        for n in range(lab.instrument_belief.shape[0]):
            for g in range(lab.marginal.shape[1]):
                _mix_number(key, lab.conditional[m, n, g])
        if lab.published[m] == 0:
            _mix_number(key, lab.licence[m])
            _mix_number(key, lab.lowest_entropy[m])
            _mix(key, min(LOGGED, lab.experiments[m]))
    if tables.debt.bankruptcy_after_refusals > 0:
        _mix(key, lab.refusals_in_a_row)
    if tables.energy.enabled:
        _mix_energy(lab, tables, key)
    if tables.gate.enabled:
        _mix_gate(lab, tables, key)


@compiled
def _mix_energy(lab, tables, key):  # type: ignore[no-untyped-def]
    """The purse and what the situation remembers."""
    _mix(key, lab.energy)
    for verb in range(lab.price.shape[0]):
        if tables.energy.first_use != 1.0:
            _mix(key, lab.uses[verb] != 0)
        if tables.energy.error_rate != 1.0:
            _mix(key, lab.failures[verb])
    if tables.energy.slots > 1 and tables.energy.similar != 1.0:
        for verb in range(lab.done.shape[0]):
            for m in range(lab.done.shape[1]):
                _mix(key, lab.done[verb, m])
    if tables.proposals.enabled:
        _mix(key, lab.reflected)
        for verb in range(lab.price.shape[0]):
            _mix(key, lab.price[verb])
            _mix(key, lab.uses[verb])
            _mix(key, lab.discomfort[verb])
            _mix(key, lab.discomfort_at[verb, 0])
            _mix(key, lab.review_at[verb])
            _mix(key, lab.argued[verb])
            _mix(key, lab.range_low[verb])
            _mix(key, lab.range_high[verb])


@compiled
def _mix_gate(lab, tables, key):  # type: ignore[no-untyped-def]
    """The pages of open compounds, what is under review, and the policy in force."""
    for m in range(lab.published.shape[0]):
        if lab.published[m] != 0:
            continue
        for d in range(lab.page.shape[1]):
            _mix(key, lab.page[m, d])
        _mix(key, lab.fit_class[m])
        _mix(key, lab.fit_strength[m])
        _mix(key, lab.named[m])
        _mix(key, lab.decision_at[m])
        if lab.decision_at[m] != 0:
            _mix(key, lab.submitted_class[m])
            _mix_number(key, lab.submitted_confidence[m])
            _mix(key, lab.submitted_verb[m])
            _mix(key, lab.submitted_licensed[m])
    _mix(key, lab.strictness)
    if lab.strictness != tables.gate.policy:
        _mix(key, lab.calm)
