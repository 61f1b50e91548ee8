"""The assay: the distribution of a readout given compound and instrument.

Mechanism. A compound of class ``g >= 1`` has viability ``v = BOTTOM + (1 - BOTTOM) / (1 + (dose / EC50_g)^HILL)``
(four-parameter logistic, top 1). Class 0 is inactive: ``v = 1`` at every dose, as in vehicle wells. A readout of
``n`` replicate wells on instrument ``(gain, plate_sd)`` is ``Normal(gain * v, plate_sd^2 + TECHNICAL_SD^2 / n)``,
binned; the outer two bins are open. Replicates average out only the technical noise, so the number of plates, not of
wells, limits the information.

Known approximation: none beyond the binning. Probabilities come from the normal distribution function, evaluated from
the nearer tail to avoid cancellation.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field as Limits
from pydantic import field_validator, model_validator

from solvent.lab.mechanism import Column, Field, Mechanism, columns, derived, detail
from solvent.lab.settings import ParamGroup, setting

Floats = NDArray[np.float64]


class ControlTemplate(ParamGroup):
    """A plate of vehicle (DMSO) wells. It contains no compound, so it is informative only about the instrument."""

    readouts: int = setting(..., "readouts", "independent readouts of the plate", ge=1, le=16)
    replicates: int = setting(..., "wells", "wells averaged in a readout", ge=1, le=384)

    @property
    def wells(self) -> int:
        """Base cost in wells."""
        return self.readouts * self.replicates


class DoseTemplate(ParamGroup):
    """A plate of one compound with one readout per dose."""

    doses: tuple[Annotated[float, Limits(gt=0.0, le=1.0)], ...] = setting(
        ..., "mol/L", "final concentrations", min_length=1
    )
    replicates: int = setting(..., "wells", "wells averaged in a readout", ge=1, le=384)

    @property
    def readouts(self) -> int:
        """Number of readouts, one per dose."""
        return len(self.doses)

    @property
    def wells(self) -> int:
        """Base cost in wells."""
        return self.readouts * self.replicates


REFERENCE_COMPOUNDS = (
    "nocodazole",
    "paclitaxel",
    "tunicamycin",
    "thapsigargin",
    "CCCP",
    "oligomycin A",
    "etoposide",
    "MG-132",
)


HILL = 1.2
"""Hill slope of a dose response."""
BOTTOM = 0.05
"""Viability at a high dose."""
TECHNICAL_SD = 0.15
"""Noise of a well, viability; replicates average it out. All three measured (``docs/why_these_numbers.md``)."""


class AssayParams(ParamGroup):
    """Compounds, instrument and readout model."""

    compounds: tuple[str, ...] = setting(
        REFERENCE_COMPOUNDS, "names", "compounds on the bench (A549 cells)", min_length=1
    )
    potency_classes: int = setting(
        8, "classes", "class 0 is inactive, the others have EC50s on a grid", ge=2, le=32
    )
    lowest_ec50: float = setting(1e-8, "mol/L", "EC50 of class 1", gt=0.0, le=1.0)
    ec50_step: float = setting(0.5, "log10", "step of the EC50 grid", gt=0.0, le=3.0)
    prior: tuple[Annotated[float, Limits(gt=0.0, le=1.0)], ...] | None = setting(
        None, "probability", "prior over classes; null or []: uniform"
    )
    gains: tuple[Annotated[float, Limits(gt=0.0, le=10.0)], ...] = setting(
        (0.6, 0.8, 1.0, 1.25, 1.5), "1", "possible instrument gains", min_length=1
    )
    plate_sds: tuple[Annotated[float, Limits(ge=0.0, le=2.0)], ...] = setting(
        (0.1, 0.2, 0.4), "viability", "plate noise; replicates do not reduce it", min_length=1
    )
    bins: int = setting(12, "bins", "bins of a readout; the outer two are open", ge=2, le=64)
    bin_low: float = setting(0.1, "viability", "left edge of the scale", ge=-5.0, le=5.0)
    bin_high: float = setting(1.3, "viability", "right edge of the scale", ge=-5.0, le=5.0)
    lot_heartbeats: int = setting(
        12, "heartbeats", "life of a reagent lot; then a new instrument", ge=1, le=10_000
    )

    @field_validator("prior")
    @classmethod
    def _uniform(cls, prior: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return prior or None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for name in ("compounds", "gains", "plate_sds"):
            values = getattr(self, name)
            self.check(name, len(set(values)) == len(values), "distinct values")
        # A name is part of the names of observations, ``CCCP/class_0``, beside ``instrument`` and ``last_event``.
        usable = (
            c.isprintable() and c not in ("", "instrument", "last_event", "vehicle") for c in self.compounds
        )
        self.check(
            "compounds",
            all(usable) and not any("/" in name for name in self.compounds),
            "printable names without '/', and not 'instrument', 'last_event' or 'vehicle'",
        )
        self.check("compounds", len(self.compounds) <= 64, "at most 64")
        prior, classes = self.class_prior, self.potency_classes
        proper = len(prior) == classes and abs(sum(prior) - 1.0) <= 1e-9 and max(prior) <= 1.0 - 1e-9
        self.check("prior", proper, f"{classes} numbers between 0 and 1 that sum to 1")
        self.check("plate_sds", self.instrument_states <= 1024, "at most 1024 pairs of gain and plate_sd")
        self.check("bin_high", self.bin_low < self.bin_high, f"above bin_low {self.bin_low!r}")
        return self

    @property
    def instrument_states(self) -> int:
        """Number of (gain, plate noise) combinations."""
        return len(self.gains) * len(self.plate_sds)

    @property
    def class_prior(self) -> tuple[float, ...]:
        """Prior over potency classes, shape ``(potency_classes,)``."""
        return self.prior or (1.0 / self.potency_classes,) * self.potency_classes

    @property
    def prior_entropy(self) -> float:
        """Entropy of a compound's class under the prior, bits."""
        return -sum(p * math.log2(p) for p in self.class_prior)


