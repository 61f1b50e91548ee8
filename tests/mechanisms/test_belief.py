"""Entropy by hand. The posterior as a whole is compared with the reference lab's in tests/reference."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.mechanisms.belief import entropy_bits


@pytest.mark.parametrize(
    ("distribution", "bits"),
    [
        ([0.125] * 8, 3.0),
        ([0.5, 0.5], 1.0),
        ([0.5, 0.25, 0.25], 1.5),
        ([1.0, 0.0, 0.0], 0.0),  # 0 log 0 is 0
        ([0.9, 0.1], -0.9 * math.log2(0.9) - 0.1 * math.log2(0.1)),
    ],
)
def test_entropy_by_hand(distribution, bits):
    assert entropy_bits(np.array(distribution)) == pytest.approx(bits, abs=1e-12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=15).filter(lambda values: sum(values) > 1e-3))
def test_entropy_lies_between_certainty_and_ignorance(weights):
    p = np.array(weights) / sum(weights)
    assert 0.0 <= entropy_bits(p) <= math.log2(len(p)) + 1e-9
