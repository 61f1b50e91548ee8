"""Publishing: asserted bits and log scores by hand, and that stating one's real confidence is optimal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.mechanisms.belief import most_probable
from solvent.lab.mechanisms.publication import asserted_bits, log_score

UNIFORM = 1 / 8
inside = st.floats(0.001, 0.999)


@pytest.mark.parametrize(("confidence", "bits"), [(0.5, 0.60), (0.75, 1.49), (0.95, 2.57)])
def test_asserted_bits_of_the_three_confidences(confidence, bits):
    assert round(asserted_bits(confidence, UNIFORM), 2) == bits
    # KL of (q, rest spread as the prior has it) against the uniform prior over eight classes.
    report = np.array([confidence] + [(1 - confidence) / 7] * 7)
    assert asserted_bits(confidence, UNIFORM) == pytest.approx((report * np.log2(report * 8)).sum())


@pytest.mark.parametrize(
    ("confidence", "right", "wrong"), [(0.5, 2.00, -0.81), (0.75, 2.58, -1.81), (0.95, 2.93, -4.13)]
)
def test_log_scores_of_the_three_confidences(confidence, right, wrong):
    assert round(log_score(confidence, UNIFORM, True), 2) == right
    assert round(log_score(confidence, UNIFORM, False), 2) == wrong


@given(inside)
def test_repeating_the_prior_asserts_and_pays_nothing(prior):
    assert log_score(prior, prior, True) == 0.0
    assert log_score(prior, prior, False) == 0.0
    assert asserted_bits(prior, prior) == 0.0


def expected_score(belief, report, prior):
    return belief * log_score(report, prior, True) + (1 - belief) * log_score(report, prior, False)


@pytest.mark.parametrize("prior", [UNIFORM, 0.02, 0.5, 0.9])
@pytest.mark.parametrize("belief", np.linspace(0.05, 0.95, 10))
def test_the_score_is_strictly_proper(belief, prior):
    belief = float(belief)
    honest = expected_score(belief, belief, prior)
    reports = [float(q) for q in np.linspace(0.005, 0.995, 199) if abs(q - belief) > 1e-9]
    assert len(reports) >= 198
    assert all(expected_score(belief, report, prior) < honest for report in reports)


@given(inside, inside)
def test_what_an_honest_report_asserts_is_what_it_expects_to_be_paid(belief, prior):
    assert asserted_bits(belief, prior) == pytest.approx(expected_score(belief, belief, prior), abs=1e-9)


def test_a_finding_names_the_most_probable_class_and_the_first_of_equals():
    assert most_probable(np.array([0.1, 0.2, 0.7])) == 2
    assert most_probable(np.array([0.1, 0.45, 0.45])) == 1
    assert most_probable(np.full(8, 0.125)) == 0
