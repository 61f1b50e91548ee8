"""Survey: the expected gain of a plate, tabulated by what is known before it.

A forecast from the belief itself would take longer than a whole episode of the compiled lab, and the planner needs
thousands for each decision. So some labs run plates at random, without budget or debt, and their results are averaged
by the knowledge before the plate: ``k``, the compound's two most probable classes and the probability of the first, and
``n``, the expected quality of the instrument and its entropy:

    rise[verb, k]            expected rise of a finding's score, bits
    share[verb, p, n]        factor for the knowledge of the instrument (1 on average)
    gain[verb, p, n]         expected gain, bits
    claims[verb, p, n]       the claim with the best  licence_worth * licence - debt_worth * overclaim
    learnt[verb, n]          expected bits about the instrument from a vehicle plate

where ``p`` is the probability of the first class. The quality of an instrument is the information of a screen on it,
``quality[nu] = sum over doses of I(class; readout | nu)``. Neighbouring bins are smoothed into each other.

Known approximation: ``k`` and ``n`` summarise a belief. The labs' seeds are fixed, so the tables depend only on the
lab's parameters.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import offered_verbs
from solvent.lab.batch import LabBatch, held_tables
from solvent.lab.compiled import compiled
from solvent.lab.draws import fill_uniforms
from solvent.lab.dynamics import advance, decide
from solvent.lab.mechanisms.publication import log_score
from solvent.lab.params import LabParams
from solvent.lab.state import step_dtype
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb

__all__ = ["PEAK_BINS", "Survey", "best_claims", "instrument_bin", "pair_bin", "qualities", "survey"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PEAK_BINS = 10
QUALITY_BINS, ENTROPY_BINS = 6, 4
INSTRUMENT_BINS = QUALITY_BINS * ENTROPY_BINS
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

VERB, PAIR, INSTRUMENT, GAIN, RISE = range(5)
"""Columns of what a plate brought: verb (-1 for none), what was known, bits gained, rise of the score."""
REST = int(Verb.REST)


class Survey(NamedTuple):
    """Mean results of the surveyed plates, by ``pair_bin``, ``peak_bin`` and ``instrument_bin``."""

    rise: Floats  # [V, k] bits
    share: Floats  # [V, p, n]
    gain: Floats  # [V, p, n] bits
    licence: Floats  # [V, p, n, C] expected licence of each claim, bits
    overclaim: Floats  # [V, p, n, C] expected debt of each claim, bits
    learnt: Floats  # [V, n] bits


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
    spread = np.ptp(bits)
    quality: Floats = (bits - bits.min()) / spread if spread > 0.0 else np.ones(len(bits))
    return quality


@functools.lru_cache(maxsize=32)
def survey(params: LabParams, plates: int = PLATES) -> Survey:
    """Return the survey of labs with these parameters; it takes some tenths of a second the first time."""
    tables: Any = tables_for(params)
    labs = min(MOST_LABS, -(-plates // params.budget.heartbeats))
    batch = LabBatch(params, labs)
    batch.begin(list(range(labs)), np.ones(labs, np.bool_), np.random.default_rng(0))
    rows = np.zeros((labs * params.budget.heartbeats, 5))
    confidences = np.array(params.vocabulary.confidences)
    prior = np.array(params.assay.class_prior)
    # Averaged over the classes that a finding can name, by confidence.
    right = np.array([np.mean([log_score(q, p, True) for p in prior]) for q in confidences])
    wrong = np.array([np.mean([log_score(q, p, False) for p in prior]) for q in confidences])
    verbs = np.array([verb for verb in offered_verbs(params) if tables.wells[verb] > 0])
    n, g = params.assay.instrument_states, params.assay.potency_classes
    uniforms = np.empty(len(batch.labs[0]["last_bins"]) + 1)
    scratch = uniforms, np.zeros(1, step_dtype(params)), np.empty(g), np.empty(n)
    _run_plates(batch.labs, held_tables(params), verbs, (qualities(params), right, wrong), scratch, rows)
    return _averaged(params, rows[rows[:, VERB] >= 0.0])


def _averaged(params: LabParams, rows: Floats) -> Survey:
    """Return means by bin, smoothed over neighbouring bins."""
    verb, pair, instrument = (rows[:, column].astype(np.int64) for column in (VERB, PAIR, INSTRUMENT))
    pairs = params.assay.potency_classes**2
    by_pair = _Means((verb * pairs * PEAK_BINS + pair,), (len(Verb), pairs, PEAK_BINS))
    peak = pair % PEAK_BINS
    by_peak = _Means(
        ((verb * PEAK_BINS + peak) * INSTRUMENT_BINS + instrument,), (len(Verb), PEAK_BINS, INSTRUMENT_BINS)
    )
    overall = _Means((verb * PEAK_BINS + peak,), (len(Verb), 1, PEAK_BINS))
    gain, rise = rows[:, GAIN], rows[:, RISE]
    claims = np.array(params.vocabulary.claims)
    over = np.maximum(0.0, claims - gain[:, None])
    licence = np.maximum(0.0, np.minimum(claims, gain[:, None]))
    columns = range(len(claims))
    usual = np.maximum(overall(gain).reshape(len(Verb), PEAK_BINS, 1), 1e-9)
    return Survey(
        rise=by_pair(rise).reshape(len(Verb), -1),
        share=np.clip(by_peak(gain) / usual, 0.0, 4.0),
        gain=by_peak(gain),
        licence=np.stack([by_peak(licence[:, c]) for c in columns], axis=-1),
        overclaim=np.stack([by_peak(over[:, c]) for c in columns], axis=-1),
        learnt=by_peak(gain)[:, 0, :],  # of plates without a compound, which are counted in the first row
    )


class _Means:
    """Means of a column by bin, shape ``(V, a, b)``, smoothed along ``b`` and, unless its bins are pairs, along ``a``.

    An empty bin has the mean of its verb.
    """

    def __init__(self, at: tuple[Ints], shape: tuple[int, int, int]) -> None:
        (self._at,), self._shape = at, shape
        n_a, n_b = shape[1:]
        self._over_a = np.eye(n_a) if n_a > PEAK_BINS else _kernel(n_a)
        instruments = np.kron(_kernel(QUALITY_BINS), _kernel(ENTROPY_BINS))
        self._over_b = instruments if n_b == INSTRUMENT_BINS else _kernel(n_b)
        self._counts = self._spread(np.ones(len(self._at)))

    def __call__(self, values: Floats) -> Floats:
        verbs = self._at // math.prod(self._shape[1:])
        n = np.maximum(1.0, np.bincount(verbs, minlength=self._shape[0]))
        of_verb = np.bincount(verbs, values, minlength=self._shape[0]) / n
        sums = self._spread(values) + FEW * of_verb[:, None, None]
        means: Floats = sums / (self._counts + FEW)
        return means

    def _spread(self, values: Floats) -> Floats:
        sums = np.bincount(self._at, values, minlength=math.prod(self._shape)).reshape(self._shape)
        spread: Floats = np.einsum("vab,ai,bj->vij", sums, self._over_a, self._over_b)
        return spread


def _kernel(n: int) -> Floats:
    """Return the weights of ``n`` bins in each other's means."""
    apart = np.subtract.outer(np.arange(n), np.arange(n))
    weights: Floats = np.exp(-0.5 * (apart / SMOOTHING) ** 2)
    return weights


