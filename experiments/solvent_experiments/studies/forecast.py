"""The distribution of an experiment's gain under the exact belief of a lab's record.

A plate is played at fixed points of a low-discrepancy sequence through (instrument, class, one uniform per readout),
the same for every call, so a forecast depends only on its arguments.

Known approximation: with 64 points, the expected gain of a dose response is off by up to 0.15 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent.lab.batch import tables_array
from solvent.lab.compiled import compiled
from solvent.lab.draws import fixed_points
from solvent.lab.mechanisms.assay import draw_bin, draw_class
from solvent.lab.mechanisms.belief import condition_compound, condition_instrument, entropy_bits, marginalise
from solvent.lab.tables import tables_for

__all__ = ["forecasts"]

POINTS = 64


def forecasts(params: LabParams, labs: NDArray[Any], taken: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
    """Return the mean gain of each plate, bits, and the quantile of its claim.

    Args:
        params: of the labs.
        labs: records before the plates, shape ``(n,)``.
        taken: rows of the action table, shape ``(n,)``.
    """
    points = fixed_points(POINTS, int(tables_for(params).readouts.max()) + 2)
    gains = np.zeros((len(labs), POINTS))
    verbs, compounds = taken["verb"].astype(np.int64), taken["compound"].astype(np.int64)
    _play(labs, verbs, compounds, tables_array(params), points, gains)
    claims = taken["claim"][:, None]
    quantile = ((gains < claims) + 0.5 * (gains == claims)).mean(axis=1)
    return {"expected": gains.mean(axis=1), "quantile": quantile}


@compiled
def _play(labs, verbs, compounds, table_rows, points, gains):
    """Write the gain of each lab's plate at each point."""
    tables = table_rows[0]
    for i in range(labs.shape[0]):
        lab, verb, m = labs[i], verbs[i], compounds[i]
        n_states, n_classes = lab.conditional.shape[1], lab.conditional.shape[2]
        scratch = np.empty(n_classes), np.empty(n_states)
        conditional, instrument = np.empty((n_states, n_classes), np.float32), np.empty(n_states)
        marginal, bins = np.empty(n_classes), np.zeros(points.shape[1], np.int64)
        for k in range(points.shape[0]):
            conditional[:] = lab.conditional[m]
            instrument[:] = lab.instrument_belief
            state = draw_class(instrument, points[k, 0])
            truth = draw_class(conditional[state], points[k, 1])
            for r in range(tables.readouts[verb]):
                bins[r] = draw_bin(tables.dose_cumulative[verb, r, state, truth], points[k, r + 2])
            evidence = condition_compound(
                conditional, tables.dose_likelihood[verb], bins, tables.readouts[verb], scratch
            )
            condition_instrument(instrument, evidence)
            after = marginalise(marginal, conditional, instrument, scratch[0])
            gains[i, k] = entropy_bits(lab.marginal[m]) - after
