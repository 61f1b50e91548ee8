"""Survey: the expected gain of a plate, tabulated by what is known before it.

A forecast from the belief itself would take longer than a whole episode of the compiled lab, and the planner needs
thousands for each decision. So some labs run plates at random, without budget or debt, and their results are averaged
by the knowledge before the plate: ``k``, the compound's two most probable classes and the probability of the first, and
``n``, the expected quality of the instrument and its entropy:

    rise[verb, k]            expected rise of a finding's score, bits
    share[verb, p, n]        factor for the knowledge of the instrument (1 on average)
    claims[verb, p, n]       the claim with the best  licence_worth * licence - debt_worth * overclaim
    learnt[verb, n]          expected bits about the instrument from a vehicle plate

where ``p`` is the probability of the first class. The quality of an instrument is the information of a screen on it,
``quality[nu] = sum over doses of I(class; readout | nu)``. Neighbouring bins are smoothed into each other.

Known approximation: ``k`` and ``n`` summarise a belief; the first project of a career stands for all. The labs' seeds
are fixed, so the tables depend only on the lab's parameters.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import offered_verbs
from solvent.lab.batch import LabBatch, tables_array
from solvent.lab.compiled import compiled
from solvent.lab.draws import fill_uniforms
from solvent.lab.dynamics import advance, decide
from solvent.lab.mechanisms.energy import CAP_THOUSANDTHS
from solvent.lab.mechanisms.publication import log_score
from solvent.lab.params import LabParams
from solvent.lab.state import lab_dtype, step_dtype
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb

__all__ = [
    "PEAK_BINS",
    "Room",
    "Survey",
    "best_claims",
    "instrument_bin",
    "pair_bin",
    "qualities",
    "room_for",
    "survey",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PEAK_BINS = 10
QUALITY_BINS, ENTROPY_BINS = 6, 4
PLATES = 240_000
"""Plates that are surveyed: some dozens for each pair of classes and probability."""
MOST_LABS = 6000
"""Their seeds are below those of evaluations."""
SMOOTHING = 0.6
"""Width of the smoothing, bins."""
FEW = 2.0
"""Plates that a bin must have to be trusted by half."""
AT_SURVEY = 77
"""Purpose of the survey's own draws."""

REST = int(Verb.REST)
ON_ONE_COMPOUND = 0.3
"""Probability with which a plate of another compound is given to the first, so that well-known compounds occur too."""


class Survey(NamedTuple):
    """Mean results of the surveyed plates, by ``pair_bin``, ``peak_bin`` and ``instrument_bin``."""

    rise: Floats  # [V, k] bits
    share: Floats  # [V, p, n]
    licence: Floats  # [V, p, n, C] expected licence of each claim, bits
    overclaim: Floats  # [V, p, n, C] expected debt of each claim, bits
    learnt: Floats  # [V, n] bits


class Plates(NamedTuple):
    """What plates brought, arrays of one element per plate."""

    verb: Ints  # -1 where none was run
    pair: Ints  # what was known of the compound, by ``pair_bin``; 0 without one
    instrument: Ints  # what was known of the instrument, by ``instrument_bin``
    gain: Floats  # bits
    rise: Floats  # of the score of the compound's best finding, bits


class Scores(NamedTuple):
    """Scores of a finding by confidence, averaged over the classes that it can name, bits."""

    right: Floats
    wrong: Floats


class Room(NamedTuple):
    """Arrays that a step of the lab works in, as ``dynamics.advance`` takes them."""

    uniforms: Floats
    steps: NDArray[Any]
    row: Floats
    evidence: Floats


def room_for(params: LabParams) -> Room:
    """Return room for the steps of one lab."""
    readouts = lab_dtype(params)["last_bins"].shape[0]
    return Room(
        uniforms=np.zeros(readouts + 1 + len(params.assay.compounds)),
        steps=np.zeros(1, step_dtype(params)),
        row=np.empty(params.assay.potency_classes),
        evidence=np.empty(params.assay.instrument_states),
    )


def qualities(params: LabParams) -> Floats:
    """Return the quality of each instrument state, shape ``(N,)``: 0 the worst, 1 the best."""
    tables: Any = tables_for(params)
    prior = np.array(params.assay.class_prior)
    bits = np.zeros(params.assay.instrument_states)
    for r in range(int(tables.readouts[Verb.SCREEN])):
        likelihood = np.moveaxis(tables.dose_likelihood[Verb.SCREEN, r], 0, -1)  # [N, G, B]
        expected = np.einsum("g,ngb->nb", prior, likelihood)[:, None, :]
        ratio = np.log2(np.maximum(likelihood, 1e-300) / np.maximum(expected, 1e-300))
        bits += np.einsum("g,ngb,ngb->n", prior, likelihood, ratio)
    span = np.ptp(bits)
    quality: Floats = (bits - bits.min()) / span if span > 0.0 else np.ones(len(bits))
    return quality


