"""The assay: what a readout shows of a compound and of the instrument, tabulated once.

Mechanism. A compound of class ``g >= 1`` has viability ``v = bottom + (1 - bottom) / (1 + (dose / EC50_g)^hill)``
(four-parameter logistic, top 1); class 0 is inactive, ``v = 1`` at every dose, like vehicle wells. A readout of
``n`` replicate wells on instrument ``(gain, plate_sd)`` is ``Normal(gain * v, plate_sd^2 + technical_sd^2 / n)``,
binned; the outer two bins are open. Replicates average out the technical part only: plates, not wells, limit
what can be known.

Known approximation: none beyond the binning; probabilities come from the normal distribution function, and in the
tails from the smaller side, so that none is lost to cancellation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from solvent.lab.compiled import inlined
from solvent.lab.params import AssayParams

__all__ = ["bin_edges", "bin_probabilities", "draw_bin", "ec50_grid", "instrument_grid", "viability"]

Floats = NDArray[np.float64]


def ec50_grid(assay: AssayParams) -> Floats:
    """EC50 of each potency class, mol/L, shape ``(G,)``; infinite for class 0 (inactive)."""
    steps = np.arange(assay.potency_classes - 1)
    return np.concatenate([[np.inf], assay.lowest_ec50 * 10.0 ** (assay.ec50_step * steps)])


def viability(assay: AssayParams, doses: Any) -> Floats:
    """Viability of each class at each dose (mol/L), shape ``(len(doses), G)``, in [bottom, 1]."""
    ratio = np.asarray(doses, dtype=np.float64)[:, None] / ec50_grid(assay)[None, :]
    logistic: Floats = 1.0 / (1.0 + ratio**assay.hill)
    return assay.bottom + (1.0 - assay.bottom) * logistic


def instrument_grid(assay: AssayParams) -> Floats:
    """The instrument states as rows ``(gain, plate_sd)``, shape ``(N, 2)``."""
    return np.array([(gain, sd) for gain in assay.gains for sd in assay.plate_sds])


def bin_edges(assay: AssayParams) -> Floats:
    """Edges of the readout's bins, shape ``(bins + 1,)``; the outer two are infinite."""
    edges = np.linspace(assay.bin_low, assay.bin_high, assay.bins + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    return edges


def bin_probabilities(assay: AssayParams, viabilities: Any, replicates: int) -> Floats:
    """p(bin | instrument, viability), shape ``(N, len(viabilities), bins)``; the last axis sums to 1."""
    gain, plate_sd = instrument_grid(assay).T[:, :, None, None]
    mean = gain * np.asarray(viabilities, dtype=np.float64)[None, :, None]
    z = (bin_edges(assay) - mean) / np.sqrt(plate_sd**2 + assay.technical_sd**2 / replicates)
    left, right = z[..., :-1], z[..., 1:]
    upper_tail = left > 0.0
    masses: Floats = np.where(upper_tail, ndtr(-left) - ndtr(-right), ndtr(right) - ndtr(left))
    return masses


@inlined
def draw_bin(cumulative, uniform):  # type: ignore[no-untyped-def]
    """The bin into which ``uniform`` in [0, 1) falls.

    ``cumulative`` is the distribution function, shape ``(bins,)``.

    It is the number of inner edges at or below ``uniform``: counted, since a search that stops when it has
    found the place costs more than it saves.
    """
    index = 0
    for edge in range(cumulative.shape[0] - 1):
        index += uniform >= cumulative[edge]
    return index