HALF_LOG_DOSES: tuple[float, ...] = (1e-8, 3.1622776601683795e-8, 1e-7, 3.1622776601683794e-7, 1e-6)
HALF_LOG_DOSES += (3.1622776601683795e-6, 1e-5, 3.1622776601683795e-5)


class PlateParams(ParamGroup):
    """Readouts and replicates of each plate."""

    # Several readouts of few wells each: a single readout of all wells gains too little for a heartbeat
    # (docs/why_these_numbers.md).
    dmso: ControlTemplate = ControlTemplate(readouts=4, replicates=2)
    baseline: ControlTemplate = ControlTemplate(readouts=4, replicates=3)
    calibration: ControlTemplate = ControlTemplate(readouts=8, replicates=3)
    # The most informative pair of the dose-response grid over five consecutive screens.
    screen: DoseTemplate = DoseTemplate(doses=(1e-7, 3.1622776601683795e-6), replicates=4)
    dose_response: DoseTemplate = DoseTemplate(doses=HALF_LOG_DOSES, replicates=6)


FIELDS = (
    Field("potency", "i1", "M", "class", "potency class", hidden=-1),
    Field("instrument", "i2", "", "state", "instrument state of this lot", hidden=-1),
    Field("wells", "i4", "", "wells", "wells left", lambda params: params.budget.wells),
    Field("experiments", "i4", "M", "plates", "experiments run on the compound", project=True),
    *derived(
        Field("wells_spent", "i4", "", "wells", "wells charged"),
        Field("calibrations", "i4", "", "plates", "calibrations run"),
        Field("last_bins", "i1", "R", "bin", "readouts of the last plate; -1 for none", -1),
    ),
)

STEP_FIELDS = (
    Field("wells_before", "i4", "", "wells", "wells left before the action"),
    Field("wells_charged", "i4", "", "wells", "wells charged"),
    Field("gain", "f8", "", "bits", "realised gain about the compound or the instrument"),
)

# -- rules -------------------------------------------------------------------------------------


def ec50_grid(assay: AssayParams) -> Floats:
    """Return the EC50 of each potency class, mol/L, shape ``(G,)``; infinite for class 0 (inactive)."""
    steps = np.arange(assay.potency_classes - 1)
    return np.concatenate([[np.inf], assay.lowest_ec50 * 10.0 ** (assay.ec50_step * steps)])