@functools.lru_cache(maxsize=32)
def survey(params: LabParams, plates: int = PLATES) -> Survey:
    """Return the survey of labs with these parameters; it takes some tenths of a second the first time."""
    tables: Any = tables_for(params)
    beats = _beats(params)
    labs = min(MOST_LABS, -(-plates // beats))
    batch = LabBatch(params, labs)
    batch.begin(list(range(labs)), np.ones(labs, np.bool_), np.random.default_rng(0))
    verbs = np.array([verb for verb in offered_verbs(params) if tables.wells[verb] > 0])
    results = _no_plates(labs * beats)
    quality, scores, room = qualities(params), _scores(params), room_for(params)
    run_plates(batch.labs, tables_array(params), beats, verbs, quality, scores, room, results)
    executed = results.verb >= 0
    return _averaged(params, Plates._make(column[executed] for column in results))


def _beats(params: LabParams) -> int:
    """Return for how many heartbeats a lab is surveyed: a new project would take what is known of the compounds."""
    if params.career.enabled:
        return max(1, min(params.budget.heartbeats, params.career.project_heartbeats - 1))
    return params.budget.heartbeats


def _no_plates(n: int) -> Plates:
    """Return room for the results of ``n`` plates, none of them run yet."""
    return Plates(
        verb=np.full(n, -1),
        pair=np.zeros(n, np.int64),
        instrument=np.zeros(n, np.int64),
        gain=np.zeros(n),
        rise=np.zeros(n),
    )


def _scores(params: LabParams) -> Scores:
    """Return the scores of right and wrong findings by confidence."""
    prior, confidences = np.array(params.assay.class_prior), np.array(params.vocabulary.confidences)
    right = np.array([np.mean([log_score(q, p, True) for p in prior]) for q in confidences])
    wrong = np.array([np.mean([log_score(q, p, False) for p in prior]) for q in confidences])
    return Scores(right, wrong)


def _averaged(params: LabParams, plates: Plates) -> Survey:
    """Return the means of the plates' results by bin, smoothed over neighbouring bins."""
    pairs = params.assay.potency_classes**2
    peak = plates.pair % PEAK_BINS
    over_peaks = _kernel(PEAK_BINS)
    # Pairs of classes have no order, but so few of them are smoothed as if they had one.
    over_pairs = np.eye(pairs) if pairs > PEAK_BINS else _kernel(pairs)
    over_instruments = np.kron(_kernel(QUALITY_BINS), _kernel(ENTROPY_BINS))

    by_pair = _Means((plates.verb, plates.pair // PEAK_BINS, peak), over_pairs, over_peaks)
    by_knowledge = _Means((plates.verb, peak, plates.instrument), over_peaks, over_instruments)
    by_peak = _Means((plates.verb, np.zeros_like(peak), peak), np.eye(1), over_peaks)

    gain = by_knowledge(plates.gain)
    usual_gain = np.maximum(by_peak(plates.gain).reshape(len(Verb), PEAK_BINS, 1), 1e-9)
    claims = params.vocabulary.claims
    licences = [np.maximum(0.0, np.minimum(claim, plates.gain)) for claim in claims]
    overclaims = [np.maximum(0.0, claim - plates.gain) for claim in claims]
    return Survey(
        rise=by_pair(plates.rise).reshape(len(Verb), -1),
        share=np.clip(gain / usual_gain, 0.0, 4.0),
        licence=np.stack([by_knowledge(bits) for bits in licences], axis=-1),
        overclaim=np.stack([by_knowledge(bits) for bits in overclaims], axis=-1),
        learnt=gain[:, 0, :],  # of plates without a compound, whose peak is 0
    )


class _Means:
    """Means of a column by bin, shape ``(V, a, b)``, smoothed along ``a`` and ``b`` with the given weights.

    An empty bin has the mean of its verb.

    Args:
        bins: verb, ``a`` and ``b`` of each plate.
        over_a: weights of the bins ``a`` in each other's means, shape ``(a, a)``.
        over_b: the same of ``b``.
    """

    def __init__(self, bins: tuple[Ints, Ints, Ints], over_a: NDArray[Any], over_b: NDArray[Any]) -> None:
        self._verbs, self._over_a, self._over_b = bins[0], over_a, over_b
        self._shape = (len(Verb), len(over_a), len(over_b))
        self._bins = np.ravel_multi_index(bins, self._shape)
        self._counts = self._smoothed_sums(np.ones(len(self._bins)))

    def __call__(self, values: Floats) -> Floats:
        count = np.maximum(1.0, np.bincount(self._verbs, minlength=len(Verb)))
        mean_of_verb = np.bincount(self._verbs, values, minlength=len(Verb)) / count
        sums = self._smoothed_sums(values) + FEW * mean_of_verb[:, None, None]
        means: Floats = sums / (self._counts + FEW)
        return means

    def _smoothed_sums(self, values: Floats) -> Floats:
        sums = np.bincount(self._bins, values, minlength=math.prod(self._shape)).reshape(self._shape)
        smoothed: Floats = np.einsum("vab,ai,bj->vij", sums, self._over_a, self._over_b)
        return smoothed


def _kernel(n: int) -> Floats:
    """Return the weights of ``n`` bins in each other's means."""
    apart = np.subtract.outer(np.arange(n), np.arange(n))
    weights: Floats = np.exp(-0.5 * (apart / SMOOTHING) ** 2)
    return weights


def best_claims(results: Survey, licence_worth: float, debt_worth: float) -> Ints:
    """Return the best claim of each experiment by bin, an index of the claims; shape ``(V, p, n)``."""
    worth = licence_worth * results.licence - debt_worth * results.overclaim
    chosen: Ints = worth.argmax(axis=-1)
    return chosen


# -- plates at random ----------------------------------------------------------------------------


@compiled
def run_plates(labs, tables_array, beats, verbs, quality, scores, room, results):
    """Run one plate per heartbeat in every lab, always with a full budget, and write what it brought."""
    tables = tables_array[0]
    for i in range(labs.shape[0]):
        for beat in range(beats):
            if labs[i].end_reason == 0:
                at = i * beats + beat
                run_plate(labs[i], beat, at, verbs, quality, scores, room, results, tables)


def run_plate(lab, beat, at, verbs, quality, scores, room, results, tables):
    """Run a plate that is drawn at random, write what it brought as result ``at``, and end the heartbeat."""
    verb, compound = draw_plate(lab, beat, verbs, tables)
    fill_budget(lab, tables)
    pair = pair_bin(lab, compound) if compound >= 0 else 0
    instrument = instrument_bin(lab, quality, tables)
    score = best_score(lab, compound, scores)
    fill_uniforms(room.uniforms, room.uniforms.shape[0], lab.key, 0, beat, AT_SURVEY + 1)
    action = action_without_claim(lab, verb, compound, tables)
    advance(lab, action, room.uniforms, tables, room.steps, (room.row, room.evidence))
    step = room.steps[0]
    if step.executed:
        results.verb[at], results.pair[at], results.instrument[at] = verb, pair, instrument
        results.gain[at], results.rise[at] = step.gain, best_score(lab, compound, scores) - score
    if step.closed == 0 and lab.end_reason == 0:
        rest = tables.first_action[REST]
        advance(lab, rest, room.uniforms, tables, room.steps, (room.row, room.evidence))


def draw_plate(lab, beat, verbs, tables):
    """Return a verb and a compound at random, -1 for a plate without one."""
    drawn = np.empty(2)
    fill_uniforms(drawn, 2, lab.key, 0, beat, AT_SURVEY)
    verb = verbs[int(drawn[0] * verbs.shape[0])]
    if tables.is_calibration[verb]:
        return verb, -1
    place = drawn[1] * lab.published.shape[0]
    compound = int(place)
    return verb, compound if place - compound >= ON_ONE_COMPOUND else 0


def fill_budget(lab, tables):
    """Give a lab all its wells and energy back, and forgive its debt."""
    lab.wells, lab.debt = tables.blank.wells, 0.0
    if tables.energy.enabled:
        lab.energy = CAP_THOUSANDTHS
    decide(lab, tables)


def action_without_claim(lab, verb, compound, tables):
    """Return the first action of a verb on a compound (-1 for none)."""
    first, last = tables.first_action[verb], tables.first_action[verb + 1]
    return first + max(0, compound) * ((last - first) // lab.published.shape[0])


# -- what is known before a plate ----------------------------------------------------------------


def peak_bin(lab, compound, named):
    """Return the bin of the most probable class's probability."""
    least = 1.0 / lab.marginal.shape[1]
    above = (lab.marginal[compound, named] - least) / (1.0 - least)
    return min(max(0, int(above * PEAK_BINS)), PEAK_BINS - 1)


def pair_bin(lab, compound):
    """Return the bin of a compound: its two most probable classes and the probability of the first."""
    classes = lab.marginal.shape[1]
    named = int(lab.named[compound])  # stored as int8, which plain Python would keep
    second = 1 if named == 0 else 0
    for g in range(classes):
        if g != named and lab.marginal[compound, g] > lab.marginal[compound, second]:
            second = g
    return (named * classes + second) * PEAK_BINS + peak_bin(lab, compound, named)


def instrument_bin(lab, quality, tables):
    """Return the bin of the instrument: its expected ``quality``, in [0, 1], and its entropy."""
    good = 0.0
    for n in range(quality.shape[0]):
        good += lab.instrument_belief[n] * quality[n]
    known, highest = 0, tables.blank.instrument_entropy
    if highest > 0.0:
        known = min(int(lab.instrument_entropy / highest * ENTROPY_BINS), ENTROPY_BINS - 1)
    return min(int(good * QUALITY_BINS), QUALITY_BINS - 1) * ENTROPY_BINS + known


def best_score(lab, compound, scores):
    """Return the expected score of the best finding on a compound, bits; 0 for none."""
    if compound < 0:
        return 0.0
    peak = 0.0
    for g in range(lab.marginal.shape[1]):
        peak = max(peak, lab.marginal[compound, g])
    best = 0.0
    for q in range(scores.right.shape[0]):
        best = max(best, peak * scores.right[q] + (1.0 - peak) * scores.wrong[q])
    return best
