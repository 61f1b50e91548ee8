"""The assay: likelihood tables against a direct simulation of the physics, and the curve at points known by heart."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from solvent.lab.mechanisms.assay import (
    AssayParams,
    bin_probabilities,
    draw_bin,
    draw_class,
    ec50_grid,
    instrument_grid,
    viability,
)
from solvent.lab.params import LabParams
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb
from tests.labs import energy_lab, take

ASSAY = AssayParams()
TABLES = tables_for(LabParams())
# Wells are the document's; how many readouts they make, and which doses a screen has, is tuned.
PLATES = LabParams().plates
CONTROLS = {
    Verb.DMSO: PLATES.dmso,
    Verb.BASELINE: PLATES.baseline,
    Verb.CALIBRATION: PLATES.calibration,
}
DOSED = {
    Verb.SCREEN: (PLATES.screen.doses, 4),
    Verb.DOSE_RESPONSE: ([1e-8 * 10 ** (0.5 * i) for i in range(8)], 6),
}


def assert_frequencies(counts, probabilities):
    """A G-test at one in a million; bins that expect less than five are pooled."""
    counts, expected = np.asarray(counts, float), np.asarray(probabilities) * np.sum(counts)
    rare = expected < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < 5:  # too rare even together: at most a handful
            assert counts[-1] < 30
            counts, expected = counts[:-1], expected[:-1]
    seen = counts > 0
    g = 2 * (counts[seen] * np.log(counts[seen] / expected[seen])).sum()
    assert g < chi2.isf(1e-6, max(1, len(counts) - 1)), (counts, expected)


def test_potencies_are_a_half_log_grid_from_10_nanomolar_to_10_micromolar():
    grid = ec50_grid(ASSAY)
    assert grid[0] == math.inf
    assert grid[1:] == pytest.approx([1e-8, 3.16228e-8, 1e-7, 3.16228e-7, 1e-6, 3.16228e-6, 1e-5], rel=1e-5)


def test_viability_falls_with_dose_and_with_potency_between_top_and_bottom():
    doses = np.logspace(-12, 0, 49)
    curve = viability(ASSAY, doses)
    assert (np.diff(curve[:, 1:], axis=0) < 0).all()
    assert (np.diff(curve[:, 1:], axis=1) > 0).all()  # a higher class is a higher EC50
    assert curve.max() <= 1.0
    assert curve[0, 1:] == pytest.approx(1.0, abs=1e-3)
    assert curve[-1, 1:] == pytest.approx(0.05, abs=1e-3)


def test_the_hill_slope_by_hand():
    # Inactive; at the EC50, the midpoint of bottom and top; at ten times the EC50.
    assert viability(ASSAY, [1.0])[0, 0] == 1.0
    assert viability(ASSAY, [1e-8])[0, 1] == pytest.approx((1 + 0.05) / 2)
    assert viability(ASSAY, [1e-7])[0, 1] == pytest.approx(0.05 + 0.95 / (1 + 10**1.2))


def simulated_readouts(rng, gain, plate_sd, true_viability, replicates, n):
    """The physics with no formula for the sum: plate noise once, technical noise once a well, then the mean."""
    plate = rng.normal(0, plate_sd, n)
    wells = rng.normal(0, 0.15, (n, replicates)).mean(axis=1)
    readout = gain * true_viability + plate + wells
    return np.clip(np.floor((readout - 0.1) / 0.1).astype(int), 0, 11)


@pytest.mark.parametrize("verb", CONTROLS)
def test_control_tables_against_a_simulation_of_every_well(verb):
    rng = np.random.default_rng(11)
    for state, (gain, plate_sd) in enumerate(instrument_grid(ASSAY)):
        bins = simulated_readouts(rng, gain, plate_sd, 1.0, CONTROLS[verb].replicates, 20_000)
        assert_frequencies(np.bincount(bins, minlength=12), TABLES.control_likelihood[verb][:, state])


@pytest.mark.parametrize("verb", DOSED)
def test_dose_tables_against_a_simulation_of_every_well(verb):
    rng = np.random.default_rng(12)
    doses, replicates = DOSED[verb]
    ec50 = [math.inf, *(1e-8 * 10 ** (0.5 * i) for i in range(7))]
    for r, dose in enumerate(doses):
        for state, potency in zip(rng.integers(0, 15, 6), rng.integers(0, 8, 6), strict=True):
            gain, plate_sd = instrument_grid(ASSAY)[state]
            v = 0.05 + 0.95 / (1 + (dose / ec50[potency]) ** 1.2)
            bins = simulated_readouts(rng, gain, plate_sd, v, replicates, 20_000)
            counts = np.bincount(bins, minlength=12)
            assert_frequencies(counts, TABLES.dose_likelihood[verb, r, :, state, potency])


def test_probabilities_far_in_either_tail_are_not_lost():
    sharp = AssayParams(gains=(1.0,), plate_sds=(0.0,))
    p = bin_probabilities(sharp, [0.25, 1.15], 225)[0]  # 0.15 / 15
    assert 0 < p[0, 5] < 1e-100  # 0.35 above, at a standard deviation of 0.01
    assert 0 < p[1, 6] < 1e-100
    assert p[0, 5] == pytest.approx(p[1, 6], rel=1e-6)  # mirror images


def test_a_uniform_falls_into_the_bin_whose_interval_holds_it():
    cumulative = np.array([0.2, 0.2, 0.7, 1.0])
    for uniform, expected in [(0.0, 0), (0.1999, 0), (0.2, 2), (0.6999, 2), (0.7, 3), (1 - 2**-32, 3)]:
        assert draw_bin(cumulative, uniform) == expected


def test_each_plate_of_a_heartbeat_has_its_own_draws():
    alike = []
    for seed in range(4):
        env = energy_lab(seed)
        take(env, Verb.CALIBRATION)
        _, step, record = take(env, Verb.CALIBRATION)
        assert (step["heartbeat"], step["slot"]) == (0, 1)
        env = energy_lab(seed)
        _, _, first = take(env, Verb.CALIBRATION)
        alike.append((record["last_bins"] == first["last_bins"]).all())
    assert not any(alike)


def test_a_belief_of_32_bits_is_added_up_in_64():
    """Three tenths are 0.30000000447 there, and 0.3000000119 in 32 bits."""
    assert draw_class(np.full(10, 0.1, np.float32), np.float64(0.300000008)) == 3