def viability(assay: AssayParams, doses: Any) -> Floats:
    """Return the viability of each class at each dose (mol/L), shape ``(len(doses), G)``, in [bottom, 1]."""
    ratio = np.asarray(doses, dtype=np.float64)[:, None] / ec50_grid(assay)[None, :]
    logistic: Floats = 1.0 / (1.0 + ratio**HILL)
    return BOTTOM + (1.0 - BOTTOM) * logistic


def instrument_grid(assay: AssayParams) -> Floats:
    """Return the instrument states as rows ``(gain, plate_sd)``, shape ``(N, 2)``."""
    return np.array([(gain, sd) for gain in assay.gains for sd in assay.plate_sds])


def bin_edges(assay: AssayParams) -> Floats:
    """Return the edges of the readout's bins, shape ``(bins + 1,)``; the outer two are infinite."""
    edges = np.linspace(assay.bin_low, assay.bin_high, assay.bins + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    return edges


def bin_probabilities(assay: AssayParams, viabilities: Any, replicates: int) -> Floats:
    """Return p(bin | instrument, viability), shape ``(N, len(viabilities), bins)``; the last axis sums to 1."""
    from scipy.special import ndtr  # slow to import, and no instrument needs it

    gain, plate_sd = instrument_grid(assay).T[:, :, None, None]
    mean = gain * np.asarray(viabilities, dtype=np.float64)[None, :, None]
    z = (bin_edges(assay) - mean) / np.sqrt(plate_sd**2 + TECHNICAL_SD**2 / replicates)
    left, right = z[..., :-1], z[..., 1:]
    upper_tail = left > 0.0
    masses: Floats = np.where(upper_tail, ndtr(-left) - ndtr(-right), ndtr(right) - ndtr(left))
    return masses


def draw_bin(cumulative, uniform):
    """Return the bin of ``uniform`` in [0, 1) under the distribution function ``cumulative``, shape ``(bins,)``.

    It is the number of inner edges at or below ``uniform``. Counting all of them is faster than a search.
    """
    index = 0
    for edge in range(cumulative.shape[0] - 1):
        index += uniform >= cumulative[edge]
    return index


def draw_class(prior, uniform):
    """Return the class of ``uniform`` in [0, 1) under ``prior``."""
    cumulative = 0.0
    for g in range(prior.shape[0] - 1):
        cumulative += np.float64(prior[g])  # a belief is stored in 32 bits, in which plain Python would add
        if uniform < cumulative:
            return g
    return prior.shape[0] - 1


def lot_is_due(lab, tables):
    """Return whether a new reagent lot arrives at this heartbeat."""
    return lab.heartbeat % tables.lot_heartbeats == 0 and lab.heartbeat < tables.horizon


# -- effects -----------------------------------------------------------------------------------


def charge(lab, wells, step):
    """Subtract ``wells`` from the budget."""
    step.wells_charged = wells
    lab.wells -= wells
    lab.wells_spent += wells


COUNT = 4.0
"""A count ``n`` is shown as ``n / (n + COUNT)``."""


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    return ("wells", "lot_countdown", *(f"{name}/experiments" for name in params.assay.compounds))


def observe(lab, tables, out, at):
    """Write the wells left, the heartbeats left of the lot, and the plates run on each compound."""
    out[at] = lab.wells / tables.career.most_wells
    out[at + 1] = 1.0 - (lab.heartbeat % tables.lot_heartbeats) / tables.lot_heartbeats
    at += 2
    for m in range(lab.experiments.shape[0]):
        out[at + m] = lab.experiments[m] / (lab.experiments[m] + COUNT)
    return at + lab.experiments.shape[0]


MECHANISM = Mechanism(
    name="assay",
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=lambda _: (detail("gain"), detail("wells_charged")),
    columns=(
        *columns(FIELDS, "calibrations"),
        Column("experiments", "plates", lambda of: of("experiments").astype(np.int64).sum(axis=1)),
        *columns(FIELDS, "wells", "wells_spent"),
    ),
)
