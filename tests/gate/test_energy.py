"""The residual from inner products, its smallest directions, and vectors that are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.gate.energy import GateError, hallucination_energy
from solvent.lab.words.measured import MOST_SPANS
from tests.gate.conftest import units
from tools.lab_words import gram_energy


@given(st.integers(0, 10_000), st.integers(1, MOST_SPANS))
def test_inner_products_give_the_same_energy(seed, n):
    claim, spans = units(seed, 1)[0], units(seed + 1, n)
    result = hallucination_energy(claim, spans, MOST_SPANS, MOST_SPANS).energy
    assert gram_energy(spans @ claim, spans @ spans.T) == pytest.approx(result, abs=1e-6)


def test_directions_below_the_cut_explain_nothing():
    claim, base = np.eye(4)[1], np.eye(4)[0]
    below, above = (base + part * claim for part in (1e-6, 1e-3))
    below, above = (np.array([base, near / np.linalg.norm(near)]) for near in (below, above))
    assert hallucination_energy(claim, below).rank == 1
    assert hallucination_energy(claim, above).energy == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("spans", [np.ones((2, 16)), np.full((2, 16), np.nan), units(0, 2, 8)])
def test_bad_vectors_are_refused(spans):
    with pytest.raises(GateError):
        hallucination_energy(units(0, 1)[0], spans)
