"""The state of a lab and the report of one step, each as a NumPy record.

Letters: ``M`` compounds, ``G`` potency classes, ``N`` instrument states, ``R`` most readouts of a plate, ``V`` verbs,
``I`` intent classes, ``D`` doses, ``W`` wordings. Energy is stored in thousandths and a residual in millionths, both
as integers. A vector of labs is an array of these records; a single lab is an array of length one. The mechanisms
contribute the fields, in order; ``lab_fields`` and ``step_fields`` list them with shape, unit, meaning and start
value. A record has the fields of the mechanisms that are active and no others.

Known approximation: ``conditional`` is stored as float32, although all arithmetic is float64. This keeps a lab under
8 KB and halves the memory traffic of a step; entropies are accurate to about 1e-6 bits.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from solvent.lab.mechanism import Field, Mechanism
from solvent.lab.mechanisms import MECHANISMS, belief
from solvent.lab.params import LabParams
from solvent.lab.verbs import INTENTS, PLATES, Verb
from solvent.lab.words.rows import WORDINGS

_VOCABULARY = {"V": len(Verb), "I": len(INTENTS), "W": len(WORDINGS)}


def lab_fields(params: LabParams) -> tuple[Field, ...]:
    """Return the fields of a lab's record, in order."""
    return tuple(field for each in _in_order(params) for field in each.fields)


def step_fields(params: LabParams) -> tuple[Field, ...]:
    """Return the fields of a step's record, in order."""
    return tuple(field for each in _in_order(params) for field in each.step_fields)


def _in_order(params: LabParams) -> list[Mechanism]:
    """Return the active mechanisms, with the belief last.

    It is two thirds of a record and hardly read, and what every step reads lies together. Besides, numba takes a record
    for any other that begins with all of its fields, which a level's then can't.
    """
    active = [each for each in MECHANISMS if each.active(params)]
    return sorted(active, key=lambda each: each is belief.MECHANISM)


def _dtype(fields: tuple[Field, ...], letters: dict[str, int]) -> np.dtype[np.void]:
    def shape(spec: str) -> tuple[int, ...]:
        return tuple(letters.get(s) or int(s) for s in spec.split(",")) if spec else ()

    layout = np.dtype([(f.name, f.kind, shape(f.shape)) for f in fields], align=True)
    # np.record allows attribute access in plain Python too, so both modes share one source.
    return np.dtype((np.record, layout))


@functools.lru_cache(maxsize=64)
def lab_dtype(params: LabParams) -> np.dtype[np.void]:
    """Return the dtype of a lab's record: the fields of the active mechanisms."""
    return _dtype(
        lab_fields(params),
        {
            "M": len(params.assay.compounds),
            "G": params.assay.potency_classes,
            "N": params.assay.instrument_states,
            "R": max(getattr(params.plates, name).readouts for name in PLATES),
            "D": len(params.doses),
            **_VOCABULARY,
        },
    )


@functools.lru_cache(maxsize=64)
def step_dtype(params: LabParams) -> np.dtype[np.void]:
    """Return the dtype of a step's record: the fields of the active mechanisms."""
    return _dtype(step_fields(params), _VOCABULARY)


def blank_lab(params: LabParams) -> NDArray[np.void]:
    """Return the start record of an episode, shape ``(1,)``, without the random key and the hidden state."""
    blank = np.zeros(1, lab_dtype(params))
    for field in lab_fields(params):
        blank[field.name] = field.start(params) if callable(field.start) else field.start
    return blank


def blank_step(params: LabParams) -> NDArray[np.void]:
    """Return the start record of a step, shape ``(1,)``."""
    blank = np.zeros(1, step_dtype(params))
    for field in step_fields(params):
        blank[field.name] = field.start
    return blank
