"""Forcing: enumerates every outcome of an action through the compiled step itself.

A step is a function of (lab, action, uniforms, hidden truth). Instead of drawing the uniforms and the truth,
``expand`` supplies every combination that changes what can be observed: the bin of each readout, and whether a
published finding is right. No rule is written twice: ``dynamics.advance`` computes each outcome.

Letters as in ``state.py``, and ``H`` hypotheses ``(nu, theta_1, ..., theta_M)``, all combinations of an instrument
state and a class for each compound. ``W[h]`` is the probability of a hypothesis given everything observed, the
*referee's* belief. Bayes over whole hypotheses:

    P(o | a) = sum_h W[h] p(o | h, a),        W'[h] = W[h] p(o | h, a) / P(o | a)

and a lot change draws a new instrument. It is exact where the notebook is not: it keeps the dependence between
compounds across lots, and it learns from findings that turn out right or wrong. The notebook's belief still decides
gains, licences and sentences, as in play.

Known approximation: none in the probabilities. Two labs are the same state if their rows of ``state_rows`` agree.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.batch import LabBatch
from solvent.lab.compiled import compiled
from solvent.lab.dynamics import advance
from solvent.lab.mask import write_mask
from solvent.lab.mechanisms.adequacy import LOGGED
from solvent.lab.mechanisms.assay import lot_is_due
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.lab.state import lab_dtype, lab_fields
from solvent.lab.tables import tables_for
from solvent.lab.verbs import EXPERIMENTS, TEMPLATES, Verb
from solvent_agents.survey import Room, room_for

RESOLUTION = 1e-5
"""Numbers in a state that differ by less are taken as equal."""

FORGOTTEN = 1e-14
"""Outcomes less likely than this are left out: they are rounding, or can't be drawn from 32 bits."""

MOST_HYPOTHESES = 20_000

MOST_OUTCOMES = 5_000
"""Outcomes of all actions of a state together, for which there is room."""

OUTCOME = np.dtype(
    [
        ("row", "i4"),  # the lab and the action, ``i * A + a``
        (
            "code",
            "i4",
        ),  # what is seen of it: the readouts, ``sum_r bin_r * B**r``, or 1 for a finding that is right
        ("state", "i4"),  # the next state, -1 where the episode ends; ``process.py`` numbers them
        ("chance", "f8"),
        ("reward", "f8"),  # bits
    ]
)
"""One outcome of an action."""

_PUBLISH_PUBLIC = int(Verb.PUBLISH_PUBLIC)


def check_enumerable(params: LabParams) -> None:
    """Check that the outcomes of a lab can be enumerated.

    Raises:
        ParamError: a hidden quantity is continuous or changes, or there are too many hypotheses or outcomes.
    """
    if params.proposals.enabled and params.proposals.mispriced_most > 0:
        raise ParamError(
            "proposals.mispriced_most",
            f"got {params.proposals.mispriced_most}; allowed: 0, since hidden fair costs are continuous",
        )
    if params.career.enabled:
        raise ParamError(
            "career.enabled", "got true; allowed: false, since compounds change with each project"
        )
    assay = params.assay
    count = assay.instrument_states * assay.potency_classes ** len(assay.compounds)
    if count > MOST_HYPOTHESES:
        raise ParamError(
            "assay",
            f"got {count:,} combinations of instrument and classes; allowed: at most {MOST_HYPOTHESES:,}",
        )
    if (most := most_outcomes(params)) > MOST_OUTCOMES:
        raise ParamError(
            "plates",
            f"got {most:,} outcomes of the actions of one state; allowed: {MOST_OUTCOMES:,}, by fewer readouts or bins",
        )


def most_outcomes(params: LabParams) -> int:
    """Return the largest number of outcomes that the actions of one state can have together."""
    bins = params.assay.bins
    readouts = {int(verb): getattr(params.plates, verb.name.lower()).readouts for verb in TEMPLATES}
    seen = sum(bins ** readouts.get(int(verb), 0) for verb in action_table(params)["verb"])
    return 2 * int(seen)  # a finding is right or wrong


def hypotheses(params: LabParams) -> NDArray[np.int64]:
    """Return all combinations of instrument and classes, shape ``(H, 1 + M)``."""
    assay = params.assay
    ranges = [range(assay.instrument_states), *[range(assay.potency_classes)] * len(assay.compounds)]
    return np.array(list(itertools.product(*ranges)), np.int64)


def start(params: LabParams) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return a lab at its beginning, shape ``(1,)``, and the referee's belief in it, shape ``(1, H)``."""
    batch = LabBatch(params, 1)
    batch.begin([0], np.ones(1, np.bool_), np.random.default_rng(0))
    prior = np.array(params.assay.class_prior)
    weights = prior[hypotheses(params)[:, 1:]].prod(axis=1) / params.assay.instrument_states
    return batch.labs, weights[None]


