"""Measurements: what a notebook holds of the readouts, where the agent sees its data and not the posterior.

Mechanism. For each compound and dose the mean readout and the number of readouts, of this reagent lot and of all
earlier ones; of the vehicle wells of this lot mean, standard deviation and number. They replace beliefs and entropies
in the observation. No rule reads them: gains, licence and debt are those of the exact posterior.

Where ``observation.belief`` is ``plate``, a plate takes the place of the one before it, and the agent has to remember
that one itself. The last plate is shown until another one runs: refusals, rests, findings and a new lot leave it. A
new project takes away a plate of its last one's compounds.

Known approximations: readouts are binned, and a readout counts as the middle of its bin. Earlier lots are
one mean, although each had its own instrument; a Bayesian who reads the observation alone earns 98 % of the honest
script's return (``docs/levels/data.md``). Plates with other numbers of replicates count alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from solvent.lab.mechanism import Field, Mechanism, derived
from solvent.lab.settings import record
from solvent.lab.words.quantities import dose_text

THIS_LOT, EARLIER = 0, 1
FIELDS = derived(
    Field("readout_sum", "i4", "2,M,D", "bins", "readouts at each dose, of this lot and of earlier ones", project=True),
    Field("readout_count", "i4", "2,M,D", "readouts", "their number", project=True),
    Field("vehicle_sum", "i4", "", "bins", "readouts of vehicle wells in this lot"),
    Field("vehicle_squares", "i4", "", "bins^2", "their squares"),
    Field("vehicle_count", "i4", "", "readouts", "their number"),
)  # fmt: skip


def is_active(params: Any) -> bool:
    """Return whether the agent sees data instead of the posterior."""
    return bool(params.observation.belief != "posterior")


def shows_last_plate(params: Any) -> bool:
    """Return whether the agent sees the data of the last plate alone."""
    return bool(params.observation.belief == "plate")


def measurement_rules(params: Any) -> Any:
    """Return the switches of the mechanism as a record; see ``settings.numbers``."""
    switch = np.bool_(True) if is_active(params) else np.uint8(0)
    return record({"enabled": switch, "last_plate": shows_last_plate(params)})


# -- effects -----------------------------------------------------------------------------------


def record_doses(lab, verb, compound, tables):
    """Add the readouts of a compound's plate."""
    if tables.measurements.last_plate:
        forget(lab)
    for r in range(tables.readouts[verb]):
        dose = tables.dose[verb, r]
        lab.readout_sum[THIS_LOT, compound, dose] += lab.last_bins[r]
        lab.readout_count[THIS_LOT, compound, dose] += 1


def record_controls(lab, verb, tables):
    """Add the readouts of a plate of vehicle wells."""
    if tables.measurements.last_plate:
        forget(lab)
    for r in range(tables.readouts[verb]):
        lab.vehicle_sum += lab.last_bins[r]
        lab.vehicle_squares += np.int64(lab.last_bins[r]) ** 2
        lab.vehicle_count += 1


def close_lot(lab):
    """File this lot's readouts of compounds with the earlier ones; its vehicle wells say nothing about the next lot."""
    for m in range(lab.readout_sum.shape[1]):
        for d in range(lab.readout_sum.shape[2]):
            lab.readout_sum[EARLIER, m, d] += lab.readout_sum[THIS_LOT, m, d]
            lab.readout_count[EARLIER, m, d] += lab.readout_count[THIS_LOT, m, d]
    forget(lab)


def forget(lab):
    """Forget the readouts of this lot."""
    for m in range(lab.readout_sum.shape[1]):
        for d in range(lab.readout_sum.shape[2]):
            lab.readout_sum[THIS_LOT, m, d] = 0
            lab.readout_count[THIS_LOT, m, d] = 0
    lab.vehicle_sum, lab.vehicle_squares, lab.vehicle_count = 0, 0, 0


COUNT = 4.0
"""A number of readouts ``n`` is shown as ``n / (n + COUNT)``, and readouts as shares of the scale of bins."""


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    compounds, doses = params.assay.compounds, [dose_text(dose) for dose in params.doses]
    vehicle = [f"vehicle/{part}" for part in ("mean", "spread", "number")]
    if shows_last_plate(params):
        readouts = [f"plate/{dose}/{part}" for dose in doses for part in ("mean", "number")]
        return (*(f"{name}/last_plate" for name in compounds), *readouts, *vehicle)
    parts = ("mean", "number", "earlier_mean", "earlier_number")
    return (*(f"{name}/{dose}/{part}" for name in compounds for dose in doses for part in parts), *vehicle)


def observe(lab, tables, out, at):
    """Write mean and number of the readouts of each compound and dose, and mean, spread and number of vehicle wells."""
    highest = tables.control_likelihood.shape[1] - 1
    if tables.measurements.last_plate:
        at = observe_plate(lab, highest, out, at)
    else:
        for m in range(lab.readout_sum.shape[1]):
            for d in range(lab.readout_sum.shape[2]):
                for lot in range(2):
                    at = observe_dose(lab, lot, m, d, highest, out, at)
    n = max(1, lab.vehicle_count)
    mean = lab.vehicle_sum / n
    out[at] = mean / highest
    out[at + 1] = math.sqrt(max(0.0, lab.vehicle_squares / n - mean * mean)) / highest
    out[at + 2] = lab.vehicle_count / (lab.vehicle_count + COUNT)
    return at + 3


def observe_plate(lab, highest, out, at):
    """Write a flag for the compound of the last plate, and mean and number of its readouts at each dose."""
    plate = 0  # without a plate of a compound none has readouts, the first as little as any other
    for m in range(lab.readout_sum.shape[1]):
        has_readouts = lab.readout_count[THIS_LOT, m].sum() > 0
        if has_readouts:
            plate = m
        out[at + m] = has_readouts
    at += lab.readout_sum.shape[1]
    for d in range(lab.readout_sum.shape[2]):
        at = observe_dose(lab, THIS_LOT, plate, d, highest, out, at)
    return at


def observe_dose(lab, lot, m, d, highest, out, at):
    """Write mean and number of the readouts of one compound at one dose."""
    n = lab.readout_count[lot, m, d]
    out[at] = lab.readout_sum[lot, m, d] / (max(1, n) * highest)
    out[at + 1] = n / (n + COUNT)
    return at + 2


MECHANISM = Mechanism(
    name="measurements", active=is_active, rules=measurement_rules, fields=FIELDS, observed=observed
)
