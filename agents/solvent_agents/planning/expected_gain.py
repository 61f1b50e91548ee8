"""The distribution of an experiment's gain under the observed belief.

Mechanism. The belief of an observation is the product of the instrument's belief and the compound's marginal. The
outcomes of a plate are enumerated where they are few (a screen has 12 x 12) and otherwise sampled at fixed points: a
low-discrepancy sequence through (instrument, class, one uniform a readout), the same for every call, so a forecast
depends only on its arguments. Each outcome has a weight, a gain (entropy before less entropy after, bits) and a peak
(the resulting probability of the most probable class).

Known approximations: within a lot, a measured compound's class and the instrument are not independent; the observation
shows only ``p(class)``, so the forecast slightly overstates the gain of a repetition. At 64 points a dose
response's expected gain is off by up to 0.15 bits.

Letters as in ``solvent.lab.tables``; ``K`` outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.compiled import compiled
from solvent.lab.draws import fixed_points
from solvent.lab.mechanisms.assay import draw_bin
from solvent.lab.mechanisms.belief import condition_instrument, entropy_bits
from solvent.lab.params import LabParams
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb

__all__ = ["Forecaster", "quantile"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENUMERATED = 256
"""Plates with at most so many outcomes are enumerated."""

POINTS = 64
"""Points at which larger plates are forecast."""


class Forecaster:
    """Forecasts experiments in labs with these parameters."""

    def __init__(self, params: LabParams, points: int = POINTS) -> None:
        self.params = params
        self.tables: Any = tables_for(params)
        self._points = points
        self._bins = params.assay.bins

    def outcomes(self, verb: Verb) -> int:
        """Return the number of outcomes ``K`` of a forecast of ``verb``."""
        readouts = int(self.tables.readouts[int(verb)])
        return self._bins**readouts if self._bins**readouts <= ENUMERATED else self._points

    def experiment(self, verb: Verb, instrument: Floats, marginal: Floats) -> tuple[Floats, Floats, Floats]:
        """Forecast one experiment in each of ``n`` labs.

        Args:
            verb: ``Verb.SCREEN`` or ``Verb.DOSE_RESPONSE``.
            instrument: p(instrument), shape ``(n, N)``.
            marginal: p(class) of the compound, shape ``(n, G)``.

        Returns:
            Weights (they sum to 1), gains in bits, and peaks, each of shape ``(n, K)``.
        """
        shape = len(instrument), self.outcomes(verb)
        weights, gains, peaks = np.empty(shape), np.empty(shape), np.empty(shape)
        readouts = int(self.tables.readouts[int(verb)])
        all_of_them = self._bins**readouts <= ENUMERATED
        points = fixed_points(0 if all_of_them else self._points, readouts + 2)
        _forecast(int(verb), instrument, marginal, self.tables, points, (weights, gains, peaks))
        return weights, gains, peaks

    def expected(
        self,
        verb: Verb,
        instrument: Floats,
        marginals: Floats,
        wanted: NDArray[np.bool_],
        of: Callable[[Floats, Floats], Floats] | None = None,
    ) -> Floats:
        """Return the expectation over the outcomes of an experiment on each ``wanted`` compound, shape ``(n, M)``.

        It is -inf for the other compounds.

        Args:
            verb: ``Verb.SCREEN`` or ``Verb.DOSE_RESPONSE``.
            instrument: p(instrument), shape ``(n, N)``.
            marginals: p(class), shape ``(n, M, G)``. Compounds of a lab with the same belief are forecast once.
            wanted: which to forecast, shape ``(n, M)``.
            of: the quantity, a function of gains (bits) and peaks; by default the gain.
        """
        means = np.full(wanted.shape, -np.inf)
        labs, compounds = np.nonzero(wanted)
        if not len(labs):
            return means
        beliefs = np.concatenate([instrument[labs], marginals[labs, compounds]], axis=1)
        _, first, same = np.unique(beliefs, axis=0, return_index=True, return_inverse=True)
        weights, gains, peaks = self.experiment(
            verb, instrument[labs[first]], marginals[labs, compounds][first]
        )
        values = gains if of is None else of(gains, peaks)
        means[labs, compounds] = (weights * values).sum(axis=1)[same.reshape(-1)]
        return means

    def calibration(self, instrument: Floats, verb: Verb = Verb.DMSO) -> Floats:
        """Return the expected bits about the instrument from a vehicle plate, shape ``(n,)``, at fixed points."""
        points = fixed_points(self._points, int(self.tables.readouts[int(verb)]) + 1)
        bits = np.zeros(len(instrument))
        _forecast_control(int(verb), instrument, self.tables, points, bits)
        return bits


def quantile(weights: Floats, values: Floats, q: float) -> Floats:
    """Return the weighted quantile ``q`` of each row, shape ``(n,)``."""
    order = np.argsort(values, axis=1, kind="stable")
    cumulative = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    at = np.minimum((cumulative < q - 1e-12).sum(axis=1), values.shape[1] - 1)
    chosen = np.take_along_axis(order, at[:, None], axis=1)
    return np.take_along_axis(values, chosen, axis=1)[:, 0]


@compiled
def _forecast(verb, instrument, marginal, tables, points, out):  # type: ignore[no-untyped-def]
    """Write weights, gains and peaks, shape ``(n, K)``, at ``points`` or, if there are none, at every outcome."""
    weights, gains, peaks = out
    enumerate_all = points.shape[0] == 0
    n_states = instrument.shape[1]
    n_classes = marginal.shape[1]
    n_outcomes = weights.shape[1]
    n_bins = tables.dose_likelihood.shape[2]
    n_readouts = tables.readouts[verb]
    bins = np.zeros(n_readouts, np.int64)
    posterior = np.empty(n_classes)
    row = np.empty(n_classes)
    for i in range(weights.shape[0]):
        before = entropy_bits(marginal[i])
        for k in range(n_outcomes):
            if enumerate_all:
                rest = k
                for r in range(n_readouts):
                    bins[r] = rest % n_bins
                    rest //= n_bins
            else:
                state = draw_from(instrument[i], points[k, 0])
                truth = draw_from(marginal[i], points[k, 1])
                for r in range(n_readouts):
                    bins[r] = draw_bin(tables.dose_cumulative[verb, r, state, truth], points[k, r + 2])
            for g in range(n_classes):
                posterior[g] = 0.0
            for s in range(n_states):
                if instrument[i, s] < 1e-9:
                    continue
                for g in range(n_classes):
                    row[g] = instrument[i, s]
                for r in range(n_readouts):
                    likelihood = tables.dose_likelihood[verb, r, bins[r], s]
                    for g in range(n_classes):
                        row[g] *= likelihood[g]
                for g in range(n_classes):
                    posterior[g] += row[g]
            total = 0.0
            for g in range(n_classes):
                posterior[g] *= marginal[i, g]
                total += posterior[g]
            peak = 0.0
            for g in range(n_classes):
                posterior[g] = posterior[g] / total if total > 0.0 else marginal[i, g]
                peak = max(peak, posterior[g])
            weights[i, k] = total if enumerate_all else 1.0 / n_outcomes
            gains[i, k] = before - entropy_bits(posterior)
            peaks[i, k] = peak


@compiled
def _forecast_control(verb, instrument, tables, points, bits):  # type: ignore[no-untyped-def]
    """Write the expected gain about the instrument into ``bits``, shape ``(n,)``."""
    belief = np.empty(instrument.shape[1])
    for i in range(instrument.shape[0]):
        after = 0.0
        for k in range(points.shape[0]):
            belief[:] = instrument[i]
            state = draw_from(instrument[i], points[k, 0])
            for r in range(tables.readouts[verb]):
                observed = draw_bin(tables.control_cumulative[verb, state], points[k, r + 1])
                condition_instrument(belief, tables.control_likelihood[verb, observed])
            after += entropy_bits(belief)
        bits[i] = entropy_bits(instrument[i]) - after / points.shape[0]


@compiled
def draw_from(distribution, uniform):  # type: ignore[no-untyped-def]
    """Return the index into which ``uniform`` in [0, 1) falls."""
    cumulative = 0.0
    last = distribution.shape[0] - 1
    for index in range(last):
        cumulative += distribution[index]
        if uniform < cumulative:
            return index
    return last
