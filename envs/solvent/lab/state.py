"""The whole lab as one NumPy record, and what one step reports as another.

Letters: ``M`` compounds, ``G`` potency classes, ``N`` instrument states, ``R`` most readouts of a plate, ``V`` verbs,
``I`` intent classes, ``D`` doses, ``W`` wordings. Energy is counted in whole thousandths, a residual in whole
millionths. A vector of labs is an array of these records, a single lab is an array of one. ``LAB_FIELDS`` says of
every field its shape, its unit, its meaning and its value at the start; ``STEP_FIELDS`` does so for what one step
reports. The fields come from the mechanisms, in their order.

Known approximation: ``conditional`` is stored as float32 (all arithmetic is float64), which keeps a lab under
8 KB and halves the memory traffic of a step; entropies are exact to about 1e-6 bits.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from solvent.lab.mechanism import Field
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.params import LabParams
from solvent.lab.verbs import INTENTS, Verb
from solvent.lab.words.rows import WORDINGS

__all__ = ["LAB_FIELDS", "STEP_FIELDS", "blank_lab", "blank_step", "lab_dtype", "step_dtype"]

LAB_FIELDS = tuple(field for mechanism in MECHANISMS for field in mechanism.fields)
STEP_FIELDS = tuple(field for mechanism in MECHANISMS for field in mechanism.step_fields)

_VOCABULARY = {"V": len(Verb), "I": len(INTENTS), "W": len(WORDINGS)}


def _dtype(fields: tuple[Field, ...], letters: dict[str, int]) -> np.dtype[np.void]:
    def shape(spec: str) -> tuple[int, ...]:
        return tuple(letters.get(s) or int(s) for s in spec.split(",")) if spec else ()

    layout = np.dtype([(f.name, f.kind, shape(f.shape)) for f in fields], align=True)
    # np.record: fields read as attributes, compiled or not, so the dynamics are one text for both.
    return np.dtype((np.record, layout))


@functools.lru_cache(maxsize=64)
def lab_dtype(params: LabParams) -> np.dtype[np.void]:
    """The record of a lab with these parameters."""
    plates = params.plates
    readouts = [plate.readouts for plate in plates.controls]
    readouts += [plates.screen.readouts, plates.dose_response.readouts]
    return _dtype(
        LAB_FIELDS,
        {
            "M": len(params.assay.compounds),
            "G": params.assay.potency_classes,
            "N": params.assay.instrument_states,
            "R": max(readouts),
            "D": len(params.doses),
            **_VOCABULARY,
        },
    )


@functools.lru_cache(maxsize=1)
def step_dtype() -> np.dtype[np.void]:
    """The record of what one step did."""
    return _dtype(STEP_FIELDS, _VOCABULARY)


def blank_lab(params: LabParams) -> NDArray[np.void]:
    """The record that every episode starts from, shape ``(1,)``: all but the seed's stream and the hidden world.

    What belongs to a mechanism that does not run is zero.
    """
    blank = np.zeros(1, lab_dtype(params))
    for mechanism in MECHANISMS:
        for field in mechanism.fields if mechanism.active(params) else ():
            blank[field.name] = field.start(params) if callable(field.start) else field.start
    return blank


def blank_step() -> NDArray[np.void]:
    """The record that every step starts from, shape ``(1,)``: nothing was done."""
    blank = np.zeros(1, step_dtype())
    for field in STEP_FIELDS:
        blank[field.name] = field.start
    return blank