class Expansion(NamedTuple):
    """The output of ``expand``, at most ``C`` outcomes, and what it works in."""

    outcomes: NDArray[Any]  # [C] ``OUTCOME``
    children: NDArray[Any]  # [C] the states that they lead to, lab records
    weights: NDArray[np.float64]  # [C, H] the referee's belief in these
    masks: NDArray[np.int8]  # [C, A] the actions that would execute there
    trial: NDArray[Any]  # [1] a lab in which an action is tried
    room: Room


def expansion(params: LabParams, labs: int) -> Expansion:
    """Return room for the outcomes in so many labs with these parameters."""
    size = labs * most_outcomes(params)
    return Expansion(
        np.full(size, -1, OUTCOME),
        np.zeros(size, lab_dtype(params)),
        np.zeros((size, len(hypotheses(params)))),
        np.zeros((size, len(action_table(params))), np.int8),
        np.zeros(1, lab_dtype(params)),
        room_for(params),
    )


@compiled
def expand(labs, weights, rows, tables_array, out):
    """Write every outcome of every action in ``labs`` into ``out``; return how many there are.

    Args:
        labs: states, shape ``(n,)``; the truth in them is ignored.
        weights: the referee's belief in each, shape ``(n, H)``.
        rows: ``hypotheses``.
        tables_array: the tables, shape ``(1,)``.
        out: an ``Expansion``.
    """
    tables = tables_array[0]
    n_actions, n_bins = tables.verb.shape[0], tables.control_likelihood.shape[1]
    bins = np.zeros(labs[0].last_bins.shape[0], np.int64)
    count = 0
    for i in range(labs.shape[0]):
        for action in range(n_actions):
            n_readouts, asserted = try_action(labs[i], action, tables, out)
            seen = bins[:n_readouts]
            for combination in range(n_bins**n_readouts):
                write_digits(combination, n_bins, seen)
                for right in range(1 if asserted < 0 else 2):
                    outcome_seen = tables.verb[action], tables.compound[action], seen, asserted, right
                    if write_outcome(labs[i], weights[i], rows, action, outcome_seen, tables, out, count):
                        out.outcomes[count].row = i * n_actions + action
                        out.outcomes[count].code = combination if asserted < 0 else right
                        count += 1
    return count


def try_action(lab, action, tables, out):
    """Return how many readouts an action has in a lab, and the class that it asserts, -1 for none.

    What a finding asserts doesn't depend on luck: one trial shows it.
    """
    verb, room = tables.verb[action], out.room
    out.trial[0] = lab
    room.uniforms[:] = 0.0
    advance(out.trial[0], action, room.uniforms, tables, room.steps, (room.row, room.evidence))
    step = room.steps[0]
    n_readouts = tables.readouts[verb] if step.executed else 0
    is_published = verb == _PUBLISH_PUBLIC and out.trial[0].accepted != lab.accepted
    return n_readouts, int(step.asserted) if is_published else -1


def write_digits(number, base, digits):
    """Write a number in digits of a base, the lowest first."""
    for d in range(digits.shape[0]):
        digits[d] = number % base
        number //= base


def write_outcome(lab, weights, rows, action, outcome_seen, tables, out, at):
    """Write an outcome, the state that it leads to and the belief there into ``out``; return whether it is kept.

    Args:
        lab: the state before the action.
        weights: the referee's belief in it, shape ``(H,)``.
        rows: ``hypotheses``.
        action: the action.
        outcome_seen: what is seen of it, as ``weigh`` takes it.
        tables: the lab's tables.
        out: an ``Expansion``.
        at: where there is room. An outcome that is ``FORGOTTEN`` leaves it to the next one.
    """
    belief, room = out.weights[at], out.room
    chance, likeliest = weigh(weights, rows, outcome_seen, tables, belief)
    if chance < FORGOTTEN:
        return False
    out.children[at] = lab
    child = out.children[at]
    child.instrument = rows[likeliest, 0]
    for m in range(child.potency.shape[0]):
        child.potency[m] = rows[likeliest, 1 + m]
    force(room.uniforms, rows[likeliest], outcome_seen, tables)
    scratch = room.row, room.evidence
    out.outcomes[at].reward = advance(child, action, room.uniforms, tables, room.steps, scratch)
    out.outcomes[at].chance = chance
    new_lot = child.heartbeat != lab.heartbeat and lot_is_due(child, tables)
    settle_belief(belief, chance, new_lot, lab.instrument_belief.shape[0])
    write_mask(child, tables, out.masks[at])
    return True