def best_claims(found: Survey, licence_worth: float, debt_worth: float) -> Ints:
    """Return the best claim of each experiment by bin, an index of the claims; shape ``(V, p, n)``."""
    worth = licence_worth * found.licence - debt_worth * found.overclaim
    chosen: Ints = worth.argmax(axis=-1)
    return chosen


@compiled
def _run_plates(labs, held, verbs, scales, scratch, rows):
    """Run one plate per heartbeat in every lab, always with a full budget, and write its result into ``rows``."""
    quality, right, wrong = scales
    uniforms, steps, row, evidence = scratch
    tables = held[0]
    n_compounds = labs[0].potency.shape[0]
    drawn = np.empty(4)
    at = 0
    for i in range(labs.shape[0]):
        lab = labs[i]
        for beat in range(tables.horizon):
            rows[at, 0] = -1.0
            if lab.end_reason == 0:
                fill_uniforms(drawn, 2, lab.key, 0, beat, AT_SURVEY)
                verb = verbs[int(drawn[0] * verbs.shape[0])]
                compound = int(drawn[1] * n_compounds) if tables.is_calibration[verb] == 0 else -1
                # One compound is measured repeatedly, so that well-known compounds are sampled too.
                if compound > 0 and drawn[1] * n_compounds - compound < 0.3:
                    compound = 0
                first, last = tables.first_action[verb], tables.first_action[verb + 1]
                each = (last - first) // n_compounds if compound >= 0 else 0
                lab.wells, lab.debt = tables.blank.wells, 0.0
                if tables.energy.enabled:
                    lab.energy = tables.energy.cap
                decide(lab, tables)
                rows[at, 0] = verb
                rows[at, 1] = pair_bin(lab, compound) if compound >= 0 else 0
                rows[at, 2] = instrument_bin(lab, quality, tables)
                before = best_score(lab, compound, right, wrong)
                fill_uniforms(uniforms, uniforms.shape[0], lab.key, 0, beat, AT_SURVEY + 1)
                action = first + max(0, compound) * each
                advance(lab, action, uniforms, tables, steps, (row, evidence))
                step = steps[0]
                rows[at, 3] = step.gain
                rows[at, 4] = best_score(lab, compound, right, wrong) - before
                if not step.executed:
                    rows[at, 0] = -1.0
                if step.closed == 0 and lab.end_reason == 0:
                    rest = tables.first_action[REST]
                    advance(lab, rest, uniforms, tables, steps, (row, evidence))
            at += 1


def peak_bin(lab, compound, named):
    """Return the bin of the most probable class's probability."""
    least = 1.0 / lab.marginal.shape[1]
    above = (lab.marginal[compound, named] - least) / (1.0 - least)
    return min(max(0, int(above * PEAK_BINS)), PEAK_BINS - 1)


def pair_bin(lab, compound):
    """Return the bin of a compound: its two most probable classes and the probability of the first."""
    classes = lab.marginal.shape[1]
    named = lab.named[compound]
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


def best_score(lab, compound, right, wrong):
    """Return the expected score of the best finding on a compound, bits; 0 for none."""
    if compound < 0:
        return 0.0
    peak = 0.0
    for g in range(lab.marginal.shape[1]):
        peak = max(peak, lab.marginal[compound, g])
    best = 0.0
    for q in range(right.shape[0]):
        best = max(best, peak * right[q] + (1.0 - peak) * wrong[q])
    return best
