"""The gate's arithmetic: a span built row by row against QR and SVD, and every threshold from both sides."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent.lab.mechanisms.gate import (
    ACCEPT,
    MILLION,
    REJECT,
    REVIEW,
    add_direction,
    in_millionths,
    strength_at,
    verdict_on,
)
from solvent.lab.words.rows import STRENGTHS, WORDINGS, finding_row, fit_row, readout_row

EXAMPLES = settings(max_examples=200)
seeds = st.integers(0, 2**40)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def sentences(seed, n, d):
    return unit(np.random.default_rng(seed).standard_normal((n, d)))


def left_of_all(vectors):
    """What is left of each row outside of the span of those before it."""
    n = len(vectors)
    gram = vectors @ vectors.T
    rows = np.arange(n)
    factor, inverse = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
    return np.array([add_direction(gram, rows, i, i, factor, inverse) for i in range(n)]), factor, inverse


def outside(claim, spans, cut=1e-6):
    """The same of one claim, from the vectors: the part that no direction of the spans explains."""
    if not len(spans):
        return float(claim @ claim)
    _, singular, directions = np.linalg.svd(spans, full_matrices=False)
    kept = directions[singular > cut]
    residual = claim - kept.T @ (kept @ claim)
    return float(residual @ residual)


@EXAMPLES
@given(seeds, st.integers(1, 13), st.integers(13, 40))
def test_what_is_left_is_the_diagonal_of_qr_squared(seed, n, d):
    vectors = sentences(seed, n, d)
    left, factor, inverse = left_of_all(vectors)
    triangle = np.linalg.qr(vectors.T)[1]
    assert left == pytest.approx(np.diag(triangle) ** 2, abs=1e-12)
    assert factor[:n, :n] @ factor[:n, :n].T == pytest.approx(vectors @ vectors.T, abs=1e-12)
    assert inverse[:n] * np.diag(factor)[:n] == pytest.approx(1.0)


@EXAMPLES
@given(seeds, st.integers(2, 6), st.integers(1, 5))
def test_a_sentence_that_the_others_make_up_is_cut(seed, n, extra):
    rng = np.random.default_rng(seed)
    spans = sentences(seed, n, 32)
    mixed = unit(rng.standard_normal((extra, n)) @ spans)
    claim = sentences(seed + 1, 1, 32)
    left, _, inverse = left_of_all(np.vstack([spans, mixed, claim]))
    assert left[n:-1] == pytest.approx(0.0, abs=1e-9)
    assert (inverse[n : n + extra] == 0.0).all()
    assert left[-1] == pytest.approx(outside(claim[0], spans), abs=1e-9)


@EXAMPLES
@given(seeds, st.floats(-3.5, 0.0))
def test_noise_in_the_inner_products_is_not_taken_for_a_direction(seed, size):
    """Two sentences that are one but for rounding: without the cut they would explain any claim."""
    rng = np.random.default_rng(seed)
    spans, claim = sentences(seed, 4, 32), sentences(seed + 1, 1, 32)
    vectors = np.vstack([spans, spans, claim])
    noise = rng.uniform(-1, 1, (9, 9)) * 5e-10 * 10**size
    gram = vectors @ vectors.T + noise + noise.T
    factor, inverse = np.zeros((10, 10)), np.zeros(10)
    left = [add_direction(gram, np.arange(9), i, i, factor, inverse) for i in range(9)]
    assert left[8] == pytest.approx(outside(claim[0], spans), abs=1e-6)


def test_a_claim_by_hand():
    """cos 60 degrees to one sentence leaves three quarters; another, at a right angle to both, changes nothing."""
    third = [0.0, 0.0, 1.0]
    claim = [0.5, math.sqrt(0.75), 0.0]
    left, *_ = left_of_all(np.array([[1.0, 0.0, 0.0], third, claim]))
    assert left[2] == pytest.approx(0.75, abs=1e-15)


def test_energies_are_whole_millionths():
    energies = (-1e-9, 4.9e-7, 5.1e-7, 0.0672304999, 0.0672305001, 0.9999994, 0.9999996, 1.0 + 1e-9)
    millionths = [0, 0, 1, 67_230, 67_231, 999_999, MILLION, MILLION]
    assert [in_millionths(energy) for energy in energies] == millionths


@pytest.mark.parametrize(
    ("verdict", "gaps"),
    [
        (ACCEPT, (0, 67_229, 67_230)),
        (REVIEW, (67_231, 84_037, 84_038)),
        (REJECT, (84_039, MILLION)),
    ],
)
def test_the_verdict_at_and_beside_both_thresholds(verdict, gaps):
    assert [verdict_on(gap, 67_230, 84_038) for gap in gaps] == [verdict] * len(gaps)


@given(st.integers(0, MILLION), st.integers(0, MILLION), st.integers(0, MILLION), st.integers(0, MILLION))
def test_a_larger_gap_and_a_stricter_policy_are_never_milder(gap, more, accept, band):
    verdict = verdict_on(gap, accept, accept + band)
    assert verdict_on(gap + more, accept, accept + band) >= verdict
    assert verdict_on(gap, accept - more, accept + band - more) >= verdict
    assert verdict in (ACCEPT, REVIEW, REJECT)


def below(limit):
    return float(np.nextafter(limit, 0.0))


@pytest.mark.parametrize(
    ("strength", "peaks"),
    [
        ("poor", (0.125, below(0.35))),
        ("rough", (0.35, below(0.6))),
        ("good", (0.6, below(0.85))),
        ("precise", (0.85, 1.0)),
    ],
)
def test_a_fit_is_as_strong_as_its_class_is_believed(strength, peaks):
    assert [STRENGTHS[strength_at(peak, 0.35, 0.6, 0.85)] for peak in peaks] == [strength, strength]


@pytest.mark.parametrize(("doses", "bins", "classes"), [(8, 12, 8), (2, 5, 3), (1, 2, 2)])
def test_every_sentence_has_a_row_of_its_own_in_the_order_of_the_catalogue(doses, bins, classes):
    readouts = doses * bins
    rows = [readout_row(dose, b, bins) for dose in range(doses) for b in range(bins)]
    rows += [fit_row(readouts, 0, named, classes) for named in range(classes)][:1]
    rows += [fit_row(readouts, s, k, classes) for s in range(1, len(STRENGTHS)) for k in range(classes)]
    rows += [finding_row(readouts, w, k, classes) for w in range(len(WORDINGS)) for k in range(classes)]
    assert rows == list(range(readouts + 1 + 6 * classes))
    assert len({fit_row(readouts, 0, named, classes) for named in range(classes)}) == 1