def weigh(weights, rows, outcome_seen, tables, posterior):
    """Return the probability of an outcome and the likeliest hypothesis behind it.

    Args:
        weights: the referee's belief, shape ``(H,)``.
        rows: ``hypotheses``, shape ``(H, 1 + M)``.
        outcome_seen: ``(verb, compound, bins, asserted, right)``: the bins of its readouts, the class that a published
            finding asserts (-1 for none), and 1 if it is right.
        tables: the lab's tables.
        posterior: receives what is left of ``weights``, not normalised, shape ``(H,)``.
    """
    verb, compound, bins, asserted, right = outcome_seen
    n_readouts = bins.shape[0]
    total, likeliest, most = 0.0, 0, -1.0
    for h in range(rows.shape[0]):
        weight = weights[h]
        if weight > 0.0:
            for r in range(n_readouts):
                if compound < 0:
                    weight *= tables.control_likelihood[verb, bins[r], rows[h, 0]]
                else:
                    weight *= tables.dose_likelihood[verb, r, bins[r], rows[h, 0], rows[h, 1 + compound]]
            if asserted >= 0 and (rows[h, 1 + compound] == asserted) != (right != 0):
                weight = 0.0
        posterior[h] = weight
        total += weight
        if weight > most:
            likeliest, most = h, weight
    return total, likeliest


def force(uniforms, row, outcome_seen, tables):
    """Write the middle of the uniforms that make the readouts fall into the bins of ``outcome_seen`` (``weigh``)."""
    verb, compound, bins = outcome_seen[0], outcome_seen[1], outcome_seen[2]
    uniforms[:] = 0.0
    for r in range(bins.shape[0]):
        if compound < 0:
            cumulative = tables.control_cumulative[verb, row[0]]
        else:
            cumulative = tables.dose_cumulative[verb, r, row[0], row[1 + compound]]
        below = cumulative[bins[r] - 1] if bins[r] > 0 else 0.0
        uniforms[r] = 0.5 * (below + cumulative[bins[r]])


def settle_belief(posterior, chance, new_lot, n_states):
    """Normalise the referee's belief; in a new lot the instrument is uniform again."""
    posterior /= chance
    if new_lot:
        by_instrument = posterior.reshape(n_states, -1)  # hypotheses are sorted by instrument first
        mean = by_instrument.sum(axis=0) / n_states
        for n in range(n_states):
            by_instrument[n] = mean


# -- what makes two labs the same state ------------------------------------------------------------


OF_PUBLISHED = ("conditional", "coupled", "published")
"""Fields of a compound that matter although it is published; of the others nothing does."""


def state_rows(
    labs: NDArray[Any], weights: NDArray[np.float64], masks: NDArray[np.int8], params: LabParams
) -> NDArray[np.int64]:
    """Return all that the future of each lab depends on, as whole numbers, one row per lab.

    It is in every field that is neither hidden, for which ``weights`` stands, nor derived. Numbers are rounded to
    ``RESOLUTION``: beliefs are stored in 32 bits, so the order of two plates changes the eighth digit.
    """
    is_open = labs["published"] == 0
    columns: list[NDArray[Any]] = [masks, weights]
    for field in lab_fields(params):
        if field.derived or field.hidden is not None:
            continue
        values = _what_matters(field.name, labs, params)
        if field.project and field.name not in OF_PUBLISHED:
            values = np.where(is_open.reshape(is_open.shape + (1,) * (values.ndim - 2)), values, 0)
        columns.append(values)
    return np.concatenate([_integers(values).reshape(len(labs), -1) for values in columns], axis=1)


def _what_matters(name: str, labs: NDArray[Any], params: LabParams) -> NDArray[Any]:
    """Return what rules read of a field: less than its values where they tell apart labs with the same future."""
    energy = params.energy
    values: NDArray[Any] = labs[name]
    if name == "experiments":
        return np.asarray(values > 0)
    if name == "plates":
        looks = tables_for(params).looks[[int(verb) for verb in EXPERIMENTS]]
        return np.asarray(np.minimum(LOGGED, values @ looks) * params.adequacy.enabled)
    if name == "uses" and not params.proposals.enabled:
        return np.asarray((values != 0) & (energy.first_use != 1.0))
    if name == "failures":
        return np.where(energy.error_rate != 1.0, values, 0)
    if name == "done":
        return np.where(params.slots > 1 and energy.similar != 1.0, values, 0)
    return values


def _integers(values: NDArray[Any]) -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        values = np.floor(values / np.float64(RESOLUTION) + 0.5)
    return values.astype(np.int64)
