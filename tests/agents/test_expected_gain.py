"""Forecasts against brute force over every outcome, written out with numpy."""

import itertools

import numpy as np
import pytest

from solvent.lab.mechanisms.assay import AssayParams, DoseTemplate, PlateParams
from solvent.lab.params import LabParams
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb
from solvent_agents.planning.expected_gain import Forecaster, fixed_points, quantile

SMALL = LabParams(
    assay=AssayParams(compounds=("a",), potency_classes=3, gains=(0.8, 1.2), plate_sds=(0.1,), bins=4),
    plates=PlateParams(
        screen=DoseTemplate(doses=(1e-8, 1e-7), replicates=4),
        dose_response=DoseTemplate(doses=(1e-9, 1e-8, 3e-8, 1e-7, 1e-6), replicates=6),
    ),
)
INSTRUMENT = np.array([[0.5, 0.5], [0.9, 0.1]])
MARGINAL = np.array([[1 / 3, 1 / 3, 1 / 3], [0.6, 0.1, 0.3]])


def entropy(p):
    return -sum(x * np.log2(x) for x in p if x > 0)


def brute_force(verb, instrument, marginal):
    """All outcomes: probability, gain, peak."""
    tables = tables_for(SMALL)
    likelihood = tables.dose_likelihood[int(verb)]
    rows = []
    for bins in itertools.product(range(4), repeat=int(tables.readouts[int(verb)])):
        joint = np.outer(instrument, marginal)
        for r, b in enumerate(bins):
            joint = joint * likelihood[r, b]
        p = joint.sum()
        posterior = joint.sum(axis=0) / p
        rows.append((p, entropy(marginal) - entropy(posterior), posterior.max()))
    return np.array(rows)


@pytest.mark.parametrize("lab", [0, 1])
def test_a_small_plate_is_enumerated_exactly(lab):
    weights, gains, peaks = Forecaster(SMALL).experiment(Verb.SCREEN, INSTRUMENT, MARGINAL)
    exact = brute_force(Verb.SCREEN, INSTRUMENT[lab], MARGINAL[lab])
    assert weights[lab].sum() == pytest.approx(1.0)
    assert np.sort(weights[lab]) == pytest.approx(np.sort(exact[:, 0]))
    assert weights[lab] @ gains[lab] == pytest.approx(exact[:, 0] @ exact[:, 1])
    assert weights[lab] @ peaks[lab] == pytest.approx(exact[:, 0] @ exact[:, 2])
    assert gains[lab].min() == pytest.approx(exact[:, 1].min())


@pytest.mark.parametrize("lab", [0, 1])
def test_a_large_plate_is_forecast_at_fixed_points(lab):
    forecaster = Forecaster(SMALL, points=512)
    weights, gains, peaks = forecaster.experiment(Verb.DOSE_RESPONSE, INSTRUMENT, MARGINAL)
    exact = brute_force(Verb.DOSE_RESPONSE, INSTRUMENT[lab], MARGINAL[lab])
    assert weights[lab] @ gains[lab] == pytest.approx(exact[:, 0] @ exact[:, 1], abs=0.03)
    assert weights[lab] @ peaks[lab] == pytest.approx(exact[:, 0] @ exact[:, 2], abs=0.03)


def test_the_default_number_of_points_is_within_what_the_module_says():
    params = LabParams()
    instrument, marginal = np.full((1, 15), 1 / 15), np.full((1, 8), 1 / 8)
    means = []
    for points in (64, 4096):
        weights, gains, _ = Forecaster(params, points).experiment(Verb.DOSE_RESPONSE, instrument, marginal)
        means.append((weights * gains).sum())
    assert means[0] == pytest.approx(means[1], abs=0.15)


def test_expected_is_the_mean_where_it_is_wanted():
    forecaster = Forecaster(SMALL)
    marginals = np.stack([MARGINAL, MARGINAL[::-1]], axis=1)
    wanted = np.array([[True, False], [True, True]])
    means = forecaster.expected(Verb.SCREEN, INSTRUMENT, marginals, wanted)
    assert means[0, 1] == -np.inf
    for lab, compound in np.argwhere(wanted):
        exact = brute_force(Verb.SCREEN, INSTRUMENT[lab], marginals[lab, compound])
        assert means[lab, compound] == pytest.approx(exact[:, 0] @ exact[:, 1])
    assert (forecaster.expected(Verb.SCREEN, INSTRUMENT, marginals, wanted & False) == -np.inf).all()


def test_a_calibration_teaches_nothing_to_who_knows_the_instrument():
    learnt = Forecaster(SMALL).calibration(np.array([[1.0, 0.0], [0.5, 0.5]]))
    assert learnt[0] == pytest.approx(0.0, abs=1e-12)
    assert 0.5 < learnt[1] <= 1.0


def test_quantiles_of_weighted_values():
    weights, values = np.array([[0.2, 0.5, 0.3]]), np.array([[3.0, 1.0, 2.0]])
    found = [quantile(weights, values, q)[0] for q in (0.0, 0.5, 0.51, 0.8, 0.81, 1.0)]
    assert found == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_the_fixed_points_fill_the_cube():
    points = fixed_points(256, 6)
    assert points.shape == (256, 6)
    assert points.min() >= 0.0
    assert points.max() < 1.0
    assert points.mean(axis=0) == pytest.approx(0.5, abs=0.01)
